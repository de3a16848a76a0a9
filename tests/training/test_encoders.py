"""Encoders load from a folder or by a name; what is wrong is said in one line."""

import shutil

import pytest
import torch

from reasonlib.errors import UserError
from reasonlib.state_tracking.models.encoder import BUNDLED
from reasonlib.training.encoders import load_pretrained


def test_a_folder_near_by_is_preferred_to_the_hub(tmp_path, monkeypatch):
    shutil.copytree(BUNDLED, tmp_path / "all-nothing-L3")
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    encoder, tokenizer = load_pretrained("somebody/all-nothing-L3")
    same, words = load_pretrained(BUNDLED)
    assert len(tokenizer) == len(words)
    for name, weight in same.state_dict().items():
        torch.testing.assert_close(encoder.state_dict()[name], weight, rtol=0, atol=0)


def test_the_pooling_layer_is_left_out_unless_asked_for():
    assert load_pretrained(BUNDLED)[0].pooler is None
    assert load_pretrained(BUNDLED, pooler=True)[0].pooler is not None


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (shutil.rmtree, "there is no such folder; give a folder"),
        (lambda folder: (folder / "config.json").write_text("{"), "no encoder could be loaded"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"0" * 8), "no encoder could be loaded"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, spoil, message):
    folder = tmp_path / "encoder"
    shutil.copytree(BUNDLED, folder)
    spoil(folder)
    with pytest.raises(UserError, match=message) as caught:
        load_pretrained(folder)
    assert "\n" not in str(caught.value)
