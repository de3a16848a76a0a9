"""Wild Relation Network: pairs of panels, tags, the auxiliary targets."""

import pytest
import torch
from torch.nn import functional
from visual_iq.learning import learns

from reasonlib.training import parameter_count
from reasonlib.visual_iq.models.wren import WReN, WReNConfig, position_tags

SIZE = 31


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def small(**changes):
    settings = {"size": SIZE, "width": 3, "embedding": 6, "hidden": 7, "auxiliary": 4} | changes
    return WReN(WReNConfig(**settings))


def pictures(problems):
    return torch.randint(0, 256, (problems, 16, SIZE, SIZE), dtype=torch.uint8)


# Contract


def test_scores_and_meta_targets():
    output = small()(pictures(2))
    assert (
        output.logits.shape == (2, 8) and output.meta.shape == (2, 4) and output.relations.shape == (2, 8, 6)
    )
    assert small(auxiliary=0)(pictures(2)).meta.shape == (2, 0)


def test_sizes_of_the_published_model():
    """Counted in a public implementation for PGM, which has twelve meta-targets."""
    assert parameter_count(WReN(WReNConfig(auxiliary=12))) == 1_216_173
    assert parameter_count(WReN(WReNConfig(auxiliary=12, tags=False))) == 1_213_869


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="embedding must be at least 1, got 0"):
        WReNConfig(embedding=0)
    with pytest.raises(ValueError, match="auxiliary must be at least 0, got -1"):
        WReNConfig(auxiliary=-1)


# Mathematics


@pytest.mark.parametrize("tags", [True, False])
def test_the_sum_over_all_pairs_written_out(tags):
    """Barrett et al. (2018), eq. 1, pair by pair: 64 within the context, 16 with the candidate."""
    model, images = small(tags=tags).eval(), pictures(2)
    output = model(images)
    weight = torch.cat([model.relate.first.weight, model.relate.second.weight], 1)

    def g(y, z):
        return model.relate.rest(functional.linear(torch.cat([y, z], 1), weight, model.relate.first.bias))

    panels = []
    for panel in range(16):
        features = model.backbone(images[:, panel, None].float())
        tag = functional.one_hot(torch.tensor(min(panel, 8)), 9).float().expand(2, 9)
        panels.append(model.embed(torch.cat([features, tag], 1) if tags else features))
    judged = []
    for candidate in range(8, 16):
        total = torch.zeros(2, 6)
        for y in range(8):
            for z in range(8):
                total = total + g(panels[y], panels[z])
            total = total + g(panels[y], panels[candidate]) + g(panels[candidate], panels[y])
        torch.testing.assert_close(output.relations[:, candidate - 8], total)
        judged.append(model.head(total))
    torch.testing.assert_close(output.logits, torch.stack([scores[:, 0] for scores in judged], 1))
    torch.testing.assert_close(output.meta, torch.stack([scores[:, 1:] for scores in judged]).sum(0))


def test_a_tag_for_each_place_and_one_for_all_candidates():
    tags = position_tags()
    assert torch.equal(tags[:8, :8], torch.eye(8)) and torch.equal(tags.sum(1), torch.ones(16))
    assert tags[8:, 8].all()


@pytest.mark.parametrize("tags", [True, False])
def test_reordered_candidates_get_reordered_scores(tags):
    model, images = small(tags=tags).eval(), pictures(2)
    order = torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    other = torch.cat([images[:, :8], images[:, 8:][:, order]], 1)
    first, second = model(images), model(other)
    torch.testing.assert_close(second.logits, first.logits[:, order])
    torch.testing.assert_close(second.meta, first.meta)


def test_without_tags_a_reordered_context_is_the_same_context():
    images = pictures(2)
    other = torch.cat([images[:, [5, 2, 7, 0, 1, 4, 6, 3]], images[:, 8:]], 1)
    plain, tagged = small(tags=False).eval(), small(tags=True).eval()
    torch.testing.assert_close(plain(other).logits, plain(images).logits)
    assert not torch.allclose(tagged(other).logits, tagged(images).logits, atol=1e-4)


# Learning


def as_the_last(problems, generator):
    """Context and candidates show the same eight greys; the answer is the one of the last context panel."""
    context = torch.stack([torch.randperm(8, generator=generator) for _ in range(problems)])
    order = torch.stack([torch.randperm(8, generator=generator) for _ in range(problems)])
    greys = torch.cat([context, context.gather(1, order)], 1) * 36.0
    images = greys[:, :, None, None].expand(-1, -1, SIZE, SIZE)
    return images, (order == 7).long().argmax(1)


def test_only_tags_tell_which_context_panel_is_the_last():
    sizes = {"width": 3, "embedding": 16, "hidden": 32, "auxiliary": 0, "dropout": 0.0}
    assert learns(small(tags=True, **sizes), as_the_last, steps=300, share=0.4)  # an eighth by guessing
    assert not learns(small(tags=False, **sizes), as_the_last, steps=60, share=0.3)
