"""All experiments of this topic by name; each module of this package holds one family of rows."""

from reasonlib.TOPIC.experiments.vote import DATA, VOTE

from reasonlib.tracking.experiment import named

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = named(VOTE)
