"""A small model, its data, and a call of `fit` that trains it."""

import itertools

import torch
from torch import nn

from reasonlib.training import TrainingConfig, fit, seeded


def squares(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def data(count=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 3, generator=generator)
    return x, x.sum(1, keepdim=True)


def make(seed=0, dropout=0.0):
    with seeded(seed):
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(dropout), nn.Linear(4, 1))


def train(model=None, batches=None, *, loss=squares, **options):
    """Train on the same batch in every epoch, unless told otherwise; options of the config or of `fit`."""
    names = TrainingConfig.__dataclass_fields__
    config = TrainingConfig(**{k: v for k, v in options.items() if k in names})
    rest = {k: v for k, v in options.items() if k not in names}
    model = make() if model is None else model
    return fit(model, batches or (lambda epoch: [data()]), loss=loss, config=config, **rest), model


def same(model, other):
    return all(
        torch.equal(a, b)
        for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    )


class Rates(nn.Module):
    """One number whose gradient is 1: under plain SGD each step takes the learning rate off it."""

    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros((), dtype=torch.float64))

    @classmethod
    def of(cls, steps_an_epoch=4, **options):
        seen = []

        def loss(model, batch):
            seen.append(model.x.item())
            return model.x * 1.0

        batches = lambda epoch: [torch.zeros(1)] * steps_an_epoch  # noqa: E731
        history, model = train(cls(), batches, loss=loss, optimiser="sgd", **options)
        seen.append(model.x.item())
        return [a - b for a, b in itertools.pairwise(seen)], history


def scripted(scores, models=None):
    """A validation that gives prescribed scores, and keeps a copy of the model at each."""
    scores = iter(scores)

    def validate(model):
        assert not model.training and not torch.is_grad_enabled()
        if models is not None:
            models.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return {"accuracy": next(scores)}

    return validate
