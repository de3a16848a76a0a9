"""Why the wall stands where it stands: ceilings, groups of turns, what each mention adds."""

import math
from functools import lru_cache

import pytest

from reasonlib.data import DataError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Fact, Split, Turn, examples
from reasonlib.goal_dialogue.data.templates import Language
from reasonlib.goal_dialogue.experiments.analysis import (
    Options,
    by_rank,
    by_template,
    evidence,
    options,
    rating_scores,
)
from reasonlib.goal_dialogue.experiments.ceiling import ceiling
from reasonlib.goal_dialogue.experiments.train_copying import CopyRecipe, train_copier
from reasonlib.goal_dialogue.models.copier import Copier, build_copier

PUBLISHED = {  # of UN2N without match features (table 3.1)
    (3, "test"): 74.9,
    (3, "oov"): 75.2,
    (4, "test"): 57.2,
    (4, "oov"): 57.0,
}


def talk(*pairs: tuple[str, str]) -> Dialogue:
    return Dialogue(task=4, events=tuple(Turn(*pair) for pair in pairs))


@lru_cache
def offering() -> Copier:
    copier, parts = build_copier(datasets.load("simulated", 3, dialogues=60), {"width": 32})
    train_copier(copier, parts, CopyRecipe(epochs=4, lr=0.01, batch_size=16), progress=False)
    return copier


def test_a_ceiling_counted_by_hand() -> None:
    split = Split(
        task=4,
        train=[talk(("the phone of b", "here a"), ("so", "here you are"))],
        valid=[talk(("x", "here a"))],
        test=[talk(("x", "here a"), ("x", "you are here"), ("x", "here b"), ("x", "here c"))],
        oov=[],
        candidates=[],
        knowledge=None,
    )
    assert ceiling(split)["test"] == (0.25, 0.5, 0.25)
    assert ceiling(split, learnt="valid")["train"] == (0.5, 0.5, 0.5)
    assert set(ceiling(split)) == {"valid", "test"}
    with pytest.raises(ValueError, match="learnt must be train or valid, got 'test'"):
        ceiling(split, learnt="test")


@pytest.mark.parametrize("task", [3, 4])
def test_the_published_numbers_are_the_ceiling(task: int) -> None:
    try:
        split = datasets.load("dialog-babi", task)
    except DataError:
        pytest.skip("the released set is not on this machine")
    for part, bound in ceiling(split).items():
        if part != "valid":
            assert 100 * bound.words == pytest.approx(PUBLISHED[task, part], abs=0.1)


FACTS = tuple(Fact(f"r{rating}", "R_rating", str(rating)) for rating in (2, 7, 5))


def test_options_are_ranked_and_struck_off() -> None:
    example = Example(
        task=3,
        history=(*FACTS, Turn("more", "try r7")),
        user="<SILENCE>",
        response="try r5",
        dialogue=0,
        turn=1,
    )
    assert options(example) == Options(("r7", "r5", "r2"), ("r5", "r2"))
    (group,) = by_rank([example, example], ["try r5", "try r2"])
    assert group == ("2", 2, 0.5, pytest.approx(1 / 3), "try r2")


def test_turns_are_grouped_by_template() -> None:
    language = Language(words=("try", "hi"), names=(), templates=(("try", None), ("hi",)))
    test_set = [
        Example(task=3, history=(), user="", response=r, dialogue=0, turn=0)
        for r in ("try a", "try b", "hi", "so")
    ]
    groups = by_template(test_set, ["try b", "try b", "hi", "hi"], language)
    assert [tuple(group[:3]) for group in groups] == [("try _", 2, 0.5), ("hi", 1, 1.0), ("so", 1, 0.0)]
    assert groups[0].wrong == "try b" and groups[0].chance is None


def test_evidence_adds_up_to_the_odds() -> None:
    copier = offering()
    example = next(
        example
        for example in examples(datasets.load("simulated", 3, dialogues=60).oov)
        if example.response.startswith("what do you think")
    )
    response = copier.ask(example)
    assert response.template == "what do you think of this option: _"
    total: dict[str, float] = {}
    for mention in evidence(copier, example):
        total[mention.name] = total.get(mention.name, 0.0) + mention.score
    (first, p), (second, q) = response.names[0][:2]
    assert total[first] - total[second] == pytest.approx(math.log(p / q), abs=1e-3)
    with pytest.raises(ValueError, match="gap must be below 1, the gaps of 'what do you think"):
        evidence(copier, example, gap=1)


def test_the_order_of_ratings_is_learnt() -> None:
    test_set = list(examples(datasets.load("simulated", 3, dialogues=60).oov[:12]))
    scores = rating_scores(offering(), test_set)
    low = [scores[rating] for rating in scores if rating <= 3]
    high = [scores[rating] for rating in scores if rating >= 6]
    assert max(low) < min(high)
    with pytest.raises(ValueError, match="asked must hold a turn at which an option is offered"):
        rating_scores(offering(), test_set[:1])
