"""Excerpts: what a chapter cuts out of the library, and what it may hold."""

from pathlib import Path

import pytest

from reasonlib.display import excerpts, show
from reasonlib.display.excerpts import Excerpt, cut_all, find, problems
from reasonlib.errors import UserError

PACKAGE = Path(excerpts.__file__).parent.parent

SOURCE = '''
class Reader:
    # excerpt: read
    def read(self, query):  # noqa: N802
        """Say at length what the chapter says."""
        scores = self.keys @ query  # (S,)
    # end excerpt
        if not scores.numel():
            raise ValueError("nothing to read")
        # excerpt: read
        return scores.softmax(-1)
        # end excerpt

    # excerpt: other
    hops = 3
    # end excerpt
'''


def marked():
    """Every excerpt of the library."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "# excerpt: " in text and path.name != "excerpts.py":
            yield from cut_all(text, file=path.relative_to(PACKAGE.parent).as_posix())


@pytest.mark.parametrize("cut", list(marked()), ids=lambda cut: f"{cut.file}:{cut.name}")
def test_every_excerpt_of_the_library_is_fit_to_be_shown(cut):
    assert problems(cut) == []


def test_the_library_has_excerpts():
    assert len(list(marked())) >= 5


def test_parts_of_one_name_are_joined_and_what_lies_between_is_left_out():
    read, other = cut_all(SOURCE, file="reasonlib/reader.py")
    assert read.code == (
        "def read(self, query):\n    scores = self.keys @ query  # (S,)\n    ...\n"
        "    return scores.softmax(-1)"
    )
    assert read.lines == (4, 11)
    assert other.code == "hops = 3"
    assert problems(read) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# excerpt: a\nx = 1\n", "never closed"),
        ("# excerpt: a\n# excerpt: b\n# end excerpt\n", "'a' is still open"),
        ("x = 1\n# end excerpt\n", "closes nothing"),
    ],
)
def test_a_broken_marker_is_a_clear_error(text, message):
    with pytest.raises(UserError, match=message):
        cut_all(text, file="reasonlib/broken.py")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("\n".join(["x = 1"] * 26), "26 lines"),
        ("x = " + "1" * 80, "84 characters"),
        ("if x < 0:\n    raise ValueError(x)", "checks its arguments"),
        ("assert x > 0", "checks its arguments"),
        ("plotting.bars(x)", "draws or prints"),
        ("print(x)", "draws or prints"),
        ("else:\n    x = 1", "no whole statement"),
        ("", "0 lines"),
    ],
)
def test_what_an_excerpt_may_not_hold(code, problem):
    assert problem in "; ".join(problems(Excerpt(name="a", code=code, file="f", lines=(1, 1))))


def test_an_excerpt_is_found_by_file_and_name():
    cut = find("nn/attention.py", "attention")
    assert cut == find("reasonlib/nn/attention.py", "attention")
    lines = (PACKAGE / "nn/attention.py").read_text(encoding="utf-8").splitlines()
    assert lines[cut.lines[0] - 2].strip() == "# excerpt: attention"
    assert lines[cut.lines[1]].strip() == "# end excerpt"
    assert "softmax" in cut.code and "# excerpt" not in cut.code


@pytest.mark.parametrize(
    ("file", "name", "message"),
    [
        ("nn/attention.py", "nothing", "no excerpt 'nothing'; it has: masked softmax, attention"),
        ("nn/absent.py", "read", "a file of the library"),
        ("../setup.py", "read", "a file of the library"),
        ("optimisation/claims.yaml", "read", "a file of the library"),
    ],
)
def test_what_is_not_there_is_a_clear_error(file, name, message):
    with pytest.raises(UserError, match=message):
        find(file, name)


def test_a_notebook_shows_an_excerpt_under_its_file():
    shown = show.excerpt("optimisation/models/losses.py", "huber", "log-cosh")
    markdown = shown._repr_markdown_()
    assert markdown.count("```python") == 1
    assert "reasonlib/optimisation/models/losses.py" in markdown
    assert "# excerpt" not in markdown
    with pytest.raises(ValueError, match="at least one excerpt"):
        show.excerpt("nn/attention.py")
