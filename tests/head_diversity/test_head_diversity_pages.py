"""Pictures of the chapters on heads: every one is made and says what it shows."""

import pytest

from reasonlib.head_diversity.page import figures
from reasonlib.head_diversity.page.clouds import relations
from reasonlib.head_diversity.page.trained import curves, described

MADE = ("bias", "control_similarity", "count_curves", "every_model", "heads_published", "perplexities")


@pytest.mark.parametrize("name", [*MADE, "pruning", "quarter_turn", "tables", "translator_heads"])
def test_a_picture_says_what_it_shows(name):
    picture = getattr(figures, name)()
    assert len(picture.alt) > 40 and "figcaption" in picture.html


def test_numbers_of_the_source_come_from_its_claims():
    assert figures.published("similarity/h8-d512/svcca") == 0.419
    with pytest.raises(ValueError, match="prints no number for 'figure/heads/d512'"):
        figures.published("figure/heads/d512")


def test_a_quarter_turn_is_orthogonal_and_the_same():
    assert "example: 0.00. Linear CKA: 1.00." in figures.quarter_turn().alt


def test_geometry_puts_random_projections_beside_the_source():
    alt = figures.geometry({2: 0.4, 4: 0.25}).alt
    assert "1 / H: 0.5 at heads H 2, 0.0625 at heads H 16." in alt
    assert "ours, untrained: 0.4 at heads H 2, 0.25 at heads H 4." in alt


def test_relations_are_drawn_for_every_measure():
    assert "SVCCA: same 1" in relations(8).alt


def test_curves_go_as_far_as_every_layer():
    layers = [{"matrix": [[1.0]], "curve": [0.9, 0.5, 0.1]}, {"matrix": [[1.0]], "curve": [0.7, 0.3]}]
    assert curves([{"words": "two", "layers": layers}]) == {"two": ([1, 2], pytest.approx([0.8, 0.4]))}


def test_a_row_that_was_never_run_is_not_described():
    assert described("head_diversity/language_model", "no-such-row") is None
