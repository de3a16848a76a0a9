"""Figures and tables of the chapter on paragraph vectors and key tags, from what the page has trained."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reasonlib.display import plotting
from reasonlib.goal_dialogue.data.example import Split
from reasonlib.goal_dialogue.experiments import train_tagger
from reasonlib.goal_dialogue.experiments.ceiling import ceiling
from reasonlib.goal_dialogue.models import tagger
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.page import figures

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "bundled_tags",
    "ceilings",
    "letter_by_letter",
    "lstm_difference",
    "similarity",
    "tag_accuracy",
]


def similarity(
    vectors: Callable[[list[list[str]]], np.ndarray], sentences: Sequence[str]
) -> plotting.Picture:
    """Draw the cosine similarity of some sentences' vectors.

    Parameters
    ----------
    vectors
        Gives one vector for each sentence, a list of words.
    sentences
        The sentences.
    """
    points = vectors([sentence.split() for sentence in sentences])
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    return plotting.show(
        plotting.attention_map(np.clip(points @ points.T, 0, 1), list(sentences), list(sentences)),
        alt=f"Cosine similarity between the paragraph vectors of {len(sentences)} sentences, 0 to 1",
        caption="Cosine similarity of paragraph vectors trained on this page. Darker is more similar; "
        "negative values count as zero.",
    )


def lstm_difference(*, seed: int) -> float:
    """Take one step with `tagger.lstm_step` and one with PyTorch's cell of the same weights; compare."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        cell = torch.nn.LSTMCell(5, 4)
        letter, before = torch.randn(2, 5), (torch.randn(2, 4), torch.randn(2, 4))
        weights: dict[str, torch.Tensor] = {}
        parts = (cell.weight_hh, cell.weight_ih, cell.bias_hh + cell.bias_ih)
        for name, hidden, inputs, bias in zip("ifco", *(part.chunk(4) for part in parts), strict=True):
            weights |= {f"W_{name}": torch.cat([hidden, inputs], dim=1), f"b_{name}": bias}
        ours = tagger.lstm_step(letter, before, weights)[0]
        return float((ours - cell(letter, before)[0]).abs().max())


def tag_accuracy(taggers: Mapping[str, Any], split: Split) -> "pd.DataFrame":
    """The share of unseen words that get the right type, a row for each type and a column for each tagger."""
    import pandas as pd

    lines: dict[str, dict[str, float]] = {}
    for label, model in taggers.items():
        for row in train_tagger.tag_accuracy(model, split, split.oov):
            if not row.seen:
                lines.setdefault(row.type, {"words": row.words})[label] = row.accuracy
    return pd.DataFrame(lines).T.astype({"words": int}).round(3).rename_axis("type")


def bundled_tags(lines: Sequence[str], types: Mapping[str, str]) -> plotting.Picture:
    """Show the type that each bundled tagger gives to the words of some lines, beside the right one.

    Parameters
    ----------
    lines
        What to tag.
    types
        The right types; words without one have the type ``none``.
    """
    sentences = [line.split() for line in lines]
    names = {"from letters": "tagger-letters", "from the sentence": "tagger-context"}
    tags = {
        label: [
            [tagger.TAGS[number] for number in row] for row in tagger.tag(from_pretrained(name), sentences)
        ]
        for label, name in names.items()
    }
    right = [[types.get(word, "none") for word in words] for words in sentences]
    return figures.tagged(sentences, tags, right=right)


def letter_by_letter(reader: Any, word: str) -> plotting.Picture:
    """Draw the probability of each type after each letter of a word, as if the word ended there."""
    beginnings = [[word[: end + 1]] for end in range(len(word))]
    with torch.no_grad():
        scores = reader(tagger.encode_characters(beginnings))[:, 0, 1:].softmax(-1)
    drawing = plotting.attention_map(scores.T.numpy(), list(tagger.TAGS[1:]), list(word))
    drawing.axes[-1].set_xlabel("probability, if the word ended here")
    return plotting.show(
        drawing,
        alt="Probability of each type after each letter of a restaurant's name",
        caption="Probability of each type (rows) if the word ended at this letter (columns). The "
        "tagger trained on this page.",
    )


def ceilings(split: Split) -> plotting.Picture:
    """Draw which share of the test responses of task 4 has words of training, or of validation, only."""
    return plotting.show(
        plotting.bars(
            {
                "training": ceiling(split)["test"].words,
                "validation": ceiling(split, learnt="valid")["test"].words,
            },
            unit="share of test responses",
            limits=(0, 1),
        ),
        alt="Share of the test responses of task 4 whose words occur in training and in validation responses",
        caption="Share of the test responses of task 4 whose every word the system says in the "
        "training dialogues, and in the validation dialogues; simulated.",
    )
