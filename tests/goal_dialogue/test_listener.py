"""What people type leads to the right API call; what nobody can serve is said; a change of mind counts."""

import json

import openings
import pytest
from typer.testing import CliRunner

from reasonlib.cli import app
from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.world import WORLD, make_knowledge
from reasonlib.goal_dialogue.page.chat import open_conversation
from reasonlib.goal_dialogue.page.hearing import hear, plain_words
from reasonlib.goal_dialogue.page.listener import Listener

TYPES = make_knowledge(WORLD).types()
HELD_OUT = openings.FILE.with_name("opening_requests_held_out.jsonl")
SECOND = openings.FILE.with_name("opening_requests_second.jsonl")  # 28 of 30 were right when it was written


def test_a_hundred_openings_lead_to_the_right_call():
    assert len(openings.requests()) == 100
    right, wrong = openings.measure("rules")
    assert right.total() >= 95, wrong
    for path, least in ((HELD_OUT, 36), (SECOND, 28)):
        right, wrong = openings.measure("rules", path)
        assert right.total() >= least, wrong


@pytest.mark.slow
@pytest.mark.parametrize("model", ["copying", "n2n"])
def test_they_do_with_the_bundled_networks(model):
    right, wrong = openings.measure(model)
    assert right.total() >= 80, wrong


def test_the_record_says_what_was_measured():
    record = json.loads(openings.FILE.with_suffix(".results.json").read_text())
    assert record["requests"] == 100
    assert all(model["right"] >= 80 > model["word for word"] for model in record["models"].values())


@pytest.mark.parametrize(
    ("line", "requested_slot", "slots"),
    [
        ("4", "number", {"number": "four"}),
        ("Four.", "number", {"number": "four"}),
        ("Rome!", "location", {"location": "rome"}),
        ("at 8 pm for 4", "", {"number": "four"}),
        ("not expensive", "", {"price": "cheap"}),
        ("I fancy a curry", "", {"cuisine": "indian"}),
        ("some more time please, from home", "", {}),
        ("thank you", "", {}),
        ("ROME, not Paris", "", {"location": "rome"}),
    ],
)
def test_what_is_heard(line, requested_slot, slots):
    parsed = hear(line, TYPES, requested_slot=requested_slot)
    assert parsed.slots == slots and not parsed.lacking


@pytest.mark.parametrize(
    ("line", "requested_slot", "lacking"),
    [
        ("a table in Tromso", "", {"location": "Tromso"}),
        ("Berlin please", "location", {"location": "Berlin"}),
        ("5", "number", {"number": "5"}),
        ("martian", "cuisine", {"cuisine": "martian"}),
    ],
)
def test_what_is_lacking(line, requested_slot, lacking):
    assert hear(line, TYPES, requested_slot=requested_slot).lacking == lacking


def test_words_without_punctuation():
    assert plain_words("  Hello,   THERE! (you) ") == "hello there you"
    assert plain_words("?!") == ""


def test_what_the_knowledge_base_lacks_is_said_before_anything_is_looked_up():
    talk = Listener(open_conversation("rules"))
    (first, *_) = talk.say("British food in Berlin for 5, cheap")
    assert "no restaurant in Berlin; there is bombay" in first.remark
    assert "no table for 5; there is two" in first.remark
    (reply,) = talk.say("Oslo?")
    assert reply.text == "where should it be" and "no restaurant in Oslo" in reply.remark
    talk.say("London")
    assert talk.say("six")[-1].text == "api_call british london six cheap"


def test_a_change_of_mind_counts_at_any_time():
    talk = Listener(open_conversation("rules"))
    talk.say("Italian in Rome for four")  # the system asks for the price
    talk.say("actually make it six people")
    assert talk.say("cheap")[-1].text == "api_call italian rome six cheap"
    assert talk.say("hmm, Paris rather, and not too pricey")[-1].text == "api_call italian paris six moderate"
    offer = talk.say("")[-1].text
    assert offer.startswith("what do you think of this option: resto_paris_moderate_italian")


def test_nothing_in_words_is_a_user_s_mistake():
    with pytest.raises(UserError, match="say it in words"):
        Listener(open_conversation("rules")).say("🙂!")
    with pytest.raises(UserError, match="say something"):
        Listener(open_conversation("rules")).say(" ")


def test_json_keeps_what_was_said_before_a_bad_line():
    arguments = ["chat", "--model", "rules", "--say", "Hello!", "--say", "4 in ROME", "--say", "?", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0
    turns = json.loads(done.stdout)
    assert turns[1]["understood"] == {"location": "rome", "number": "four"}
    plain = CliRunner().invoke(
        app, ["chat", "--model", "rules", "--say", "Hello!", "--say", "x", "--as-typed"]
    )
    assert plain.exit_code == 0
