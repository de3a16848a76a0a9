"""A small trained encoder in the reader's own browser: type a text, see where every head looks.

With a kernel, `page.widget` does the same.

>>> heads()
Layer ..., head ...: from “[MASK]”, token ..., it attends most to ...
"""

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.transformer.data.pairs import SPECIALS
from reasonlib.transformer.data.stories import DROPS, MOVES, NAMES, OBJECTS, PLACES, TAKES
from reasonlib.transformer.models.pretrained import Inspection, PretrainedEncoder, inspect_text, load_encoder
from reasonlib.transformer.page.live.texts import Text, parts, some_texts, telling_head, written

__all__ = ["SCRIPTS", "framed", "heads", "learnt_following", "shown", "sizes"]

FOLDER = Path(__file__).parent
SCRIPTS = (FOLDER / "bert.js", FOLDER / "heads.js")
LARGEST = 500_000  # bytes: what the figure may weigh
UNTOLD = "It was not trained to say whether the second part continues the first."


def heads(encoder: PretrainedEncoder | None = None, *, texts: Sequence[Text] | None = None) -> Picture:
    """Put a pre-trained encoder into the page: the reader writes, hides words, and sees where the heads look.

    Parameters
    ----------
    encoder
        By default the one that ships with this library.
    texts
        What the reader can pick from; what the encoder makes of the first is computed here. By default
        `some_texts`.

    Raises
    ------
    ValueError
        If there is no text.
    UserError
        If the encoder cannot read the first text, or is too large for a page.
    """
    encoder = load_encoder() if encoder is None else encoder
    following = learnt_following(encoder)
    texts = some_texts(pairs=following) if texts is None else tuple(texts)
    if not texts:
        raise ValueError("texts must hold at least one text, got none")
    state = encoder.model.state_dict()
    encoder = encoder._replace(model=live.rounded(encoder.model))
    inspection = inspect_text(encoder, *parts(texts[0].text))
    layer, head, row = telling_head(inspection)
    still = shown(inspection, texts[0].text, layer, head, row, answers=texts[0].answers, following=following)
    return live.figure(
        "heads",
        label="See what the heads attend to",
        body=f"{_form(texts, encoder)}{still.html}",
        alt=still.alt,
        scripts=SCRIPTS,
        styles=[FOLDER / "heads.css"],
        data={
            "sizes": sizes(encoder),
            "texts": [text._asdict() for text in texts],
            "first": {"layer": layer, "head": head},
            "following": following,
            "untold": UNTOLD,
        },
        models={"encoder": live.pack_weights(state)},
        about=_about(encoder),
        offer="With scripts you can write a text, hide words, and see the attention of every head.",
        largest=LARGEST,
    )


def sizes(encoder: PretrainedEncoder) -> dict[str, Any]:
    """Write what the constructor in ``bert.js`` reads besides the weights."""
    config = encoder.model.config
    return {
        "tokens": encoder.vocabulary.tokens,
        "heads": config.heads,
        "layers": config.layers,
        "longest": config.longest,
    }


def shown(
    inspection: Inspection,
    text: str,
    layer: int,
    head: int,
    row: int,
    *,
    answers: Sequence[str] = (),
    following: bool = True,
) -> Picture:
    """Draw one look of one head, and what the encoder guesses.

    Parameters
    ----------
    inspection
        What the encoder made of the text.
    text
        As it was written.
    layer, head, row
        Which weights: layer, head and looking token, from 0.
    answers
        The hidden words, where they are known.
    following
        Whether to tell if the second part continues the first.
    """
    words = written(text)
    weights = inspection.weights[layer, head, row].tolist()
    tokens = "".join(
        f'<span class="rr-live-token{" rr-live-looking" if index == row else ""}" '
        f'style="--share:{weight:.4f}">'
        f"<span{_strange(word, read)}>{html.escape(word)}</span>"
        f"<small>{f'{weight:.2f}' if weight >= 0.005 else ''}</small></span>"
        for index, (word, read, weight) in enumerate(zip(words, inspection.tokens, weights, strict=True))
    )
    best = sorted(range(len(words)), key=lambda index: -weights[index])[:3]
    most = ", ".join(f"“{words[index]}” ({weights[index]:.2f})" for index in best if weights[index] >= 0.005)
    description = (
        f"Layer {layer + 1}, head {head + 1}: from “{words[row]}”, token {row + 1}, "
        f"it attends most to {most}."
    )
    strange = sorted({word for word, read in zip(words, inspection.tokens, strict=True) if word != read})
    notes = f"<li>{html.escape(_never_met(strange))}</li>" if strange else ""
    body = (
        f'<div class="rr-live-tokens">{tokens}</div>'
        '<div class="rr-heads-below"><output class="rr-live-said" aria-live="polite">'
        f"{html.escape(description)}</output>"
        '<button type="button" class="rr-live-button rr-live-main rr-heads-hide" data-scripted hidden>'
        "Hide this word</button></div>"
        f'<ul class="rr-live-notes">{notes}</ul>'
        '<div class="rr-live-sides"><div data-scripted hidden><p class="rr-live-title">Heads: choose one</p>'
        '<div class="rr-heads-maps" role="group" aria-label="Heads"></div>'
        '<p class="rr-live-key">In each map a row is a query token and a column a token that it attends to, '
        "shaded by the square root of the weight. The ticks mark the row of the chosen token.</p>"
        "</div>"
        '<div><p class="rr-live-title">What it guesses</p>'
        f'<div class="rr-heads-guesses">{"".join(_guesses(inspection, words, answers, following))}</div>'
        "</div></div>"
    )
    return Picture(
        body, alt=" ".join([description, *(_in_words(guess.words) for guess in inspection.guesses)])
    )


def framed(inspection: Inspection, text: str, layer: int, head: int, row: int, **about: Any) -> Picture:
    """Draw what `shown` draws with its frame and look, to stand alone."""
    still = shown(inspection, text, layer, head, row, **about)
    return live.frame("heads", still, styles=[FOLDER / "heads.css"])


def learnt_following(encoder: PretrainedEncoder) -> bool:
    """Tell whether an encoder was trained to say if two parts belong together."""
    steps = encoder.made.get("steps", 1)
    return bool(steps[-1] if isinstance(steps, list) else steps)


def _form(texts: Sequence[Text], encoder: PretrainedEncoder) -> str:
    """Write the controls; they stay hidden until the script runs."""
    options = "".join(
        f'<option value="{number}">{html.escape(item.title)}</option>' for number, item in enumerate(texts)
    )
    words = "".join(
        f"<p>{title}</p><div>"
        + "".join(
            f'<button type="button" value="{html.escape(word)}">{html.escape(word)}</button>' for word in some
        )
        + "</div>"
        for title, some in _word_groups(encoder.vocabulary.tokens)
    )
    return (
        '<form class="rr-heads-form" autocomplete="off" data-scripted hidden>'
        '<label class="rr-live-field"><span class="rr-live-name">Example</span>'
        f'<select class="rr-heads-picker">{options}<option value="own">Your own text</option>'
        "</select></label>"
        '<label class="rr-live-field"><span class="rr-live-name">Text <span class="rr-live-note">'
        "(_ hides a word; a new line starts a second part)</span></span>"
        '<textarea class="rr-heads-text" rows="3" spellcheck="false" autocapitalize="none"></textarea>'
        "</label>"
        '<details class="rr-heads-words"><summary>Words that it knows: choose one to insert it</summary>'
        f"{words}</details></form>"
    )


def _word_groups(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Sort the words of a vocabulary; those of no group come last."""
    groups = {
        "A hidden word": ("_",),
        "People": NAMES,
        "Places": PLACES,
        "Things": OBJECTS,
        "What they do": (*MOVES, *TAKES, *DROPS, "gave"),
    }
    left = [token for token in tokens if token not in SPECIALS]
    for title, group in groups.items():
        results = [word for word in group if word == "_" or word in left]
        left = [word for word in left if word not in group]
        if results:
            yield title, results
    if left:
        yield "The rest", left


def _guesses(
    inspection: Inspection, words: Sequence[str], answers: Sequence[str], following: bool
) -> Iterator[str]:
    for number, (position, guessed) in enumerate(inspection.guesses):
        around = " ".join((*words[max(1, position - 3) : position], "____", words[position + 1]))
        verdict = ""
        if number < len(answers):
            right = guessed[0][0] == answers[number]
            verdict = "✓ right" if right else f"✗ it was: {answers[number]}"
        yield (
            f"<div><p>… {html.escape(around)} <strong>{html.escape(verdict)}</strong></p>"
            f'<ol class="rr-live-bars" aria-label="What token {position + 1} could be">{_bars(guessed)}</ol>'
            "</div>"
        )
    if not inspection.guesses:
        yield "<p>No word is hidden. Type _ for one.</p>"
    if inspection.follows is not None and not following:
        yield f"<p>{UNTOLD}</p>"
    if inspection.follows is not None and following:
        both = (("yes", inspection.follows), ("no", 1 - inspection.follows))
        yield "<div><p>Does the second part continue the first?</p>"
        yield f'<ol class="rr-live-bars">{_bars(both)}</ol></div>'


def _bars(shares: Sequence[tuple[str, float]]) -> str:
    return "".join(
        f'<li><span>{html.escape(word)}</span><span class="rr-live-bar" style="--share:{share:.4f}"></span>'
        f"<span>{share:.2f}</span></li>"
        for word, share in shares
    )


def _in_words(guessed: Sequence[tuple[str, float]]) -> str:
    return "It guesses: " + ", ".join(f"{word} ({share:.2f})" for word, share in guessed[:3]) + "."


def _strange(word: str, read: str) -> str:
    return "" if word == read else ' class="rr-live-unknown"'


def _never_met(strange: Sequence[str]) -> str:
    many = "this word and reads it" if len(strange) == 1 else "these words and reads them"
    return f"It has never met {many} as [UNK]: {', '.join(strange)}."


def _about(encoder: PretrainedEncoder) -> str:
    config = encoder.model.config
    count = sum(tensor.numel() for tensor in encoder.model.parameters())
    words = sum(token not in SPECIALS for token in encoder.vocabulary.tokens)
    return (
        f"An encoder of {count:,} parameters, {config.layers} layers of {config.heads} heads. "
        f"It has read simulated stories and knows {words} words."
    )
