"""One list of texts for all sets of a task, so that what is known of a text stands in one table.

A set numbers its own texts. Models that carry something for every text, the counts of its tags or the vector
of the whole paragraph, need one numbering for training and test alike, and for whatever is said later.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from reasonlib.goal_dialogue.data.encoding import EncodedTask, TurnSet
from reasonlib.training.vocabulary import Vocabulary

__all__ = ["TextIndex", "with_sets"]


def with_sets(task: EncodedTask, sets: Mapping[str, TurnSet]) -> EncodedTask:
    """Put other sets in the place of those of a task."""
    return replace(task, train=sets["train"], valid=sets["valid"], test=sets["test"], oov=sets.get("oov"))


class TextIndex:
    """Numbers texts in the order in which they are met.

    Parameters
    ----------
    vocabulary
        Of the task.
    marks
        Count a sentence's speaker and turn as words of its text, so that ``hi`` and ``hi $u #0`` are two.
    """

    def __init__(self, vocabulary: Vocabulary, *, marks: bool = False) -> None:
        self.vocabulary, self.marks = vocabulary, marks
        self.numbers: dict[str, int] = {}
        self.met: Callable[[list[str]], None] = lambda texts: None  # told of every text that is new

    def of_task(self, task: EncodedTask) -> EncodedTask:
        """Number the texts of every set; candidates are not read as texts, and keep their numbers."""
        return with_sets(task, {name: self.of_turns(turns) for name, turns in task.sets.items()})

    def of_turns(self, turns: TurnSet) -> TurnSet:
        """Number the texts of a set."""
        before = len(self.numbers)
        text = np.array([self._number(turns, row) for row in range(len(turns.text))], dtype=np.int64)
        common = tuple(self.numbers)
        if len(common) > before:
            self.met(list(common[before:]))
        entities = None
        if turns.entities is not None:
            entities = np.full((len(common), turns.entities.shape[1]), -1, dtype=np.int64)
            entities[text] = turns.entities[turns.text]
        return replace(turns, texts=common, text=text, entities=entities)

    def _number(self, turns: TurnSet, row: int) -> int:
        """Give the text of one sentence its number."""
        text = turns.texts[turns.text[row]]
        if self.marks:
            span = turns.words[turns.starts[row] : turns.starts[row + 1]]
            last = self.vocabulary.decode(span[-2:].tolist())
            text_words = text.split()[-2:]
            text = " ".join(
                [text, *(token for token in last if token[:1] in "$#" and token not in text_words)]
            )
        return self.numbers.setdefault(text, len(self.numbers))
