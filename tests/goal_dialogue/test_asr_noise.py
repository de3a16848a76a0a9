"""Spoken users and their recogniser."""

import pytest

from reasonlib.goal_dialogue.data.asr_noise import heard, noisy, noisy_split, spoken, word_errors
from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Fact, Turn
from reasonlib.goal_dialogue.data.simulator import make_split
from reasonlib.goal_dialogue.data.world import WORLD, Draw


@pytest.fixture(scope="module")
def split():
    return make_split(5, dialogues=40)


def test_only_what_the_user_says_changes(split):
    loud = noisy_split(split, seed=1)
    assert loud.candidates == split.candidates and loud.knowledge == split.knowledge
    changed = said = 0
    for name in ("train", "valid", "test", "oov"):
        for one, other in zip(getattr(split, name), getattr(loud, name), strict=True):
            assert len(one.events) == len(other.events)
            for before, after in zip(one.events, other.events, strict=True):
                if isinstance(before, Turn) and before.user != SILENCE:
                    assert after.bot == before.bot and after.user
                    said, changed = said + 1, changed + (after.user != before.user)
                else:
                    assert after == before
    assert changed > said / 3


def test_noise_repeats_and_can_be_turned_off(split):
    assert noisy(split.test, seed=2) == noisy(split.test, seed=2) != noisy(split.test, seed=3)
    assert noisy(split.test, speech=0, errors=0) == list(split.test)
    silent = Dialogue(task=6, events=(Turn("", "hello"), Turn(SILENCE, "hello"), Fact("a", "R_price", "b")))
    assert noisy([silent], speech=1, errors=1) == [silent]


def test_more_errors_are_more_errors(split):
    def rate(**rates):
        pairs = zip(split.train, noisy(split.train, **rates), strict=True)
        errors = [
            word_errors(one.user, other.user)
            for before, after in pairs
            for one, other in zip(before.turns, after.turns, strict=True)
            if one.user != SILENCE
        ]
        return sum(errors) / len(errors)

    assert 0.05 < rate(speech=0, errors=0.1) < 0.15 < rate(speech=0, errors=0.4) < 0.6
    assert rate(speech=0, errors=0.1) < rate(speech=0.3, errors=0.1)


def test_no_unseen_name_is_misheard_into_training(split):
    loud = noisy_split(split, seed=5, errors=0.5)
    unseen = {*WORLD.unseen.cuisines, *WORLD.unseen.locations}
    heard_words = {
        word for one in (*loud.train, *loud.valid) for turn in one.turns for word in turn.user.split()
    }
    assert not heard_words & unseen


def test_a_sentence_is_never_lost_whole():
    draw = Draw("test")
    assert all(heard("no", draw, rate=1.0) for _ in range(50))
    assert all(spoken("of the restaurant", draw, rate=1.0) for _ in range(50))


@pytest.mark.parametrize(
    ("said", "other", "rate"),
    [("a b c", "a b c", 0), ("a b c d", "a x c", 0.5), ("a", "b c", 2), ("", "a", 1)],
)
def test_word_errors_count_changes(said, other, rate):
    assert word_errors(said, other) == rate


def test_a_rate_is_a_probability():
    with pytest.raises(ValueError, match=r"errors must be from 0 to 1, got 1\.5"):
        noisy([], errors=1.5)
