"""Tables about the generators: ours beside the public ones, and what their candidates give away."""

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from reasonlib.visual_iq.data import majority_vote, simulator_fit
from reasonlib.visual_iq.data.datasets import ANSWER_SETS
from reasonlib.visual_iq.data.distractors import DISTRACTORS
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.models import naive_bayes
from reasonlib.visual_iq.page.charts import percentage

__all__ = ["ambiguous_problems", "compare_with_public", "naive_bayes_accuracy"]


def compare_with_public(number: int = 2000, *, seed: int = 0) -> pd.DataFrame:
    """Set our problems beside those of the public generators, one row a layout.

    Parameters
    ----------
    number
        Problems of each layout that are drawn and counted here.
    seed
        Of these.

    Returns
    -------
    DataFrame
        Total variation distances of rules (with their steps) and of entities' levels, the mean over the
        layout's measures, each with what chance alone would leave between two samples of these sizes; and the
        share of problems that `solve.majority_vote` solves, ours and theirs, for each answer set.
    """
    theirs = simulator_fit.public_marginals()
    lines = []
    for layout in CONFIGURATIONS:
        drawn = {name: simulate(layout.key, number, seed=seed, answers=name) for name in DISTRACTORS}
        distances = simulator_fit.compare(simulator_fit.question_table(drawn["raven"]), theirs["questions"])
        line: dict[str, Any] = {"layout": layout.title}
        for label, words in (("rules", ("rule", "step")), ("levels", ("number", "type", "size", "colour"))):
            matches = [comparison for comparison in distances if comparison.measure.split()[1] in words]
            line[f"{label}, distance"] = np.mean([comparison.distance for comparison in matches])
            line[f"{label}, by chance"] = np.mean([comparison.chance for comparison in matches])
        for name, problems in drawn.items():
            ours = (majority_vote.majority_vote(problems) == problems.target).mean()
            both = (percentage(ours), percentage(theirs["vote"][name][layout.key]))
            line[f"vote on {ANSWER_SETS[name]}, %"] = "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}".join(both)
        lines.append(line)
    return pd.DataFrame(lines).set_index("layout").round(3)


def naive_bayes_accuracy(number: int = 1000, *, seed: int = 0) -> pd.DataFrame:
    """List the accuracy of a naive Bayes classifier that sees the candidates alone.

    Parameters
    ----------
    number
        Problems of each layout to answer; three times as many are counted on.
    seed
        Of both.

    Returns
    -------
    DataFrame
        For each answer set the share that `statistics.by_counting` solves, by layout; and *mixed colours*,
        the share of candidates with several entities whose colours differ, among right and wrong candidates.
    """
    lines = {}
    for name in DISTRACTORS:
        solved: dict[str, float] = {}
        is_mixed: dict[bool, list[ndarray]] = {True: [], False: []}
        for layout in CONFIGURATIONS:
            drawn = simulate(layout.key, 4 * number, seed=seed, answers=name)
            test_set = drawn[-number:]
            solved[layout.title] = float(
                (naive_bayes.choose(test_set, drawn[:-number]) == test_set.target).mean()
            )
            for indices, shown in naive_bayes.candidate_features(drawn):
                answers = np.arange(shown.shape[1]) == drawn.target[indices, None]
                for right, parts in is_mixed.items():
                    multiple = shown[(shown[..., 0] > 1) & (answers == right)]
                    parts.append(multiple[:, -1] == naive_bayes.MIXED)
        shares = {"all": float(np.mean(list(solved.values()))), **solved}
        for right, parts in is_mixed.items():
            shares[f"mixed colours, {'right' if right else 'wrong'}"] = float(np.concatenate(parts).mean())
        lines[ANSWER_SETS[name]] = {label: percentage(share) for label, share in shares.items()}
    return pd.DataFrame(lines).T.rename_axis("solved, %")


def ambiguous_problems() -> pd.DataFrame:
    """List in how many of the public generators' problems two candidates fit, by layout, in per cent.

    The last column is the expected share of an ideal solver by rules, which must guess between the two.
    """
    theirs = simulator_fit.public_marginals()
    lines = {}
    for name in DISTRACTORS:
        shares = theirs["two_right"][name]
        lines[ANSWER_SETS[name]] = {
            **{layout.title: percentage(shares[layout.key]) for layout in CONFIGURATIONS},
            "ideal solver": percentage(theirs["solved"][name]["panels_alone"], 2),
        }
    return pd.DataFrame(lines).T.rename_axis("two fit, %")
