"""What a candidate has and the others have not."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from reasonlib.visual_iq.models.contrast import LOSSES, Contrast, choice_loss


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_equation_by_hand():
    features = torch.tensor([[[1.0, 2.0], [3.0, 5.0]]])
    double = nn.Linear(2, 2, bias=False)
    double.weight.data = 2 * torch.eye(2)
    assert Contrast(double)(features).tolist() == [[[1 - 8, 2 - 14], [3 - 8, 5 - 14]]]


def test_features_may_be_maps():
    contrast = Contrast(nn.Conv2d(3, 3, 3, padding=1))
    features = draw(2, 8, 3, 5, 5)
    expected = features - contrast.aggregate(features.sum(1))[:, None]
    assert torch.equal(contrast(features), expected)


def test_candidates_that_change_places_take_their_results_along():
    contrast = Contrast(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4)))
    features, order = draw(3, 8, 4), torch.tensor([3, 0, 7, 1, 2, 6, 5, 4])
    torch.testing.assert_close(contrast(features[:, order]), contrast(features)[:, order])


def test_an_aggregate_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"aggregate must keep the shape \(2, 4\), got \(2, 5\)"):
        Contrast(nn.Linear(4, 5))(draw(2, 8, 4))


def test_losses_are_the_two_of_torch():
    logits, target = draw(5, 8), torch.tensor([0, 3, 7, 2, 2])
    right = torch.zeros(5, 8)
    right[torch.arange(5), target] = 1
    bce = functional.binary_cross_entropy_with_logits(logits, right)
    torch.testing.assert_close(choice_loss(logits, target), bce)
    torch.testing.assert_close(choice_loss(logits, target, "ce"), functional.cross_entropy(logits, target))


def test_an_unknown_loss_names_the_known_ones():
    with pytest.raises(ValueError, match=f"kind must be one of {', '.join(LOSSES)}, got 'hinge'"):
        choice_loss(draw(1, 8), torch.tensor([0]), "hinge")
