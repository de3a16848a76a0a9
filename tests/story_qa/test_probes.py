"""A look inside an encoder: new heads on a frozen one, guesses for hidden words, attention by sentence."""

import re

import numpy as np
import pytest
import torch
from story_qa.sentences import tokenizer_of

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import StoryTokens
from reasonlib.story_qa.experiments import pretrain, probes
from reasonlib.story_qa.models.bert import AnswerReader
from reasonlib.story_qa.page import bert_figures

STORY = ("Mary went to the garden.", "John went to the office.")


@pytest.fixture(scope="module")
def pretrained():
    tokenizer = tokenizer_of(simulate(1, 60, seed=1))
    size = pretrain.EncoderSize(layers=2, heads=2, width=16, longest=256)
    return pretrain.new_model(size, len(tokenizer)).bert, tokenizer


@pytest.fixture
def model(pretrained):
    return probes.masked_language_model(pretrained[0], seed=3)


def test_new_heads_learn_and_the_encoder_stays_as_it_was(pretrained, model):
    encoder, tokenizer = pretrained
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    bias = model.cls.predictions.bias.detach().clone()
    pretrain.pretrain(
        model,
        tokenizer,
        lambda number: simulate(1, 30, seed=number),
        pretrain.PretrainingRecipe(steps=10, tokens=256),
        progress=False,
    )
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert not torch.equal(model.cls.predictions.bias, bias)


def test_words_are_scored_with_the_encoders_own_embeddings(pretrained, model):
    assert model.cls.predictions.decoder.weight is pretrained[0].embeddings.word_embeddings.weight


def test_the_seed_draws_the_heads(pretrained):
    first, repeated, other = (probes.masked_language_model(pretrained[0], seed=seed) for seed in (1, 1, 2))
    weights = [heads.cls.predictions.transform.dense.weight for heads in (first, repeated, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_an_encoder_that_is_no_bert_is_refused(pretrained):
    from transformers import AlbertConfig, AlbertModel

    size = {"embedding_size": 8, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    with pytest.raises(UserError, match="of type bert, got albert"):
        probes.masked_language_model(AlbertModel(AlbertConfig(vocab_size=20, num_hidden_layers=1, **size)))


def test_scores_do_not_depend_on_what_else_is_in_the_batch(pretrained, model):
    tokens = StoryTokens(pretrained[1])
    pairs = [tokens.pair("Where is Mary?", STORY[:count]) for count in (0, 1, 2)]
    together, follow = probes.pretraining_logits(model, pretrained[1], pairs)
    alone, follows = probes.pretraining_logits(model, pretrained[1], pairs, size=1)
    assert follow.shape == (3, 2)
    assert torch.allclose(follow, follows, atol=1e-5)
    for pair, batched, single in zip(pairs, together, alone, strict=True):
        assert batched.shape == (len(pair.tokens), len(pretrained[1]))
        assert torch.allclose(batched, single, atol=1e-5)
        assert torch.allclose(batched.exp().sum(-1), torch.ones(len(batched)), atol=1e-5)


def test_no_pairs_give_no_scores(pretrained, model):
    words, follows = probes.pretraining_logits(model, pretrained[1], [])
    assert words == []
    assert follows.shape == (0, 2)


def test_a_guess_is_a_word_and_the_likeliest_comes_first(pretrained, model):
    pair, position = probes.mask_answer(
        StoryTokens(pretrained[1]),
        Example(task=1, story=STORY, question="Where is Mary?", answer=("garden",), support=(0,), group=0),
    )
    (predictions,) = probes.predict_masked_words(
        model, pretrained[1], [pair], [position], top=len(pretrained[1]) - 5
    )
    assert not {prediction.word for prediction in predictions} & set(pretrained[1].all_special_tokens)
    shares = [prediction.share for prediction in predictions]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-4)


def test_an_answer_is_hidden_behind_its_question(pretrained):
    tokens = StoryTokens(pretrained[1])
    example = simulate(1, 1, seed=1)[0]
    pair, position = probes.mask_answer(tokens, example)
    names = pretrained[1].convert_ids_to_tokens(pair.tokens)
    assert names[position] == "[MASK]"
    assert names[position - 1 : position + 3] == ["?", "[MASK]", ".", "[SEP]"]
    assert names.count("[MASK]") == 1
    assert example.answer[0] not in names[position:]


def test_a_list_is_no_hidden_answer(pretrained):
    example = Example(task=8, story=STORY, question="What?", answer=("milk", "apple"), support=(), group=0)
    with pytest.raises(ValueError, match="one word for an answer, got milk apple"):
        probes.mask_answer(StoryTokens(pretrained[1]), example)


def test_each_word_is_hidden_once_and_the_others_stay_in_view(pretrained, model):
    tokens = StoryTokens(pretrained[1])
    pair = tokens.pair(STORY[0], STORY[1:])
    hidden = probes.mask_each_word(model, pretrained[1], pair, top=3)
    assert [item.word for item in hidden] == "mary went to the garden john went to the office".split()
    masked_word = hidden[0]
    masked = list(pair.tokens)
    masked[masked_word.position] = pretrained[1].mask_token_id
    (alone,) = probes.predict_masked_words(
        model, pretrained[1], [pair._replace(tokens=masked)], [masked_word.position], top=3
    )
    assert [prediction.word for prediction in alone] == [
        prediction.word for prediction in masked_word.guesses
    ]


def test_continuing_pairs_are_true_then_exchanged(pretrained):
    tokens = StoryTokens(pretrained[1])
    story, other_story = STORY, ("Mary moved to the hallway.", "John moved to the kitchen.")
    pairs, wrong = probes.next_sentence_test([story], [other_story], tokens)
    assert wrong.tolist() == [0, 1]
    assert pairs[0] == tokens.pair(story[0], story[1:])
    assert pairs[1] == tokens.pair(story[0], other_story[1:])


def test_attention_is_summed_over_the_tokens_of_each_sentence(pretrained):
    encoder, tokenizer = pretrained
    tokens = StoryTokens(tokenizer, longest=40)
    with training.seeded(0):
        model = AnswerReader(encoder, 4, dropout=0.0)
    examples = simulate(1, 12, seed=1)
    attention = probes.attention_by_sentence(model, tokens, examples, size=5)
    assert any(tokens.pair(example.question, example.story).dropped for example in examples)
    for example, weights in zip(examples, attention, strict=True):
        pair = tokens.pair(example.question, example.story)
        assert weights.shape == (2, len(example.story) - pair.dropped)
        assert np.allclose(weights.sum(1), 1, atol=1e-5)
    example = examples[0]
    pair = tokens.pair(example.question, example.story)
    inputs = {
        "input_ids": torch.tensor([pair.tokens]),
        "token_type_ids": torch.tensor([pair.segments]),
    }
    encoder.set_attn_implementation("eager")
    with torch.no_grad():
        maps = torch.stack(encoder(**inputs, output_attentions=True).attentions, 1)[0, :, :, 0].mean(1)
    position = len(tokens.sentence(example.question)) + 2
    sums = []
    for sentence in example.story:
        end = position + len(tokens.sentence(sentence))
        sums.append(maps[:, position:end].sum(1).numpy())
        position = end
    by_hand = np.stack(sums, 1)
    assert np.allclose(attention[0], by_hand / by_hand.sum(1, keepdims=True), atol=1e-5)


# Pictures ---------------------------------------------------------------------------------------------------


def test_a_board_shows_every_word_and_one_panel_for_each(pretrained, model):
    pair = StoryTokens(pretrained[1]).pair(STORY[0], STORY[1:])
    hidden = probes.mask_each_word(model, pretrained[1], pair)
    board = bert_figures.guess_board(pair, hidden, pretrained[1], chosen=2)
    body = board._repr_html_()
    names = re.findall(r'<input [^>]*id="([^"]+)"', body)
    assert len(names) == len(set(names)) == len(hidden)
    assert re.findall(r'<label for="([^"]+)"', body) == names
    assert body.count("checked>") == 1
    assert f'id="{names[2]}" checked>' in body
    for name in names:
        assert f":has(#{name}:checked) .{name}{{" in body
        assert f'class="rr-panel {name}"' in body
    assert "<script" not in body
    assert repr(board).startswith(f"A text of {len(hidden)} words")
    assert hidden[2].guesses[0].word in repr(board)


def test_two_boards_of_one_page_do_not_share_names(pretrained, model):
    bodies = []
    for story in (STORY, STORY[::-1]):
        pair = StoryTokens(pretrained[1]).pair(story[0], story[1:])
        board = bert_figures.guess_board(
            pair, probes.mask_each_word(model, pretrained[1], pair), pretrained[1]
        )
        bodies.append(set(re.findall(r'id="([^"]+)"', board.html)))
    assert not bodies[0] & bodies[1]


def test_a_board_needs_a_word_to_show(pretrained):
    pair = StoryTokens(pretrained[1]).pair(STORY[0], STORY[1:])
    with pytest.raises(ValueError, match="chosen must be one of 0 hidden words, got 0"):
        bert_figures.guess_board(pair, [], pretrained[1])


def test_a_pair_is_shown_token_by_token(pretrained):
    pair = StoryTokens(pretrained[1]).pair("Where is Mary?", STORY)
    table = bert_figures.pair_table(pair, pretrained[1])
    assert table.html.count("<td") == 3 * len(pair.tokens)
    assert table.html.count("<td class=rr-second>") == 3 * sum(pair.segments)
    assert "Segment 1 begins at position 6" in repr(table)


def test_the_two_steps_are_said_in_words():
    drawn = bert_figures.two_steps()
    assert "one word is replaced by [MASK]" in repr(drawn)
    assert drawn.html.count("<svg") == 1
