"""The simulator compared with the released stories, task by task."""

from reasonlib import data
from reasonlib.story_qa.data import simulator_fit
from reasonlib.story_qa.data.corpus import CORPORA, read
from reasonlib.story_qa.data.datasets import DATA, RELEASED_SIZES, _released, version
from reasonlib.story_qa.data.example import TASKS
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.tracking.experiment import Experiment, Measured, Trial, by_scale, subset


def run_simulator_fit(trial: Trial) -> Measured:
    """Compare one task's simulated questions with its released training questions."""
    task, count = trial.settings["task"], trial.settings["questions"]
    released = _released(data.locate(CORPORA["babi"]), task, RELEASED_SIZES[trial.data])[:count]
    if (task, trial.data) == (3, "babi-10k") and len(released) > 1000:
        released = read(data.locate(CORPORA["babi"]), 3, "train", "en")  # the file is missing: see `load`
    compared = simulator_fit.compare(simulate(task, len(released), seed=trial.seed + 11), released)
    sides = {
        f"{side}.{name}": float(compared[side][name])
        for side in ("simulated", "released")
        for name in ("vocabulary", "story_mean", "story_max", "support_mean", "answers", "majority")
    }
    distances = {name: compared[name] for name in ("answer_distance", "length_distance", "support_distance")}
    words_apart = len(compared["only_simulated"]) + len(compared["only_released"])
    return Measured(metrics={**distances, **sides, "words_apart": words_apart}, steps_done=1, steps_planned=1)


SIMULATOR_FIT = Experiment(
    name="story_qa/simulator-fit",
    title="The simulator compared with the released stories, task by task",
    rows={f"qa{task}": {"task": task} for task in TASKS},
    scales=by_scale(questions=(100, 1000, 10000)),
    data=subset(DATA, "babi-10k", "babi-1k"),
    run=run_simulator_fit,
    version=version,
)
