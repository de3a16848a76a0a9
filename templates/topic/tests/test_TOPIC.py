"""A vote learns which digit occurs more often; without its input it cannot."""

import pytest
import torch
from reasonlib.TOPIC.data import corpus
from reasonlib.TOPIC.data.encoding import encode
from reasonlib.TOPIC.data.simulator import simulate
from reasonlib.TOPIC.experiments import EXPERIMENTS
from reasonlib.TOPIC.models.vote import Vote, VoteConfig
from reasonlib.TOPIC.page.live import SCRIPTS, vote

from reasonlib.display import live
from reasonlib.errors import DataError
from reasonlib.tracking import records
from reasonlib.tracking.runner import run


def test_the_same_seed_gives_the_same_questions():
    assert simulate(20, seed=3) == simulate(20, seed=3) != simulate(20, seed=4)
    for example in simulate(20, seed=3):
        assert len(example.support) > len(example.digits) / 2
        assert {example.digits[position] for position in example.support} == {example.answer}


def test_what_is_written_is_read(tmp_path):
    examples = simulate(10, seed=1)
    (tmp_path / "rows.txt").write_text(corpus.dumps(examples))
    assert corpus.read(tmp_path / "rows.txt") == examples


def test_a_malformed_line_is_named(tmp_path):
    (tmp_path / "rows.txt").write_text("011\t1\n01x\t1\n")
    with pytest.raises(DataError, match=r"rows\.txt, line 2: expected digits"):
        corpus.read(tmp_path / "rows.txt")


def test_the_vote_is_its_equation():
    model = Vote(VoteConfig(length=3))
    rows = torch.tensor([[1.0, -1.0, 1.0]])
    weight = model.weight.tolist()
    want = weight[0] - weight[1] + weight[2] + model.bias.item()
    assert model(rows).item() == pytest.approx(want)


def test_it_learns_and_its_ablation_cannot():
    accuracy = {
        row: run(EXPERIMENTS["TOPIC/vote"], rows=row, scale="quick", device="cpu")[0]
        for row in ("full", "blind")
    }
    assert accuracy["full"].metrics["accuracy"] > 0.95 > 0.7 > accuracy["blind"].metrics["accuracy"]
    assert records.stale(accuracy["full"], EXPERIMENTS["TOPIC/vote"]) is None


def test_rows_become_numbers():
    rows, answers = encode(simulate(7, seed=0))
    assert rows.shape == (7, 9) and set(rows.flatten().tolist()) == {-1.0, 1.0}
    assert torch.equal(rows.sum(1) > 0, answers > 0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: simulate(0, seed=0), "count must be at least 1, got 0"),
    (lambda: simulate(1, seed=0, length=4), "length must be odd and at least 1, got 4"),
    (lambda: VoteConfig(length=0), "length must be at least 1, got 0"),
])  # fmt: skip
def test_numbers_out_of_range(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("digits", [[1, 0, 1], [0, 0, 1]])
def test_the_page_scores_as_pytorch_does(javascript, digits):
    model = Vote(VoteConfig(length=3), seed=1)
    state = {"weight": model.weight.detach()[None], "bias": model.bias.detach()[None]}
    body = "return voteScore(new Weights(given[0]), given[1]);"
    theirs = javascript(live.code(*SCRIPTS), body, [live.pack_weights(state), digits])
    assert theirs == pytest.approx(model(2 * torch.tensor([digits]) - 1.0).item(), abs=1e-3)


def test_the_live_figure_is_small_and_has_words():
    picture = vote()
    assert len(picture.html) < 100_000 and "the vote says 1" in picture.alt
