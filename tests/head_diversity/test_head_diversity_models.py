"""Hooks, Drophead, regularisers and the two models: parity, gradients, masks, what training does to heads."""

import math

import pytest
import torch
from drawing import draw
from torch import nn

from reasonlib.head_diversity.data.pairs import PairBatch, pair_batches
from reasonlib.head_diversity.experiments.train import (
    Recipe,
    text_heads,
    text_loss,
    train_language_model,
    train_translator,
    translation_heads,
    valid_loss,
)
from reasonlib.head_diversity.models.diversity import (
    collect_heads,
    compare_heads,
    head_similarity,
    mean_of_pairs,
    model_similarity,
)
from reasonlib.head_diversity.models.drophead import Drophead, drop_heads, scheduled_rate
from reasonlib.head_diversity.models.hooks import (
    attention_sites,
    record_heads,
    record_projections,
    switch_off,
)
from reasonlib.head_diversity.models.language_model import LanguageModel, LanguageModelConfig, prediction_loss
from reasonlib.head_diversity.models.regularisers import (
    Penalties,
    disagreement,
    flat_tokens,
    hsic_penalty,
    orthogonality_penalty,
    penalised_loss,
    srip,
)
from reasonlib.head_diversity.models.translator import Translator, TranslatorConfig, translation_loss
from reasonlib.nn import Encoder, TransformerConfig, decoding, hsic, svcca


def language_model(heads=2, **options):
    sizes = {"vocabulary": 12, "width": 16, "layers": 2, "hidden": 32, "dropout": 0.0, **options}
    return LanguageModel(LanguageModelConfig(heads=heads, **sizes), seed=1)


def translator(heads=2):
    config = TranslatorConfig(vocabulary=12, width=16, layers=2, heads=heads, hidden=32, dropout=0.0)
    return Translator(config, seed=1)


PAIRS = PairBatch(
    torch.tensor([[5, 6, 7, 8], [9, 5, 0, 0]]), torch.tensor([[6, 7, 2, 0, 0], [8, 9, 10, 11, 2]])
)


# Hooks


def test_hooks_see_the_heads_that_attention_returns():
    encoder = Encoder(TransformerConfig(layers=2, width=8, heads=2, hidden=8, dropout=0.0)).eval()
    x = torch.randn(3, 5, 8)
    with record_heads(encoder) as heads, record_projections(encoder) as projections:
        encoded = encoder(x)
    assert list(heads) == ["layers.0.attention", "layers.1.attention"]
    for recorded, attention in zip(heads.values(), encoded.attention, strict=True):
        assert torch.equal(recorded, attention.heads)
    first = projections["layers.0.attention"]
    own = encoder.layers[0].attention.project(x, x)
    assert torch.equal(first.keys, own.keys) and torch.equal(first.values, own.values)
    with record_heads(encoder) as later:
        pass
    encoder(x)
    assert not later  # the hooks are gone


def test_switching_off_every_head_leaves_the_bias_of_the_projection():
    encoder = Encoder(TransformerConfig(layers=1, width=8, heads=2, hidden=8, dropout=0.0)).eval()
    x = torch.randn(3, 5, 8)
    attention = encoder.layers[0].attention
    with switch_off(encoder, {"layers.0.attention": [0, 1]}):
        output = attention(x, x, x).output
    torch.testing.assert_close(output, attention.output.bias.expand_as(output))
    with switch_off(encoder, {"layers.0.attention": [1]}):
        kept = attention(x, x, x).output
    by_hand = nn.functional.linear(
        attention(x, x, x).heads[:, 0], attention.output.weight[:, :4], attention.output.bias
    )
    torch.testing.assert_close(kept, by_hand)
    with pytest.raises(ValueError, match="there is no attention"), switch_off(encoder, {"layers.3": [0]}):
        pass


SIZES = {
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "pad_token_id": 0,
}
FORMS = {  # model of transformers to what its configuration is given
    "Albert": {**SIZES, "embedding_size": 4},
    "Bart": {
        "vocab_size": 20,
        "d_model": 8,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
    },
    "Bert": SIZES,
    "DistilBert": {"vocab_size": 20, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    "Funnel": {"vocab_size": 20, "block_sizes": [2], "d_model": 8, "n_head": 2, "d_head": 4, "d_inner": 16},
    "GPT2": {"vocab_size": 20, "n_embd": 8, "n_layer": 2, "n_head": 2},
    "Longformer": {**SIZES, "attention_window": 4},
    "MPNet": SIZES,
    "ModernBert": SIZES,
    "T5Encoder": {"vocab_size": 20, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 2},
    "ViT": {**SIZES, "image_size": 8, "patch_size": 4},
}
ATTENTIONS = {"Bart": 3, "Funnel": 4}  # 2 in the others


@pytest.mark.parametrize("form", FORMS)
def test_hooks_find_the_heads_of_transformers_encoders(form):
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, f"{form.removesuffix('Encoder')}Config")(**FORMS[form])
    model = getattr(transformers, f"{form}Model")(config)
    given = torch.randn(3, 3, 8, 8) if form == "ViT" else torch.arange(18).view(3, 6) + 2
    similarity = head_similarity(model, given)
    assert len(similarity) == ATTENTIONS.get(form, 2)
    assert all(layer.cka.shape == (2, 2) for layer in similarity.values())
    for site in attention_sites(model):
        inputs = site.output.weight.shape[0 if form == "GPT2" else 1]  # its layers are stored transposed
        assert (site.heads, inputs) == (2, 8)


def test_layers_that_share_an_attention_are_kept_apart():
    transformers = pytest.importorskip("transformers")
    model = transformers.AlbertModel(transformers.AlbertConfig(**FORMS["Albert"]))
    first, second = head_similarity(model, torch.arange(18).view(3, 6) + 2).items()
    assert second[0] == f"{first[0]}, call 2"
    assert not torch.equal(first[1].cka, second[1].cka)


def test_heads_of_bert_are_its_own_weights_times_its_own_values():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(**SIZES, attn_implementation="eager")
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    tokens = torch.arange(18).view(3, 6)
    with record_heads(model) as heads, torch.no_grad():
        output = model(tokens, output_attentions=True)
    own = model.encoder.layer[0].attention.self
    values = own.value(model.embeddings(tokens)).unflatten(-1, (2, 4)).transpose(1, 2)
    torch.testing.assert_close(next(iter(heads.values())), output.attentions[0] @ values)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]] * 3).bool()
    kept = collect_heads(
        model,
        [{"input_ids": tokens, "attention_mask": mask}],
        run=lambda batch: model(**batch),
        mask=lambda batch, name: batch["attention_mask"],
    )
    assert {tuple(heads.shape) for heads in kept.values()} == {(2, 12, 4)}  # padding is left out


def test_a_model_without_attention_is_refused():
    with pytest.raises(ValueError, match="no multi-head attention"):
        attention_sites(nn.Linear(2, 2))


ENCODER = Encoder(TransformerConfig(layers=1, width=8, heads=2, hidden=8))
FUSED = nn.TransformerEncoderLayer(8, 2, batch_first=True)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: compare_heads(torch.randn(2, 3, 4)), "at least 4 examples are needed, got 3"),
    (lambda: compare_heads(torch.randn(30, 4)), r"heads must be \(H, N, C\), none of them 0, got \(30, 4\)"),
    (lambda: compare_heads(torch.randn(0, 30, 4)), r"none of them 0, got \(0, 30, 4\)"),
    (lambda: compare_heads(torch.full((2, 30, 4), math.inf)), "must give finite numbers"),
    (lambda: head_similarity(ENCODER, torch.randn(3, 0, 8)), r"none of them 0, got \(2, 0, 4\)"),
    (lambda: head_similarity(ENCODER, torch.randn(1, 3, 8)), "at least 4 examples are needed, got 3"),
    (lambda: head_similarity(FUSED, torch.randn(3, 5, 8)),
     "saw no head of TransformerEncoderLayer: .* its attention is one fused step"),
    (lambda: collect_heads(ENCODER, []), "saw no head of Encoder: there is no batch"),
    (lambda: model_similarity({"a": torch.randn(2, 9, 4)}, {"b": torch.randn(2, 9, 4)}),
     "no attention is in both models: a; b"),
    (lambda: switch_off(ENCODER, {"layers.0.attention": [2]}).__enter__(),
     r"there is no attention 'layers.0.attention' with the heads \[2\]"),
])  # fmt: skip
def test_what_cannot_be_compared_is_one_clear_line(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_heads_that_are_joined_with_convolutions_are_refused():
    transformers = pytest.importorskip("transformers")
    model = transformers.ConvBertModel(transformers.ConvBertConfig(**SIZES, embedding_size=8))
    with pytest.raises(ValueError, match="ConvBertModel has no multi-head attention of a known form"):
        attention_sites(model)


# Drophead


def test_drophead_drops_whole_heads_and_keeps_the_mean():
    heads = torch.ones(4000, 4, 3, 2)
    dropped = drop_heads(heads, 0.25, generator=torch.Generator().manual_seed(0))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    flat = dropped.flatten(2)
    assert torch.equal(flat.amin(-1), flat.amax(-1))  # a head is dropped whole
    assert float((flat[..., 0] == 0).float().mean()) == pytest.approx(0.25, abs=0.02)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.02)


def test_drophead_works_in_training_alone():
    model = language_model()
    plain = model.eval()(torch.tensor([[3, 4, 5]])).logits
    drophead = Drophead(model, 0.9)
    assert torch.equal(model(torch.tensor([[3, 4, 5]])).logits, plain)
    model.train()
    assert not torch.equal(model(torch.tensor([[3, 4, 5]])).logits, plain)
    drophead.rate = 0.0
    assert torch.equal(model(torch.tensor([[3, 4, 5]])).logits, plain)
    with pytest.raises(ValueError, match="rate must be"):
        drophead.rate = 1.0
    drophead.rate = 0.9
    drophead.remove()
    assert torch.equal(model(torch.tensor([[3, 4, 5]])).logits, plain)


def test_recording_comes_before_drophead():
    model = language_model().train()
    Drophead(model, 0.9)
    with record_heads(model) as heads:
        attention = model(torch.tensor([[3, 4, 5]])).attention
    assert torch.equal(heads["layers.layers.0.attention"], attention[0].heads)


def test_schedule_of_a_constant_rate_is_refused_out_of_range():
    assert scheduled_rate(5, 10, warmup=10, start=0.2, end=0.4) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="warmup must be"):
        scheduled_rate(0, 4, warmup=5, start=0.1, end=0.1)


# Regularisers


def test_hsic_penalty_is_the_mean_over_pairs():
    heads = draw(3, 10, 4)
    expected = (hsic(heads[0], heads[1]) + hsic(heads[0], heads[2]) + hsic(heads[1], heads[2])) / 3
    torch.testing.assert_close(hsic_penalty(heads), expected)
    assert float(hsic_penalty(heads[:1])) == 0


def test_power_iteration_comes_to_the_spectral_norm_from_below():
    vectors = draw(50, 4, 8)
    exact = torch.linalg.matrix_norm(vectors @ vectors.mT - torch.eye(4, dtype=vectors.dtype), ord=2)
    assert bool((srip(vectors) <= exact + 1e-9).all())
    torch.testing.assert_close(srip(vectors, iterations=300), exact, rtol=1e-4, atol=1e-6)
    orthonormal = torch.linalg.qr(draw(8, 4)).Q.T.expand(5, 4, 8)
    assert float(srip(orthonormal).max()) < 1e-7


def test_disagreement_is_the_mean_cosine():
    vectors = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]])
    assert float(disagreement(vectors)) == pytest.approx(1 / 3)


def test_orthogonality_penalty_adds_the_norm_of_values_and_the_cosines_of_three():
    queries, keys, values = draw(4, 3, 5), draw(6, 3, 5, seed=1), draw(6, 3, 5, seed=2)
    cosines = [
        nn.functional.cosine_similarity(part[:, i], part[:, j], dim=-1).mean()
        for part in (queries, keys, values)
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    expected = srip(values).mean() + sum(cosines) / 9
    torch.testing.assert_close(orthogonality_penalty(queries, keys, values), expected)
    assert float(orthogonality_penalty(queries[:, :1], keys[:, :1], values[:, :1])) == 0


def test_gradients_of_the_regularisers():
    heads, vectors = draw(3, 7, 2).requires_grad_(), draw(4, 3, 5, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(hsic_penalty, heads)
    assert torch.autograd.gradcheck(lambda v: srip(v).sum(), vectors)
    assert torch.autograd.gradcheck(lambda v: orthogonality_penalty(v, v.flip(0), v), vectors)


def test_penalties_add_to_the_loss_and_leave_padding_out():
    model = translator()

    def mask(name, part):
        from reasonlib.head_diversity.models.translator import side_of

        return getattr(PAIRS, side_of(name, part)) != 0

    def loss():
        return translation_loss(model, PAIRS)

    plain = loss()
    assert torch.equal(penalised_loss(model, loss, Penalties(), mask), plain)
    both = penalised_loss(model, loss, Penalties(hsic=2.0, orthogonality=0.5), mask)
    with record_heads(model) as heads, record_projections(model) as projected:
        loss()
    terms = [hsic_penalty(flat_tokens(h, mask(n, "query")).transpose(0, 1)) for n, h in heads.items()]
    others = [
        orthogonality_penalty(
            flat_tokens(p.queries, mask(n, "query")),
            flat_tokens(p.keys, mask(n, "value")),
            flat_tokens(p.values, mask(n, "value")),
        )
        for n, p in projected.items()
    ]
    expected = plain + 2.0 * torch.stack(terms).mean() + 0.5 * torch.stack(others).mean()
    torch.testing.assert_close(both, expected)
    assert len(terms) == 6  # two layers of three kinds of attention
    with pytest.raises(ValueError, match="hsic must be at least 0"):
        Penalties(hsic=-1.0)


# Models


def test_no_word_sees_a_later_one():
    model = language_model().eval()
    words = torch.tensor([[3, 4, 5, 6]])
    changed = torch.tensor([[3, 4, 5, 11]])
    assert torch.equal(model(words).logits[:, :3], model(changed).logits[:, :3])


@torch.no_grad()
def test_prediction_loss_by_hand():
    model = language_model().eval()
    row = torch.tensor([[3, 4, 5]])
    scores = model(row[:, :-1]).logits.log_softmax(-1)
    expected = -(scores[0, 0, 4] + scores[0, 1, 5]) / 2
    assert float(prediction_loss(model, row)) == pytest.approx(float(expected), abs=1e-6)
    assert text_loss(model, row.repeat(3, 1), size=2) == pytest.approx(float(expected), abs=1e-6)


def test_translator_writes_what_it_scores():
    model = translator().eval()
    written = decoding.greedy(model, PAIRS, longest=4)
    memory = model.encode(PAIRS.source)
    tokens = torch.ones(2, 1, dtype=torch.long)
    step = model.embedding.logits(model.decode(tokens, memory).output)[:, -1].argmax(-1)
    assert torch.equal(written.tokens[:, 0, 0], step)
    longer = PairBatch(nn.functional.pad(PAIRS.source, (0, 3)), PAIRS.target)
    torch.testing.assert_close(model(longer), model(PAIRS))


def test_similarity_of_heads_and_of_models():
    heads = draw(3, 60, 4)
    heads[2] = heads[0] @ torch.linalg.qr(draw(4, 4, seed=5)).Q
    similarity = compare_heads(heads)
    assert float(similarity.cka[0, 2]) == pytest.approx(1.0)
    assert similarity.means()["svcca"] == pytest.approx(mean_of_pairs(similarity.svcca))
    torch.testing.assert_close(similarity.svcca[2, 1], svcca(heads[1], heads[2]).mean())
    assert similarity.svcca.diagonal().tolist() == [1, 1, 1]
    heads[1] = 1.0
    assert compare_heads(heads).svcca[1].tolist() == [0, 1, 0]  # a constant is similar to nothing
    assert similarity.curve.shape == (4,)
    assert math.isnan(compare_heads(heads[:1]).means()["cka"])
    curves = model_similarity({"a": heads}, {"a": heads.flip(0), "b": heads})
    torch.testing.assert_close(curves["a"], torch.ones(len(curves["a"]), dtype=heads.dtype))


def test_heads_are_collected_without_padding():
    model = translator()
    kept = collect_heads(
        model,
        [PAIRS, PAIRS],
        mask=lambda batch, name: (batch.source if name.startswith("encoder") else batch.target) != 0,
    )
    for name, outputs in kept.items():
        tokens = 2 * 6 if name.startswith("encoder") else 2 * 8
        assert outputs.shape == (2, tokens, 8)
    assert model.training
    few = collect_heads(model, [PAIRS, PAIRS], tokens=5)
    assert {tuple(outputs.shape) for outputs in few.values()} == {(2, 5, 8)}


def test_heads_are_collected_without_dropout():
    model = language_model(dropout=0.5).train()
    words = torch.arange(3, 11).view(2, 4)
    first, second = (collect_heads(model, [words]) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_models_are_compared_by_their_joined_heads():
    """By the canonical correlations of all columns: roots of the eigenvalues of inv(Sxx) Sxy inv(Syy) Syx."""
    first, second = draw(2, 60, 3), draw(1, 60, 4, seed=1)
    second[0, :, :2] += first[1, :, :2]
    x = torch.cat(list(first), 1)
    x, y = x - x.mean(0), second[0] - second[0].mean(0)
    squares = torch.linalg.eigvals(
        torch.linalg.solve(x.mT @ x, x.mT @ y) @ torch.linalg.solve(y.mT @ y, y.mT @ x)
    ).real
    expected = squares.sort(descending=True).values[:4].sqrt()
    curves = model_similarity({"a": first}, {"a": second}, threshold=1.0)
    torch.testing.assert_close(curves["a"], expected)


def reversals(count, seed):
    rows = torch.randint(3, 12, (count, 4), generator=torch.Generator().manual_seed(seed)).tolist()
    return [(tuple(row), (*row[::-1], 2)) for row in rows]


def test_a_translator_learns_to_reverse_and_needs_its_memory_for_it():
    train, valid = reversals(400, 0), reversals(60, 1)
    config = TranslatorConfig(vocabulary=12, width=32, layers=1, heads=2, hidden=64, dropout=0.0)
    model = Translator(config, seed=1)
    train_translator(model, train, valid, Recipe(epochs=16, batch=20, lr=5e-3, warmup=20), seed=0)

    def share():
        ((items, batch),) = pair_batches(valid, size=60)
        written = decoding.best(decoding.greedy(model, batch, longest=6))
        right = [list(ids) == list(valid[item][1][:-1]) for item, ids in zip(items, written, strict=True)]
        return sum(right) / len(right)

    assert share() > 0.9
    with switch_off(model, {"decoder.layers.0.memory_attention": [0, 1]}):
        assert share() < 0.1


def test_padding_takes_no_part_in_the_training_of_a_translator_or_in_its_similarities():
    model = translator()
    pairs = [((5, 6, 7, 8), (6, 7, 2)), ((9,), (8, 9, 10, 11, 2))]
    heads = translation_heads(model, pairs, tokens=100)
    assert {name.split(".")[0]: outputs.shape[1] for name, outputs in heads.items()} == {
        "encoder": 5,
        "decoder": 8,
    }
    alone = [translation_heads(model, [pair], tokens=100) for pair in pairs]
    for name, outputs in heads.items():
        apart = torch.cat([each[name] for each in alone], 1)
        order = [outputs.flatten(2)[0].sub(row).abs().sum(-1).argmin() for row in apart[0]]
        torch.testing.assert_close(outputs[:, order], apart)
    mean = torch.stack([hsic_penalty(outputs) for outputs in heads.values()]).mean()
    plain = valid_loss(model, pairs)
    recipe = Recipe(epochs=1, batch=2, warmup=1, hsic=2.0)
    history = train_translator(model, pairs, pairs, recipe, seed=0)
    assert history.rows[0]["loss"] == pytest.approx(plain + 2 * float(mean), rel=1e-5)


def test_loss_on_valid_counts_every_token_once():
    model = translator().eval()
    pairs = [((5, 6), (6, 2)), ((7,), (8, 9, 10, 2)), ((8, 9, 5), (2,))]
    whole = valid_loss(model, pairs)
    assert valid_loss(model, pairs, size=1) == pytest.approx(whole, abs=1e-5)
    means = [valid_loss(model, [pair]) * len(pair[1]) for pair in pairs]
    assert whole == pytest.approx(sum(means) / 7, abs=1e-5)


def test_the_orthogonality_penalty_makes_values_orthonormal():
    """Learning: the spectral norm falls on other text, and hardly without the penalty."""
    rows = torch.randint(3, 12, (60, 9), generator=torch.Generator().manual_seed(0))
    norms = {}
    for weight in (0.0, 1.0):
        model = language_model(heads=2)
        recipe = Recipe(epochs=12, batch=8, lr=1e-2, warmup=1, orthogonality=weight)
        train_language_model(model, rows[:40], rows[40:], recipe, seed=0)
        with record_projections(model) as projections, torch.no_grad():
            model(rows[40:])
        norms[weight] = sum(float(srip(flat_tokens(p.values)).mean()) for p in projections.values()) / 2
    assert norms[1.0] < 0.5 * norms[0.0]


def test_the_hsic_penalty_makes_heads_differ():
    """Learning: what the regulariser is for, on a text of repeated words."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(3, 12, (40, 1), generator=generator) + torch.arange(9) % 3
    rows = rows.clamp(max=11)
    similarity = {}
    for name, settings in {"plain": {}, "hsic": {"hsic": 1.0}}.items():
        model = language_model(heads=4)
        recipe = Recipe(epochs=8, batch=8, lr=5e-3, warmup=1, **settings)
        history = train_language_model(model, rows, rows, recipe, seed=0)
        assert history.rows[-1]["valid_loss"] < 0.6 * math.log(12)
        heads = text_heads(model, rows, tokens=300)
        similarity[name] = sum(mean_of_pairs(compare_heads(h).cka_debiased) for h in heads.values()) / 2
    assert similarity["hsic"] < 0.7 * similarity["plain"]
