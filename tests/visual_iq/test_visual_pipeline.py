"""Pictures in, answers out: what the detector reads is all that a reasoner knows."""

import numpy as np
import pytest
import torch

from reasonlib.experiment import Trial, run
from reasonlib.visual_iq import render, solving
from reasonlib.visual_iq.detector.detector import Found
from reasonlib.visual_iq.experiments import PIPELINE
from reasonlib.visual_iq.pipeline import ANGLE, read, run_pipeline, some, weights_version, without_angles
from reasonlib.visual_iq.puzzle import CONFIGURATIONS, PLACE_OF, TYPES, Problems
from reasonlib.visual_iq.seeing import panels_of
from reasonlib.visual_iq.simulate import simulate


class Oracle:
    """A detector that finds everything, but sees every circle at one angle."""

    def __init__(self, problems):
        self.panels, self.said = panels_of(problems), 0

    def survey(self, images, **_):
        few = slice(self.said, self.said + len(images))
        self.said += len(images)
        configuration, entities = (one[few] for one in self.panels)
        assert (render.panels(configuration, entities) == images).all(), "it is shown what was drawn"
        levels = entities.astype(np.int64)
        levels[levels[..., 0] == TYPES.index("circle"), ANGLE] = 7
        return Found(
            torch.from_numpy(render.boxes(configuration, entities)).float(),
            torch.from_numpy((PLACE_OF[configuration] >= 0).astype(np.float32)),
            torch.from_numpy(levels),
        )


@pytest.fixture(scope="module")
def asked():
    return Problems.join([simulate(one.key, 5, seed=3, answers="i-raven") for one in CONFIGURATIONS])


def test_what_is_read_is_what_was_drawn_but_for_the_angles(asked):
    seen = read(asked, Oracle(asked), few=3)
    assert (seen.configuration == asked.configuration).all()
    assert (seen.entities[..., :ANGLE] == asked.entities[..., :ANGLE]).all()
    assert not seen.entities[..., ANGLE].any()
    named = read(asked, Oracle(asked), angles=True).entities
    circles = named[..., 0] == TYPES.index("circle")
    assert (named[circles][:, ANGLE] == 7).all() and (named[~circles] == asked.entities[~circles]).all()


def test_nothing_but_the_pictures_is_used(asked):
    """Other tables under the same pictures change nothing."""
    blank = Problems(
        asked.configuration, asked.entities, asked.uniformity, np.zeros_like(asked.rules), asked.target
    )
    first, second = read(asked, Oracle(asked)), read(blank, Oracle(asked))
    assert (first.entities == second.entities).all()


def test_leaving_out_the_angles_costs_the_shipped_reasoner_nothing(asked):
    model = solving.load_solver("relational").model
    right = [
        (solving.scores(model, tables).argmax(1) == asked.target).mean()
        for tables in (asked, read(asked, Oracle(asked)))
    ]
    assert right[1] >= right[0] - 1 / len(asked) and right[1] > 0.9


def test_without_angles_leaves_the_table_it_was_given(asked):
    before = asked.entities.copy()
    without_angles(asked.entities)
    assert (asked.entities == before).all()


@pytest.mark.parametrize("number", [1, 3])
def test_some_takes_as_many_of_each_layout(number):
    found = some("raven", number)
    assert np.bincount(found.configuration).tolist() == [number] * len(CONFIGURATIONS)


def test_every_row_runs():
    records = run(PIPELINE, scale="smoke")
    assert [record.row for record in records] == list(PIPELINE.rows)
    for record in records:
        assert {"accuracy", "with_angles", "told", "layout", "tables"} <= {*record.metrics}
        assert record.data.version.endswith(weights_version())


def test_the_vote_needs_no_solver():
    trial = Trial(
        experiment="visual_iq/pipeline",
        row="vote",
        scale="smoke",
        seed=0,
        data="i-raven",
        kind="simulated",
        settings={"solver": "vote", "per_configuration": 1},
    )
    assert 0 <= run_pipeline(trial).metrics["accuracy"] <= 1
