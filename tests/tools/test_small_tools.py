"""The lock, the benchmarks and the link check, as far as they go without a clock or a network."""

import bench
import links
import lock
from packaging.version import Version


def test_the_lock_reaches_what_the_project_asks_for_and_nothing_local():
    found = lock.closure("reasonlib")
    assert {"torch", "transformers", "sphinx", "playwright", "numpy"} <= set(found)
    assert "reasonlib" not in found
    assert "pip" not in found
    assert all(Version(version).local is None for version in found.values())


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
