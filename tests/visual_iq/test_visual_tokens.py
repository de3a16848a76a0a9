"""Problems as sequences of tokens: nothing is lost, and every different sequence is there once."""

import numpy as np
import pytest
import torch

from reasonlib.visual_iq.data.encoding import STREAMS, TOKEN_COUNTS, TOKEN_OFFSETS, TokenSet, stream_tokens
from reasonlib.visual_iq.data.example import CONFIGURATIONS, KEYS, POSITION_OF, Problems
from reasonlib.visual_iq.data.simulator import simulate


@pytest.fixture(scope="module")
def problems():
    return Problems.concatenate([simulate(key, 6, seed=3) for key in KEYS])


def test_a_panel_by_hand():
    entities = np.zeros((1, 1, 9, 4), dtype=np.int8)
    entities[0, 0, 0] = 2, 3, 0, 7  # a white square in the first of four slots
    entities[0, 0, 3] = 5, 3, 0, 2
    kind = KEYS.index("distribute_four")
    first, last = POSITION_OF[kind, 0] + 1, POSITION_OF[kind, 3] + 1
    assert dict(zip(STREAMS, stream_tokens(kind, entities)[0, 0].tolist(), strict=True)) == {
        "type": [2, 0, 0, 5],
        "size": [4, 0, 0, 4],
        "colour": [1, 0, 0, 1],
        "angle": [8, 0, 0, 3],
        "position": [first, 0, 0, last],
    }


def test_every_panel_can_be_read_back(problems):
    token_set = TokenSet.from_problems(problems)
    rows = [(tokens, places) for table in zip(token_set.tokens, token_set.places, strict=True)
            for tokens, places in zip(*table, strict=True)]  # fmt: skip
    for number, kind in enumerate(problems.configuration):
        slots = len(CONFIGURATIONS[kind].slots)
        expected = stream_tokens(kind, problems.entities[number : number + 1])[0]  # (P, V, S)
        for panel in range(16):
            for stream in range(len(STREAMS)):
                tokens, places = rows[token_set.index[number, panel, stream]]
                assert (tokens - TOKEN_OFFSETS[stream] == expected[panel, stream]).all()
                assert (places == POSITION_OF[kind, :slots]).all()


def test_tokens_of_streams_do_not_overlap(problems):
    token_set = TokenSet.from_problems(problems)
    ends = np.array(TOKEN_OFFSETS) + np.array(TOKEN_COUNTS)
    owner = np.concatenate([np.searchsorted(ends, tokens[:, 0], side="right") for tokens in token_set.tokens])
    assert (owner[token_set.index] == np.arange(len(STREAMS))).all()


def test_a_batch_holds_each_different_sequence_once(problems):
    token_set = TokenSet.from_problems(problems)
    items = [40, 3, 12, 3]
    batch = token_set.batch(items)
    rows = [
        (*tokens, *places)
        for sequence in batch.sequences
        for tokens, places in zip(sequence.tokens.tolist(), sequence.places.tolist(), strict=True)
    ]
    assert len(set(rows)) == len(rows) == len(batch.index.unique()) == int(batch.index.max()) + 1
    whole = [
        (*tokens, *places)
        for table in zip(token_set.tokens, token_set.places, strict=True)
        for tokens, places in zip(*(part.tolist() for part in table), strict=True)
    ]
    assert [rows[i] for i in batch.index.flatten()] == [whole[i] for i in token_set.index[items].flatten()]
    assert batch.target.tolist() == problems.target[items].tolist()


def test_swapping_rows_moves_six_panels(problems):
    token_set = TokenSet.from_problems(problems)
    plain, swapped = token_set.batch([0, 1]), token_set.batch([0, 1], np.array([False, True]))
    assert torch.equal(plain.index[0], swapped.index[0])
    assert torch.equal(plain.index[1, [3, 4, 5, 0, 1, 2, *range(6, 16)]], swapped.index[1])


def test_parts_of_a_batch_are_the_whole(problems):
    batch = TokenSet.from_problems(problems).batch(range(5))
    parts = [batch.shard(index, 2) for index in range(2)]
    assert [len(part) for part in parts] == [3, 2]
    assert torch.equal(torch.cat([part.index for part in parts]), batch.index[[0, 2, 4, 1, 3]])
    assert torch.equal(parts[1].target, batch.target[[1, 3]])
