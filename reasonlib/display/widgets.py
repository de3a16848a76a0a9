"""What the forms of a notebook with a kernel share: the package that draws controls, and how one is shown."""

from typing import Any

from reasonlib.errors import UserError

__all__ = ["Form", "import_widgets"]


def import_widgets(instead: str) -> Any:
    """Import ``ipywidgets``, which the book needs for its forms alone.

    Parameters
    ----------
    instead
        What to use without it, for the error message.

    Raises
    ------
    UserError
        If it is not installed.
    """
    try:
        import ipywidgets
    except ImportError as error:
        raise UserError(
            f"the widget needs ipywidgets; install it (pip install ipywidgets), or {instead}"
        ) from error
    return ipywidgets


class Form:
    """Controls and results in one box, which a notebook shows.

    Attributes
    ----------
    box
        All of them, one under the other.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed.
    """

    box: Any

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.box)
