"""Responses as templates: words of the system's own, and names that it only repeats.

No list says which words are names (Hermann et al. 2015 have one, and replace names by marks without a
meaning). Two regularities identify them:

1. the system repeats them: whenever it says one, it had been said in this dialogue before, and in an
   otherwise equal response another one stands in its place;
2. both people and facts use them: *italian* is said, and a fact's value; *please* is only said, a rating only
   stored.

A response whose names are replaced by gaps is a *template*::

    api_call italian paris six cheap                                   api_call _ _ _ _
    what do you think of this option: resto_paris_cheap_thai_2stars    what do you think of this option: _
    here it is resto_paris_cheap_thai_2stars_phone                     here it is _

A `Language` is what one training set teaches of this. It is learned from dialogues alone: no list of
entities, no types, no knowledge base. Words that are too rare count as names too, so every
out-of-vocabulary word is one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from reasonlib.goal_dialogue.data.example import Dialogue, Event, Fact, Turn

__all__ = ["GAP", "Derivation", "Language", "Template", "event_lines", "learn_language"]

GAP = "_"
"""What stands for a gap when a template is written out."""

Template = tuple[str | None, ...]
"""A response word for word; ``None`` is a gap."""


class Derivation(NamedTuple):
    """One way to say a response: a template, and what fills its gaps in order."""

    template: int
    fillers: tuple[str, ...]


def event_lines(event: Event) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the lines of an event: who speaks (``user``, ``system``, ``fact`` or ``note``) and the words.

    >>> list(event_lines(Turn("in paris", "for how many")))
    [('user', ('in', 'paris')), ('system', ('for', 'how', 'many'))]
    """
    if isinstance(event, Turn):
        yield "user", tuple(event.user.split())
        yield "system", tuple(event.bot.split())
    elif isinstance(event, Fact):
        yield "fact", (event.subject, event.relation, event.value)
    else:
        yield "note", tuple(event.text.split())


@dataclass(frozen=True, kw_only=True)
class Language:
    """The words, names and templates of a training set.

    Attributes
    ----------
    words
        The words that are no names, in alphabetical order. Any other word is a name.
    names
        The names of the training set, in alphabetical order; there are others.
    templates
        The responses, names replaced by gaps, the most frequent first.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]
    templates: tuple[Template, ...]

    @cached_property
    def word_set(self) -> frozenset[str]:
        """The words that are no names, for look-up."""
        return frozenset(self.words)

    @cached_property
    def _by_frame(self) -> dict[tuple[int, ...], dict[tuple[str, ...], int]]:
        """Templates by the places of their gaps and their number of words, then by what is not a gap."""
        frames: dict[tuple[int, ...], dict[tuple[str, ...], int]] = defaultdict(dict)
        for number, template in enumerate(self.templates):
            frame = (len(template), *(position for position, word in enumerate(template) if word is None))
            frames[frame][tuple(word for word in template if word is not None)] = number
        return dict(frames)

    @property
    def gaps(self) -> tuple[int, ...]:
        """How many gaps each template has."""
        return tuple(template.count(None) for template in self.templates)

    def derive(self, response: str) -> tuple[Derivation, ...]:
        """List every way to say a response: the templates that fit it, their gaps filled with names.

        Parameters
        ----------
        response
            As it is written; words are separated by spaces.

        Returns
        -------
        tuple of Derivation
            Empty for a response that no template fits.
        """
        words = response.split()
        derivations = []
        for (length, *gaps), templates in self._by_frame.items():
            if length != len(words) or any(words[position] in self.word_set for position in gaps):
                continue
            number = templates.get(tuple(word for position, word in enumerate(words) if position not in gaps))
            if number is not None:
                derivations.append(Derivation(number, tuple(words[position] for position in gaps)))
        return tuple(sorted(derivations))

    def write(self, template: int, fillers: Sequence[str] | None = None) -> str:
        """Write a template out, its gaps filled or left open.

        >>> Language(words=("call",), names=(), templates=(("call", None),)).write(0)
        'call _'

        Raises
        ------
        ValueError
            If there are not as many fillers as gaps.
        """
        pattern = self.templates[template]
        if fillers is None:
            fillers = (GAP,) * pattern.count(None)
        if len(fillers) != pattern.count(None):
            raise ValueError(
                f"fillers must be as many as the template's gaps, {pattern.count(None)}, got {len(fillers)}"
            )
        rest = iter(fillers)
        return " ".join(next(rest) if word is None else word for word in pattern)


def learn_language(
    dialogues: Iterable[Dialogue], *, repeated: float = 1.0, common: float = 0.05, numbers: bool = True
) -> Language:
    """Learn words, names and templates from dialogues.

    Parameters
    ----------
    dialogues
        The training set.
    repeated
        Share of a name's uses by the system that must have been heard before; 1 where data is clean.
    common
        Share of the dialogues a word must occur in to be known as a word. Names that the system has not said
        yet fall below it.
    numbers
        Know whole numbers as words. Without them a rating is one more name.

    Returns
    -------
    Language

    Raises
    ------
    ValueError
        If there are no dialogues or a share is out of range.
    """
    for name, share in (("repeated", repeated), ("common", common)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be between 0 and 1, got {share}")
    uses, echoes, spread = Counter[str](), Counter[str](), Counter[str]()
    turn_words: set[str] = set()
    fact_words: set[str] = set()
    responses: list[tuple[tuple[str, ...], frozenset[str]]] = []
    count = 0
    for dialogue in dialogues:
        count += 1
        seen_words: set[str] = set()
        for event in dialogue.events:
            for speaker, words in event_lines(event):
                if speaker == "system":
                    responses.append((words, frozenset(word for word in words if word in seen_words)))
                    uses.update(words)
                    echoes.update(word for word in words if word in seen_words)
                seen_words.update(words)
                if isinstance(event, Fact):
                    fact_words.update((event.subject, event.value))
                else:
                    turn_words.update(words)
        spread.update(seen_words)
    if not count:
        raise ValueError("dialogues must hold at least one dialogue, got none")
    echoed = {word for word in uses if echoes[word] >= repeated * uses[word]}
    names = _exchanged(responses, echoed) | (turn_words & fact_words)
    common_words = {
        word
        for word, dialogues_with in spread.items()
        if word not in names and dialogues_with >= common * count and (numbers or not word.isdecimal())
    }
    templates = Counter(
        tuple(None if word in seen_before and word in names else word for word in response)
        for response, seen_before in responses
    )
    return Language(
        words=tuple(sorted(common_words)),
        names=tuple(sorted(spread.keys() - common_words)),
        templates=tuple(
            sorted(templates, key=lambda template: (-templates[template], [word or "" for word in template]))
        ),
    )


def _exchanged(responses: Iterable[tuple[tuple[str, ...], frozenset[str]]], echoed: set[str]) -> set[str]:
    """Keep those echoed words that stand where another one stands in an otherwise equal response."""
    seen: dict[tuple[Template, int], set[str]] = defaultdict(set)
    for response, seen_before in responses:
        frame = tuple(None if word in echoed and word in seen_before else word for word in response)
        for position, word in enumerate(response):
            if frame[position] is None:
                seen[frame, position].add(word)
    return set().union(*(words for words in seen.values() if len(words) > 1))
