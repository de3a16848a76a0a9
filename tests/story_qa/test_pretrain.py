"""Pre-training: hidden words by 80/10/10, next sentences half and half, and a tiny BERT that learns both."""

import random
from functools import partial

import pytest
import torch
from killing import rows, same, train_until_killed, weights
from torch.nn import functional

from reasonlib import training
from reasonlib.story_qa.data.example import TASKS, Example
from reasonlib.story_qa.data.masking import (
    MaskedBatch,
    next_sentence_pairs,
    tell_with_answers,
    word_tokenizer,
)
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import StoryTokens
from reasonlib.story_qa.experiments.pretrain import (
    EncoderSize,
    PretrainingRecipe,
    new_model,
    pretrain,
    save_encoder,
)
from reasonlib.story_qa.models.bert import load_encoder
from reasonlib.training import recipes
from reasonlib.training.masked_words import mask_tokens

# Words


def test_words_and_marks_are_tokens():
    tokenizer = word_tokenizer(["Where is Mary's milk?", "John went home."])
    tokens = tokenizer.tokenize("Where is MARY's milk? John flew home.")
    assert tokens == ["where", "is", "mary", "'", "s", "milk", "?", "john", "[UNK]", "home", "."]
    assert tokenizer.convert_ids_to_tokens(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert (tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.mask_token_id) == (0, 2, 4)


def test_ids_do_not_depend_on_the_order_of_the_text():
    text = ["Where is Mary?", "John went home.", "John went home."]
    assert word_tokenizer(text).get_vocab() == word_tokenizer(text[::-1]).get_vocab()


def test_every_word_of_the_twenty_tasks_is_known():
    examples = [example for task in TASKS for example in simulate(task, 20, seed=0)]
    stories = tell_with_answers(examples)
    tokenizer = word_tokenizer([text for story in stories for text in story])
    assert tokenizer.unk_token_id not in {
        token
        for example in examples
        for token in tokenizer(example.question + " ".join(example.story))["input_ids"]
    }


# Stories


def test_a_story_is_told_with_its_questions_where_they_were_asked():
    def example(story, answer, group=0):
        return Example(task=8, story=story, question="What has Mary?", answer=answer, support=(), group=group)

    result = tell_with_answers(
        [
            example(("A.", "B."), ("milk",)),
            example(("A.", "B."), ("milk", "apple")),
            example(("A.", "B.", "C."), ("nothing",)),
            example(("D.",), ("ball",), group=1),
        ]
    )
    assert result == [
        ("A.", "B.", "What has Mary? milk.", "What has Mary? milk apple.", "C.", "What has Mary? nothing."),
        ("D.", "What has Mary? ball."),
    ]


# Next sentences


@pytest.fixture(scope="module")
def stories():
    return [example for task in (1, 15) for example in simulate(task, stories=300, seed=2)]


def test_half_of_the_pairs_continue(stories):
    texts = tell_with_answers(stories)
    pairs = next_sentence_pairs(stories, random.Random(0))
    assert len(pairs) == len(texts) == 600
    assert 250 < sum(continues for _, _, continues in pairs) < 350  # four standard deviations
    ends = {story[cut:]: 0 for story in texts for cut in range(1, len(story))}
    for story in texts:
        for cut in range(1, len(story)):
            ends[story[cut:]] += 1
    alike = 0
    for story, (first, second, continues) in zip(texts, pairs, strict=True):
        position = next(cut for cut in range(1, len(story)) if " ".join(story[:cut]) == first)
        if continues:
            assert second == story[position:]
        elif second == story[position:]:  # a question that ends two stories
            alike += 1
            assert ends[second] > 1
        else:
            assert second in ends
    assert alike < 20


def test_every_cut_is_drawn(stories):
    cuts = set()
    for story, (first, _, _) in zip(
        tell_with_answers(stories), next_sentence_pairs(stories, random.Random(1)), strict=True
    ):
        if len(story) == 15:  # those of task 1
            cuts.add(next(cut for cut in range(1, 15) if " ".join(story[:cut]) == first))
    assert cuts == set(range(1, 15))


def test_a_part_has_its_longest_length():
    examples = simulate(3, stories=10, seed=0)
    pairs = next_sentence_pairs(examples, random.Random(0), longest=3)
    assert max(len(second) for _, second, _ in pairs) == 3
    assert max(first.count(".") for first, _, _ in pairs) == 3
    for story, (first, _, _) in zip(tell_with_answers(examples), pairs, strict=True):
        ends = [" ".join(story[max(0, cut - 3) : cut]) for cut in range(1, len(story))]
        assert first in ends  # the sentences just before the cut


def test_the_same_draws_make_the_same_pairs(stories):
    first, second, third = (next_sentence_pairs(stories, random.Random(seed)) for seed in (3, 3, 4))
    assert first == second != third


def test_one_story_has_no_other():
    (only,) = simulate(1, 1, seed=0)
    with pytest.raises(ValueError, match="examples must hold at least two stories, got 1"):
        next_sentence_pairs([only], random.Random(0))


# Training

SIZE = EncoderSize(layers=1, heads=2, width=32)
TOKENIZER = word_tokenizer(
    [text for story in tell_with_answers(simulate(1, stories=60, seed=0)) for text in story]
)
HOW = PretrainingRecipe(steps=30, tokens=1024, lr=0.01)


def simulated(number):
    return simulate(1, stories=12, seed=100 + number)


def trained(how=HOW, **options):
    model = new_model(SIZE, len(TOKENIZER), seed=0)
    history = pretrain(model, TOKENIZER, simulated, how, progress=False, **options)
    return model, history


def losses(model):
    """Measure both losses on stories it has not seen: nats a hidden word, nats a pair."""
    parts = next_sentence_pairs(simulate(1, stories=60, seed=9), random.Random(0))
    tokens = StoryTokens(TOKENIZER)
    generator = torch.Generator().manual_seed(0)
    words, pairs = [], []
    model.eval()
    with torch.no_grad():
        for first, second, continues in parts:
            pair = tokens.pair(first, second)
            ids = torch.tensor([pair.tokens])
            hidden, labels = mask_tokens(ids, words=len(TOKENIZER), first=5, share=0.3, generator=generator)
            output = model(input_ids=hidden, token_type_ids=torch.tensor([pair.segments]))
            words.append(functional.cross_entropy(output.prediction_logits[0], labels[0], reduction="none"))
            pairs.append(
                functional.cross_entropy(output.seq_relationship_logits, torch.tensor([1 - continues]))
            )
    every = torch.cat(words)
    return every[every > 0].mean().item(), torch.stack(pairs).mean().item()


def test_a_tiny_bert_learns_to_fill_gaps():
    model, history = trained(PretrainingRecipe(steps=150, tokens=1024, lr=0.01))
    before, after = losses(new_model(SIZE, len(TOKENIZER), seed=0))[0], losses(model)[0]
    assert before > 3  # nats; ln 31 = 3.4
    assert after < 0.6 * before
    assert history[-1]["loss"] < history[0]["loss"]


def test_the_loss_is_the_sum_of_both_heads(monkeypatch):
    """The first step's loss, beside the loss that transformers computes of the same batch."""
    first = {}

    def peek(model, batches, *, loss, **options):
        batch = next(iter(batches(0)))
        theirs = model(
            input_ids=batch.pairs.tokens,
            token_type_ids=batch.pairs.segments,
            attention_mask=batch.pairs.mask.long(),
            labels=batch.words,
            next_sentence_label=batch.continues,
        )
        first.update(ours=loss(model, batch), theirs=theirs.loss, batch=batch)
        nothing = MaskedBatch(batch.pairs, torch.full_like(batch.words, -100), batch.continues)
        first["nothing hidden"] = loss(model, nothing)

    monkeypatch.setattr(recipes, "fit", peek)
    trained()
    torch.testing.assert_close(first["ours"], first["theirs"])
    assert first["nothing hidden"].isfinite()
    batch = first["batch"]
    assert (batch.pairs.tokens == TOKENIZER.mask_token_id).sum() > 0 and len(batch) == len(batch.continues)
    assert not (batch.pairs.tokens[~batch.pairs.mask]).any()
    assert (batch.words[~batch.pairs.mask] == -100).all()
    assert batch.to("meta").words.device.type == "meta"


def test_the_same_seeds_give_the_same_bits():
    first, second = trained(), trained()
    assert same(weights(first[0]), weights(second[0])) and rows(first[1]) == rows(second[1])
    assert not same(weights(first[0]), weights(trained(seed=1)[0]))
    assert first[1].steps_done == 30 and len(first[1]) == 10


def test_a_killed_run_resumes_to_the_same_bits(tmp_path, monkeypatch):
    whole, history = trained()
    monkeypatch.setattr(recipes, "fit", partial(training.fit, save_every=4))

    train_until_killed(trained, 5, checkpoint=tmp_path)
    model, resumed = trained(checkpoint=tmp_path)
    assert resumed.resumed_from == 12
    assert same(weights(model), weights(whole)) and rows(resumed) == rows(history)


def test_rounds_of_stories_follow_one_another():
    requested = []

    def examples(number):
        requested.append(number)
        return simulated(number)

    pretrain(new_model(SIZE, len(TOKENIZER)), TOKENIZER, examples, HOW, progress=False)
    assert len(requested) == len(set(requested)) > 10  # no epoch sees another's stories


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PretrainingRecipe(steps=0), "steps must be at least 1, got 0"),
        (lambda: PretrainingRecipe(tokens=0), "tokens must be at least 1, got 0"),
        (lambda: EncoderSize(heads=3, width=32), "width must be a multiple of heads, got 32 and 3"),
    ],
)
def test_bad_sizes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_encoder_is_kept_in_half_precision(tmp_path):
    model = new_model(SIZE, len(TOKENIZER), seed=3)
    save_encoder(model, TOKENIZER, tmp_path / "kept")
    assert model.dtype == torch.float32  # the model at hand stays as it was
    encoder, tokenizer = load_encoder(tmp_path / "kept")
    assert tokenizer.get_vocab() == TOKENIZER.get_vocab()
    for name, tensor in model.bert.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], tensor.half().float())


def test_the_first_weights_are_drawn_from_the_seed_alone():
    torch.manual_seed(1)
    first = weights(new_model(SIZE, 40, seed=5))
    torch.manual_seed(2)
    second, third = weights(new_model(SIZE, 40, seed=5)), weights(new_model(SIZE, 40, seed=6))
    assert same(first, second) and not same(first, third)
