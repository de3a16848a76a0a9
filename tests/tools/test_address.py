"""One public address, everything else made from it."""

import subprocess

import address
import pytest
from address import Address

OURS = "https://github.com/some-one/a.book"
TEXT = """\
[![tests](https://github.com/some-one/a.book/actions/workflows/test.yml/badge.svg)](https://github.com/some-one/a.book)
https://some-one.github.io/a.book/book/x.html
https://colab.research.google.com/github/some-one/a.book/blob/main/notebooks/x.ipynb
https://raw.githubusercontent.com/some-one/a.book/main/book/_images/x.svg
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "x"\n[project.urls]\nRepository = "{OURS}"\n'
    )
    (tmp_path / "README.md").write_text(TEXT)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def test_every_link_of_this_repository_agrees():
    assert address.check() == []


def test_everything_is_made_from_owner_and_name():
    made = Address.parse("https://github.com/Some-One/book.git")
    assert made.slug == "Some-One/book"
    assert made.site == "https://some-one.github.io/book/"
    assert made.colab.startswith(
        "https://colab.research.google.com/github/Some-One/book/blob/main/notebooks/"
    )


def test_a_link_to_elsewhere_is_found(root):
    assert address.check(root) == []
    for line in TEXT.splitlines():
        (root / "README.md").write_text(TEXT + line.replace("a.book", "other"))
        assert address.check(root)
        assert address.check(root)[0].startswith("README.md:5: some-one/other")


def test_one_command_changes_every_place(root):
    changed = address.change("https://github.com/new/home", root)
    assert {path.name for path in changed} == {"pyproject.toml", "README.md"}
    text = (root / "README.md").read_text()
    assert "some-one" not in text
    assert "https://new.github.io/home/book/x.html" in text
    assert address.check(root) == []
    assert Address.read(root).repository == "https://github.com/new/home"


@pytest.mark.parametrize("url", ["github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a"])
def test_an_address_of_another_form_is_refused(url):
    with pytest.raises(ValueError, match="must look like"):
        Address.parse(url)
