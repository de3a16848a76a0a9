"""Probes of arithmetic differ in the property that they name, and a rule that lacks it is caught."""

import ast
import re
from random import Random

import pytest

from reasonlib.maths_qa.data.metrics import by_module
from reasonlib.maths_qa.data.probes import FAMILIES, LENGTH, chained_sum, draw_probes, expression, spaced_sum
from reasonlib.maths_qa.page.exercises.limits import longest_carry


def questions(family):
    """Yield name, value, question and answer of each probe's questions."""
    problems = draw_probes(family, train=0, valid=0, test=20).test
    for item, number in enumerate(problems.module.tolist()):
        name, _, value = problems.modules[number].partition(".")
        yield name, int(value), problems.question(item), problems.answer(item)


def numbers(question):
    return [int(number) for number in re.findall(r"\d+", question)]


def nines(first, second):
    pairs = zip(str(first), str(second), strict=True)
    return sum(int(a) + int(b) == 9 for a, b in pairs)


@pytest.mark.parametrize("family", ["sums", "chained-sums"])
def test_probes_of_sums_have_the_chain_and_the_length_that_they_name(family):
    for name, value, question, answer in questions(family):
        first, second = numbers(question)
        assert int(answer) == first + second
        assert len(str(first)) == len(str(second)) == (value if name == "digits" else 4)
        chain = 1 if name == "digits" else value
        assert longest_carry(first, second) == (0 if name == "control" else chain)
        assert nines(first, second) == chain - 1


def tree_depth(node):
    return 1 + max(map(tree_depth, (node.left, node.right))) if isinstance(node, ast.BinOp) else 0


def test_probes_of_trees_have_the_terms_and_the_depth_that_they_name():
    lengths = set()
    for name, value, question, answer in questions("trees"):
        assert int(answer) == eval(question)
        assert len(numbers(question)) == (value if name == "terms" else 6)
        assert tree_depth(ast.parse(question, mode="eval").body) == (value if name == "depth" else 3)
        lengths |= {len(question)} if name == "depth" else set()
    assert len(lengths) == 1


def test_probes_of_distance_move_the_numbers_alone():
    for name, value, question, answer in questions("gaps"):
        before, between = re.fullmatch(r"( *)\d\d\+( *)\d\d *", question).groups()
        assert len(question) == LENGTH and int(answer) == sum(numbers(question))
        assert len(between) == (value if name == "gap" else 4)
        assert len(before) == value if name == "lead" else len(before) <= 5


@pytest.mark.parametrize("family", FAMILIES)
def test_no_question_of_a_probe_is_trained_on(family):
    splits = draw_probes(family, train=4000, valid=50, test=40)
    train, valid, test = (
        [part.question(item) for item in range(len(part))]
        for part in (splits.train, splits.valid, splits.test)
    )
    assert not set(train) & set(test) and not set(valid) & {*train, *test}
    assert len(train) + splits.leaks == 4000 and len(set(valid)) == 50
    assert len(test) == 40 * len(FAMILIES[family].probes)
    again = draw_probes(family, train=4000, valid=50, test=40)
    assert (again.train.characters == splits.train.characters).all()


def test_training_covers_what_probes_call_trained():
    """Lengths, terms and distances up to those of training, and none beyond."""
    questions_of = {}
    for family in FAMILIES:
        train = draw_probes(family, train=2000, valid=0, test=1).train
        questions_of[family] = [train.question(item) for item in range(len(train))]
    for family in ("sums", "chained-sums"):
        assert {len(str(numbers(question)[0])) for question in questions_of[family]} == {2, 3, 4}
    assert {len(numbers(question)) for question in questions_of["trees"]} == {2, 3, 4, 5, 6}
    gaps = {len(re.search(r"\+( *)", question)[1]) for question in questions_of["gaps"]}
    assert gaps == set(range(9))
    full = {
        family: sum(longest_carry(*numbers(q)) == 4 and nines(*numbers(q)) == 3 for q in questions_of[family])
        for family in ("sums", "chained-sums")
    }
    assert full["sums"] < 5 and full["chained-sums"] > 40


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_an_adder_that_carries_only_so_far_is_caught_by_the_chains_beyond_and_by_nothing_else(reach):
    def add(first, second):
        total = 0
        for column in range(len(str(first)) + 1):
            low = 10 ** max(column - reach, 0)  # the adder sees no digit to the right of this one
            seen = (first - first % low) + (second - second % low)
            total += seen // 10**column % 10 * 10**column
        return str(total)

    asked = list(questions("sums"))
    written = [add(*numbers(question)) for _, _, question, _ in asked]
    answers = [answer for *_, answer in asked]
    shares = by_module(written, answers, [f"{name}.{value}" for name, value, *_ in asked])
    for probe, share in shares.items():
        name, _, value = probe.partition(".")
        assert share == (0 if name == "carry" and int(value) > reach else 1), probe


@pytest.mark.parametrize(
    ("draw", "match"),
    [
        (lambda: chained_sum(Random(0), 3, 4), "chain must be 1 to 3 columns, got 4"),
        (lambda: expression(Random(0), 6, 2), "6 terms must fit a depth of 2"),
        (lambda: spaced_sum(Random(0), 10, 10), "gap and lead must leave room for the sum in 24, got 10"),
        (lambda: draw_probes("products", train=1, valid=1, test=1), "family must be one of sums"),
    ],
)
def test_bad_probes(draw, match):
    with pytest.raises(ValueError, match=match):
        draw()
