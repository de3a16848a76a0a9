"""The experiment that trains a public network beside ours, with a stand-in for that network."""

import pytest
import torch

from reasonlib.errors import UserError
from reasonlib.story_qa.data import corpus
from reasonlib.story_qa.data.datasets import version
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.experiments import EXPERIMENTS
from reasonlib.story_qa.experiments.peer import VARIABLE, PeerNetwork, checkout
from reasonlib.tracking.runner import run

STAND_IN = {
    "config.py": """
class BabiConfig:
    def __init__(self, story, questions, dictionary):
        self.nhops, self.batch_size, self.train_range = 3, 32, range(int(0.9 * len(questions)))
        self.train_config = {"in_dim": 8, "sz": 10}

class BabiConfigJoint(BabiConfig):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.train_config["in_dim"] = 12
""",
    "util.py": """
def parse_babi_task(files, dictionary, include_question):
    lines = [line for name in files for line in open(name) if "?" in line]
    return lines, lines, lines

def build_model(config):
    return [], [], []
""",
    "train_test.py": """
def train(story, questions, qstory, memory, model, loss, config):
    memory += config.nepochs * ["after"]
    sum(range(200_000))  # some processor time
    print("1 | train error: 0.5")

def train_linear_start(story, questions, qstory, memory, model, loss, config):
    memory += config.ls_nepochs * ["linear"]
    train(story, questions, qstory, memory, model, loss, config)

def test(story, questions, qstory, memory, model, loss, config):
    print("Test error: %f" % (memory.count("linear") / 10 + memory.count("after") / 1000 + len(story) / 1e5))
""",
}


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    folder = tmp_path / "peer"
    folder.mkdir()
    for name, text in STAND_IN.items():
        (folder / name).write_text(text)
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


@pytest.fixture
def corpus_files(tmp_path, monkeypatch):
    for task in TASKS:
        for split, count, seed in (("train", 80, 11), ("test", 40, 12)):
            for size in ("en", "en-10k"):  # a tree that is whole; only task 1 of the small set is read
                path = corpus.path_of(tmp_path / corpus.FOLDER, task, split, size)
                path.parent.mkdir(parents=True, exist_ok=True)
                corpus.write(simulate(task, count if (task, size) == (1, "en") else 2, seed=seed), path)
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    version.cache_clear()
    yield tuple([corpus.path_of(tmp_path / corpus.FOLDER, 1, split, "en")] for split in ("train", "test"))
    version.cache_clear()


def test_the_other_network_is_trained_and_tested_in_its_own_process(stand_in, corpus_files):
    with PeerNetwork(checkout(), *corpus_files) as port:
        assert (port.width, port.hops, port.batch, port.slots, port.questions) == (8, 3, 32, 10, 72)
        assert port.train(4) > 0
        assert port.errors() == [pytest.approx(0.0044)]  # 40 questions
        assert port.train(5, linear=2) > 0
        assert port.errors() == [pytest.approx(0.2094)]
    assert port.process.returncode == 0


def test_several_tasks_are_learnt_at_once_and_tested_one_by_one(stand_in, corpus_files):
    (train_file,), (test_file,) = corpus_files
    test_files = [test_file, corpus.path_of(train_file.parents[1], 2, "test", "en")]
    with PeerNetwork(
        checkout(), [train_file, corpus.path_of(train_file.parents[1], 2, "train", "en")], test_files
    ) as port:
        assert (port.width, port.questions) == (12, 73)  # nine tenths of 80 and 2
        assert port.train(3, linear=1) > 0
        assert port.errors() == [pytest.approx(0.1034), pytest.approx(0.10302)]


def test_both_are_measured_in_one_run(stand_in, corpus_files):
    threads = torch.get_num_threads()
    (record,) = run(EXPERIMENTS["story_qa/peer"], rows="qa1", scale="smoke", device="cpu")
    metrics = record.metrics
    assert metrics["port.error"] == pytest.approx(0.1054)  # 1 of 6 epochs without the softmax
    assert {
        f"{side}.{metric}" for side in ("one", "together") for metric in ("error", "rate", "speed")
    } < set(metrics)
    assert 0 <= metrics["together.error"] <= 1 and metrics["together.speed"] > 0
    assert record.steps.done == record.steps.planned == 2 * 6 * 1  # two trainings, 72 questions an epoch
    assert torch.get_num_threads() == threads


def test_both_are_measured_on_all_tasks_in_one_run(stand_in, corpus_files):
    (record,) = run(EXPERIMENTS["story_qa/peer-joint"], scale="smoke", device="cpu")
    metrics = record.metrics
    assert metrics["port.error.qa1"] == pytest.approx(0.1014)  # two epochs, one of them without the softmax
    assert metrics["port.error.qa20"] == pytest.approx(0.10102)
    for side in ("port", "one"):
        tasks = [metrics[f"{side}.error.qa{task}"] for task in TASKS]
        assert metrics[f"{side}.error"] == pytest.approx(sum(tasks) / 20)
    assert metrics["one.speed"] == pytest.approx(metrics["one.rate"] / metrics["port.rate"])


@pytest.mark.parametrize("value", [None, "", "nowhere"])
def test_without_a_checkout_it_says_what_is_needed(corpus_files, monkeypatch, value):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(UserError, match=f"{VARIABLE} must name a checkout") as caught:
        run(EXPERIMENTS["story_qa/peer"], rows="qa1", scale="smoke", device="cpu")
    assert "\n" not in str(caught.value)


def test_a_checkout_that_does_not_run_is_named(stand_in, corpus_files):
    (stand_in / "util.py").write_text("raise SystemExit")
    with pytest.raises(UserError, match="ended early"):
        PeerNetwork(checkout(), *corpus_files)
