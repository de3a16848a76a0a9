"""Training runs that are killed in this process, and what two runs are compared by."""

import pytest
import torch


class Killed(Exception):
    """What ends a run."""


def train_until_killed(train, epoch, **options):
    """Call ``train(on_epoch=..., **options)``, and kill it at the end of an epoch."""

    def kill(row):
        if row["epoch"] == epoch:
            raise Killed

    with pytest.raises(Killed):
        train(on_epoch=kill, **options)


def weights(model):
    """A copy of the weights."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(first, second):
    """Whether two runs ended with the same weights, bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def check_resumed(learn, folder):
    """Fail unless a run that is interrupted after an epoch and resumed ends where a whole one does.

    ``learn(**options)`` trains with two epochs and these options; it returns a model, data and a history.
    """
    whole, _, _ = learn(epochs=2)
    learn(epochs=2, checkpoint=folder, minutes=0.0)
    resumed, _, history = learn(epochs=2, checkpoint=folder)
    assert history.stopped == "finished"
    assert same(weights(whole), weights(resumed))


def rows(history):
    """The rows of a history without how long they took."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]
