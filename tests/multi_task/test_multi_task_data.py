"""Simulated tasks, readers, sampling, metrics."""

from collections import Counter

import numpy as np
import pytest

from reasonlib.errors import DataError
from reasonlib.multi_task.data.corpus import read
from reasonlib.multi_task.data.datasets import load_simulated
from reasonlib.multi_task.data.events import Event, Speaker, is_narrower, sentence
from reasonlib.multi_task.data.example import Example, Task
from reasonlib.multi_task.data.glue import read_file
from reasonlib.multi_task.data.metrics import average_precision, reciprocal_rank, score
from reasonlib.multi_task.data.sampling import plan, shares
from reasonlib.multi_task.data.simulator import FAMILY, LATER, TASKS, pretraining_texts, simulate
from reasonlib.multi_task.data.world import dictionary, words
from reasonlib.multi_task.models.encoder import load_encoder


@pytest.mark.parametrize("task", TASKS)
def test_the_same_seed_gives_the_same_examples_whatever_the_count(task):
    examples = simulate(task, 60, seed=1)
    assert simulate(task, 20, seed=1) == examples[:20] != simulate(task, 20, seed=2)
    assert {example.task for example in examples} == {task}


@pytest.mark.parametrize("task", TASKS)
def test_labels_are_balanced_and_every_word_is_known(task):
    examples = simulate(task, 400, seed=1, relatedness=0.5)
    vocabulary = set(words())
    texts = [text for example in examples for pair in example.texts for text in pair if text]
    assert {word for text in texts for word in text.split()} <= vocabulary
    if TASKS[task].kind == "similarity":
        values = [example.label for example in examples]
        assert 0 <= min(values) < 2 and max(values) == 5 and np.std(values) > 1
        return
    counts = Counter(example.label for example in examples)
    assert set(counts) == set(range(4 if TASKS[task].kind == "ranking" else len(TASKS[task].labels)))
    assert min(counts.values()) > 0.6 * len(examples) / len(counts)


def test_an_entailed_event_is_the_wider_one():
    king = Event(agent="person/adult/man/king", verb="buy", thing="drink/wine/champagne", place="park")
    assert is_narrower(king, Event(agent="person/adult/man", verb="buy", thing="drink"))
    assert not is_narrower(king, Event(agent="person/adult/man", verb="sell", thing="drink"))
    assert not is_narrower(king, Event(agent="person/adult/man", verb="buy", thing="drink/tea"))


def test_the_pairs_of_the_last_slide_have_their_kind():
    """A saxophone excludes a violin; sad and unhappy say the same; wine may be champagne."""
    kinds = {
        (example.phenomenon, TASKS["inference"].labels[int(example.label)])
        for example in simulate("inference", 300, seed=1)
    }
    assert {("sibling", "contradiction"), ("synonym", "entailment"), ("special", "neutral")} <= kinds
    assert len({label for _, label in kinds}) == 3 and len(kinds) == 9  # a kind has one label


def test_relatedness_moves_words_and_leaves_the_grammar():
    assert dictionary("inference", 1.0) == {}
    apart = dictionary("inference", 0.0)
    assert len(apart) > 60 and all(word != other for word, other in apart.items())
    assert sorted(apart) == sorted(apart.values()) and apart != dictionary("entailment", 0.0)
    assert len(dictionary("inference", 0.5)) == pytest.approx(len(apart) / 2, abs=4)
    first, second = simulate("inference", 50, seed=1), simulate("inference", 50, seed=1, relatedness=0.0)
    assert [example.label for example in first] == [example.label for example in second]
    with pytest.raises(ValueError, match="relatedness must be between 0 and 1, got 2"):
        dictionary("inference", 2)


def test_label_noise_is_a_share_of_wrong_labels():
    clean, noisy = simulate("inference", 500, seed=1), simulate("inference", 500, seed=1, noise=0.3)
    wrong = [a.label != b.label for a, b in zip(clean, noisy, strict=True)]
    assert [a.first for a in clean] == [b.first for b in noisy] and 0.24 < np.mean(wrong) < 0.36


def test_the_domain_of_later_tasks_is_their_own():
    things = {"oak", "tree", "flower", "hammer", "knife", "saw"}
    family = {w for task in FAMILY for e in simulate(task, 100, seed=1) for w in e.first.split()}
    later = {w for task in LATER for e in simulate(task, 100, seed=1) for w in e.first.split()}
    assert things <= later and not things & family


def test_articles_fit_what_follows():
    assert sentence("a adult loves a oak".split()) == "an adult loves an oak ."
    speaker = Speaker(np.random.default_rng(0), {})
    tokens = speaker.tell(Event(agent="person/adult", verb="buy", thing="plant/tree/oak"), passive=True)
    assert "is bought by" in " ".join(tokens)


def test_pretraining_texts_have_no_labels_and_known_words():
    texts = pretraining_texts(200, seed=1)
    _, tokenizer = load_encoder()
    assert texts == pretraining_texts(200, seed=1)
    for pair in texts:
        for text in filter(None, pair[:2]):
            assert tokenizer.unk_token_id not in tokenizer(text)["input_ids"]


def test_test_examples_are_the_same_for_every_seed():
    first, second = (load_simulated("paraphrase", train=20, valid=5, test=5, seed=seed) for seed in (0, 1))
    assert first.test == second.test and first.valid == second.valid and first.train != second.train
    assert not set(first.train) & set(first.test)
    with pytest.raises(ValueError, match="task must be one of acceptability"):
        load_simulated("x")
    with pytest.raises(ValueError, match="task must be one of acceptability"):
        simulate("x", 1, seed=0)


# Sampling and metrics


def test_each_rule_gives_its_shares():
    sizes = [81, 16, 4]
    assert Counter(plan(sizes, seed=3)) == {0: 81, 1: 16, 2: 4}
    np.testing.assert_allclose(shares(sizes, "square-root"), [9 / 15, 4 / 15, 2 / 15])
    np.testing.assert_allclose(shares(sizes, "uniform"), [1 / 3] * 3)
    for rule in ("square-root", "temperature", "uniform"):
        counts = Counter(plan(sizes, rule=rule, seed=1))
        assert sum(counts.values()) == 101 and counts[2] > 4
    assert plan(sizes, seed=1, epoch=1) != plan(sizes, seed=1) == plan(sizes, seed=1)
    assert min(Counter(plan([1000, 1])).values()) == 1
    with pytest.raises(ValueError, match="rule must be one of proportional"):
        shares(sizes, "x")
    with pytest.raises(ValueError, match="temperature must be at least 1"):
        shares(sizes, 0.5)


def test_metrics_are_those_of_glue():
    two = Task(name="t", kind="single", labels=("no", "yes"))
    examples = [Example(first="x", label=label, task="t") for label in (0, 1, 1, 0)]
    scores = score(two, examples, [0, 1, 0, 0])
    assert scores == {
        "accuracy": 0.75,
        "f1": pytest.approx(2 / 3),
        "matthews": pytest.approx(1 / np.sqrt(3)),
    }
    similar = Task(name="s", kind="similarity", metric="pearson")
    rated = [Example(first="x", second="y", label=label, task="s") for label in (0.0, 2.0, 5.0)]
    assert score(similar, rated, [1.0, 2.0, 9.0])["spearman"] == 1
    assert score(similar, rated, [1.0, 1.0, 1.0]) == {"pearson": 0.0, "spearman": 0.0}
    with pytest.raises(ValueError, match="predictions must be one for each example"):
        score(two, examples, [])


def test_a_ranking_is_scored_by_its_right_candidates():
    assert average_precision([0.1, 0.9, 0.5, 0.2], [1, 3]) == pytest.approx((1 + 2 / 3) / 2)
    assert reciprocal_rank([0.1, 0.9, 0.5, 0.2], [0, 3]) == pytest.approx(1 / 3)
    task = Task(name="r", kind="ranking")
    example = Example(first="q", candidates=("a", "b"), label=1, task="r")
    assert score(task, [example], [[0.3, 0.2]]) == {"accuracy": 0.0, "map": 0.5, "mrr": 0.5}


# Readers

GOOD = {
    "cola": "gj04\t1\t\tShe left.\ngj04\t0\t*\tLeft she did go.\n",
    "sst2": "sentence\tlabel\na delight \t1\n",
    "mrpc": '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t1\t2\tHe "left".\tHe went.\r\n',
    "stsb": "main\tfile\t2012\t0001\t3.800\tA man.\tA boy.\tsource\tlicence\n",
    "rte": "index\tsentence1\tsentence2\tlabel\n0\tRome.\tA city.\tentailment\n",
    "wnli": "index\tsentence1\tsentence2\tlabel\n0\tRome.\tA city.\t1\n",
    "qqp": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\twhy ?\thow ?\t0\n",
    "snli": "a man\ta person\t0\n",
    "scitail": "a man\ta person\t0\n",
    "quora": "why ?\thow ?\t0\n",
    "wikiqa": "q1\ta\t0\nq1\tb\t1\nq1\tc\t1\nq2\ta\t0\n",
    "qnli": "index\tquestion\tsentence\tlabel\n0\tq\ta\tentailment\n1\tq\tb\tnot_entailment\n",
}


def written(tmp_path, text):
    path = tmp_path / "file.tsv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("task", GOOD)
def test_released_formats_are_read(tmp_path, task):
    examples = read_file(task, written(tmp_path, GOOD[task]))
    assert examples and all(example.task == task and example.first for example in examples)
    if task in ("snli", "scitail"):
        assert examples[0].label == {"snli": 2, "scitail": 1}[task]  # 0 stands for entailment
    if task == "wikiqa":
        assert len(examples) == 1 and (examples[0].label, examples[0].others) == (1, (2,))


def test_snli_and_scitail_are_read_as_they_were_released(tmp_path):
    columns = ["gold_label", *"abcd", "sentence1", "sentence2", *"efghijk"]
    rows = [["entailment", *"abcd", "a man", "a person", *"efghijk"], ["-", *"abcd", "x", "y", *"efghijk"]]
    text = "".join("\t".join(row) + "\n" for row in [columns, *rows])
    (example,) = read_file("snli", written(tmp_path, text))
    assert (example.first, example.second, example.label) == ("a man", "a person", 2)
    examples = read_file("scitail", written(tmp_path, "a man\ta person\tentails\na\tb\tneutral\n"))
    assert [example.label for example in examples] == [1, 0]


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        ("cola", "gj04\t1\tShe left.\n", r"line 1: must have 4 columns, got 3"),
        ("cola", "gj04\t2\t\tShe left.\n", r"line 1: label must be 0 or 1, got '2'"),
        ("sst2", "a delight\t1\n", r"line 1: must be the header sentence \| label"),
        ("stsb", "m\tf\t1\t2\t7.5\ta\tb\n", r"score must be from 0 to 5, got '7.5'"),
        ("stsb", "m\tf\t1\t2\tnan\ta\tb\n", r"score must be from 0 to 5, got 'nan'"),
        (
            "rte",
            "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tmaybe\n",
            r"line 2: label must be not_ent",
        ),
        ("snli", "", "holds no example"),
    ],
)
def test_a_bad_line_is_one_clear_line(tmp_path, task, text, message):
    with pytest.raises(DataError, match=message) as caught:
        read_file(task, written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_what_is_not_here_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="rte: not on this machine"):
        read("rte", "train")
    with pytest.raises(ValueError, match="part of snli must be one of dev, test, got 'train'"):
        read("snli", "train")
    with pytest.raises(DataError, match="cannot be read"):
        read_file("rte", tmp_path / "none.tsv")
    path = tmp_path / "latin.tsv"
    path.write_bytes(b"caf\xe9\tx\t0\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_file("snli", path)
