"""Which type has an invented name? One tagger reads its letters, the other the words around it too.

>>> letters()
Words and their types: may (letters alone: none, with its sentence: none); ...
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from reasonlib.display import live
from reasonlib.display.plotting import Picture
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.models.tagger import CHARACTERS, TAGS, Tagger, encode_characters
from reasonlib.goal_dialogue.page.figures import tagged

__all__ = ["SCRIPTS", "SENTENCES", "letters", "tag_shares"]

FOLDER = Path(__file__).parent
SCRIPTS = (FOLDER / "taggers.js",)
LONGEST = 16  # words: what fits on a screen

SENTENCES = (
    "may i have a table in zorgville with blarfish food",
    "i love kenyan food in new_zork",
    "here it is resto_zorgville_cheap_blarfish_4stars_phone",
    "zorgville",
)
"""Sentences that the reader can pick."""

NAMES = {"letters": "letters alone", "context": "with its sentence"}


def tag_shares(tagger: Tagger, words: Sequence[str]) -> Tensor:
    """Give the probability of every tag but padding for each word of a sentence, shape (J, T - 1)."""
    with torch.no_grad():
        return tagger(encode_characters([list(words)]))[0][:, 1:].softmax(-1)


def letters(sentences: Sequence[str] = SENTENCES) -> Picture:
    """Put two taggers into the page: the reader invents names and sees what type they are read as, and why.

    Parameters
    ----------
    sentences
        What can be picked; the first is tagged here.

    Raises
    ------
    ValueError
        If there is no sentence.
    """
    if not sentences:
        raise ValueError("sentences must hold at least one sentence, got none")
    words = sentences[0].split()
    models, given = {}, {}
    for name, title in NAMES.items():
        tagger: Tagger = from_pretrained(f"tagger-{name}")
        models[name] = live.pack_weights(tagger.state_dict())
        best = tag_shares(live.rounded(tagger), words).argmax(1).tolist()
        given[title] = [[TAGS[tag + 1] for tag in best]]
    return live.figure(
        "letters",
        label="See how a tagger reads an invented name",
        static=tagged([words], given),
        scripts=SCRIPTS,
        styles=[FOLDER / "letters.css"],
        data={"characters": CHARACTERS, "tags": TAGS, "sentences": sentences, "longest": LONGEST},
        models=models,
        about="Two taggers, trained on the same dialogues: one reads only a word's letters, the "
        "other also its sentence.",
        offer="With scripts you can invent names and see how their letters are read.",
    )
