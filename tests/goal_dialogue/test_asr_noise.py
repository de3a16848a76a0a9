"""Spoken users and their recogniser."""

import pytest

from reasonlib.goal_dialogue.data.asr_noise import (
    add_asr_noise,
    add_asr_noise_to_split,
    add_disfluencies,
    recognise,
    word_error_rate,
)
from reasonlib.goal_dialogue.data.example import SILENCE, Dialogue, Fact, Turn
from reasonlib.goal_dialogue.data.world import WORLD, PortableRandom


def test_only_what_the_user_says_changes(forty):
    loud = add_asr_noise_to_split(forty, seed=1)
    assert loud.candidates == forty.candidates and loud.knowledge == forty.knowledge
    changed = total = 0
    for name in ("train", "valid", "test", "oov"):
        for clean, noisy in zip(getattr(forty, name), getattr(loud, name), strict=True):
            assert len(clean.events) == len(noisy.events)
            for before, after in zip(clean.events, noisy.events, strict=True):
                if isinstance(before, Turn) and before.user != SILENCE:
                    assert after.bot == before.bot and after.user
                    total, changed = total + 1, changed + (after.user != before.user)
                else:
                    assert after == before
    assert changed > total / 3


def test_noise_repeats_and_can_be_turned_off(forty):
    first, again, other = (add_asr_noise(forty.test, seed=seed) for seed in (2, 2, 3))
    assert first == again != other
    assert add_asr_noise(forty.test, speech=0, errors=0) == list(forty.test)
    silent = Dialogue(task=6, events=(Turn("", "hello"), Turn(SILENCE, "hello"), Fact("a", "R_price", "b")))
    assert add_asr_noise([silent], speech=1, errors=1) == [silent]


def test_more_errors_are_more_errors(forty):
    def rate(**rates):
        pairs = zip(forty.train, add_asr_noise(forty.train, **rates), strict=True)
        errors = [
            word_error_rate(clean.user, noisy.user)
            for before, after in pairs
            for clean, noisy in zip(before.turns, after.turns, strict=True)
            if clean.user != SILENCE
        ]
        return sum(errors) / len(errors)

    assert 0.05 < rate(speech=0, errors=0.1) < 0.15 < rate(speech=0, errors=0.4) < 0.6
    assert rate(speech=0, errors=0.1) < rate(speech=0.3, errors=0.1)


def test_no_unseen_name_is_misheard_into_training(forty):
    loud = add_asr_noise_to_split(forty, seed=5, errors=0.5)
    unseen = {*WORLD.unseen.cuisines, *WORLD.unseen.locations}
    heard_words = {
        word
        for dialogue in (*loud.train, *loud.valid)
        for turn in dialogue.turns
        for word in turn.user.split()
    }
    assert not heard_words & unseen


def test_a_sentence_is_never_lost_whole():
    rng = PortableRandom("test")
    assert all(recognise("no", rng, rate=1.0) for _ in range(50))
    assert all(add_disfluencies("of the restaurant", rng, rate=1.0) for _ in range(50))


@pytest.mark.parametrize(
    ("reference", "hypothesis", "rate"),
    [("a b c", "a b c", 0), ("a b c d", "a x c", 0.5), ("a", "b c", 2), ("", "a", 1)],
)
def test_word_errors_count_changes(reference, hypothesis, rate):
    assert word_error_rate(reference, hypothesis) == rate


def test_a_rate_is_a_probability():
    with pytest.raises(ValueError, match=r"errors must be from 0 to 1, got 1\.5"):
        add_asr_noise([], errors=1.5)
