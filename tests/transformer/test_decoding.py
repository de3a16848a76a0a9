"""Decoding against exhaustive search on a model small enough to try every answer."""

import itertools
from functools import cache
from typing import NamedTuple

import pytest
import torch

from reasonlib.nn import decoding
from reasonlib.nn.decoding import beam_search, best, greedy, length_penalty, sample, score
from reasonlib.transformer.data.simulator import simulate
from reasonlib.transformer.experiments.tasks import build, encode

WORDS, LONGEST = 5, 4  # ids 0 padding, 1 start, 2 end, 3, 4


class Prefixes(NamedTuple):
    """Which source, and what was written of it so far."""

    source: torch.Tensor
    written: torch.Tensor

    def select(self, rows):
        return Prefixes(self.source[rows], self.written[rows])


class Table:
    """A language model that knows a distribution for every beginning: drawn by a hash of it."""

    def begin(self, source):
        return Prefixes(source[:, 0], torch.zeros(len(source), 0, dtype=torch.long))

    def advance(self, reading, tokens):
        written = torch.cat((reading.written, tokens.unsqueeze(1)), 1)
        return torch.stack(
            [
                self.row(int(source), tuple(row))
                for source, row in zip(reading.source, written.tolist(), strict=True)
            ]
        ), Prefixes(reading.source, written)

    @staticmethod
    @cache
    def row(source, prefix):
        generator = torch.Generator().manual_seed(hash((source, *prefix)) % 2**31)
        scores = 2 * torch.randn(WORDS, generator=generator)
        scores[:2] = -torch.inf  # padding and start are never written
        return scores.log_softmax(-1)


SOURCE = torch.tensor([[3], [4], [7]])


def everything(model, source, alpha=0.0):
    """Score every answer of at most LONGEST tokens, best first."""
    answers = []
    for length in range(1, LONGEST + 1):
        for answer in itertools.product((2, 3, 4), repeat=length):
            ended = answer[-1] == 2
            if 2 in answer[:-1] or not (ended or length == LONGEST):
                continue
            prefix, total = (1,), 0.0
            for token in answer:
                total += float(model.row(source, prefix)[token])
                prefix = (*prefix, token)
            answers.append((total / float(length_penalty(length, alpha)), total, answer))
    return sorted(answers, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_beam_as_wide_as_there_are_answers_is_exhaustive(alpha):
    model = Table()
    answers = beam_search(model, SOURCE, width=3**LONGEST, longest=LONGEST, alpha=alpha)
    for row, source in enumerate(SOURCE[:, 0].tolist()):
        expected = everything(model, source, alpha)
        count = len(expected)
        decoded = [tuple(token for token in ids if token) for ids in answers.tokens[row, :count].tolist()]
        assert decoded[:10] == [answer for *_, answer in expected[:10]]
        assert sorted(decoded) == sorted(answer for *_, answer in expected)
        torch.testing.assert_close(answers.ranks[row, :count], torch.tensor([rank for rank, *_ in expected]))
        torch.testing.assert_close(
            answers.scores[row, :count], torch.tensor([total for _, total, _ in expected])
        )
        assert torch.isinf(answers.scores[row, count:]).all()
        assert answers.scores[row, :count].exp().sum() == pytest.approx(1, abs=1e-5)


def test_a_beam_of_one_is_greedy_and_a_wider_one_is_never_worse_here():
    model = Table()
    beam, plain = beam_search(model, SOURCE, width=1, longest=LONGEST), greedy(model, SOURCE, longest=LONGEST)
    assert torch.equal(beam.tokens, plain.tokens)
    torch.testing.assert_close(beam.scores, plain.scores)
    wide = beam_search(model, SOURCE, width=8, longest=LONGEST)
    assert (wide.scores[:, 0] >= plain.scores[:, 0] - 1e-6).all()
    assert (wide.scores[:, 0] > plain.scores[:, 0] + 1e-6).any()


def test_scores_are_those_of_the_answers_also_of_a_trained_model_with_a_past():
    model = build("copy", seed=3).eval()
    source = encode(simulate("copy", 5, seed=0)).ids.source
    answers = beam_search(model, source, width=3, longest=7, alpha=0.6)
    for rank in range(3):
        torch.testing.assert_close(
            score(model, source, answers.tokens[:, rank]), answers.scores[:, rank], atol=1e-4, rtol=1e-4
        )
    single = beam_search(model, source[2:3], width=3, longest=7, alpha=0.6)  # alone as in a batch
    assert torch.equal(single.tokens[0], answers.tokens[2])
    assert (answers.ranks[:, :-1] >= answers.ranks[:, 1:]).all()


def test_draws_follow_the_model_and_what_is_cut_is_never_drawn():
    model = Table()
    source = SOURCE[:1].expand(4000, 1)
    generator = torch.Generator().manual_seed(0)
    row = model.row(3, (1,)).exp()

    def first(**how):
        return sample(model, source, longest=1, generator=generator, **how).tokens[:, 0, 0]

    counts = torch.bincount(first(), minlength=WORDS) / 4000
    torch.testing.assert_close(counts, row, atol=0.03, rtol=0)
    likeliest = int(row.argmax())
    assert set(first(top_k=1).tolist()) == {likeliest}
    assert set(first(temperature=1e-3).tolist()) == {likeliest}
    assert set(first(top_p=0.01).tolist()) == {likeliest}
    both = row.sort(descending=True)
    nucleus = float(both.values[0]) + 1e-4  # the likeliest alone does not reach it
    assert set(first(top_p=nucleus).tolist()) == set(both.indices[:2].tolist())
    samples = [
        sample(model, SOURCE, longest=LONGEST, generator=torch.Generator().manual_seed(4)) for _ in range(2)
    ]
    assert torch.equal(samples[0].tokens, samples[1].tokens)
    torch.testing.assert_close(score(model, SOURCE, samples[0].tokens[:, 0]), samples[0].scores[:, 0])


def test_best_is_cut_at_its_end_and_numbers_are_checked():
    answers = decoding.Answers(torch.tensor([[[3, 4, 2, 0]]]), torch.zeros(1, 1), torch.zeros(1, 1))
    assert best(answers) == [(3, 4)]
    model = Table()
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        beam_search(model, SOURCE, width=0, longest=2)
    with pytest.raises(ValueError, match="longest must be at least 1, got 0"):
        greedy(model, SOURCE, longest=0)
    with pytest.raises(ValueError, match="alpha must be at least 0, got -1"):
        beam_search(model, SOURCE, width=1, longest=2, alpha=-1)
    draws = torch.Generator()
    with pytest.raises(ValueError, match="temperature must be above 0, got 0"):
        sample(model, SOURCE, longest=1, generator=draws, temperature=0)
    with pytest.raises(ValueError, match="top_p must be above 0 and at most 1, got 2"):
        sample(model, SOURCE, longest=1, generator=draws, top_p=2)
