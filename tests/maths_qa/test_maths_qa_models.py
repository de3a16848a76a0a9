"""Parity with `torch.nn`, what each part may see, starting weights, decoding."""

import random
from itertools import permutations

import pytest
import torch
from torch import nn

from reasonlib.errors import UserError
from reasonlib.maths_qa.data.encoding import Encoded, collate, join, place_values
from reasonlib.maths_qa.data.example import Problem
from reasonlib.maths_qa.data.generator import simulate
from reasonlib.maths_qa.data.masking import mask_pairs
from reasonlib.maths_qa.data.vocabulary import MASK
from reasonlib.maths_qa.models.decoding import answer, answer_all
from reasonlib.maths_qa.models.initialise import initialise_solver
from reasonlib.maths_qa.models.lstm import LSTMSolver
from reasonlib.maths_qa.models.most_frequent import most_frequent
from reasonlib.maths_qa.models.pretrained import from_pretrained, load_filler, save_model
from reasonlib.maths_qa.models.qa_mlm import MaskedModel, masked_loss
from reasonlib.maths_qa.models.symbolic import solve
from reasonlib.maths_qa.models.transformer import Solver, SolverConfig, answer_loss
from reasonlib.nn import decoding, padding_mask

TINY = SolverConfig(width=16, layers=2, heads=2, hidden=32)


def problems(*pairs: tuple[str, str]) -> list[Problem]:
    return [Problem(question=q, answer=a, module="m__m", difficulty="easy") for q, a in pairs]


PAIRS = problems(("What is 2 + 2?", "4"), ("Is 3 < 2?", "False"), ("12 - 7", "5"))


def reference_layers(model: nn.Module, config: SolverConfig, decoder: bool) -> nn.Module:
    """PyTorch's own layers with the weights of ours."""
    sizes = {"dropout": 0.0, "batch_first": True, "norm_first": config.norm == "pre"}
    kind = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    stack = nn.ModuleList(
        kind(config.width, config.heads, config.hidden, **sizes) for _ in range(config.layers)
    )
    for ours, theirs in zip(model.layers, stack, strict=True):
        attentions = [(ours.attention, theirs.self_attn)]
        norms = [(ours.attention_residual, theirs.norm1)]
        if decoder:
            attentions.append((ours.memory_attention, theirs.multihead_attn))
            norms.append((ours.memory_attention_residual, theirs.norm2))
        norms.append((ours.feed_forward_residual, theirs.norm3 if decoder else theirs.norm2))
        for a, b in attentions:
            parts = (a.query, a.key, a.value)
            b.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
            b.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
            b.out_proj.load_state_dict(a.output.state_dict())
        for a, b in norms:
            b.load_state_dict(a.norm.state_dict())
        theirs.linear1.load_state_dict(ours.feed_forward.wide.state_dict())
        theirs.linear2.load_state_dict(ours.feed_forward.narrow.state_dict())
    return stack.eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_solver_computes_what_torch_computes(norm, positions):
    config = SolverConfig(width=16, layers=2, heads=2, hidden=32, norm=norm, positions=positions)
    solver = Solver(config, seed=3).eval()
    batch = collate(PAIRS)
    table, segments = solver.embedding.tokens.weight, solver.embedding.segments.weight
    position_table = solver.embedding.positions.table
    x = table[batch.question] + segments[0] + position_table[: batch.question.shape[1]]
    hidden = batch.question == 0
    for layer in reference_layers(solver.encoder, config, decoder=False):
        x = layer(x, src_key_padding_mask=hidden)
    memory = solver.encoder.end(x)
    x = table[batch.given] + segments[1] + position_table[: batch.given.shape[1]]
    causal = nn.Transformer.generate_square_subsequent_mask(batch.given.shape[1])
    for layer in reference_layers(solver.decoder, config, decoder=True):
        x = layer(x, memory, tgt_mask=causal, memory_key_padding_mask=hidden)
    logits = solver.output(solver.decoder.end(x))
    present = batch.target != 0
    torch.testing.assert_close(solver(batch).logits[present], logits[present], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("same_length", [False, True])
def test_training_scores_what_the_layers_that_keep_their_attention_score(norm, same_length):
    config = SolverConfig(width=16, layers=2, heads=2, hidden=32, norm=norm, place_values=True)
    solver, filler = Solver(config, seed=3), MaskedModel(config, seed=4)
    batch = collate(problems(("12 - 7", "5"), ("90 - 1", "89")) if same_length else PAIRS)
    present = batch.target != 0
    expected = torch.autograd.grad(solver(batch).logits[present].square().sum(), solver.parameters())
    actual = torch.autograd.grad(solver.scores(batch)[present].square().sum(), solver.parameters())
    torch.testing.assert_close(solver.scores(batch)[present], solver(batch).logits[present])
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
    joined = join(batch)
    x = filler.embedding(joined)
    kept = filler.encoder(x, padding_mask(joined.tokens)).output
    torch.testing.assert_close(filler.encode(joined)[joined.tokens != 0], kept[joined.tokens != 0])


def test_a_question_alone_is_answered_as_in_a_batch():
    solver = Solver(TINY, seed=1).eval()
    together = solver(collate(PAIRS)).logits
    for row, pair in enumerate(PAIRS):
        alone = solver(collate([pair])).logits[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, rtol=1e-4, atol=1e-5)


def test_no_character_of_the_answer_is_seen_before_it_is_written():
    solver = Solver(TINY, seed=1).eval()
    first, second = (collate(problems(("12 - 7", text))) for text in ("512", "598"))
    torch.testing.assert_close(solver(first).logits[:, :2], solver(second).logits[:, :2])
    assert not torch.allclose(solver(first).logits[:, 2], solver(second).logits[:, 2])


def test_decoding_with_a_cache_scores_what_the_whole_answer_scores():
    solver = Solver(TINY, seed=1).eval()
    batch = collate(PAIRS)
    logits = solver(batch).logits.log_softmax(-1)
    present = batch.target != 0
    expected = (logits.gather(2, batch.target.unsqueeze(2)).squeeze(2) * present).sum(1)
    torch.testing.assert_close(decoding.score(solver, batch.question, batch.target), expected)


def test_answers_come_in_the_order_of_the_questions():
    solver = Solver(TINY, seed=1)
    encoded = Encoded.of(PAIRS)
    texts = answer_all(solver, encoded, size=2)
    assert solver.training and texts == [answer(solver, p.question).text for p in PAIRS]
    assert len(answer_all(solver, encoded, beam=2)) == 3


def test_an_answer_says_where_the_model_looked():
    result = answer(Solver(TINY, seed=1), "12 - 7")
    assert result.attention.shape == (len(result.steps), 6)
    torch.testing.assert_close(result.attention.sum(1), torch.ones(len(result.steps)))
    assert 0 < result.probability <= 1
    for question in ("", "1" * 161):
        with pytest.raises(UserError, match="1 to 160 characters"):
            answer(Solver(TINY), question)


def test_the_filler_sees_both_sides_and_no_padding():
    model = MaskedModel(TINY, seed=2).eval()
    joined = join(collate(PAIRS))
    logits = model(joined)
    changed = joined.tokens.clone()
    changed[2, 7] = 30  # the answer of the last pair
    assert not torch.allclose(logits[2, 0], model(type(joined)(changed, *tuple(joined)[1:]))[2, 0])
    alone = model(join(collate(PAIRS[2:])))[0]
    torch.testing.assert_close(logits[2, : len(alone)], alone, rtol=1e-4, atol=1e-5)


def test_starts_copy_what_they_say():
    filler = MaskedModel(TINY, seed=5)
    solvers = {start: initialise_solver(Solver(TINY, seed=9), filler, start) for start in ("encoder", "both")}
    fresh = Solver(TINY, seed=9)
    assert (
        initialise_solver(Solver(TINY, seed=9), None, "scratch").state_dict().keys()
        == fresh.state_dict().keys()
    )
    for start, solver in solvers.items():
        for name, tensor in filler.state_dict().items():
            if name.startswith(("encoder", "embedding")) or start == "both":
                assert torch.equal(solver.state_dict()[name], tensor), name
        for layer, trained, new in zip(
            solver.decoder.layers, filler.encoder.layers, fresh.decoder.layers, strict=True
        ):
            expected = trained if start == "both" else new
            for part in ("attention", "feed_forward", "attention_residual", "feed_forward_residual"):
                for a, b in zip(
                    getattr(layer, part).parameters(), getattr(expected, part).parameters(), strict=True
                ):
                    assert torch.equal(a, b) and a.data_ptr() != b.data_ptr()
            for a, b in zip(
                layer.memory_attention.parameters(), new.memory_attention.parameters(), strict=True
            ):
                assert torch.equal(a, b)
    with pytest.raises(ValueError, match="start must be one of"):
        initialise_solver(fresh, filler, "decoder")
    with pytest.raises(ValueError, match="of the solver's sizes"):
        initialise_solver(fresh, None, "both")


def test_the_loss_of_the_filler_counts_hidden_characters_alone():
    model = MaskedModel(TINY, seed=2).eval()
    masked = mask_pairs(join(collate(PAIRS)), generator=torch.Generator().manual_seed(3), share=0.5)
    expected = nn.functional.cross_entropy(model(masked.seen).flatten(0, 1), masked.labels.flatten())
    torch.testing.assert_close(masked_loss(model, masked), expected)
    nothing = type(masked)(masked.seen, torch.full_like(masked.labels, -100))
    assert masked_loss(model, nothing) == 0


def test_the_loss_of_a_solver_is_the_mean_over_characters_and_not_over_padding():
    solver, batch = Solver(TINY, seed=1), collate(PAIRS)
    characters = (batch.target != 0).sum()
    total = -decoding.score(solver, batch.question, batch.target).sum()
    torch.testing.assert_close(answer_loss(solver, batch), total / characters)


def test_the_first_weights_are_glorots():
    for part in Solver(SolverConfig(width=64, layers=1, heads=2, hidden=128), seed=0).modules():
        if isinstance(part, nn.Linear):
            bound = (6 / sum(part.weight.shape)) ** 0.5
            assert 0.9 * bound < part.weight.abs().max() <= bound and not part.bias.any()


def test_an_answer_has_the_same_input_in_pretraining_and_in_the_decoder():
    solver, batch = Solver(TINY, seed=1), collate(PAIRS)
    whole, given = solver.embedding(join(batch)), solver.embedding.segment(batch.given, 1)
    for row, pair in enumerate(PAIRS):
        start, length = len(pair.question), len(pair.answer) + 1
        torch.testing.assert_close(whole[row, start : start + length], given[row, :length])


def test_the_same_seed_gives_the_same_weights():
    for a, b in zip(Solver(TINY, seed=4).parameters(), Solver(TINY, seed=4).parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_source_has_its_sizes():
    config = SolverConfig()
    assert (config.layers, config.heads, config.width, config.hidden) == (4, 8, 512, 2048)


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("positions", "none", "positions must be"),
        ("norm", "none", "norm must be"),
        ("width", 15, "width must be even"),
        ("longest", 0, "longest and vocabulary"),
    ],
)
def test_bad_sizes(field, value, match):
    with pytest.raises(ValueError, match=match):
        SolverConfig(**{field: value})


def learn(model, batch, *, lr, steps):
    """Take Adam's steps on one batch."""
    optimiser = torch.optim.Adam(model.parameters(), lr)
    for _ in range(steps):
        optimiser.zero_grad()
        answer_loss(model, batch).backward()
        optimiser.step()


@pytest.mark.parametrize("positions", [True, False])
def test_only_with_positions_a_solver_learns_the_order_of_characters(positions):
    texts = ["".join(letters) for letters in permutations("abcd")]
    batch = collate(problems(*((text, text) for text in texts)))
    solver = Solver(SolverConfig(width=32, layers=1, heads=2, hidden=64, norm="pre"), seed=0)
    if not positions:
        solver.embedding.positions.table.requires_grad_(False).zero_()
    learn(solver, batch, lr=5e-3, steps=150)
    right = sum(answer(solver, text).text == text for text in texts)
    assert right >= 22 if positions else right <= 4


@pytest.mark.parametrize("related", [True, False])
def test_a_filler_reads_a_hidden_digit_off_an_answer_that_has_it(related):
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    digits = [draw.choice("0123456789") for _ in range(100)]
    pairs = ((digit + "+0", digit if related else draw.choice("0123456789")) for digit in digits)
    joined = join(collate(problems(*pairs)))
    filler = MaskedModel(SolverConfig(width=32, layers=1, heads=2, hidden=64, norm="pre"), seed=0)
    optimiser = torch.optim.Adam(filler.parameters(), 5e-3)
    for _ in range(150):
        optimiser.zero_grad()
        masked_loss(filler, mask_pairs(joined, generator=generator, share=0.3)).backward()
        optimiser.step()
    asked = join(collate(problems(*((digit + "+0", digit) for digit in "0123456789"))))
    original = asked.tokens[:, 0].clone()
    asked.tokens[:, 0] = MASK
    right = int((filler(asked)[:, 0].argmax(-1) == original).sum())
    assert right >= 9 if related else right <= 4


def lstm_step(layer, x, hidden, cell, ending=""):
    """One step of an LSTM, gate by gate, from the weights of PyTorch's."""
    inner, outer = (getattr(layer, f"weight_{name}{ending}") for name in ("ih", "hh"))
    bias = getattr(layer, f"bias_ih{ending}") + getattr(layer, f"bias_hh{ending}")
    enter, forget, candidate, leave = (inner @ x + outer @ hidden + bias).chunk(4)
    cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * cell.tanh(), cell


def test_the_lstm_computes_its_equations_for_each_question_of_a_batch():
    model, batch = LSTMSolver(8, seed=2), collate(PAIRS)
    logits = model(batch).logits
    for row, pair in enumerate(PAIRS):
        hidden = cell = torch.zeros(8)
        states = []
        for token in batch.question[row, : len(pair.question)]:
            hidden, cell = lstm_step(model.encoder, model.tokens.weight[token], hidden, cell, "_l0")
            states.append(hidden)
        keys, cell, read = torch.stack(states), torch.zeros(8), torch.zeros(8)
        for step, token in enumerate(batch.given[row, : len(pair.answer) + 1]):
            x = torch.cat((model.tokens.weight[token], read))
            hidden, cell = lstm_step(model.decoder, x, hidden, cell)
            match = [model.match(torch.tanh(model.key(key) + model.query(hidden))) for key in keys]
            read = (torch.stack(match).softmax(0) * keys).sum(0)
            torch.testing.assert_close(logits[row, step], model.output(torch.cat((hidden, read))))


def test_the_lstm_writes_what_it_scores_and_learns():
    texts = ["12", "31", "23"]
    batch = collate(problems(*((text, text[0]) for text in texts)))
    model = LSTMSolver(24, seed=0)
    learn(model, batch, lr=1e-2, steps=60)
    encoded = Encoded.of(problems(*((text, "") for text in texts)))
    assert answer_all(model, encoded) == ["1", "3", "2"]
    model.eval()
    logits = model(batch).logits.log_softmax(-1)
    expected = logits.gather(2, batch.target.unsqueeze(2)).squeeze(2).sum(1)
    torch.testing.assert_close(decoding.score(model, batch.question, batch.target), expected)
    assert len(answer_all(model, encoded, beam=2)) == 3
    with pytest.raises(ValueError, match="width must be"):
        LSTMSolver(0)


def test_place_values_are_counted_from_the_right():
    tokens = collate(problems(("Add 1305 and -27.5.", "1"))).question
    expected = [0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 2, 1, 0, 1, 0]
    assert place_values(tokens).tolist() == [expected]
    config = SolverConfig(width=16, layers=1, heads=2, hidden=32, place_values=True)
    solver, joined = Solver(config).eval(), join(collate(PAIRS))
    assert solver(collate(PAIRS)).logits.isfinite().all()
    whole = solver.embedding(joined)
    question = solver.embedding.segment(collate(PAIRS).question, 0)
    torch.testing.assert_close(whole[0, :14], question[0, :14])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is -2.045 - 1?", "-3.045"),
        ("What is 3 less than -0.5?", "-3.5"),
        ("Find the first derivative of 2*d**4 - 35*d**2 - 695 wrt d.", "8*d**3 - 70*d"),
        ("Solve -3*h**2/2 - 24*h - 45/2 = 0 for h.", "-15, -1"),
        ("Factor -n**2/3 - 25*n - 536/3.", "-(n + 8)*(n + 67)/3"),
        ("What is the k'th term of 485, 472, 459, 446?", "-13*k + 498"),
        ("What is the b'th term of 178, 367, 566, 775, 994?", "5*b**2 + 174*b - 1"),
        ("Which is the closest to -1/3?  (a) -8/7  (b) 5  (c) -1.3", "a"),
        ("Three letters picked without replacement from {g: 3, w: 1, t: 7, u: 3}. "
         "Give prob of sequence tuw.", "1/104"),
        ("What is prob of sequence ccbc when four letters picked without replacement from nnscspb?", "0"),
        ("Is 7 prime?", ""),
        ("What is (1?", ""),
    ],
)  # fmt: skip
def test_computer_algebra_answers_the_examples_of_the_source(question, expected):
    assert solve(question) == expected


def test_the_most_frequent_answer_of_a_module():
    train = Encoded.of(problems(("a", "7"), ("b", "3"), ("c", "3")))
    assert most_frequent(train, Encoded.of(problems(("d", "1"), ("e", "2")))) == ["3", "3"]


def test_saved_models_come_back(tmp_path):
    for model, load in ((Solver(TINY, seed=1), from_pretrained), (MaskedModel(TINY, seed=1), load_filler)):
        path = save_model(model, tmp_path / "m.safetensors", modules=["m__m"], made={"accuracy": 0.5})
        bundle = load(path)
        load.cache_clear()
        assert bundle.modules == ("m__m",) and bundle.made == {"accuracy": 0.5}
        assert bundle.model.config == TINY
    with pytest.raises(UserError, match="there is no trained model"):
        from_pretrained("none")


def test_the_bundled_solvers_read_off_digits_and_look_at_them():
    drawn = simulate("numbers__place_value", 60, seed=11)
    for name, least in (("pretrained", 0.9), ("scratch", 0.8)):
        bundle = from_pretrained(name)
        assert bundle.modules == ("numbers__place_value",) and bundle.made["accuracy"] > least
        written = answer_all(bundle.model, Encoded.of(drawn))
        assert sum(a == p.answer for a, p in zip(written, drawn, strict=True)) > least * len(drawn)
    question = "What is the hundreds digit of 7542?"
    result = answer(from_pretrained("pretrained").model, question)
    assert result.text == "5" and question[int(result.attention[0].argmax())] == "5"


def test_the_bundled_filler_completes_words():
    joined = join(collate(problems(("What is the tens digit of 7542?", "4"))))
    tokens = joined.tokens.clone()
    hidden = [2, 10, 20]
    tokens[0, hidden] = MASK
    guesses = load_filler().model(type(joined)(tokens, *joined[1:])).argmax(-1)
    assert torch.equal(guesses[0, hidden], joined.tokens[0, hidden])
