"""Variables, arguments, functions and classes have names that say what they hold."""

import ast
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

VAGUE = {"one", "place", "found", "told", "known", "held", "where"}

FOLDERS = ("reasonlib", "tools", "teaching", "benchmarks", "templates", "tests", "book/_ext")

EXCEPTIONS: dict[str, set[str]] = {
    "reasonlib/multi_task/data/events.py": {"place"},  # where an event takes place
    "reasonlib/state_tracking/data/simulator.py": {"place"},  # a restaurant, hotel or sight
    "reasonlib/visual_iq/models/detector/detector.py": {"found"},  # a setting in saved weights
}


def bindings(tree):
    """List what a source binds: variables, attributes, arguments, functions and classes, as (name, line)."""
    names = []
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
            ):
                names.append((name, node.lineno))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append((name, node.lineno))
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                names.append((name, node.lineno))
            case ast.MatchMapping(rest=str(name)):
                names.append((name, node.lineno))
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names += [(alias.asname, alias.lineno) for alias in aliases if alias.asname]
    return names


@cache
def vague_names():
    """Map each tracked file to its vague names, as (name, line); files without any are left out."""
    command = ["git", "ls-files", "-z", "--", *(f"{folder}/*.py" for folder in FOLDERS)]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    files = [file for file in listed.split("\0") if file and (ROOT / file).is_file()]
    assert {folder for folder in FOLDERS if any(file.startswith(f"{folder}/") for file in files)} == set(
        FOLDERS
    )
    named = {file: bindings(ast.parse((ROOT / file).read_text(encoding="utf-8"))) for file in files}
    vague = {file: [(name, line) for name, line in names if name in VAGUE] for file, names in named.items()}
    return {file: names for file, names in vague.items() if names}


def test_names_say_what_they_hold():
    faults = [
        f"{file}:{line}: {name!r} does not say what it holds; write the field's term"
        for file, names in vague_names().items()
        for name, line in sorted(names, key=lambda item: item[1])
        if name not in EXCEPTIONS.get(file, ())
    ]
    assert not faults, "\n".join(faults)


def test_every_exception_is_still_needed():
    vague = {file: {name for name, _ in names} for file, names in vague_names().items()}
    unneeded = {file: names - vague.get(file, set()) for file, names in EXCEPTIONS.items()}
    assert not {file: names for file, names in unneeded.items() if names}


@pytest.mark.parametrize(
    "source",
    [
        "one = 1",
        "one, other = 1, 2",
        "one: int = 1",
        "[one for one in ()]",
        "print(one := 1)",
        "def one(): ...",
        "async def one(): ...",
        "def f(*, one): ...",
        "lambda one: 0",
        "class one: ...",
        "self.one = 1",
        "with f() as one: ...",
        "import a as one",
        "from a import b as one",
        "try: ...\nexcept E as one: ...",
        "match x:\n    case [*one]: ...",
        "match x:\n    case {**one}: ...",
        "match x:\n    case int() as one: ...",
    ],
)
def test_every_kind_of_binding_is_seen(source):
    assert "one" in {name for name, _ in bindings(ast.parse(source))}


@pytest.mark.parametrize("source", ["one", "a.one", "f(one=1)", "x['one'] = 1", "import one"])
def test_a_name_that_is_only_used_is_no_binding(source):
    assert "one" not in {name for name, _ in bindings(ast.parse(source))}
