"""Tables and charts of the results page: how settings were found, and what they are worth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasonlib.display import plotting, results
from reasonlib.goal_dialogue.page import figures
from reasonlib.goal_dialogue.page.bars import right_responses

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "advice",
    "all_systems",
    "baseline_disagreements",
    "final_comparison",
    "key_tags",
    "network_settings",
    "oov_validation",
    "paragraph_sources",
    "paragraph_tuning",
    "paragraphs",
    "seeds",
    "tuning",
]

CHANGES = {
    "chosen": "the recipe",
    "width-16": "width 16, not 32",
    "width-64": "width 64",
    "width-128": "width 128",
    "lr-0.003": "learning rate 0.003, not 0.001",
    "lr-0.01": "learning rate 0.01",
    "batch-256": "batches of 256, not 64",
    "slots-100": "100 memories, not 50",
    "hinge": "hinge loss",
    "adadelta": "Adadelta, not Adam",
    "in-order": "without shuffling",
    "no-results": "without API results",
}
"""Row of the tuning to what it changes."""


def _grid(table: str, only: Sequence[str] | None = None) -> "pd.DataFrame":
    """Set a published table out, each system a column."""
    return results.grid("goal_dialogue", table=table, only=only).T


def all_systems() -> "pd.DataFrame":
    """The source's table 3.1: the systems of earlier papers."""
    return _grid("Table 3.1: all systems")


def baseline_disagreements() -> plotting.Picture:
    """The cells of table 3.1 on which our rules, retrieval or embeddings do not agree, with the reason."""
    return figures.objections("Table 3.1: all systems", "goal_dialogue/baselines")


def paragraphs() -> "pd.DataFrame":
    """The source's table 5.3: paragraph vectors in place of words."""
    return _grid("Table 5.3: DbowN2N")


def paragraph_sources() -> "pd.DataFrame":
    """The source's table 5.4: paragraph vectors learned from the task, or from people's dialogues."""
    return _grid("Table 5.4: what paragraph vectors learn from")


def key_tags() -> "pd.DataFrame":
    """The source's table 5.5: key tags beside the plain network and match features."""
    return _grid("Table 5.5: KTN2N")


def final_comparison() -> "pd.DataFrame":
    """The source's table 5.6: all networks, the first three with match features."""
    return _grid("Table 5.6: final comparison")


def advice() -> "pd.DataFrame":
    """The source's table 5.7: fifty dialogues of an advice line."""
    return _grid("Table 5.7: an advice line")


def network_settings() -> "pd.DataFrame":
    """The setting of each memory network, and what differs in single tasks."""
    import pandas as pd

    from reasonlib.goal_dialogue.experiments import train_memory
    from reasonlib.goal_dialogue.experiments.memory_networks import NETWORKS
    from reasonlib.goal_dialogue.models.memory_network import NetworkConfig

    columns = {"N2N": "n2n", "GN2N": "gn2n", "UN2N": "un2n"}
    columns |= {f"{name}, match": f"{row}-match" for name, row in columns.items()}
    labels = {
        "width": "width",
        "hops": "hops",
        "init_std": "spread of the initial weights",
        "lr": "learning rate",
    }
    short = labels | {"network": "", "init_std": "spread"}  # pandas cuts a cell after fifty characters
    usual = vars(NetworkConfig()) | vars(train_memory.Recipe())
    settings = {}
    for name, row in columns.items():
        chosen = NETWORKS.rows[row]
        settings[name] = {"network": chosen["network"]}
        settings[name] |= {label: {**usual, **chosen}[key] for key, label in labels.items()}
        for task in (1, 4):
            own = chosen.get(f"only{task}", {})
            differing = [f"{short.get(key, key)} {value}".lstrip() for key, value in own.items()]
            settings[name][f"task {task} differs in"] = ", ".join(differing) or "nothing"
    return pd.DataFrame(settings).T


def tuning() -> plotting.Picture:
    """What changing one choice of the recipe does, on full dialogues."""
    return right_responses("goal_dialogue/tuning", 5, CHANGES, data="dialog-babi")


def paragraph_tuning() -> plotting.Picture:
    """What the width of paragraph vectors and the number of hops do, on full dialogues."""
    sizes = {"dbow": "width 100, 8 hops", "width-20": "width 20"}
    sizes |= {"hops-4": "4 hops", "hops-2": "2 hops", "hops-1": "1 hop"}
    return right_responses("goal_dialogue/paragraph-tuning", 5, sizes)


def seeds() -> "pd.DataFrame":
    """The recipe of `tuning`, seed by seed."""
    import pandas as pd

    group = results.best("goal_dialogue/tuning", "chosen", data="dialog-babi")
    column = "share of right responses, task 5"
    return pd.DataFrame(
        {f"seed {record.seed}": {column: record.metrics["task5"]} for record in group.records}
    ).round(3)


def oov_validation() -> "pd.DataFrame":
    """Settings compared on validation dialogues: as they are, and with out-of-vocabulary names."""
    import pandas as pd

    from reasonlib.goal_dialogue.experiments.oov_validation import OOV_VALIDATION

    rows = []
    for name, setting in OOV_VALIDATION.rows.items():
        group = results.best("goal_dialogue/oov-validation", name)
        means = {metric: group.summary(metric) for metric in ("valid1", "renamed1")}
        rows.append(
            {
                "network": setting["network"],
                "match": "yes" if setting["match"] else "no",
                "width": setting["width"],
                "spread of the initial weights": setting["init_std"],
                "learning rate": setting["lr"],
                "names as they are": means["valid1"].mean if means["valid1"] else None,
                "OOV names": means["renamed1"].mean if means["renamed1"] else None,
            }
        )
    return pd.DataFrame(rows).set_index("network").round(3)
