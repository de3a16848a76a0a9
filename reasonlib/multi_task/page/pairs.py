"""Pairs made to fool a model that compares sentences: those of the last slide, and simulated ones."""

import html
from collections import defaultdict

from reasonlib.display import plotting
from reasonlib.display.plotting import Picture
from reasonlib.multi_task.data.encoding import encode
from reasonlib.multi_task.data.simulator import TASKS, simulate
from reasonlib.multi_task.experiments.train import predict
from reasonlib.multi_task.models.pretrained import BundledSystem, from_pretrained
from reasonlib.multi_task.page.answering import ask

__all__ = ["PHENOMENA", "SLIDE", "by_phenomenon", "phenomena", "slide"]

SLIDE = (
    ("the man holds a saxophone .", "the man holds a guitar .", "contradiction"),
    ("a sad girl feeds a cat .", "an unhappy girl feeds a cat .", "entailment"),
    ("a lady sips a wine .", "a lady sips a champagne .", "neutral"),
)
"""The three pairs of the last slide in sentences of the small world, with the slide's labels."""

PHENOMENA = {
    "synonym": "synonym (entailment)",
    "general": "more general word (entailment)",
    "dropped": "detail left out (entailment)",
    "special": "more specific word (neutral)",
    "added": "detail added (neutral)",
    "action": "another action (neutral)",
    "sibling": "word that excludes the other (contradiction)",
    "opposite": "opposite (contradiction)",
    "negation": "“not” added or left out (contradiction)",
}
"""What decides the label of a simulated pair, in words."""


def slide(system: BundledSystem | None = None) -> Picture:
    """Show what the inference and paraphrase heads answer to the pairs of the slide, as a table."""
    system = from_pretrained() if system is None else system
    rows, wrong = [], 0
    for first, second, label in SLIDE:
        inference = ask("inference", first, second, system=system)
        paraphrase = ask("paraphrase", first, second, system=system)
        wrong += inference.words != label
        sure = max(inference.scores)
        cells = (first, second, label, f"{inference.words} ({100 * sure:.0f} %)", paraphrase.words)
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = "".join(
        f"<th>{name}</th>" for name in ("premise", "hypothesis", "label", "inference head", "paraphrase head")
    )
    caption = (
        "The pairs of the last slide in the words of the small world: label, and the answers of two heads."
    )
    return Picture(
        '<div class="rr-figure" style="overflow-x:auto" tabindex="0" role="region" aria-label="Pairs">'
        f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>",
        alt=f"The inference head is wrong on {wrong} of the {len(SLIDE)} pairs.",
    )


def by_phenomenon(
    count: int, *, seed: int = 77, system: BundledSystem | None = None
) -> dict[str, tuple[int, int]]:
    """Count right answers of the inference head on new pairs, by what decides their label.

    Parameters
    ----------
    count
        Pairs of each phenomenon, on average.
    seed
        Draws the pairs.
    system
        By default the bundled one.

    Returns
    -------
    dict
        Phenomenon to right answers and pairs.
    """
    system = from_pretrained() if system is None else system
    examples = simulate("inference", count * len(PHENOMENA), seed=seed)
    encoded = encode(examples, system.tokenizer)
    answers = predict(system.model, encoded, "inference", padding=system.tokenizer.pad_token_id)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for example, answer in zip(examples, answers, strict=True):
        counts[example.phenomenon][0] += answer == example.label
        counts[example.phenomenon][1] += 1
    return {name: (counts[name][0], counts[name][1]) for name in PHENOMENA if counts[name][1]}


def phenomena(count: int = 60, *, system: BundledSystem | None = None) -> Picture:
    """Draw the accuracy of the inference head on new pairs, by what decides their label."""
    counts = by_phenomenon(count, system=system)
    shares = {PHENOMENA[name]: right / total for name, (right, total) in counts.items()}
    right, total = (sum(column) for column in zip(*counts.values(), strict=True))
    totals = [pairs for _, pairs in counts.values()]
    classes = len(TASKS["inference"].labels)
    return plotting.show(
        plotting.bars(
            shares, unit="share of pairs answered right", limits=(0, 1), reference=("chance", 1 / classes)
        ),
        alt="Accuracy of the inference head: "
        + ", ".join(f"{name} {share:.2f}" for name, share in shares.items()),
        caption=f"The bundled model's inference head on {total} new pairs, by what decides their label. It "
        f"is right on {100 * right / total:.0f} %. A kind has {min(totals)} to {max(totals)} pairs, so a few "
        "points mean nothing.",
    )
