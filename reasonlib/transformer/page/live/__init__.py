"""A small trained encoder in the reader's own browser: type a text, see where every head looks.

The figure is one piece of HTML: weights (16 bits a number, as base64), the forward pass in JavaScript
(``network.js``, written to be read), and the controls around it (``figure.js``). It asks the network for
nothing, works from a file on disk, in Jupyter and on Colab, and holds what the encoder makes of the first
text as plain HTML for a page where scripts are off. With a kernel, `page.widget` does the
same.

>>> live()
Layer ..., head ...: from “[MASK]”, token ..., it looks most at ...
"""

import base64
import html
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import to_rgb

from reasonlib.display.plotting import HEAT, STRONGEST, Picture
from reasonlib.errors import UserError
from reasonlib.transformer.data.stories import (
    DROPS,
    MOVES,
    NAMES,
    OBJECTS,
    PLACES,
    TAKES,
    Story,
    simulate_stories,
)
from reasonlib.transformer.models.pretrained import Looked, ShippedEncoder, load_encoder, look, split
from reasonlib.transformer.models.pretraining import SPECIALS, Bert

__all__ = [
    "LARGEST",
    "Text",
    "framed",
    "learnt_following",
    "live",
    "network_code",
    "parts",
    "shown",
    "some_texts",
    "telling_head",
    "written",
]

LARGEST = 500_000  # bytes: what a page may carry before the first look
UNTOLD = "It was not trained to say whether the second part continues the first."
HELD_OUT = 90_210  # seed of the texts offered: none to train or test on is drawn with it


class Text(NamedTuple):
    """A text to pick.

    Attributes
    ----------
    title
        What it asks.
    text
        Words, hidden ones as ``_``; a second part starts on a new line.
    answers
        The hidden words, in order.
    follows
        Whether the second part continues the first; None where there is no second part.
    """

    title: str
    text: str
    answers: tuple[str, ...] = ()
    follows: bool | None = None


# Texts to pick ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def some_texts(*, pairs: bool = True, seed: int = HELD_OUT) -> tuple[Text, ...]:
    """Simulate texts with a hidden word, each of which asks for something else.

    They are chosen by what they ask, never by whether an encoder gets them right.

    Parameters
    ----------
    pairs
        Whether to offer texts in two parts too.
    seed
        The same seed gives the same texts.
    """
    told = simulate_stories(400, shortest=3, longest=4, reports=2, seed=seed)
    places = [
        one for one in told if _ends(one, "is") and _ends(one, "is", -2) and len(_said(one, PLACES)) > 1
    ]
    things = [one for one in told if _ends(one, "has") and len(_said(one, OBJECTS)) > 1]
    people = [one for one in told if _ends(one, "has") and len(_said(one, NAMES)) > 2 and one not in things]
    pronouns = [one for one in told if any(sentence[0] == "then" for sentence in one.sentences)]
    place, name, thing, pronoun, both = places[0], people[0], things[0], pronouns[0], places[1]
    again = next(at for at, sentence in enumerate(pronoun.sentences) if sentence[0] == "then")
    texts = [
        _hidden("A place", place.sentences, -1, 4),
        _hidden("Who has it", name.sentences, -1, 0),
        _hidden("What they have", thing.sentences, -1, 3),
        _hidden("She or he", pronoun.sentences, again, 1),
        _hidden("What happened", things[1].sentences, 0, 1),
        _hidden("Two places at once", both.sentences, (-2, -1), 4),
    ]
    if pairs:
        one, other = told[-1], told[-2]
        for title, second in (("Two parts of one story", one), ("Parts of two stories", other)):
            lines = (one.sentences[:3], second.sentences[3:])
            texts.append(Text(title, "\n".join(map(_text, lines)), follows=second is one))
    return tuple(texts)


def _ends(story: Story, verb: str, sentence: int = -1) -> bool:
    return story.sentences[sentence][1] == verb


def _said(story: Story, kind: Sequence[str]) -> set[str]:
    return {word for word in story.words if word in kind}


def _hidden(title: str, sentences: Sequence[Sequence[str]], hidden: int | Sequence[int], word: int) -> Text:
    """Hide the same word of one sentence or of several."""
    told, answers = [list(one) for one in sentences], []
    for sentence in (hidden,) if isinstance(hidden, int) else hidden:
        answers.append(told[sentence][word])
        told[sentence][word] = "_"
    return Text(title, _text(told), tuple(answers))


def _text(sentences: Sequence[Sequence[str]]) -> str:
    text = " ".join(" ".join(sentence) for sentence in sentences)
    return text.replace(" .", ".").replace(" ?", "?")


def parts(text: str) -> tuple[str, str]:
    r"""Cut a text in two after its first line.

    >>> parts("mary ran to the _.\nshe took the milk.")
    ('mary ran to the _.', 'she took the milk.')
    """
    first, _, second = text.strip().partition("\n")
    return first.strip(), second.strip()


def written(text: str) -> tuple[str, ...]:
    """Give a text's tokens as they were written, where the encoder reads some as ``[UNK]``.

    >>> written("rhea ran.")
    ('[CLS]', 'rhea', 'ran', '.', '[SEP]')
    """
    one, two = map(split, parts(text))
    return ("[CLS]", *one, "[SEP]", *two, *(["[SEP]"] if two else []))


def telling_head(looked: Looked) -> tuple[int, int, int]:
    """Choose what to show first: layer, head and looking token.

    The token is the first hidden word (or the first word), the head the one that looks hardest from there at
    one person, place or thing.
    """
    row = looked.guesses[0].place if looked.guesses else 1
    named = [token in (*NAMES, *PLACES, *OBJECTS) and at != row for at, token in enumerate(looked.tokens)]
    from_row = looked.weights[:, :, row].numpy() * np.array(named)
    layer, head, _ = np.unravel_index(int(from_row.argmax()), from_row.shape)
    return int(layer), int(head), row


# The figure -------------------------------------------------------------------------------------------------


def live(encoder: ShippedEncoder | None = None, *, texts: Sequence[Text] | None = None) -> Picture:
    """Put a pre-trained encoder into the page: the reader writes, hides words, and sees where the heads look.

    Parameters
    ----------
    encoder
        By default the one that ships with this library.
    texts
        What the reader can pick from; what the encoder makes of the first is computed here. By default
        `some_texts`.

    Returns
    -------
    Picture
        To be shown at the end of a cell, or written as a page of its own by ``save``.

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
    encoder = encoder._replace(model=_rounded(encoder.model))
    looked = look(encoder, *parts(texts[0].text))
    layer, head, row = telling_head(looked)
    still = shown(looked, texts[0].text, layer, head, row, answers=texts[0].answers, following=following)
    heat = [round(255 * channel) for channel in to_rgb(HEAT)]
    data = {
        **_network(encoder),
        "texts": [one._asdict() for one in texts],
        "first": {"layer": layer, "head": head},
        "following": following,
        "untold": UNTOLD,
        "heat": heat,
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    body = (
        f"<style>{_file('figure.css')}</style>"
        '<div class="rr rr-look mathjax_ignore" role="group" aria-label="See where the heads look"'
        f' data-lm-suppress-shortcuts="true" style="{_colours()}">{_form(texts, encoder)}{still.html}'
        f'<p class="rr-look-about">{_about(encoder)} <span class="rr-look-told"></span></p>'
        "<noscript><p>Scripts are off: this is one head on one text, computed beforehand. With scripts you "
        "can write a text, hide words, and look through every head.</p></noscript>"
        f'<script type="application/json">{text}</script></div>'
        f"<script>(() => {{\n{network_code()}\n{_file('figure.js')}}})();</script>"
    )
    size = len(body.encode())
    if size > LARGEST:
        raise UserError(
            f"the figure would weigh {size / 1e6:.1f} MB, and a page may carry {LARGEST / 1e6:.1f} MB; "
            "choose a narrower encoder, fewer layers or fewer texts"
        )
    return Picture(body, alt=still.alt)


def shown(
    looked: Looked,
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
    looked
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
    weights = looked.weights[layer, head, row].tolist()
    tokens = "".join(
        f'<span class="rr-look-token{" rr-look-looking" if at == row else ""}" style="--share:{weight:.4f}">'
        f"<span{_strange(word, read)}>{html.escape(word)}</span>"
        f"<small>{f'{weight:.2f}' if weight >= 0.005 else ''}</small></span>"
        for at, (word, read, weight) in enumerate(zip(words, looked.tokens, weights, strict=True))
    )
    best = sorted(range(len(words)), key=lambda at: -weights[at])[:3]
    most = ", ".join(f"“{words[at]}” ({weights[at]:.2f})" for at in best if weights[at] >= 0.005)
    said = (
        f"Layer {layer + 1}, head {head + 1}: from “{words[row]}”, token {row + 1}, it looks most at {most}."
    )
    strange = sorted({word for word, read in zip(words, looked.tokens, strict=True) if word != read})
    notes = f"<li>{html.escape(_never_met(strange))}</li>" if strange else ""
    body = (
        f'<div class="rr-look-tokens">{tokens}</div>'
        '<div class="rr-look-below"><output class="rr-look-said" aria-live="polite">'
        f"{html.escape(said)}</output>"
        '<button type="button" class="rr-look-hide" data-scripted hidden>Hide this word</button></div>'
        f'<ul class="rr-look-notes">{notes}</ul>'
        '<div class="rr-look-sides"><div data-scripted hidden><p class="rr-look-title">Heads: choose one</p>'
        '<div class="rr-look-maps" role="group" aria-label="Heads"></div>'
        '<p class="rr-look-key">In each map a row is the token that looks, a column the token looked at, '
        "shaded by the root of the weight; the ticks stand at the chosen token’s row.</p>"
        "</div>"
        '<div><p class="rr-look-title">What it guesses</p>'
        f'<div class="rr-look-guesses">{"".join(_guesses(looked, words, answers, following))}</div>'
        "</div></div>"
    )
    return Picture(body, alt=" ".join([said, *(_in_words(guess.words) for guess in looked.guesses)]))


def framed(looked: Looked, text: str, layer: int, head: int, row: int, **about: Any) -> Picture:
    """Draw what `shown` draws with its frame and look, to stand alone."""
    still = shown(looked, text, layer, head, row, **about)
    body = f'<div class="rr rr-look" data-ready style="{_colours()}">{still.html}</div>'
    return Picture(f"<style>{_file('figure.css')}</style>{body}", alt=still.alt)


def learnt_following(encoder: ShippedEncoder) -> bool:
    """Tell whether an encoder was trained to say if two parts belong together."""
    steps = encoder.made.get("steps", 1)
    return bool(steps[-1] if isinstance(steps, list) else steps)


def network_code() -> str:
    """Give the forward pass as it runs in the page: JavaScript, made to be read beside the model's file."""
    return _file("network.js")


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _colours() -> str:
    heat = " ".join(str(round(255 * channel)) for channel in to_rgb(HEAT))
    return f"--heat:{heat};--strongest:{STRONGEST}"


def _rounded(model: Bert) -> Bert:
    """Copy an encoder with its weights rounded to 16 bits, as the page gets them."""
    copy = Bert(model.config)
    copy.load_state_dict({name: tensor.cpu().half().float() for name, tensor in model.state_dict().items()})
    if any(not bool(tensor.isfinite().all()) for tensor in copy.state_dict().values()):
        raise UserError("the encoder has weights that 16 bits cannot hold; train it with a lower rate")
    return copy.eval()


def _network(encoder: ShippedEncoder) -> dict[str, Any]:
    """Write an encoder as what the constructor in ``network.js`` reads."""
    config, weights = encoder.model.config, encoder.model.state_dict()
    bits = np.concatenate([tensor.numpy().ravel() for tensor in weights.values()]).astype("<f2").tobytes()
    return {
        "sizes": {
            "width": config.width,
            "heads": config.heads,
            "layers": config.layers,
            "longest": config.longest,
        },
        "tokens": encoder.vocabulary.tokens,
        "tensors": [[name, tensor.numel()] for name, tensor in weights.items()],
        "weights": base64.b64encode(bits).decode(),
    }


def _form(texts: Sequence[Text], encoder: ShippedEncoder) -> str:
    """Write the controls; they stay hidden until the script runs."""
    options = "".join(
        f'<option value="{number}">{html.escape(one.title)}</option>' for number, one in enumerate(texts)
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
        '<form class="rr-look-form" autocomplete="off" data-scripted hidden>'
        f'<label>Example <select class="rr-look-picker">{options}<option value="own">Your own text</option>'
        "</select></label>"
        "<label>Text <span>(_ hides a word; a new line starts a second part)</span>"
        '<textarea class="rr-look-text" rows="3" spellcheck="false" autocapitalize="none"></textarea></label>'
        '<details class="rr-look-words"><summary>The words it knows, to be put in</summary>'
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
        found = [word for word in group if word == "_" or word in left]
        left = [word for word in left if word not in group]
        if found:
            yield title, found
    if left:
        yield "The rest", left


def _guesses(looked: Looked, words: Sequence[str], answers: Sequence[str], following: bool) -> Iterator[str]:
    for number, (place, guessed) in enumerate(looked.guesses):
        around = " ".join((*words[max(1, place - 3) : place], "____", words[place + 1]))
        verdict = ""
        if number < len(answers):
            right = guessed[0][0] == answers[number]
            verdict = "✓ right" if right else f"✗ it was: {answers[number]}"
        yield (
            f"<div><p>… {html.escape(around)} <strong>{html.escape(verdict)}</strong></p>"
            f'<ol aria-label="What token {place + 1} could be">{_bars(guessed)}</ol></div>'
        )
    if not looked.guesses:
        yield "<p>No word is hidden. Type _ for one.</p>"
    if looked.follows is not None and not following:
        yield f"<p>{UNTOLD}</p>"
    if looked.follows is not None and following:
        both = (("yes", looked.follows), ("no", 1 - looked.follows))
        yield f"<div><p>Does the second part continue the first?</p><ol>{_bars(both)}</ol></div>"


def _bars(shares: Sequence[tuple[str, float]]) -> str:
    return "".join(
        f'<li><span>{html.escape(word)}</span><span class="rr-look-bar" style="--share:{share:.4f}"></span>'
        f"<span>{share:.2f}</span></li>"
        for word, share in shares
    )


def _in_words(guessed: Sequence[tuple[str, float]]) -> str:
    return "It guesses: " + ", ".join(f"{word} ({share:.2f})" for word, share in guessed[:3]) + "."


def _strange(word: str, read: str) -> str:
    return "" if word == read else ' class="rr-look-unknown"'


def _never_met(strange: Sequence[str]) -> str:
    many = "this word and reads it" if len(strange) == 1 else "these words and reads them"
    return f"It has never met {many} as [UNK]: {', '.join(strange)}."


def _about(encoder: ShippedEncoder) -> str:
    config = encoder.model.config
    count = sum(tensor.numel() for tensor in encoder.model.parameters())
    words = sum(token not in SPECIALS for token in encoder.vocabulary.tokens)
    return (
        f"An encoder of {count:,} trained numbers, {config.layers} layers of {config.heads} heads. "
        f"It has read simulated stories and knows {words} words and marks."
    )
