"""The command line: what it prints, what it writes, and how it says that something is wrong."""

import json
import os
import subprocess
import sys
import textwrap
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reasonlib
from reasonlib import cli, data
from reasonlib.cli import app
from reasonlib.display import asking
from reasonlib.tracking import campaign, claims, experiment, records

ROOT = Path(reasonlib.__file__).parent.parent
# Loaded before the package's path is replaced by that of the toy topic.
LOADED = (campaign, claims, data, experiment)
ARCHIVE = b"not really an archive"

FILES = {
    "__init__.py": "",
    "claims.yaml": """
        tables: {Table 1: {tolerance: {place: 30}, tolerance_reason: for tests}}
        defaults: {source: mehak2019, where: {table: Table 1}, experiment: toy_cli/walks, metric: place}
        claims:
          - id: toy_cli/short
            kind: value
            row: short
            published: 0.5
          - id: toy_cli/stride
            kind: ordering
            text: Longer strides go further.
            agreement: {order: [long above short]}
          - {id: toy_cli/other, kind: published-only, published: null}
        """,
    "experiments.py": """
        import random
        from reasonlib.errors import UserError
        from reasonlib.tracking.experiment import Experiment, Measured

        def walk(trial):
            if trial.settings.get("broken"):
                raise {"user": UserError("the weights are absent; fetch them"), "stop": KeyboardInterrupt(),
                       "bug": RuntimeError("a bug"),
                       "file": FileNotFoundError(2, "No such file", "weights.bin")}[trial.settings["broken"]]
            steps = trial.settings["steps"]
            done = min(steps, int(trial.minutes * 10)) if trial.minutes else steps
            place = done * trial.settings["stride"] + random.Random(trial.seed).random()
            return Measured(metrics={"place": place}, steps_done=done, steps_planned=steps)

        EXPERIMENTS = {
            "walks": Experiment(
                name="toy_cli/walks", title="Random walks", run=walk,
                rows={"short": {"stride": 1}, "long": {"stride": 9}},
                scales={"smoke": {"steps": 3}, "quick": {"steps": 20}},
                data={"made": "stand-in", "found": "released"},
            ),
            "broken": Experiment(
                name="toy_cli/broken", title="Broken", run=walk, scales={"quick": {}},
                rows={name: {"broken": name} for name in ("user", "stop", "bug", "file")},
                data={"made": "stand-in"},
            ),
        }
        """,
    "data/simulator.py": """
        SIMULATORS = {"qa2": lambda questions, seed: [f"{seed}:{number}" for number in range(questions)]}
        """,
    "data/corpus.py": f"""
        from reasonlib.data import Corpus

        CORPORA = {{
            "toy": Corpus(
                name="toy", url="https://example.org/toy.tar.gz", sha256="{sha256(ARCHIVE).hexdigest()}",
                size={len(ARCHIVE)}, licence="CC BY 3.0", citation="mehak2019", folder="toy",
                files=("a.txt",),
            )
        }}

        def dumps(examples):
            return "".join(f"{{example}}\\n" for example in examples)

        def write(examples, path):
            path.write_text(dumps(examples))
        """,
    "page/ask.py": """
        from typing import NamedTuple

        class Answer(NamedTuple):
            text: str
            weights: list
            sentences: tuple

        def answer(story, question, model):
            sentences = tuple(part.strip() + "." for part in story.split(".") if part.strip())
            last = [0.0] * (len(sentences) - 1) + [1.0]
            text = f"{model}: {sentences[-1].split()[-1]}"
            return Answer(text=text, weights=[last, last], sentences=sentences)
        """,
}


@pytest.fixture(autouse=True)
def topic(tmp_path, monkeypatch):
    """Make the only topic reasonlib.toy_cli, and give everything that is written a folder of its own."""
    folder = tmp_path / "topics" / "toy_cli"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    monkeypatch.setattr(reasonlib, "__path__", [str(folder.parent)])
    for module in (cli.experiments, cli.claims):
        monkeypatch.setattr(module, "checkout", lambda: tmp_path)
    monkeypatch.setenv("REASONLIB_CACHE", str(tmp_path / "cache"))
    for name in ("REASONLIB_RECORDS", "REASONLIB_DATA"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    for name in [name for name in sys.modules if name.startswith("reasonlib.toy_cli")]:
        del sys.modules[name]
    if hasattr(reasonlib, "toy_cli"):
        del reasonlib.toy_cli


def call(*arguments, code=0, text=None):
    """Call the command line; check its exit code, and that a mistake is one line on standard error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)
    assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr, result.exception)
    assert "Traceback" not in result.stderr
    return result


def mistake(*arguments, code=2, text=None):
    """Call with a mistake and return what was said about it."""
    result = call(*arguments, code=code, text=text)
    assert result.stdout == "" and result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


# list


def test_list_names_everything():
    text = call("list").stdout
    for word in (
        "toy_cli/walks",
        "Random walks",
        "short, long",
        "smoke, quick",
        "made (stand-in), found (released)",
    ):
        assert word in text
    (topic,) = json.loads(call("list", "--json").stdout)
    assert topic["topic"] == "toy_cli" and topic["experiments"][0] == {
        "experiment": "toy_cli/walks",
        "title": "Random walks",
        "rows": ["short", "long"],
        "scales": ["smoke", "quick"],
        "data": [{"name": "made", "kind": "stand-in"}, {"name": "found", "kind": "released"}],
    }
    assert json.loads(call("list", "toy_cli", "--json").stdout) == [topic]


def test_list_of_nothing(topic):
    (topic / "experiments.py").unlink()
    assert "no experiments" in call("list").stdout
    (topic / "claims.yaml").unlink()
    assert call("list").stdout == "there are no topics\n"
    assert "no topic 'poetry'; there are: none" in mistake("list", "poetry")


# run


def test_run_records_and_tells(tmp_path):
    result = call("run", "toy_cli/walks", "--scale", "smoke", "--seed", 1, "--seed", 2, "--device", "cpu")
    for word in ("toy_cli/walks at smoke on made (stand-in)", "short", "long", "place", "3/3"):
        assert word in result.stdout
    assert result.stderr.count("\n") == 4
    assert "toy_cli/walks long seed 2: finished, 3 of 3 steps" in result.stderr
    stored = records.read("toy_cli/walks", records=tmp_path / "records")
    assert [(r.row, r.seed) for r in stored] == [("short", 1), ("short", 2), ("long", 1), ("long", 2)]


def test_run_prints_records_as_json(tmp_path):
    options = ["--row", "long", "--data", "found", "--device", "cpu", "--records", tmp_path / "mine"]
    (printed,) = json.loads(call("run", "toy_cli/walks", *options, "--json").stdout)
    (kept,) = records.read(records=tmp_path / "mine")
    assert printed == kept.to_json() and printed["data"]["kind"] == "released" and printed["scale"] == "quick"


def test_run_without_records(tmp_path):
    call("run", "toy_cli/walks", "--no-records", "--device", "cpu")
    assert not (tmp_path / "records").exists()


def test_run_continues_and_starts_anew(tmp_path):
    command = ["run", "toy_cli/walks", "--row", "short", "--device", "cpu"]
    assert "stopped by its budget, 10 of 20 steps" in call(*command, "--minutes", 1).stderr
    assert "finished, 20 of 20 steps" in call(*command).stderr
    call(*command)  # finished: nothing is added
    assert len(records.read(records=tmp_path / "records")) == 2
    assert list((tmp_path / "_run" / "toy_cli" / "walks" / "short").glob("quick-made-0-*/finished.json"))
    call(*command, "--fresh")
    assert len(records.read(records=tmp_path / "records")) == 3
    call(*command, "--checkpoints", tmp_path / "other")
    assert (tmp_path / "other" / "toy_cli").is_dir()


def test_run_fans_out(tmp_path):
    options = ["--jobs", 2, "--backend", "threading", "--device", "cpu", "--json"]
    spread = json.loads(call("run", "toy_cli/walks", *options, "--no-records").stdout)
    alone = json.loads(
        call("run", "toy_cli/walks", "--device", "cpu", "--json", "--no-records", "--fresh").stdout
    )
    assert [r["metrics"] for r in spread] == [r["metrics"] for r in alone]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["walks"], "an experiment is named topic/word, got 'walks'; see: reasonlib list"),
        (["poetry/odes"], "there is no topic 'poetry'; there are: toy_cli"),
        (["toy_cli/odes"], "no experiment 'toy_cli/odes'; there are: toy_cli/walks, toy_cli/broken"),
        (["toy_cli/walks", "--row", "wide"], "has no row 'wide'; it has: short, long"),
        (["toy_cli/walks", "--scale", "paper"], "has no scale 'paper'; it has: smoke, quick"),
        (["toy_cli/walks", "--data", "lost"], "has no data 'lost'; it has: made, found"),
        (["toy_cli/walks", "--seed", "-1"], "from 0 to 4294967295, got -1"),
        (["toy_cli/walks", "--minutes", "0"], "minutes must be a positive number"),
        (["toy_cli/walks", "--device", "gpu"], "device must be cpu, cuda"),
        (["toy_cli/walks", "--jobs", "0"], "jobs must be at least 1"),
        (["toy_cli/walks", "--backend", "ray"], "no backend 'ray'; there are: loky, threading, dask"),
        (["toy_cli/broken", "--row", "user", "--device", "cpu"], "the weights are absent; fetch them"),
        (["toy_cli/broken", "--row", "file", "--device", "cpu"], "weights.bin: No such file"),
    ],
)
def test_a_mistake_in_run_is_one_line(arguments, message):
    assert message in mistake("run", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "toy_cli/walks", "--seed", "one"],
        ["run", "toy_cli/walks", "--minutes", "soon"],
        ["run", "toy_cli/walks", "--colour", "red"],
        ["data", "simulate", "toy_cli/qa2", "--questions", "0"],
        ["data", "simulate", "toy_cli/qa2", "--seed", "-1"],
        ["dance"],
    ],
)
def test_a_command_line_that_cannot_be_read(arguments):
    result = call(*arguments, code=2)
    assert result.stdout == "" and "Usage" in result.stderr


# run, a whole topic


@pytest.fixture
def mending(topic):
    """Leave in the toy topic only rows whose mistakes a user can mend."""
    file = topic / "experiments.py"
    file.write_text(file.read_text().replace('("user", "stop", "bug", "file")', '("user", "file")'))


def test_run_of_a_topic_runs_what_has_no_fresh_record(tmp_path, mending):
    command = ["run", "toy_cli", "--device", "cpu"]
    call("run", "toy_cli/walks", "--row", "long", "--device", "cpu")
    result = call(*command, code=1)
    for line in ("walks short seed 0: finished", "user seed 0: the weights", "file seed 0: weights.bin"):
        assert line in result.stderr
    assert "long seed 0" not in result.stderr
    for word in ("toy_cli at quick", "there", "done", "failed", "1 there, 1 done, 2 failed", "place 20.8"):
        assert word in result.stdout
    call(*command, code=1)
    assert [record.row for record in records.read("toy_cli/walks", records=tmp_path / "records")] == [
        "long",
        "short",
    ]
    call(*command, "--fresh", code=1)
    assert len(records.read("toy_cli/walks", records=tmp_path / "records")) == 4


def test_run_of_a_topic_goes_on_with_what_its_budget_stopped(tmp_path, mending):
    command = ["run", "toy_cli", "--device", "cpu", "--data", "found", "--seed", 0, "--seed", 1]
    assert "budget spent" in call(*command, "--minutes", 1, code=1).stdout
    call(*command, "--minutes", 9, code=1)
    stored = records.read("toy_cli/walks", records=tmp_path / "records")
    assert [(record.row, record.seed, record.steps.complete) for record in stored] == [
        (row, seed, done) for done in (False, True) for row in ("short", "long") for seed in (0, 1)
    ]
    assert {record.data.name for record in stored} == {"found"}


def test_run_of_a_topic_fans_out_and_prints_json(mending):
    command = ["run", "toy_cli", "--scale", "smoke", "--device", "cpu", "--no-records"]
    alone = json.loads(call(*command, "--json").stdout)
    spread = json.loads(call(*command, "--json", "--jobs", 2, "--backend", "threading", "--fresh").stdout)
    assert [trial["row"] for trial in alone] == ["short", "long"]
    assert [trial["metrics"] for trial in spread] == [trial["metrics"] for trial in alone]


def test_run_of_a_topic_draws_its_table_as_it_goes(mending, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if to a terminal
    monkeypatch.setenv("COLUMNS", "160")
    result = call("run", "toy_cli", "--scale", "smoke", "--device", "cpu", "--progress")
    for word in ("toy_cli at smoke", "short", "done", "2 of 2 trials ended, 0 wait"):
        assert word in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--row", "long"], "--row needs one experiment, toy_cli/word"),
        (["--data", "lost"], "toy_cli has no data 'lost'; it has: made, found"),
        (["--scale", "paper"], "toy_cli has no scale 'paper'; it has: smoke, quick"),
        (["--seed", "-1"], "from 0 to 4294967295, got -1"),
        (["--jobs", "0"], "jobs must be at least 1"),
        (["--backend", "dask"], "a topic runs with the backend loky or threading, got 'dask'"),
    ],
)
def test_a_mistake_in_the_run_of_a_topic_is_one_line(arguments, message):
    assert message in mistake("run", "toy_cli", *arguments)


def test_records_that_cannot_be_written(tmp_path):
    (tmp_path / "records").write_text("a file where the folder should be")
    assert "records cannot be kept here" in mistake("run", "toy_cli/walks", "--device", "cpu")


def test_a_run_that_is_stopped():
    result = call("run", "toy_cli/broken", "--row", "stop", "--device", "cpu", code=130)
    assert result.stderr == "stopped\n"


def test_a_bug_is_not_hidden():
    result = CliRunner().invoke(app, ["run", "toy_cli/broken", "--row", "bug", "--device", "cpu"])
    assert result.exit_code == 1 and isinstance(result.exception, RuntimeError)


# claims


def test_claims_say_what_the_records_say(tmp_path):
    text = call("claims").stdout
    assert "0 reproduced, 0 exceeded" in text and "3 not run" in text
    call("run", "toy_cli/walks", "--device", "cpu")
    rows = json.loads(call("claims", "--records", tmp_path / "records", "--json").stdout)
    assert [row["verdict"] for row in rows] == ["inconclusive", "inconclusive", "not run"]
    assert rows[0]["ours"]["n"] == rows[0]["n"] == 1 and not rows[0]["goal"]
    assert rows[0]["records"] == ["records/toy_cli/walks.jsonl:1"]
    text = call("claims", "--records", tmp_path / "records").stdout
    for word in ("toy_cli/short", "0.5", "quick, made (stand-in)", "inconclusive", "data, scale"):
        assert word in text


def test_claims_can_be_narrowed(tmp_path):
    options = ["--records", tmp_path, "--json"]
    for verdict in ("not-run", "not run"):
        assert len(json.loads(call("claims", "--verdict", verdict, *options).stdout)) == 3
    assert json.loads(call("claims", "--verdict", "supported", *options).stdout) == []
    assert len(json.loads(call("claims", "--topic", "toy_cli", *options).stdout)) == 3


def test_mistakes_in_claims(tmp_path, topic):
    assert "no verdict 'maybe'; there are: reproduced, exceeded" in mistake("claims", "--verdict", "maybe")
    assert "there is no topic 'poetry'" in mistake("claims", "--topic", "poetry")
    assert "there is no folder" in mistake("claims", "--records", tmp_path / "absent")
    (topic / "claims.yaml").write_text("claims: [}")
    assert "claims.yaml:1: not YAML" in mistake("claims")


def test_a_malformed_record_is_named(tmp_path):
    (tmp_path / "toy_cli").mkdir()
    (tmp_path / "toy_cli" / "walks.jsonl").write_text("{}\n")
    assert "walks.jsonl:1: not a record" in mistake("claims", "--records", tmp_path)


# data


def test_data_list(tmp_path, monkeypatch):
    assert "toy" in (text := call("data", "list").stdout) and "CC BY 3.0" in text and " no " in text
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    (row,) = json.loads(call("data", "list", "--json").stdout)
    assert row["name"] == "toy" and row["here"] == {"kind": "folder", "path": str(tmp_path / "toy")}


def test_data_verify(tmp_path, monkeypatch):
    assert "no corpus on this machine" in call("data", "verify").stdout
    assert "error: " in call("data", "verify", "toy", code=1).stderr
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    damaged = call("data", "verify", code=1)
    assert "a.txt" in damaged.stderr and damaged.stdout == ""
    (report,) = json.loads(call("data", "verify", "--json", code=1).stdout)
    assert not report["ok"] and report["problems"]
    (tmp_path / "toy" / "a.txt").write_text("whole")
    assert "toy: good" in call("data", "verify", "toy").stdout
    (report,) = json.loads(call("data", "verify", "--json").stdout)
    assert report["ok"] and report["problems"] == report["absent"] == []


def test_data_fetch_of_what_is_here(tmp_path, monkeypatch):
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    assert "a.txt" in mistake("data", "fetch", "toy", code=1)
    (tmp_path / "toy" / "a.txt").write_text("whole")
    assert call("data", "fetch", "toy").stdout == f"toy: {tmp_path / 'toy'}\n"
    assert json.loads(call("data", "fetch", "toy", "--json").stdout) == [
        {"name": "toy", "path": str(tmp_path / "toy")}
    ]


def test_unknown_corpora():
    for command in ("fetch", "verify"):
        assert "toy, got 'poems'" in mistake("data", command, "poems")


def test_simulate_to_standard_output_and_to_a_file(tmp_path):
    result = call("data", "simulate", "toy_cli/qa2", "--questions", 2, "--seed", 5)
    assert result.stdout == "5:0\n5:1\n"
    out = tmp_path / "qa2.txt"
    result = call("data", "simulate", "toy_cli/qa2", "--out", out)
    assert result.stdout == "" and "1000 examples" in result.stderr
    assert out.read_text().startswith("0:0\n0:1\n")
    assert "exists; choose another file or give --force" in mistake(
        "data", "simulate", "toy_cli/qa2", "--out", out
    )
    call("data", "simulate", "toy_cli/qa2", "--questions", 1, "--out", out, "--force")
    assert out.read_text() == "0:0\n"


def test_mistakes_in_simulate(tmp_path):
    assert "toy_cli has no task '7'; there are: qa2" in mistake("data", "simulate", "toy_cli/7")
    assert "name a task of toy_cli as toy_cli/TASK; there are: qa2" in mistake("data", "simulate", "toy_cli")
    assert "there is no topic 'poetry'" in mistake("data", "simulate", "poetry/2")
    out = tmp_path / "absent" / "qa2.txt"
    assert "there is no folder" in mistake("data", "simulate", "toy_cli/qa2", "--out", out)
    said = mistake("data", "simulate", "toy_cli/qa2", "--out", tmp_path, "--force")
    assert said == f"error: {tmp_path} is a folder; toy_cli/qa2 is written as one file\n"


def test_a_topic_without_simulator_or_corpus(topic):
    (topic / "data" / "simulator.py").unlink()
    (topic / "data" / "corpus.py").unlink()
    assert "there are: none" in mistake("data", "simulate", "toy_cli/qa2")
    assert json.loads(call("data", "list", "--json").stdout) == []


# ask

STORY = "Mary went to the kitchen. John took the milk."


def test_ask_about_a_story_given_as_text_or_file_or_input(tmp_path):
    file = tmp_path / "story.txt"
    file.write_text(STORY)
    asked = ["--question", "Where is it?", "--model", "small"]
    for arguments, text in [([STORY], None), ([file], None), (["-"], STORY), ([], STORY)]:
        result = call("ask", *arguments, *asked, text=text)
        assert result.stdout.startswith("Where is it?  small: milk.\n")
        assert "John took the milk." in result.stdout and "Hop 2" in result.stdout and "1.00" in result.stdout
    (answer,) = json.loads(call("ask", STORY, *asked, "--json").stdout)
    assert answer == {
        "question": "Where is it?",
        "answer": "small: milk.",
        "sentences": ["Mary went to the kitchen.", "John took the milk."],
        "weights": [[0.0, 1.0], [0.0, 1.0]],
    }


def test_several_questions_on_the_command_line_or_one_a_line():
    assert len(json.loads(call("ask", STORY, "--question", "a?", "--question", "b?", "--json").stdout)) == 2
    answers = json.loads(call("ask", STORY, "--json", text="a?\nb?\n\nc?\n").stdout)
    assert [answer["question"] for answer in answers] == ["a?", "b?"]


def test_mistakes_in_ask(tmp_path):
    assert "there is no question" in mistake("ask", STORY)
    assert "a question must not be empty" in mistake("ask", STORY, "--question", " ")
    assert "the story is empty" in mistake("ask", "-", "--question", "a?", text="")
    assert "there is no file 'storry.txt'" in mistake("ask", "storry.txt", "--question", "a?")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert "not UTF-8 text" in mistake("ask", tmp_path / "bytes", "--question", "a?")
    assert "there is no topic 'poetry'" in mistake("ask", STORY, "--topic", "poetry")


def test_nobody_to_ask(topic):
    (topic / "page" / "ask.py").unlink()
    said = mistake("ask", STORY, "--question", "a?", "--topic", "toy_cli")
    assert "toy_cli has no model to ask; these topics have: none" in said
    assert "no topic here has a model to ask" in mistake("ask", STORY, "--question", "a?")


def test_weights_of_any_kind_become_lists():
    import numpy

    assert asking._plain(numpy.array([[0.5]])) == asking._plain(((0.5,),)) == [[0.5]]
    assert asking._plain({"hop": (1, 2)}) == {"hop": [1, 2]} and asking._plain(None) is None


# As a program


def program(*arguments, code=0, text=None, folder=None, **environment):
    """Start the command as a program of its own, with the toy topic on the package's path."""
    start = f"import reasonlib; reasonlib.__path__.insert(0, {str(folder)!r}); " if folder else ""
    done = subprocess.run(
        [sys.executable, "-c", f"{start}from reasonlib.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=text,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def test_the_version():
    assert program("--version").stdout == call("--version").stdout == f"reasonlib {reasonlib.__version__}\n"


def test_a_mistake_ends_the_program_with_two():
    done = program("run", "poetry/odes", code=2)
    assert done.stdout == "" and done.stderr.startswith("error: there is no topic 'poetry'")


def test_a_run_as_a_program(topic, tmp_path):
    places = ["--records", tmp_path / "records", "--checkpoints", tmp_path / "_run"]
    done = program("run", "toy_cli/walks", "--device", "cpu", "--json", *places, folder=topic.parent)
    assert len(json.loads(done.stdout)) == 2 and done.stderr.count("\n") == 2
    done = program(
        "claims", "--topic", "toy_cli", "--json", "--records", tmp_path / "records", folder=topic.parent
    )
    assert [row["verdict"] for row in json.loads(done.stdout)] == ["inconclusive", "inconclusive", "not run"]
    program(
        "run", "toy_cli/broken", "--row", "stop", "--device", "cpu", *places, folder=topic.parent, code=130
    )


def test_a_reader_that_goes_away_is_no_crash(topic):
    path = f"import reasonlib; reasonlib.__path__.insert(0, {str(topic.parent)!r})"
    start = f"{path}; from reasonlib.cli import main; main()"
    command = [sys.executable, "-c", start, "data", "simulate", "toy_cli/qa2", "--questions", "300000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout.readline() == "0:0\n"
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_help_does_not_wait_for_torch():
    code = (
        "import sys; from typer.testing import CliRunner; from reasonlib.cli import app; "
        "CliRunner().invoke(app, ['--help']); print({'torch', 'numpy', 'joblib', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "set()\n"


def test_every_command_has_help():
    for command in (["list"], ["run"], ["claims"], ["ask"], ["data", "list"], ["data", "simulate"]):
        text = call(*command, "--help").stdout
        assert "Usage" in text and ("--json" in text or "simulate" in command)
    assert call(code=2).exit_code == 2


# The process


def test_the_hub_s_retries_are_not_the_user_s_to_read(monkeypatch):
    monkeypatch.setattr(cli.commands, "app", lambda prog_name: None)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("HF_HUB_VERBOSITY", "")
    monkeypatch.delenv("HF_HUB_VERBOSITY")
    cli.main()
    assert os.environ["HF_HUB_VERBOSITY"] == "error"
    monkeypatch.setenv("HF_HUB_VERBOSITY", "debug")  # the user's own wish
    cli.main()
    assert os.environ["HF_HUB_VERBOSITY"] == "debug"
