"""Tables of pandas in the book have one row of headings."""

import doctest
import re

import pandas as pd
import pytest
import reasonlib_dataframes
from reasonlib_dataframes import join_headings

TABLE = pd.DataFrame({"task": ["copy"], "runs": [3], "right": [0.5]})


def headings(html: str) -> list[list[str]]:
    """Return the rows of a table's head."""
    (head,) = re.findall("<thead>(.*)</thead>", html, re.DOTALL)
    return [re.findall("<th>(.*?)</th>", row) for row in re.findall("<tr.*?</tr>", head, re.DOTALL)]


def test_the_examples_of_the_module():
    assert doctest.testmod(reasonlib_dataframes).failed == 0


@pytest.mark.parametrize("index", ["task", ["task", "runs"]])
def test_the_name_of_the_index_stands_beside_those_of_the_columns(index):
    written = TABLE.set_index(index)._repr_html_()
    assert len(headings(written)) == 2
    assert headings(join_headings(written)) == [["task", "runs", "right"]]


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.set_index("task").rename_axis(columns="measured"),
        pd.concat({"ours": TABLE.set_index("task")}, axis="columns"),
    ],
    ids=["no name", "two names", "two levels"],
)
def test_another_head_stays(table):
    assert join_headings(table._repr_html_()) == table._repr_html_()


def test_each_of_several_tables_is_joined():
    plain, named = TABLE._repr_html_(), TABLE.set_index("task")._repr_html_()
    assert join_headings(plain + named) == plain + join_headings(named)


def test_html_that_is_not_of_pandas_stays():
    head = '<thead><tr><th scope="col">a</th></tr><tr><th scope="col"></th></tr></thead>'
    assert join_headings(head) == head
