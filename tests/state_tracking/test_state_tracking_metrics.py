"""The metrics, against the public functions of SOM-DST on a file with every corner case."""

import pytest

from reasonlib.state_tracking.data.example import Dialogue, Turn
from reasonlib.state_tracking.data.metrics import gate_scores, inherited_pairs, score, turn_f1
from reasonlib.state_tracking.data.simulator import simulate

# predicted, labels, then slot accuracy and F1 as compute_acc and compute_prf of clovaai/som-dst (commit
# bda5a91, utils/eval_utils.py) give them with 30 slots
CASES = [
    ({}, {}, 1.0, 1.0),
    ({"hotel-area": "north"}, {}, 29 / 30, 0.0),
    ({}, {"hotel-area": "north"}, 29 / 30, 0.0),
    ({"hotel-area": "north"}, {"hotel-area": "north"}, 1.0, 1.0),
    ({"hotel-area": "south"}, {"hotel-area": "north"}, 29 / 30, 0.0),
    ({"hotel-area": "north", "taxi-leaveat": "10:15"}, {"hotel-area": "north"}, 29 / 30, 2 / 3),
    ({"hotel-area": "north"}, {"hotel-area": "north", "taxi-leaveat": "10:15"}, 29 / 30, 2 / 3),
    (
        {"hotel-area": "dontcare", "train-day": "friday"},
        {"hotel-area": "dontcare", "train-day": "monday"},
        29 / 30,
        0.5,
    ),
    (
        {"hotel-book day": "friday", "hotel-book stay": "2"},
        {"hotel-book day": "friday", "hotel-book stay": "3", "hotel-stars": "4"},
        28 / 30,
        0.4,
    ),
    (
        {"hotel-area": "south", "hotel-stars": "4"},
        {"restaurant-food": "thai", "restaurant-area": "south"},
        26 / 30,
        0.0,
    ),
]


@pytest.mark.parametrize(("predicted", "labels", "slot", "f1"), CASES)
def test_one_turn_equals_the_public_script(predicted, labels, slot, f1):
    scores = score([predicted], [labels])
    assert scores.slot == pytest.approx(slot) and scores.f1 == pytest.approx(f1)
    assert scores.joint_goal == float(slot == 1.0)


def test_the_whole_file_equals_the_public_script():
    scores = score([case[0] for case in CASES], [case[1] for case in CASES])
    assert (scores.joint_goal, scores.turns) == (0.2, 10)
    assert scores.slot == pytest.approx(0.96) and scores.f1 == pytest.approx(0.42333333)
    assert scores.per_slot["hotel-area"] == pytest.approx(0.6)
    assert sum(scores.per_slot.values()) / 30 == pytest.approx(scores.slot)


def test_none_is_the_same_as_absent():
    assert score([{"hotel-area": "none"}], [{}]).joint_goal == 1.0
    assert turn_f1({"hotel-area": "none"}, {}) == 1.0


def test_inherited_slots_are_counted_apart():
    labels = [{"hotel-name": "a", "taxi-destination": "a"}, {"hotel-name": "a"}]
    said = [{"hotel-name": "a", "taxi-destination": "b"}, {"hotel-name": "b"}]
    scores = score(said, labels, [{"taxi-destination": "hotel-name"}, {}])
    assert (scores.inherited, scores.inherited_count, scores.joint_goal) == (0.0, 1, 0.0)
    assert score(said, labels).inherited is None


def test_references_are_inferred_where_no_label_says_so():
    turns = (
        Turn(system="", user="i need a hotel in the north .", state={"hotel-area": "north"}),
        Turn(
            system="copper inn ?",
            user="yes .",
            state={"hotel-area": "north", "hotel-name": "copper inn"},
        ),
        Turn(
            system="more ?",
            user="a taxi to it at 10:15 .",
            state={
                "hotel-area": "north",
                "hotel-name": "copper inn",
                "taxi-destination": "copper inn",
                "taxi-leaveat": "10:15",
            },
        ),
    )
    dialogue = Dialogue(name="real", turns=turns)
    assert inherited_pairs(dialogue, 1) == {}
    assert inherited_pairs(dialogue, 2) == {"taxi-destination": "hotel-name"}


def test_the_inference_finds_most_of_what_the_simulator_labels():
    both = labelled = inferred = 0
    for dialogue in simulate(100, seed=8):
        last = len(dialogue.turns) - 1
        plain = Dialogue(
            name="plain",
            turns=tuple(Turn(system=t.system, user=t.user, state=t.state) for t in dialogue.turns),
        )
        true, guess = set(inherited_pairs(dialogue, last)), set(inherited_pairs(plain, last))
        both, labelled, inferred = both + len(true & guess), labelled + len(true), inferred + len(guess)
    assert both > 0.7 * labelled and both > 0.7 * inferred


def test_precision_and_recall_of_the_gate():
    said = [{"hotel-area": "dontcare", "hotel-stars": "4"}]
    true = [{"hotel-area": "north", "hotel-stars": "3", "train-day": "dontcare"}]
    gates = gate_scores(said, true)
    assert gates["dontcare"] == (0.0, 0.0)
    assert gates["prediction"] == (1.0, 0.5)
    assert gates["none"] == (27 / 28, 1.0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: score([{}], []), "one state a turn, got 1 for 0 turns"),
    (lambda: score([], []), "at least one turn, got none"),
])  # fmt: skip
def test_wrong_values_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
