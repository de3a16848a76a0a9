"""Trained models on disk: what is written is read back, and what is no model is refused in one line."""

import json
from pathlib import Path

import pytest
import torch
from story_qa.sentences import tokenizer_of

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import build_vocabulary, encode
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import StoryTokens, stack
from reasonlib.story_qa.experiments.metrics import predict
from reasonlib.story_qa.experiments.pretrain import EncoderSize, new_model
from reasonlib.story_qa.models import pretrained
from reasonlib.story_qa.models.bert import AnswerReader
from reasonlib.story_qa.models.memory_network import MemoryConfig, MemoryNetwork
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata
from reasonlib.training.vocabulary import Vocabulary

STORIES = simulate(1, 20, seed=4)
WORDS = build_vocabulary(STORIES)
MADE = {"data": "simulated", "questions": 20}


def network(**settings):
    return MemoryNetwork(MemoryConfig(vocabulary=len(WORDS), width=8, slots=12, **settings), seed=3)


# The memory network


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tying": "layerwise", "mapped": True, "hops": 2},
        {"temporal": False, "rectified": 0.5},
    ],
    ids=lambda settings: "-".join(settings) or "plain",
)
@pytest.mark.parametrize("half", [True, False])
def test_a_memory_network_comes_back(tmp_path, settings, half):
    model = network(**settings)
    path = pretrained.save_memory(model, WORDS, tmp_path / "m.safetensors", MADE, half, encoding="bag")
    loaded = pretrained.load_memory(path)
    assert loaded.model.config == model.config and loaded.vocabulary == WORDS
    assert (loaded.encoding, loaded.made) == ("bag", MADE)
    stored = {tensor.dtype for tensor in load_weights(path).values()}
    assert stored == {torch.float16 if half else torch.float32}
    for name, tensor in model.state_dict().items():
        expected = tensor.half().float() if half else tensor
        assert loaded.model.state_dict()[name].dtype == torch.float32
        torch.testing.assert_close(loaded.model.state_dict()[name], expected, rtol=0, atol=0)
    model.load_state_dict(loaded.model.state_dict())
    stories = encode(STORIES, WORDS, "bag")
    assert (predict(model, stories)[0] == predict(loaded.model, stories)[0]).all()


def test_what_is_saved_must_fit_together(tmp_path):
    path = tmp_path / "m.safetensors"
    with pytest.raises(ValueError, match=f"vocabulary must have the model's {len(WORDS)} words, got 1"):
        pretrained.save_memory(network(), Vocabulary(["<pad>"]), path, MADE)
    with pytest.raises(ValueError, match="encoding must be one of position, bag, got 'letters'"):
        pretrained.save_memory(network(), WORDS, path, MADE, encoding="letters")
    assert not path.exists()


def refused(path, *words):
    with pytest.raises(UserError) as caught:
        pretrained.load_memory(path)
    message = str(caught.value)
    assert "\n" not in message and str(path) in message
    for word in words:
        assert word in message


def test_a_file_that_is_no_memory_network_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    refused(path, "there is no memory network", "give the path that save_memory wrote")
    path.write_bytes(b"not weights at all")
    refused(path, "not a safetensors file or was cut short")
    pretrained.save_memory(network(), WORDS, path, MADE)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "cut short")
    path.write_bytes(whole)
    assert pretrained.load_memory(path).vocabulary == WORDS
    save_weights(path, {"weight": torch.zeros(2)})
    refused(path, "holds no memory network")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"config": json.dumps({"vocabulary": 4})}, "damaged memory network"),
        ({"config": json.dumps({"hops": 3})}, "vocabulary"),
        ({"config": "{"}, "damaged memory network"),
        ({"config": json.dumps({"vocabulary": 4, "depth": 2})}, "depth"),
        ({"tokens": json.dumps(["<pad>", "<pad>"])}, "distinct"),
        ({"tokens": json.dumps(["<pad>", "a"])}, "2 words for"),
        ({"encoding": "letters"}, "letters"),
    ],
)
def test_a_memory_network_with_damaged_metadata_is_refused(tmp_path, change, words):
    path = pretrained.save_memory(network(), WORDS, tmp_path / "m.safetensors", MADE)
    save_weights(path, load_weights(path), metadata=weights_metadata(path) | change)
    refused(path, words, "make it again")


def test_the_shipped_memory_network_answers_fresh_stories():
    loaded = pretrained.load_memory()
    assert pretrained.MEMORY.stat().st_size < 5_000_000
    assert loaded.made, "it must say how it was made"
    assert set(load_weights(pretrained.MEMORY)) == set(loaded.model.state_dict())
    for task, bar in {1: 0.9, 4: 0.7, 6: 0.7, 12: 0.9, 20: 0.9}.items():
        stories = encode(simulate(task, 100, seed=1234), loaded.vocabulary, loaded.encoding)
        right = (predict(loaded.model, stories)[0] == stories.answer).mean()
        assert right > bar, f"task {task}: {right:.2f}"


# The reader


@pytest.fixture(scope="module")
def reader():
    tokenizer = tokenizer_of(STORIES)
    encoder = new_model(EncoderSize(layers=2, heads=2, width=16, longest=64), len(tokenizer)).bert
    answers = Vocabulary(["<unk>", "bathroom", "garden", "kitchen"])
    with training.seeded(5):
        return AnswerReader(encoder, len(answers)).eval(), tokenizer, answers


def test_a_reader_comes_back(tmp_path, reader):
    model, tokenizer, answers = reader
    folder = pretrained.save_reader(model, tokenizer, answers, tmp_path / "reader", MADE)
    assert [path.name for path in tmp_path.iterdir()] == ["reader"], "no draft is left behind"
    loaded = pretrained.load_reader(folder)
    assert loaded.answers == answers and loaded.made == MADE and not loaded.model.training
    pairs = stack(
        [StoryTokens(loaded.tokenizer).pair(example.question, example.story) for example in STORIES[:4]]
    )
    with torch.no_grad():
        ours, theirs = model(pairs).logits, loaded.model(pairs).logits
    torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-2)  # 16 bits


def test_a_reader_replaces_a_reader_and_nothing_else(tmp_path, reader):
    model, tokenizer, answers = reader
    folder = pretrained.save_reader(model, tokenizer, answers, tmp_path / "reader", {"turn": 1})
    pretrained.save_reader(model, tokenizer, answers, folder, {"turn": 2}, half=False)
    assert pretrained.load_reader(folder).made == {"turn": 2}
    assert {path.name for path in tmp_path.iterdir()} == {"reader"}
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_bytes(b"")
    with pytest.raises(UserError, match="photos holds something else"):
        pretrained.save_reader(model, tokenizer, answers, tmp_path / "photos", MADE)
    with pytest.raises(ValueError, match="answers must name the model's 4 classes, got 1"):
        pretrained.save_reader(model, tokenizer, Vocabulary(["<unk>"]), tmp_path / "new", MADE)


def test_a_folder_that_is_no_reader_is_refused(tmp_path, reader):
    model, tokenizer, answers = reader
    with pytest.raises(
        UserError, match=r"there is no answer reader at .*; give the path that save_reader wrote"
    ):
        pretrained.load_reader(tmp_path / "nowhere")
    folder = pretrained.save_reader(model, tokenizer, answers, tmp_path / "reader", MADE)
    other = AnswerReader(model.encoder, 9)
    save_weights(folder / pretrained.HEAD, other.answer, metadata=weights_metadata(folder / pretrained.HEAD))
    with pytest.raises(UserError, match="a damaged answer reader"):
        pretrained.load_reader(folder)
    pretrained.save_memory(network(), WORDS, folder / pretrained.HEAD, MADE)
    with pytest.raises(UserError, match="holds no answer reader"):
        pretrained.load_reader(folder)
    pretrained.save_reader(model, tokenizer, answers, folder, MADE)
    (folder / "config.json").unlink()
    with pytest.raises(UserError, match="no encoder could be loaded"):
        pretrained.load_reader(folder)


def test_the_shipped_reader_if_there_is_one():
    if not pretrained.READER.is_dir():
        with pytest.raises(UserError, match="train it: reasonlib run story_qa/bundle --row reader"):
            pretrained.load_reader()
        return
    assert sum(path.stat().st_size for path in pretrained.READER.iterdir()) < 5_000_000
    assert pretrained.load_reader().made, "it must say how it was made"


def test_the_module_and_the_folder_of_weights_have_different_names():
    assert Path(pretrained.__file__).parents[1] / "weights" == pretrained.MEMORY.parent
