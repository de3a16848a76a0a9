"""What each system learns on a toy task, and what its ablation cannot."""

import torch

from reasonlib.state_tracking.data.encoding import UNSCORED, Candidates, TurnBatch
from reasonlib.state_tracking.data.metrics import gate_scores
from reasonlib.state_tracking.data.ontology import DONTCARE, NONE, PAIRS
from reasonlib.state_tracking.models.copying import CopyBatch, CopyConfig, CopyTracker, copy_loss
from reasonlib.state_tracking.models.encoder import DSCEncoder
from reasonlib.state_tracking.models.span import OPEN, SpanBatch, SpanTracker, span_loss
from reasonlib.state_tracking.models.tracker import PairwiseTracker, Tracker, tracker_loss
from reasonlib.training.encoders import EncoderConfig, small_encoder

WORDS = 30
SIZES = EncoderConfig(layers=2, width=32, heads=2, embedding=16, inner=32, longest=6)
VALUES = Candidates(tuple((NONE, DONTCARE, "a", "b", "c", "d") for _ in PAIRS))
SHOWN, UNSEEN = (10, 20), (20, 30)  # words that training shows, and those that it does not


def fit(model, batch, loss, *, steps=80, lr=5e-3):
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        loss(model, batch).backward()
        optimiser.step()
    return model.eval()


def encoder(longest=6):
    return DSCEncoder(small_encoder(SIZES, WORDS), longest=longest)


def turns(tokens, labels):
    roles = torch.full_like(tokens, 2)
    return TurnBatch(tokens, roles, torch.ones_like(tokens, dtype=torch.bool), labels)


def said(words, count=48, seed=0):
    """Two words of a range between [CLS] and [SEP]; the second is the value of the first open pair."""
    draw = torch.Generator().manual_seed(seed)
    inner = torch.randint(*words, (count, 2), generator=draw)
    edge = torch.ones(count, 1, dtype=torch.long)
    return torch.cat([2 * edge, inner, 3 * edge], 1)


def test_a_span_can_be_a_word_that_training_never_shows():
    def batch(words):
        tokens = said(words)
        count = len(tokens)
        gates = torch.zeros(count, 30, dtype=torch.long)
        gates[:, OPEN[0]] = 2
        places = torch.full((count, len(OPEN)), UNSCORED)
        places[:, 0] = 2
        return SpanBatch(turns(tokens, torch.zeros(count, 30, dtype=torch.long)), gates, places, places)

    model = fit(SpanTracker(encoder(), VALUES), batch(SHOWN), span_loss, steps=60)
    unseen = batch(UNSEEN)
    with torch.no_grad():
        spans = model(*unseen.turns[:3]).best_spans()[:, 0]
    assert (spans == 2).all(1).float().mean() > 0.95
    assert VALUES.number(OPEN[0], "w25") == UNSCORED  # a closed list has no class for it


def test_the_copy_model_copies_and_without_copying_it_cannot_say_a_new_word():
    def batch(words):
        tokens = said(words, count=48)
        gates = torch.zeros(len(tokens), 30, dtype=torch.long)
        gates[:, 0] = 2
        values = torch.zeros(len(tokens), 30, 4, dtype=torch.long)
        values[:, 0, 0], values[:, 0, 1] = tokens[:, 2], 3
        return CopyBatch(tokens, torch.ones_like(tokens, dtype=torch.bool), gates, values)

    model = fit(CopyTracker(CopyConfig(words=WORDS, width=24)), batch(SHOWN), copy_loss, steps=100, lr=1e-2)
    unseen = batch(UNSEEN)

    def right():
        with torch.no_grad():
            words = model.write(model(*unseen[:2]), unseen.gates == 2)
            return (words[:, 0].argmax(1) == unseen.tokens[:, 2]).float().mean()

    assert right() > 0.8
    with torch.no_grad():
        model.mix.weight.zero_()
        model.mix.bias.fill_(100.0)  # every word is generated, none copied
    assert right() < 0.2


def test_a_three_way_gate_learns_dontcare():
    draw = torch.Generator().manual_seed(1)
    kind = torch.randint(0, 4, (64,), generator=draw)  # none, dontcare, a, b
    tokens = torch.stack([torch.full((64,), 2), 10 + kind, torch.full((64,), 3)], 1)
    labels = torch.zeros(64, 30, dtype=torch.long)
    labels[:, 5] = kind
    batch = turns(tokens, labels)
    tracker = fit(Tracker(encoder(), VALUES, gate="three"), batch, tracker_loss)
    with torch.no_grad():
        predicted = [VALUES.state(row) for row in tracker(*batch[:3]).numbers().tolist()]
    scores = gate_scores(predicted, [VALUES.state(row) for row in labels.tolist()])
    assert min(scores[DONTCARE]) > 0.95 and min(scores["prediction"]) > 0.95


def test_positions_beyond_the_table_are_learned_and_truncation_loses_the_value():
    draw = torch.Generator().manual_seed(2)
    value = torch.randint(0, 4, (24,), generator=draw)
    tokens = torch.full((24, 12), 9)
    tokens[:, 0], tokens[:, -1] = 2, 3
    tokens[:, 1] = 10 + value
    labels = torch.zeros(24, 30, dtype=torch.long)
    labels[:, 0] = value + 2
    accuracy = {}
    for name, read in (("grown", tokens), ("truncated", torch.cat([tokens[:, :1], tokens[:, -5:]], 1))):
        batch = turns(read, labels)
        tracker = fit(Tracker(encoder(longest=read.shape[1]), VALUES), batch, tracker_loss)
        with torch.no_grad():
            accuracy[name] = (tracker(*batch[:3]).numbers()[:, 0] == labels[:, 0]).float().mean()
    assert accuracy["grown"] > 0.95 and accuracy["truncated"] < 0.6


def test_one_run_a_pair_learns_too():
    value = torch.arange(4)
    tokens = torch.stack([torch.full((4,), 2), 10 + value, torch.full((4,), 3)], 1)
    labels = torch.zeros(4, 30, dtype=torch.long)
    labels[:, 0] = value + 2
    batch = turns(tokens, labels)
    tracker = fit(PairwiseTracker(Tracker(encoder(), VALUES)), batch, tracker_loss, steps=25, lr=1e-2)
    with torch.no_grad():
        assert (tracker(*batch[:3]).numbers() == labels).float().mean() > 0.99
