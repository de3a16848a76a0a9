"""The shell of every live figure: a trained model that answers in the reader's browser, from a static page.

A figure is one piece of HTML: a picture for pages where scripts are off, data, weights (4 to 16 bits a
number, as base64), the shared scripts of this package and the figure's own. It asks the network for nothing
and works from a file on disk, in Jupyter and on Colab.

A topic keeps ``page/live/echo.py`` and, beside it, ``echo.js`` (and ``echo.css`` if it needs one)::

    def echo(model, vocabulary) -> Picture:
        return live.figure(
            "echo",  # also the class rr-echo, and the name that echo.js starts
            label="Ask the echo model",  # what a screen reader calls the figure
            static=plotting.heatmap(...),  # a Picture: shown where scripts are off; its alt text is used too
            scripts=[Path(__file__).with_name("echo.js")],
            data={"tokens": vocabulary.tokens},  # anything that JSON can hold
            models={"echo": live.pack_weights(model.state_dict())},
            offer="With scripts you can type a word and see the answer.",
        )

``echo.js`` builds the figure in `stage`, from the parts in ``core.js``, ``text.js`` and ``layers.js``::

    live("echo", ({ root, stage, data, weights, find }) => {
      const model = weights("echo"), vocabulary = new Vocabulary(data.tokens), said = announcer();
      function answer() {
        const ids = wordsIn(input.value).map((word) => vocabulary.id(vocabulary.spelling(word)));
        const words = model.matrix("words.weight").take(ids);
        const { result, ms } = timed(() => linear(model.part("output"), words));
        said.replaceChildren(make("strong", {}, vocabulary.tokens[argmax(result.row(0))]));
        find("took").textContent = took(ms);
      }
      const input = field("Word", { value: "hello", entered: answer });
      stage.append(input.element, button("Ask", answer, { main: true }), said);
      root.echo = { answer }; // for tests and for the browser's console
      answer();
    });

Layers are those of `reasonlib.nn` and read their weights by the names of its ``state_dict``. Test a figure
with the fixture ``javascript`` of ``tests/conftest.py``, which runs `code` in Chromium and in node, against
PyTorch with a `rounded` model; ``tests/display/echo.js`` uses every shared part.
"""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.colors import to_rgb

from reasonlib.display.live.packing import pack_weights, round_weights, rounded
from reasonlib.display.plotting import HEAT, STRONGEST, Picture
from reasonlib.errors import UserError

__all__ = ["CORE", "LARGEST", "code", "figure", "frame", "pack_weights", "round_weights", "rounded"]

LARGEST = 1_000_000  # bytes: what a figure may weigh, all in all

CORE = ("core", "text", "layers")
"""The shared scripts that every figure gets. On demand come ``plot`` (axes, lines, handles to drag) and
``convolve`` (convolutions, compiled from ``convolve.c`` by ``tools/wasm.py``)."""

FOLDER = Path(__file__).parent


def figure(
    name: str,
    *,
    label: str,
    scripts: Sequence[Path],
    static: Picture | None = None,
    body: str = "",
    alt: str = "",
    data: Any = None,
    models: Mapping[str, Mapping[str, Any]] | None = None,
    styles: Sequence[Path] = (),
    modules: Sequence[str] = (),
    about: str = "",
    offer: str = "With scripts you can play with it.",
    largest: int = LARGEST,
) -> Picture:
    """Put a live figure together.

    Parameters
    ----------
    name
        Letters and hyphens. The figure has the class ``rr-<name>``; its script starts it with
        ``live("<name>", start)``.
    label
        What the figure is, for a screen reader.
    scripts
        The figure's own scripts, in this order, after the shared ones.
    static
        What stands there until the script has started, and for good where scripts are off.
    body
        In place of `static`: HTML that the script works on and does not replace. Parts with the attribute
        ``data-scripted hidden`` are shown once the script has started.
    alt
        What the figure shows, in words; by default that of `static`.
    data
        What the script gets as ``data``: anything that JSON can hold.
    models
        From the name of a model to what `pack_weights` gave.
    styles
        The figure's own style sheets, after the shared one.
    modules
        Shared scripts beyond `CORE`, such as ``"plot"`` or ``"convolve"``.
    about
        One line under the figure: what answers here. The script may add to ``.rr-live-took``.
    offer
        What the figure offers where scripts run, said where they do not.
    largest
        Bytes at most.

    Raises
    ------
    ValueError
        If there is nothing to show without scripts, or no words for it.
    UserError
        If the figure is larger than `largest`.
    """
    if static is None and not body:
        raise ValueError("a live figure needs static=... or body=..., to be seen where scripts are off")
    alt = alt or (static.alt if static is not None else "")
    if not alt:
        raise ValueError("a live figure needs alt=..., or a static picture that has it")
    given = json.dumps({"data": data, "models": models or {}}, ensure_ascii=False, separators=(",", ":"))
    given = given.replace("<", "\\u003c")  # so that no text ends the script element
    still = "" if static is None else f'<div class="rr-live-static">{static.html}</div>'
    text = (
        f"{_look(styles, modules)}"
        f'<div class="rr rr-live rr-{name} mathjax_ignore" role="group" aria-label="{html.escape(label)}" '
        f'data-lm-suppress-shortcuts="true" style="{_colours()}">'
        f'{still}{body}<p class="rr-live-about"><span class="rr-live-kind">{html.escape(about)}</span> '
        '<span class="rr-live-took"></span></p>'
        "<noscript><p>Scripts are off: this was computed beforehand. "
        f"{html.escape(offer)}</p></noscript>"
        f'<script type="application/json">{given}</script></div>'
        f"<script>(() => {{\n{code(*scripts, modules=modules)}}})();</script>"
    )
    size = len(text.encode())
    if size > largest:
        raise UserError(
            f"the figure would weigh {size / 1e6:.1f} MB, and it may weigh {largest / 1e6:.1f} MB; "
            "choose a smaller model, fewer examples, or fewer bits a weight"
        )
    return Picture(text, alt=alt)


def frame(name: str, still: Picture, *, styles: Sequence[Path] = ()) -> Picture:
    """Put a picture into the frame and look of a live figure, without its script, for a notebook's widget.

    Parameters
    ----------
    name
        As for `figure`.
    still
        What stands in it.
    styles
        The figure's own style sheets.
    """
    body = f'<div class="rr rr-live rr-{name}" data-ready style="{_colours()}">{still.html}</div>'
    return Picture(f"{_look(styles)}{body}", alt=still.alt)


def code(*scripts: Path, modules: Sequence[str] = ()) -> str:
    """Give the JavaScript of a figure: the shared scripts, then its own.

    Parameters
    ----------
    *scripts
        The figure's own.
    modules
        Shared scripts beyond `CORE`.
    """
    shared = [FOLDER / f"{module}.js" for module in (*CORE, *modules)]
    compiled = [path for path in (FOLDER / f"{module}.wasm" for module in modules) if path.is_file()]
    return "\n".join([*map(_constant, compiled), *map(_read, (*shared, *scripts))])


def _constant(path: Path) -> str:
    """Write a compiled file as a constant in base64, such as CONVOLVE_WASM, for the script beside it."""
    return f'const {path.stem.upper()}_WASM = "{base64.b64encode(path.read_bytes()).decode()}";'


def _look(styles: Sequence[Path], modules: Sequence[str] = ()) -> str:
    shared = [FOLDER / f"{module}.css" for module in ("base", *modules)]
    sheets = [path for path in shared if path.is_file()]
    return f"<style>{''.join(map(_read, (*sheets, *styles)))}</style>"


def _colours() -> str:
    red, green, blue = (round(255 * channel) for channel in to_rgb(HEAT))
    return f"--heat:{red} {green} {blue};--strongest:{STRONGEST}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
