"""Systems: sizes of the public code, references written apart, masks, gradients, error messages."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from reasonlib.modality_alignment.data.datasets import QuestionSet, load_points
from reasonlib.modality_alignment.data.encoding import build_vocabulary, encode, select
from reasonlib.modality_alignment.data.scene import SceneConfig
from reasonlib.modality_alignment.data.simulator import SimulatorConfig, simulate
from reasonlib.modality_alignment.experiments.points import PointsRecipe, train_encoders
from reasonlib.modality_alignment.experiments.train import (
    Recipe,
    align_streams,
    answer_all,
    loss_of,
    measure_alignment,
    train_answerer,
)
from reasonlib.modality_alignment.models.captioner import Captioner, CaptionerConfig, FrameBatch, describe
from reasonlib.modality_alignment.models.context_matching import match_context
from reasonlib.modality_alignment.models.encoders import PairedEncoders
from reasonlib.modality_alignment.models.objectives import ALIGNMENTS, info_nce, retrieval, sample_rows
from reasonlib.modality_alignment.models.recurrent import compact, max_over_time, read_sequences
from reasonlib.modality_alignment.models.stage import (
    STAGE,
    STAGEConfig,
    best_span,
    spatial_loss,
    temporal_loss,
)
from reasonlib.modality_alignment.models.tvqa_abc import TVQA_abc, TVQAConfig
from reasonlib.training import parameter_count

QUESTIONS = simulate(20, seed=3)
VOCABULARY = build_vocabulary(QUESTIONS)
BATCH = encode(QUESTIONS, VOCABULARY)
FEATURES = BATCH.regions.shape[-1]


def small_abc(**changes):
    sizes = {"vocabulary": len(VOCABULARY), "features": FEATURES, "embedding": 12, "hidden": 6, "matched": 7}
    return TVQA_abc(TVQAConfig(**{**sizes, **changes}), seed=1).eval()


def small_stage(**changes):
    sizes = {"vocabulary": len(VOCABULARY), "features": FEATURES, "embedding": 12, "bridge": 10, "width": 8}
    return STAGE(STAGEConfig(**{**sizes, **changes}), seed=1).eval()


def test_encoders_are_the_sources():
    model = PairedEncoders()
    count = 64 * 32 + 32 + 2 * (32 * 32 + 32) + 3 * 2 * 32  # linear layers, scale and shift of batch norm
    assert parameter_count(model) == 2 * count
    kinds = [type(layer).__name__ for layer in model.a]
    assert kinds == ["Linear", "ReLU", "BatchNorm1d"] * 3
    embedded = model(torch.randn(8, 64), torch.randn(8, 64))
    assert embedded.a.shape == embedded.b.shape == (8, 32)
    assert not torch.equal(model.a[0].weight, model.b[0].weight)
    recipe = PointsRecipe()
    assert (recipe.weight, recipe.batch_size, recipe.lr) == (0.1, 512, 0.001)


@pytest.mark.parametrize(
    ("streams", "count"),
    [
        (("subtitle",), 5_167_801),
        (("subtitle", "captions", "frames"), 14_433_303),
        (("subtitle", "frames"), 10_107_902),
    ],
)
def test_tvqa_abc_has_the_parameters_of_the_public_code(streams, count):
    """Counted from jayleicn/TVQA at dfb0e5f with 1,000 words and 2048 features."""
    model = TVQA_abc(TVQAConfig(vocabulary=1000, streams=streams))
    assert parameter_count(model) == count


@pytest.mark.parametrize(
    ("streams", "count"),
    [(("subtitle", "regions"), 552_947), (("subtitle",), 411_143), (("regions",), 502_643)],
)
def test_stage_has_the_parameters_of_the_public_code(streams, count):
    """Counted from jayleicn/TVQAplus at d2dc721, with the local branch, without a table of words."""
    model = STAGE(STAGEConfig(vocabulary=10, streams=streams))
    assert parameter_count(model) - model.embedding.weight.numel() == count


def draw_weights(model):
    """Give a model weights that depend on the names and shapes of its parameters alone."""
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for number, name in enumerate(sorted(parameters)):
            drawn = 0.4 * np.random.default_rng(number).standard_normal(parameters[name].shape)
            gain = parameters[name].ndim == 1 and name.endswith("weight")  # of a norm
            parameters[name].copy_(torch.from_numpy(drawn + gain))
    return model.eval()


@torch.no_grad()
def test_tvqa_abc_gives_the_logits_of_the_public_code():
    """Computed with jayleicn/TVQA at dfb0e5f from the same weights: its streams sub, vcpt and imagenet."""
    batch = select(BATCH, [1, 3, 5, 7, 9])
    streams = ("subtitle", "captions", "frames")
    config = TVQAConfig(
        vocabulary=len(VOCABULARY), features=FEATURES, embedding=300, hidden=6, matched=7, streams=streams
    )
    expected = [
        [0.354612, 0.030335, 0.390764, 0.324709, -0.571677],
        [0.003994, -0.316241, -0.132894, 0.073349, -0.353859],
        [0.438742, -0.119207, -0.020084, 0.741621, -0.178423],
        [0.340373, 0.018786, 0.375444, 0.168836, -0.151915],
        [-0.344076, -0.208569, -0.544179, 0.468733, -0.115758],
    ]
    logits = draw_weights(TVQA_abc(config))(batch).logits
    torch.testing.assert_close(logits, torch.tensor(expected), atol=1e-5, rtol=0)


PUBLIC_STAGE = {
    ("subtitle", "regions"): (
        [
            [-0.989558, -1.041962, -2.337606, -2.441902, -1.039672],
            [-2.334651, -2.338190, -2.261899, -2.141273, -2.263195],
            [-2.390170, -2.231524, -2.254777, -2.235452, -2.342800],
            [-1.988351, -2.376554, -2.055232, -1.969738, -2.323303],
        ],
        [0.204476, 0.090463, 0.243796, 0.259832, 0.201432],
        1.575749,
    ),
    ("subtitle",): (
        [
            [0.215455, 0.693170, 0.263585, 1.702053, 0.395603],
            [1.828512, 1.317804, 1.434147, 1.421489, 1.344069],
            [0.461932, 0.358964, -0.585434, 2.131980, 0.280255],
            [-0.210871, 0.007598, -0.018428, -1.670978, -0.921443],
        ],
        [0.035819, 0.748151, 0.026988, 0.069773, 0.119270],
        1.872785,
    ),
    ("regions",): (
        [
            [1.601712, 1.997358, 1.890780, 1.577957, 1.608110],
            [1.912220, 2.371065, 2.688821, 2.196986, 2.287717],
            [1.300238, 1.368513, 1.449223, 1.456122, 1.306287],
            [1.668013, 2.432908, 2.535088, 2.917010, 2.486575],
        ],
        [0.105118, 0.516056, 0.098188, 0.174229, 0.106409],
        1.872245,
    ),
}
"""Of jayleicn/TVQAplus at d2dc721: logits; probabilities of a moment's first frame; temporal loss (nats)."""


@torch.no_grad()
@pytest.mark.parametrize("streams", PUBLIC_STAGE)
def test_stage_gives_the_logits_of_the_public_code(streams):
    """From the same weights and word vectors, in evaluation mode; questions differ in length."""
    scene = SceneConfig(frames_each=1, features=9)
    questions = simulate(4, seed=3, config=SimulatorConfig(kinds=("colour", "wish"), scene=scene))
    vocabulary = build_vocabulary(questions)
    batch = encode(questions, vocabulary)
    assert not batch.joined.all() and not batch.region_mask.all()
    config = STAGEConfig(
        vocabulary=len(vocabulary), features=9, embedding=12, width=8, streams=streams, extra=1
    )
    located = draw_weights(STAGE(config))(batch)
    logits, first, loss = PUBLIC_STAGE[streams]
    torch.testing.assert_close(located.logits, torch.tensor(logits), atol=1e-4, rtol=0)
    moment = located.moments[0, batch.right[0], :, 0].softmax(0)
    torch.testing.assert_close(moment, torch.tensor(first), atol=1e-5, rtol=0)
    assert float(temporal_loss(located, batch)) == pytest.approx(loss, abs=1e-5)


def test_matching_against_a_loop_over_answers():
    """One answer at a time, one position at a time, in NumPy."""
    draw = torch.Generator().manual_seed(0)
    context, question = torch.randn(2, 4, 6, generator=draw), torch.randn(2, 3, 6, generator=draw)
    answers = torch.randn(2, 5, 2, 6, generator=draw)
    question_mask = torch.tensor([[True, True, True], [True, False, False]])
    answer_mask = torch.ones(2, 5, 2, dtype=torch.bool)
    answer_mask[1, 3, 1] = False
    matched = match_context(context, question, question_mask, answers, answer_mask)
    assert matched.states.shape == (2, 5, 4, 30)

    def attended(vector, words):
        scores = np.array([vector @ word for word in words])
        weights = np.exp(scores - scores.max())
        return (weights / weights.sum()) @ words

    for row in range(2):
        asked = question[row][question_mask[row]].numpy()
        for answer in range(5):
            words = answers[row, answer][answer_mask[row, answer]].numpy()
            for position in range(4):
                vector = context[row, position].numpy()
                u_q, u_a = attended(vector, asked), attended(vector, words)
                expected = np.concatenate([vector, u_a, u_q, u_a * vector, u_q * vector])
                np.testing.assert_allclose(matched.states[row, answer, position], expected, atol=1e-5)


def test_lstm_does_not_read_padding():
    lstm = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    inputs = torch.randn(2, 5, 3)
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    states = read_sequences(lstm, inputs, mask)
    alone, _ = lstm(inputs[1:, :3])
    torch.testing.assert_close(states[1, :3], alone[0])
    assert not states[1, 3:].any()
    torch.testing.assert_close(max_over_time(states, mask)[1], alone[0].amax(0))
    assert not max_over_time(states, torch.zeros_like(mask)).any()


def test_compact_keeps_the_order():
    values = torch.arange(10.0).view(2, 5, 1)
    mask = torch.tensor([[False, True, False, True, True], [True, False, False, False, False]])
    moved, kept = compact(values, mask)
    assert moved[0, :, 0].tolist() == [1, 3, 4] and kept.tolist() == [[True] * 3, [True, False, False]]
    assert moved[1, 0] == 5


def changed(batch, name, value):
    return replace(batch, **{name: value})


@pytest.mark.parametrize("build", [small_abc, small_stage])
def test_each_stream_reads_its_own_modality(build):
    noise = torch.randn_like(BATCH.regions)
    for stream, other in (("subtitle", "regions"), ("regions", "subtitle")):
        model = build(streams=(stream,))
        before = model(BATCH).logits
        given = changed(BATCH, "regions", noise)
        subtitle = torch.flip(BATCH.subtitle, (1,)), torch.flip(BATCH.subtitle_frames, (1, 2))
        words = changed(changed(BATCH, "subtitle", subtitle[0]), "subtitle_frames", subtitle[1])
        hidden = {"regions": given, "subtitle": words}
        torch.testing.assert_close(model(hidden[other]).logits, before)
        assert not torch.allclose(model(hidden[stream]).logits, before)
        assert set(model(BATCH).streams) == {stream}


@pytest.mark.parametrize("build", [small_abc, small_stage])
def test_answers_are_scored_alike_at_any_position(build):
    model = build()
    order = torch.tensor([3, 0, 4, 1, 2])
    moved = changed(changed(BATCH, "answers", BATCH.answers[:, order]), "joined", BATCH.joined[:, order])
    torch.testing.assert_close(model(moved).logits, model(BATCH).logits[:, order], atol=1e-5, rtol=1e-5)


def test_absent_regions_change_nothing():
    model = small_abc()
    garbage = BATCH.regions.masked_fill(~BATCH.region_mask.unsqueeze(-1), 1e3)
    torch.testing.assert_close(model(changed(BATCH, "regions", garbage)).logits, model(BATCH).logits)


@torch.no_grad()
def test_tvqa_abc_answers_alike_alone_and_beside_longer_neighbours():
    """A question in a batch that pads its words, its lines, its frames and its regions."""
    short = replace(QUESTIONS[1], frames=QUESTIONS[1].frames[:4], subtitles=QUESTIONS[1].subtitles[:2])
    streams = ("subtitle", "regions", "captions", "frames", "question")
    model = small_abc(streams=streams)
    alone, padded = (model(encode(each, VOCABULARY)) for each in ([short], [*QUESTIONS[2:8], short]))
    assert padded.streams["subtitle"].mask.shape[1] > alone.streams["subtitle"].mask.shape[1]
    for name in streams:
        torch.testing.assert_close(padded.streams[name].scores[-1], alone.streams[name].scores[0])
    assert int(padded.text_mask[-1].sum()) == int(alone.text_mask.sum())


def test_padding_is_never_aligned():
    answered = small_abc()(BATCH)
    stream = answered.streams["regions"]
    garbage = stream._replace(states=stream.states.masked_fill(~stream.mask.unsqueeze(-1), 1e3))
    changed_text = answered.text.masked_fill(~answered.text_mask.unsqueeze(-1), 1e3)
    assert not stream.mask.all() and not answered.text_mask.all()
    spoilt = answered._replace(streams={"regions": garbage}, text=changed_text)
    recipe = Recipe(alignment="cka-linear", samples=64)
    values = [
        align_streams(each, recipe, generator=torch.Generator().manual_seed(0)) for each in (answered, spoilt)
    ]
    torch.testing.assert_close(*values)


def test_streams_are_added():
    answered = small_abc(streams=("subtitle", "regions", "captions", "frames", "question"))(BATCH)
    total = sum(stream.scores for stream in answered.streams.values())
    torch.testing.assert_close(answered.logits, total)
    assert answered.text.shape[:2] == answered.text_mask.shape


def test_best_span_by_enumeration():
    moments = torch.randn(3, 5, 6, 2, generator=torch.Generator().manual_seed(0))
    spans = best_span(moments)
    probabilities = moments.softmax(-2)
    for row in range(3):
        for answer in range(5):
            first, last = probabilities[row, answer].unbind(-1)
            pairs = {(i, j): float(first[i] * last[j]) for i in range(6) for j in range(i, 6)}
            assert tuple(spans[row, answer].tolist()) == max(pairs, key=pairs.get)


def test_losses_of_stage_by_hand():
    located = small_stage()(BATCH)
    expected = []
    for row in range(len(BATCH)):
        if BATCH.span[row, 0] < 0:
            continue
        moments = located.moments[row, BATCH.right[row]].log_softmax(0)
        expected.append(-(moments[BATCH.span[row, 0], 0] + moments[BATCH.span[row, 1], 1]) / 2)
    torch.testing.assert_close(temporal_loss(located, BATCH), torch.stack(expected).mean())
    ranked = []
    for row, word, frame, region in BATCH.grounding.nonzero().tolist():
        cosines = located.similarities[row, BATCH.right[row], frame, word]
        for other in range(BATCH.region_mask.shape[2]):
            if BATCH.region_mask[row, frame, other] and not BATCH.grounding[row, word, frame, other]:
                ranked.append(torch.log1p(torch.exp(20 * (cosines[other] - cosines[region]))))
    torch.testing.assert_close(spatial_loss(located, BATCH), torch.stack(ranked).mean())
    without = select(BATCH, [row for row in range(len(BATCH)) if BATCH.span[row, 0] < 0])
    assert float(temporal_loss(small_stage()(without), without)) == 0.0


def test_info_nce_by_hand():
    x, y = torch.randn(6, 4), torch.randn(6, 4)
    cosines = functional.cosine_similarity(x[:, None], y[None], dim=-1) / 0.1
    across = torch.stack([-cosines[n, n] + cosines[n].logsumexp(0) for n in range(6)]).mean()
    down = torch.stack([-cosines[n, n] + cosines[:, n].logsumexp(0) for n in range(6)]).mean()
    torch.testing.assert_close(info_nce(x, y), -(across + down) / 2)


def test_retrieval():
    x = torch.eye(4)
    assert retrieval(x, 3 * x) == {"top1": 1.0, "rank": 0.0}
    assert retrieval(x, torch.roll(x, 1, 0))["top1"] == 0.0
    assert retrieval(torch.ones(5, 2), torch.ones(5, 2)) == {"top1": 0.0, "rank": 0.5}  # ties are no hits


@pytest.mark.parametrize("name", [name for name in ALIGNMENTS if name != "none"])
def test_alignments_can_be_maximised(name):
    """A few steps of gradient ascent on free points raise each of them."""
    draw = torch.Generator().manual_seed(0)
    x, y = (torch.randn(20, 5, generator=draw).requires_grad_() for _ in range(2))
    optimiser = torch.optim.Adam([x, y], lr=0.1)
    before = float(ALIGNMENTS[name](x, y).detach())
    for _ in range(20):
        optimiser.zero_grad()
        (-ALIGNMENTS[name](x, y)).backward()
        optimiser.step()
    assert float(ALIGNMENTS[name](x, y).detach()) > before + 0.1


def test_sampled_rows_are_of_one_question():
    x_mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    y_mask = torch.tensor([[True, True], [True, True], [False, True]])
    generator = torch.Generator().manual_seed(0)
    x, y = sample_rows(x_mask, y_mask, 200, generator=generator)
    assert torch.equal(x[:, 0], y[:, 0]) and set(x[:, 0].tolist()) == {0, 2}
    assert x_mask[x[:, 0], x[:, 1]].all() and y_mask[y[:, 0], y[:, 1]].all()
    x, y = sample_rows(x_mask, y_mask, 200, paired=False, generator=generator)
    assert not torch.equal(x[:, 0], y[:, 0])
    with pytest.raises(ValueError, match="both modalities"):
        sample_rows(torch.zeros_like(x_mask), y_mask, 2)


@pytest.mark.parametrize("alignment", ["cka-linear", "infonce"])
@pytest.mark.parametrize("build", [small_abc, small_stage])
def test_alignment_reaches_both_embeddings(build, alignment):
    model = build().train()
    align_streams(model(BATCH), Recipe(alignment=alignment, samples=16)).backward()
    assert model.embedding.weight.grad.abs().sum() > 0
    visual = [p for name, p in model.named_parameters() if name.startswith(("features", "region_bridge"))]
    assert visual and all(parameter.grad.abs().sum() > 0 for parameter in visual)
    matching = [p for name, p in model.named_parameters() if name.startswith(("second", "classifier"))]
    assert all(parameter.grad is None for parameter in matching)  # before the context is matched
    assert float(align_streams(model(BATCH), Recipe())) == 0.0


@pytest.mark.parametrize("build", [small_abc, small_stage])
def test_final_loss_of_a_system_by_hand(build):
    """Equation 5.4, with STAGE's losses of moment and regions; the alignment alone while warming up."""
    model, recipe = build(), Recipe(alignment="cka-linear", weight=0.3, samples=16)

    def drawn(function, *given):
        torch.manual_seed(4)  # of the rows
        return function(*given)

    answered = model(BATCH)
    alignment = drawn(align_streams, answered, recipe)
    expected = -answered.logits.log_softmax(1)[torch.arange(len(BATCH)), BATCH.right].mean()
    if build is small_stage:
        expected = expected + 0.5 * temporal_loss(answered, BATCH) + 0.1 * spatial_loss(answered, BATCH)
    torch.testing.assert_close(drawn(loss_of, model, BATCH, recipe), expected - 0.3 * alignment)
    warming = replace(BATCH, warming=True)
    torch.testing.assert_close(drawn(loss_of, model, warming, recipe), -alignment)


@pytest.mark.parametrize(
    ("objective", "alignment", "warmup"),
    [("cosine", "none", 0), ("none", "cka-linear", 0), ("cosine", "cka-linear", 0), ("cosine", "infonce", 1)],
)
def test_encoders_are_trained_by_the_final_loss(objective, alignment, warmup):
    """Steps of Adam on one batch of all pairs, with the loss written out; a step of warm-up only aligns."""
    points, _ = load_points("shared-cause", pairs=24, held_out=4, seed=0)
    recipe = PointsRecipe(
        objective=objective, alignment=alignment, weight=0.5, warmup_steps=warmup, epochs=2, batch_size=24
    )
    trained = train_encoders(points, recipe, seed=3).model
    model = PairedEncoders(seed=3)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(warmup + 2):
        order = torch.randperm(24, generator=torch.Generator().manual_seed(3_000 + step))
        a, b = model(points.a[order], points.b[order])
        similar = functional.cosine_similarity(a, b).mean()
        aligned = ALIGNMENTS[alignment](a, b)
        optimiser.zero_grad()
        (-aligned if objective == "none" or step < warmup else -similar - 0.5 * aligned).backward()
        optimiser.step()
    with torch.no_grad():
        for ours, theirs in zip(trained(*points), model(*points), strict=True):
            # CKA has no slope along a shift: there Adam follows rounding errors
            torch.testing.assert_close(ours - ours.mean(0), theirs - theirs.mean(0), atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_stage_reads_the_annotated_moment_in_training_alone():
    model = small_stage(dropout=0.0, extra=0)
    asked = select(BATCH, [row for row in range(len(BATCH)) if BATCH.span[row, 0] >= 0])
    moved = replace(asked, span=(asked.span + 2) % 10)
    torch.testing.assert_close(model(moved).logits, model(asked).logits)
    model.train()
    assert not torch.allclose(model(moved).logits, model(asked).logits)


@pytest.mark.parametrize("build", [small_abc, small_stage])
def test_systems_are_measured_without_dropout(build):
    model = build(dropout=0.5)
    asked = QuestionSet(tuple(QUESTIONS), BATCH)
    with torch.no_grad():
        answered = model(BATCH)
    model.train()
    assert answer_all(model, asked, size=7) == answered.logits.argmax(1).tolist()
    model.train()
    metrics = measure_alignment(model, asked, samples=30)
    assert metrics == measure_alignment(model.train(), asked, samples=30)
    stream = answered.streams["regions"]
    video, text = (
        torch.stack([row[kept].mean(0) for row, kept in zip(states, mask, strict=True)])
        for states, mask in ((stream.states, stream.mask), (answered.text, answered.text_mask))
    )
    right = retrieval(video, text)
    assert metrics["retrieval.regions.rank"] == pytest.approx(right["rank"], abs=1e-6)
    assert metrics["retrieval.regions.top1"] == right["top1"]


@torch.no_grad()
@pytest.mark.parametrize("build", [small_abc, small_stage])
def test_info_nce_of_a_system_by_hand(build):
    """The same rows, one pair at a time, in NumPy."""
    answered = build()(BATCH)
    recipe = Recipe(alignment="infonce", samples=12)
    value = align_streams(answered, recipe, generator=torch.Generator().manual_seed(5))
    stream = answered.streams["regions"]
    x, y = sample_rows(stream.mask, answered.text_mask, 12, generator=torch.Generator().manual_seed(5))
    video = [stream.states[row, position].double().numpy() for row, position in x.tolist()]
    text = [answered.text[row, position].double().numpy() for row, position in y.tolist()]

    def similarity(a, b):
        return a @ b / np.sqrt((a @ a) * (b @ b)) / 0.1

    losses = []
    for n in range(12):
        own = np.exp(similarity(video[n], text[n]))
        losses.append(-np.log(own / sum(np.exp(similarity(video[n], other)) for other in text)))
        losses.append(-np.log(own / sum(np.exp(similarity(other, text[n])) for other in video)))
    assert float(value) == pytest.approx(-np.mean(losses), abs=1e-5)


def test_captions_are_written_word_by_word():
    model = Captioner(
        CaptionerConfig(vocabulary=len(VOCABULARY), features=FEATURES, width=16, heads=2)
    ).eval()
    captions = describe(model, BATCH.regions[:3], BATCH.region_mask[:3], VOCABULARY)
    assert [len(texts) for texts in captions] == [10, 10, 10]
    words = torch.tensor([[2, 7, 8]])
    frames = FrameBatch(BATCH.regions[0, :1], BATCH.region_mask[0, :1], words, words)
    whole = model(frames).log_softmax(-1)
    reading = model.begin(frames)
    for position in range(3):
        scores, reading = model.advance(reading, words[:, position])
        torch.testing.assert_close(scores, whole[:, position], atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="at most 8 regions, got 9"):
        model.begin(frames._replace(regions=torch.zeros(1, 9, FEATURES), mask=torch.ones(1, 9).bool()))


def test_questions_without_a_label_are_not_trained_on():
    unlabelled = (replace(QUESTIONS[0], right=None), *QUESTIONS[1:3])
    asked = QuestionSet(unlabelled, encode(unlabelled, VOCABULARY))
    with pytest.raises(ValueError, match="must have a right answer to train on, 1 have none"):
        train_answerer(small_abc(), asked, Recipe())


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: TVQAConfig(vocabulary=5, streams=("sound",)), "streams must be"),
        (lambda: TVQAConfig(vocabulary=5, streams=()), "streams must be"),
        (lambda: TVQAConfig(vocabulary=0), "vocabulary must be"),
        (lambda: STAGEConfig(vocabulary=5, streams=("question",)), "streams must be"),
        (lambda: STAGEConfig(vocabulary=0), "vocabulary must be"),
        (lambda: STAGEConfig(vocabulary=5, kernel=4), "kernel must be odd"),
        (lambda: STAGEConfig(vocabulary=5, extra=-1), "extra must be"),
        (lambda: PairedEncoders(width=0), "at least 1"),
        (lambda: PointsRecipe(objective="sum"), "objective must be"),
        (lambda: PointsRecipe(alignment="cca"), "alignment must be"),
        (lambda: Recipe(alignment="cca"), "alignment must be"),
        (lambda: Recipe(samples=1), "samples must be"),
    ],
)
def test_bad_settings(make, match):
    with pytest.raises(ValueError, match=match):
        make()
