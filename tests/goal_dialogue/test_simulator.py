"""Simulated dialogues: their world, their tasks, and what is unseen in the unseen half."""

import hashlib
from itertools import pairwise

import pytest

from reasonlib.goal_dialogue.data import text_format
from reasonlib.goal_dialogue.data.example import SILENCE, Fact, Turn
from reasonlib.goal_dialogue.data.simulator import OPTIONS, SIMULATORS, make_setting, make_split, simulate
from reasonlib.goal_dialogue.data.world import (
    WORLD,
    Half,
    PortableRandom,
    World,
    make_knowledge,
    restaurants_by_goal,
)

TASKS = (1, 2, 3, 4, 5)
SPLITS = ("train", "valid", "test", "oov")


@pytest.fixture(scope="module")
def splits():
    return {task: make_split(task, dialogues=60, seed=3) for task in TASKS}


def words(dialogues):
    return set(text_format.dumps(dialogues).replace("\t", " ").split())


@pytest.mark.parametrize("task", TASKS)
def test_every_response_is_a_candidate_and_every_fact_is_known(splits, task):
    split = splits[task]
    candidates = set(split.candidates)
    assert len(candidates) == len(split.candidates) == 4212  # as released
    for name in SPLITS:
        for dialogue in getattr(split, name):
            assert all(turn.bot in candidates for turn in dialogue.turns)
            facts = [event for event in dialogue.events if isinstance(event, Fact)]
            assert all(split.knowledge.facts[fact.subject][fact.relation] == fact.value for fact in facts)


@pytest.mark.parametrize("task", TASKS)
def test_nothing_of_the_unseen_half_is_heard_in_training(splits, task):
    split = splits[task]
    unseen = {*WORLD.unseen.cuisines, *WORLD.unseen.locations}
    unseen |= {name for name, values in split.knowledge.facts.items() if values["R_location"] in unseen}
    train_words = words([*split.train, *split.valid, *split.test])
    assert not train_words & unseen
    seen = {*WORLD.seen.cuisines, *WORLD.seen.locations}
    assert not words(split.oov) & seen and words(split.oov) & unseen


def test_training_and_test_want_different_things(splits):
    for task in (1, 2, 5):
        first = {
            name: {
                next(turn.bot for turn in dialogue.turns if turn.bot.startswith("api_call"))
                for dialogue in getattr(splits[task], name)
            }
            for name in SPLITS
        }
        assert not first["train"] & (first["valid"] | first["test"])
    for task in (3, 4):
        named = {
            name: {dialogue.events[0].subject for dialogue in getattr(splits[task], name)} for name in SPLITS
        }
        assert not named["train"] & (named["valid"] | named["test"])


def test_options_are_shown_best_first_and_the_taken_one_is_asked_about(splits):
    for dialogue in (*splits[3].train, *splits[5].train):
        rating = {
            event.subject: int(event.value)
            for event in dialogue.events
            if getattr(event, "relation", "") == "R_rating"
        }
        shown = [turn.bot.split()[-1] for turn in dialogue.turns if turn.bot.startswith("what do you")]
        ranked = sorted(rating, key=rating.__getitem__, reverse=True)
        assert len(rating) >= OPTIONS and shown == ranked[: len(shown)]
        details = [turn.bot.split()[-1] for turn in dialogue.turns if turn.bot.startswith("here it is")]
        assert all(value in (f"{shown[-1]}_phone", f"{shown[-1]}_address") for value in details)
        assert len(set(details)) == len(details)
        assert bool(details) == (dialogue.task == 5)


def test_the_last_call_holds_what_the_user_last_said(splits):
    types = splits[5].knowledge.types()
    for dialogue in (*splits[1].oov, *splits[2].train, *splits[5].test):
        goal = {}
        for turn in dialogue.turns:
            goal |= {types[word]: word for word in turn.user.split() if word in types}
            if turn.bot.startswith("api_call"):
                slots = (goal[slot] for slot in ("cuisine", "location", "number", "price"))
                assert turn.user == SILENCE and turn.bot.split()[1:] == list(slots)


def test_the_results_of_a_call_stand_between_it_and_the_first_option(splits):
    restaurants = restaurants_by_goal(splits[5].knowledge)
    for dialogue in splits[5].train:
        positions = [position for position, event in enumerate(dialogue.events) if isinstance(event, Fact)]
        assert positions == list(range(positions[0], positions[-1] + 1))
        before, after = dialogue.events[positions[0] - 1], dialogue.events[positions[-1] + 1]
        assert isinstance(before, Turn) and before.bot.startswith("api_call")
        assert isinstance(after, Turn) and after.bot.startswith("what do you think")
        cuisine, location, number, price = before.bot.split()[1:]
        names = {event.subject for event in dialogue.events if isinstance(event, Fact)}
        assert names == set(restaurants[cuisine, location, number, price])


def test_the_same_seed_gives_the_same_bytes_on_every_machine():
    text = "".join(
        text_format.dumps(simulate(task, 5, split=split, seed=7)) for task in TASKS for split in SPLITS
    )
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "82ababf337d1ab52"
    assert text_format.dumps(simulate(5, 5, seed=8)) != text_format.dumps(simulate(5, 5, seed=7))
    assert simulate(5, 3, seed=7) == simulate(5, 5, seed=7)[:3]
    assert SIMULATORS["task2"](4, 7) == simulate(2, 4, seed=7)


def test_a_draw_is_fair_and_loses_nothing():
    draw = PortableRandom("a test")
    assert sorted(draw.shuffled(range(20))) == list(range(20))
    counts = [0] * 5
    for _ in range(5000):
        counts[draw.randrange(5)] += 1
    assert min(counts) > 900 and max(counts) < 1100
    assert 400 < sum(draw.bernoulli(0.25) for _ in range(2000)) < 600


def test_the_knowledge_base_has_the_released_shape():
    knowledge = make_knowledge(seed=2)
    assert len(knowledge.facts) == 1200 and all(len(values) == 7 for values in knowledge.facts.values())
    types = knowledge.types()
    assert types["rome"] == "location" and types["thai"] == "cuisine" and types["two"] == "number"
    halves = [
        {
            value
            for values in knowledge.facts.values()
            if values["R_location"] in half.locations
            for value in values.values()
        }
        for half in (WORLD.seen, WORLD.unseen)
    ]
    assert halves[0] & halves[1] == {*WORLD.numbers, *WORLD.prices, *WORLD.ratings}
    assert make_knowledge(seed=3) != knowledge and make_knowledge(seed=2) == knowledge


def test_a_dialogue_never_says_the_same_slot_twice_before_a_call(splits):
    for dialogue in splits[1].train:
        responses = [turn.bot for turn in dialogue.turns]
        assert len(set(responses)) == len(responses)
        assert all(response != next_response for response, next_response in pairwise(responses))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: simulate(6, 1), "task must be 1 to 5, got 6"),
        (lambda: simulate(1, 0), "dialogues must be at least 1, got 0"),
        (lambda: make_setting(1, "dev"), "split must be one of train, valid, test, oov, got 'dev'"),
        (
            lambda: World(
                seen=Half(cuisines=("a",), locations=("b",)), unseen=Half(cuisines=("a",), locations=("c",))
            ),
            "every name must be given once, got 'a' 2 times",
        ),
        (
            lambda: World(
                seen=Half(cuisines=("a b",), locations=("b",)), unseen=Half(cuisines=("d",), locations=("c",))
            ),
            "a name must be one word, got 'a b'",
        ),
    ],
)
def test_what_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_a_world_too_small_for_options_says_so():
    small = World(
        seen=Half(cuisines=("a",), locations=("b",)),
        unseen=Half(cuisines=("c",), locations=("d",)),
        prices=("cheap",),
        ratings=("1", "2"),
    )
    with pytest.raises(ValueError, match="task 3 needs two API calls that find 3 restaurants, got 0; make"):
        simulate(3, 1, world=small)
