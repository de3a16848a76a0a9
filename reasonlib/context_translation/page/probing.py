"""Pictures of what the bundled translator does with other contexts than those it was trained on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reasonlib.context_translation.models.pretrained import BundledTranslator, from_pretrained
from reasonlib.context_translation.page.reading import CONTEXTS, read_in_context, translate_all
from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.parallel import lexicon
from reasonlib.parallel.example import KINDS, Deciding, SentencePair, contexts
from reasonlib.parallel.metrics import sentence_accuracy
from reasonlib.parallel.simulator import SimulatorConfig, simulate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["crowded", "distance", "gallery", "gate", "helpful_cases", "longer", "looks", "other_context"]

SEED = 77  # of documents that no training has seen

Case = tuple[SentencePair, list[str]]
"""A sentence and those before it, the nearest last."""


def helpful_cases(
    count: int, *, seed: int = SEED, most: int = 30, config: SimulatorConfig | None = None
) -> list[Case]:
    """Simulate helpful sentences, each with all sentences before it up to `most`."""
    cases: list[Case] = []
    for document in simulate(count, seed=seed, config=config):
        for pair, before in zip(document.pairs, contexts(document, most), strict=True):
            if pair.decides is not None and pair.decides.distance <= most:
                cases.append((pair, list(before[::-1])))
    return cases[:count]


def _label(pair: SentencePair) -> Deciding:
    """Return the label of a helpful sentence."""
    assert pair.decides is not None
    return pair.decides


def _accuracy(translator: BundledTranslator, cases: Sequence[Case], *, count: int = CONTEXTS) -> float:
    written = translate_all(translator, [(pair.source, before) for pair, before in cases], count=count)
    return sentence_accuracy(written, [pair.target for pair, _ in cases])


def _far(count: int, distance: int) -> list[Case]:
    """Simulate sentences that need their context, with the deciding word `distance` sentences back."""
    sentences = 2 * (distance + 1) + 4
    config = SimulatorConfig(sentences=sentences, helpful=2 / sentences, distance=(distance, distance))
    return helpful_cases(count, config=config)


def gallery(*, each: int = 1) -> "pd.DataFrame":
    """Set translations with and without their context side by side, some of each kind."""
    import pandas as pd

    translator = from_pretrained()
    rows = []
    for pair, before in _by_kind(len(KINDS) * each, CONTEXTS):
        near = before[-CONTEXTS:]
        rows.append(
            {
                "before": " / ".join(near[-_label(pair).distance :]),
                "sentence": pair.source,
                "right": pair.target,
                "with context": translate_all(translator, [(pair.source, near)])[0],
                "without": translate_all(translator, [(pair.source, [])])[0],
            }
        )
    return pd.DataFrame(rows).set_index("before")


def other_context(*, count: int = 200) -> Picture:
    """Draw the accuracy on helpful sentences with their own context, with a foreign one, and with none."""
    translator = from_pretrained()
    cases = [case for case in helpful_cases(count) if _label(case[0]).distance <= CONTEXTS]
    foreign = [before for _, before in helpful_cases(len(cases), seed=SEED + 1)]
    values = {
        "own context": _accuracy(translator, cases),
        "context of another document": _accuracy(
            translator, [(pair, before) for (pair, _), before in zip(cases, foreign, strict=True)]
        ),
        "no context": _accuracy(translator, [(pair, []) for pair, _ in cases]),
    }
    return _bars(
        values,
        "sentence accuracy",
        f"The bundled HCE on {len(cases)} new helpful sentences.",
    )


def distance(*, count: int = 200, farthest: int = 6) -> Picture:
    """Draw the accuracy on helpful sentences against how far back the deciding word stands."""
    translator = from_pretrained()
    values = [_accuracy(translator, _far(count, back)) for back in range(1, farthest + 1)]
    return _line(
        list(range(1, farthest + 1)),
        values,
        "distance of the deciding word, in sentences",
        f"The bundled HCE reads {CONTEXTS} sentences back; {count} helpful sentences for each distance.",
    )


def longer(*, count: int = 200, counts: Sequence[int] = (1, 2, 3, 5, 8, 12)) -> Picture:
    """Plot accuracy by the number of context sentences; the deciding word is in the last of them."""
    translator = from_pretrained()
    cases = helpful_cases(
        2 * count, config=SimulatorConfig(sentences=24, helpful=4 / 24, distance=(1, 1)), most=max(counts)
    )
    cases = [case for case in cases if len(case[1]) >= max(counts)][:count]
    values = [_accuracy(translator, cases, count=read) for read in counts]
    return _line(
        list(counts),
        values,
        "context sentences that are read",
        f"The bundled HCE, trained with {CONTEXTS} context sentences; {len(cases)} helpful "
        "sentences whose deciding word is in the sentence before.",
    )


def crowded(*, count: int = 200) -> Picture:
    """Draw the accuracy on “it was old” after one noun, and after two of which the last is meant."""
    translator = from_pretrained()
    draw = np.random.default_rng(SEED)
    cases: dict[str, list[Case]] = {
        "one noun": [],
        "two nouns, two sentences": [],
        "two nouns, one sentence": [],
    }
    for _ in range(count):
        first, second = (_one(lexicon.NAMES, draw)[0] for _ in range(2))
        other, (noun, (_, kind)) = _one(lexicon.THINGS, draw)[0], _one(lexicon.THINGS, draw)
        first_verb, second_verb = (_one(lexicon.TRANSITIVE, draw)[0] for _ in range(2))
        adjective, stem = _one(lexicon.ADJECTIVES, draw)
        pronoun = lexicon.OBJECT_PRONOUNS[kind]
        pair = SentencePair(f"it was {adjective} .", f"{pronoun} {stem}{kind} est{kind} .")
        before, last = f"{first} {first_verb} the {other}", f"{second} {second_verb} the {noun} ."
        cases["one noun"].append((pair, [last]))
        cases["two nouns, two sentences"].append((pair, [f"{before} .", last]))
        cases["two nouns, one sentence"].append((pair, [f"{before} and {last}"]))
    return _bars(
        {name: _accuracy(translator, some) for name, some in cases.items()},
        "sentence accuracy",
        f"The bundled HCE on “it was …”, {count} of each form; the last noun is meant. No training sentence "
        "is of the third form. In a third of all cases both nouns are of the same class.",
    )


def gate(*, count: int = 100) -> Picture:
    """Draw how much context passes the gate: at the word that the context decides, and at the other words."""
    translator = from_pretrained()
    shares: dict[str, dict[str, list[float]]] = {"deciding word": {}, "other words": {}}
    for pair, before in _by_kind(count, CONTEXTS):
        translation = read_in_context(translator, pair.source, before)
        for word, kept in zip(translation.words, translation.kept.tolist(), strict=True):
            part = "deciding word" if word == _label(pair).word else "other words"
            shares[part].setdefault(_label(pair).kind, []).append(1 - kept)
    means = {
        part: {kind: float(np.mean(values[kind])) for kind in KINDS if kind in values}
        for part, values in shares.items()
    }
    return plotting.show(
        plotting.bars(means, unit="share of the context in the gated sum", limits=(0, 1)),
        alt="Share of the context that passes the gate.",
        caption="The bundled HCE on helpful sentences of each kind. The gate acts on source words; for a "
        "word of the translation we take the mean over source words, weighted by its attention to them.",
    )


def looks(*, count: int = 200) -> Picture:
    """Draw how often the word that the context decides looks most at the deciding sentence, and word."""
    translator = from_pretrained()
    hits: dict[str, list[bool]] = {"right sentence": [], "right word in it": []}
    chances: dict[str, list[float]] = {"right sentence": [], "right word in it": []}
    for pair, before in _by_kind(count, CONTEXTS):
        translation = read_in_context(translator, pair.source, before)
        if len(translation.context) < 2 or _label(pair).word not in translation.words:
            continue
        rows = translation.attention[translation.words.index(_label(pair).word)]
        right = len(rows) - _label(pair).distance
        totals = [float(row.sum()) for row in rows]
        hits["right sentence"].append(int(np.argmax(totals)) == right)
        hits["right word in it"].append(
            translation.context[right][int(rows[right].argmax())] == _label(pair).context_word
        )
        chances["right sentence"].append(1 / len(rows))
        chances["right word in it"].append(1 / len(translation.context[right]))
    values: dict[str, Any] = {
        "HCE": {name: float(np.mean(outcomes)) for name, outcomes in hits.items()},
        "chance": {name: float(np.mean(probabilities)) for name, probabilities in chances.items()},
    }
    return plotting.show(
        plotting.bars(values, unit="share of helpful sentences", limits=(0, 1)),
        alt="What the word that needs context attends to.",
        caption=f"The bundled HCE on {len(hits['right sentence'])} helpful sentences with two or more "
        "context sentences.",
    )


def _by_kind(count: int, most: int) -> list[Case]:
    cases = [case for case in helpful_cases(8 * count) if _label(case[0]).distance <= most]
    chosen = []
    for kind in KINDS:
        chosen += [case for case in cases if _label(case[0]).kind == kind][: max(1, count // len(KINDS))]
    return chosen


def _one(words: Any, draw: np.random.Generator) -> tuple[str, Any]:
    return list(words.items())[int(draw.integers(len(words)))]


def _bars(values: dict[str, float], unit: str, caption: str) -> Picture:
    return plotting.show(
        plotting.bars(values, unit=unit, limits=(0, 1.08)),
        alt=f"{unit.capitalize()}.",
        caption=caption,
    )


def _line(x: list[int], y: list[float], name: str, caption: str) -> Picture:
    return plotting.show(
        plotting.lines({"": (x, y)}, x=name, y="sentence accuracy on helpful sentences", limits=(0, 1.05)),
        alt=f"Accuracy against {name}.",
        caption=caption,
    )
