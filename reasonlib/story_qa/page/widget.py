"""Pick or write a story, ask, and see the hops: the live figure for a notebook that has a kernel.

On the book's pages the same is done without a kernel by `reasonlib.story_qa.page.live`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from reasonlib.display.widgets import Form, import_widgets
from reasonlib.errors import UserError
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.page.ask import Answer, answer
from reasonlib.story_qa.page.live.asking import some_stories, story_title

if TYPE_CHECKING:
    from reasonlib.display.plotting import Picture

__all__ = ["Asker"]


class Asker(Form):
    """A small form: a story, a question, a button; under it the answer and where the model looked.

    Parameters
    ----------
    model
        As of `page.ask.answer`: the shipped memory network by default, ``"bert"``, or an extractive reader's
        name or folder. A function ``(story, question) -> Answer`` serves too, such as one made from
        `ask_memory` and a network trained in the notebook.
    stories
        What can be picked; by default `live.some_stories`.

    Attributes
    ----------
    picker, story, question, button, result
        The controls.
    answered
        The last `Answer`, or None.
    """

    def __init__(
        self,
        model: str | Callable[[str, str], Answer] | None = None,
        *,
        stories: Sequence[Example] | None = None,
    ) -> None:
        widgets = import_widgets("use reasonlib.story_qa.page.live, which needs no kernel")
        self.stories = tuple(some_stories() if stories is None else stories)
        self.ask_model = model if callable(model) else lambda story, question: answer(story, question, model)
        self.answered: Answer | None = None
        wide = widgets.Layout(width="100%", max_width="44rem")
        look: dict[str, Any] = {"layout": wide, "style": {"description_width": "5rem"}}
        options = [(story_title(item), number) for number, item in enumerate(self.stories)]
        self.picker = widgets.Dropdown(
            options=[*options, ("Your own story", -1)],
            value=options[0][1] if options else -1,
            description="Story",
            **look,
        )
        self.story = widgets.Textarea(rows=8, description="Sentences", **look)
        self.question = widgets.Text(description="Question", **look)
        self.button = widgets.Button(description="Ask", button_style="primary", tooltip="Ask the model")
        self.result = widgets.HTML(layout=wide)
        self.box = widgets.VBox([self.picker, self.story, self.question, self.button, self.result])
        self.picker.observe(self._pick, names="value")
        self.story.observe(self._changed, names="value")
        self.question.observe(self._wait, names="value")
        self.button.on_click(self.ask)
        self._pick()

    def picked(self) -> Example | None:
        """Give the story that was picked, as long as nobody has changed it."""
        item = self.stories[self.picker.value] if self.picker.value >= 0 else None
        return item if item is not None and self.story.value == "\n".join(item.story) else None

    def ask(self, button: Any = None) -> None:
        """Answer what the form asks; the button calls this."""
        try:
            result = self.ask_model(self.story.value, self.question.value)
        except UserError as error:
            self.answered = None
            self._show(f"{str(error)[0].upper()}{str(error)[1:]}.")
            return
        item = self.picked()
        if item is not None and result.question == item.question:
            result = result.labelled(item)
        self.answered = result
        self._show(result.picture())

    def _pick(self, change: Any = None) -> None:
        if self.picker.value >= 0:
            item = self.stories[self.picker.value]
            self.story.value = "\n".join(item.story)
            self.question.value = item.question
        self._wait()

    def _changed(self, change: Any) -> None:
        if self.picker.value >= 0 and self.picked() is None:
            self.picker.value = -1
        self._wait()

    def _wait(self, change: Any = None) -> None:
        self.answered = None
        self._show("What would you answer? Then press Ask.")

    def _show(self, shown: "Picture | str") -> None:
        from html import escape

        self.result.value = f"<p>{escape(shown)}</p>" if isinstance(shown, str) else shown._repr_html_()
