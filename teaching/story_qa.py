"""Teacher's edition of `story_qa`: solutions, wrong answers, and what each of them teaches."""

from functools import partial

import torch

from reasonlib.grading.edition import Mistake, Solved
from reasonlib.story_qa.data.example import words
from reasonlib.story_qa.experiments.memory import Recipe
from reasonlib.story_qa.models.bert import SpanOutput
from reasonlib.story_qa.models.memory_network import MemoryConfig

# Solutions --------------------------------------------------------------------------------------------------


def read_once(query, keys, values):
    weights = torch.einsum("bd,bsd->bs", query, keys).softmax(-1)
    return torch.einsum("bs,bsd->bd", weights, values), weights


def position_weights(words, width):
    word = torch.arange(1, words + 1)[:, None] / words
    unit = torch.arange(1, width + 1) / width
    return (1 - word) - unit * (1 - 2 * word)


def find_location(story, question):
    person = words(question)[-1]
    return next(words(sentence)[-1] for sentence in reversed(story) if person in words(sentence))


def two_hops(vocabulary, hops, *, width=30, slots=8, temporal=True, linear_start=0.4):
    config = MemoryConfig(
        vocabulary=vocabulary, hops=hops, width=width, slots=slots, temporal=temporal, init_std=0.2
    )
    recipe = Recipe(
        epochs=10,
        batch_size=16,
        optimiser="adam",
        lr=0.03,
        summed=False,
        schedule="linear",
        linear_start=linear_start,
    )
    return config, recipe


def encode_once(sentences, encode):
    rows = [tuple(row) for row in sentences.tolist()]
    index_of = {row: index for index, row in enumerate(dict.fromkeys(rows))}
    return encode(torch.tensor(list(index_of)))[[index_of[row] for row in rows]]


def agreement(marks, needed, filled):
    marked = (marks > 0.5) & filled
    both = (marked & needed).sum().item()
    return both / max(1, marked.sum().item()), both / max(1, needed.sum().item())


def best_span(start, end, longest):
    return SpanOutput(start[None], end[None]).best(longest)[0]


# Mistakes ---------------------------------------------------------------------------------------------------


def other_reading(change):
    """Build the solution of `read_once` with another way of weighing, reading or returning."""

    def wrong(query, keys, values):
        scores = torch.einsum("bd,bsd->bs", query, keys)
        return change(query, keys, values, scores)

    return wrong


def mix(weights, values):
    return torch.einsum("bs,bsd->bd", weights, values)


def counted(words_from, units_from):
    def wrong(words, width):
        word = torch.arange(words_from, words + words_from)[:, None] / words
        unit = torch.arange(units_from, width + units_from) / width
        return (1 - word) - unit * (1 - 2 * word)

    return wrong


def first_mention(story, question):
    person = words(question)[-1]
    return next(words(sentence)[-1] for sentence in story if person in words(sentence))


def last_sentence(story, question):
    return words(story[-1])[-1]


def unstripped(story, question):
    return find_location(story, question) + "."


def every_row(sentences, encode):
    return encode(sentences)


def row_by_row(sentences, encode):
    return torch.cat([encode(row[None]) for row in sentences])


def neighbours_only(sentences, encode):
    distinct, inverse = sentences.unique_consecutive(dim=0, return_inverse=True)
    return encode(distinct)[inverse]


def bags_of_words(sentences, encode):
    distinct, inverse = sentences.sort(1).values.unique(dim=0, return_inverse=True)
    return encode(distinct)[inverse]


def never_looked_up(sentences, encode):
    return encode(sentences.unique(dim=0))


def in_another_order(sentences, encode):
    distinct, inverse = sentences.unique(dim=0, return_inverse=True)
    return encode(distinct)[inverse.flip(0)]


def padding_too(marks, needed, filled):
    return agreement(marks, needed, torch.ones_like(filled))


def question_by_question(marks, needed, filled):
    pairs = [agreement(*(part[None] for part in row)) for row in zip(marks, needed, filled, strict=True)]
    return tuple(sum(numbers) / len(pairs) for numbers in zip(*pairs, strict=True))


def accuracy_instead(marks, needed, filled):
    right = (((marks > 0.5) == needed) & filled).sum() / filled.sum()
    return right.item(), agreement(marks, needed, filled)[1]


def without_a_guard(marks, needed, filled):
    marked = (marks > 0.5) & filled
    both = (marked & needed).sum()
    return both / marked.sum(), both / needed.sum()


def apart(start, end, longest):
    return int(start.argmax()), int(end.argmax())


def greedy(start, end, longest):
    first = int(start.argmax())
    return first, first + int(end[first : first + longest].argmax())


def unbounded(start, end, longest):
    return best_span(start, end, 1000)


EDITION = {
    "read_once": Solved(
        read_once,
        [
            Mistake(
                other_reading(lambda q, k, v, s: (mix(s, v), s)),
                "a softmax turns them into weights",
                "scores are not weights",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (mix(s.softmax(0), v), s.softmax(0))),
                "over the questions",
                "which axis sums to one",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (mix((s / 2).softmax(1), v), (s / 2).softmax(1))),
                "root of the width",
                "a memory network does not scale",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (mix(s.softmax(1), k), s.softmax(1))),
                "you mixed the keys",
                "keys are matched, values are read",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: (q + mix(s.softmax(1), v), s.softmax(1))),
                "added after the hop",
                "what a function returns is a contract",
            ),
            Mistake(
                other_reading(lambda q, k, v, s: mix(s.softmax(1), v)),
                "return two things",
                "the weights are shown, too",
            ),
        ],
    ),
    "position_weights": Solved(
        position_weights,
        [
            Mistake(counted(0, 0), "words and units are counted from 1", "the formula counts from one"),
            Mistake(counted(0, 1), "the words are counted from 0", "the formula counts from one"),
            Mistake(counted(1, 0), "the units are counted from 0", "the formula counts from one"),
            Mistake(lambda *a: position_weights(*a).T, "the axes are exchanged", "a row a word"),
        ],
    ),
    "find_location": Solved(
        find_location,
        [
            Mistake(first_mention, "people move on", "the latest mention counts"),
            Mistake(last_sentence, "look for the name", "whose place it is"),
            Mistake(unstripped, "without its full stop", "a word is not its punctuation"),
        ],
    ),
    "two_hops": Solved(
        two_hops,
        [
            Mistake(
                lambda vocabulary, hops: two_hops(vocabulary, 2),
                "build it with `hops=hops`",
                "the check asks for both numbers of hops",
            ),
            Mistake(
                lambda vocabulary, hops: two_hops(99, hops),
                "build it with `vocabulary=vocabulary`",
                "the size comes from the data",
            ),
            Mistake(
                lambda *a: two_hops(*a)[0],
                "return a MemoryConfig and a Recipe",
                "an interface is part of the task",
            ),
            Mistake(partial(two_hops, width=60), "may learn 5,000", "capacity has a price"),
            Mistake(
                partial(two_hops, linear_start=0), "begin without the softmax", "why linear start exists"
            ),
            Mistake(partial(two_hops, temporal=False), "what came last", "why memories carry time"),
        ],
        open="training answers, on questions of its own: no case is shown",
    ),
    "encode_once": Solved(
        encode_once,
        [
            Mistake(every_row, "encode each distinct sentence once", "the same work is done again"),
            Mistake(row_by_row, "call it once", "a batch is one call"),
            Mistake(neighbours_only, "encode each distinct sentence once", "equal rows may stand apart"),
            Mistake(bags_of_words, "in another order differ", "a sentence is no bag of words"),
            Mistake(never_looked_up, "look up the vector of each", "the inverse leads back to the rows"),
            Mistake(in_another_order, "the sentence in the same row", "order is part of the result"),
        ],
        open="the check counts the calls of `encode`, and an answer that repeats results makes none",
    ),
    "agreement": Solved(
        agreement,
        [
            Mistake(lambda *a: agreement(*a)[::-1], "are exchanged", "which total each share has"),
            Mistake(padding_too, "padding counts as marked", "padding is no sentence"),
            Mistake(question_by_question, "a mean over questions", "a mean of shares is another number"),
            Mistake(accuracy_instead, "this is accuracy", "most sentences are not needed"),
            Mistake(without_a_guard, "divided by 0", "a share of nothing"),
            Mistake(lambda *a: agreement(*a)[0], "return two numbers", "one number hides the other"),
        ],
    ),
    "best_span": Solved(
        best_span,
        [
            Mistake(apart, "apart from each other", "a span is one choice, not two"),
            Mistake(greedy, "compare the sums of all pairs", "greedy is not best"),
            Mistake(unbounded, "are allowed", "a limit is part of the search"),
            Mistake(lambda start, end, longest: (0, 99), "does not lie within", "positions are indices"),
        ],
    ),
}
