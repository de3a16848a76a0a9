"""What a page gets of a trained `transformers` encoder: its sizes, its tokens, and the positions it needs.

>>> import torch
>>> state = {"position_ids": torch.arange(4), "position_embeddings.weight": torch.eye(4)}
>>> {name: tuple(tensor.shape) for name, tensor in trim_positions(state, 2).items()}
{'position_embeddings.weight': (2, 4)}
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

__all__ = ["describe_encoder", "tokens_of", "trim_positions"]


def trim_positions(state: Mapping[str, Tensor], longest: int) -> dict[str, Tensor]:
    """Return a ``state_dict`` without position ids, and with the first `longest` positions alone."""
    return {
        name: tensor[:longest] if name.endswith("position_embeddings.weight") else tensor
        for name, tensor in state.items()
        if "position_ids" not in name
    }


def tokens_of(tokenizer: Any) -> list[str]:
    """List the tokens of a tokenizer in the order of their ids."""
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def describe_encoder(config: Any, tokenizer: Any, longest: int) -> dict[str, Any]:
    """Give what ``network.js`` needs beside the weights.

    Parameters
    ----------
    config
        The configuration of a `transformers` encoder.
    tokenizer
        Its tokenizer.
    longest
        Tokens that the page reads at most.
    """
    return {
        "layers": config.num_hidden_layers,
        "heads": config.num_attention_heads,
        "eps": config.layer_norm_eps,
        "longest": longest,
        "tokens": tokens_of(tokenizer),
    }
