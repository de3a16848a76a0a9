"""Conversations: the rules lead one to a table, the trained ones speak, mistakes are told in one line."""

import json

import pytest
from typer.testing import CliRunner

from reasonlib.cli import app
from reasonlib.errors import UserError
from reasonlib.goal_dialogue import shipped
from reasonlib.goal_dialogue.chat import MODELS, Conversation, open_conversation
from reasonlib.goal_dialogue.dialogue import Fact, Turn
from reasonlib.goal_dialogue.widget import Talker
from reasonlib.goal_dialogue.world import WORLD, make_knowledge, results

LINES = ("hello", "may i have a table in paris")


def test_rules_lead_to_a_proposal():
    goal = next(iter(results(make_knowledge(WORLD))))
    talk = open_conversation("rules")
    for line in ("hello", f"may i have a table in {goal.location}", f"with {goal.cuisine} food", goal.number):
        talk.say(line)
    said = talk.say(f"{goal.price} please")
    assert [one.text for one in said][:2] == ["ok let me look into some options for you", goal.call]
    facts = [event for event in talk.events if isinstance(event, Fact)]
    assert tuple(facts) == said[1].found and {fact.relation for fact in facts} >= {"R_rating", "R_phone"}
    ratings = {fact.subject: int(fact.value) for fact in facts if fact.relation == "R_rating"}
    best = max(ratings, key=ratings.__getitem__)
    assert said[-1].text == f"what do you think of this option: {best}"


def test_a_call_that_finds_nothing_ends_the_turn():
    talk = open_conversation("rules")
    for line in ("hello", "a table in paris for two please", "with thai food"):
        talk.say(line)
    said = talk.say("cheap")
    assert said[-1].text == "api_call thai paris two cheap" and not said[-1].found


class Parrot:
    def answer(self, examples):
        return ["i'm on it" for _ in examples]


def test_a_system_that_never_stops_is_stopped():
    talk = Conversation(Parrot())
    assert len(talk.say("Hello  There")) == 6
    assert talk.events[0] == Turn("hello there", "i'm on it")


@pytest.mark.parametrize("model", MODELS)
def test_every_model_says_hello(model):
    talk = open_conversation(model)
    assert [one.text for one in talk.say("hello")] == ["hello what can i help you with today"]
    assert talk.dialogue().turns == (Turn("hello", "hello what can i help you with today"),)


def test_a_network_tells_where_it_looked():
    talk = open_conversation("n2n")
    talk.say("hello")
    (first, *_) = talk.say("may i have a table in paris")
    assert first.looked and first.looked[0][1] >= first.looked[-1][1] > 0
    assert all(sentence.startswith(("user: ", "system: ")) for sentence, _ in first.looked)


def test_mistakes_are_told():
    with pytest.raises(UserError, match="no model 'nobody' to talk to; take one of copying, rules"):
        open_conversation("nobody")
    with pytest.raises(UserError, match="say something"):
        open_conversation("rules").say("  ")
    with pytest.raises(UserError, match="there is no network 'absent'; take one of n2n, gn2n, un2n"):
        shipped.load_network("absent")


def test_a_damaged_file_is_told(tmp_path):
    learned = shipped.load_network("n2n")
    path = tmp_path / "other.safetensors"
    shipped.save_network(learned, path, {"network": "n2n", "hops": 1, "match": True, "dialogues": 8}, {})
    with pytest.raises(UserError, match="a damaged memory network"):
        shipped.load_network(str(path))


def test_from_the_command_line():
    asked = [part for line in LINES[:2] for part in ("--say", line)]
    done = CliRunner().invoke(app, ["chat", "goal_dialogue", "--model", "rules", *asked, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.output)[1]["system"] == ["i'm on it", "any preference on a type of cuisine"]
    read = CliRunner().invoke(app, ["chat", "--model", "rules"], input="hello\n\n")
    assert read.output == "hello what can i help you with today\n"
    assert CliRunner().invoke(app, ["chat", "story_qa"]).exit_code != 0


def test_the_widget_talks():
    pytest.importorskip("ipywidgets")
    form = Talker("rules")
    form.line.value = "hello"
    form.button.click()
    assert "hello what can i help you with today" in form.talk.value
    form.button.click()
    assert "say something" in form.looked.value
    form.picker.value = "n2n"
    assert not form.conversation.events
    form.line.value = "hello"
    form.button.click()
    form.line.value = "may i have a table in paris"
    form.button.click()
    assert "The last hop looked at" in form.looked.value
