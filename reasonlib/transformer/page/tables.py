"""The tables and charts of this topic that its results page and its chapters show, each by name.

Every number is read from ``records/transformer`` by `reasonlib.transformer.page.figures`.
"""

from typing import TYPE_CHECKING

from reasonlib.display.plotting import Picture
from reasonlib.transformer.experiments import EXPERIMENTS
from reasonlib.transformer.page import figures

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "beam_search",
    "bundled_encoder",
    "decoding",
    "heads_and_scale",
    "heads_and_scale_chart",
    "normalisation",
    "normalisation_chart",
    "parity",
    "positions",
    "pretraining",
    "pretraining_before_labels",
    "pretraining_chart",
    "pretraining_steps",
]

EXACT = {"answers with every token right": "exact", "tokens right": "token"}
DECODING_COLUMNS = {
    "log-probability (nats)": "logprob",
    "share": "share",
    "likeliest found": "likeliest",
    "BLEU": "bleu",
}

HEADS_AND_SCALE = {
    "copy, one head of width 128": "copy.wide",
    "the same without the root": "copy.wide.no-scale",
    "copy, heads of width 8": "copy",
    "heads of width 8, without the root": "copy.no-scale",
    "both neighbours, four heads": "neighbours",
    "both neighbours, one head": "neighbours.one-head",
}

NORMALISATION = {
    "post-norm": "post",
    "post-norm, warm-up": "post-warm-up",
    "pre-norm": "pre",
    "pre-norm, warm-up": "pre-warm-up",
}

WAYS = {
    "no pre-training": "from-scratch",
    "hidden words": "masked",
    "both tasks at once": "masked-following",
    "hidden words, then both": "masked-then-both",
    "next sentences alone": "following",
    "all chosen words hidden": "all-hidden",
}

FORK = {
    "greedy": "fork.greedy",
    "beam of two": "fork.beam-2",
    "beam of four": "fork.beam-4",
    "beam of four, length penalty": "fork.beam-4-penalty",
    "sampled": "fork.sample",
    "sampled from the likeliest 90 %": "fork.nucleus",
}

REVERSE = {"greedy": "reverse.greedy", "beam of four": "reverse.beam-4"}

PARITY = {
    "in one step": "parity",
    "in one step, four layers": "parity.four-layers",
    "one bit at a time": "aloud",
    "one bit at a time, no positions": "aloud.no-positions",
    "one bit at a time, no attention to the input": "aloud.no-memory-attention",
    "one bit at a time, no causal mask": "aloud.no-causal-mask",
}


def heads_and_scale() -> "pd.DataFrame":
    """List tasks with and without the root in the scores, and with one head or several."""
    return figures.table("transformer/parts", HEADS_AND_SCALE, EXACT)


def heads_and_scale_chart() -> Picture:
    """Draw `heads_and_scale`: the share of answers with every token right."""
    return figures.bars(
        "transformer/parts",
        HEADS_AND_SCALE,
        "exact",
        unit="share of answers with every token right",
        subject="Tasks with and without the root in the scores, and with one head or four",
    )


def positions() -> "pd.DataFrame":
    """List how words are copied with each kind of position, as long as in training and longer."""
    return figures.table(
        "transformer/positions",
        {"sinusoids": "sinusoidal", "learned": "learned", "none": "none"},
        {
            "as long as in training": "exact",
            "one token longer": "exact.9",
            "one to four longer": "exact.beyond",
        },
    )


def normalisation() -> "pd.DataFrame":
    """List how a stack of six layers learns to sort with the norm after the sum or before the part."""
    return figures.table(
        "transformer/norm",
        NORMALISATION,
        {**EXACT, "gradient, last / middle layer": "gradient.last-to-middle"},
    )


def normalisation_chart() -> Picture:
    """Draw `normalisation`: the share of answers with every token right."""
    return figures.bars(
        "transformer/norm",
        NORMALISATION,
        "exact",
        unit="share of words sorted with every token right",
        subject="Six layers trained to sort, with post-norm and pre-norm, with and without warm-up",
    )


def decoding() -> "pd.DataFrame":
    """List what each way to write an answer finds, over many questions."""
    fork = {f"fork: {name}": row for name, row in FORK.items()}
    reverse = {f"reverse, half trained: {name}": row for name, row in REVERSE.items()}
    return figures.table("transformer/decoding", fork | reverse, DECODING_COLUMNS)


def beam_search() -> Picture:
    """Draw how often each way to write an answer finds the likeliest one."""
    return figures.bars(
        "transformer/decoding",
        FORK,
        "likeliest",
        unit="share of questions whose likeliest answer is found",
        subject="Ways to write an answer on the task fork",
    )


def parity() -> "pd.DataFrame":
    """List how parity is learned in one step and one bit at a time, whole and with a part taken out."""
    return figures.table("transformer/parts", PARITY, EXACT)


def bundled_encoder() -> "pd.DataFrame":
    """List what the bundled encoder guesses of stories that it was not trained on, by kind of word."""
    return figures.table(
        "transformer/bundle",
        {"bundled encoder": "encoder"},
        {
            "hidden words": "words",
            "new fact of a report": "reports",
            "… where someone is": "reports.person",
            "… who has something": "reports.holder",
            "… what someone has": "reports.thing",
            "next sentence or not": "follows",
        },
    ).T


def pretraining() -> "pd.DataFrame":
    """List ways to spend one number of steps on pre-training and on the task."""
    return figures.table(
        "transformer/pretraining",
        WAYS,
        {
            "few labels: trained on": "answers.learnt",
            "few labels: new questions": "answers",
            "many labels: new questions": "answers.many",
            "statements": "statements",
        },
    )


def pretraining_chart() -> Picture:
    """Draw `pretraining`: the share of new questions answered after few labels."""
    return figures.bars(
        "transformer/pretraining",
        WAYS,
        "answers",
        unit="share of new questions answered correctly, few labels",
        subject="Ways to spend the same number of steps on pre-training and on the task",
    )


def pretraining_before_labels() -> "pd.DataFrame":
    """List what pre-training alone has taught, before any label."""
    return figures.table(
        "transformer/pretraining",
        WAYS,
        {"hidden words guessed": "pre.words", "next sentences recognised": "pre.follows"},
    )


def pretraining_steps() -> "pd.DataFrame":
    """List the steps and labels of the comparison at each scale."""
    import pandas as pd

    scales = {
        name: values
        for name, values in EXPERIMENTS["transformer/pretraining"].scales.items()
        if name != "smoke"
    }
    return pd.DataFrame(
        {
            scale: {
                "steps in all": values["steps"],
                "of them pre-training": round(values["steps"] * values["share"]),
                "few labels": values["few"],
                "many labels": values["many"],
            }
            for scale, values in scales.items()
        }
    )
