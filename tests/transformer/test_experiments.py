"""Every experiment runs at smoke and brings what the claims ask for."""

import math

import pytest
from rows import one_row_each

from reasonlib.tracking import claims, records
from reasonlib.tracking.runner import run
from reasonlib.transformer.experiments import EXPERIMENTS, bundle
from reasonlib.transformer.models import pretrained

CLAIMS = claims.load("transformer")


@pytest.fixture(scope="module")
def smoke():
    """Run a row once, the first time it is asked for; give its record."""
    cache = {}

    def record(name, row):
        if (name, row) not in cache:
            (cache[name, row],) = run(EXPERIMENTS[name], rows=row, scale="smoke", device="cpu")
        return cache[name, row]

    return record


@pytest.mark.parametrize(("name", "row"), one_row_each(EXPERIMENTS))
def test_every_row_runs_to_its_end_and_is_fresh(smoke, name, row):
    record = smoke(name, row)
    assert record.steps.complete
    assert any(value is not None and math.isfinite(value) for value in record.metrics.values())
    assert records.stale(record, EXPERIMENTS[name]) is None


def test_a_phase_without_time_left_ends_the_run_and_is_resumed(smoke, tmp_path):
    """What comes after a phase starts from its end, never from the middle."""
    options = {"rows": "masked-then-both", "scale": "smoke", "device": "cpu", "checkpoints": tmp_path}
    (cut,) = run(EXPERIMENTS["transformer/pretraining"], minutes=1e-9, **options)
    assert not cut.steps.complete
    assert [path.name for path in tmp_path.rglob("*") if path.name in ("pre-0", "pre-1", "answers")] == [
        "pre-0"
    ]
    (resumed,) = run(EXPERIMENTS["transformer/pretraining"], **options)
    assert resumed.metrics == smoke("transformer/pretraining", "masked-then-both").metrics


def test_every_claim_asks_for_what_is_measured(smoke):
    for claim in CLAIMS:
        for side in claim.sides:
            assert side.row in EXPERIMENTS[side.experiment].rows, claim.id
            assert side.metric in smoke(side.experiment, side.row).metrics, (claim.id, side)


def test_the_same_seed_measures_the_same():
    first, second = (
        run(EXPERIMENTS["transformer/parts"], rows="copy", scale="smoke", seeds=3)[0] for _ in range(2)
    )
    assert first.metrics == second.metrics


def test_the_shipped_encoder_recalls_and_says_how_it_was_made():
    encoder = pretrained.load_encoder()
    assert pretrained.ENCODER.stat().st_size < 1_000_000
    assert encoder.made["command"].startswith("reasonlib run transformer/ship")
    inspection = pretrained.inspect_text(encoder, "mary went to the garden . mary is in the _ .")
    assert inspection.guesses[0].words[0][0] == "garden"
    assert bundle.report_accuracy(encoder.model, 200)["reports"] > 0.5  # of eight to sixteen words each
    assert bundle.head_patterns(encoder.model, 200)["head.fact"] > 0.4  # a story has three sentences, or so
