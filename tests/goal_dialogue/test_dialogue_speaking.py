"""The copying network with candidates and without, and the one that ships."""

from reasonlib import experiment
from reasonlib.goal_dialogue import shipped, wall


def test_it_is_measured_with_candidates_and_without():
    (record,) = experiment.run("goal_dialogue/speaking", scale="smoke", data="simulated", device="cpu")
    found = record.metrics
    for name in ("task1", "oov1", "average", "oov", "sayable.task1", "sayable.oov1"):
        assert 0 <= found[name] <= 1
    assert found["free.average"] == found["free.task1"] <= found["sayable.task1"]
    assert found["free.oov"] == found["free.oov1"] <= found["sayable.oov1"]


def test_a_network_to_ship_is_written_at_paper_from_released_dialogues_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(wall, "SHIPPED", tmp_path / "copying.safetensors")
    settings = {"dialogues": 4, "epochs": 1}

    def ship(scale, kind):
        trial = experiment.Trial(
            experiment="goal_dialogue/ship-copying",
            row="copying",
            scale=scale,
            seed=3,
            data="simulated",
            kind=kind,
            settings=settings,
        )
        return shipped.run_ship_copying(trial)

    for scale, kind in (("smoke", "real"), ("paper", "simulated")):
        assert {"task5", "oov5", "free.task5"} <= ship(scale, kind).metrics.keys()
        assert not wall.SHIPPED.exists()
    measured = ship("paper", "real")
    copier = wall.load_copier(wall.SHIPPED)
    assert copier.made["command"] == (
        "reasonlib run goal_dialogue/ship-copying --scale paper --data simulated --seed 3"
    )
    assert copier.made["task5"] == measured.metrics["task5"]
