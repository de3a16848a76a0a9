"""Public names of a package that are imported when they are first used: PyTorch takes a second to load."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, /, **modules: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package
        Its ``__name__``.
    **modules
        Each public name, and the module that has it: ``".data.corpus"`` in the package, or a full name. Where
        the module calls it something else, a colon and that name follow: ``".page.chat:open_conversation"``.

    Examples
    --------
    >>> get = lazy("reasonlib", UserError=".errors", square_root="math:sqrt")
    >>> get("UserError").__name__, get("square_root")(9.0)
    ('UserError', 3.0)
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, inside = modules[name].partition(":")
        return getattr(import_module(module, package), inside or name)

    return get
