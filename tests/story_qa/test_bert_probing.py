"""What the chapter on BERT asks its trained models, on small ones with random weights."""

import pytest
import torch

from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.masking import word_tokenizer
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import PairSet, StoryTokens, answer_classes, encode_sentences
from reasonlib.story_qa.experiments import pretrain, probes
from reasonlib.story_qa.experiments.finetune import accuracy
from reasonlib.story_qa.models.bert import AnswerReader
from reasonlib.story_qa.page import bert_probing

EXAMPLES = simulate(13, 2, seed=1)


@pytest.fixture(scope="module")
def tokens():
    texts = [sentence for item in EXAMPLES for sentence in (*item.story, item.question)]
    texts += [sentence for item in simulate(1, 400, seed=62_000) for sentence in item.story]
    return StoryTokens(word_tokenizer(texts))


@pytest.fixture(scope="module")
def encoder(tokens):
    size = pretrain.EncoderSize(layers=2, heads=2, width=16, longest=512)
    return pretrain.new_model(size, len(tokens.tokenizer)).bert


@pytest.fixture(scope="module")
def answers():
    return answer_classes(EXAMPLES)


@pytest.fixture(scope="module")
def reader(encoder, answers):
    torch.manual_seed(0)
    return AnswerReader(encoder, len(answers), dropout=0.0)


def test_the_unchanged_input_gets_the_accuracy_of_the_reader(reader, tokens, answers):
    share = accuracy(reader, PairSet.encode(EXAMPLES, tokens, answers))["accuracy"]
    alt = bert_probing.changed_input(reader, tokens, answers, EXAMPLES, seed=0).alt
    assert f"unchanged {share:.3g}" in alt
    for change in ("sentences shuffled", "another question", "no story"):
        assert change in alt


def test_accuracy_is_drawn_for_the_tasks_that_were_asked(reader, tokens, answers):
    test_set = PairSet.encode(EXAMPLES, tokens, answers)
    alt = bert_probing.accuracy_by_task({"a reader": reader}, test_set).alt
    assert "13 compound coreference" in alt and "20 agents" not in alt


def test_a_longer_story_starts_from_the_story_itself(reader, tokens, answers):
    share = accuracy(reader, PairSet.encode(EXAMPLES, tokens, answers))["accuracy"]
    alt = bert_probing.longer_stories(reader, tokens, answers, EXAMPLES, seed=0).alt
    assert f"longer stories: {share:.3g} at sentences added in front 0" in alt


def test_attention_is_drawn_for_every_layer(reader, tokens, answers):
    alt = bert_probing.attention_of_cls(reader, tokens, EXAMPLES).alt
    assert "layer 1" in alt and "layer 2" in alt and "layer 3" not in alt and "uniform attention" in alt
    assert "Layer 2 reads" in bert_probing.attention_example(reader, tokens, answers, EXAMPLES).alt


def test_a_gap_is_filled_where_it_is(encoder, tokens):
    sentences = ["John went to the hallway.", "Mary went to the office.", "Where is John?", "John went away."]
    guess = (probes.Prediction("hallway", 0.5),)
    pair = tokens.pair(" ".join(sentences[:3]), sentences[3:])
    names = tokens.tokenizer.convert_ids_to_tokens(pair.tokens)
    board = [
        probes.MaskedWord(index, name, guess if index == names.index("went") else ())
        for index, name in enumerate(names)
        if name.isalpha()
    ]
    assert bert_probing.gap_guesses(board, tokens, sentences, {0: 1}) == ["went     hallway 0.50"]
    assert bert_probing.gap_guesses(board, tokens, sentences, {1: 1, 3: 1}) == ["went     ", "went     "]


def test_a_word_is_not_its_own_neighbour(encoder, tokens):
    (line,) = bert_probing.neighbours(encoder, tokens.tokenizer, ["mary"])
    word, *near = line.replace(",", "").split()
    assert word == "mary" and len(near) == 4 and "mary" not in near


def test_new_texts_differ_from_round_to_round_and_leave_out_task_3():
    texts = bert_probing.new_texts(1)
    assert {item.task for item in texts(0)} == set(range(1, 21)) - {3}
    assert texts(0) == texts(0) and texts(0) != texts(1)


def test_a_sentence_that_repeats_is_encoded_once(tokens, answers):
    story = ("Mary went to the garden.", "John went to the hallway.")
    example = Example(
        task=1, story=story, question="Where is Mary?", answer=(answers.tokens[1],), support=(), group=0
    )
    twice = [example, example]
    by_word = PairSet.encode(twice, tokens, answers)
    by_sentence = encode_sentences(twice, tokens.tokenizer, answers)
    counts = bert_probing.vector_counts(by_word, by_sentence)
    assert counts["all words"] == sum(by_word.lengths) == 2 * by_word.lengths[0]
    assert counts["sentences"] == 2 * 3  # a question and two sentences, in each of two examples
    assert counts["words of distinct sentences"] < counts["all words"]


def test_every_kind_of_word_has_a_bar(encoder, tokens):
    model = probes.masked_language_model(encoder, seed=0)
    alt = bert_probing.guesses_by_kind(model, tokens, stories=2).alt
    for kind in (*bert_probing.KINDS, "place", "answer", "most frequent word"):
        assert kind in alt
