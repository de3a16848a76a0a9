"""Texts with hidden words, to be shown to an encoder: what they ask, and how they are cut."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from reasonlib.transformer.data.stories import NAMES, OBJECTS, PLACES, Story, simulate_stories
from reasonlib.transformer.models.pretrained import Inspection, split

__all__ = ["Text", "parts", "some_texts", "telling_head", "written"]

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
    stories = simulate_stories(400, shortest=3, longest=4, reports=2, seed=seed)
    places = [
        item
        for item in stories
        if _ends(item, "is") and _ends(item, "is", -2) and len(_mentioned(item, PLACES)) > 1
    ]
    things = [item for item in stories if _ends(item, "has") and len(_mentioned(item, OBJECTS)) > 1]
    people = [
        item
        for item in stories
        if _ends(item, "has") and len(_mentioned(item, NAMES)) > 2 and item not in things
    ]
    pronouns = [item for item in stories if any(sentence[0] == "then" for sentence in item.sentences)]
    position, name, thing, pronoun, both = places[0], people[0], things[0], pronouns[0], places[1]
    sentence_index = next(index for index, sentence in enumerate(pronoun.sentences) if sentence[0] == "then")
    texts = [
        _hidden("A place", position.sentences, -1, 4),
        _hidden("Who has it", name.sentences, -1, 0),
        _hidden("What they have", thing.sentences, -1, 3),
        _hidden("She or he", pronoun.sentences, sentence_index, 1),
        _hidden("What happened", things[1].sentences, 0, 1),
        _hidden("Two places at once", both.sentences, (-2, -1), 4),
    ]
    if pairs:
        item, other = stories[-1], stories[-2]
        for title, second in (("Two parts of one story", item), ("Parts of two stories", other)):
            lines = (item.sentences[:3], second.sentences[3:])
            texts.append(Text(title, "\n".join(map(_text, lines)), follows=second is item))
    return tuple(texts)


def _ends(story: Story, verb: str, sentence: int = -1) -> bool:
    return story.sentences[sentence][1] == verb


def _mentioned(story: Story, kind: Sequence[str]) -> set[str]:
    return {word for word in story.words if word in kind}


def _hidden(title: str, sentences: Sequence[Sequence[str]], hidden: int | Sequence[int], word: int) -> Text:
    """Hide the same word of one sentence or of several."""
    masked, answers = [list(item) for item in sentences], []
    for sentence in (hidden,) if isinstance(hidden, int) else hidden:
        answers.append(masked[sentence][word])
        masked[sentence][word] = "_"
    return Text(title, _text(masked), tuple(answers))


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
    item, two = map(split, parts(text))
    return ("[CLS]", *item, "[SEP]", *two, *(["[SEP]"] if two else []))


def telling_head(inspection: Inspection) -> tuple[int, int, int]:
    """Choose what to show first: layer, head and looking token.

    The token is the first hidden word (or the first word), the head the one that looks hardest from there at
    one person, place or thing.
    """
    row = inspection.guesses[0].position if inspection.guesses else 1
    named = [
        token in (*NAMES, *PLACES, *OBJECTS) and index != row for index, token in enumerate(inspection.tokens)
    ]
    from_row = inspection.weights[:, :, row].numpy() * np.array(named)
    layer, head, _ = np.unravel_index(int(from_row.argmax()), from_row.shape)
    return int(layer), int(head), row
