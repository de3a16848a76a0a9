"""The environment, the lock, the benchmarks, the link check, as far as they need no clock and no network."""

import sys
from types import SimpleNamespace

import bench
import env
import links
import lock
import pytest
from packaging.version import Version


def test_the_lock_reaches_what_the_project_asks_for_and_nothing_local():
    versions = lock.closure("reasonlib")
    assert {"torch", "transformers", "sphinx", "playwright", "numpy"} <= set(versions)
    assert "reasonlib" not in versions
    assert "pip" not in versions
    assert all(Version(version).local is None for version in versions.values())


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make an environment with a made-up Python, whose every command ends alike."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()

    def make(versions, python, code):
        run = []
        this = SimpleNamespace(version_info=python, version=".".join(map(str, python)), stderr=sys.stderr)
        monkeypatch.setattr(env, "sys", this)
        monkeypatch.setattr(
            env.subprocess,
            "run",
            lambda command, **_: run.append(command) or SimpleNamespace(returncode=code),
        )
        return env.main(str(tmp_path), versions), run, (tmp_path / ".reasonlib-env").exists()

    return make


@pytest.mark.parametrize(
    ("versions", "python", "code", "said"),
    [
        ("latest", (3, 11), 2, "versions must be one of locked, newest, oldest, got 'latest'"),
        ("locked", (3, 10), 2, "Python 3.11 or newer is needed, this is 3.10"),
        ("oldest", (3, 12), 2, "no builds for Python 3.12: try `make oldest PYTHON=python3.11`"),
        ("oldest", (3, 11), 1, "the installation failed twice"),
        ("newest", (3, 13), 1, "the installation failed twice"),
    ],
)
def test_an_environment_that_cannot_be_made_is_said(make, capsys, versions, python, code, said):
    ended, run, made = make(versions, python, 1)
    assert (ended, len(run), made) == (code, 2 if code == 1 else 0, False)
    assert said in capsys.readouterr().err


def test_the_oldest_versions_are_resolved_by_uv(make):
    ended, run, made = make("oldest", (3, 11), 0)
    assert ended == 0 and made
    assert [command[-1] for command in run] == ["uv", f".[{env.EXTRAS}]"]
    assert "lowest-direct" in run[1]


def test_a_comparison_calls_both_ways_in_turn():
    calls = []
    ours, theirs, rounds = bench.compare(lambda: calls.append("a"), lambda: calls.append("b"), budget=0)
    assert calls == ["a", "b"] * (rounds + 1)
    assert rounds == 3
    assert ours >= 0
    assert theirs >= 0


def test_durations_are_shown_with_their_unit():
    assert bench.shown(2.5).split() == ["2.5", "s"]
    assert bench.shown(0.0025).split() == ["2.5", "ms"]
    assert bench.shown(0.0000025).split() == ["2.5", "µs"]


def test_links_are_found_with_the_files_that_name_them(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "README.md").write_text("See [it](https://a.org/x) and <https://b.org>.", encoding="utf-8")
    (tmp_path / "book" / "one.md").write_text("https://a.org/x. http://127.0.0.1:8000/", encoding="utf-8")
    (tmp_path / "book" / "references.bib").write_text("url = {https://c.org/y},", encoding="utf-8")
    assert links.links(tmp_path) == {
        "https://a.org/x": ["README.md", "book/one.md"],
        "https://b.org": ["README.md"],
        "https://c.org/y": ["book/references.bib"],
    }
