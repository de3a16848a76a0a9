"""CoPINet: its equations written out, what may change places, and what contrast is for."""

import pytest
import torch
from norms import unsettle
from torch import nn
from torch.nn import functional

from reasonlib.training import parameter_count
from reasonlib.visual_iq.models.contrast import choice_loss
from reasonlib.visual_iq.models.copinet import CoPINet, CoPINetConfig, RuleContrast, rows_and_columns

SIZE = 24


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def small(**changes):
    return CoPINet(CoPINetConfig(**{"width": 4, "attributes": 3, "rules": 2} | changes))


def pictures(problems):
    return torch.randint(0, 256, (problems, 16, SIZE, SIZE), dtype=torch.uint8)


# Contract


def test_scores_rules_and_what_is_common():
    output = small()(pictures(2))
    assert (
        output.logits.shape == (2, 8)
        and output.rules.shape == (2, 3, 2)
        and output.features.shape == (2, 8, 16)
    )
    assert [tuple(common.shape) for common in output.common] == [(2, 4, 6, 6), (2, 8, 3, 3)]
    torch.testing.assert_close(output.rules.sum(2), torch.ones(2, 3))


def test_size_of_the_published_model():
    assert parameter_count(CoPINet(CoPINetConfig())) == 1_685_949


def test_parts_can_be_left_out():
    without = small(inference=False)(pictures(2))
    assert without.rules is None and len(without.common) == 2
    backbone = small(inference=False, contrast=False)(pictures(2))
    assert backbone.rules is None and backbone.common == ()


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="inference must be False without contrast, got True"):
        CoPINetConfig(contrast=False)
    with pytest.raises(ValueError, match="rules must be at least 1, got 0"):
        CoPINetConfig(rules=0)


# Mathematics


def plain(images, model):
    """The published forward pass in plain functions, candidate by candidate."""

    def norm(x, layer):
        shape = (1, -1, 1, 1)
        x = (x - layer.running_mean.view(shape)) / (layer.running_var.view(shape) + layer.eps).sqrt()
        return x * layer.weight.view(shape) + layer.bias.view(shape)

    def conv(x, layer, **how):
        return functional.conv2d(x, layer.weight, **how)

    def see(panel, stem):
        x = norm(conv(panel[:, None].float(), stem[0], stride=2, padding=3), stem[1]).clamp(min=0)
        return functional.max_pool2d(x, 3, stride=2, padding=1)

    def line(x, part):
        return norm(conv(x, part.convolution, padding=1), part.norm).clamp(min=0)

    def mlp(x, part):
        hidden = (x @ part[0].weight.T + part[0].bias).clamp(min=0)
        return hidden @ part[2].weight.T + part[2].bias

    infer = model.inference
    p = [see(images[:, panel], infer.backbone) for panel in range(8)]
    rows = line(p[0] + p[1] + p[2], infer.rows) + line(p[3] + p[4] + p[5], infer.rows)
    columns = line(p[0] + p[3] + p[6], infer.columns) + line(p[1] + p[4] + p[7], infer.columns)
    gathered = (rows + columns).mean((2, 3))
    rules = (gathered @ infer.classifier.weight.T + infer.classifier.bias).view(len(images), 3, 2).softmax(2)
    rule_embedding = sum(rules[:, a] @ infer.embed_rules.weight.T for a in range(3))

    p = [see(images[:, panel], model.backbone) for panel in range(16)]
    x = []
    for c in range(8, 16):
        rows = [(0, 1, 2), (3, 4, 5), (6, 7, c)]
        columns = [(0, 3, 6), (1, 4, 7), (2, 5, c)]
        x.append(
            sum(line(sum(p[i] for i in row), model.rows) for row in rows)
            + sum(line(sum(p[i] for i in column), model.columns) for column in columns)
        )
    for contrast, block in zip(model.contrasts, model.blocks, strict=True):
        rule = mlp(rule_embedding, contrast.translate)[:, :, None, None].expand(-1, -1, *x[0].shape[2:])
        common = norm(conv(torch.cat([sum(x), rule], 1), contrast.convolution, padding=1), contrast.norm)
        changed = []
        for candidate in x:
            candidate = candidate - common
            hidden = norm(conv(candidate, block.change[0], stride=2, padding=1), block.change[1]).clamp(min=0)
            change = norm(conv(hidden, block.change[3], padding=1), block.change[4])
            beside = norm(conv(candidate, block.shortcut[0], stride=2), block.shortcut[1])
            changed.append((beside + change).clamp(min=0))
        x = changed
    return torch.cat([mlp(candidate.mean((2, 3)), model.score) for candidate in x], 1), rules


def test_the_published_equations_written_out():
    model, images = unsettle(small()), pictures(2)
    output = model(images)
    logits, rules = plain(images, model)
    torch.testing.assert_close(output.rules, rules)
    torch.testing.assert_close(output.logits, logits, rtol=1e-4, atol=1e-4)


def test_sums_of_rows_and_columns_by_hand():
    """Panel k weighs 2 to the k, so that a sum tells its panels."""
    sums = rows_and_columns((2.0 ** torch.arange(16))[None])[0].int().tolist()

    def of(*panels):
        return sum(2**panel for panel in panels)

    assert sums[:4] == [of(0, 1, 2), of(3, 4, 5), of(0, 3, 6), of(1, 4, 7)]
    assert sums[4:12] == [of(6, 7, c) for c in range(8, 16)]
    assert sums[12:] == [of(2, 5, c) for c in range(8, 16)]


def test_contrast_takes_the_same_from_every_candidate():
    contrast, x, rule_embedding = RuleContrast(3, 5), torch.randn(2, 8, 3, 4, 4), torch.randn(2, 5)
    left, common = contrast(x, rule_embedding)
    torch.testing.assert_close(x - left, common[:, None].expand_as(x))
    nn.init.zeros_(contrast.norm.weight)
    torch.testing.assert_close(contrast(x, rule_embedding).candidates, x)


def test_lines_hardly_normalise():
    """The authors' ``BatchNorm2d(64, 64)`` sets the epsilon, and the published figures come from it."""
    model = CoPINet(CoPINetConfig())
    assert {model.rows.norm.eps, model.columns.norm.eps, model.inference.rows.norm.eps} == {64.0}
    assert model.contrasts[0].norm.eps == 1e-5


# What may change places


@pytest.mark.parametrize("parts", [{}, {"inference": False}, {"inference": False, "contrast": False}])
def test_reordered_candidates_get_reordered_scores(parts):
    model, images = unsettle(small(**parts)), pictures(2)
    order = torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    other = torch.cat([images[:, :8], images[:, 8:][:, order]], 1)
    torch.testing.assert_close(model(other).logits, model(images).logits[:, order], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "order", [[3, 4, 5, 0, 1, 2, 6, 7], [1, 0, 2, 4, 3, 5, 7, 6]], ids=["rows 1 and 2", "columns 1 and 2"]
)
def test_complete_rows_and_columns_may_change_places(order):
    model, images = unsettle(small()), pictures(2)
    other = torch.cat([images[:, order], images[:, 8:]], 1)
    torch.testing.assert_close(model(other).logits, model(images).logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(model(other).rules, model(images).rules)


def test_the_last_row_may_not_change_places_with_another():
    model, images = unsettle(small()), pictures(2)
    other = torch.cat([images[:, [6, 7, 2, 3, 4, 5, 0, 1]], images[:, 8:]], 1)
    assert not torch.allclose(model(other).logits, model(images).logits, atol=1e-3)


def test_rules_are_guessed_from_the_context_alone():
    model, images = small().eval(), pictures(2)
    other = torch.cat([images[:, :8], pictures(2)[:, 8:]], 1)
    assert torch.equal(model(other).rules, model(images).rules)


def test_without_contrast_no_candidate_knows_of_the_others():
    model, images = small(inference=False, contrast=False).eval(), pictures(2)
    other = torch.cat([images[:, :9], pictures(2)[:, 9:]], 1)
    torch.testing.assert_close(model(other).logits[:, 0], model(images).logits[:, 0])
    full = unsettle(small(inference=False))
    assert not torch.allclose(full(other).logits[:, 0], full(images).logits[:, 0], atol=1e-4)


# Learning


def odd_one_out(problems, generator):
    """A black context; seven candidates of one grey, one of another, and no grey more often the answer.

    Whatever each grey is worth, the odd one is worth more in half of all problems.
    """
    two = torch.stack([torch.randperm(4, generator=generator)[:2] for _ in range(problems)]) * 80
    greys = torch.cat([torch.zeros(problems, 8, dtype=torch.long), two[:, :1].expand(-1, 8)], 1).float()
    target = torch.randint(8, (problems,), generator=generator)
    greys[torch.arange(problems), 8 + target] = two[:, 1].float()
    return greys[:, :, None, None].expand(-1, -1, SIZE, SIZE), target


def trained(model, kind, steps=60):
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(steps):
        images, target = odd_one_out(16, generator)
        optimiser.zero_grad()
        choice_loss(model(images).logits, target, kind).backward()
        optimiser.step()
    model.eval()
    images, target = odd_one_out(200, generator)
    with torch.no_grad():
        return (model(images).logits.argmax(1) == target).float().mean().item()


@pytest.mark.parametrize("kind", ["bce", "ce"])
def test_contrast_finds_the_odd_one_out(kind):
    assert trained(small(width=8), kind) > 0.8


def test_without_contrast_every_second_guess_is_right():
    assert trained(small(width=8, inference=False, contrast=False), "ce") < 0.6
