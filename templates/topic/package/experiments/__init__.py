"""All experiments of this topic by name; each module of this package holds one family of rows."""

from reasonlib.TOPIC.experiments.vote import DATA, VOTE

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = {experiment.name: experiment for experiment in (VOTE,)}
