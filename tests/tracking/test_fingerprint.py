"""A fingerprint changes with what is computed, and with nothing else."""

import ast
import functools
import shutil
from pathlib import Path

import pytest

import reasonlib
from reasonlib.errors import UserError
from reasonlib.tracking.experiment import experiments
from reasonlib.tracking.fingerprint import OUTSIDE, Closure, fingerprint

LIBRARY = {
    "lib/__init__.py": "",
    "lib/nn/__init__.py": "from .layers import Scale\n",
    "lib/nn/layers.py": '''
"""Layers."""
import numpy as np
from lib.errors import LibraryError

RATE = 0.5

class Scale:
    """Multiply."""
    bias: float = 0.0

    def __init__(self, factor):
        if factor < 0:
            raise LibraryError(f"factor must be positive, got {factor}")
        self.factor = factor

    def __call__(self, x):
        return RATE * self.factor * np.asarray(x) + self.bias
''',
    "lib/metrics.py": '''
from lib import tables

def accuracy(answers, targets):
    """Share of right answers."""
    right = sum(answer == target for answer, target in zip(answers, targets))
    return right / len(answers)

def error(answers, targets):
    return 1 - accuracy(answers, targets)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def listed(name):
    return getattr(tables, name)
''',
    "lib/tables.py": "FIRST = 1\nSECOND = 2\nFIRST_TWO = [FIRST]\nFIRST_TWO.append(SECOND)\n",
    "lib/errors.py": "class LibraryError(ValueError):\n    pass\n",
    "lib/experiments.py": """
from pathlib import Path

from lib import metrics, tables
from lib.nn import Scale

TABLE = Path(__file__).parent / "table.json"

def run_accuracy(trial):
    answers = [Scale(2)(x) for x in range(4)]
    return {"accuracy": metrics.accuracy(answers, trial.targets)}

def run_error(trial):
    from lib.metrics import error as measure
    found: dict = {"error": measure([1], trial.targets)}
    return found

def run_parity(trial):
    return {"even": metrics.even(trial.n)}

def run_listed(trial):
    return {"listed": metrics.listed("FIRST")}

def run_table(trial):
    return {"table": TABLE.read_text()}

def run_two(trial):
    return {"two": tables.FIRST_TWO}
""",
    "lib/table.json": "[1, 2]",
}
RUNS = ("accuracy", "error", "parity", "listed", "table", "two")


def write(folder: Path, changes: dict[str, list[tuple[str, str]]] | None = None) -> Path:
    for name, text in LIBRARY.items():
        for old, new in (changes or {}).get(name, []):
            assert old in text, f"{name} has no {old!r}"
            text = text.replace(old, new)
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def hashes(folder: Path, module: str = "lib.experiments") -> dict[str, str]:
    closure = Closure(folder, packages=["lib"], outside=["lib.errors"])
    return {run: closure.hash(f"{module}:run_{run}") for run in RUNS}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {run for run in before if before[run] != after[run]}


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return hashes(write(tmp_path_factory.mktemp("before")))


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("metrics", "right / len(answers)", "right / len(targets)", {"accuracy", "error"}),
        ("metrics", "return 1 - accuracy", "return 2 - accuracy", {"error"}),
        ("metrics", "n == 0", "n == 1", {"parity"}),
        ("metrics", "n != 0", "n != 1", {"parity"}),
        ("nn/layers", "0.5", "0.25", {"accuracy"}),
        ("nn/layers", "bias: float = 0.0", "bias: float = 1.0", {"accuracy"}),
        ("nn/layers", "factor < 0", "factor < 1", {"accuracy"}),
        ("nn/layers", "np.asarray", "np.array", {"accuracy"}),
        ("tables", "FIRST = 1", "FIRST = 3", {"listed", "two"}),
        ("tables", "append(SECOND)", "append(SECOND + 1)", {"listed", "two"}),
        ("tables", "SECOND = 2", "SECOND = 2\nTHIRD = 3", {"listed"}),  # a name that is made counts them all
        ("experiments", "trial.targets)}", "trial.goals)}", {"accuracy", "error"}),
        (
            "metrics",
            "def accuracy(answers, targets)",
            "def accuracy(answers, targets=())",
            {"accuracy", "error"},
        ),
    ],
)
def test_what_is_computed_makes_stale_exactly_what_depends_on_it(tmp_path, before, file, old, new, stale):
    after = hashes(write(tmp_path, {f"lib/{file}.py": [(old, new)]}))
    assert changed(before, after) == stale


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("metrics", "def even", "# a comment\ndef even"),
        ("metrics", '"""Share of right answers."""', '"""How many are right."""'),
        (
            "metrics",
            "def accuracy(answers, targets):",
            "def accuracy(answers: list, targets: list) -> float:",
        ),
        ("metrics", "right = sum(", "right: int = sum("),
        ("metrics", "right", "hits"),
        ("metrics", "answer == target for answer, target", "a == b for a, b"),
        ("metrics", "def error(", "from functools import cache\n\nLIMIT = 3\n\ndef error("),
        ("nn/layers", "import numpy as np", "import numpy"),
        ("nn/layers", "factor must be positive, got", "expected a positive factor, got"),
        ("nn/layers", "RATE", "HALF"),
        ("experiments", "found", "result"),
        ("experiments", "from lib.metrics import error as measure", "from lib import metrics"),
        ("experiments", "from lib.nn import Scale", "from lib.nn.layers import Scale"),
        ("experiments", "TABLE", "FILE"),
        ("errors", "pass", "code = 1"),
    ],
)
def test_how_it_is_spelt_does_not_count(tmp_path, before, file, old, new):
    changes = [(old, new)]
    if new == "import numpy":
        changes.append(("np.", "numpy."))
    if new == "from lib import metrics":
        changes.append(("measure(", "metrics.error("))
    assert hashes(write(tmp_path, {f"lib/{file}.py": changes})) == before


def test_a_function_a_class_and_a_module_are_renamed_and_moved_freely(tmp_path, before):
    write(
        tmp_path,
        {
            "lib/metrics.py": [("accuracy", "share_right"), ("even", "is_even"), ("listed", "entry")],
            "lib/nn/__init__.py": [("from .layers import Scale", "")],
            "lib/nn/layers.py": [("Scale", "Multiply")],
            "lib/experiments.py": [
                ("metrics.accuracy", "scores.share_right"),
                ("metrics.even", "scores.is_even"),
                ("metrics.listed", "scores.entry"),
                ("lib.metrics", "lib.scores"),
                ("import metrics, tables", "import scores, tables"),
                ("from lib.nn import Scale", "from lib.models.multiply import Multiply as Scale"),
                ("Path(__file__).parent", "Path(__file__).parents[1]"),
            ],
        },
    )
    lib = tmp_path / "lib"
    (lib / "models").mkdir()
    (lib / "models" / "__init__.py").write_text("")
    (lib / "nn" / "layers.py").rename(lib / "models" / "multiply.py")
    (lib / "metrics.py").rename(lib / "scores.py")
    (lib / "runs").mkdir()
    (lib / "experiments.py").rename(lib / "runs" / "experiments.py")
    assert hashes(tmp_path, "lib.runs.experiments") == before


def test_a_text_file_beside_the_code_counts_by_its_content(tmp_path, before):
    write(tmp_path)
    (tmp_path / "lib" / "table.json").write_text("[1, 3]")
    assert changed(before, hashes(tmp_path)) == {"table"}


def test_it_says_what_a_function_depends_on(tmp_path):
    closure = Closure(write(tmp_path), packages=["lib"], outside=["lib.errors"])
    assert set(closure.definitions("lib.experiments:run_error")) == {
        "lib.experiments:run_error",
        "lib.metrics:error",
        "lib.metrics:accuracy",
    }
    texts = closure.texts("lib.experiments:run_error")
    assert set(texts) == set(closure.definitions("lib.experiments:run_error"))
    assert "func=zip" in texts["lib.metrics:accuracy"] and "metrics" not in texts["lib.metrics:error"]


def test_a_name_that_is_not_there_is_a_clear_error(tmp_path):
    closure = Closure(write(tmp_path), packages=["lib"])
    with pytest.raises(UserError, match=r"there is no module 'lib\.absent'"):
        closure.hash("lib.absent:run")
    with pytest.raises(UserError, match=r"there is no 'run_absent' at the top of lib\.experiments"):
        closure.hash("lib.experiments:run_absent")
    (tmp_path / "lib" / "metrics.py").write_text("def (")
    with pytest.raises(UserError, match=r"metrics\.py:1: invalid syntax"):
        closure.hash("lib.experiments:run_error")


def test_functions_outside_the_package_count_too():
    def run(trial):
        return {"a": 1}

    def other(trial):
        return {"a": 2}

    def renamed(trial):
        return {"a": 1}

    assert fingerprint(run) == fingerprint(renamed) != fingerprint(other)
    assert fingerprint(hashes) != fingerprint(write)
    assert fingerprint(functools.partial(run, 1)) != fingerprint(functools.partial(run, 2))
    assert len(fingerprint(run)) == 16
    assert fingerprint(lambda trial: {"a": 1})


# The library itself


PACKAGE = Path(reasonlib.__file__).parent


def library_hashes(closure: Closure) -> dict[str, str]:
    return {name: closure.hash(run) for name, run in library_runs().items()}


def library_runs() -> dict[str, str]:
    return {
        name: f"{experiment.run.__module__}:{experiment.run.__qualname__}"
        for name, experiment in experiments().items()
    }


@pytest.fixture(scope="module")
def library():
    return Closure(PACKAGE.parent)


def test_a_change_of_a_metric_makes_stale_exactly_the_experiments_that_depend_on_it(library, tmp_path):
    skip = shutil.ignore_patterns("*.safetensors", "__pycache__", "_records")
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=skip)
    file = tmp_path / PACKAGE.name / "story_qa" / "experiments" / "metrics.py"
    metric = next(node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef))
    lines = file.read_text().splitlines()
    lines.insert(metric.body[-1].lineno - 1, " " * metric.body[-1].col_offset + "changed = True")
    file.write_text("\n".join(lines))
    name = f"reasonlib.story_qa.experiments.metrics:{metric.name}"
    depend = {key for key, run in library_runs().items() if name in library.definitions(run)}
    assert changed(library_hashes(library), library_hashes(Closure(tmp_path))) == depend
    assert "story_qa/joint" in depend and {key.partition("/")[0] for key in depend} == {"story_qa"}


def test_what_is_around_a_run_is_in_no_fingerprint(library):
    reached = {name for run in library_runs().values() for name in library.definitions(run)}
    assert not [name for name in reached if name.startswith(OUTSIDE)]
    assert not [name for name in reached if name.endswith(":*")], "a module counts whole: name what is used"
