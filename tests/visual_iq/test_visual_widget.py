"""The forms in a notebook: what the buttons do, without a kernel behind them."""

import sys

import numpy as np
import pytest

from reasonlib.errors import UserError
from reasonlib.visual_iq.data.example import GOVERNED, GROUPS, KEYS, RULES
from reasonlib.visual_iq.data.majority_vote import majority_vote
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig
from reasonlib.visual_iq.page import widget
from reasonlib.visual_iq.page.svg import rules_in_words


def third(problems):
    """A model that always chooses the third candidate."""
    return np.tile(np.eye(8)[2], (len(problems), 1))


@pytest.fixture(autouse=True)
def _widgets():
    pytest.importorskip("ipywidgets", reason="the optional package ipywidgets is not installed")


def test_solve_a_puzzle_and_another():
    player = widget.Player(third, seed=4)
    same = simulate("2x2Grid", 1, seed=4, answers="i-raven")
    np.testing.assert_array_equal(player.problem.entities, same.entities)
    assert "✓" not in player.result.value and "Which candidate" in player.result.value
    target = int(player.problem.target[0])
    player.choices[target].click()
    assert player.tally == (1, 1, int(target == 2))
    assert "<b>Right.</b>" in player.result.value and player.result.value.count("✓") == 1
    assert all(f"<li>{line}.</li>" in player.result.value for line in rules_in_words(player.problem))
    assert all(button.disabled for button in player.choices)
    player.another.click()
    assert player.seed == 5 and "✓" not in player.result.value
    assert not any(button.disabled for button in player.choices)
    wrong = (int(player.problem.target[0]) + 1) % 8
    player.choices[wrong].click()
    assert player.tally[:2] == (2, 1) and "✗" in player.result.value
    assert player.score.value.startswith("<p>You 1 of 2, the model ")


def test_another_layout_and_answer_set():
    player = widget.Player(third, seed=4)
    player.answers.value = "raven"
    fair = simulate("2x2Grid", 1, seed=4, answers="raven")
    np.testing.assert_array_equal(player.problem.entities, fair.entities)
    player.layout.value = "O-IG"
    assert KEYS[int(player.problem.configuration[0])] == "in_distribute_four_out_center_single"


@pytest.mark.parametrize(
    "model",
    [
        Reasoner(ReasonerConfig(width=8, hidden=8, panel_layers=1, output=4)),
        Relational(RelationalConfig(width=8, hidden=8, rule=4)),
    ],
)
def test_any_model_of_ours_plays(model):
    player = widget.Player(model)
    shares = np.asarray(player.scorer(player.problem))
    assert shares.shape == (1, 8) and (shares >= 0).all() and (shares <= 1).all()
    player.choices[0].click()
    assert player.tally[0] == 1


def test_turn_the_knobs():
    ground = widget.Playground(seed=2)
    assert all(f"<li>{line}.</li>" in ground.result.value for line in rules_in_words(ground.problem))
    assert f"chooses {int(majority_vote(ground.problem)[0]) + 1} (" in ground.result.value
    before = ground.problem
    ground.seed.value = 3
    assert not np.array_equal(before.entities, ground.problem.entities)
    for group, menu in ground.rules.items():
        for words, value in menu.options[1:]:
            menu.value = value
            if ground.problem is not None:
                rule, governed, _ = ground.problem.rules[0, 0, GROUPS.index(group)]
                assert words.startswith(RULES[rule]) and (int(rule), int(governed)) == value
                assert GOVERNED[governed] in words or group != "number/position" or "constant" in words
        menu.value = "any"


def test_rules_without_room():
    ground = widget.Playground()
    ground.layout.value = "Center"
    ground.rules["number/position"].value = (RULES.index("arithmetic"), GOVERNED.index("position"))
    assert ground.problem is None and "some rules are impossible in a layout" in ground.result.value
    ground.rules["number/position"].value = "any"
    assert ground.problem is not None


def test_the_answer_set_decides_what_a_vote_is_worth():
    ground = widget.Playground(seed=1)
    right = {}
    for answers in ("raven", "i-raven"):
        ground.answers.value = answers
        verdicts = []
        for seed in range(12):
            ground.seed.value = seed
            verdicts.append("<b>right</b>" in ground.result.value)
        right[answers] = np.mean(verdicts)
    assert right["raven"] > 0.6 > 0.5 > right["i-raven"]


def test_mistakes(monkeypatch):
    with pytest.raises(ValueError, match="model must be a model of solving or a function of problems, got 3"):
        widget.Player(3)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(UserError, match="the widget needs ipywidgets; install it"):
        widget.Player(third)
    with pytest.raises(UserError, match="the widget needs ipywidgets; install it"):
        widget.Playground()
