"""What each head of a trained model does: watched, dropped or switched off, in any Transformer.

Attention ends in a linear map whose input is the joined heads. A hook there sees what each head gives, and
can change it, in the attention of `reasonlib.nn` and in most encoders of ``transformers``: not in XLNet and
SqueezeBERT, which have no such module, nor in ConvBERT, which joins heads and convolutions.

Axes: B sequences, T tokens, H heads, C width of a head.

::

    heads (B, H, T, C) --> join --> (B, T, H * C) --[hook]--> output projection
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from reasonlib.nn import MultiHeadAttention

__all__ = [
    "AttentionSite",
    "Projected",
    "attention_sites",
    "change_heads",
    "hook_heads",
    "record_heads",
    "record_projections",
    "switch_off",
]

_FORMS = (  # where a module keeps its number of heads, and its output projection
    ("heads", "output"),  # reasonlib.nn
    ("self.num_attention_heads", "output.dense"),  # BERT, RoBERTa, ELECTRA
    ("self.num_heads", "output.dense"),  # Longformer
    ("config.num_attention_heads", "o_proj"),  # ViT, DINOv2
    ("attn.config.num_attention_heads", "attn.Wo"),  # ModernBERT
    ("config.n_head", "post_proj"),  # Funnel
    ("attention.num_attention_heads", "output.dense"),  # ViT, in older releases
    ("num_attention_heads", "dense"),  # ALBERT
    ("num_attention_heads", "o"),  # MPNet
    ("n_heads", "out_lin"),  # DistilBERT, XLM
    ("n_heads", "o"),  # T5
    ("num_heads", "out_proj"),  # BART, CLIP
    ("num_heads", "c_proj"),  # GPT-2
)


class AttentionSite(NamedTuple):
    """One multi-head attention of a model.

    Attributes
    ----------
    name
        Of the module, such as ``encoder.layers.0.attention``.
    heads
        H.
    output
        The linear map that joins the heads.
    """

    name: str
    heads: int
    output: nn.Module


class Projected(NamedTuple):
    """Queries (B, H, Tq, C), keys and values (B, H, Tk, C) of one attention."""

    queries: Float[Tensor, "B H Tq C"]
    keys: Float[Tensor, "B H Tk C"]
    values: Float[Tensor, "B H Tk C"]


def attention_sites(model: nn.Module) -> list[AttentionSite]:
    """Find every multi-head attention of a model, in the order of its modules.

    Raises
    ------
    ValueError
        If there is none of a known form.
    """
    sites = []
    for name, module in model.named_modules():
        if _attribute(module, "self.conv_out_layer") is not None:  # ConvBERT
            continue
        for heads_path, output_path in _FORMS:
            heads, output = _attribute(module, heads_path), _attribute(module, output_path)
            if isinstance(heads, int) and isinstance(output, nn.Module) and hasattr(output, "weight"):
                sites.append(AttentionSite(name, heads, output))
                break
    if not sites:
        raise ValueError(f"{type(model).__name__} has no multi-head attention of a known form")
    return sites


@contextmanager
def change_heads(
    model: nn.Module, change: Callable[[AttentionSite, Tensor], Tensor | None]
) -> Iterator[list[AttentionSite]]:
    """Call ``change(site, heads)`` wherever heads are joined, for the length of the block.

    Parameters
    ----------
    model
        With attention of a known form.
    change
        Is given the heads (B, H, T, C) and returns what takes their place, or None to leave them.
    """
    sites = attention_sites(model)
    with ExitStack() as stack:
        for site in sites:
            stack.callback(hook_heads(site, change).remove)
        yield sites


def hook_heads(site: AttentionSite, change: Callable[[AttentionSite, Tensor], Tensor | None]) -> Any:
    """Call ``change(site, heads)`` where the heads of one attention are joined; returns the hook's handle.

    Of several hooks the newest comes first, so that what is recorded is what heads gave before Drophead.
    """

    # excerpt: hook
    def before(
        _: nn.Module,
        inputs: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...] | None:
        # (B, T, H * C) -> (B, H, T, C)
        heads = inputs[0].unflatten(-1, (site.heads, -1)).transpose(-3, -2)
        changed = change(site, heads)
        return (
            None
            if changed is None
            else (
                changed.transpose(-3, -2).flatten(-2),
                *inputs[1:],
            )
        )

    return site.output.register_forward_pre_hook(before, prepend=True)
    # end excerpt


@contextmanager
def record_heads(model: nn.Module) -> Iterator[dict[str, Float[Tensor, "B H T C"]]]:
    """Keep what each head gives in the block's forward pass, by the name of its attention.

    Notes
    -----
    An attention that is called again is kept again, as ``NAME, call 2``; so are the layers of ALBERT, which
    share one.

    Examples
    --------
    >>> import torch
    >>> from reasonlib.nn import Encoder, TransformerConfig
    >>> encoder = Encoder(TransformerConfig(layers=1, width=8, heads=2, hidden=8))
    >>> with record_heads(encoder) as heads:
    ...     _ = encoder(torch.zeros(3, 5, 8))
    >>> {name: tuple(tensor.shape) for name, tensor in heads.items()}
    {'layers.0.attention': (3, 2, 5, 4)}
    """
    kept: dict[str, Tensor] = {}
    calls: Counter[str] = Counter()

    def keep(site: AttentionSite, heads: Tensor) -> None:
        calls[site.name] += 1
        number = calls[site.name]
        kept[site.name if number == 1 else f"{site.name}, call {number}"] = heads

    with change_heads(model, keep):
        yield kept


@contextmanager
def record_projections(model: nn.Module) -> Iterator[dict[str, Projected]]:
    """Keep queries, keys and values of every attention of `reasonlib.nn` in the block's forward pass."""
    kept: dict[str, Projected] = {}
    parts: dict[tuple[str, str], Tensor] = {}

    def keep(name: str, part: str, attention: MultiHeadAttention) -> Callable[..., None]:
        def after(_: nn.Module, __: Any, output: Tensor) -> None:
            parts[name, part] = attention.split(output)
            if all((name, other) in parts for other in ("query", "key", "value")):
                kept[name] = Projected(*(parts[name, other] for other in ("query", "key", "value")))

        return after

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                for part in ("query", "key", "value"):
                    layer: nn.Module = getattr(module, part)
                    stack.callback(layer.register_forward_hook(keep(name, part, module)).remove)
        yield kept


@contextmanager
def switch_off(model: nn.Module, heads: Mapping[str, list[int]]) -> Iterator[None]:
    """Set the output of some heads to zero for the length of the block, as pruning them would.

    Parameters
    ----------
    model
        With attention of a known form.
    heads
        Name of an attention to numbers of its heads.

    Raises
    ------
    ValueError
        If there is no such attention or head.
    """
    counts = {site.name: site.heads for site in attention_sites(model)}
    for name, numbers in heads.items():
        if name not in counts or not all(0 <= number < counts[name] for number in numbers):
            raise ValueError(f"there is no attention {name!r} with the heads {numbers}; there are: {counts}")

    def zero(site: AttentionSite, outputs: Tensor) -> Tensor | None:
        if not heads.get(site.name):
            return None
        gate = outputs.new_ones(site.heads, 1, 1)
        gate[heads[site.name]] = 0.0
        return outputs * gate

    with change_heads(model, zero):
        yield


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name, None)
    return module
