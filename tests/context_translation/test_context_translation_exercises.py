"""Every exercise turns the stub away with its hint, passes its solution, and knows a plausible mistake."""

import pytest
import torch

from reasonlib.context_translation.page import exercises
from reasonlib.context_translation.page.live import CASES
from reasonlib.grading import checks

ALL = checks.exercises("context_translation")


def contrastive(right, wrong, *, measure=sum):
    return sum(measure(a) > measure(b) for a, b in zip(right, wrong, strict=True)) / len(right)


def fooling(first, second):
    return lambda: (first, second, "it was old .")


def mean_vector(states, scores, words):
    return (states * words.unsqueeze(-1)).sum(-2) / words.sum(-1, keepdim=True)


def printed_gate(source, context, weight, bias):
    return torch.sigmoid(torch.cat([source, context], -1) @ weight.T + bias)


ANSWERS = {
    "ceiling": (exercises.ceiling, lambda pairs: 0.5, "ambiguous"),
    "contrastive": (
        contrastive,
        lambda right, wrong: contrastive(right, wrong, measure=lambda one: sum(one) / len(one)),
        "means over the words",
    ),
    "gated_sum": (exercises.gated_sum, printed_gate, "equation 3.8"),
    "sentence_vector": (exercises.sentence_vector, mean_vector, "mean over the words"),
    "attention_pairs": (
        exercises.attention_pairs,
        lambda system, source, context, count: source**2 + count * context**2,
        "looks at every other",
    ),
}


@pytest.mark.parametrize("exercise", ALL, ids=lambda one: one.name)
def test_a_stub_is_turned_away_with_a_hint(exercise):
    result = exercise(checks.stub())
    assert result.untouched and exercise.hint in result.message


@pytest.mark.parametrize("name", ANSWERS)
def test_the_solution_passes_and_a_mistake_is_named(name):
    right, wrong, said = ANSWERS[name]
    check = getattr(exercises, f"check_{name}")
    assert check(right).passed, check(right).message
    result = check(wrong)
    assert not result.passed and said in result.message, result.message


def test_a_document_that_changes_nothing_does_not_fool():
    context = CASES[0]["contexts"][0]
    assert "exactly one sentence more" in exercises.check_fooling_document(fooling(context, context)).message
    unknown = fooling(["mary found the zeppelin ."], [])
    assert "zeppelin" in exercises.check_fooling_document(unknown).message
    moved = fooling(context, ["tom slept .", "anna sang ."])
    assert "put one sentence into it" in exercises.check_fooling_document(moved).message
    nearer = fooling(context, [*context, "mary found the book ."])
    assert "further back" in exercises.check_fooling_document(nearer).message
    key = ["mary found the key ."]
    assert exercises.check_fooling_document(fooling(key, ["tom hid the lamp .", *key])).passed
