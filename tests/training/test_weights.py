from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import reasonlib
from reasonlib.errors import UserError
from reasonlib.training.checkpoints import verify
from reasonlib.training.weights import reading, save_bundle


@pytest.fixture
def path(tmp_path):
    model = nn.Linear(3, 2)
    return save_bundle(
        tmp_path / "model.safetensors", model, kind="line", half=False, config={"width": 3}, encoding="bag"
    )


def test_a_bundle_holds_the_model_and_what_it_needs(path):
    other = nn.Linear(3, 2)
    with reading(path, kind="line") as bundle:
        assert bundle["config"] == {"width": 3} and bundle["encoding"] == "bag"
        assert bundle.get("made", {}) == {}
        bundle.fill(other)
    assert torch.equal(other.weight, bundle.tensors["weight"]) and not other.training


def test_half_precision_is_filled_in_as_float(tmp_path):
    file = save_bundle(tmp_path / "half.safetensors", nn.Linear(2, 2), kind="line")
    with reading(file, kind="line") as bundle:
        assert bundle.tensors["weight"].dtype == torch.float16
        assert bundle.fill(nn.Linear(2, 2)).weight.dtype == torch.float32


def test_whatever_is_wrong_is_one_line(path, tmp_path):
    with pytest.raises(UserError, match=r"there is no line at .*nothing; make it: x"):
        with reading(tmp_path / "nothing", kind="line", remedy="make it: x"):
            pass
    with pytest.raises(UserError, match="holds no curve; install the library again"):
        with reading(path, kind="curve"):
            pass
    with pytest.raises(UserError, match=r"a damaged line \('vocabulary'\); make it again"):
        with reading(path, kind="line") as bundle:
            bundle["vocabulary"]
    with pytest.raises(UserError, match=r"a damaged line \(size mismatch for bias"):
        with reading(path, kind="line") as bundle:
            bundle.fill(nn.Linear(3, 4))
    foreign = tmp_path / "foreign.safetensors"
    save_file({"weight": torch.zeros(1)}, foreign)
    with pytest.raises(UserError, match="holds no line"):
        with reading(foreign, kind="line"):
            pass


def test_a_weight_that_is_no_number_is_refused(tmp_path):
    model = nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.fill_(torch.nan)
    file = save_bundle(tmp_path / "nan.safetensors", model, kind="line", half=False)
    with pytest.raises(UserError, match="a damaged line \\(a weight is not a number\\)"):
        with reading(file, kind="line") as bundle:
            bundle.fill(nn.Linear(1, 1))


def test_a_listed_file_is_held_against_its_checksum(path):
    (path.parent / "SHA256SUMS").write_text(f"{'0' * 64}  {path.name}\n")
    with pytest.raises(UserError, match=r"damaged \(its checksum differs from SHA256SUMS\)"):
        with reading(path, kind="line"):
            pass
    save_bundle(path, nn.Linear(3, 2), kind="line")  # made again: the list follows
    with reading(path, kind="line") as bundle:
        assert bundle.tensors["weight"].shape == (2, 3)


def test_bundled_weights_are_listed_with_their_checksums():
    for file in Path(reasonlib.__file__).parent.glob("*/weights/**/*.safetensors"):
        sums = dict(
            reversed(line.split("  ")) for line in (file.parent / "SHA256SUMS").read_text().splitlines()
        )
        assert file.name in sums, f"{file}: `cd` there, then sha256sum *.safetensors > SHA256SUMS"
        verify(file)
