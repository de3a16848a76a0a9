"""What training and experiments must do: a context system learns what its ablation cannot."""

import math
from types import SimpleNamespace

import pytest
import torch

from reasonlib.context_translation.data.datasets import Splits, load, texts
from reasonlib.context_translation.data.encoding import Words, batches, encode
from reasonlib.context_translation.experiments import CORPUS, COST, EXPERIMENTS, SIMULATED, measures
from reasonlib.context_translation.experiments.corpus import subwords
from reasonlib.context_translation.experiments.cost import (
    exponent,
    growth_exponent,
    random_batch,
    saved_bytes,
)
from reasonlib.context_translation.experiments.measures import contrastive
from reasonlib.context_translation.experiments.train import Recipe, Trained, keep_helpful, train
from reasonlib.context_translation.models.parts import Encoding, SystemConfig
from reasonlib.context_translation.models.translator import SYSTEMS, Translator, translation_loss
from reasonlib.parallel import Deciding, Document, SentencePair, SimulatorConfig, simulate
from reasonlib.tracking.runner import run
from reasonlib.training.settings import construct


def learn(system, *, goal, most=60, distance=1, document=False, count=150):
    """Train on greetings and questions until the contrastive accuracy on other documents reaches the goal.

    A system reads one sentence of context; the greeting stands `distance` sentences before the question.
    """
    config = SimulatorConfig(sentences=4, helpful=0.25, distance=(distance, distance), kinds=("formality",))
    train, test = simulate(count, seed=1, config=config), simulate(60, seed=2, config=config)
    tokens = Words.of(texts(train))
    recipe = Recipe(
        system=system, context=1, document=document, width=32, layers=1, heads=2, hidden=32, dropout=0.0
    )
    trained = Trained(recipe.model(len(tokens), seed=0), tokens, recipe, None)
    encoded = [
        sentence
        for sentence, pair in zip(
            encode(train, tokens, context=1, whole=document),
            (p for d in train for p in d.pairs),
            strict=True,
        )
        if pair.helpful
    ]
    tested = trained.encode(test)
    pairs = [pair for document in test for pair in document.pairs]
    optimiser = torch.optim.Adam(trained.model.parameters(), lr=4e-3)
    accuracy = 0.0
    for epoch in range(most):
        trained.model.train()
        for _, batch in batches(encoded, size=25, seed=0, epoch=epoch):
            optimiser.zero_grad()
            translation_loss(trained.model, batch).backward()
            optimiser.step()
        trained.model.eval()
        if epoch >= 9:
            accuracy = contrastive(trained, tested, pairs)["contrastive_accuracy"]
        if accuracy >= goal:
            break
    return accuracy


def test_unhelpful_sentences_are_dropped_as_context_of_others_they_stay():
    documents = simulate(40, seed=1)
    sentences = encode(documents, Words.of(texts(documents)))
    kept = keep_helpful(sentences, documents, share=0.25)
    labels = [documents[n].pairs[position].helpful for n, position in (encoded.position for encoded in kept)]
    assert sum(labels) == 120 and 0.15 * 280 < labels.count(False) < 0.35 * 280
    assert all(sentence in sentences for sentence in kept)
    assert keep_helpful(sentences, documents, share=1.0) == sentences
    unlabelled = [Document(tuple(SentencePair(p.source, p.target) for p in d.pairs)) for d in documents]
    assert keep_helpful(sentences, unlabelled, share=0.0) == sentences
    with pytest.raises(ValueError, match="unhelpful must be between 0 and 1"):
        Recipe(unhelpful=1.5)


def test_the_hierarchical_encoder_learns_the_form_of_address():
    assert learn("hce", goal=0.95) >= 0.95


def test_without_context_the_form_of_address_stays_a_guess():
    assert learn("no-context", goal=0.95, most=12) < 0.75  # 60 sentences, one coin each


@pytest.mark.parametrize("system", ["hce", pytest.param("hmce", marks=pytest.mark.slow)])
def test_the_document_vector_tells_what_the_context_sentence_does_not(system):
    assert learn(system, goal=0.8, distance=2, document=True, count=600) >= 0.8
    assert learn(system, goal=0.8, distance=2, most=12) < 0.75


@pytest.mark.slow
@pytest.mark.parametrize("system", [name for name in SYSTEMS if name not in ("no-context", "hce")])
def test_every_context_system_learns_the_form_of_address(system):
    assert learn(system, goal=0.95) >= 0.95


def test_a_run_has_the_metrics_of_helpful_and_unhelpful_sentences():
    (record,) = run(SIMULATED, rows="hce", scale="smoke", device="cpu")
    for name in ("sentence_accuracy", "bleu", "chrf"):
        assert {name, f"{name}_helpful", f"{name}_unhelpful"} <= set(record.metrics)
    assert {"contrastive_accuracy", "attention.sentence", "attention.word"} <= set(record.metrics)
    assert record.steps.complete and 0 <= record.metrics["contrastive_accuracy"] <= 1


def test_groups_of_sentences_are_measured_apart(monkeypatch):
    """A system that gets exactly the helpful sentences right, and these only in their own context."""
    documents = simulate(6, seed=4)
    tokens = Words.of(texts(documents))
    own = {sentence.position: sentence for sentence in encode(documents, tokens)}

    def translate(sentences):
        return [
            tokens.decode(sentence.target)
            if sentence.context == own[sentence.position].context
            and documents[sentence.position[0]].pairs[sentence.position[1]].helpful
            else "nothing right"
            for sentence in sentences
        ]

    for name in ("contrastive", "attention"):
        monkeypatch.setattr(measures, name, lambda *given: {})
    trained = SimpleNamespace(
        encode=lambda documents: encode(documents, tokens), translate=translate, recipe=Recipe()
    )
    metrics, details = measures.measure(trained, documents)
    assert metrics["sentence_accuracy"] == pytest.approx(0.3)
    assert metrics["sentence_accuracy_helpful"] == metrics["sentence_accuracy_helpful.distance-1"] == 1
    assert metrics["sentence_accuracy_unhelpful"] == 0 < metrics["bleu_helpful"]
    assert metrics["bleu_gap"] == pytest.approx(metrics["bleu_unhelpful"] - 100)
    assert metrics["sentence_accuracy_helpful.other-document"] < 0.2
    assert details["sentences"]["sentence_accuracy_helpful"] == 18
    assert details["intervals"]["sentence_accuracy_helpful"] == (1, 1)


@pytest.mark.parametrize(("far", "sentence", "word"), [(0.3, 1.0, 0.6), (0.1, 0.0, 1 / 3)])
def test_attention_is_held_against_the_label(far, sentence, word):
    """By hand: of four source words one looks at the lamp, two sentences back, and one at the snow."""
    document = Document(
        (
            SentencePair("tom found the lamp .", "x"),
            SentencePair("snow fell .", "x"),
            SentencePair("it was old .", "x", True, Deciding("pronoun", "x", "lamp", 2, "y")),
        )
    )
    words = torch.zeros(1, 4, 2, 6)
    words[0, 2, 1, 4], words[0, 2, 0, 1], words[0, 0, 0, 2] = far, 0.2, 0.05  # the mark is word 0
    encoding = Encoding(torch.zeros(1, 4, 8), torch.ones(1, 1, 4) > 0, words=words, sentences=words.sum(3))
    tokens = Words.of(texts([document]))
    model = SimpleNamespace(
        system="hce",
        target=SimpleNamespace(table=torch.nn.Embedding(1, 1)),
        encode=lambda batch: encoding,
    )
    trained = SimpleNamespace(model=model, tokens=tokens)
    made = measures.attention(trained, encode([document], tokens), document.pairs)
    assert made == pytest.approx({"attention.sentence": sentence, "attention.word": word})


def test_real_text_runs_on_subwords():
    (record,) = run(CORPUS, rows="concatenation", scale="smoke", data="simulated", device="cpu")
    assert {"bleu", "chrf"} <= set(record.metrics) and record.steps.complete


def test_sixteen_bits_round_the_products_and_learn_as_well():
    splits = load("simulated", train=12, valid=4, test=1)
    tokens = Words.of(texts(splits.train))
    losses = []
    for half in (False, True):
        recipe = Recipe(width=16, layers=1, heads=2, hidden=16, dropout=0.0, epochs=3, lr=1e-2, half=half)
        trained = train(recipe, splits, tokens)
        assert next(trained.model.parameters()).dtype == torch.float32
        losses.append([row["loss"] for row in trained.history.rows])
    assert losses[0] != losses[1] and losses[1] == pytest.approx(losses[0], rel=0.05)
    assert losses[1][-1] < 0.9 * losses[1][0]


def test_word_pieces_are_learned_from_the_training_part_alone():
    train, other = (
        (Document((SentencePair(text, text),) * 20),) for text in ("a lighthouse", "zqxj wkvw zqxj wkvw")
    )
    alone = subwords(Splits(train, train, train), 300)
    assert subwords(Splits(train, other, other), 300).tokenizer.to_str() == alone.tokenizer.to_str()
    assert len(alone.encode("lighthouse")) == 1 and len(alone.encode("zqxj")) > 3


def test_settings_of_every_row_make_a_recipe():
    for experiment in EXPERIMENTS.values():
        for settings in experiment.rows.values():
            recipe = construct(Recipe, settings)
            assert recipe.system == settings["system"] in SYSTEMS


def test_bad_recipes():
    with pytest.raises(ValueError, match="epochs must be at least 1, got 0"):
        Recipe(epochs=0)
    with pytest.raises(ValueError, match="context must be at least 0, got -1"):
        Recipe(context=-1)


# Cost


def growth(system, counts):
    config = SystemConfig(vocabulary=20, width=16, layers=1, heads=4, hidden=16, dropout=0.0)
    model = Translator(system, config)
    batches = [
        random_batch(rows=1, length=10, sentences=count, context_length=10, vocabulary=20) for count in counts
    ]
    return growth_exponent(counts, [saved_bytes(model, batch) for batch in batches])


def test_memory_grows_as_the_source_says():
    """HCE's memory is linear in the number of context sentences, TwC's tends to quadratic (section 3.2)."""
    counts = (16, 32, 64)
    assert 1 < growth("hce", counts) < 1.2  # the vectors of the sentences attend to one another
    assert 1.7 < growth("concatenation", counts) < 2
    assert growth("no-context", counts) == 0


def test_noise_is_no_slow_growth():
    """An increment that is lost gives no exponent, where 0 would speak for every slow growth."""
    assert math.isnan(growth_exponent((4, 8, 16), [1.0, 2.0, 1.9]))
    assert math.isnan(growth_exponent((4, 8, 16), [1.0, 1.0, 1.5]))
    assert growth_exponent((4, 8, 16), [3.0, 3.0, 3.0]) == 0


def test_an_exponent_is_a_slope():
    assert exponent((1, 2, 4), [3.0, 6.0, 12.0]) == pytest.approx(1)
    assert exponent((1, 2, 4), [5.0, 5.0, 5.0]) == pytest.approx(0)


def test_the_cost_of_a_system_is_counted_and_timed():
    (record,) = run(COST, rows="hce", scale="smoke", device="cpu")
    assert record.metrics["parameters_millions"] == pytest.approx(66.7, abs=0.1)
    assert {"training_speed_ratio", "inference_speed_ratio", "cached_speed_ratio"} <= set(record.metrics)
    timed = {f"seconds_exponent.{name}" for name in ("sentences", "length")}  # so small, times may be noise
    assert all(math.isfinite(record.metrics[name]) for name in set(record.metrics) - timed)
