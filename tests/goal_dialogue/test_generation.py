"""The copying network with candidates and without, and the one that ships."""

from reasonlib.goal_dialogue.experiments import bundle
from reasonlib.goal_dialogue.models import pretrained
from reasonlib.tracking import experiment, runner


def test_it_is_measured_with_candidates_and_without():
    (record,) = runner.run("goal_dialogue/speaking", scale="smoke", data="simulated", device="cpu")
    metrics = record.metrics
    for name in ("task1", "oov1", "average", "oov", "sayable.task1", "sayable.oov1"):
        assert 0 <= metrics[name] <= 1
    assert metrics["free.average"] == metrics["free.task1"] <= metrics["sayable.task1"]
    assert metrics["free.oov"] == metrics["free.oov1"] <= metrics["sayable.oov1"]


def test_a_network_to_ship_is_written_at_paper_from_released_dialogues_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "WEIGHTS", tmp_path)
    path = tmp_path / "copying.safetensors"

    def ship(scale, kind, *, reworded=True):
        trial = experiment.Trial(
            experiment="goal_dialogue/bundle-copying",
            row="copying",
            scale=scale,
            seed=3,
            data="simulated",
            kind=kind,
            settings={"dialogues": 4, "epochs": 1, "reworded": reworded},
        )
        return bundle.run_bundle_copying(trial)

    for scale, kind, reworded in (
        ("smoke", "released", True),
        ("paper", "stand-in", True),
        ("paper", "released", False),
    ):
        metrics = ship(scale, kind, reworded=reworded).metrics
        assert {"task5", "oov5", "free.task5", "reworded.task5", "reworded.oov5"} <= metrics.keys()
        assert not path.exists()
    measured = ship("paper", "released")
    copier = pretrained.from_pretrained(path)
    assert copier.made["command"] == (
        "reasonlib run goal_dialogue/bundle-copying --scale paper --data simulated --seed 3"
    )
    assert copier.made["task5"] == measured.metrics["task5"]
