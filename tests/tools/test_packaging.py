"""The wheel, the lock and the files that describe the project agree with each other."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_library_its_data_and_the_records(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "reasonlib").rglob("*"):
        inside = path.relative_to(ROOT).as_posix()
        if path.suffix in (".py", ".yaml", ".json", ".safetensors") and "__pycache__" not in inside:
            assert inside in names
    for path in (ROOT / "records").rglob("*.jsonl"):
        assert f"reasonlib/_records/{path.relative_to(ROOT / 'records').as_posix()}" in names
    assert {name.split("/")[0] for name in names} == {
        "reasonlib",
        f"reasonlib-{wheel.name.split('-')[1]}.dist-info",
    }


@pytest.mark.slow
def test_the_wheel_imports_from_a_folder_of_its_own(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import sys; sys.path.insert(0, '.'); import reasonlib, pathlib; "
        "print(reasonlib.__version__, pathlib.Path(reasonlib.__file__).resolve().parent.parent)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    version, folder = done.stdout.split(" ", 1)
    assert version == wheel.name.split("-")[1]
    assert Path(folder.strip()) == tmp_path.resolve()


def test_requirements_have_lower_bounds_and_no_pins():
    for text in PROJECT["dependencies"]:
        assert re.fullmatch(r"[\w.-]+>=[\d.]+", text), text
    for extra, texts in PROJECT["optional-dependencies"].items():
        for text in texts:
            assert "==" not in text, (extra, text)
    names = {re.split(r"[<>=]", text)[0] for text in PROJECT["dependencies"]}
    assert names.isdisjoint({"jupyter-book", "jupytext", "papermill", "nbval", "pytest", "ipykernel", "dask"})


def test_the_lock_is_whole_and_names_no_machine():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.]+", line) for line in lines)
    locked = {line.split("==")[0] for line in lines}
    wanted = [
        *PROJECT["dependencies"],
        *(t for texts in PROJECT["optional-dependencies"].values() for t in texts),
    ]
    missing = {re.split(r"[<>=]", text)[0].lower().replace("_", "-") for text in wanted} - locked
    assert missing == set()


def test_there_is_no_second_list_of_versions():
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip[0] == "-c constraints.txt"
    assert pip[1].startswith("-e .[")
    for path in [
        *ROOT.glob("*.txt"),
        *ROOT.glob("*.yml"),
        *ROOT.glob(".github/**/*.yml"),
        ROOT / "README.md",
    ]:
        if path.name != "constraints.txt":
            assert not re.search(r"\b(torch|transformers|numpy)==", path.read_text(encoding="utf-8")), path


def test_the_version_stands_once():
    text = (ROOT / "reasonlib" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "([^"]+)"', text)[1]
    assert "version" in PROJECT["dynamic"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_make_target_that_is_named_exists():
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", make, re.M))
    for name in ("README.md", "CONTRIBUTING.md", ".ci/run", "book/intro.md", ".github/workflows/site.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for line in re.findall(r"(?:`|^|run: )make ((?:[a-z-]+ ?)+)", text, re.M):
            assert set(line.split()) <= targets, (name, line)


def test_ci_calls_the_test_command_of_the_readme():
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_to_files_of_the_repository_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / name).read_text(encoding="utf-8"))
    missing = [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]
    assert missing == []


def test_what_is_vendored_brings_its_licence():
    for script in (ROOT / "book" / "_offline" / "vendor").rglob("*.js"):
        assert (script.parent / "LICENSE").is_file(), script
