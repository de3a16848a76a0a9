"""BERT in miniature: stories, the hidden words, the model against transformers', pre-training, shipping."""

import random

import pytest
import torch
from transformers import BertConfig as TheirConfig
from transformers import BertForPreTraining

from reasonlib.errors import UserError
from reasonlib.transformer.data.masking import next_sentence_pairs
from reasonlib.transformer.data.pairs import (
    MASK,
    cloze_pairs,
    pack,
    question_pairs,
    statement_pairs,
    story_vocabulary,
)
from reasonlib.transformer.data.stories import (
    HE,
    OBJECTS,
    PLACES,
    SHE,
    WORDS,
    make_statements,
    report,
    simulate_stories,
)
from reasonlib.transformer.experiments.finetune import fine_tune, pair_accuracy
from reasonlib.transformer.experiments.pretrain import PretrainingRecipe, masked_accuracy, pretrain
from reasonlib.transformer.models import pretrained
from reasonlib.transformer.models.bert import Bert, BertConfig, Classifier, Cloze, attention_weights

VOCABULARY = story_vocabulary()


# Stories


def test_every_answer_follows_from_the_sentence_it_names():
    for story in simulate_stories(300, reports=2, seed=1):
        support = story.sentences[story.support]
        assert story.answer in support or (story.kind == "holder" and support[1] in ("she", "he"))
        about = {"person": story.question[2], "holder": story.question[3], "thing": story.question[2]}[
            story.kind
        ]
        later = [
            sentence for sentence in story.sentences[story.support + 1 :] if sentence[1] not in ("is", "has")
        ]
        if story.kind == "person":
            assert story.answer in PLACES
            assert not any(sentence[0] == about and sentence[-2] in PLACES for sentence in later)
        if story.kind == "holder":
            assert not any(about in sentence for sentence in later)
        assert set(story.words) <= set(WORDS)


def test_she_and_he_are_whoever_acted_just_before():
    seen = 0
    for story in simulate_stories(200, seed=2):
        actor = None
        for sentence in story.sentences:
            if sentence[0] == "then":
                assert actor in (SHE if sentence[1] == "she" else HE)
                seen += 1
            else:
                actor = sentence[0]
    assert seen > 50


def test_stories_repeat_and_reports_are_true():
    assert simulate_stories(20, seed=3) == simulate_stories(20, seed=3) != simulate_stories(20, seed=4)
    stories = simulate_stories(100, reports=3, seed=3)
    for story in stories:
        reports = [sentence for sentence in story.sentences if sentence[1] in ("is", "has")]
        assert 1 <= len(reports) <= 3 and len(set(reports)) == len(reports)
        mine = report(story.kind, story.question[3 if story.kind == "holder" else 2], story.answer)
        facts = {sentence[:-2]: sentence[-2] for sentence in reports}
        assert facts.get(mine[:-2], mine[-2]) == mine[-2] or story.kind != "person"
    with pytest.raises(ValueError, match="stories must be at least 1, got 0"):
        simulate_stories(0)
    with pytest.raises(ValueError, match="reports must be at least 0, got -1"):
        simulate_stories(1, reports=-1)
    with pytest.raises(UserError, match="there is no question 'why'; there are: person, holder, thing"):
        simulate_stories(1, kinds=("why",))


def test_half_of_the_statements_are_true_and_the_false_ones_are_false():
    stories = simulate_stories(400, seed=5)
    claims = make_statements(stories, seed=1)
    assert sum(claim.true for claim in claims) / 400 == pytest.approx(0.5, abs=0.08)
    for story, claim in zip(stories, claims, strict=True):
        about = story.question[3 if story.kind == "holder" else 2]
        assert (claim.statement == report(story.kind, about, story.answer)) == claim.true


# Hidden words and next sentences


def test_half_of_the_second_parts_are_exchanged():
    texts = [[(f"{number}", f"{part}") for part in range(4)] for number in range(400)]
    parts = next_sentence_pairs(texts, random.Random(0))
    for first, second, continues in parts:
        assert (first[0] == second[0]) == continues
        assert not continues or int(second[1]) == int(first[-1]) + 1
    assert sum(continues for *_, continues in parts) / 400 == pytest.approx(0.5, abs=0.08)
    assert all(continues for *_, continues in next_sentence_pairs(texts, random.Random(0), exchanged=0.0))
    with pytest.raises(ValueError, match="texts must be at least 2"):
        next_sentence_pairs(texts[:1], random.Random(0))


# The model


def test_the_encoder_is_transformers_bert():
    torch.manual_seed(0)
    config = BertConfig(vocabulary=len(VOCABULARY), longest=32, width=16, heads=2, hidden=24)
    ours = Bert(config, seed=3).eval()
    theirs = BertForPreTraining(
        TheirConfig(
            vocab_size=config.vocabulary,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=32,
            layer_norm_eps=1e-12,
        )
    ).eval()
    names = {
        "words": "bert.embeddings.word_embeddings",
        "segments": "bert.embeddings.token_type_embeddings",
        "norm": "bert.embeddings.LayerNorm",
        "pool": "bert.pooler.dense",
        "follows": "cls.seq_relationship",
        "guess": "cls.predictions.transform.dense",
        "guess_norm": "cls.predictions.transform.LayerNorm",
    }
    for layer in range(2):
        mine, other = f"encoder.layers.{layer}.", f"bert.encoder.layer.{layer}."
        names |= {
            f"{mine}attention.query": f"{other}attention.self.query",
            f"{mine}attention.key": f"{other}attention.self.key",
            f"{mine}attention.value": f"{other}attention.self.value",
            f"{mine}attention.output": f"{other}attention.output.dense",
            f"{mine}attention_residual.norm": f"{other}attention.output.LayerNorm",
            f"{mine}feed_forward.wide": f"{other}intermediate.dense",
            f"{mine}feed_forward.narrow": f"{other}output.dense",
            f"{mine}feed_forward_residual.norm": f"{other}output.LayerNorm",
        }
    state = {
        "bert.embeddings.position_embeddings.weight": ours.positions.table,
        "cls.predictions.bias": ours.guess_bias,
    }
    for name, tensor in ours.state_dict().items():
        module, _, kind = name.rpartition(".")
        if module in names:
            state[f"{names[module]}.{kind}"] = tensor
    missing = theirs.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys
    assert all("decoder" in key or "position_ids" in key for key in missing.missing_keys)
    pairs = pack([(story.words, story.question) for story in simulate_stories(4, longest=3)], VOCABULARY)
    with torch.no_grad():
        mine = ours(pairs)
        other = theirs(
            input_ids=pairs.tokens, token_type_ids=pairs.segments, attention_mask=(pairs.tokens != 0).long()
        )
    real = pairs.tokens != 0
    torch.testing.assert_close(mine.mlm_logits[real], other.prediction_logits[real], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(mine.nsp_logits, other.seq_relationship_logits, atol=1e-5, rtol=1e-4)


def test_pairs_are_packed_and_sizes_checked():
    pairs = pack([(("mary", "sings"), ()), (("mary",), ("is", "there"))], VOCABULARY)
    mary, sings = VOCABULARY.id_of("mary"), 1
    assert pairs.tokens[0].tolist() == [2, mary, sings, 3, 0, 0]
    assert pairs.segments[1].tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="a pair must have at most 4 tokens, got 6"):
        Bert(BertConfig(vocabulary=len(VOCABULARY), longest=4, width=8, heads=2)).encode(pairs)
    with pytest.raises(ValueError, match="width must be a multiple of heads=3, got 8"):
        BertConfig(vocabulary=5, width=8, heads=3)
    with pytest.raises(ValueError, match="there is nothing to learn"):
        PretrainingRecipe(masked=False, following=False)


# Learning


def test_hidden_words_are_learnt_and_repeat():
    config = BertConfig(vocabulary=len(VOCABULARY), width=32, heads=2, hidden=32)
    texts = [story.sentences for story in simulate_stories(300, shortest=1, longest=2, reports=1, seed=6)]

    def trained(**how):
        model = Bert(config, seed=1)
        settings = PretrainingRecipe(steps=100, batch=16, lr=5e-3, **how)
        history = pretrain(model, lambda number: texts, VOCABULARY, settings, seed=2, progress=False)
        return model, history

    (model, history), (_, repeated) = trained(), trained()
    assert history.column("loss") == repeated.column("loss") and len(history) == 10
    before, after = (
        masked_accuracy(encoder, texts[:100], VOCABULARY)["words"]
        for encoder in (Bert(config, seed=1), model)
    )
    assert before < 0.1 and after > 0.4  # grammar first: which words stand where
    untouched = Bert(config, seed=1).pool.bias
    assert torch.equal(trained(following=False)[0].pool.bias, untouched)
    assert not torch.equal(model.pool.bias, untouched)


def test_fine_tuning_learns_what_it_is_shown():
    stories = simulate_stories(60, shortest=1, longest=2, seed=8)
    answers = question_pairs(stories, VOCABULARY)
    statements = statement_pairs(make_statements(stories), VOCABULARY)
    assert answers.choices == len(VOCABULARY) and statements.choices == 2
    for task, gain in ((answers, 0.2), (statements, 0.1)):
        bert = Bert(BertConfig(vocabulary=len(VOCABULARY), width=32, heads=2, hidden=32), seed=1)
        model = Classifier(bert, task.choices, seed=1)
        before = pair_accuracy(model, task)
        fine_tune(model, task, steps=120, batch=30, lr=5e-3, valid=task, progress=False)
        assert pair_accuracy(model, task) > before + gain
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        fine_tune(model, statements, steps=0)


def test_a_gap_is_filled_by_the_head_that_was_pre_trained():
    stories = simulate_stories(30, shortest=1, longest=2, seed=8)
    gaps = cloze_pairs(stories, VOCABULARY)
    assert bool(((gaps.pairs.tokens == MASK).sum(1) == 1).all()) and gaps.choices == len(VOCABULARY)
    assert [VOCABULARY.tokens[index] for index in gaps.classes] == [story.answer for story in stories]
    model = Cloze(Bert(BertConfig(vocabulary=len(VOCABULARY), width=32, heads=2, hidden=32), seed=1))
    with torch.no_grad():
        everywhere = model.bert(gaps.pairs).mlm_logits[gaps.pairs.tokens == MASK]
        torch.testing.assert_close(model(gaps.pairs), everywhere)
    assert {name.partition(".")[0] for name, _ in model.named_parameters()} == {"bert"}  # nothing new
    before = pair_accuracy(model, gaps)
    fine_tune(model, gaps, steps=120, batch=30, lr=5e-3, progress=False)
    assert pair_accuracy(model, gaps) > before + 0.4


# What ships


def test_an_encoder_is_kept_as_it_was(tmp_path):
    model = Bert(BertConfig(vocabulary=len(VOCABULARY), width=16, heads=2, hidden=16), seed=1).eval()
    path = pretrained.save_encoder(model, VOCABULARY, tmp_path / "e.safetensors", {"steps": 1}, half=False)
    encoder = pretrained.load_encoder(path)
    assert encoder.made == {"steps": 1} and encoder.vocabulary == VOCABULARY
    inspection = pretrained.inspect_text(encoder, "Mary went to the [MASK].", "She is in the garden.")
    assert inspection.tokens[:3] == ("[CLS]", "mary", "went") and inspection.weights.shape[:2] == (2, 2)
    assert torch.allclose(inspection.weights.sum(-1), torch.ones(1))
    assert inspection.guesses[0].position == 5 and 0 <= inspection.follows <= 1
    assert inspection.guesses[0].words[0][1] >= inspection.guesses[0].words[4][1]
    with torch.no_grad():
        direct = model(
            pack(
                [(pretrained.split("mary went to the _ ."), pretrained.split("she is in the garden."))],
                VOCABULARY,
            )
        )
    torch.testing.assert_close(
        inspection.guesses[0].words[0][1],
        float(direct.mlm_logits[0, 5].softmax(-1).max()),
        atol=1e-6,
        rtol=1e-5,
    )
    with pytest.raises(UserError, match="the text must not be empty"):
        pretrained.inspect_text(encoder, "")
    with pytest.raises(UserError, match="the text must have at most 96 tokens, got"):
        pretrained.inspect_text(encoder, "mary " * 200)
    with pytest.raises(UserError, match=r"there is no story encoder at .*give the path"):
        pretrained.load_encoder(tmp_path / "none.safetensors")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError):
        pretrained.load_encoder(path)
    with pytest.raises(ValueError, match="vocabulary must have the model's"):
        pretrained.save_encoder(model, story_vocabulary(["more"]), path, {})


def test_the_places_asked_for_can_be_chosen():
    texts = [story.sentences for story in simulate_stories(20, reports=1, seed=6)]
    model = Bert(BertConfig(vocabulary=len(VOCABULARY), width=16, heads=2, hidden=16), seed=1)
    places = {}

    def objects(words, position):
        places[words[position]] = True
        return words[position] in OBJECTS

    measured = masked_accuracy(model, texts, VOCABULARY, places=objects)
    assert 0 <= measured["words"] <= 1 and "the" in places
    assert attention_weights(model, pack([(("mary",), ())], VOCABULARY)).shape == (2, 1, 2, 3, 3)
