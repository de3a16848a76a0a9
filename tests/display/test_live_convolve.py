"""Convolutions in the page, compiled and in JavaScript, against PyTorch."""

import pytest
import torch
import wasm
from torch.nn import functional

from reasonlib.display import live

RUN = """
const { inputs, weight, bias, stride, rectify, cells } = given;
const workspace = new Workspace(2 ** 16, { compiled: given.compiled });
const filled = ({ height, width, values }, features) => {
  const map = new FeatureMap(workspace, height, width, features);
  for (let at = 0; at < height * width; at++) {
    map.cell(Math.floor(at / width), at % width).set(values.slice(at * features, (at + 1) * features));
  }
  return map;
};
const map = filled(given.map, inputs), added = given.added && filled(given.added, weight.shape[0]);
const convolution = new Convolution(workspace, weight, bias);
const over = () => convolution.over(map, { stride, rectify, added, cells: cells ?? Infinity });
over(); // the next run writes over its result
const result = over(), shape = [result.height, result.width, result.features];
return { shape, values: result.toArray(), compiled: compiledSums(1) !== null };
"""


def by_cells(features):
    """A map of features x height x width as the page gets it."""
    _, height, width = features.shape
    return {"height": height, "width": width, "values": features.permute(1, 2, 0).flatten().tolist()}


@pytest.fixture(params=[True, False], ids=["compiled", "plain"])
def convolve(javascript, request):
    """A function that runs a convolution in the page: its map of results as features x height x width."""

    def run(values, weight, bias, *, added=None, stride=1, rectify=False, cells=None):
        given = {
            "map": by_cells(values),
            "inputs": len(values),
            "weight": {"shape": list(weight.shape), "data": weight.flatten().tolist()},
            "bias": bias.tolist(),
            "added": None if added is None else by_cells(added),
            "stride": stride,
            "rectify": rectify,
            "cells": cells,
            "compiled": request.param,
        }
        output = javascript(live.code(modules=["convolve"]), RUN, given)
        assert output["compiled"]
        return torch.tensor(output["values"]).reshape(output["shape"]).permute(2, 0, 1)

    return run


@pytest.mark.parametrize(
    ("inputs", "outputs", "height", "width", "side", "stride"),
    [(1, 8, 8, 8, 3, 2), (3, 5, 5, 5, 3, 1), (8, 12, 6, 10, 3, 2), (4, 4, 9, 7, 3, 1), (16, 10, 4, 5, 1, 1)],
)
@pytest.mark.parametrize("rectify", [False, True])
def test_the_same_map_as_pytorch(convolve, inputs, outputs, height, width, side, stride, rectify):
    generator = torch.Generator().manual_seed(inputs)
    values = torch.randn(inputs, height, width, generator=generator)
    values[:, : height // 2] = 0  # white paper
    weight = torch.randn(outputs, inputs, side, side, generator=generator)
    bias = torch.randn(outputs, generator=generator)
    expected = functional.conv2d(values, weight, bias, stride=stride, padding=side // 2)
    actual = convolve(values, weight, bias, stride=stride, rectify=rectify)
    torch.testing.assert_close(actual, expected.relu() if rectify else expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("zoom", [1, 2])
def test_another_map_is_added_before_what_is_negative_is_cut_off(convolve, zoom):
    generator = torch.Generator().manual_seed(zoom)
    values, added = (torch.randn(6, 6 // by, 6 // by, generator=generator) for by in (1, zoom))
    weight, bias = torch.randn(6, 6, 3, 3, generator=generator), torch.randn(6, generator=generator)
    larger = added.repeat_interleave(zoom, 1).repeat_interleave(zoom, 2)
    expected = (functional.conv2d(values, weight, bias, padding=1) + larger).relu()
    actual = convolve(values, weight, bias, added=added, rectify=True)
    torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("cells", [1, 6])
def test_a_linear_layer_for_some_of_the_cells(convolve, cells):
    generator = torch.Generator().manual_seed(0)
    values, weight = torch.randn(7, 1, 9, generator=generator), torch.randn(5, 7, generator=generator)
    bias = torch.randn(5, generator=generator)
    actual = convolve(values, weight, bias, cells=cells)
    expected = functional.linear(values[:, 0].T, weight, bias).T
    torch.testing.assert_close(actual[:, 0, :cells], expected[:, :cells], atol=1e-4, rtol=1e-4)
    assert not actual[:, 0, max(cells, 4) :].any()  # nobody asked for them


def test_without_webassembly_it_is_javascript_that_runs(javascript):
    body = """const kept = globalThis.WebAssembly;
    delete globalThis.WebAssembly;
    const found = [compiledSums(8), new Workspace(8).numbers.length];
    globalThis.WebAssembly = kept;
    return found;"""
    assert javascript(live.code(modules=["convolve"]), body) == [None, 8]


@pytest.mark.parametrize(
    ("inputs", "width", "message"),
    [
        (8, 4, "a map must have 8 features, got 4"),
        (4, 3, "a result must be at least 4 cells wide, got 3"),
        (4, 40, "a workspace of 512 numbers is full"),
    ],
)
def test_mistakes(javascript, inputs, width, message):
    body = """const workspace = new Workspace(512, { compiled: false }), { inputs, width } = given;
    const weight = { shape: [1, inputs], data: new Float32Array(inputs) };
    try {
      new Convolution(workspace, weight, [0]).over(new FeatureMap(workspace, 1, width, 4));
    } catch (error) {
      return error.message;
    }"""
    code = live.code(modules=["convolve"])
    assert javascript(code, body, {"inputs": inputs, "width": width}) == message


def test_what_is_compiled_is_in_step_with_its_source():
    sources = sorted(wasm.FOLDER.glob("*.c"))
    assert sources
    for source in sources:
        assert source.with_suffix(".wasm").read_bytes().endswith(wasm.source_section(source)), (
            f"{source.name} has changed: run tools/wasm.py"
        )
