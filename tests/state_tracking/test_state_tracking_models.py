"""The trackers: layouts, masks, equations, parity with a plain encoder, what they learn."""

from copy import deepcopy

import pytest
import torch
from torch.nn import functional

from reasonlib.errors import UserError
from reasonlib.state_tracking.data.datasets import Splits
from reasonlib.state_tracking.data.encoding import (
    UNSCORED,
    Candidates,
    TurnBatch,
    TurnTokens,
    candidates_of,
    collate,
    encode,
)
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.data.simulator import simulate
from reasonlib.state_tracking.experiments.train import Recipe, prepare
from reasonlib.state_tracking.models.copying import CopyConfig, CopyTracker, copy_batch, copy_loss
from reasonlib.state_tracking.models.encoder import DSCEncoder, ds_mask
from reasonlib.state_tracking.models.pretrain import dialogue_tokenizer
from reasonlib.state_tracking.models.span import OPEN, SpanTracker, find_span, span_batch, span_loss
from reasonlib.state_tracking.models.tracker import PairwiseTracker, Tracker, tracker_loss
from reasonlib.training.encoders import EncoderConfig, small_encoder

DIALOGUES = simulate(6, seed=1)
EMPTY = Candidates((("none", "dontcare"),) * 30)
SIZES = EncoderConfig(layers=2, width=32, heads=2, embedding=16, inner=32, longest=64)


@pytest.fixture(scope="module")
def tokenizer():
    return dialogue_tokenizer()


@pytest.fixture(scope="module")
def candidates():
    return candidates_of(DIALOGUES)


@pytest.fixture(scope="module")
def turns(tokenizer, candidates):
    return encode(DIALOGUES, TurnTokens(tokenizer), candidates)


@pytest.fixture(scope="module")
def batch(turns):
    return collate(turns[:5])


def make(words, layout="merge", **settings):
    return DSCEncoder(small_encoder(SIZES, words), layout=layout, longest=300, **settings).eval()


@pytest.mark.parametrize(("layout", "count", "width"), [("merge", 30, 32), ("split", 22, 64), ("none", 0, 0)])
def test_layouts(tokenizer, batch, layout, count, width):
    encoder = make(len(tokenizer), layout)
    encoded = encoder(*batch[:3])
    assert encoder.tokens == count and encoder.width == width
    assert encoded.pairs.shape == (5, 30, width) and encoded.cls.shape == (5, 32)
    assert encoded.context.shape == (*batch.tokens.shape, 32)
    assert torch.equal(encoded.context[:, 0], encoded.cls)


def test_without_ds_tokens_it_is_the_plain_encoder(tokenizer, batch):
    plain = small_encoder(SIZES, len(tokenizer)).eval()
    encoder = DSCEncoder(small_encoder(SIZES, len(tokenizer)), layout="none", longest=64).eval()
    with torch.no_grad():
        encoder.types.zero_()
        tokens, mask = batch.tokens[:, :60], batch.mask[:, :60]
        theirs = plain(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        ours = encoder(tokens, batch.roles[:, :60], mask).context
    torch.testing.assert_close(ours[mask], theirs[mask], atol=1e-5, rtol=1e-5)


def test_the_embeddings_are_the_sum_that_the_source_names(tokenizer, batch):
    """Word, position and type for words; no position for DS tokens, no type for [CLS]."""
    encoder = make(len(tokenizer))
    seen = {}
    hook = encoder.encoder.embeddings.LayerNorm.register_forward_pre_hook(
        lambda _, args: seen.update(x=args[0])
    )
    encoder(*batch[:3])
    hook.remove()
    table = encoder.encoder.embeddings
    segment = table.token_type_embeddings.weight[0]
    torch.testing.assert_close(seen["x"][2, :30], encoder.ds + encoder.types[2] + segment)
    words = (
        table.word_embeddings(batch.tokens)
        + table.position_embeddings.weight[: batch.tokens.shape[1]]
        + segment
    )
    torch.testing.assert_close(seen["x"][2, 30], words[2, 0])  # [CLS]
    role = batch.roles[2, 1]
    torch.testing.assert_close(seen["x"][2, 31], words[2, 1] + encoder.types[role - 1])


def test_positions_grow_and_the_old_ones_stay(tokenizer):
    encoder = small_encoder(SIZES, len(tokenizer))
    before = encoder.embeddings.position_embeddings.weight.detach().clone()
    grown = DSCEncoder(encoder, longest=100).encoder.embeddings.position_embeddings.weight
    assert grown.shape == (101, 16)
    assert torch.equal(grown[:64], before) and not grown[100].any() and grown[64:100].std() > 0


def test_the_zero_position_is_never_trained(tokenizer, batch, candidates):
    tracker = Tracker(make(len(tokenizer)), candidates)
    tracker_loss(tracker, batch).backward()
    grad = tracker.encoder.encoder.embeddings.position_embeddings.weight.grad
    assert not grad[tracker.encoder.nowhere].any() and grad[0].any()


@pytest.mark.parametrize("name", ["BertModel", "RobertaModel"])
def test_other_encoders_serve_too(name, batch):
    import transformers

    kind = getattr(transformers, name)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = kind.config_class(vocab_size=600, max_position_embeddings=40, **sizes)
    encoder = DSCEncoder(kind(config, add_pooling_layer=False), longest=batch.tokens.shape[1]).eval()
    assert encoder.first == (2 if name == "RobertaModel" else 0)
    assert encoder(*batch[:3]).pairs.isfinite().all()


@pytest.mark.parametrize("name", ["BertModel", "RobertaModel"])
def test_without_ds_tokens_they_are_the_plain_encoders(name, batch):
    """So words stand at the positions that the encoder itself gives them; RoBERTa's begin at 2."""
    import transformers

    kind = getattr(transformers, name)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    plain = kind(kind.config_class(vocab_size=600, max_position_embeddings=70, **sizes)).eval()
    mask = batch.mask[:, :60]
    tokens = (batch.tokens[:, :60] + 10).where(mask, plain.config.pad_token_id)  # no word looks like padding
    encoder = DSCEncoder(deepcopy(plain), layout="none", longest=100).eval()
    with torch.no_grad():
        encoder.types.zero_()
        theirs = plain(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        ours = encoder(tokens, batch.roles[:, :60], mask).context
    torch.testing.assert_close(ours[mask], theirs[mask], atol=1e-5, rtol=1e-5)


def test_an_encoder_without_absolute_positions_is_refused():
    with pytest.raises(UserError, match="needs absolute positions; Linear has none"):
        bad = torch.nn.Linear(2, 2)
        bad.get_input_embeddings = lambda: torch.nn.Embedding(3, 4)
        DSCEncoder(bad)


def test_the_mask_blocks_ds_tokens_from_one_another_alone():
    mask = torch.tensor([[True, True, False]])
    free, blocked = ds_mask(mask, 2)[0, 0] == 0, ds_mask(mask, 2, blocked=True)[0, 0] == 0
    assert free.tolist() == [[True, True, True, True, False]] * 5
    assert blocked.tolist() == [
        [True, False, True, True, False],
        [False, True, True, True, False],
        *[[True, True, True, True, False]] * 3,
    ]


@pytest.mark.parametrize("layout", ["merge", "split", "none", "spans"])
def test_padding_leaks_nothing(tokenizer, turns, candidates, layout):
    if layout == "spans":
        tracker = SpanTracker(make(len(tokenizer)), candidates)
    else:
        tracker = Tracker(make(len(tokenizer), layout), candidates)
    alone, together = collate(turns[:1]), collate(turns[:5])
    assert alone.tokens.shape[1] < together.tokens.shape[1]
    with torch.no_grad():
        ours, theirs = tracker(*alone[:3]), tracker(*together[:3])
    close = {"atol": 1e-5, "rtol": 1e-4}
    torch.testing.assert_close(ours.gates[0], theirs.gates[0], **close)
    torch.testing.assert_close(ours.values[0], theirs.values[0], **close)
    if layout == "spans":
        length = alone.tokens.shape[1]
        torch.testing.assert_close(ours.starts[0], theirs.starts[0, :, :length], **close)
        assert theirs.ends[0, :, length:].isneginf().all()


def test_ds_tokens_have_no_order(tokenizer, batch, candidates):
    """Exchanging two DS tokens exchanges their vectors and changes nothing else."""
    encoder = make(len(tokenizer))
    with torch.no_grad():
        before = encoder(*batch[:3]).pairs
        encoder.ds[[3, 7]] = encoder.ds[[7, 3]].clone()
        after = encoder(*batch[:3]).pairs
    torch.testing.assert_close(after[:, [3, 7]], before[:, [7, 3]], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(after[:, 8:], before[:, 8:], atol=1e-5, rtol=1e-4)


def test_one_layer_blocked_equals_one_run_a_pair_for_one_token(tokenizer, batch):
    """A blocked DS token of a one-layer encoder sees itself and the dialogue, as in a run of its own."""
    sizes = EncoderConfig(layers=1, width=32, heads=2, embedding=16, inner=32, longest=64)
    encoder = DSCEncoder(small_encoder(sizes, len(tokenizer)), blocked=True, longest=300).eval()
    with torch.no_grad():
        together = encoder(*batch[:3]).pairs[:, 4]
        alone = encoder(*batch[:3], pairs=slice(4, 5)).pairs[:, 0]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("layout", ["merge", "split", "none"])
def test_gates_and_values_are_their_equations(tokenizer, batch, candidates, layout):
    tracker = Tracker(make(len(tokenizer), layout), candidates)
    with torch.no_grad():
        out = tracker(*batch[:3])
    pair = PAIRS.index("hotel-name")
    size = candidates.sizes[pair]
    token, cls = out.encoded.pairs[2, pair], out.encoded.cls[2]
    gate = (token if len(token) else cls) @ tracker.gate_weight[pair] + tracker.gate_bias[pair]
    value = torch.cat([token, cls]) @ tracker.value_weight[pair] + tracker.value_bias[pair]
    torch.testing.assert_close(out.gates[2, pair], gate)
    torch.testing.assert_close(out.values[2, pair, :size], value[:size])
    assert out.values[2, pair, size:].isneginf().all()
    if layout == "split":
        context = out.encoded.pairs
        shared = [PAIRS.index("hotel-area"), PAIRS.index("restaurant-area")]
        assert torch.equal(context[:, shared[0], 32:], context[:, shared[1], 32:])  # one token for the slot


def test_a_closed_gate_makes_the_value_none(tokenizer, batch, candidates):
    tracker = Tracker(make(len(tokenizer)), candidates)
    with torch.no_grad():
        tracker.gate_bias.fill_(-100)
        assert not tracker(*batch[:3]).numbers().any()
    three = Tracker(make(len(tokenizer)), candidates, gate="three")
    with torch.no_grad():
        three.gate_bias[:, 1] = 100
        assert (three(*batch[:3]).numbers() == 1).all()


@pytest.mark.parametrize("gate", ["two", "three"])
def test_the_loss_is_the_sum_of_both(tokenizer, batch, candidates, gate):
    tracker = Tracker(make(len(tokenizer)), candidates, gate=gate)
    labels = batch.labels.clone()
    labels[0, 0] = UNSCORED
    with torch.no_grad():
        out = tracker(*batch[:3])
        total = 0.0
        for turn in range(5):
            for pair in range(30):
                label = int(labels[turn, pair])
                if gate == "two":
                    p = torch.sigmoid(out.gates[turn, pair, 0])
                    total -= torch.log(p if label else 1 - p)
                else:
                    kind = 2 if label == UNSCORED else min(label, 2)
                    total -= functional.log_softmax(out.gates[turn, pair], 0)[kind]
                if label != UNSCORED:
                    total -= functional.log_softmax(out.values[turn, pair, : candidates.sizes[pair]], 0)[
                        label
                    ]
        loss = tracker_loss(tracker, TurnBatch(*batch[:3], labels))
    torch.testing.assert_close(loss, total / 5, atol=1e-3, rtol=1e-4)


def test_one_run_a_pair_gives_every_pair(tokenizer, batch, candidates):
    tracker = Tracker(make(len(tokenizer)), candidates)
    with torch.no_grad():
        apart = PairwiseTracker(tracker)(*batch[:3])
        first = tracker.encoder(*batch[:3], pairs=slice(0, 1))
    assert apart.values.shape == (5, 30, max(candidates.sizes))
    torch.testing.assert_close(apart.encoded.pairs[:, 0], first.pairs[:, 0])
    pair, size = PAIRS.index("hotel-name"), candidates.sizes[PAIRS.index("hotel-name")]
    with torch.no_grad():
        alone = tracker.encoder(*batch[:3], pairs=slice(pair, pair + 1))
        token = alone.pairs[:, 0]
        gate = token @ tracker.gate_weight[pair] + tracker.gate_bias[pair]
        value = torch.cat([token, alone.cls], 1) @ tracker.value_weight[pair] + tracker.value_bias[pair]
    torch.testing.assert_close(apart.gates[:, pair], gate)
    torch.testing.assert_close(apart.values[:, pair, :size], value[:, :size])
    assert apart.values[:, pair, size:].isneginf().all()


def test_attention_is_given_and_blocked_pairs_get_none(tokenizer, batch):
    encoder = small_encoder(SIZES, len(tokenizer))
    encoder.set_attn_implementation("eager")
    weights = DSCEncoder(encoder, blocked=True, longest=300).eval()(*batch[:3], attention=True).attention
    assert weights.shape[:3] == (2, 5, 2)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    off = ~torch.eye(30, dtype=torch.bool)
    assert not weights[..., :30, :30][..., off].any()


# -- other systems


def test_spans(tokenizer, turns, candidates):
    states = [dict(DIALOGUES[t.dialogue].turns[t.turn].state) for t in turns[:5]]
    batch = span_batch(turns[:5], states, tokenizer)
    for row, (turn, state) in enumerate(zip(turns[:5], states, strict=True)):
        for slot, pair in enumerate(OPEN):
            first, last = batch.starts[row, slot].item(), batch.ends[row, slot].item()
            if first >= 0:
                assert tokenizer.decode(turn.tokens[first : last + 1]) == state[PAIRS[pair]]
    model = SpanTracker(make(len(tokenizer)), candidates)
    out = model(*batch.turns[:3])
    spans = out.best_spans()
    assert (spans[..., 1] >= spans[..., 0]).all() and (spans[..., 1] - spans[..., 0] < 6).all()
    total = 0.0
    for turn in range(5):
        for pair in range(30):
            total -= functional.log_softmax(out.gates[turn, pair], 0)[batch.gates[turn, pair]]
            if pair in OPEN:
                slot = OPEN.index(pair)
                for logits, tokens in ((out.starts, batch.starts), (out.ends, batch.ends)):
                    if tokens[turn, slot] != UNSCORED:
                        total -= functional.log_softmax(logits[turn, slot], 0)[tokens[turn, slot]]
            else:
                label = batch.turns.labels[turn, pair]
                total -= functional.log_softmax(out.values[turn, pair], 0)[label]
    torch.testing.assert_close(span_loss(model, batch), total / 5, atol=1e-3, rtol=1e-4)
    assert find_span([1, 2], [3]) == (UNSCORED, UNSCORED)


def test_the_copy_model_is_its_equations_and_reads_no_padding(tokenizer, turns):
    """One turn by hand, without a batch, against the same turn beside a longer one."""
    states = [dict(DIALOGUES[t.dialogue].turns[t.turn].state) for t in turns[:5]]
    batch, row = copy_batch(turns[:5], states, tokenizer), 1
    model = CopyTracker(CopyConfig(words=len(tokenizer), width=16))
    read, chosen = torch.tensor(turns[row].tokens), batch.gates == 2
    assert len(read) < batch.tokens.shape[1]
    pair = PAIRS.index(next(p for p in states[row] if chosen[row, PAIRS.index(p)]))
    with torch.no_grad():
        written = model.write(model(batch.tokens, batch.mask), chosen, batch.values[chosen])
        both, last = model.encoder(model.words(read))
        memory, state = both[:, :16] + both[:, 16:], last[0] + last[1]
        domain, slot = (number.item() for number in model._rows[pair])
        word = model.names.weight[domain] + model.names.weight[slot]
        for step, fed in enumerate(batch.values[row, pair]):
            state = model.decoder(word, state)
            weights = torch.softmax(memory @ state, 0)
            context = weights @ memory
            if step == 0:
                gate = model.gate(context)
            make = torch.sigmoid(model.mix(torch.cat([state, context, word])))
            expected = make * torch.softmax(model.words.weight @ state, 0)
            for token, weight in zip(read, weights, strict=True):
                expected[token] += (1 - make[0]) * weight
            number = int((chosen.nonzero() == torch.tensor([row, pair])).all(1).nonzero())
            torch.testing.assert_close(written[number, step], expected, atol=1e-6, rtol=1e-4)
            word = model.words(fed)
        torch.testing.assert_close(model(batch.tokens, batch.mask).gates[row, pair], gate)


def test_copied_words_are_probabilities_and_can_be_words_of_the_dialogue_alone(tokenizer, turns):
    states = [dict(DIALOGUES[t.dialogue].turns[t.turn].state) for t in turns[:4]]
    batch = copy_batch(turns[:4], states, tokenizer)
    model = CopyTracker(CopyConfig(words=len(tokenizer), width=16))
    reading, chosen = model(batch.tokens, batch.mask), batch.gates == 2
    words = model.write(reading, chosen, batch.values[chosen])
    torch.testing.assert_close(words.sum(-1), torch.ones(words.shape[:-1]))
    gates = functional.cross_entropy(reading.gates.flatten(0, 1), batch.gates.flatten(), reduction="sum")
    right = words.gather(2, batch.values[chosen][..., None])[batch.values[chosen] != 0]  # padding is no word
    torch.testing.assert_close(copy_loss(model, batch), (gates - right.log().sum()) / 4)
    assert len(model.states(batch, tokenizer)) == 4
    nothing = batch._replace(gates=torch.zeros_like(batch.gates), values=torch.zeros_like(batch.values))
    assert copy_loss(model, nothing).isfinite()
    every = model.write(reading, torch.ones_like(chosen), batch.values.flatten(0, 1))
    torch.testing.assert_close(words, every.view(*chosen.shape, *every.shape[1:])[chosen])
    with torch.no_grad():
        model.mix.bias.fill_(-100)
        copied = model.write(reading, chosen, batch.values[chosen])[0, 0]
    absent = torch.ones(len(tokenizer), dtype=torch.bool)
    absent[batch.tokens[chosen.nonzero()[0, 0]]] = False
    assert copied[absent].max() < 1e-6


# -- learning


def fit(model, batch, steps=60, lr=5e-3):
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        tracker_loss(model, batch).backward()
        optimiser.step()
    with torch.no_grad():
        return (model(*batch[:3]).numbers() == batch.labels).float().mean().item()


def toy(count=48, seed=0):
    """Two pairs: the first value is a word, the second is always the same; no order, no grammar."""
    draw = torch.Generator().manual_seed(seed)
    value = torch.randint(0, 4, (count,), generator=draw)
    tokens = torch.stack([torch.full((count,), 2), 10 + value, torch.full((count,), 3)], 1)
    labels = torch.zeros(count, 30, dtype=torch.long)
    labels[:, 0] = labels[:, 1] = value + 2
    roles = torch.tensor([[0, 2, 0]]).expand(count, -1)
    return TurnBatch(tokens, roles, torch.ones(count, 3, dtype=torch.bool), labels)


@pytest.mark.parametrize("system", ["tracker", "pairwise", "span", "copy"])
def test_every_system_trains_in_16_bits(system):
    """As the training loop does on a GPU: the loss under autocast, its gradient outside."""
    splits = Splits(tuple(DIALOGUES), tuple(DIALOGUES), tuple(DIALOGUES))
    prepared, tokens = prepare(Recipe(system=system), splits, seed=0)
    few = encode(DIALOGUES[:1], tokens, prepared.candidates)[:2]
    batch, model = prepared.batch(few, DIALOGUES), prepared.model.eval()
    exact = prepared.loss(model, batch).item()
    with torch.autocast("cpu", torch.bfloat16):
        loss = prepared.loss(model, batch)
    loss.backward()
    assert loss.item() == pytest.approx(exact, rel=0.02) and loss.item() != exact
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert gradients and all(bool(torch.isfinite(gradient).all()) for gradient in gradients)


def test_it_learns_a_small_task_and_cannot_without_the_dialogue():
    values = tuple(("none", "dontcare", "a", "b", "c", "d") for _ in PAIRS)
    sizes = EncoderConfig(layers=2, width=32, heads=2, embedding=16, inner=32, longest=8)
    batch = toy()
    tracker = Tracker(DSCEncoder(small_encoder(sizes, 20), longest=8), Candidates(values))
    assert fit(tracker, batch) > 0.99
    deaf = TurnBatch(torch.tensor([[2, 9, 3]]).expand(len(batch), -1), *batch[1:])
    tracker = Tracker(DSCEncoder(small_encoder(sizes, 20), longest=8), Candidates(values))
    assert fit(tracker, deaf) < 0.97  # two of thirty pairs are guesses


@pytest.mark.parametrize(("call", "message"), [
    (lambda: EncoderConfig(width=30, heads=4), "width must be a multiple of heads, got 30 and 4"),
    (lambda: make(50, "both"), "layout must be one of merge, split, none, got 'both'"),
    (lambda: Tracker(make(50), EMPTY, gate="four"), "gate must be one of two, three"),
    (lambda: PairwiseTracker(Tracker(make(50, "split"), EMPTY)), "must be 'merge'"),
    (lambda: SpanTracker(make(50, "none"), EMPTY), "got 'none'"),
    (lambda: CopyConfig(words=0), "words must be at least 1, got 0"),
])  # fmt: skip
def test_wrong_values_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
