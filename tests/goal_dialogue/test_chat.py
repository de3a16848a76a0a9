"""Conversations: the rules lead one to a table, the trained ones speak, mistakes are told in one line."""

import json

import pytest
from typer.testing import CliRunner

from reasonlib.cli import app
from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.example import Fact, Turn
from reasonlib.goal_dialogue.data.world import WORLD, make_knowledge, restaurants_by_goal
from reasonlib.goal_dialogue.models.pretrained import from_pretrained, save_memory_network
from reasonlib.goal_dialogue.page.chat import MODELS, Conversation, open_conversation, replay, user_lines
from reasonlib.goal_dialogue.page.widget import Talker

LINES = ("hello", "may i have a table in paris")


def test_rules_lead_to_a_proposal():
    goal = next(iter(restaurants_by_goal(make_knowledge(WORLD))))
    talk = open_conversation("rules")
    for line in ("hello", f"may i have a table in {goal.location}", f"with {goal.cuisine} food", goal.number):
        talk.say(line)
    replies = talk.say(f"{goal.price} please")
    assert [reply.text for reply in replies] == ["ok let me look into some options for you", goal.call]
    assert talk.waiting == replies[1].facts and {fact.relation for fact in replies[1].facts} >= {
        "R_rating",
        "R_phone",
    }
    offer = talk.say()
    facts = [event for event in talk.events if isinstance(event, Fact)]
    assert tuple(facts) == replies[1].facts and not talk.waiting
    ratings = {fact.subject: int(fact.value) for fact in facts if fact.relation == "R_rating"}
    best = max(ratings, key=ratings.__getitem__)
    assert [reply.text for reply in offer] == [f"what do you think of this option: {best}"]
    assert not offer[0].remark


def test_a_request_can_be_changed_before_the_first_offer():
    first, *_ = goals = list(restaurants_by_goal(make_knowledge(WORLD)))
    second = next(goal for goal in goals if goal.price != first.price and goal[:3] == first[:3])
    request = f"may i have a table in {first.location} with {first.cuisine} food for {first.number}"
    talk = replay(
        "rules",
        (
            "hello",
            f"{request} in a {first.price} price range",
            f"actually i would prefer in a {second.price} price range",
            "no",
            "<silence>",
        ),
    )
    texts = [reply.text for reply in talk.replies]
    assert [text for text in texts if text.startswith("api_call")] == [first.call, second.call]
    restaurants = {event.subject for event in talk.events if isinstance(event, Fact)}
    assert restaurants == set(
        restaurants_by_goal(make_knowledge(WORLD))[second]
    )  # those of the first call were never heard
    assert texts[-1].split()[-1] in restaurants


def test_lines_of_a_dialogue_book_its_table():
    split = datasets.load("simulated", 5, dialogues=8)
    dialogue = split.test[0]
    talk = replay("copying", user_lines(dialogue), knowledge=split.knowledge)
    assert talk.dialogue().turns == dialogue.turns


def test_the_network_that_copies_understands_other_words_than_those_of_the_released_users():
    talk = replay("copying", ("hello", "a table for two in bombay please", "british", "cheap please", ""))
    call, offer = [reply.text for reply in talk.replies][-2:]
    assert call == "api_call british bombay two cheap"
    restaurant_of = {
        event.value: event.subject for event in talk.events if getattr(event, "relation", "") == "R_rating"
    }
    assert offer.split()[-1] == restaurant_of[max(restaurant_of, key=int)]


class Dreamer:
    answers = iter(
        ("api_call thai atlantis two cheap", "what do you think of this option: nowhere", "here it is x")
    )

    def answer(self, examples):
        return [next(self.answers) for _ in examples]


def test_what_a_listener_would_object_is_remarked():
    talk = Conversation(Dreamer())
    assert [talk.say("go on")[0].remark for _ in range(3)] == [
        "the knowledge base knows no atlantis",
        "none of those that were found",
        "not of the restaurant that was offered last",
    ]
    assert "none of those that were found" in talk.show().html


@pytest.mark.parametrize(
    ("model", "shown"), [("n2n", "Weight at hop"), ("copying", "Template"), ("rules", "")]
)
def test_what_a_system_looked_at_is_drawn(model, shown):
    talk = replay(model, ("hello", "may i have a table in paris"))
    picture = talk.picture(talk.replies[1])
    assert shown in picture.html if shown else picture is None
    assert talk.show(opened=True).html.count("<details open>") == bool(shown)


def test_a_call_that_finds_nothing_ends_the_turn():
    talk = open_conversation("rules")
    for line in ("hello", "a table in paris for two please", "with thai food"):
        talk.say(line)
    replies = talk.say("cheap")
    assert replies[-1].text == "api_call thai paris two cheap" and not replies[-1].facts


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
    assert [reply.text for reply in talk.say("hello")] == ["hello what can i help you with today"]
    assert talk.dialogue().turns == (Turn("hello", "hello what can i help you with today"),)


def test_a_network_tells_where_it_looked():
    talk = open_conversation("n2n")
    talk.say("hello")
    (first, *_) = talk.say("may i have a table in paris")
    assert first.attention and first.attention[0][1] >= first.attention[-1][1] > 0
    assert all(sentence.startswith(("user: ", "system: ")) for sentence, _ in first.attention)


def test_mistakes_are_told():
    with pytest.raises(UserError, match="no model 'nobody' to talk to; take one of copying, rules"):
        open_conversation("nobody")
    with pytest.raises(UserError, match="say something"):
        open_conversation("rules").say("  ")
    with pytest.raises(
        UserError, match="there is no trained model 'absent'; take one of copying, n2n, gn2n, un2n"
    ):
        from_pretrained("absent")


def test_a_damaged_file_is_told(tmp_path):
    system = from_pretrained("n2n")
    path = tmp_path / "other.safetensors"
    save_memory_network(system, path, {"network": "n2n", "hops": 1, "match": True, "dialogues": 8}, {})
    with pytest.raises(UserError, match="a damaged memory network"):
        from_pretrained(path)


def test_from_the_command_line():
    options = [part for line in LINES[:2] for part in ("--say", line)]
    done = CliRunner().invoke(app, ["chat", "goal_dialogue", "--model", "rules", *options, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.output)[1]["system"] == ["i'm on it", "any preference on a type of cuisine"]
    read = CliRunner().invoke(app, ["chat", "--model", "rules"], input="hello\n\n")
    assert read.output == "hello what can i help you with today\n"
    waits = CliRunner().invoke(
        app, ["chat", "--model", "rules"], input="hello\na table in bombay for two\nbritish\ncheap\n\n\n"
    )
    assert "found: " in waits.output and "what do you think of this option" in waits.output.splitlines()[-1]
    assert CliRunner().invoke(app, ["chat", "story_qa"]).exit_code != 0


def test_the_widget_talks():
    pytest.importorskip("ipywidgets")
    form = Talker("rules")
    form.line.value = "hello"
    form.button.click()
    assert "hello what can i help you with today" in form.talk.value
    form.button.click()
    assert "say something" in form.hint.value
    form.picker.value = "n2n"
    assert not form.conversation.events
    form.line.value = "hello"
    form.button.click()
    form.line.value = "may i have a table in paris"
    form.button.click()
    assert form.talk.value.count("what it used") == 2 and form.talk.value.count("<details open>") == 1


def test_the_widget_understands_what_the_command_line_understands():
    pytest.importorskip("ipywidgets")
    line = "A table for 4 in Rome, cheap, Itallian food please! 🍕"
    form = Talker("rules")
    form.line.value = line
    form.button.click()
    done = CliRunner().invoke(app, ["chat", "--model", "rules", "--json", "--say", line])
    (turn,) = json.loads(done.output)
    assert turn["system"][-1] == "api_call italian rome four cheap" == form.conversation.replies[-1].text
    assert "Understood: " in form.hint.value and "italian" in form.hint.value
    form = Talker("rules")
    form.line.value = "A table in Tromsø"
    form.button.click()
    assert "There is no restaurant in Tromso; there is " in form.hint.value
    form.line.value = "🙂"
    form.button.click()
    assert "say it in words" in form.hint.value


def test_the_widget_offers_the_lines_of_a_dialogue():
    pytest.importorskip("ipywidgets")
    split = datasets.load("simulated", 5, dialogues=8)
    dialogue = split.test[0]
    form = Talker("rules", replay=dialogue, knowledge=split.knowledge)
    for line in user_lines(dialogue):
        assert form.line.value == line
        form.button.click()
    assert form.conversation.dialogue().turns == dialogue.turns
