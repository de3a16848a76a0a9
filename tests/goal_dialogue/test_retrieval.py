"""TF-IDF and nearest neighbours, against a transcription of their definitions."""

import math
from collections import Counter

import pytest

from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Split, Turn, examples
from reasonlib.goal_dialogue.data.simulator import make_split
from reasonlib.goal_dialogue.experiments.metrics import evaluate
from reasonlib.goal_dialogue.models.match_features import entity_types
from reasonlib.goal_dialogue.models.retrieval import TYPE_WEIGHT, fit_nearest_neighbour, fit_tfidf, words_of


def a_split(train, candidates, knowledge=None, test=()):
    train_set = [Dialogue(task=1, events=tuple(events)) for events in train]
    test_set = [Dialogue(task=1, events=tuple(events)) for events in test]
    return Split(
        task=1,
        train=train_set,
        valid=train_set,
        test=test_set,
        oov=(),
        candidates=candidates,
        knowledge=knowledge,
    )


def by_hand(split, example, *, history, match):
    """Score every candidate by the definition, one word at a time."""
    words_in = lambda turn: [*(words_of(turn.history) if history else ()), *turn.user.split()]  # noqa: E731
    texts = [candidate.split() for candidate in split.candidates]
    texts += [words_in(turn) for turn in examples(split.train)]
    vocabulary = {word for text in texts for word in text}
    idf = {
        word: math.log((1 + len(texts)) / (1 + sum(word in text for text in texts))) + 1
        for word in vocabulary
    }
    vector = lambda text: {word: count * idf[word] for word, count in Counter(text).items() if word in idf}  # noqa: E731
    query = vector(words_in(example))
    types = entity_types(split) if match else {}
    everything = {*words_of(example.history), *example.user.split()}
    scores = []
    for candidate in split.candidates:
        other = vector(candidate.split())
        kinds = {types[word] for word in candidate.split() if word in types and word in everything}
        shared = TYPE_WEIGHT**2 * len(kinds)
        product = sum(query.get(word, 0) * weight for word, weight in other.items()) + shared
        scores.append(product / math.sqrt(sum(weight**2 for weight in other.values()) + shared))
    return scores


@pytest.mark.parametrize("history", (False, True))
@pytest.mark.parametrize("match", (False, True))
def test_tfidf_is_its_definition(history, match):
    whole = make_split(5, dialogues=3)
    names = {event.subject for talk in whole.train for event in talk.events if isinstance(event, Fact)}
    near = [text for text in whole.candidates if any(name in text for name in names) or "resto" not in text]
    split = Split(
        task=5, train=whole.train, valid=(), test=(), oov=(), candidates=near[:120], knowledge=whole.knowledge
    )
    test_set = list(examples(whole.test))[::4]
    answers = fit_tfidf(split, history=history, match=match).answer(test_set)
    for example, answer in zip(test_set, answers, strict=True):
        scores = by_hand(split, example, history=history, match=match)
        assert scores[split.candidates.index(answer)] == pytest.approx(max(scores), abs=1e-9)


def test_types_find_the_call_that_words_alone_do_not():
    split = make_split(1, dialogues=40)
    plain, typed = (
        evaluate(fit_tfidf(split, match=match), split.oov)["per_response"] for match in (False, True)
    )
    assert typed > plain + 0.1


def test_nearest_neighbour_takes_the_commonest_answer_of_the_most_similar_user():
    split = a_split(
        [
            [Turn("in rome please", "one")],
            [Turn("in rome please", "two")],
            [Turn("in rome please", "two")],
            [Turn("bye", "three")],
        ],
        ("one", "two", "three"),
        test=[[Turn("in paris please", "two"), Turn("bye bye", "three"), Turn("in rome please", "two")]],
    )
    assert evaluate(fit_nearest_neighbour(split), split.test) == {"per_response": 1.0, "per_dialogue": 1.0}


def test_neighbours_hardly_suffer_from_calls_they_never_saw_but_never_make_one():
    split = make_split(1, dialogues=60)
    system = fit_nearest_neighbour(split)
    train_responses = {turn.bot for dialogue in split.train for turn in dialogue.turns}
    assert set(system.answer(list(examples(split.oov)))) <= train_responses
    assert 0.4 < evaluate(system, split.test)["per_response"] < 0.85
