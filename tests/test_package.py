"""Rules that hold for the whole library: who may import whom, what is never done, and what is documented."""

import ast
import doctest
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import reasonlib

PACKAGE = Path(reasonlib.__file__).parent
ROOT = PACKAGE.parent

HEAVY = ("accelerate", "dask", "matplotlib", "pandas", "seaborn", "sklearn", "torch", "transformers")
EXTRAS = (
    "IPython",
    "dask",
    "distributed",
    "ipykernel",
    "ipywidgets",
    "jupyter_book",
    "jupytext",
    "nbformat",
    "papermill",
    "playwright",
    "pytest",
    "sphinx",
)
PICKLES = ("_pickle", "cPickle", "cloudpickle", "dill", "marshal", "pickle", "shelve")
PICKLING_CALLS = {"joblib": ("dump", "load"), "torch": ("load", "save"), "pandas": ("read_pickle",)}


parse = cache(ast.parse)
"""Every test walks the same trees, and changes none."""


def name_of(path):
    """Dotted name of a module file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py")) if "_records" not in path.parts}
TOPICS = {path.parent.name for path in PACKAGE.glob("*/claims.yaml")}
LAYERS = ("data", "models", "experiments", "page")  # of a topic; each imports those before it alone


def room_of(module):
    """``"nn"``, a topic, or ``None`` for a shared module."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in TOPICS | {"nn"} else None


def layer_of(module):
    """The position of a module of a topic among `LAYERS`; None for any other."""
    parts = module.split(".")
    return LAYERS.index(parts[2]) if len(parts) > 2 and parts[2] in LAYERS else None


def imports_of(module, tree, *, is_package=False, modules=FILES, at_load=False):
    """List what a module imports, as (dotted name, line); with `at_load` only what its own import runs."""
    skipped = set()
    if at_load:
        for node in ast.walk(tree):
            late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if late or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
                skipped.update(id(inner) for inner in ast.walk(node))
    imported = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            imported += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parents = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                imported.append((inner if inner in modules else base, node.lineno))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                imported.append((node.args[0].value, node.lineno))
    return imported


BELOW = ("reasonlib", "reasonlib.arguments", "reasonlib.errors")
"""What every module may import."""


def direction_faults(module, source, **options):
    """Imports in a forbidden direction: topics may import `nn`, but `nn` no topic, and no topic another."""
    here, faults = room_of(module), []
    for target, line in imports_of(module, parse(source), **options):
        if target.split(".")[0] != "reasonlib":
            continue
        there = room_of(target)
        location = f"{module}, line {line}: imports {target}"
        if here == "nn" and there != "nn" and target not in BELOW:
            faults.append(f"{location}, but reasonlib.nn stands below everything; pass the value in instead")
        elif here in TOPICS and there in TOPICS and here != there:
            faults.append(
                f"{location}, another topic; move what both need into reasonlib.nn or a shared module"
            )
        elif here in TOPICS and None not in (layers := (layer_of(module), layer_of(target))):
            if layers[0] < layers[1]:
                faults.append(f"{location}, but {LAYERS[layers[0]]} stands below {LAYERS[layers[1]]}")
        elif here is None and there in TOPICS:
            faults.append(f"{location}, a topic; find topics by convention (claims.yaml) instead")
    return faults


def pickle_faults(module, source):
    """Places that pickle, or read what was pickled."""
    tree, faults = parse(source), []
    for target, line in imports_of(module, tree):
        if target.split(".")[0] in PICKLES:
            faults.append(f"{module}, line {line}: imports {target}; use json or safetensors")
    owners = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            owners |= {alias.asname or alias.name: alias.name for alias in node.names}
    for node in ast.walk(tree):
        calls = []
        if isinstance(node, ast.Attribute):
            owner = owners.get(ast.unparse(node.value))
            calls = [owner] if node.attr in PICKLING_CALLS.get(owner, ()) else []
        elif isinstance(node, ast.ImportFrom) and not node.level:
            calls = [a.name for a in node.names if a.name in PICKLING_CALLS.get(node.module, ())]
        elif isinstance(node, ast.Call):
            calls = [
                k.arg for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"
            ]
        if calls:
            line = ast.unparse(node).splitlines()[0]
            faults.append(f"{module}, line {node.lineno}: `{line}` pickles; use json or safetensors")
    return faults


def document_faults(module, source):
    """Public names without a docstring, and names in ``__all__`` that are not there."""
    tree, faults = parse(source), []
    if not ast.get_docstring(tree):
        faults.append(f"{module}: the module has no docstring")
    listed, bound, defined = None, set(), {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined[node.name] = node
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.alias):
                bound.add((inner.asname or inner.name).split(".")[0])
            elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                bound.add(inner.id)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = ast.literal_eval(node.value)
    public = listed if listed is not None else [name for name in defined if not name.startswith("_")]
    for name in public:
        if name not in defined and name not in bound:
            faults.append(f"{module}: __all__ lists {name}, which the module does not have")
        elif name in defined and not ast.get_docstring(defined[name]):
            faults.append(f"{module}, line {defined[name].lineno}: public name {name} has no docstring")
    if listed is not None and len(set(listed)) != len(listed):
        faults.append(f"{module}: __all__ lists a name twice")
    return faults


def cycle_in(graph):
    """Give one circle of a directed graph as a list that ends where it starts, or nothing."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        path.append(node)
        for following in sorted(graph.get(node, ())):
            if circle := visit(following):
                return circle
        path.pop()
        done.add(node)
        return []

    for start in sorted(graph):
        if circle := visit(start):
            return circle
    return []


def of_all(faults_of):
    """Collect the faults of every module of the library, one a line."""
    faults = []
    for module, path in FILES.items():
        options = {"is_package": path.name == "__init__.py"} if faults_of is direction_faults else {}
        faults += faults_of(module, path.read_text(encoding="utf-8"), **options)
    return "\n".join(faults)


def python(code):
    """Run code in a fresh interpreter that sees this library."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The library


def test_the_library_is_here():
    assert {"reasonlib", "reasonlib.errors", "reasonlib.data", "reasonlib.nn.attention"} <= FILES.keys()
    assert "story_qa" in TOPICS


def test_imports_run_one_way():
    faults = of_all(direction_faults)
    assert not faults, f"\n{faults}"


def test_no_module_waits_for_itself():
    graph = {}
    for module, path in FILES.items():
        tree = parse(path.read_text(encoding="utf-8"))
        targets = imports_of(module, tree, is_package=path.name == "__init__.py", at_load=True)
        graph[module] = {target for target, _ in targets if target in FILES and target != module}
    circle = " -> ".join(cycle_in(graph))
    assert not circle, f"{circle}: these import each other; move what they share into a module below them"


def test_nothing_is_pickled():
    faults = of_all(pickle_faults)
    assert not faults, f"\n{faults}"


def test_every_public_name_is_documented():
    faults = of_all(document_faults)
    assert not faults, f"\n{faults}"


@pytest.mark.parametrize("module", ["reasonlib", "reasonlib.errors", "reasonlib.data"])
def test_import_is_light(module):
    code = f"import {module}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}} & set({HEAVY})))"
    loaded = python(code).split()
    assert not loaded, f"import {module} also loads {', '.join(loaded)}; import them where they are used"


@pytest.mark.slow
def test_imports_without_the_optional_packages():
    names = [name for name in FILES if not name.endswith("__main__")]
    code = f"""
import importlib

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
for name in {names}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{{name}}: {{error}}; import optional packages where they are used")
"""
    faults = python(code)
    assert not faults, f"\n{faults}"


@pytest.mark.parametrize(
    "module", [name for name, path in FILES.items() if ">>> " in path.read_text("utf-8")]
)
def test_doctests(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(importlib.import_module(module), module):
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_the_session_in_the_readme():
    assert not doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed


# The checks themselves


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("reasonlib.nn.attention", "from reasonlib.story_qa import story", "reasonlib.nn stands below"),
        ("reasonlib.nn.attention", "import reasonlib.training", "reasonlib.nn stands below"),
        ("reasonlib.nn.attention", "from ..story_qa.story import words", "reasonlib.nn stands below"),
        ("reasonlib.nn.attention", "def f():\n    import reasonlib.story_qa", "line 2: imports"),
        ("reasonlib.story_qa.data.example", "from reasonlib.other import x", "another topic"),
        ("reasonlib.story_qa.data.example", "from reasonlib import other", "another topic"),
        ("reasonlib.data", "from reasonlib.story_qa import corpus", "a topic; find topics by convention"),
        ("reasonlib.data", "from . import story_qa", "a topic; find topics by convention"),
        (
            "reasonlib.data",
            "importlib.import_module('reasonlib.story_qa.data.corpus')",
            "a topic; find topics",
        ),
    ],
)
def test_wrong_directions_are_seen(monkeypatch, module, source, expected):
    monkeypatch.setitem(globals(), "TOPICS", {"story_qa", "other"})
    modules = {
        "reasonlib.other",
        "reasonlib.story_qa",
        "reasonlib.story_qa.data.corpus",
        "reasonlib.story_qa.data.example",
    }
    (fault,) = direction_faults(module, source, modules=modules)
    assert expected in fault and "\n" not in fault


@pytest.mark.parametrize(
    ("module", "source", "package"),
    [
        ("reasonlib.nn", "from .attention import x", True),
        ("reasonlib.nn.memory", "from .attention import x\nfrom reasonlib.errors import UserError", False),
        (
            "reasonlib.story_qa.models.bert",
            "from reasonlib.nn import x\nfrom ..data import y\nfrom . import story",
            False,
        ),
        ("reasonlib.data", "import reasonlib\nfrom . import errors\nimport_module(f'{topic}.corpus')", False),
    ],
)
def test_right_directions_are_left_alone(module, source, package):
    assert direction_faults(module, source, is_package=package) == []


def test_what_is_shipped_is_small():
    weights = {path: path.stat().st_size for path in PACKAGE.glob("*/weights/**/*") if path.is_file()}
    assert weights
    assert {path: size for path, size in weights.items() if size >= 5_000_000} == {}
    assert sum(weights.values()) < 25_000_000


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "def f():\n    from pickle import dumps",
        "import torch\ntorch.save(x, y)",
        "import torch as t\nt.load(y, weights_only=True)",
        "from torch import load",
        "import joblib\njoblib.dump(x, y)",
        "np.load(path, allow_pickle=True)",
        "import shelve",
    ],
)
def test_pickles_are_seen(source):
    (fault,) = pickle_faults("reasonlib.x", source)
    assert fault.startswith("reasonlib.x, line ") and fault.endswith("; use json or safetensors")


def test_what_does_not_pickle_is_left_alone():
    source = "import torch, json\njson.load(f)\nmodel.load(f)\nnp.load(f, allow_pickle=False)\ntorch.ones(2)"
    assert pickle_faults("reasonlib.x", source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1", ["module has no docstring"]),
        ('"""D."""\n__all__ = ["f"]\ndef f(): pass', ["line 3: public name f has no docstring"]),
        ('"""D."""\nclass C: pass', ["line 2: public name C has no docstring"]),
        ('"""D."""\n__all__ = ["g"]', ["lists g, which the module does not have"]),
        ('"""D."""\n__all__ = ["X", "X"]\nX = 1', ["lists a name twice"]),
        ('"""D."""\n__all__ = ["X", "m", "f"]\nX: int = 1\nimport m\ndef f():\n    "D."\ndef _g(): pass', []),
    ],
)
def test_missing_documents_are_seen(source, expected):
    faults = document_faults("reasonlib.x", source)
    assert len(faults) == len(expected) and all(map(str.__contains__, faults, expected))


def test_circles_are_seen():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    tree = ast.parse("import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    import c")
    assert imports_of("m", tree, at_load=True) == [("a", 1)]
    assert [name for name, _ in imports_of("m", tree)] == ["a", "b", "c"]
