"""What the live figures of a kernel share: a form of controls over its result."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from html import escape
from typing import Any

from reasonlib.display.widgets import Form, import_widgets

__all__ = ["Controlled", "ipywidgets", "labelled", "powers", "slider", "table_html"]


def ipywidgets() -> Any:
    """Import the package that draws controls, or say what to do without it."""
    return import_widgets("use reasonlib.optimisation.page.live, which needs nothing")


class Controlled(Form, ABC):
    """Controls over a result; whatever changes, `draw` is called.

    Attributes
    ----------
    result
        What is shown.
    """

    result: Any

    def lay_out(self, controls: Iterable[Any], watched: Iterable[Any]) -> None:
        """Put the controls above the result, and draw again where a watched one changes."""
        widgets = ipywidgets()
        self.result = widgets.HTML(layout=widgets.Layout(width="100%", max_width="48rem"))
        row = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox([widgets.Box(list(controls), layout=row), self.result])
        for control in watched:
            control.observe(self.draw, names="value")

    @abstractmethod
    def draw(self, change: Any = None) -> None:
        """Show what the controls say."""


def labelled(name: str) -> dict[str, Any]:
    """Return the options that every control has, with its name."""
    widgets = ipywidgets()
    return {
        "description": name,
        "layout": widgets.Layout(width="22rem"),
        "style": {"description_width": "8rem"},
    }


def slider(name: str, value: float, low: float, high: float, step: float) -> Any:
    """Make a slider of equal steps, which counts when it is let go."""
    return ipywidgets().FloatSlider(
        value=value, min=low, max=high, step=step, continuous_update=False, **labelled(name)
    )


def powers(name: str, low: float, high: float, value: float = 0.1) -> Any:
    """Make a slider of powers of ten, from ``10**low`` to ``10**high``."""
    return ipywidgets().FloatLogSlider(
        value=value,
        min=low,
        max=high,
        step=0.02,
        continuous_update=False,
        readout_format=".3g",
        **labelled(name),
    )


def table_html(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table as HTML."""
    top = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='padding:.1rem .6rem'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
