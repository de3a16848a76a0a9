"""LSTM, CNN, ResNet and the models that never see the question: what they compute, and what they cannot."""

import pytest
import torch
from norms import unsettle
from torch import nn
from torch.nn import functional
from transformers import ResNetConfig, ResNetModel

from reasonlib.training import parameter_count
from reasonlib.visual_iq.models.baselines import (
    BasicBlock,
    BlindCNN,
    BlindResNet,
    CandidateLSTM,
    PanelCNN,
    PanelLSTM,
    PanelResNet,
    ResNet18,
    as_panels,
    convolutions,
    side_after,
)

SIZE = 31  # pixels: the smallest of which four convolutions leave 2x2 cells


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def small_models():
    return {
        "lstm": PanelLSTM(3, 5, SIZE),
        "lstm by candidate": CandidateLSTM(3, 5, SIZE),
        "cnn": PanelCNN(3, 6, SIZE),
        "resnet": PanelResNet(2),
        "blind resnet": BlindResNet(2),
        "blind cnn": BlindCNN(3, 6, SIZE),
    }


def pictures(problems, size=SIZE):
    return torch.randint(0, 256, (problems, 16, size, size), dtype=torch.uint8)


def grey(values):
    """Panels of one grey each."""
    return values[:, :, None, None].expand(-1, -1, SIZE, SIZE).float()


# Contract


@pytest.mark.parametrize("name", small_models())
def test_eight_scores_a_problem_from_bytes_or_floats(name):
    model, images = small_models()[name].eval(), pictures(2)
    output = model(images)
    assert output.logits.shape == (2, 8) and output.logits.dtype == torch.float32
    assert torch.equal(output.logits, model(images.float()).logits)


def test_pictures_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"images must be \(B, 16, size, size\), got \(1, 9, 80, 80\)"):
        as_panels(torch.zeros(1, 9, 80, 80))
    with pytest.raises(ValueError, match="images must be"):
        as_panels(torch.zeros(1, 16, 80, 40))
    with pytest.raises(ValueError, match="size must be at least 31 pixels, got 30"):
        PanelCNN(size=30)


@pytest.mark.parametrize("size", [31, 40, 62, 63, 80, 160])
def test_the_side_that_convolutions_leave(size):
    left = convolutions(1, 2, size)[:-1](torch.zeros(2, 1, size, size))
    assert left.shape[2:] == (side_after(size),) * 2


def test_sizes_of_the_published_models():
    """Counted in the authors' code, without the trees that it holds beside them."""
    assert parameter_count(PanelLSTM()) == 143_960
    assert parameter_count(PanelCNN()) == 299_400


# Mathematics and parity


def test_an_lstm_reads_sixteen_panels_in_their_order():
    """Beside the gates of Hochreiter and Schmidhuber (1997), panel by panel."""
    model, images = unsettle(PanelLSTM(3, 5, SIZE)), pictures(2)
    output = model(images)
    read = model.lstm
    state = cell = torch.zeros(2, 5)
    for panel in range(16):
        seen = model.backbone(images[:, panel : panel + 1].float())
        gates = seen @ read.weight_ih_l0.T + read.bias_ih_l0 + state @ read.weight_hh_l0.T + read.bias_hh_l0
        let_in, forget, candidate, let_out = gates.chunk(4, 1)
        cell = forget.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
        state = let_out.sigmoid() * cell.tanh()
        torch.testing.assert_close(output.states[:, panel], state)
    torch.testing.assert_close(output.logits, model.head(state))


def test_one_candidate_at_a_time_is_nine_panels_read_from_the_start():
    model, images = unsettle(CandidateLSTM(3, 5, SIZE)), pictures(2)
    output = model(images)
    for candidate in range(8):
        nine = torch.cat([images[:, :8], images[:, 8 + candidate, None]], 1)
        seen = torch.stack([model.backbone(nine[:, panel, None].float()) for panel in range(9)], 1)
        states, _ = model.lstm(seen)
        torch.testing.assert_close(output.logits[:, candidate], model.score(states[:, -1])[:, 0])
        torch.testing.assert_close(output.states[:, 8 + candidate], states[:, -1])
    torch.testing.assert_close(output.states[:, :8], states[:, :8])


def test_the_cnn_in_plain_steps():
    model, images = unsettle(PanelCNN(3, 6, SIZE)), pictures(2)
    x = images.float()
    for convolution, norm in zip(model.backbone[0:12:3], model.backbone[1:12:3], strict=True):
        x = functional.conv2d(x, convolution.weight, convolution.bias, stride=convolution.stride)
        mean, var = norm.running_mean[:, None, None], norm.running_var[:, None, None]
        x = (x - mean) / (var + 1e-5).sqrt() * norm.weight[:, None, None] + norm.bias[:, None, None]
        x = x.clamp(min=0)
    hidden = (x.flatten(1) @ model.head[0].weight.T + model.head[0].bias).clamp(min=0)
    expected = hidden @ model.head[3].weight.T + model.head[3].bias
    torch.testing.assert_close(model(images).logits, expected)


def test_resnet_18_is_that_of_transformers():
    config = ResNetConfig(
        num_channels=16,
        embedding_size=4,
        hidden_sizes=[4, 8, 16, 32],
        depths=[2, 2, 2, 2],
        layer_type="basic",
    )
    peer, ours = unsettle(ResNetModel(config)), ResNet18(16, 4).eval()
    assert parameter_count(ours) == parameter_count(peer)
    ours.stem.load_state_dict(
        dict(zip(ours.stem.state_dict(), peer.embedder.state_dict().values(), strict=True))
    )
    for number, block in enumerate(ours.stages):
        layer = peer.encoder.stages[number // 2].layers[number % 2]
        for part, its in ((block.change, layer.layer), (block.shortcut, layer.shortcut)):
            part.load_state_dict(dict(zip(part.state_dict(), its.state_dict().values(), strict=True)))
    images = pictures(2, 40).float()
    torch.testing.assert_close(ours(images), peer(images).pooler_output.flatten(1))


def test_a_block_that_changes_nothing_is_its_shortcut():
    block = BasicBlock(3, 3)
    nn.init.zeros_(block.change[4].weight)
    nn.init.zeros_(block.change[4].bias)
    x = torch.rand(2, 3, 5, 5)
    torch.testing.assert_close(block(x), x)


def test_blind_cnn_judges_differences_from_the_mean():
    model, images = unsettle(BlindCNN(3, 6, SIZE)), pictures(2)
    seen = torch.stack([model.backbone(images[:, 8 + c, None].float()) for c in range(8)], 1)
    features = seen - seen.mean(1, keepdim=True)
    output = model(images)
    torch.testing.assert_close(output.features, features)
    torch.testing.assert_close(output.logits, model.score(features)[..., 0])


# What they are blind to


@pytest.mark.parametrize("name", ["blind cnn", "blind resnet"])
def test_blind_models_never_see_the_context(name):
    model, images = small_models()[name].eval(), pictures(2)
    other = torch.cat([pictures(2)[:, :8], images[:, 8:]], 1)
    assert torch.equal(model(images).logits, model(other).logits)
    assert not torch.equal(model(images).logits, model(pictures(2)).logits)


@pytest.mark.parametrize("name", ["lstm by candidate", "blind cnn"])
def test_reordered_candidates_get_reordered_scores(name):
    model, images = unsettle(small_models()[name]), pictures(2)
    order = torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    other = torch.cat([images[:, :8], images[:, 8:][:, order]], 1)
    torch.testing.assert_close(model(other).logits, model(images).logits[:, order])


@pytest.mark.parametrize("name", ["lstm", "cnn", "resnet", "blind resnet"])
def test_the_others_name_the_answer_by_its_number(name):
    model, images = unsettle(small_models()[name]), pictures(2)
    order = torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    other = torch.cat([images[:, :8], images[:, 8:][:, order]], 1)
    assert not torch.allclose(model(other).logits, model(images).logits[:, order], atol=1e-3)


# Learning


def odd_one_out(problems, generator):
    """Seven candidates of one grey, and one of another: no grey is more often the answer than any other.

    Whatever each grey is worth, the odd one is worth more in half of all problems, and less in the other.
    """
    two = torch.stack([torch.randperm(4, generator=generator)[:2] for _ in range(problems)]) * 80
    greys = torch.cat([torch.zeros(problems, 8, dtype=torch.long), two[:, :1].expand(-1, 8)], 1)
    target = torch.randint(8, (problems,), generator=generator)
    greys[torch.arange(problems), 8 + target] = two[:, 1]
    return grey(greys), target


def trained(model, make, steps, lr=0.01):
    """Train on fresh problems, and measure on 400 more."""
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        images, target = make(32, generator)
        optimiser.zero_grad()
        functional.cross_entropy(model(images).logits, target).backward()
        optimiser.step()
    model.eval()
    images, target = make(400, generator)
    with torch.no_grad():
        return (model(images).logits.argmax(1) == target).float().mean().item()


def test_the_odd_one_out_is_found_by_comparison_alone():
    assert trained(BlindCNN(4, 16, SIZE), odd_one_out, steps=100, lr=0.02) > 0.8
    assert trained(CandidateLSTM(4, 16, SIZE), odd_one_out, steps=60) < 0.6


def as_shown(problems, generator):
    """The answer is the candidate as grey as the last context panel; all candidates differ."""
    greys = torch.stack([torch.randperm(8, generator=generator) for _ in range(problems)]) * 32.0
    target = torch.randint(8, (problems,), generator=generator)
    context = torch.rand(problems, 8, generator=generator) * 255
    context[:, 7] = greys[torch.arange(problems), target]
    return grey(torch.cat([context, greys], 1)), target


def test_an_answer_in_the_context_is_found_by_those_who_look_there():
    assert trained(CandidateLSTM(4, 16, SIZE), as_shown, steps=250) > 0.5
    assert trained(BlindCNN(4, 16, SIZE), as_shown, steps=60) < 0.25
