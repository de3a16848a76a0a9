"""Systems of rules, and the evaluate that all systems share."""

import pytest

from reasonlib.goal_dialogue.data.example import Dialogue, Split, Turn, examples
from reasonlib.goal_dialogue.data.simulator import make_split
from reasonlib.goal_dialogue.data.text_format import parse
from reasonlib.goal_dialogue.experiments.metrics import evaluate, score_answers
from reasonlib.goal_dialogue.models.rules import fit_rules
from reasonlib.goal_dialogue.models.rules_dstc2 import DSTC2_ASK, DSTC2_HELLO, Dstc2Rules

TOWN = f"""\
1 <SILENCE>\t{DSTC2_HELLO}
2 cheap food please\t{DSTC2_ASK["area"]}
3 i dont care\t{DSTC2_ASK["food"]}
4 italian\tapi_call italian R_location cheap
5 da_vinci R_cuisine italian
6 da_vinci R_location north
7 da_vinci R_rating 2
8 ask R_cuisine italian
9 ask R_location centre
10 ask R_rating 7
11 <SILENCE>\task serves italian food in the cheap price range
12 what is the phone number\tThe phone number of ask is ask_phone
13 and the address\tSure , ask is on ask_address
14 what area is it in\task is a nice place in the centre of town
15 anything else\tda_vinci serves italian food in the cheap price range
16 how about swedish\tI'm sorry but there is no restaurant serving swedish food
17 thank you goodbye\t you are welcome
"""


@pytest.mark.parametrize("task", (1, 2, 3, 4, 5))
@pytest.mark.parametrize("part", ("test", "oov"))
def test_rules_are_right_every_time(task, part):
    split = make_split(task, dialogues=40, seed=6)
    assert evaluate(fit_rules(split), getattr(split, part)) == {"per_response": 1.0, "per_dialogue": 1.0}


def test_rules_read_the_history_and_not_the_order_of_training():
    split = make_split(5, dialogues=5)
    system = fit_rules(split)
    test_set = list(examples(split.test))
    assert system.answer(test_set[::-1]) == system.answer(test_set)[::-1]


def test_rules_of_the_town_ask_call_name_and_tell():
    dialogues = parse(TOWN.splitlines(), "here", 6)
    calls = ("api_call italian R_location cheap", "api_call swedish R_location R_price")
    split = Split(task=6, train=dialogues, valid=(), test=(), oov=(), candidates=calls, knowledge=None)
    system = fit_rules(split)
    assert isinstance(system, Dstc2Rules) and system.foods == {"italian", "swedish"}
    assert system.served == {"italian"}
    assert evaluate(system, dialogues)["per_dialogue"] == 1.0


def test_accuracy_counts_responses_and_whole_dialogues():
    dialogues = [
        Dialogue(task=1, events=(Turn("a", "b"), Turn("c", "d"))),
        Dialogue(task=1, events=(Turn("a", "b"),)),
    ]
    turns = list(examples(dialogues))
    assert score_answers(turns, ["b", "x", "b"]) == {"per_response": 2 / 3, "per_dialogue": 0.5}
    with pytest.raises(ValueError, match="one for each of 3 examples, got 1"):
        score_answers(turns, ["b"])
    with pytest.raises(ValueError, match="at least one response"):
        score_answers([], [])
