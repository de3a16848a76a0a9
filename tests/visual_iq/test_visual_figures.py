"""Pictures of puzzles: the renderer's geometry, words for those who cannot see them, nothing from outside."""

import io
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from browsing import Opened

from reasonlib.display.plotting import Picture
from reasonlib.visual_iq.data import render
from reasonlib.visual_iq.data.example import (
    ANGLES,
    CONFIGURATIONS,
    CONTEXT,
    GOVERNED,
    GROUPS,
    KEYS,
    POSITIONS,
    RULES,
    SIZES,
    Problems,
)
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.page import attention_figures, detection_figures, figures, gallery, grammar_figures
from reasonlib.visual_iq.page import svg as drawing

SETS = ("raven", "i-raven", "raven-fair")
PICTURES = (
    *("panel", "puzzle", "answered", "boxes", "example", "configurations", "grid", "detections"),
    *("tree", "branch", "attention", "errors", "sets"),
)


@cache
def problems(answers="raven", each=3, seed=7):
    return Problems.concatenate([simulate(key, each, seed=seed, answers=answers) for key in KEYS])


@cache
def every_picture():
    some, target = problems(), problems().target.astype(int)
    maps = np.random.default_rng(0).dirichlet(np.ones(18), size=(2, 4, 18))
    images = render.render_problems(some, np.array([3, 7]))[:, 1]
    boxes = render.entity_boxes(some.configuration[[3, 7]], some.entities[[3, 7], 1])
    predictions = [
        SimpleNamespace(
            boxes=box[:4], scores=np.array([1, 0.99, 0.95, 0.5]), type=some.entities[row, 1, :4, 0]
        )
        for row, box in zip((3, 7), boxes, strict=True)
    ]
    return {
        "panel": figures.panel("O-IG", some.entities[-1, 2], caption="A < B"),
        "puzzle": figures.puzzle(some, 4),
        "answered": figures.puzzle(
            some, 10, answer=True, chosen=(target[10] + 1) % 8, scores=np.arange(8) / 9
        ),
        "boxes": figures.puzzle(some, 6, boxes=True),
        "example": figures.example(some, 5),
        "configurations": figures.configurations(some),
        "grid": detection_figures.grid_and_objects("3x3Grid", list(some.entities[7, :2])),
        "detections": detection_figures.detections(images, predictions),
        "tree": grammar_figures.grammar_tree(),
        "branch": grammar_figures.grammar_tree("O-IG", unfolded=9),
        "attention": attention_figures.attention(some, 8, maps),
        "errors": gallery.errors(some, (target + 1) % 8, scores=np.full((21, 8), 0.5), most=2),
        "sets": gallery.answer_sets({name: problems(name) for name in SETS}, 4),
    }


# Geometry


def test_shapes_stand_on_the_renderers_pixels():
    upright = ANGLES.index(0)
    for position, slot in enumerate(POSITIONS):
        for kind in range(1, 5):
            for size in range(len(SIZES)):
                ours = np.array(drawing._corners(slot, kind, size, upright)) - 0.5
                theirs = render.corners(position, kind, size) + np.array(render.centre(position))
                assert {*map(tuple, ours.round(6))} == {*map(tuple, theirs.astype(float))}


def test_boxes_are_the_renderers():
    some = problems()
    panels = some.entities[:, 0]
    theirs = render.entity_boxes(some.configuration, panels)
    for configuration, entities, boxes in zip(some.configuration, panels, theirs, strict=True):
        for slot, entity, box in zip(CONFIGURATIONS[configuration].slots, entities, boxes, strict=False):
            ours = drawing.bounds(slot, entity) if entity[0] else drawing.slot_bounds(slot)
            np.testing.assert_allclose(np.clip(ours, 0, 160), np.clip(box, 0, 160), atol=2.6)


def test_white_hides_nothing_and_later_entities_lie_above():
    svg = drawing.drawn("O-IC", np.array([[5, 5, 0, 0], [2, 3, 9, 3]]))
    assert (
        svg.index("<circle") < svg.index("<path")
        and "fill=" not in svg[svg.index("<circle") : svg.index("/>")]
    )
    assert 'fill="#000000"' in svg


@pytest.mark.browser
def test_the_picture_is_the_pixel_image(browser):
    from PIL import Image

    some = problems(each=8, seed=3)
    configuration, panels = some.configuration, some.entities[:, 5]
    cells = "".join(
        f'<svg width="160" height="160" viewBox="0 0 160 160" style="position:absolute;'
        f'left:{160 * (number % 8)}px;top:{160 * (number // 8)}px">{drawing.drawn(int(kind), panel)}</svg>'
        for number, (kind, panel) in enumerate(zip(configuration, panels, strict=True))
    )
    page = browser.new_page(viewport={"width": 1280, "height": 160 * 7})
    page.set_content(f"<body style='margin:0;background:#fff'>{cells}")
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L"), dtype=float)
    page.close()
    ours = shot.reshape(7, 160, 8, 160).transpose(0, 2, 1, 3).reshape(-1, 160, 160)
    theirs = render.render_panels(configuration, panels).astype(float)
    apart = np.abs(ours - theirs)
    assert apart.mean() < 2, "levels of grey, of 255"
    assert (apart > 64).mean() < 0.01
    assert np.abs(np.roll(ours, 2, 2) - theirs).mean() > 1.5 * apart.mean(), "two pixels aside would show"


# Words


def test_words_tell_panels_apart_as_the_rules_do():
    for kind in range(len(CONFIGURATIONS)):
        panels = problems().entities[problems().configuration == kind].reshape(-1, 9, 4)
        words = [drawing.describe(kind, panel) for panel in panels]
        seen = [panel[:, :3].tobytes() for panel in panels]
        assert len(set(words)) == len(set(seen))


@pytest.mark.parametrize("answers", SETS)
def test_every_wrong_candidate_changes_something(answers):
    some = problems(answers)
    for number in range(len(some)):
        kind, right = int(some.configuration[number]), some.answer[number]
        for index, panel in enumerate(some.entities[number, CONTEXT:]):
            changed = gallery.changes(kind, right, panel)
            assert bool(changed) == (index != some.target[number])


def test_changes_are_named():
    answer = np.array([[1, 0, 3, 0], [0, 0, 0, 0], [2, 0, 3, 1], [0, 0, 0, 0]])
    moved = answer[[1, 0, 2, 3]]
    assert gallery.changes("2x2Grid", answer, moved) == ("position",)
    more = answer.copy()
    more[1] = (1, 0, 3, 5)
    assert gallery.changes("2x2Grid", answer, more) == ("number",)
    swapped = answer.copy()
    swapped[[0, 2], 0] = 2, 1
    assert gallery.changes("2x2Grid", answer, swapped) == ("type",)
    both = np.array([[5, 3, 0, 0], [1, 0, 3, 0]])
    assert gallery.changes("O-IC", both, both + np.array([[0, 1, 0, 0], [0, 0, 1, 3]])) == (
        "out size",
        "in colour",
    )


def with_rules(configuration, *rules, uniformity=3):
    kind = KEYS.index(configuration)
    table = np.full((1, 2, 4, 3), -1)
    table[0, 0] = [(RULES.index(rule), GOVERNED.index(governed), value) for rule, governed, value in rules]
    zeros = np.zeros((1, 16, 9, 4), int)
    return Problems(np.array([kind]), zeros, np.array([[uniformity, 0]]), table, np.array([0]))


CONSTANT = [("constant", "number/position", 0), *(("constant", name, 0) for name in GROUPS[1:])]


def test_rules_in_words():
    lines = drawing.rules_in_words(with_rules("distribute_nine", *CONSTANT))
    assert lines == (
        "Number and position: the same along each row",
        "Type: the same along each row",
        "Size: the same along each row",
        "Colour: the same along each row",
    )
    lines = drawing.rules_in_words(
        with_rules(
            "distribute_nine",
            ("arithmetic", "position", -1),
            ("progression", "type", 2),
            ("arithmetic", "size", 1),
            ("constant", "colour", 0),
            uniformity=0,
        )
    )
    assert lines == (
        "Position: the third panel fills the slots of the first that the second leaves empty",
        "Type: two corners more (a circle comes after the hexagon) from panel to panel",
        "Size: the third size is the sum of the first two",
        "Colour: no rule, drawn at random in every panel",
    )
    alone = drawing.rules_in_words(with_rules("center_single", *CONSTANT))
    assert len(alone) == 3, "a lone entity has no choice of number and position"
    unknown = with_rules("center_single", CONSTANT[0], ("progression", "type", 0), *CONSTANT[2:])
    assert drawing.rules_in_words(unknown)[0] == "Type: the same step from panel to panel"


def test_rules_of_two_components_name_them():
    some = problems()
    lines = drawing.rules_in_words(some, KEYS.index("in_center_single_out_center_single") * 3)
    assert {line.split()[0] for line in lines} == {"Out", "In"}
    assert not any(line.startswith("Out colour") for line in lines), "there is no choice of it"


def test_every_rule_of_the_grammar_has_words():
    for kind in KEYS:
        drawn = simulate(kind, 60, seed=1)
        for number in range(len(drawn)):
            for line in drawing.rules_in_words(drawn, number):
                assert re.fullmatch(r"[A-Z][a-z]+( [a-z]+)*: [a-z ,()0-9]+", line), line


# Pictures


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_needs_nothing_and_can_be_read(name):
    assert tuple(every_picture()) == PICTURES
    picture = every_picture()[name]
    assert isinstance(picture, Picture) and len(picture.alt) > 30
    page = picture._repr_html_()
    assert not re.search(r"https?:|\bsrc=|url\(|@import|<script", page)
    assert not re.search(r'\bhref="(?!data:image/png;base64,)', page)
    assert not re.search(r'\bid="', page), "several pictures may stand on one page"
    for svg in re.findall(r"<svg class=\"rr-iq-panel\"[^>]*>", page):
        assert 'aria-hidden="true"' in svg or 'role="img" aria-label="' in svg
    assert len(page) < 120_000


def test_a_puzzle_shows_eight_panels_and_eight_candidates_and_keeps_its_secret():
    some = problems()
    page = figures.puzzle(some, 4).html
    assert page.count('aria-label="Row ') == 9 and page.count('aria-label="Candidate ') == 8
    assert "✓" not in page and "Row 3, panel 3: missing" in page and " is right" not in page
    page = figures.puzzle(some, 4, answer=True).html
    assert page.count("✓") == 1 and ": missing" not in page
    assert f"Number {some.target[4] + 1} is right" in page


def test_an_error_is_drawn_with_what_was_right():
    some = problems()
    chosen = some.target.astype(int).copy()
    assert "No errors" in gallery.errors(some, chosen).alt
    chosen[[4, 9]] = (chosen[[4, 9]] + 1) % 8
    picture = gallery.errors(some, chosen, most=1)
    assert picture.alt.startswith("2 of 21 answers are wrong (2x2Grid 1, L-R 1); 1 are drawn")
    assert picture.html.count("✗") == 1 == picture.html.count("✓")


def test_attention_is_shared_out():
    maps = np.random.default_rng(1).dirichlet(np.ones(18), size=(3, 2, 18))
    matrix, others, rest = attention_figures.shares(maps, 2)
    row = maps.mean((0, 1))[12]
    np.testing.assert_allclose(matrix, row[[0, 1, 2, 4, 5, 6, 8, 9]])
    np.testing.assert_allclose(others, row[10:])
    assert rest == pytest.approx(row[[3, 7]].sum())
    matrix, others, rest = attention_figures.shares(maps[..., :16, :16], 7)
    assert rest == 0 or abs(rest) < 1e-9
    assert matrix.shape == others.shape == (8,)
    assert (
        attention_figures.percent(0.256) == "26\u00a0%" and attention_figures.percent(0.0312) == "3.1\u00a0%"
    )


def test_the_three_sets_have_one_question():
    picture = every_picture()["sets"]
    assert all(name in picture.alt for name in ("RAVEN:", "I-RAVEN:", "RAVEN-FAIR:"))
    other = {"raven": problems(), "i-raven": problems("i-raven", seed=8)}
    with pytest.raises(ValueError, match="sets must hold the same questions, got another one in 'i-raven'"):
        gallery.answer_sets(other, 0)


def test_the_tree_has_all_layouts_and_draws_its_levels():
    page = grammar_figures.grammar_tree().html
    assert all(layout.title in page for layout in CONFIGURATIONS)
    assert page.count("<details") == 1 + 7 + 11 * 3 and page.count("<details open") == 1 + 7
    branch = grammar_figures.grammar_tree("O-IG", unfolded=9).html
    assert branch.count("<details") == branch.count("<details open") == 1 + 1 + 2 * 3
    assert "progression of number (−1, +1)" in branch and "10 shades" in branch


def test_a_box_below_the_threshold_is_not_drawn():
    words = every_picture()["detections"].alt
    assert "0.50" not in words and "0.99" in words


def test_mistakes():
    some = problems()
    with pytest.raises(ValueError, match="index must lie within the 21 problems, got 21"):
        figures.puzzle(some, 21)
    with pytest.raises(
        ValueError, match=r"scores must be one number for each of 8 candidates, got shape \(7,\)"
    ):
        figures.puzzle(some, 0, scores=np.zeros(7))
    with pytest.raises(
        ValueError, match="problems must hold some of every configuration, got none of center"
    ):
        figures.configurations(some[3:])
    with pytest.raises(ValueError, match="chosen must be one choice for each of 21 problems, got 2"):
        gallery.errors(some, [1, 2])
    with pytest.raises(ValueError, match=r"weights must have shape \(\.\.\., T, T\) with T 16 or 18"):
        attention_figures.attention(some, 0, np.zeros((4, 17, 17)))
    with pytest.raises(ValueError, match="candidate must be 0 to 7, got 8"):
        attention_figures.attention(some, 0, np.zeros((18, 18)), candidate=8)
    with pytest.raises(ValueError, match="configuration must be one of"):
        figures.panel("4x4Grid", some.entities[0, 0])


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_picture_on_every_page(browser, tmp_path, scheme, width):
    body = "".join(picture.html for picture in every_picture().values())
    Picture(body, alt="All").save(tmp_path / "all.html")
    view = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with Opened(browser, tmp_path / "all.html", **view) as opened:
        opened.check_view()
