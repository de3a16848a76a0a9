"""Type a text and see where the heads look: the live figure for a notebook that has a kernel.

On the book's pages the same is done without a kernel by `reasonlib.transformer.page.live`.
"""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from reasonlib.display.widgets import Form, import_widgets
from reasonlib.errors import UserError
from reasonlib.transformer.models.pretrained import Inspection, PretrainedEncoder, inspect_text, load_encoder

if TYPE_CHECKING:
    from reasonlib.transformer.page.live.texts import Text

__all__ = ["Looker"]


class Looker(Form):
    """A small form: a text, a head, a token; under it where that token looks, and the hidden words' guesses.

    Parameters
    ----------
    encoder
        By default the one that ships; one pre-trained in the notebook serves too, as
        ``PretrainedEncoder(model, vocabulary, {})``.
    texts
        What can be picked; by default `live.some_texts`.

    Attributes
    ----------
    picker, text, head, token, result
        The controls.
    inspection
        The last `Inspection`, or None.
    """

    def __init__(
        self, encoder: PretrainedEncoder | None = None, *, texts: "Sequence[Text] | None" = None
    ) -> None:
        widgets = import_widgets("use reasonlib.transformer.page.live, which needs nothing")
        from reasonlib.transformer.page.live.heads import learnt_following
        from reasonlib.transformer.page.live.texts import some_texts

        self.encoder = load_encoder() if encoder is None else encoder
        self.following = learnt_following(self.encoder)
        self.texts = tuple(some_texts(pairs=self.following) if texts is None else texts)
        self.inspection: Inspection | None = None
        config = self.encoder.model.config
        heads = [(layer, head) for layer in range(config.layers) for head in range(config.heads)]
        wide = widgets.Layout(width="100%", max_width="44rem")
        setting: dict[str, Any] = {"layout": wide, "style": {"description_width": "5rem"}}
        self.picker = widgets.Dropdown(
            options=[*((item.title, index) for index, item in enumerate(self.texts)), ("Your own text", -1)],
            value=0 if self.texts else -1,
            description="Example",
            **setting,
        )
        self.text = widgets.Textarea(rows=3, description="Text", **setting)
        self.head = widgets.Dropdown(
            options=[(f"layer {layer + 1}, head {head + 1}", (layer, head)) for layer, head in heads],
            description="Head",
            **setting,
        )
        self.token = widgets.Dropdown(options=[], description="From token", **setting)
        self.result = widgets.HTML(layout=wide)
        self.box = widgets.VBox([self.picker, self.text, self.head, self.token, self.result])
        self.picker.observe(self._pick, names="value")
        self.text.observe(self._read, names="value")
        self.head.observe(self._show, names="value")
        self.token.observe(self._show, names="value")
        self._pick()
        self._read()
        if self.inspection is not None:
            from reasonlib.transformer.page.live.texts import telling_head

            self.head.value = telling_head(self.inspection)[:2]

    def picked(self) -> "Text | None":
        """Give the text that was picked, as long as nobody has changed it."""
        item = self.texts[self.picker.value] if self.picker.value >= 0 else None
        return item if item is not None and self.text.value == item.text else None

    def _pick(self, change: Any = None) -> None:
        if self.picker.value >= 0:
            self.text.value = self.texts[self.picker.value].text

    def _read(self, change: Any = None) -> None:
        from reasonlib.transformer.page.live.texts import parts, written

        if self.picker.value >= 0 and self.picked() is None:
            self.picker.value = -1
        self.inspection = None
        try:
            inspection = inspect_text(self.encoder, *parts(self.text.value))
        except UserError as error:
            self.token.options = []
            self.result.value = f"<p>{escape(str(error)[0].upper() + str(error)[1:])}.</p>"
            return
        words = written(self.text.value)
        self.token.options = [(f"{index + 1} {word}", index) for index, word in enumerate(words)]
        self.token.value = inspection.guesses[0].position if inspection.guesses else 1
        self.inspection = inspection
        self._show()

    def _show(self, change: Any = None) -> None:
        if self.inspection is None or self.token.value is None:
            return
        from reasonlib.transformer.page.live.heads import framed

        item, (layer, head) = self.picked(), self.head.value
        self.result.value = framed(
            self.inspection,
            self.text.value,
            layer,
            head,
            self.token.value,
            answers=item.answers if item else (),
            following=self.following,
        )._repr_html_()
