"""Talk to any of the systems in a notebook, and see what it looked at before it spoke.

Where no kernel runs, the pages replay a dialogue with `figures.conversation` instead.
"""

from html import escape
from typing import Any

from reasonlib.errors import UserError
from reasonlib.goal_dialogue.chat import MODELS, Conversation, Said, open_conversation
from reasonlib.goal_dialogue.dialogue import Dialogue, Turn
from reasonlib.goal_dialogue.figures import conversation

__all__ = ["Talker"]


class Talker:
    """A small form: a system, a line to say, a button; above them the conversation so far.

    Parameters
    ----------
    model
        One of `chat.MODELS`; the first by default.
    replay
        A dialogue whose user's lines are offered one after the other, so that one need not type.

    Attributes
    ----------
    picker, line, button, again, talk, looked
        The controls, the conversation, and what was looked at.
    box
        All of them.
    conversation
        The `Conversation`.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed, or there is no such model.
    """

    def __init__(self, model: str | None = None, *, replay: Dialogue | None = None) -> None:
        try:
            import ipywidgets as widgets
        except ImportError as error:
            raise UserError(
                "the widget needs ipywidgets; install it (pip install ipywidgets), "
                "or talk in a terminal: reasonlib chat"
            ) from error
        self.conversation: Conversation = open_conversation(model)
        self._lines = [] if replay is None else [turn.user for turn in replay.turns if "<" not in turn.user]
        wide: dict[str, Any] = {
            "layout": widgets.Layout(width="100%", max_width="36rem"),
            "style": {"description_width": "5rem"},
        }
        self.picker = widgets.Dropdown(
            options=list(MODELS), value=model or next(iter(MODELS)), description="System", **wide
        )
        self.line = widgets.Text(description="You say", placeholder="may i have a table in paris", **wide)
        self.button = widgets.Button(description="Say it", button_style="primary")
        self.again = widgets.Button(description="Begin again")
        self.talk, self.looked = widgets.HTML(), widgets.HTML()
        controls = widgets.HBox([self.button, self.again])
        self.box = widgets.VBox([self.picker, self.talk, self.looked, self.line, controls])
        self.picker.observe(self.restart, names="value")
        self.button.on_click(self.say)
        self.again.on_click(self.restart)
        self._show(())

    def say(self, button: Any = None) -> None:
        """Say what the form holds; the button calls this."""
        try:
            said = self.conversation.say(self.line.value)
        except UserError as error:
            self.looked.value = f"<p>{escape(str(error))}</p>"
            return
        self._show(said)

    def restart(self, change: Any = None) -> None:
        """Begin again, with the system that is picked."""
        self.conversation = open_conversation(self.picker.value)
        self._show(())

    def _show(self, said: tuple[Said, ...]) -> None:
        self.talk.value = conversation(self.conversation.dialogue())._repr_html_()
        rows = "".join(
            f"<li>{escape(sentence)} ({share:.2f})</li>"
            for one in said[-1:]
            for sentence, share in one.looked
        )
        self.looked.value = f"<p>The last hop looked at</p><ul>{rows}</ul>" if rows else ""
        spoken = [
            event.user
            for event in self.conversation.events
            if isinstance(event, Turn) and "<" not in event.user
        ]
        self.line.value = self._lines[len(spoken)] if len(spoken) < len(self._lines) else ""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.box)
