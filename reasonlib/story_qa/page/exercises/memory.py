"""Exercises of the chapter "Stories and memory".

Axes: B questions, S sentences in memory, D width, J words in a sentence, T tokens.
"""

import random
from functools import cache
from typing import Any

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint
from reasonlib.nn.memory import read
from reasonlib.nn.positions import position_encoding
from reasonlib.story_qa.data.encoding import StorySet, build_vocabulary, encode
from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments.memory import Recipe, accuracy, learn
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork

__all__ = [
    "MOST_EPOCHS",
    "MOST_WEIGHTS",
    "ONE_HOP_MARK",
    "PASS_MARK",
    "check_find_location",
    "check_position_weights",
    "check_read_once",
    "check_two_hops",
    "two_facts",
]

PASS_MARK = 0.85  # share of right answers that two hops must reach in `check_two_hops`
ONE_HOP_MARK = 0.7  # and that one hop must not
MOST_WEIGHTS = 5000  # numbers the network of two hops may learn
MOST_EPOCHS = 10


@exercise(title="One hop", minutes=5, points=1)
@hint("Multiply every key with the query, take the softmax of the scores, and mix the values with it.")
def check_read_once(answer: Answer, seed: int) -> None:
    """Check ``read_once(query, keys, values)``, one hop: returns output (B, D) and weights (B, S).

    ``query`` is (B, D), ``keys`` and ``values`` are (B, S, D).
    """
    draw = torch.Generator().manual_seed(1 + 100 * seed)
    query = torch.randn(3, 4, generator=draw)
    keys, values = torch.randn(2, 3, 5, 4, generator=draw).unbind(0)
    right = read(query, keys, values)
    result = answer(query.clone(), keys.clone(), values.clone())
    expect(
        isinstance(result, (tuple, list)) and len(result) == 2,
        "return two things, the output and the weights: `return output, weights`",
    )
    output, weights = result
    expect_close(
        weights,
        right.weights,
        "the weights are not the softmax of the scores",
        wrong={
            "these are the scores: a softmax turns them into weights that sum to one": right.scores,
            "the softmax runs over the questions: it must run over the sentences, the last axis": (
                right.scores.softmax(0)
            ),
            "there is no division by the root of the width in a memory network: leave it out": (
                right.scores / 2
            ).softmax(-1),
        },
        what="the weights",
    )
    expect_close(
        output,
        right.output,
        "the output is not the sum of the values, each times its weight",
        wrong={
            "you mixed the keys: the weights come from the keys, what is read are the values": read(
                query, keys, keys
            ).output,
            "the question is added after the hop, by whoever calls: return the mixture alone": (
                right.output + query
            ),
            "that is the plain mean of the values: use the weights": values.mean(1),
        },
        what="the output",
    )


@exercise(title="Keep the order of words", minutes=10, points=2)
@hint("Make a column of j/J for j = 1..J and a row of k/D for k = 1..D, and let them broadcast.")
def check_position_weights(answer: Answer, seed: int) -> None:
    """Check ``position_weights(words, width)``: l of shape (J, D), l[j, k] = (1 - j/J) - (k/D)(1 - 2j/J)."""
    draw = random.Random(seed)
    for length, width in ((4, 6), (1, 3), (draw.randint(5, 12), draw.randint(7, 20))):
        right = position_encoding(torch.tensor([length]), width)[0]
        position = torch.arange(length)[:, None] / length  # what counting from zero gives
        unit = torch.arange(width) / width
        last, end = position + 1 / length, unit + 1 / width
        expect_close(
            answer(length, width),
            right,
            f"the weights of a sentence of {length} words at width {width} are not l of the formula",
            wrong={
                "the axes are exchanged: a row for each word, a column for each unit": right.T,
                "words and units are counted from 1: the last word has j = J, the last unit k = D": (
                    (1 - position) - unit * (1 - 2 * position)
                ),
                "the words are counted from 0: the first word has j = 1, the last j = J": (
                    (1 - position) - end * (1 - 2 * position)
                ),
                "the units are counted from 0: the first unit has k = 1, the last k = D": (
                    (1 - last) - unit * (1 - 2 * last)
                ),
            }
            if length > 1
            else None,
            what="the result",
        )


@exercise(title="Answer by rule", minutes=20, points=3)
@hint("Who is asked about? Walk through the story from its end until that name comes up.")
def check_find_location(answer: Answer, seed: int) -> None:
    """Check ``find_location(story, question)``: the place at which the person of a question of task 1 is now.

    ``story`` is a tuple of sentences, oldest first. The answer is one word such as ``"kitchen"``.
    """
    for example in simulate(1, 400, seed=20_001 + seed):
        sentences = [words(sentence) for sentence in example.story]
        person = words(example.question)[-1]
        rooms = [sentence[-1] for sentence in sentences if sentence[0] == person]
        right = example.answer[0]
        if rooms[0] == sentences[-1][-1] != right:
            continue  # two mistakes of one result: the next story tells them apart
        result = answer(example.story, example.question)
        shown = f"asked {example.question!r} after {' '.join(example.story[-4:])!r}"
        if isinstance(result, str) and result != right and result.strip(" .").lower() == right:
            expect(False, f"give one lower-case word without its full stop, {right!r} and not {result!r}")
        expect_equal(
            result,
            right,
            f"{shown}, the answer is {right!r}",
            wrong={
                f"{shown}, you gave the first place of {person.title()}: people move on, so the latest "
                "sentence with the name counts": rooms[0],
                f"{shown}, you gave the place of the last sentence, whoever it is about: look for the name": (
                    sentences[-1][-1]
                ),
            },
        )


def two_facts(questions: int, seed: int, longest: int = 8) -> list[Example]:
    """Simulate questions of task 2 (where is the thing that somebody carries?) about short stories.

    Parameters
    ----------
    questions
        How many.
    seed
        Draws the stories.
    longest
        Sentences in a story at most.
    """
    examples: list[Example] = []
    more = 2 * questions
    while len(examples) < questions:
        more *= 2
        examples = [item for item in simulate(2, more, seed=seed) if len(item.story) <= longest]
    return examples[:questions]


@cache
def _two_facts() -> tuple[StorySet, StorySet]:
    """Make 1,000 questions of task 2 to learn from and 500 others, of one vocabulary."""
    train, test_set = two_facts(1000, seed=20_002), two_facts(500, seed=20_003)
    vocabulary = build_vocabulary((*train, *test_set))
    return encode(train, vocabulary), encode(test_set, vocabulary)


def _trained(config: MemoryConfig, recipe: Recipe) -> float:
    """Train a network and return its share of right answers to fresh questions."""
    train, test_set = _two_facts()
    model = MemoryNetwork(config, seed=0)
    learn(model, train, recipe, seed=0, progress=False)
    return accuracy(model, test_set)["accuracy"]


@exercise(title="Two hops where one fails", minutes=180, points=5)
@hint(
    "Return `MemoryConfig(vocabulary=vocabulary, hops=hops, ...), Recipe(...)`; begin with "
    "`optimiser='adam', summed=False, lr=0.01` and watch where training gets stuck."
)
def check_two_hops(answer: Answer) -> None:
    """Check ``two_hops(vocabulary, hops)``: returns a `MemoryConfig` and a `Recipe`.

    The check trains what they describe on 1,000 questions of `two_facts`, once with two hops and once with
    one, and asks 500 fresh questions. Two hops must answer `PASS_MARK` of them and one hop must not, with at
    most `MOST_WEIGHTS` weights and `MOST_EPOCHS` epochs.
    """
    size = len(_two_facts()[0].vocabulary)
    plans = {}
    for hops in (2, 1):
        plans[hops] = _checked_plan(answer(size, hops), size, hops)
    config, recipe = plans[2]
    weights = sum(item.numel() for item in MemoryNetwork(config).parameters())
    expect(
        weights <= MOST_WEIGHTS,
        f"your network of two hops learns {weights:,} numbers and may learn {MOST_WEIGHTS:,}: make `width` "
        "or `slots` smaller; no story here has more than eight sentences",
    )
    for _, item in plans.values():
        expect(
            item.epochs <= MOST_EPOCHS,
            f"your recipe takes {item.epochs} epochs and may take {MOST_EPOCHS}: try a higher rate with Adam",
        )
    two_hops = _trained(config, recipe)
    expect(
        two_hops >= PASS_MARK,
        f"two hops answer {two_hops:.2f} of new questions, {PASS_MARK} are needed: {_advice(config, recipe)}",
    )
    one_hop = _trained(*plans[1])
    expect(
        one_hop < ONE_HOP_MARK,
        f"one hop answers {one_hop:.2f} of new questions, so two are not what makes the difference",
    )


def _checked_plan(plan: Any, size: int, hops: int) -> tuple[MemoryConfig, Recipe]:
    """Check that an answer is a configuration of these hops and this vocabulary, and a recipe."""
    expect(
        isinstance(plan, (tuple, list))
        and len(plan) == 2
        and isinstance(plan[0], MemoryConfig)
        and isinstance(plan[1], Recipe),
        "return a MemoryConfig and a Recipe: `return config, recipe`",
    )
    config, recipe = plan
    expect(
        config.hops == hops,
        f"asked for {hops} hops, your configuration has {config.hops}: build it with `hops=hops`",
    )
    expect(
        config.vocabulary == size,
        f"the vocabulary has {size} words, your configuration {config.vocabulary}: "
        "build it with `vocabulary=vocabulary`",
    )
    largest = max(config.width, config.slots, recipe.batch_size)
    expect(
        largest <= MOST_WEIGHTS,
        f"{largest:,} is out of proportion for a network of {MOST_WEIGHTS:,} weights",
    )
    return config, recipe


def _advice(config: MemoryConfig, recipe: Recipe) -> str:
    """Say what most likely keeps two hops from learning."""
    if not config.temporal:
        return "without `temporal` a memory does not know what came last"
    if config.slots < 8:
        return f"{config.slots} slots forget the beginning of a story of eight sentences"
    if recipe.linear_start == 0:
        return (
            "if training is stuck near one half, begin without the softmax (`linear_start`) or with "
            "larger initial weights (`init_std`)"
        )
    if recipe.linear_start == 1:
        return "the softmax is never put in: let `linear_start` be a part of the epochs"
    return "try another rate, another width or a few more epochs"
