"""Asking in plain words: the shipped memory network, a fine-tuned encoder, an extractive reader."""

import json
import os
import re

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from reasonlib import training
from reasonlib.cli import app
from reasonlib.errors import UserError
from reasonlib.story_qa.data.corpus import dumps
from reasonlib.story_qa.data.encoding import build_vocabulary, encode
from reasonlib.story_qa.data.masking import word_tokenizer
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments.metrics import predict
from reasonlib.story_qa.experiments.pretrain import EncoderSize, new_model
from reasonlib.story_qa.models import pretrained, pretrained_readers
from reasonlib.story_qa.models.bert import AnswerReader
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.story_qa.page import ask
from reasonlib.story_qa.page.ask import Answer, answer, ask_memory, ask_reader, ask_span, split_sentences
from reasonlib.story_qa.page.span import load_span_reader
from reasonlib.training.vocabulary import Vocabulary

STORY = "Mary took the milk. John went to the office. Mary moved to the garden."

# The free-text story of Mehak (2019), section "Results", with the questions put to it there and the answers.
RHEA = (
    "Hey! I am Rhea. I love dancing. I am a resident of Singapore. I have one brother and one sister. "
    "My father is a businessman. My mother is a teacher. I love my family."
)
RHEA_ASKED = {
    "What is Rhea's hobby?": "dancing",
    "What is Rhea's mother occupation?": "teacher",
    "What do Rhea's father do?": "businessman",
    "How many siblings she has?": "one brother and one sister",
}


# Sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mary is here. John left.", ["Mary is here.", "John left."]),
        ("mary is here\njohn left\n\n", ["mary is here", "john left"]),
        ('"Stop!" he said. Why? No.', ['"Stop!"', "he said.", "Why?", "No."]),
        ("I met Mr. Smith at 3.15 today. He left.", ["I met Mr. Smith at 3.15 today.", "He left."]),
        ("Wait... what?!  Yes.", ["Wait...", "what?!", "Yes."]),
        ("  \n ... \n", []),
        ("1 Mary is here.\n2 Where is Mary?\there\t1\n3 John left.", ["Mary is here.", "John left."]),
        ("2 apples were eaten.\n3 were left.", ["2 apples were eaten.", "3 were left."]),
    ],
)
def test_sentences(text, expected):
    assert split_sentences(text) == expected


def test_a_simulated_story_is_read_from_its_file():
    examples = simulate(1, 2, seed=3)
    assert examples[0].group == examples[1].group
    assert split_sentences(dumps(examples)) == list(examples[1].story)
    with pytest.raises(UserError, match="a second story begins at line 3 of the text"):
        split_sentences("1 Mary is here.\n2 John left.\n1 Mary is there.")


# The memory network


def test_the_shipped_network_answers_and_says_where_it_looked():
    result = answer(STORY, "Where is the milk?")
    assert result.text == "garden" and str(result) == "garden"
    assert result.sentences == (
        "Mary took the milk.",
        "John went to the office.",
        "Mary moved to the garden.",
    )
    assert result.weights.shape == (3, 3) and result.look == "hop"
    np.testing.assert_allclose(result.weights.sum(1), 1, atol=1e-5)
    assert {0, 2} <= set(result.weights.argmax(1).tolist())
    assert result.others[0] == ("garden", result.confidence) and len(result.others) == 5
    shares = [share for _, share in result.others]
    assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-6
    assert result.notes == () and result.support is None and result.expected is None


@pytest.mark.parametrize(
    ("question", "text", "note"),
    [
        ("WHERE IS THE MILK???", "garden", None),
        ("where’s the milk", "garden", None),
        ("Where is the milk？", "garden", None),
        ("wheres the milk", "garden", None),
        ("Where is the milk 🥛🙂?", "garden", "it cannot read 🥛, 🙂, which is left out"),
        ("Where is Jon?", "office", "jon is read as john"),
        ("Where is the mlik?", "garden", "mlik is read as milk"),
        ("Where is the milk, 玛丽?", "garden", "it cannot read 玛丽, which is left out"),
    ],
)
def test_questions_as_people_type_them(question, text, note):
    result = answer(STORY, question)
    assert result.text == text and result.notes == ((note,) if note else ())


def test_what_is_no_english_is_said():
    with pytest.raises(UserError, match="the question has no word in Latin letters"):
        answer(STORY, "玛丽在哪里？")
    with pytest.raises(UserError, match="the story has no word in Latin letters"):
        answer("玛丽去了花园。约翰去了办公室。", "Where is Mary?")
    done = CliRunner().invoke(app, ["ask", "玛丽去了花园。", "--question", "Where is Mary?"])
    assert done.exit_code == 2 and "the story has no word in Latin letters" in done.stderr
    assert answer("Mary went 🚶 to the garden.", "Where is Mary?").notes == (
        "it cannot read 🚶, which is left out",
    )


def network(**settings):
    stories = simulate(2, 30, seed=6)
    vocabulary = build_vocabulary(stories)
    model = MemoryNetwork(MemoryConfig(vocabulary=len(vocabulary), width=6, **settings), seed=1)
    return stories, vocabulary, model


@pytest.mark.parametrize("encoding", ["position", "bag"])
def test_the_same_answer_and_weights_as_in_evaluation(encoding):
    stories, vocabulary, model = network(slots=60)
    answers, weights = predict(model, encode(stories, vocabulary, encoding))
    for example, word, attention in zip(stories, answers, weights, strict=True):
        result = ask_memory(model, vocabulary, example.story, example.question, encoding=encoding)
        assert result.text == vocabulary.token_of(int(word)) or word < 2, "<pad> and <unk> are no answers"
        np.testing.assert_allclose(result.weights, attention, atol=1e-6)


def test_a_story_that_does_not_fit_into_memory():
    stories, vocabulary, model = network(slots=4)
    example = max(stories, key=lambda example: len(example.story))
    result = ask_memory(model, vocabulary, example.story, example.question)
    assert result.notes == ("it remembers the latest 4 sentences and has forgotten those before",)
    assert (result.weights[:, :-4] == 0).all() and result.weights.shape == (3, len(example.story))
    short = ask_memory(model, vocabulary, example.story[-4:], example.question)
    assert result.text == short.text and short.notes == ()
    np.testing.assert_allclose(result.weights[:, -4:], short.weights, atol=1e-6)


def test_words_it_does_not_know_are_named_once():
    result = answer("Rhea loves the milk. Rhea went to the garden.", "Where is Rhea's milk?")
    assert result.notes == (
        "it has never met these words, so the answer may mean nothing: rhea, loves, rhea's",
    )
    assert (
        answer("Bob went to the garden.", "Where is Mary?")
        .notes[0]
        .endswith("this word, so the answer may mean nothing: bob")
    )
    many = answer(" ".join(f"zz{number}" for number in range(20)), "Where is Mary?")
    assert many.notes[0].endswith("zz11 and 8 more")


def test_lists_are_told_with_spaces():
    vocabulary = Vocabulary(["<pad>", "<unk>", "apple,milk"])
    model = MemoryNetwork(MemoryConfig(vocabulary=3, width=2, hops=1))
    with torch.no_grad():
        model.words.zero_()
        model.ages.fill_(1.0)
        model.words[model.tying.answer, 2] = 1.0
    assert ask_memory(model, vocabulary, ["a"], "b").text == "apple, milk"


def test_a_picture_marks_what_is_known():
    example = simulate(1, 3, seed=8)[2]
    result = answer(" ".join(example.story), example.question).labelled(example)
    assert result.support == example.support and result.expected == example.answer[0]
    shown = result.picture()
    assert "needed" in shown.html and example.question in shown.alt and "Hop 3 reads" in shown.alt
    noted = answer("Bob went to the garden.", "Where is Bob?")
    assert "It has never met this word" in noted._repr_html_() and "needed" not in noted.picture().html


@pytest.mark.parametrize("model", [None, "bert"])
@pytest.mark.parametrize(
    ("question", "notes"),
    [
        ("Where is Mary?", ()),
        ("Where is John?", ("the story does not mention John",)),
        ("WHERE IS MARY?", ()),
        (
            "Did Mary see Ann or John's apple?",
            ("it has never met", "the story does not mention Ann, John"),
        ),
    ],
)
def test_a_name_that_the_story_has_not_is_told(model, question, notes):
    result = answer("Mary took the apple. Mary went to the garden.", question, model)
    assert len(result.notes) == len(notes)
    assert all(note.startswith(start) for note, start in zip(result.notes, notes, strict=True))


# Mistakes


@pytest.mark.parametrize(
    ("story", "question", "model", "message"),
    [
        ("", "Where?", None, "the story has no sentences"),
        (" \n. . .\n", "Where?", None, "the story has no sentences"),
        (STORY, " \n", None, "the question has no words"),
        (STORY, "?", None, "the question has no words"),
        (STORY, "Where?", "./nowhere", "there is no folder ./nowhere"),
        (STORY, "Where?", "not a name", "there is no folder not a name"),
        (STORY, "Where?", "a/b/c", "there is no folder a/b/c"),
        (STORY, "Where?", __file__, "is a file; give the folder of a model"),
    ],
)
def test_a_mistake_is_one_clear_line(story, question, model, message):
    with pytest.raises(UserError) as caught:
        answer(story, question, model)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_name_is_looked_up_on_the_hub_once(monkeypatch):
    import huggingface_hub

    requested = []

    class Hub:
        def model_info(self, name, timeout):
            requested.append(name)
            raise ConnectionError("no network here")

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    with pytest.raises(
        UserError, match="org/reader: there is no such folder, and the hub or its cache has no"
    ):
        answer(STORY, "Where?", "org/reader")
    assert requested == ["org/reader"]


# The fine-tuned encoder


@pytest.fixture(scope="module")
def reader():
    tokenizer = word_tokenizer([STORY, "where is the milk ?"])
    encoder = new_model(EncoderSize(layers=2, heads=2, width=16, longest=40), len(tokenizer)).bert
    answers = Vocabulary(["<unk>", "office", "garden", "kitchen"])
    with training.seeded(5):
        model = AnswerReader(encoder, len(answers)).eval()
    return pretrained.PretrainedReader(model, tokenizer, answers, {})


def test_the_encoder_answers_with_the_attention_of_each_layer(reader):
    result = ask_reader(reader, split_sentences(STORY), "Where is the milk?")
    assert result.text in reader.answers and len(result.others) == 3
    assert result.look == "layer" and result.weights.shape == (2, 3) and result.notes == ()
    assert (result.weights > 0).all() and (result.weights.sum(1) < 1).all(), "the question is looked at too"
    assert "Weight at layer" in result.picture().html

    # by hand: the attention of [CLS] on the second sentence, in the first layer
    tokenizer, encoder = reader.tokenizer, reader.model.encoder
    parts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in result.sentences]
    question_ids = tokenizer("Where is the milk?", add_special_tokens=False)["input_ids"]
    marks = [tokenizer.cls_token_id, *question_ids, tokenizer.sep_token_id]
    ids = torch.tensor([[*marks, *(token for part in parts for token in part), tokenizer.sep_token_id]])
    segments = (torch.arange(ids.shape[1]) >= len(marks)).long()[None]
    with torch.no_grad():
        heads = encoder(input_ids=ids, token_type_ids=segments, output_attentions=True).attentions[0]
    begin = len(marks) + len(parts[0])
    expected = heads[0, :, 0, begin : begin + len(parts[1])].sum(-1).mean()
    assert result.weights[0, 1] == pytest.approx(float(expected), abs=1e-6)


def test_the_encoder_says_what_it_left_out_and_what_it_does_not_know(reader):
    long = ["Mary took the milk."] * 9
    result = ask_reader(reader, long, "Where is the milk?")
    assert result.notes == (
        "the story is longer than the 40 tokens it can read: the first 3 sentences were left out",
    )
    assert (result.weights[:, :3] == 0).all() and (result.weights[:, 3:] > 0).all()
    assert ask_reader(reader, ["Rhea took the milk."], "Where?").notes[0].endswith(": rhea")
    with pytest.raises(UserError, match="question must fit into 40 tokens, got 50; ask a shorter question"):
        ask_reader(reader, ["Mary took the milk."], "milk " * 50)


def test_bert_is_the_reader_that_ships(monkeypatch, tmp_path):
    ask._evidence.cache_clear()
    monkeypatch.setattr(pretrained_readers, "EVIDENCE", tmp_path / "evidence")
    with pytest.raises(UserError, match=r"there is no evidence reader at .*; install the library again"):
        answer(STORY, "Where is the milk?", "bert")
    ask._evidence.cache_clear()


# An extractive reader


TREASURE = [f"Nothing is at place {number}." for number in range(40)]


@pytest.fixture(scope="module")
def finder(tmp_path_factory):
    """A folder with a reader that begins its answer at "gold" and ends it at "coin"."""
    from tokenizers import processors
    from transformers import BertConfig, BertForQuestionAnswering

    tokenizer = word_tokenizer([*TREASURE, "gold silver coin lies here where treasure ?"])
    marks = [("[CLS]", tokenizer.cls_token_id), ("[SEP]", tokenizer.sep_token_id)]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=48,
    )
    with training.seeded(0):
        model = BertForQuestionAnswering(config)
    ids = {word: tokenizer.convert_tokens_to_ids(word) for word in ("gold", "coin")}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm.weight" not in name:
                weight.zero_()
        words = model.bert.embeddings.word_embeddings.weight
        words[:, 2] = 1.0
        for column, word in enumerate(ids):
            words[ids[word]] = torch.eye(8)[column]
            model.qa_outputs.weight[column, column] = 4.0
    folder = tmp_path_factory.mktemp("models") / "finder"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_an_extractive_reader_points_at_the_answer(finder):
    result = answer(
        "Nothing is here. Gold silver coin lies here. Nothing.", "Where is the treasure?", str(finder)
    )
    assert result.text == "Gold silver coin" and result.look == "pointer" and result.notes == ()
    assert result.weights.shape == (1, 3) and result.weights.argmax() == 1
    assert result.weights.sum() == pytest.approx(1) and 0.5 < result.confidence <= 1
    assert result.others == (("Gold silver coin", result.confidence),)


@pytest.mark.parametrize("position", [0, 3, 6, 20, 39, 40])
def test_a_long_story_is_read_through_windows_that_overlap(finder, position):
    story = [*TREASURE[:position], "Here lies gold coin.", *TREASURE[position:]]
    result = answer(" ".join(story), "Where is the treasure?", str(finder))
    assert result.text == "gold coin" and result.weights.argmax() == position
    assert re.fullmatch(
        r"the story is longer than 48 tokens: it was read through \d+ windows", result.notes[0]
    )
    assert result.weights.sum() == pytest.approx(1)


def test_the_question_is_no_part_of_the_answer(finder):
    result = answer("Nothing is here.", "Where is the gold coin?", str(finder))
    assert "gold" not in result.text and result.text in "Nothing is here."
    with pytest.raises(UserError, match="the question leaves no room for the story in 48 tokens"):
        answer("Nothing is here.", "gold " * 40, str(finder))


def test_a_reader_that_finds_no_answer_likelier_says_so(finder):
    model, tokenizer = load_span_reader(str(finder))
    words = model.bert.embeddings.word_embeddings.weight
    kept = words.clone()
    try:
        with torch.no_grad():
            words[tokenizer.cls_token_id] = torch.tensor([1.0, 1.0, 0, 0, 0, 0, 0, 0])
        result = ask_span(model, tokenizer, ["Nothing is here."], "Where?")
        assert result.notes == ("the model finds it more probable that the story does not say",)
    finally:
        with torch.no_grad():
            words.copy_(kept)


def test_a_folder_without_the_right_model(tmp_path, finder, reader):
    with pytest.raises(UserError, match="the folder holds no model that could be loaded"):
        answer(STORY, "Where?", str(tmp_path))
    pretrained.save_reader(*reader[:3], tmp_path / "encoder", {})
    with pytest.raises(UserError, match="a model without a question-answering head"):
        answer(STORY, "Where?", str(tmp_path / "encoder"))


# The command


def call(*arguments, text=None):
    return CliRunner().invoke(app, ["ask", *map(str, arguments)], input=text)


def test_the_command_answers_and_draws(tmp_path):
    result = call(STORY, "--question", "Where is the milk?")
    assert result.exit_code == 0 and result.stdout.startswith("Where is the milk?  garden  (")
    assert "Hop 3" in result.stdout and "█" in result.stdout
    file = tmp_path / "story.txt"
    file.write_text(STORY.replace("Mary", "Rhea"))
    result = call(file, "--question", "Where is the milk?")
    assert "note: it has never met this word, so the answer may mean nothing: rhea\n" in result.stdout
    (record,) = json.loads(call("-", "--question", "Where is the milk?", "--json", text=STORY).stdout)
    assert record["answer"] == "garden" and record["look"] == "hop" and record["notes"] == []
    assert np.shape(record["weights"]) == (3, 3) and record["others"][0] == ["garden", record["confidence"]]


def test_the_command_tells_a_mistake_in_one_line():
    result = call(STORY, "--question", "Where?", "--model", "./nowhere")
    assert (result.exit_code, result.stderr) == (2, "error: there is no folder ./nowhere\n")


# The source's own demonstration


@pytest.mark.encoder
@pytest.mark.skipif(
    not os.environ.get("REASONLIB_QA_MODEL"),
    reason="REASONLIB_QA_MODEL names no extractive reader: the source's four questions were not asked",
)
@pytest.mark.parametrize(("question", "expected"), RHEA_ASKED.items())
def test_the_four_questions_of_the_source(question, expected):
    result = answer(RHEA, question, os.environ["REASONLIB_QA_MODEL"])
    assert isinstance(result, Answer)
    assert expected in result.text.lower().strip(" .")
