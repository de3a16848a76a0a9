"""Figures that answer in the reader's browser: the bundled translator, and what encoders cost.

``network.js`` is HCE's forward pass and greedy decoding, ``translating.js`` what the reader sees of it;
``counting.js`` counts pairs of words. The shell is `reasonlib.display.live`.
"""

import html
from pathlib import Path
from typing import Any

from reasonlib.context_translation.models.pretrained import BundledTranslator, from_pretrained
from reasonlib.context_translation.page.glosses import glosses
from reasonlib.context_translation.page.labels import ROWS
from reasonlib.context_translation.page.pairs import SYSTEMS, attention_pairs
from reasonlib.context_translation.page.reading import CONTEXTS, LONGEST, translate_all
from reasonlib.display import live as shell
from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.parallel import simulate

__all__ = ["CASES", "WORDS", "counting", "describe_network", "source_words", "translating", "weights_of"]

FOLDER = Path(__file__).parent
LAYERS = 6  # of the source's encoders
BITS = 8

CASES: tuple[dict[str, Any], ...] = (
    {
        "kind": "what is “it”?",
        "source": "it was old .",
        "contexts": [
            ["mary found the lamp ."],
            ["mary found the book ."],
            ["mary found the key ."],
            ["mary found the key .", "it rained again ."],
            [],
        ],
    },
    {
        "kind": "who did it?",
        "source": "then slept at home .",
        "contexts": [["tom washed the shirt ."], ["anna washed the shirt ."], []],
    },
    {
        "kind": "which verb?",
        "source": "and paul the box .",
        "contexts": [
            ["mary sold the clock ."],
            ["mary washed the clock ."],
            ["mary hid the clock .", "snow fell outside ."],
            [],
        ],
    },
    {
        "kind": "polite or plain?",
        "source": "you found the map ?",
        "contexts": [["good morning , professor ."], ["good morning , kid ."], []],
    },
    {
        "kind": "needs no context",
        "source": "the lamp was heavy .",
        "contexts": [["mary found the book ."], ["good morning , sir ."], []],
    },
)
"""Sentences to choose from, and what may stand before each."""


WORDS = 60
"""How many words of a sentence the figure reads; a pasted text would keep the page busy for seconds."""


def source_words() -> set[str]:
    """Return the words of the source language, as the simulator's sentences show them."""
    pairs = (pair for document in simulate(200, seed=0) for pair in document.pairs)
    return {word for pair in pairs for word in pair.source.split() if word.isalpha()}


def weights_of(translator: BundledTranslator) -> dict[str, Any]:
    """Return the translator's ``state_dict`` without what the page computes itself."""
    state = translator.model.state_dict()
    return {name: tensor for name, tensor in state.items() if "positions" not in name}


def describe_network(translator: BundledTranslator) -> dict[str, Any]:
    """Give what the page needs beside the weights: sizes and words."""
    config = translator.model.config
    return {
        "layers": config.layers,
        "heads": config.heads,
        "contexts": CONTEXTS,
        "longest": LONGEST,
        "words": WORDS,
        "tokens": list(translator.tokens.vocabulary.tokens),
    }


def translations(translator: BundledTranslator, case: dict[str, Any]) -> Picture:
    """Draw the translations of one sentence after several contexts, as plain HTML."""
    written = translate_all(translator, [(case["source"], lines) for lines in case["contexts"]])
    rows = "".join(
        f"<tr><td>{html.escape(' '.join(lines)) or '(nothing)'}</td><td>{html.escape(text)}</td></tr>"
        for lines, text in zip(case["contexts"], written, strict=True)
    )
    head = f"<th>before</th><th>translation of “{html.escape(case['source'])}”</th>"
    description = "; ".join(
        f"after “{' '.join(lines) or 'nothing'}” it is “{text}”"
        for lines, text in zip(case["contexts"], written, strict=True)
    )
    return Picture(
        f'<div class="rr-figure"><table><thead><tr>{head}</tr></thead>{rows}</table></div>',
        alt=f"The translation of “{case['source']}” depends on the sentence before: {description}.",
    )


def translating(translator: BundledTranslator | None = None, *, start: int = 0, context: int = 0) -> Picture:
    """Put the translator into the page: the reader chooses or writes the context of a sentence.

    Parameters
    ----------
    translator
        By default the bundled one.
    start
        Which of `CASES` comes first; the chapters begin with different ones.
    context
        Which of its contexts stands before the sentence first.

    Raises
    ------
    ValueError
        If there is no such case, or it has no such context.
    """
    if not 0 <= start < len(CASES):
        raise ValueError(f"start must be from 0 to {len(CASES) - 1}, got {start}")
    if not 0 <= context < len(CASES[start]["contexts"]):
        raise ValueError(f"context must be from 0 to {len(CASES[start]['contexts']) - 1}, got {context}")
    translator = translator or from_pretrained()
    meanings = glosses()
    tokens = translator.tokens.vocabulary.tokens
    data = describe_network(translator) | {
        "cases": list(CASES),
        "start": start,
        "context": context,
        "glosses": {word: meanings[word] for word in tokens if meanings.get(word)},
        "known": sorted(source_words() & set(tokens)),
    }
    config = translator.model.config
    return shell.figure(
        "translating",
        label="Translate a sentence after a context that you choose",
        static=translations(translator, CASES[start]),
        scripts=[FOLDER / "network.js", FOLDER / "translating.js"],
        styles=[FOLDER / "figure.css"],
        data=data,
        models={"translator": shell.pack_weights(weights_of(translator), bits=BITS)},
        about=f"A small trained HCE: {config.layers} layers, width {config.width}, and the last "
        f"{CONTEXTS} sentences as context.",
        offer="With scripts you can change the context and see the translation change.",
    )


def counting() -> Picture:
    """Put sliders into the page: lengths and number of context sentences, and what each encoder compares."""
    counts = {
        ROWS[name]: attention_pairs(name, source=10, context=10, count=10, layers=LAYERS) for name in SYSTEMS
    }
    still = plotting.show(
        plotting.bars(counts, unit="pairs of words, ten context sentences of ten words"),
        alt="Pairs of words that each encoder compares: "
        + ", ".join(f"{name} {count:,}" for name, count in counts.items()),
    )
    return shell.figure(
        "counting",
        label="Count the pairs of words that each encoder compares",
        static=still,
        scripts=[FOLDER / "counting.js"],
        styles=[FOLDER / "figure.css"],
        data={"layers": LAYERS, "names": {name: ROWS[name] for name in SYSTEMS}},
        about=f"Pairs of a query and a key in an encoder of {LAYERS} layers.",
        offer="With scripts you can change the lengths and the number of sentences.",
    )
