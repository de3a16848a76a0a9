"""A model without the question: it never sees it, learns RAVEN all the same, and falls on fair answers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from reasonlib.visual_iq.data.encoding import TokenSet
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.experiments.metrics import accuracy
from reasonlib.visual_iq.experiments.reasoners import Recipe, train
from reasonlib.visual_iq.models.candidates_only import context_blind
from reasonlib.visual_iq.models.reasoner import ReasonerConfig


def test_no_context_panel_ever_counts():
    problems = simulate("O-IG", 6, seed=1)
    other = replace(problems, entities=problems.entities.copy())
    other.entities[:, :8] = np.roll(other.entities[:, :8], 1, axis=0)
    model = context_blind().eval()
    first, second = (
        model(TokenSet.from_problems(problem_set).batch(range(6))).logits for problem_set in (problems, other)
    )
    assert torch.equal(first, second)


def test_all_else_is_the_reasoner():
    config = ReasonerConfig(panel_layers=2, loss="ce")
    assert context_blind(config).config == replace(config, context=False)


@pytest.mark.parametrize(("answers", "solved"), [("raven", True), ("i-raven", False)])
def test_it_solves_raven_and_falls_to_chance_on_fair_answers(answers, solved):
    train_set, test = (simulate("Center", 1000, seed=seed, answers=answers) for seed in (1, 2))
    model = context_blind(ReasonerConfig(entity_layers=0, panel_layers=1))
    recipe = Recipe(epochs=12, batch_size=32, lr=0.005, schedule="linear", warmup=60, clip=1.0)
    train(model, train_set, recipe, progress=False)
    test_accuracy = accuracy(model, test)["accuracy"]
    assert test_accuracy > 0.65 if solved else test_accuracy < 0.2
