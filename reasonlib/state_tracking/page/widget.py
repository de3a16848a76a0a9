"""Write a dialogue turn by turn and watch the state: the live figure for a notebook that has a kernel.

On the book's pages the same is done without a kernel by `reasonlib.state_tracking.page.live`.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from reasonlib.display.widgets import Form, import_widgets
from reasonlib.state_tracking.models.pretrained import BundledTracker, from_pretrained
from reasonlib.state_tracking.page.track import Step, follow

__all__ = ["Follower"]


class Follower(Form):
    """A small form: what the system says, what the user says, a button; above them the state so far.

    Parameters
    ----------
    tracker
        By default the bundled one; one that was trained in the notebook serves too.
    turns
        (system, user) texts that are offered one after the other, so that one need not type.

    Attributes
    ----------
    system, user, button, again, result, hint
        The controls, the table of the state, and what was wrong.
    turns
        The dialogue so far.
    """

    def __init__(
        self, tracker: BundledTracker | None = None, *, turns: Sequence[tuple[str, str]] = ()
    ) -> None:
        widgets = import_widgets("follow a dialogue in a terminal: reasonlib track")
        self.tracker = tracker or from_pretrained()
        self.offered = tuple(turns)
        self.turns: list[tuple[str, str]] = []
        wide: dict[str, Any] = {
            "layout": widgets.Layout(width="100%", max_width="44rem"),
            "style": {"description_width": "5rem"},
        }
        self.system = widgets.Text(description="System", **wide)
        self.user = widgets.Text(description="User", placeholder="i need a hotel in the north .", **wide)
        self.button = widgets.Button(description="Next turn", button_style="primary")
        self.again = widgets.Button(description="Begin again")
        self.result, self.hint = widgets.HTML(), widgets.HTML()
        controls = widgets.HBox([self.button, self.again])
        self.box = widgets.VBox([self.result, self.system, self.user, controls, self.hint])
        self.button.on_click(self.say)
        self.again.on_click(self.restart)
        self.restart()

    def say(self, button: Any = None) -> None:
        """Add the turn that the form holds and track the dialogue; the button calls this."""
        if not self.user.value.strip():
            self.hint.value = "<p>Write what the user says, then press Next turn.</p>"
            return
        self.turns.append((self.system.value, self.user.value))
        self._show(list(follow(self.turns, self.tracker)))

    def restart(self, button: Any = None) -> None:
        """Begin a new dialogue."""
        self.turns = []
        self._show([])

    def _show(self, steps: Sequence[Step]) -> None:
        rows = "".join(
            f"<tr><td>{step.turn}</td><td>{escape(_words(step.changed)) or 'no change'}</td></tr>"
            for step in steps
        )
        head = "<tr><th>turn</th><th>what it adds to the state</th></tr>"
        self.result.value = f"<table>{head}{rows}</table>" if rows else "<p>The state is empty.</p>"
        unknown = steps[-1].unknown if steps else ()
        words = f"Not in the tracker's vocabulary: {escape(', '.join(unknown))}." if unknown else ""
        self.hint.value = f"<p>{words}</p>" if words else ""
        following = self.offered[len(steps)] if len(steps) < len(self.offered) else ("", "")
        self.system.value, self.user.value = following


def _words(values: dict[str, str]) -> str:
    return ", ".join(f"{pair} = {value}" for pair, value in values.items())
