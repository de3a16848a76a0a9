"""A topic of three experiments, for tests of claims: its file, its records."""

import sys
import textwrap

import pytest

import reasonlib
from reasonlib.tracking import records
from reasonlib.tracking.experiment import find, settings
from reasonlib.tracking.fingerprint import fingerprint
from reasonlib.tracking.records import Data, Record, Steps

EXPERIMENTS = """
    from reasonlib.tracking.experiment import Experiment, Measured


    def measure(trial):
        value = 0.5 + 0.01 * trial.settings.get("width", 0) + 0.001 * trial.seed
        return Measured(metrics={"accuracy": value}, steps_done=1, steps_planned=1)


    def resolve(settings, metric):
        return {"depth": 3, **settings}


    def experiment(word, rows, **options):
        return Experiment(
            name=f"toy_claims/{word}", title=word, rows=rows, run=measure,
            scales={"smoke": {"steps": 1}, "quick": {"steps": 10}, "paper": {"steps": 100}},
            data={"made": "stand-in", "found": "released", "other": "released", "drawn": "regenerated"},
            **options,
        )


    EXPERIMENTS = {
        "net": experiment("net", {"small": {"width": 1}, "large": {"width": 9}}, resolve=resolve),
        "bert": experiment("bert", {"base": {}}, bundled=("base",)),
        "timed": experiment("timed", {"small": {"width": 1}, "large": {"width": 9}}, paired=False),
        "rules": experiment("rules", {"all": {}, "few": {}}, deterministic=True),
    }
"""


@pytest.fixture
def topic(tmp_path, monkeypatch):
    """The topic reasonlib.toy_claims; gives a function that writes its claims.yaml."""
    folder = tmp_path / "topics" / "toy_claims"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "experiments.py").write_text(textwrap.dedent(EXPERIMENTS))
    (folder / "claims.yaml").write_text("claims: []\n")
    monkeypatch.setattr(reasonlib, "__path__", [str(folder.parent)])
    monkeypatch.setenv("REASONLIB_RECORDS", str(tmp_path / "records"))

    def write(text):
        (folder / "claims.yaml").write_text(textwrap.dedent(text))

    yield write
    for name in [name for name in sys.modules if name.startswith("reasonlib.toy_claims")]:
        del sys.modules[name]
    if hasattr(reasonlib, "toy_claims"):
        del reasonlib.toy_claims


def record(name="net", row="small", accuracy=0.7, scale="paper", data="found", seed=0, **changes):
    """Make a record of today's code."""
    experiment = find(f"toy_claims/{name}")
    values = {
        "experiment": experiment.name,
        "row": row,
        "scale": scale,
        "seed": seed,
        "data": Data(name=data, kind=experiment.data[data]),
        "metrics": accuracy if isinstance(accuracy, dict) else {"accuracy": accuracy},
        "config": settings(experiment, row, scale),
        "steps": Steps(done=100, planned=100),
        "seconds": 60.0,
        "device": "cpu",
        "versions": {},
        "commit": "0" * 40,
        "code": {"run": fingerprint(experiment.run)},
        "when": f"2025-01-01T00:00:{seed:02d}+00:00",
    }
    return Record(**{**values, **changes})


def measured(name="net", row="small", values=0.7, **changes):
    """Append records of today's code: one a value, from seed 0 on."""
    values = values if isinstance(values, (list, tuple)) else [values]
    first = changes.pop("seed", 0)
    for seed, value in enumerate(values, start=first):
        records.append(record(name, row, value, seed=seed, **changes))
