"""Talk to any of the systems in a notebook, and see what it looked at before it spoke.

Where no kernel runs, the pages show a conversation with each system instead, see `chat.book`.
"""

from html import escape
from typing import Any

from reasonlib.display.widgets import Form, import_widgets
from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.example import Dialogue, KnowledgeBase
from reasonlib.goal_dialogue.page.chat import MODELS, Conversation, open_conversation, user_lines
from reasonlib.goal_dialogue.page.listener import Listener, Understood, tell

__all__ = ["Talker"]

WAITS = "Change your mind now, or say nothing and press <em>Go on</em> to hear an offer."


class Talker(Form):
    """A small form: a system, a line to say, a button; above them the conversation so far.

    Under each response stands, folded away, what the system looked at; the last is unfolded.

    Parameters
    ----------
    model
        One of `chat.MODELS`; the first by default.
    replay
        A dialogue whose user's lines are offered one after the other, so that one need not type.
    knowledge
        The restaurants that API calls find; by default the simulator's. Give the replayed dialogue's own.

    Attributes
    ----------
    picker, line, button, again, talk, hint
        The controls, the conversation, and what can be said now, or what was wrong.
    box
        All of them.
    listener
        Understands what is typed, and speaks to the system.

    Raises
    ------
    UserError
        If ``ipywidgets`` is not installed, or there is no such model.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        replay: Dialogue | None = None,
        knowledge: KnowledgeBase | None = None,
    ) -> None:
        widgets = import_widgets("talk in a terminal: reasonlib chat")
        self._knowledge = knowledge
        self.listener = Listener(open_conversation(model, knowledge=knowledge))
        self._lines = () if replay is None else user_lines(replay)
        self._used = 0
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
        self.talk, self.hint = widgets.HTML(), widgets.HTML()
        controls = widgets.HBox([self.button, self.again])
        self.box = widgets.VBox([self.picker, self.talk, self.hint, self.line, controls])
        self.picker.observe(self.restart, names="value")
        self.button.on_click(self.say)
        self.again.on_click(self.restart)
        self._show()

    @property
    def conversation(self) -> Conversation:
        """The conversation with the system, in the words that it heard."""
        return self.listener.conversation

    def say(self, button: Any = None) -> None:
        """Say what the form holds; the button calls this.

        A line that the replayed dialogue offers is passed on word for word.
        """
        line = self.line.value
        try:
            understood = tell(self.listener, line, as_typed=line == self._offered())
        except UserError as error:
            self.hint.value = f"<p>{escape(str(error))}</p>"
            return
        self._used += 1
        self._show(understood)

    def _offered(self) -> str | None:
        return self._lines[self._used] if self._used < len(self._lines) else None

    def restart(self, change: Any = None) -> None:
        """Begin again, with the system that is picked."""
        conversation = open_conversation(self.picker.value, knowledge=self._knowledge)
        self.listener, self._used = Listener(conversation), 0
        self._show()

    def _show(self, understood: Understood | None = None) -> None:
        self.talk.value = self.conversation.show(opened=True)._repr_html_()
        waits = bool(self.conversation.waiting)
        hints = []
        if understood and understood.slots:
            hints.append(escape(f"Understood: {', '.join(understood.slots.values())}."))
        shown = {reply.remark for reply in self.conversation.replies}
        for reply in understood.replies if understood else ():
            if reply.remark and reply.remark not in shown:
                hints.append(escape(f"{reply.remark[0].upper()}{reply.remark[1:]}."))
        if waits:
            hints.append(WAITS)
        self.hint.value = "".join(f"<p>{text}</p>" for text in hints)
        self.button.description = "Go on" if waits else "Say it"
        self.line.value = self._offered() or ""
