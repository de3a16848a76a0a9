"""Public names of a package that are imported when they are first used: PyTorch takes a second to load."""

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, file: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package; its names are what the package imports for type checkers.

    So each name is given once, in an import below ``if TYPE_CHECKING:``.

    Parameters
    ----------
    package
        Its ``__name__``.
    file
        Its ``__file__``.
    """

    @cache
    def deferred() -> dict[str, tuple[str, str]]:
        return deferred_imports(Path(file).read_text(encoding="utf-8"))

    def get(name: str) -> Any:
        if name not in deferred():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inside = deferred()[name]
        return getattr(import_module(module), inside)

    return get


def deferred_imports(source: str) -> dict[str, tuple[str, str]]:
    r"""Find what stands below ``if TYPE_CHECKING:``: each name, its module, and what it is called there.

    Examples
    --------
    >>> deferred_imports("if TYPE_CHECKING:\n    from math import pi, sqrt as root")
    {'pi': ('math', 'pi'), 'root': ('math', 'sqrt')}
    """
    return {
        alias.asname or alias.name: (statement.module, alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }
