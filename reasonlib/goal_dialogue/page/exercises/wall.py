"""Exercises of the chapter "Out-of-vocabulary names".

Axes: B turns, D width.
"""

import random

import torch

from reasonlib.grading.checks import Answer, exercise, expect, expect_close, expect_equal, hint

__all__ = ["check_bound", "check_describe", "check_template"]


@exercise(title="A response with gaps", minutes=15, points=2)
@hint("A word is a name here if it was said before in the dialogue and is not in `common`.")
def check_template(answer: Answer, seed: int) -> None:
    """Check ``template(response, sentences, common)``: the response with a gap for every name it repeats.

    ``sentences`` is the dialogue so far, a list; ``common`` is a set of words that are never names.
    The answer is a pair: the response with ``_`` for each name, and the list of names in order.
    """
    common = {"api_call", "in", "a", "for", "please", "here", "it", "is", "table", "what", "you"}
    cases = [
        (
            "api_call thai rome six cheap",
            ["a cheap table in rome", "thai please", "for six"],
            "all four were said",
        ),
        ("here it is x_phone", ["x has x_phone"], "the number was stored"),
        ("here it is x_phone", ["x please"], "x_phone was never said: no name to copy"),
        ("for six in rome", [], "nothing was said"),
        ("rome rome", ["in rome"], "each time is a gap of its own"),
        ("romes", ["in rome"], "compare whole words"),
        ("rome", ["in romes"], "compare whole words: romes is said, rome is not"),
        ("a table in rome", ["a table in rome please"], "a, table and in are said, too, but they are common"),
    ]
    draw = random.Random(seed)
    words = [*sorted(common), "rome", "paris", "thai", "six", "romes"]
    for _ in range(20):
        sentences = [" ".join(draw.choices(words, k=4)) for _ in range(draw.randint(1, 3))]
        cases.append(
            (" ".join(draw.choices(words, k=6)), sentences, "names are what was said and is not common")
        )
    for response, sentences, why in cases:
        names = {word for sentence in sentences for word in sentence.split()} - common
        gaps = " ".join("_" if word in names else word for word in response.split())
        result = answer(response, list(sentences), set(common))
        expect(
            isinstance(result, (tuple, list)) and len(result) == 2,
            "return a pair: the template and the list of names",
        )
        right = (gaps, [word for word in response.split() if word in names])
        expect_equal((result[0], list(result[1])), right, f"for {response!r} after {sentences}: {why}")


@exercise(title="The bound for word vectors", minutes=10, points=1)
@hint("Collect every word the system said in training; a response counts if it contains no other.")
def check_bound(answer: Answer, seed: int) -> None:
    """Check ``bound(training, test)``: the share of test responses whose words were all said in training.

    Both are lists of responses.
    """
    cases = [
        (["in rome", "the phone"], ["the rome", "in paris"], "words may come from several responses"),
        (["a_phone"], ["a_phone", "b_phone"], "b_phone is another word"),
        (["hello"], ["hello", "hello", "hello you", "hello"], "every response counts, repeated or not"),
        (["romeo"], ["rome"], "compare whole words"),
    ]
    draw = random.Random(seed)
    words = ["in", "rome", "paris", "the", "phone", "is", "romes"]
    for _ in range(20):
        two = [[" ".join(draw.choices(words, k=draw.randint(1, 3))) for _ in range(4)] for _ in "ab"]
        cases.append((two[0], two[1], "every word of a response must have been said"))
    for training, test, why in cases:
        train_words = {word for response in training for word in response.split()}
        share = sum(train_words.issuperset(response.split()) for response in test) / len(test)
        result = answer(list(training), list(test))
        expect_close(
            result, share, f"for {test} after {training} the share is {share:.3g}: {why}", what="the share"
        )


@exercise(title="Describe a name by its mentions", minutes=15, points=2)
@hint("Start from zeros, one row for each name, and add each mention to the row of its name (index_add).")
def check_describe(answer: Answer, seed: int) -> None:
    """Check ``describe(mentions, names, count)``: the description of every name.

    ``mentions`` is (M, D), what each mention says; ``names`` (M,) the number of the name it mentions, from 0
    to ``count`` - 1. The answer is (count, D): the sum over the mentions of each name.
    """
    generator = torch.Generator().manual_seed(17 + 100 * seed)
    mentions = torch.randn(9, 3, generator=generator)
    names = torch.cat([torch.tensor([0, 2, 2, 1]), torch.randint(3, (5,), generator=generator)])
    right = torch.stack([mentions[names == number].sum(0) for number in range(4)])
    last = torch.stack([mentions[names == number][-1:].sum(0) for number in range(4)])
    first = torch.stack([mentions[names == number][:1].sum(0) for number in range(4)])
    mean = right / torch.bincount(names, minlength=4).clamp(min=1)[:, None]
    expect_close(
        answer(mentions.clone(), names.clone(), 4),
        right,
        "the descriptions are not right",
        wrong={
            "only one mention of each name is kept: add the mentions, do not assign them": last,
            "the first mention of each name is kept and the others are lost: add them all": first,
            "add the mentions, do not average them": mean,
            "every name gets the sum of all mentions: add each to the row of its own name": (
                mentions.sum(0).expand(4, -1)
            ),
            "a name without mentions has a row of zeros, too: there are `count` rows": right[:3],
        },
        what="the descriptions",
    )
