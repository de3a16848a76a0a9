"""Tables and pictures of the chapters on dialogue state tracking."""

import html
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np

from reasonlib.display import charts, plotting, results
from reasonlib.display.intervals import spread
from reasonlib.display.plotting import Picture
from reasonlib.state_tracking.data.cases import Case
from reasonlib.state_tracking.data.example import ORIGINS, Dialogue
from reasonlib.state_tracking.data.metrics import score
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.data.simulator import simulate
from reasonlib.state_tracking.data.simulator_fit import MULTIWOZ, NAMES, describe
from reasonlib.state_tracking.experiments.cost import PAIRS_TIMED
from reasonlib.state_tracking.models.pretrained import from_pretrained
from reasonlib.state_tracking.page.labels import METRICS, ROWS
from reasonlib.tracking import records

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "attention_among_slots",
    "carried",
    "case_looks",
    "case_states",
    "cost",
    "hidden_by_joint_goal",
    "kinds",
    "on_multiwoz",
    "on_new_names",
    "origins",
    "published_relations",
    "relations",
    "trained",
    "variants",
    "world",
]


def world(count: int = 500) -> "pd.DataFrame":
    """Set simulated dialogues beside MultiWOZ in numbers."""
    import pandas as pd

    ours = describe(simulate(count, seed=4))
    rows = {NAMES[name]: (f"{ours[name]:.3g}", f"{MULTIWOZ[name]:.3g}") for name in NAMES}
    return pd.DataFrame(rows, index=["simulated", "MultiWOZ 2.1"]).T


def origins(dialogues: Sequence[Dialogue]) -> Picture:
    """Draw how the slots of simulated dialogues get their values."""
    counts = Counter(origin.kind for d in dialogues for origin in d.turns[-1].origins.values())
    total = sum(counts.values())
    shares = {kind: counts[kind] / total for kind in ORIGINS}
    return plotting.show(
        plotting.bars(shares, unit="share of filled slots", limits=(0, 1)),
        alt="How slots get their values: " + ", ".join(f"{k} {v:.2f}" for k, v in shares.items()),
        caption=f"How a slot gets its value, in {len(dialogues)} simulated dialogues.",
    )


def hidden_by_joint_goal(
    rates: Sequence[float] = (0.001, 0.003, 0.01, 0.03, 0.1), *, count: int = 200
) -> Picture:
    """Draw both accuracies of a tracker that gets each filled slot wrong with the same probability."""
    draw = np.random.default_rng(0)
    joint, slot = [], []
    labels = [dict(turn.state) for dialogue in simulate(count, seed=4) for turn in dialogue.turns]
    for rate in rates:
        predicted = [
            {pair: value if draw.random() >= rate else "wrong" for pair, value in state.items()}
            for state in labels
        ]
        scores = score(predicted, labels)
        joint.append(scores.joint_goal)
        slot.append(scores.slot)
    drawing = plotting.lines(
        {"slot accuracy": (list(rates), slot), "joint goal accuracy": (list(rates), joint)},
        x="probability that a filled slot is wrong",
        y="accuracy",
        limits=(0, 1),
        log=True,
    )
    return plotting.show(
        drawing,
        alt="Joint goal accuracy falls much faster than slot accuracy as errors grow",
        caption="The same errors under two metrics. The errors are random, not those of a model.",
    )


def relations(
    metric: str,
    unit: str,
    rows: Sequence[str],
    *,
    experiment: str = "state_tracking/relations",
    data: str = "simulated",
    scale: str | None = None,
    limits: tuple[float, float] = (0, 1),
) -> Picture:
    """Draw one metric of rows of an experiment, mean and 95 % interval over seeds.

    Rows without a record are named under the picture.
    """
    values, sources = results.spreads(
        [(experiment, row) for row in rows], metric, names=ROWS, data=data, scale=scale
    )
    absent = [ROWS[row] for row in rows if ROWS[row] not in values]
    command = f"reasonlib run {experiment} --scale paper --row {' --row '.join(rows)} --data {data}"
    missing = f" Not run yet: {', '.join(absent)}; the command is: {command}" if absent else ""
    if not values:
        return Picture(f'<p class="rr">{html.escape(missing.strip())}</p>', alt=missing.strip())
    return plotting.show(
        plotting.bars(values, unit=unit, limits=limits),
        alt=f"{unit}: " + ", ".join(f"{name} {value.mean:.3f}" for name, value in values.items()),
        caption=f"{unit.capitalize()}: {results.together(sources)}. Lines: 95 % intervals.{missing}",
    )


def published_relations() -> Picture:
    """Draw what the source reports for its trackers with and without the attention among slots."""
    rows = ("none", "merge", "merge-blocked", "split", "split-blocked")
    return charts.chart(
        "state_tracking",
        ids=[f"state_tracking/relations/{row}" for row in rows],
        names={"None": "no DS tokens, [CLS] alone"},
        unit="joint goal accuracy, MultiWOZ 2.1",
        limits=(0.4, 0.6),
        caption="Published joint goal accuracy on ALBERT-large (table 4.2); the axis starts at 0.4.",
    )


_SHOWN = {
    "joint_goal": METRICS["joint_goal"],
    "slot": "slot accuracy",
    "f1": "F1 of filled slots",
    "inherited": METRICS["inherited"],
}


def trained() -> "pd.DataFrame":
    """List what the trackers reach on simulated dialogues, beside the state of the turn before."""
    import pandas as pd

    return pd.DataFrame(
        {
            ROWS[row]: _scores(results.best(experiment, row, scale="paper", data="simulated"), _SHOWN)
            for experiment, row in (
                ("state_tracking/relations", "merge"),
                ("state_tracking/relations", "merge-blocked"),
                ("state_tracking/relations", "none"),
                ("state_tracking/baselines", "carry-over"),
            )
        }
    )


def variants() -> "pd.DataFrame":
    """List what other trackers reach beside DS-merge, a row each; those without a record are left out."""
    import pandas as pd

    shown = {name: _SHOWN[name] for name in ("joint_goal", "inherited")}
    relations = ("merge", "split", "split-blocked", "three-way-gate", "truncated", "from-scratch")
    systems = [("state_tracking/relations", row) for row in relations] + [
        ("state_tracking/baselines", row) for row in ("span", "copy")
    ]
    rows = {}
    for experiment, row in systems:
        group = records.best(experiment, row, scale="paper", data="simulated")
        if group is not None:
            rows[ROWS[row]] = _scores(group, shown)
    return pd.DataFrame.from_dict(rows, orient="index")


def _scores(group: records.Group, shown: Mapping[str, str]) -> dict[str, str]:
    """Give the metrics of a row's runs as text, mean and 95 % interval, and how many runs there are."""
    scores = {}
    for metric, name in shown.items():
        summary = group.summary(metric)
        if summary is None:
            scores[name] = "–"
            continue
        runs = spread(summary)
        scores[name] = f"{runs.mean:.3f}" + (f" ± {runs.half:.3f}" if runs.half else "")
    return {**scores, "runs": str(len(group.records))}


def on_multiwoz() -> "pd.DataFrame":
    """List what trackers reach on MultiWOZ 2.1, a row each; those without a record are left out."""
    import pandas as pd

    trained = ("merge", "merge-blocked", "split", "split-blocked", "none", "span", "span-blocked", "copy")
    rows = {}
    for experiment, names, note in (
        ("state_tracking/multiwoz", trained, ""),
        ("state_tracking/multiwoz-long", ("span", "span-blocked"), ", six passes"),
        ("state_tracking/pretrained", ("merge-minilm",), ""),
        ("state_tracking/encoders", ("carry-over",), ""),
    ):
        for name in names:
            group = records.best(experiment, name, scale="paper", data="multiwoz")
            if group is not None:
                rows[ROWS[name] + note] = _scores(group, _SHOWN)
    return pd.DataFrame.from_dict(rows, orient="index")


def on_new_names() -> "pd.DataFrame":
    """List what a closed list and spans of the dialogue reach on names that training never shows."""
    import pandas as pd

    return pd.DataFrame(
        {
            ROWS[row]: _scores(
                results.best("state_tracking/baselines", row, scale="paper", data="simulated-unseen"),
                _SHOWN | {"filled.offered": METRICS["filled.offered"]},
            )
            for row in ("closed", "span")
        }
    )


def after_long_training() -> "pd.DataFrame":
    """List what the tracker with spans reaches after short and after long training."""
    import pandas as pd

    shown = _SHOWN | {f"filled.{kind}": METRICS[f"filled.{kind}"] for kind in ("stated", "offered")}
    return pd.DataFrame(
        {
            name: _scores(results.best(experiment, row, scale="paper", data="simulated"), shown)
            for name, experiment, row in (
                ("5,000 dialogues", "state_tracking/baselines", "span"),
                ("60,000 dialogues", "state_tracking/spans", "merge"),
                ("60,000, attention among slots blocked", "state_tracking/spans", "merge-blocked"),
                ("100,000, every turn", "state_tracking/spans-every-turn", "merge"),
            )
        }
    )


def kinds() -> Picture:
    """Draw how often a slot is right at the turn that fills it, by how it gets its value."""
    rows = ("merge", "merge-blocked", "none")
    return results.by_metric(
        {ROWS[row]: f"state_tracking/relations:{row}" for row in rows},
        {kind: f"filled.{kind}" for kind in ORIGINS},
        unit="share right at the turn that fills a slot",
        data="simulated",
        scale="paper",
    )


def cost() -> Picture:
    """Draw turns per second against the number of pairs, for both designs, with the fitted exponents."""
    lines, notes = {}, []
    for row in ("one-run", "one-run-a-pair"):
        group = results.best("state_tracking/cost", row)
        speeds = [group.summary(f"turns_per_second.{count}") for count in PAIRS_TIMED]
        lines[ROWS[row]] = (list(PAIRS_TIMED), [speed.mean for speed in speeds if speed is not None])
        exponent = group.summary("seconds_exponent")
        if exponent is not None:
            notes.append(f"{ROWS[row]}, to the power {exponent.mean:.2f}")
    drawing = plotting.lines(lines, x="domain-slot pairs", y="turns per second", log=True, log_y=True)
    return plotting.show(
        drawing,
        alt="Turns per second against the number of pairs: almost level with one run for all pairs, "
        "falling with one run for each pair",
        caption="Speed against the number of pairs, on one CPU core (processor time of forward passes of the "
        f"bundled encoder; logarithmic axes). The time grows with the number of pairs: {'; '.join(notes)}.",
    )


def carried() -> "pd.DataFrame":
    """Set what carrying over scores on simulated dialogues beside the test part of MultiWOZ 2.1."""
    import pandas as pd

    shown = {
        "joint_goal": METRICS["joint_goal"],
        "slot": "slot accuracy",
        "inherited": METRICS["inherited"],
    }
    columns = {}
    for name, experiment in (
        ("simulated", "state_tracking/baselines"),
        ("MultiWOZ 2.1, labels edited by the STAR authors", "state_tracking/encoders"),
    ):
        group = results.best(experiment, "carry-over", scale="paper")
        turns = group.records[0].details["turns"]
        summaries = {word: group.summary(metric) for metric, word in shown.items()}
        columns[f"{name}, {turns:,} turns"] = {
            word: "–" if summary is None else f"{summary.mean:.3f}" for word, summary in summaries.items()
        }
    return pd.DataFrame(columns)


def attention_among_slots(
    turns: Sequence[tuple[str, str]], *, pairs: Sequence[str] | None = None, layer: int = -1
) -> Picture:
    """Draw the attention among slots, mean over heads; by default among the slots that are filled."""
    tracked = from_pretrained(attention=True).track(turns, attention=True)
    assert tracked.attention is not None
    drawn = [pair for pair in PAIRS if pair in (tracked.state if pairs is None else pairs)]
    rows = [PAIRS.index(pair) for pair in drawn]
    weights = tracked.attention[layer].mean(0)[rows][:, rows].numpy()
    return plotting.show(
        plotting.attention_map(weights, drawn, drawn, top=math.ceil(10 * weights.max()) / 10),
        alt="Attention among slots: " + _strongest(drawn, weights),
        caption="Attention weights among slots. Row: the slot that attends; column: the slot it attends to. "
        "Mean over the heads of the last layer; the scale ends near the largest weight.",
    )


def case_states(case: Case) -> "pd.DataFrame":
    """Compare the tracker's last state with the labels, with and without attention among slots.

    The third column is the same tracker with the attention among its slots cut; it was not trained that way.
    """
    import pandas as pd

    whole = from_pretrained()
    model = deepcopy(whole.model)
    model.tracker.encoder.blocked = True
    states = {
        "tracker": whole.track(case.turns).state,
        "attention among slots cut": whole._replace(model=model).track(case.turns).state,
    }
    rows = {}
    for pair in sorted({*case.state, *(pair for state in states.values() for pair in state)}):
        label = case.state.get(pair, "none")
        source = f" (from {case.inferred[pair]})" if pair in case.inferred else ""
        values = [state.get(pair, "none") for state in states.values()]
        rows[pair] = [label + source, *(value if value == label else f"{value} ✗" for value in values)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["label", *states])


def case_looks(case: Case) -> "pd.DataFrame":
    """List the attention of the inferred slots of a printed dialogue to other slots, in every layer."""
    import pandas as pd

    tracked = from_pretrained(attention=True).track(case.turns, attention=True)
    assert tracked.attention is not None
    heads = tracked.attention.mean(1)[:, : len(PAIRS), : len(PAIRS)]  # (L, P, P)
    rows = []
    for pair, source in case.inferred.items():
        for layer, weights in enumerate(heads[:, PAIRS.index(pair)], start=1):
            others = weights.clone()
            others[PAIRS.index(pair)] = 0.0
            share = others[PAIRS.index(source)].item()
            most = PAIRS[int(others.argmax())]
            rows.append((pair, source, layer, most, f"{share:.3f}", f"{others.sum().item():.3f}"))
    columns = [
        "slot",
        "refers to",
        "layer",
        "attends most to",
        "share on its source slot",
        "share on all other slots",
    ]
    return pd.DataFrame(rows, columns=columns).set_index(["slot", "layer"])


def _strongest(filled: Sequence[str], weights: np.ndarray) -> str:
    apart = weights - np.diag(np.diag(weights))
    row, column = np.unravel_index(apart.argmax(), apart.shape)
    return f"{filled[row]} attends most to {filled[column]} ({apart[row, column]:.2f})"
