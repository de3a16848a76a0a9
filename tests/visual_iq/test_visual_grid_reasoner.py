"""The reasoner on a CNN's grid: what it shares with the reasoner, and what may change places."""

import pytest
import torch
from visual_iq.learning import learns

from reasonlib.visual_iq.models.grid_reasoner import GridReasoner
from reasonlib.visual_iq.models.reasoner import ReasonerConfig

SIZE = 31  # two by two cells
SMALL = {"width": 8, "hidden": 8, "entity_layers": 1, "panel_layers": 1, "output": 8}


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def small(**changes):
    return GridReasoner(ReasonerConfig(**SMALL | changes), channels=4, size=SIZE)


def pictures(problems):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (problems, 16, SIZE, SIZE), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize("change", [{}, {"entity_layers": 0}, {"panel_layers": 0}, {"contrast": False}])
def test_eight_scores_with_any_part_left_out(change):
    output = small(**change)(pictures(2))
    assert output.logits.shape == (2, 8) and output.cells.shape == (2, 16, 5, 4, 8)


def test_the_same_seed_draws_the_same_encoders():
    first, second = small(), small()
    assert torch.equal(first.places, second.places)
    for part, its in zip(first.panel.parameters(), second.panel.parameters(), strict=True):
        assert torch.equal(part, its)


def test_reordered_candidates_get_reordered_scores():
    model, images = small().eval(), pictures(2)
    order = torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    other = torch.cat([images[:, :8], images[:, 8:][:, order]], 1)
    torch.testing.assert_close(model(other).logits, model(images).logits[:, order], rtol=1e-4, atol=1e-5)


def test_without_a_panel_encoder_no_candidate_sees_the_context():
    images = pictures(2)
    other = torch.cat([images[:, :8].flip(2), images[:, 8:]], 1)
    blind, full = small(panel_layers=0).eval(), small().eval()
    torch.testing.assert_close(blind(other).logits, blind(images).logits)
    assert not torch.allclose(full(other).logits, full(images).logits, atol=1e-5)


def shades(problems, generator):
    """All eight candidates are shades of grey; the answer is the one that looks like the context."""
    greys = torch.stack([torch.randperm(8, generator=generator) for _ in range(problems)]) * 36.0
    target = torch.randint(8, (problems,), generator=generator)
    context = greys.gather(1, target[:, None]).expand(-1, 8)
    greys = torch.cat([context, greys], 1)
    return greys[:, :, None, None].expand(-1, -1, SIZE, SIZE), target


@pytest.mark.slow
def test_it_learns_what_it_cannot_without_the_panel_encoder():
    assert learns(small(), shades, steps=1000, share=0.8)
    assert not learns(small(panel_layers=0), shades, steps=40, share=0.3)
