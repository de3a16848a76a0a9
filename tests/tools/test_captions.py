"""Figures and tables of code cells: a caption and a label for Sphinx, and the same number in notebooks."""

import nbformat
import pytest
from captions import NoCaption, as_markdown, labelled, set_caption
from labels import Book, labels_of
from myst import Converter


def cell(html="<figure><svg></svg><figcaption>Loss falls.</figcaption></figure>", count=1, **metadata):
    outputs = [nbformat.v4.new_output("display_data", {"text/html": html}) for _ in range(count)]
    return nbformat.v4.new_code_cell("show()", metadata=metadata, outputs=outputs)


def test_the_own_caption_moves_from_the_picture_to_the_book():
    made = cell(figure="losses-falling")
    set_caption(made)
    figure = made.metadata["mystnb"]["figure"]
    assert (figure["name"], figure["caption"], figure["caption_before"]) == (
        "losses-falling",
        "Loss falls.",
        False,
    )
    assert "figcaption" not in made.outputs[0].data["text/html"]


def test_a_caption_of_the_cell_comes_first_and_a_table_has_it_above():
    made = cell(table="losses-rates", caption="The *rates*.")
    set_caption(made)
    figure = made.metadata["mystnb"]["figure"]
    assert figure["caption"] == "The *rates*." and figure["caption_before"] is True
    assert "rr-numbered-table" in figure["classes"]
    assert "figcaption" in made.outputs[0].data["text/html"]


def test_what_asks_for_no_number_or_shows_nothing_is_left_alone():
    for made in (cell(), cell(count=0, figure="losses-none")):
        set_caption(made)
        assert "mystnb" not in made.metadata
    assert labelled(cell().metadata) is None


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (cell(html="<svg></svg>", figure="a"), "figure a has no captions"),
        (
            cell(html="<figcaption>1</figcaption><figcaption>2</figcaption>", figure="a"),
            "figure a has 2 captions",
        ),
        (cell(count=2, figure="a"), "the cell of a shows 2 things"),
    ],
)
def test_a_figure_without_one_caption_is_refused(made, message):
    with pytest.raises(NoCaption, match=message):
        set_caption(made)


def test_a_caption_keeps_its_words_and_its_emphasis():
    html = "The <em>slope</em> of <code>a_b</code>, 5 &lt; 6,\n $x$ and <span>1*2</span>"
    assert as_markdown(html) == r"The *slope* of `a\_b`, 5 \< 6, \$x\$ and 1\*2"


def test_chapters_count_their_own_figures_tables_and_equations():
    cells = [
        ("code", "", {"figure": "one-fig", "caption": "First."}),
        (
            "markdown",
            "```{math}\n:label: one-eq\n\nx\n```\n\n```{figure} a.svg\n:name: one-drawn\nDrawn.\n```",
            {},
        ),
        ("code", "", {"table": "one-table"}),
        ("markdown", "```{exercise} Try\n:label: one-exercise\nDo it.\n```", {}),
    ]
    labels = labels_of("book/a/one", cells, 3)
    numbered = {name: (label.kind, label.number) for name, label in labels.items()}
    assert numbered["one-fig"] == ("figure", "3.1") and numbered["one-drawn"] == ("figure", "3.2")
    assert numbered["one-eq"] == ("equation", "3.1") and numbered["one-table"] == ("table", "3.1")
    assert numbered["one-exercise"] == ("exercise", "3.1")
    converter = Converter("book/a/one", Book(site="https://s/", raw="https://r/", labels=labels), 3)
    assert converter.caption("figure", "First.") == "*Figure 3.1.* First."
    assert r"\tag{3.1}" in converter.cell("```{math}\n:label: one-eq\n\nx\n```")
    assert converter.caption("table", "") == "*Table 3.1, above.*"
    assert converter.cell("{numref}`one-fig` and {eq}`one-eq`") == "Figure 3.1 and (3.1)"


def test_pages_that_are_no_chapters_count_from_one():
    labels = labels_of("book/notation", [("markdown", "```{math}\n:label: eq\n\nx\n```", {})])
    assert labels["eq"].number == "1"
