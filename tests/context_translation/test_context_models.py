"""Each system against a slow reference written from the equations; what masks and caches must not change."""

from dataclasses import replace

import pytest
import torch
from context_translation import reference

from reasonlib.context_translation.data.datasets import texts
from reasonlib.context_translation.data.encoding import Words, collate, encode
from reasonlib.context_translation.models.cache import CachedTranslator
from reasonlib.context_translation.models.decoding import translate, translate_batch
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.translator import SYSTEMS, Translator, target_scores
from reasonlib.nn import decoding
from reasonlib.parallel import simulate
from reasonlib.training import parameter_count

DOCUMENTS = simulate(3, seed=5)
TOKENS = Words.of(texts(DOCUMENTS))
SENTENCES = encode(DOCUMENTS, TOKENS, context=3)
CONTEXTUAL = [name for name in SYSTEMS if name != "no-context"]


def translator(system, **sizes):
    config = {"width": 8, "layers": 2, "heads": 2, "hidden": 12, "dropout": 0.0} | sizes
    model = Translator(system, SystemConfig(vocabulary=len(TOKENS), **config), seed=1).double().eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():  # biases and norms that are not zeros and ones
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    for module in model.modules():
        if hasattr(module, "table") and isinstance(module.table, torch.Tensor):
            module.table = reference.sinusoidal_positions(64, config["width"]).double()
    return model


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_computes_its_equations(system):
    model, chosen = translator(system), [SENTENCES[4], SENTENCES[13], SENTENCES[27]]
    batch = collate(chosen)
    made = model(batch).logits
    for row, sentence in enumerate(chosen):
        given = [1, *sentence.target[:-1]]
        expected = reference.logits(model, sentence.source, sentence.context, given)
        torch.testing.assert_close(made[row, : len(given)], expected)


@pytest.mark.parametrize("system", ["hce", "hmce"])
def test_the_document_vector_is_the_mean_of_all_words(system):
    model = translator(system, document=True)
    chosen = [encode(DOCUMENTS, TOKENS, context=3, whole=True)[number] for number in (4, 13, 27)]
    made = model(collate(chosen)).logits
    for row, sentence in enumerate(chosen):
        given = [1, *sentence.target[:-1]]
        expected = reference.logits(model, sentence.source, sentence.context, given, sentence.document)
        torch.testing.assert_close(made[row, : len(given)], expected)


@pytest.mark.parametrize(
    ("system", "document"), [*((name, False) for name in SYSTEMS), ("hce", True), ("hmce", True)]
)
def test_padding_and_other_sentences_change_nothing(system, document):
    """Also for the first sentences of a document, which have less context than their neighbours, or none."""
    model = translator(system, document=document)
    sentences = encode(DOCUMENTS, TOKENS, context=3, whole=document)
    batch = collate([*sentences[:8], *sentences[12:15]])
    among, scores = model(batch), target_scores(model, batch)
    for row in (0, 1, 2, 5):
        single = collate([sentences[row]])
        alone = model(single)
        torch.testing.assert_close(target_scores(model, single)[0], scores[row])
        for name in ("words", "sentences", "gate"):
            expected, made = (getattr(some.encoding, name) for some in (alone, among))
            assert (expected is None) == (made is None)
            if made is not None:
                part = tuple(slice(size) for size in expected.shape[1:])
                torch.testing.assert_close(made[row][part], expected[0])


@pytest.mark.parametrize("system", SYSTEMS)
def test_token_by_token_is_the_same_as_at_once(system):
    model, batch = translator(system), collate(SENTENCES[:6])
    with torch.no_grad():
        torch.testing.assert_close(
            decoding.score(model, batch, batch.target), target_scores(model, batch).cpu()
        )


@pytest.mark.parametrize("system", CONTEXTUAL)
def test_attention_to_the_context_is_a_distribution(system):
    encoding = translator(system)(collate(SENTENCES[5:8])).encoding
    total = encoding.words.sum((2, 3))
    assert encoding.words.shape[:3] == encoding.sentences.shape
    torch.testing.assert_close(encoding.words.sum(3), encoding.sentences)
    if system == "concatenation":  # the rest goes to the source
        assert bool((total < 1).all())
    else:
        torch.testing.assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("system", SYSTEMS)
def test_attention_is_not_kept_while_a_model_trains(system):
    made = translator(system).train()(collate(SENTENCES[5:8]))
    assert made.attention is made.encoding.words is made.encoding.sentences is None


@pytest.mark.parametrize("system", CONTEXTUAL)
def test_the_context_and_its_order_matter(system):
    model, batch = translator(system), collate(SENTENCES[5:8])
    other = batch.with_context(batch.context.flip(1))
    assert not torch.allclose(target_scores(model, batch), target_scores(model, other))


def test_without_context_nothing_of_it_matters():
    model, batch = translator("no-context"), collate(SENTENCES[5:8])
    other = batch.with_context(batch.context.flip(1))
    assert torch.equal(target_scores(model, batch), target_scores(model, other))


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_first_sentence_of_a_document_has_no_context_and_finite_scores(system):
    scores = target_scores(translator(system), collate([SENTENCES[0]]))
    assert bool(torch.isfinite(scores).all())


@pytest.mark.parametrize(
    ("system", "millions"),
    [("no-context", 61.0), ("concatenation", 61.0), ("dct", 98.7), ("hce", 66.7), ("hmce", 68.8)],
)
def test_parameters_at_the_sizes_of_the_source(system, millions):
    with torch.device("meta"):
        model = Translator(system, SystemConfig(vocabulary=16_430))
    assert parameter_count(model) / 1e6 == pytest.approx(millions, abs=0.1)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_sentence_is_translated_alone_as_in_a_batch(system):
    model, chosen = translator(system), [SENTENCES[number] for number in (0, 1, 5, 13, 27)]
    batch = collate(chosen)
    for beam in (1, 3):
        together = translate_batch(model, batch, beam=beam, longest=6)
        assert together == [translate_batch(model, collate([s]), beam=beam, longest=6)[0] for s in chosen]


@pytest.mark.parametrize("system", ["concatenation", "hmce"])
def test_a_beam_finds_nothing_less_likely_than_greedy(system):
    model, batch = translator(system), collate(SENTENCES[:4])
    greedy = decoding.greedy(model, batch, longest=6)
    beam = decoding.beam_search(model, batch, width=4, longest=6)
    assert bool((beam.scores[:, 0] >= greedy.scores[:, 0] - 1e-9).all())
    assert translate_batch(model, batch, longest=6) == decoding.best(greedy)


def test_translations_come_in_the_order_of_the_sentences():
    model = translator("hce")
    together = translate(model, SENTENCES, TOKENS, longest=6, size=7)
    assert together[11] == translate(model, [SENTENCES[11]], TOKENS, longest=6)[0]


@pytest.mark.parametrize("system", ["hce", "hmce"])
def test_the_document_vector_is_one_more_sentence(system):
    model = translator(system, document=True)
    whole = collate(encode(DOCUMENTS[:1], TOKENS, context=3, whole=True)[4:6])
    scores = target_scores(model, whole)
    assert bool(torch.isfinite(scores).all())
    changed = replace(whole, document=whole.document.flip(1).contiguous())
    torch.testing.assert_close(target_scores(model, changed), scores)  # a mean knows no order
    changed.document[0] = whole.document[0, 0]
    assert not torch.allclose(target_scores(model, changed)[0], scores[0])
    with pytest.raises(ValueError, match="the batch has no document tokens; encode it with whole=True"):
        model(collate(SENTENCES[4:6]))


@pytest.mark.parametrize("system", ["hce", "hmce"])
def test_a_small_cache_with_a_document_vector_changes_nothing(system):
    model = translator(system, document=True)
    cached = CachedTranslator(model, size=2)  # less than the context of a batch
    for position in range(10):  # a sentence of each document, side by side
        batch = collate(encode(DOCUMENTS, TOKENS, context=3, whole=True)[position::10])
        expected = model.encode(batch)
        for name in ("memory", "words", "sentences"):
            torch.testing.assert_close(getattr(cached.encode(batch), name), getattr(expected, name))


@pytest.mark.parametrize("system", ["hce", "hmce"])
def test_a_cache_changes_nothing_and_encodes_each_sentence_once(system):
    model = translator(system)
    cached = CachedTranslator(model, size=100)
    for sentences in (SENTENCES[:5], SENTENCES[5:10], SENTENCES[10:20]):
        batch = collate(sentences, context=3)
        for name in ("memory", "context", "words"):
            made, expected = getattr(cached.encode(batch), name), getattr(model.encode(batch), name)
            assert (made is None) == (expected is None)
            if made is not None:
                torch.testing.assert_close(made, expected)
    distinct = {row for sentence in SENTENCES[:20] for row in sentence.context}
    assert cached.misses == len(distinct) < cached.hits
    batch = collate(SENTENCES[4:9])
    assert decoding.greedy(cached, batch, longest=5).tokens.equal(
        decoding.greedy(model, batch, longest=5).tokens
    )


def test_only_systems_that_read_sentences_alone_have_a_cache():
    with pytest.raises(ValueError, match="only hce and hmce can keep their context, got 'han'"):
        CachedTranslator(translator("han"))


def test_bad_configurations():
    with pytest.raises(ValueError, match="width must be even, got 7"):
        SystemConfig(vocabulary=9, width=7, heads=7)
    with pytest.raises(ValueError, match="vocabulary and longest must be at least 1, got 0"):
        SystemConfig(vocabulary=0)
    with pytest.raises(ValueError, match=r"system must be one of no-context, .*, got 'rnn'"):
        Translator("rnn", SystemConfig(vocabulary=9))
