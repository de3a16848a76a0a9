"""Supervised embeddings learn what one product can say, and no more."""

import pytest
import torch

from reasonlib.goal_dialogue.data.example import examples
from reasonlib.goal_dialogue.data.simulator import make_split
from reasonlib.goal_dialogue.experiments.metrics import evaluate
from reasonlib.goal_dialogue.experiments.train_supervised import SupervisedRecipe, fit_supervised
from reasonlib.goal_dialogue.models.supervised import SupervisedSystem


@pytest.fixture(scope="module")
def split():
    return make_split(4, dialogues=40)


def test_scores_are_the_product_of_two_sums(split):
    system = SupervisedSystem(
        split, width=8, history=False, match=False, generator=torch.Generator().manual_seed(0)
    )
    (example,) = list(examples(split.train))[1:2]
    model, encode = system.model, system.vocabulary.encode
    state = model.inputs[encode(example.user.split())].sum(dim=0)
    expected = [
        state @ model.outputs[encode(candidate.split())].sum(dim=0) for candidate in split.candidates[:50]
    ]
    scores = system.scores(system.encode([example]))[0, :50]
    torch.testing.assert_close(scores, torch.stack(expected))


def test_training_learns_greetings_but_not_a_number_it_never_saw(split):
    untrained = SupervisedSystem(
        split, width=32, history=False, match=False, generator=torch.Generator().manual_seed(0)
    )
    before = evaluate(untrained, split.test)["per_response"]
    system, curve = fit_supervised(split, SupervisedRecipe(epochs=5, negatives=50))
    after = evaluate(system, split.test)["per_response"]
    known_turns = sum(not turn.bot.startswith("here") for dialogue in split.test for turn in dialogue.turns)
    turns = sum(len(dialogue.turns) for dialogue in split.test)
    assert before < 0.1 and len(curve) == 5
    share = known_turns / turns
    assert share - 0.02 <= after <= share + 0.05  # phones of other restaurants are new words


def test_the_same_seed_gives_the_same_tables(split):
    small = make_split(1, dialogues=8)
    first, second, third = (
        fit_supervised(small, SupervisedRecipe(epochs=1), match=True, seed=seed)[0] for seed in (1, 1, 2)
    )
    assert torch.equal(first.model.outputs, second.model.outputs)
    assert not torch.equal(first.model.outputs, third.model.outputs)
    assert first.history


def test_settings_are_checked():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        SupervisedRecipe(width=0)
    with pytest.raises(ValueError, match="margin must be above 0, got 0"):
        SupervisedRecipe(margin=0)
