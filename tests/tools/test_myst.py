"""MyST in words a notebook shows."""

import re

import pytest
from directives import UnknownMarkup
from labels import Book, Label, labels_of
from myst import Converter

PAGE = "book/topic/one"


@pytest.fixture
def book():
    return Book(
        site="https://o.github.io/n/",
        raw="https://raw/",
        labels={
            PAGE: Label(PAGE, "page", None, "One"),
            "book/topic/two": Label("book/topic/two", "page", None, "Two"),
            "here": Label(PAGE, "section", None, "This part"),
            "there": Label("book/topic/two", "section", None, "That part"),
            "eq-a": Label(PAGE, "equation", "2", ""),
            "eq-b": Label("book/topic/two", "equation", "1", ""),
            "fig-a": Label("book/topic/two", "figure", "3.2", "A caption"),
        },
        citations={"doe2015": ("Doe et al.", "2015", "https://doe"), "roe1999": ("Roe", "1999", "")},
    )


def shown(book, text):
    return Converter(PAGE, book).cell(text)


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        ("{cite:p}`doe2015`", "([Doe et al., 2015](https://doe))"),
        ("{cite:t}`doe2015` says", "[Doe et al. (2015)](https://doe) says"),
        (
            "{cite}`doe2015,roe1999`",
            "([Doe et al., 2015](https://doe); [Roe, 1999](https://o.github.io/n/book/bibliography.html))",
        ),
        ("see {eq}`eq-a`", "see (2)"),
        ("{eq}`eq-b`", "[(1)](https://o.github.io/n/book/topic/two.html#equation-eq-b)"),
        ("{ref}`here`", "This part"),
        ("{ref}`there`", "[That part](https://o.github.io/n/book/topic/two.html#there)"),
        ("{ref}`it <there>`", "[it](https://o.github.io/n/book/topic/two.html#there)"),
        ("{numref}`fig-a`", "[Figure 3.2](https://o.github.io/n/book/topic/two.html#fig-a)"),
        ("[next](two.md)", "[next](https://o.github.io/n/book/topic/two.html)"),
        ("[](two.md)", "[Two](https://o.github.io/n/book/topic/two.html)"),
        ("{doc}`two`", "[Two](https://o.github.io/n/book/topic/two.html)"),
        ("[out](https://x.y/z_(w))", "[out](https://x.y/z_(w))"),
        ("{term}`hop`", "[hop](https://o.github.io/n/book/glossary.html)"),
        ("{term}`hops <hop>`", "[hops](https://o.github.io/n/book/glossary.html)"),
        ("{math}`x_i`", "$x_i$"),
        ("{func}`~a.b.c` and {class}`a.B`", "`c` and `a.B`"),
        ("`{cite}` is code, $a_{b}$ is not", "`{cite}` is code, $a_{b}$ is not"),
        ("![words](../_images/x.svg)", "![words](https://raw/book/_images/x.svg)"),
        ("a note[^1]\n\n[^1]: its text", "a note<sup>1</sup>\n\n<sup>1</sup> its text"),
        ("(label)=\n## Title", "## Title"),
        ("% a comment\ntext <!-- hidden -->", "text"),
        ("word\n: what it means\n  and more", "**word**: what it means and more"),
    ],
)
def test_text(book, myst, markdown):
    assert shown(book, myst) == markdown


def test_boxes_become_quotes_with_a_bold_title(book):
    assert shown(book, "```{note}\nMind {eq}`eq-a`.\n```") == "> **Note**\n>\n> Mind (2)."
    assert shown(book, ":::{admonition} A *title*\n:class: tip\n\nText.\n\nMore.\n:::") == (
        "> **A *title***\n>\n> Text.\n>\n> More."
    )
    nested = "::::{grid} 2\n:::{grid-item-card} Card\nInside.\n:::\n::::"
    assert shown(book, nested) == "> **Card**\n>\n> Inside."


def test_code_in_a_box_is_left_alone(book):
    text = ":::{tip}\n```python\nx = {1: 2}  # {cite}`no`\n```\n:::"
    assert shown(book, text) == "> **Tip**\n>\n> ```python\n> x = {1: 2}  # {cite}`no`\n> ```"


def test_equations_keep_their_numbers(book):
    text = (
        "```{math}\n:label: a\nx = 1\n```\n\n$$\ny = 2\n$$ (b)\n\n$$z = 3$$\n\n"
        "```{math}\n:label: c\na &= b \\\\\nc &= d\n```"
    )
    tags = re.findall(r"\\tag\{(\d)\}", shown(book, text))
    assert tags == ["1", "2", "3"]
    assert "\\begin{aligned}" in shown(book, text)
    assert "$$\nz = 3\n$$" in shown(book, text)


def test_exercises_are_numbered_and_solutions_left_out(book):
    text = (
        "```{exercise} Name\n:label: e\nDo it.\n```\n\n```{solution} e\nThe secret.\n```\n\n"
        "```{exercise-start} Code\n:label: f\n```\n\nMore."
    )
    out = shown(book, text)
    assert "> **Exercise 1: Name**" in out
    assert "**Exercise 2: Code**" in out
    assert "secret" not in out


def test_figures_have_words_and_a_numbered_caption(book):
    text = "```{figure} ../_images/x.svg\n:alt: Two bars\n:name: f\nA caption.\n```"
    assert shown(book, text) == "![Two bars](https://raw/book/_images/x.svg)\n\n*Figure 1.* A caption."


def test_list_tables_become_pipe_tables(book):
    text = "```{list-table} Sizes\n:header-rows: 1\n\n* - a\n  - b\n* - 1\n  - 2 | 3\n```"
    assert shown(book, text) == "**Table 1.** Sizes\n\n| a | b |\n| --- | --- |\n| 1 | 2 \\| 3 |"


@pytest.mark.parametrize(
    ("myst", "message"),
    [
        ("```{sparkle}\n```", "directive {sparkle}"),
        ("{sparkle}`x`", "role {sparkle}"),
        ("{cite:p}`nobody`", "citation nobody"),
        ("{ref}`nowhere`", "link nowhere"),
        ("[x](three.md)", "three.md"),
        ("{eq}`eq-z`", "reference eq-z"),
        ("```{note}\nnever closed", "never closed"),
    ],
)
def test_what_has_no_words_is_an_error(book, myst, message):
    with pytest.raises(UnknownMarkup, match=re.escape(message)):
        shown(book, myst)


def test_labels_are_found_with_their_numbers():
    cells = [
        ("markdown", "(top)=\n# Title\n\n(part)=\n## Part\n\n```{math}\n:label: first\nx\n```", {}),
        ("code", "draw()", {"figure": "drawn", "caption": "What it shows"}),
        ("markdown", "$$y$$ (second)\n\n```{exercise} Count\n:label: count\n```\n", {}),
    ]
    labels = labels_of(PAGE, cells)
    assert labels["top"].kind == "page"
    assert labels["part"].title == "Part"
    assert (labels["first"].number, labels["second"].number) == ("1", "2")
    assert labels["drawn"] == Label(PAGE, "figure", "1", "What it shows")
    assert labels["count"] == Label(PAGE, "exercise", "1", "Count")
