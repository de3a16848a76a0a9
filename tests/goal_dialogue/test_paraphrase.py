"""The same wishes in other words."""

import pytest

from reasonlib.goal_dialogue.data.example import SILENCE, Fact, Turn
from reasonlib.goal_dialogue.data.paraphrase import (
    MEANT,
    OTHERS,
    paraphrase_dialogues,
    paraphrase_sentence,
    without_updates,
)
from reasonlib.goal_dialogue.data.world import PortableRandom


def test_every_simulated_sentence_is_understood_and_keeps_what_it_names(forty):
    types, rng = forty.knowledge.types(), PortableRandom("test")
    sentences = {turn.user for dialogue in forty.train for turn in dialogue.turns} - {SILENCE}
    for text in sorted(sentences):
        others = {paraphrase_sentence(text, rng) for _ in range(20)}
        assert len(others) > 3, text
        names = sorted(word for word in text.split() if word in types)
        for other in others:
            assert sorted(word for word in other.split() if word in types) == names, (text, other)


def test_what_the_system_says_and_finds_stays(forty):
    changed = 0
    pairs = zip(forty.train, paraphrase_dialogues(forty.train, sure=0), strict=True)
    for before, after in (
        (a, b)
        for original, paraphrase in pairs
        for a, b in zip(original.events, paraphrase.events, strict=True)
    ):
        if isinstance(before, Turn) and before.user != SILENCE:
            assert after.bot == before.bot
            changed += after.user != before.user
        else:
            assert after == before
    assert changed > 100


def test_rewording_repeats_and_can_be_turned_off(forty):
    first, again, other = (paraphrase_dialogues(forty.test, seed=seed) for seed in (2, 2, 3))
    assert first == again != other
    assert paraphrase_dialogues(forty.test, rate=0, sure=0) == list(forty.test)


def test_a_settled_user_asks_at_once_for_what_they_end_up_with(forty):
    for dialogue in forty.train:
        calls = [turn.bot for turn in dialogue.turns if turn.bot.startswith("api_call")]
        calm = without_updates(dialogue)
        assert [turn.bot for turn in calm.turns if turn.bot.startswith("api_call")] == calls[-1:]
        user_words = {word for turn in calm.turns for word in turn.user.split()}
        assert user_words.issuperset(calls[-1].split()[1:])
        assert [event for event in calm.events if isinstance(event, Fact)] == [
            event for event in dialogue.events if isinstance(event, Fact)
        ]
        assert without_updates(calm) == calm


def test_an_unknown_sentence_stays_and_every_meaning_has_words():
    assert paraphrase_sentence("the cat sat on the mat", PortableRandom("test")) == "the cat sat on the mat"
    assert set(MEANT.values()) == set(OTHERS)


@pytest.mark.parametrize("rates", [{"rate": 1.5}, {"sure": -0.1}])
def test_a_rate_is_a_probability(rates):
    with pytest.raises(ValueError, match=r"(rate|sure) must be from 0 to 1, got"):
        paraphrase_dialogues([], **rates)
