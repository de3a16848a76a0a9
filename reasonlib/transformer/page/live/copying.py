"""Models that copy a word, some without a part: write a word, and find out which part each lacks.

The models are those that the chapter trains. The page decodes greedily, token by token, as
`reasonlib.nn.decoding.greedy` does, and shows which letters of the input each written token attends to.

>>> from reasonlib.transformer.experiments.tasks import build
>>> copying({name: build("copy", without=name or None) for name in PARTS}, order=("", *list(PARTS)[1:]))
The word to copy is ...
"""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasonlib.display import live, plotting
from reasonlib.nn import Past
from reasonlib.transformer.data.simulator import vocabulary
from reasonlib.transformer.experiments.tasks import END, START

__all__ = ["LONGEST", "PARTS", "SCRIPTS", "WORD", "Written", "copying", "write"]

SCRIPTS = (Path(__file__).with_name("copying.js"),)
LONGEST = 12  # letters of a word; the models were trained on four to eight
WORD = "bookplan"
"""The first word to copy; every letter is one that the models know."""

PARTS: Mapping[str, str] = {
    "": "nothing",
    "positions": "positions",
    "causal-mask": "the causal mask",
    "memory-attention": "attention to the input",
}
"""From a part of `reasonlib.transformer.models.ablations` to what the menu calls it."""


class Written(NamedTuple):
    """What a model writes.

    Attributes
    ----------
    tokens
        T, the end included if it was written.
    shares
        The probability of each.
    attention : (T, S)
        Where each attends in the input: the weights of the last layer, the mean over heads.
    """

    tokens: tuple[str, ...]
    shares: tuple[float, ...]
    attention: Tensor


def write(model: Any, word: str, longest: int = LONGEST + 1) -> Written:
    """Copy a word greedily, as the figure does.

    Parameters
    ----------
    model
        A `Translator` of the task *copy*, whole or without a part.
    word
        Letters that the task has.
    longest
        Tokens at most.
    """
    letters = vocabulary("copy")
    source = torch.tensor([letters.encode(list(word))])
    tokens, shares, attention = [], [], []
    past: tuple[Past, ...] | None = None
    with torch.no_grad():
        reading = model.begin(source)
        token = torch.tensor([[START]])
        for position in range(longest):
            x = model.embed(token, position)
            decoded = model.decoder(x, reading.memory, memory_mask=reading.mask, past=past)
            past = decoded.past
            share = model.logits(decoded.output[:, -1]).softmax(-1)[0]
            attention.append(decoded.memory_attention[-1].weights[0, :, 0].mean(0))
            token = share.argmax().reshape(1, 1)
            tokens.append(letters.tokens[int(token)])
            shares.append(float(share.max()))
            if int(token) == END:
                break
    return Written(tuple(tokens), tuple(shares), torch.stack(attention))


def copying(models: Mapping[str, Any], *, order: Sequence[str], word: str = WORD) -> plotting.Picture:
    """Put models that copy a word into the page, each with the question which part it lacks.

    Parameters
    ----------
    models
        From a key of `PARTS` to a trained `Translator` of the task *copy* without that part.
    order
        The keys in the order in which they are called A, B, C and so on.
    word
        The first word to copy.

    Raises
    ------
    ValueError
        If the order is not one of the models, or the figure does not know a part.
    """
    if sorted(order) != sorted(models):
        raise ValueError(f"order must name each of the models once, got {order!r} for {sorted(models)}")
    if strange := [part for part in models if part not in PARTS]:
        raise ValueError(f"models must lack one of {', '.join(map(repr, PARTS))}, got {strange[0]!r}")
    names = dict(zip("ABCDEFGH", order, strict=False))
    config = models[order[0]].config
    answers = {name: _letters(write(models[part].eval(), word)) for name, part in names.items()}
    return live.figure(
        "copying",
        label="Find the part that each model lacks",
        static=_table(word, answers),
        scripts=SCRIPTS,
        styles=[Path(__file__).with_name("copying.css")],
        data={
            "tokens": vocabulary("copy").tokens,
            "heads": config.heads,
            "layers": config.layers,
            "models": [{"name": name, "missing": part} for name, part in names.items()],
            "parts": PARTS,
            "word": word,
            "longest": LONGEST,
        },
        models={part or "whole": live.pack_weights(_state(model)) for part, model in models.items()},
        about=f"{len(models)} Transformers with {config.layers} layer each in encoder and decoder, trained "
        "to copy words of four to eight letters from a to p.",
        offer="With scripts you can write a word and see what each model makes of it.",
    )


def _table(word: str, answers: Mapping[str, str]) -> plotting.Picture:
    """Show what each model writes, for readers without scripts."""
    alt = f"The word to copy is “{word}”. " + " ".join(
        f"Model {name} writes {f'“{answer}”' if answer else 'nothing'}." for name, answer in answers.items()
    )
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{html.escape(answer)}</td></tr>'
        for name, answer in answers.items()
    )
    return plotting.Picture(
        f"<table><caption>The word to copy is “{html.escape(word)}”.</caption><thead><tr>"
        f'<th scope="col">model</th><th scope="col">writes</th></tr></thead><tbody>{rows}</tbody></table>',
        alt=alt,
    )


def _state(model: Any) -> dict[str, Tensor]:
    """The weights by the names that a whole model has."""
    state = model.state_dict()
    return {name.replace("decoder.decoder.", "decoder."): value for name, value in state.items()}


def _letters(written: Written) -> str:
    return " ".join(token for token in written.tokens if token != "<end>")
