"""Dialogues as tensors, sums of rows and match features: by hand, at the edges, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.bags import build_vocabulary, make_bags
from reasonlib.goal_dialogue.data.encoding import encode, encode_split
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Note, Turn
from reasonlib.goal_dialogue.models.match_features import Match, entity_types
from reasonlib.nn.sums import Groups, sum_groups

DIALOGUE = Dialogue(
    task=3,
    events=(
        Turn("hi", "hello"),
        Turn("paris please", "i'm on it"),
        Fact("resto_a", "R_rating", "8"),
        Note("api_call no result"),
        Turn("<SILENCE>", "hello"),
    ),
)
CANDIDATES = ("hello", "i'm on it", "never said")


def spelled(turns, vocabulary, batch):
    """Read a batch back: the memory and the question of each turn, as text."""
    groups = batch.sentences.words
    sentences = [
        " ".join(vocabulary.decode(groups.members[start:end].tolist()))
        for start, end in zip(groups.starts[:-1], groups.starts[1:], strict=True)
    ]
    memory = [
        [sentences[row] for row, is_filled in zip(rows, filled, strict=True) if is_filled]
        for rows, filled in zip(batch.memory.tolist(), batch.filled.tolist(), strict=True)
    ]
    return memory, [sentences[row] for row in batch.question.tolist()]


def test_a_dialogue_becomes_memories_with_marks():
    vocabulary = build_vocabulary([DIALOGUE], CANDIDATES)
    turns = encode([DIALOGUE, DIALOGUE], vocabulary, CANDIDATES)
    memory, question = spelled(turns, vocabulary, turns.batch([5, 0, 1], slots=50))
    assert question == ["<SILENCE>", "hi", "paris please"]
    assert memory[1] == [] and memory[2] == ["hi $u #0", "hello $r #0"]
    assert memory[0] == [
        "hi $u #0",
        "hello $r #0",
        "paris please $u #1",
        "i'm on it $r #1",
        "resto_a R_rating 8 $r #2",
        "api_call no result $r #2",
    ]
    assert turns.batch([5], slots=50).response.tolist() == [0]
    assert turns.dialogue.tolist() == [0, 0, 0, 1, 1, 1] and turns.turn.tolist() == [0, 1, 2, 0, 1, 2]
    assert len(turns.text) == 8 + 3  # memories and questions, once each for both dialogues

    latest, _ = spelled(turns, vocabulary, turns.batch([2], slots=2))
    assert latest == [memory[0][-2:]]
    quiet = encode([DIALOGUE], vocabulary, CANDIDATES, facts=False)
    assert spelled(quiet, vocabulary, quiet.batch([2], slots=50))[0] == [
        [line for line in memory[0] if "R_rating" not in line]
    ]


def test_unknown_words_are_left_out_and_unknown_responses_are_never_right():
    vocabulary = build_vocabulary([DIALOGUE], CANDIDATES)
    turns = encode([Dialogue(task=1, events=(Turn("hi zebra", "unheard of"),))], vocabulary, CANDIDATES)
    batch = turns.batch([0], slots=5)
    assert spelled(turns, vocabulary, batch)[1] == ["hi"] and batch.response.tolist() == [-1]
    with pytest.raises(ValueError, match="dialogues must hold at least one turn, got none"):
        encode([], vocabulary, CANDIDATES)
    with pytest.raises(ValueError, match="slots must be at least 0, got -1"):
        turns.batch([0], slots=-1)


def test_sums_of_rows_and_their_gradients_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 5, size=30)
    members = rng.integers(0, 11, size=lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)])
    groups = Groups.of(members, starts, 11)
    table = torch.randn(11, 3, dtype=torch.double, requires_grad=True)
    weight = torch.randn(30, 3, dtype=torch.double)
    sums = sum_groups(table, groups)
    (sums * weight).sum().backward()
    plain = table.detach().clone().requires_grad_()
    loop = torch.stack([plain[members[start:end]].sum(0) for start, end in pairwise(starts)])
    (loop * weight).sum().backward()
    torch.testing.assert_close(sums, loop)
    torch.testing.assert_close(table.grad, plain.grad)
    with pytest.raises(ValueError, match="groups are of a table of 11 rows, got one of 10"):
        sum_groups(table[:10], groups)
    with pytest.raises(ValueError, match="members must be rows from 0 to 10, got 3 to 11"):
        Groups.of(np.array([3, 11]), np.array([0, 2]), 11)
    with pytest.raises(ValueError, match="starts must rise from 0 to 2"):
        Groups.of(np.array([3, 4]), np.array([0, 1]), 11)


def test_a_set_notes_the_entities_of_question_and_memory():
    types = {"8": "rating", "paris": "location", "rome": "location"}
    vocabulary = build_vocabulary([DIALOGUE], CANDIDATES)
    numbers = {entity: index for index, entity in enumerate(types)}
    turns = encode([DIALOGUE], vocabulary, CANDIDATES, entities=numbers)
    assert turns.batch([0, 1, 2], slots=50).mentioned.tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert turns.batch([2], slots=2).mentioned.tolist() == [[1, 0, 0]]  # what is forgotten is not matched
    assert turns.batch([1], slots=0).mentioned.tolist() == [[0, 1, 0]]


def test_match_features_score_only_shared_entities_of_a_type():
    match = Match(
        ("call thai rome", "call thai thai", "hello"),
        {"rome": "location", "thai": "cuisine"},
        2,
        generator=torch.Generator().manual_seed(0),
    )
    cuisine, location = match.types.detach()
    state = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    scores = match(state, torch.tensor([[0.0, 1.0], [1.0, 1.0]])).detach()
    thai, rome = state @ cuisine, state @ location
    expected = [[thai[0], 2 * thai[0], 0.0], [thai[1] + rome[1], 2 * thai[1], 0.0]]
    torch.testing.assert_close(scores, torch.tensor(expected))


def test_types_come_from_the_knowledge_base_and_leave_restaurants_out():
    split = datasets.load("simulated", 4, dialogues=3)
    types = entity_types(split)
    assert list(types) == sorted(types)
    assert set(types.values()) == {"phone", "cuisine", "address", "location", "number", "price", "rating"}


def test_every_simulated_turn_can_be_answered_and_swapping_changes_the_training_set():
    split = datasets.load("simulated", 1, dialogues=5)
    task = encode_split(split, types=entity_types(split))
    for turns in task.sets.values():
        assert (turns.response >= 0).all()
        batch = turns.batch(range(len(turns)), slots=50)
        assert batch.mentioned.shape == (len(turns), len(task.types))
    swapped = encode_split(split, swapped=True)
    assert len(swapped.train) == len(swapped.valid) == len(task.valid)
    assert len(make_bags([["hello"]], task.vocabulary)) == 1
