"""What a set of stories is like, in numbers, and how far two sets are from each other.

The same measures are taken of simulated and released stories, so that the two can stand side by side.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from reasonlib.data.distributions import total_variation
from reasonlib.story_qa.data.example import Example, words

__all__ = ["answers", "compare", "statistics", "vocabulary"]


def vocabulary(examples: Iterable[Example]) -> set[str]:
    """Collect the words of stories, questions and answers, in lower case."""
    sentences: set[str] = set()
    result: set[str] = set()
    previous: tuple[str, ...] = ()
    for example in examples:
        start = len(previous)
        sentences.update(example.story[start:] if example.story[:start] == previous else example.story)
        previous = example.story
        sentences.add(example.question)
        result.update(word.lower() for word in example.answer)
    for sentence in sentences:
        result.update(words(sentence))
    return result


def answers(examples: Iterable[Example]) -> Counter[str]:
    """Count the answers, the words of a list joined by commas as in the released files."""
    return Counter(",".join(example.answer) for example in examples)


def statistics(examples: Sequence[Example]) -> dict[str, float]:
    """Measure a set of examples.

    Returns
    -------
    dict
        ``questions``, ``stories`` (counts); ``vocabulary`` (different words, in lower case); ``story_mean``
        and ``story_max`` (sentences before a question); ``words_mean`` (words in a sentence);
        ``support_mean`` and ``support_max`` (supporting sentences); ``answers`` (different answers) and
        ``majority`` (share of the most frequent one).

    Raises
    ------
    ValueError
        If there are no examples.
    """
    if not examples:
        raise ValueError("examples must not be empty")
    lengths = [len(example.story) for example in examples]
    supports = [len(example.support) for example in examples]
    # Questions of one story share sentences: count the words of each longest story once.
    whole = {(example.task, example.group): example.story for example in examples}
    sentences = Counter(sentence for story in whole.values() for sentence in story)
    histogram = answers(examples)
    return {
        "questions": len(examples),
        "stories": len(whole),
        "vocabulary": len(vocabulary(examples)),
        "story_mean": sum(lengths) / len(lengths),
        "story_max": max(lengths),
        "words_mean": sum(len(words(sentence)) * count for sentence, count in sentences.items())
        / max(1, sentences.total()),
        "support_mean": sum(supports) / len(supports),
        "support_max": max(supports),
        "answers": len(histogram),
        "majority": max(histogram.values()) / len(examples),
    }


def compare(simulated: Sequence[Example], released: Sequence[Example]) -> dict[str, Any]:
    """Set two sets of examples side by side.

    Returns
    -------
    dict
        ``simulated`` and ``released``: the `statistics` of each; ``answer_distance`` and
        ``support_distance``: total variation between their answers, and between their numbers of supporting
        sentences; ``length_distance``: the same for the sentences before a question; ``only_simulated`` and
        ``only_released``: words that only one of them has, in alphabetical order.
    """

    def lengths(examples: Sequence[Example]) -> Counter[str]:
        return Counter(str(len(example.story)) for example in examples)

    def supports(examples: Sequence[Example]) -> Counter[str]:
        return Counter(str(len(example.support)) for example in examples)

    ours, theirs = vocabulary(simulated), vocabulary(released)
    return {
        "simulated": statistics(simulated),
        "released": statistics(released),
        "answer_distance": total_variation(answers(simulated), answers(released)),
        "support_distance": total_variation(supports(simulated), supports(released)),
        "length_distance": total_variation(lengths(simulated), lengths(released)),
        "only_simulated": sorted(ours - theirs),
        "only_released": sorted(theirs - ours),
    }
