"""GLUE as the benchmark splits it: the forms in which its sets are released, and training on them."""

import pytest
import rows

from reasonlib.display import results
from reasonlib.errors import DataError
from reasonlib.multi_task.data.benchmark import METRICS, QNLI, glue_score, read_part, task_of, version_here
from reasonlib.multi_task.experiments import EXPERIMENTS
from reasonlib.multi_task.experiments.glue import glue_version, load_glue
from reasonlib.multi_task.models.encoder import BUNDLED
from reasonlib.tracking import settle
from reasonlib.tracking.claims_file import load
from reasonlib.tracking.experiment import settings
from reasonlib.tracking.runner import run

HEADERS = {
    "SST-2": "sentence\tlabel",
    "MRPC": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String",
    "STS-B": "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
    "QQP": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
    "MNLI": "index\tpromptID\tpairID\tgenre\tp1\tp2\tp3\tp4\tsentence1\tsentence2\tlabel1\tgold_label",
    "QNLI": "index\tquestion\tsentence\tlabel",
    "RTE": "index\tsentence1\tsentence2\tlabel",
    "WNLI": "index\tsentence1\tsentence2\tlabel",
}
FOLDERS = ("CoLA", *HEADERS)
ENTAILED = ("not_entailment", "entailment")


def line(name, number):
    """Write an example of a set in GLUE's format; labels take turns."""
    label = number % 2
    texts = f"a man holds {number} .\tthe man holds it ."
    return {
        "CoLA": f"gj04\t{label}\t{'' if label else '*'}\tShe left {number}.",
        "SST-2": f"a delight {number} \t{label}",
        "MRPC": f"{label}\t{number}\t{number + 1}\t{texts}",
        "STS-B": f"{number}\tmain\tf\t2012\t{number}\tnone\tnone\t{texts}\t{number % 6}.000",
        "QQP": f"{number}\t1\t2\t{texts}\t{label}",
        "MNLI": f"{number}\t1\t2\tfiction\t(\t(\t(\t(\t{texts}\tneutral\t"
        + ("neutral", "entailment", "contradiction")[number % 3],
        "QNLI": f"{number}\tWho holds {number // 2} ?\tA man {number} .\t{ENTAILED[label]}",
        "RTE": f"{number}\t{texts}\t{ENTAILED[label]}",
        "WNLI": f"{number}\t{texts}\t{label}",
    }[name]


def table(name, numbers):
    lines = [HEADERS[name]] if name in HEADERS else []
    return "\n".join([*lines, *(line(name, number) for number in numbers)]) + "\n"


def write(folder, *, train=12, dev=6):
    """Write the files of GLUE's nine sets, and version 1 of QNLI beside version 2."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
        parts = ("dev_matched", "dev_mismatched") if name == "MNLI" else ("dev",)
        (folder / name / "train.tsv").write_text(table(name, range(train)), encoding="utf-8")
        for part in parts:
            (folder / name / f"{part}.tsv").write_text(table(name, range(100, 100 + dev)), encoding="utf-8")
    (folder / "QNLI").rename(folder / "QNLI-v1")
    (folder / "QNLI").mkdir()
    for part, count in (("train", train), ("dev", dev)):
        (folder / "QNLI" / f"{part}.tsv").write_text(table("QNLI", range(0, 2 * count, 2)))
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    return write(tmp_path / "glue_data")


# Readers


def test_the_nine_sets_are_read_from_the_files_of_glue(folder):
    for name in METRICS:
        train, dev = read_part(name, "train"), read_part(name, "dev")
        assert (len(train), len(dev)) == (12, 6) and {example.task for example in train} == {name}
        assert task_of(name).kind != "ranking" and all(example.first for example in dev)
    assert len(read_part("mnli", "mismatched")) == 6
    assert [example.label for example in read_part("stsb", "dev")] == [4, 5, 0, 1, 2, 3]
    version = version_here()
    assert version.count("+") == 8
    (folder / "QNLI-v1" / "dev.tsv").write_text(table("QNLI", range(4)))
    assert version_here() == version  # version 1 is other data


def test_qnli_is_pairs_to_classify_or_questions_with_two_candidates(folder):
    first, second, *_ = read_part("qnli", "dev", qnli="v1")
    assert (first.second, first.label, second.label) == ("A man 100 .", 0, 1)
    ranked = read_part("qnli", "dev", qnli="v1-ranking")
    assert len(ranked) == 3 and ranked[0].candidates == ("A man 100 .", "A man 101 .")
    assert ranked[0].label == 1 and task_of("qnli", qnli="v1-ranking").kind == "ranking"
    lines = [line("QNLI", number) for number in (0, 1, 2, 5, 6, 7, 8, 9)]  # 2 and 5: two questions
    lines[4], lines[5] = lines[5], lines[4]  # the right one first
    path = folder / "QNLI-v1" / "dev.tsv"
    path.write_text("\n".join([HEADERS["QNLI"], *lines]))
    assert [example.label for example in read_part("qnli", "dev", qnli="v1-ranking")] == [1, 0, 1]
    (folder / "QNLI" / "dev.tsv").rename(path)
    with pytest.raises(DataError, match="are not pairs of one right and one wrong sentence; is it version 1"):
        read_part("qnli", "dev", qnli="v1-ranking")


@pytest.mark.parametrize("ids", ["dev_ids.tsv", "mrpc_dev_ids.tsv"])
def test_the_development_part_of_mrpc_is_named_by_ids(folder, ids):
    for part in ("train", "dev"):
        (folder / "MRPC" / f"{part}.tsv").unlink()
    with pytest.raises(DataError, match=r"MRPC: lacks train.tsv and dev.tsv; put the files"):
        read_part("mrpc", "dev")
    path = folder / "MRPC" / "msr_paraphrase_train.txt"
    path.write_text(table("MRPC", range(8)).replace("\n", "\r\n"), encoding="utf-8", newline="")
    with pytest.raises(DataError, match=r"MRPC: lacks dev_ids.tsv; put the files"):
        read_part("mrpc", "dev")
    (folder / "MRPC" / ids).write_text("3\t4\n6\t7\n")
    assert [example.first for example in read_part("mrpc", "dev")] == ["a man holds 3 .", "a man holds 6 ."]
    assert len(read_part("mrpc", "train")) == 6
    (folder / "MRPC" / ids).write_text("3\t4\n6\t9\n")
    with pytest.raises(DataError, match=r"ids.tsv, line 2: msr_paraphrase_train.txt has no pair 6 9; get"):
        read_part("mrpc", "train")


def test_cola_and_sts_b_are_read_from_their_own_releases(folder):
    raw = folder / "CoLA" / "cola_public" / "raw"
    raw.mkdir(parents=True)
    for number, part in enumerate(("in_domain_train", "in_domain_dev", "out_of_domain_dev")):
        (raw / f"{part}.tsv").write_text(table("CoLA", range(number + 1)))
    (folder / "CoLA" / "train.tsv").unlink()
    assert len(read_part("cola", "train")) == 1 and len(read_part("cola", "dev")) == 2 + 3
    for part in ("train", "dev"):
        (folder / "STS-B" / f"{part}.tsv").unlink()
        (folder / "STS-B" / f"sts-{part}.csv").write_text("main\tfile\t2012\t1\t3.8\tA man.\tA boy.\n")
    assert [example.label for example in read_part("stsb", "dev")] == [3.8]


def test_a_few_broken_lines_of_qqp_are_left_out(folder):
    path = folder / "QQP" / "train.tsv"
    broken = "7\t1\t2\ta question with\na line break ?\tanother ?\t0\n"
    path.write_text(table("QQP", range(300)) + broken)
    assert len(read_part("qqp", "train")) == 300
    path.write_text(table("QQP", range(30)) + broken)
    with pytest.raises(DataError, match=r"train.tsv: 2 of 32 lines are broken; get it again"):
        read_part("qqp", "train")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("STS-B/dev.tsv", "index\tgenre\n", r"dev.tsv, line 1: must be the header index \| genre"),
        ("STS-B/dev.tsv", table("STS-B", [1]).replace("1.000", "7"), "line 2: score must be from 0 to 5"),
        ("QNLI/dev.tsv", table("QNLI", [1]).replace("entail", ""), "line 2: label must be not_entailment"),
        ("QNLI/dev.tsv", HEADERS["QNLI"] + "\n1\tWho ?\n", "line 2: must have 4 columns, got 2"),
        ("QQP/dev.tsv", HEADERS["QQP"] + "\n", "dev.tsv: holds no example"),
        ("MNLI/dev_matched.tsv", None, "MNLI: lacks dev_matched.tsv; put the files of the release there"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(folder, file, text, message):
    path = folder / file
    path.unlink() if text is None else path.write_text(text)
    names = {"STS-B": "stsb", "QNLI": "qnli", "QQP": "qqp", "MNLI": "mnli"}
    with pytest.raises(DataError, match=message) as caught:
        read_part(names[path.parent.name], "dev")
    assert "\n" not in str(caught.value)


def test_what_there_is_not_is_said(folder):
    with pytest.raises(ValueError, match="name must be one of cola, sst2"):
        read_part("snli", "dev")
    with pytest.raises(ValueError, match="part of rte must be one of train, dev, got 'test'"):
        read_part("rte", "test")
    with pytest.raises(ValueError, match="qnli must be one of v2, v1"):
        task_of("qnli", qnli="v3")
    assert all(version_here(qnli=form) for form in QNLI)
    (folder / "RTE" / "dev.tsv").unlink()
    assert version_here() is None is glue_version("glue")


def test_the_score_of_glue_is_that_of_the_leaderboard():
    """The rows of table 2 hold every metric of the nine sets, and the score that GLUE gave."""
    cells = {
        metric: metric.replace(".", "-") for metric in ("mrpc.f1", "mrpc.accuracy", "qqp.f1", "qqp.accuracy")
    }
    cells |= {f"{name}.accuracy": name for name in ("qnli", "rte", "wnli")}
    cells |= {"cola.matthews": "cola", "sst2.accuracy": "sst-2", "mnli.accuracy": "mnli-matched"}
    cells |= {f"stsb.{metric}": f"sts-b-{metric}" for metric in METRICS["stsb"]}
    cells |= {"mnli.mismatched": "mnli-mismatched"}
    for system in ("bert-large", "mt-dnn-no-fine-tune", "mt-dnn", "human"):
        printed = results.published(f"multi_task/test/{system}/")
        score = glue_score({metric: printed[cell] for metric, cell in cells.items()})
        assert score == pytest.approx(printed["score"], abs=0.0006), system


# Training on them


def test_a_set_is_split_and_the_development_part_is_kept_apart(folder):
    first, second = (load_glue("rte", checked=5, seed=seed) for seed in (0, 1))
    assert first.test == second.test == tuple(read_part("rte", "dev")) and first.valid == second.valid
    assert len(first.valid) == 1 and first.train != second.train  # a tenth of twelve
    assert {*first.train, *first.valid} == set(read_part("rte", "train"))
    few = load_glue("rte", checked=5, most=3, asked=2, seed=0)
    assert (len(few.train), len(few.test)) == (3, 2) and set(few.test) <= set(first.test)


def test_every_row_is_measured_on_the_development_parts(folder):
    records = run(
        "multi_task/glue", rows=["mt-dnn", "st-dnn"], data="glue", scale="smoke", seeds=1, device="cpu"
    )
    for record in records:
        names = {f"{name}.{metric}" for name, metrics in METRICS.items() for metric in metrics}
        assert names | {"score"} <= set(record.metrics) and record.steps.complete
        assert record.metrics["score"] == pytest.approx(glue_score(record.metrics))
        assert record.data.kind == "released" and record.data.version == version_here()
        examples = record.details["examples"]
        assert examples["mnli.mismatched"] == examples["rte.accuracy"] == 6 and "stsb.pearson" not in examples


def test_version_1_of_qnli_is_ranked_but_for_plain_heads(folder):
    mt_dnn, bert = run(
        "multi_task/glue", rows=["mt-dnn", "bert"], data="glue-qnli-v1", scale="smoke", seeds=1, device="cpu"
    )
    assert "qnli.map" in mt_dnn.metrics and "rte.accuracy" not in mt_dnn.metrics
    assert "qnli.map" not in bert.metrics and bert.details["test"] == {"qnli": 6}
    assert mt_dnn.details["test"] == {"qnli": 3} and "score" not in bert.metrics


def test_any_encoder_can_be_named_or_be_a_folder(folder):
    experiment = EXPERIMENTS["multi_task/glue"]
    row = {**settings(experiment, "st-dnn", "smoke"), "encoder": str(BUNDLED)}
    kind = experiment.data["glue-qnli-v1"]
    trial = rows.trial("multi_task/glue:st-dnn", row, data="glue-qnli-v1", kind=kind)
    assert experiment.run(trial).steps_done > 0
    assert settings(experiment, "st-dnn", "paper")["encoder"] == "bert-large-uncased"


def test_the_plan_names_the_data_that_its_claims_need(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    claims = [claim for claim in load("multi_task") if claim.experiment == "multi_task/glue"]
    counts = {data: sum(claim.data == data for claim in claims) for data in ("glue", "glue-qnli-v1")}
    assert settle.plan("multi_task").absent.items() >= counts.items() and min(counts.values()) > 0
    with pytest.raises(DataError, match=r"glue-rte: not on this machine .* put RTE.zip or RTE/ \(from https"):
        read_part("rte", "dev")
