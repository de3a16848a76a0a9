"""What the source says of losses, activations and optimisers, as experiments.

The source measures nothing of its own and names no data for most of its sentences. What stands here in their
place is ours: digits (moved by a pixel or two where many are wanted), patients and tumours that come with
scikit-learn, and inputs that we made up.
"""

from reasonlib.optimisation.experiments import activation_rows, loss_rows, optimiser_rows
from reasonlib.optimisation.experiments.data import DATA
from reasonlib.tracking.experiment import named

__all__ = ["DATA", "EXPERIMENTS"]

EXPERIMENTS = named(*loss_rows.EXPERIMENTS, *activation_rows.EXPERIMENTS, *optimiser_rows.EXPERIMENTS)
