"""Pictures in, answers out: what the detector reads is all that a reasoner knows."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from rows import trial

from reasonlib.tracking.runner import run
from reasonlib.visual_iq.data import datasets, render
from reasonlib.visual_iq.data.example import CONFIGURATIONS, POSITION_OF, TYPES, Problems
from reasonlib.visual_iq.data.panels import panels_of
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.experiments.pipeline import (
    PIPELINE,
    pictures_like_the_answer,
    run_pipeline,
    sample_test_problems,
    weights_version,
)
from reasonlib.visual_iq.models import pipeline, pretrained, solvers
from reasonlib.visual_iq.models.detector.outputs import DetectionBatch
from reasonlib.visual_iq.models.pipeline import (
    ANGLE,
    detect_problems,
    score_hypotheses,
    size_bounds,
    size_hypotheses,
    upper_row_likelihood,
    without_angles,
)


class Oracle:
    """A detector that finds everything, but sees every circle at one angle."""

    def __init__(self, problems):
        self.panels, self.start = panels_of(problems), 0

    def detect_batch(self, images, **_):
        few = slice(self.start, self.start + len(images))
        self.start += len(images)
        configuration, entities = (array[few] for array in self.panels)
        assert (render.render_panels(configuration, entities) == images).all(), "it is shown what was drawn"
        levels = entities.astype(np.int64)
        levels[levels[..., 0] == TYPES.index("circle"), ANGLE] = 7
        return DetectionBatch(
            torch.from_numpy(render.entity_boxes(configuration, entities)).float(),
            torch.from_numpy((POSITION_OF[configuration] >= 0).astype(np.float32)),
            torch.from_numpy(levels),
        )


@pytest.fixture(scope="module")
def problems():
    return Problems.concatenate(
        [simulate(layout.key, 3, seed=3, answers="i-raven") for layout in CONFIGURATIONS]
    )


def test_what_is_read_is_what_was_drawn_but_for_the_angles(problems):
    seen = detect_problems(problems, Oracle(problems), batch_size=3)
    assert (seen.configuration == problems.configuration).all()
    assert (seen.entities[..., :ANGLE] == problems.entities[..., :ANGLE]).all()
    assert not seen.entities[..., ANGLE].any()
    named = detect_problems(problems, Oracle(problems), angles=True).entities
    circles = named[..., 0] == TYPES.index("circle")
    assert (named[circles][:, ANGLE] == 7).all() and (named[~circles] == problems.entities[~circles]).all()


def test_nothing_but_the_pictures_is_used(problems):
    """Other tables under the same pictures change nothing."""
    blank = Problems(
        problems.configuration,
        problems.entities,
        problems.uniformity,
        np.zeros_like(problems.rules),
        problems.target,
    )
    first, second = detect_problems(problems, Oracle(problems)), detect_problems(blank, Oracle(problems))
    assert (first.entities == second.entities).all()


def test_leaving_out_the_angles_costs_the_shipped_reasoner_nothing(problems):
    model = pretrained.load_pretrained("relational").model
    right = [
        (solvers.predict_scores(model, tables).argmax(1) == problems.target).mean()
        for tables in (problems, detect_problems(problems, Oracle(problems)))
    ]
    assert right[1] >= right[0] - 1 / len(problems) and right[1] > 0.9


def test_sizes_that_pixels_leave_open_are_read_both_ways():
    grids = simulate("O-IG", 60, seed=4, answers="i-raven")
    low, high = size_bounds(grids)
    own = grids.entities[..., 1]
    assert (low <= own).all() and (own <= high).all() and (low < high).any()
    square = grids.entities[..., 0] == TYPES.index("square")
    assert square[low < high].all()
    index = int(np.argmax((low < high).any((1, 2))))
    problem = grids[index : index + 1]
    hypotheses = size_hypotheses(problem, limit=3)
    pictures = render.render_problems(hypotheses)
    assert len(hypotheses) > 1 and (pictures == pictures[:1]).all(), "readings look the same"
    context = slice(None, 8)  # the candidates are all read one way
    kept = [
        (
            size_hypotheses(grids[number : number + 1], limit=8).entities[:, context]
            == grids.entities[number, context]
        )
        .all((1, 2, 3))
        .any()
        for number in range(len(grids))
    ]
    assert np.mean(kept) > 0.5, "what was drawn is mostly among them"
    plain = simulate("Center", 1, seed=4)
    assert len(size_hypotheses(plain)) == 1 and (size_hypotheses(plain).entities == plain.entities).all()


def test_reading_both_ways_mends_what_one_way_breaks():
    grids = simulate("O-IG", 100, seed=78, answers="i-raven")
    table = grids.entities.copy()
    table[..., 1] = size_bounds(grids)[1]  # always the larger of two
    seen = replace(grids, entities=table)
    model = pretrained.load_pretrained("relational").model
    single, both = (
        (how(model, seen).argmax(1) == grids.target).mean()
        for how in (solvers.predict_scores, score_hypotheses)
    )
    assert both > single + 0.02 and both > 0.93


def test_the_right_reading_makes_sense_of_the_upper_rows_too(monkeypatch):
    grids = datasets.load("raven", per_configuration=1000, configurations=["O-IG"]).valid[np.array([49])]
    table = without_angles(grids.entities)
    low, high = size_bounds(grids)
    table[..., 1] = np.where(low < high, low, table[..., 1])
    seen, model = replace(grids, entities=table), pretrained.load_pretrained("relational").model
    assert score_hypotheses(model, seen).argmax(1) == grids.target
    drawn = replace(grids, entities=without_angles(grids.entities))
    assert upper_row_likelihood(model, drawn)[0, grids.target[0]] > -1
    monkeypatch.setattr(pipeline, "upper_row_likelihood", lambda *_: 0.0)
    assert score_hypotheses(model, seen).argmax(1) != grids.target, "the last row alone is explained twice"


def test_candidates_with_the_pixels_of_the_right_one():
    grids = simulate("O-IG", 3, seed=4)
    same = pictures_like_the_answer(grids)
    assert (same.sum(1) == 1).all() and (same.argmax(1) == grids.target).all()
    copied = grids.entities.copy()
    copied[:, 8 + (grids.target[0] + 1) % 8] = copied[0, 8 + grids.target[0]]
    assert pictures_like_the_answer(replace(grids, entities=copied))[0].sum() == 2


def test_without_angles_leaves_the_table_it_was_given(problems):
    before = problems.entities.copy()
    without_angles(problems.entities)
    assert (problems.entities == before).all()


@pytest.mark.parametrize("number", [1, 3])
def test_some_takes_as_many_of_each_layout(number):
    sample = sample_test_problems("raven", number)
    assert np.bincount(sample.configuration).tolist() == [number] * len(CONFIGURATIONS)


def test_every_row_runs():
    records = run(PIPELINE, scale="smoke")
    assert [record.row for record in records] == list(PIPELINE.rows)
    for record in records:
        assert {"accuracy", "one_reading", "with_angles", "told", "layout", "tables"} <= {*record.metrics}
        assert record.data.version.endswith(weights_version("raven"))


def test_the_vote_needs_no_solver():
    settings = {"solver": "vote", "per_configuration": 1}
    vote = trial("visual_iq/pipeline:vote", settings, data="i-raven", kind="regenerated")
    assert 0 <= run_pipeline(vote).metrics["accuracy"] <= 1
