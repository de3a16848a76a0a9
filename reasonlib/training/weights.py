"""Bundled weights: one safetensors file that holds a trained model and what is needed to use it.

The tensors are those of the model; the metadata holds, as JSON, the kind of model, its configuration and
whatever else a topic needs (its vocabulary, how it was trained)::

    with reading(find_weights(name, WEIGHTS, BUNDLED), kind="memory network") as bundle:
        model = MemoryNetwork(MemoryConfig(**bundle["config"]))
        bundle.fill(model)

One file and not `huggingface_hub.PyTorchModelHubMixin`'s folder: half precision keeps the bundled models
small, and the vocabulary belongs to the weights; a model and its words that lie in two files can be parted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reasonlib.errors import UserError
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata

__all__ = ["Bundle", "find_weights", "reading", "save_bundle"]

PREFIX = "reasonlib "


def save_bundle(
    path: str | Path,
    model: nn.Module | Mapping[str, Tensor],
    /,
    *,
    kind: str,
    half: bool = True,
    **contents: Any,
) -> Path:
    """Write a trained model and what is needed to use it, atomically.

    Parameters
    ----------
    path
        The file.
    model
        The model, or its ``state_dict``.
    kind
        What the file holds, in words for an error message, such as ``"memory network"``.
    half
        Store 16 bits a number.
    contents
        The configuration, the vocabulary, how the model was trained: JSON values.
    """
    return save_weights(path, model, half=half, metadata={"kind": PREFIX + kind, **contents})


@dataclass(frozen=True)
class Bundle:
    """What `save_bundle` wrote: ``bundle[name]`` gives what was saved under a name.

    Attributes
    ----------
    kind, contents
        What it holds, in words, and what was saved beside the weights.
    tensors
        The weights, in the precision they were stored in.
    """

    kind: str
    contents: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Any:
        return self.contents[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return what was saved under a name, or the default."""
        return self.contents.get(name, default)

    def fill(self, model: nn.Module) -> nn.Module:
        """Copy the weights into a model, in 32 bits, and return it in evaluation mode.

        Raises
        ------
        ValueError
            If a tensor is missing, unknown, of another shape or not finite.
        """
        try:
            model.load_state_dict({name: tensor.float() for name, tensor in self.tensors.items()})
        except RuntimeError as error:
            raise ValueError(str(error).strip().splitlines()[-1].strip()) from error
        if not all(bool(torch.isfinite(p).all()) for p in model.parameters()):
            raise ValueError("a weight is not a number")
        return model.eval()


def find_weights(name: str | Path, folder: Path, bundled: Collection[str]) -> Path:
    """Return the file of a trained model: a bundled one by its name, any other by its path.

    Parameters
    ----------
    name
        One of `bundled`, or the path of a file.
    folder
        Where the bundled files are.
    bundled
        Their names.

    Raises
    ------
    UserError
        If it is neither.
    """
    if name in bundled:
        return folder / f"{name}.safetensors"
    if not Path(name).is_file():
        raise UserError(
            f"there is no trained model {str(name)!r}; take one of {', '.join(bundled)}, or a file"
        )
    return Path(name)


@contextmanager
def reading(
    path: str | Path, *, kind: str, remedy: str = "install the library again, or give another path"
) -> Iterator[Bundle]:
    """Read a bundle; whatever goes wrong while it is used inside the block is one clear line.

    Parameters
    ----------
    path
        The file.
    kind
        What it must hold.
    remedy
        What to do where there is no such file.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"there is no {kind} at {path}; {remedy}")
    metadata = weights_metadata(path)
    if metadata.get("kind") != PREFIX + kind:
        raise UserError(f"{path}: holds no {kind}; {remedy}")
    try:
        yield Bundle(kind, {name: _parsed(text) for name, text in metadata.items()}, load_weights(path))
    except (KeyError, TypeError, ValueError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0].strip()
        raise UserError(f"{path}: a damaged {kind} ({line}); make it again or {remedy}") from error


def _parsed(text: str) -> Any:
    """Return the JSON value of a text, or the text itself: `save_weights` stores text as it is."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
