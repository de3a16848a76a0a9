"""Attention step by step: choose the token that asks; see scores, softmax and the mixture of values.

The encoder that is bundled with the library reads a sentence. Of one layer the figure shows what equation 1
of Vaswani et al. (2017) computes for one query: its score with every key, the softmax of the scores, and the
mixture of the values that these weights make. All heads stand side by side; a causal mask and the root in the
denominator can be switched off and on.

>>> attention()
Layer ..., head ...: “[MASK]”, token ..., attends most to ...
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasonlib.display import live, plotting
from reasonlib.errors import UserError
from reasonlib.nn import causal_mask, scaled_dot_product_attention
from reasonlib.transformer.data.pairs import pack
from reasonlib.transformer.models.pretrained import PretrainedEncoder, load_encoder, split
from reasonlib.transformer.page.live.heads import sizes

__all__ = ["SCRIPTS", "SENTENCES", "Step", "attention", "step"]

FOLDER = Path(__file__).parent
SCRIPTS = (FOLDER / "bert.js", FOLDER / "attention.js")
LONGEST = 24  # tokens: what fits on a screen

SENTENCES = (
    ("A place", "Fred went to the park. Mary is in the garden. Fred is in the _."),
    ("A pronoun", "Nora found the key. Then _ ran to the cellar."),
    ("The token before", "Julie took the cake. Julie has the cake."),
    ("Who has it", "Oscar gave the ring to Emma. _ has the ring."),
)
"""Titles and sentences that the reader can pick."""


class Step(NamedTuple):
    """What one layer's attention computes.

    Attributes
    ----------
    tokens
        T, as the encoder read them.
    scores, weights : (H, T, T)
        Of each head; row the query, column the key.
    mixtures : (T, D)
        The values of all heads, mixed and joined, before the output projection.
    """

    tokens: tuple[str, ...]
    scores: Tensor
    weights: Tensor
    mixtures: Tensor


def step(
    encoder: PretrainedEncoder, text: str, layer: int, *, masked: bool = False, scaled: bool = True
) -> Step:
    """Compute one layer's attention as the figure shows it.

    Parameters
    ----------
    encoder
        From `load_encoder`.
    text
        A sentence; ``_`` hides a word.
    layer
        Its number, from 0.
    masked
        Whether a token sees none that comes later, in this layer and in those before it.
    scaled
        Whether this layer's scores are divided by the root of a head's width.
    """
    model, pairs = encoder.model, pack([(split(text), ())], encoder.vocabulary)
    count = pairs.tokens.shape[1]
    with torch.no_grad():
        x = model.norm(model.words(pairs.tokens) + model.segments(pairs.segments) + model.positions(count))
        mask = causal_mask(count) if masked else None
        x = model.encoder(x, mask).states[layer]
        part: Any = model.encoder.layers[layer].attention
        query, keys, values = (part.split(project(x)) for project in (part.query, part.key, part.value))
        if not scaled:
            query = query * query.shape[-1] ** 0.5
        scores = query @ keys.transpose(-2, -1) / query.shape[-1] ** 0.5
        mixed, weights = scaled_dot_product_attention(query, keys, values, mask)
    tokens = encoder.vocabulary.decode(pairs.tokens[0].tolist())
    return Step(tuple(tokens), scores[0], weights[0], mixed.transpose(1, 2).flatten(2)[0])


def attention(
    encoder: PretrainedEncoder | None = None, *, sentences: Sequence[tuple[str, str]] = SENTENCES
) -> plotting.Picture:
    """Put attention into the page, computed step by step for a sentence that the reader writes.

    Parameters
    ----------
    encoder
        By default the one that is bundled with the library.
    sentences
        Titles and texts to pick.

    Raises
    ------
    ValueError
        If there is no sentence.
    UserError
        If the first sentence is too long.
    """
    encoder = load_encoder() if encoder is None else encoder
    if not sentences:
        raise ValueError("sentences must hold at least one sentence, got none")
    config = encoder.model.config
    count = len(split(sentences[0][1])) + 2
    if count > LONGEST:
        raise UserError(f"a sentence must have at most {LONGEST} tokens, got {count}")
    state = encoder.model.state_dict()
    encoder = encoder._replace(model=live.rounded(encoder.model))
    layer, head, query = _telling(encoder, sentences[0][1])
    seen = step(encoder, sentences[0][1], layer)
    words = split(sentences[0][1])
    drawing = plotting.attention_map(seen.weights[head], seen.tokens, seen.tokens)
    best = seen.weights[head, query].argsort(descending=True)[:2].tolist()
    alt = (
        f"Layer {layer + 1}, head {head + 1}: “{seen.tokens[query]}”, token {query + 1}, attends most to "
        + " and ".join(f"“{seen.tokens[key]}” ({seen.weights[head, query, key]:.2f})" for key in best)
        + "."
    )
    return live.figure(
        "attention",
        label="Attention, step by step",
        static=plotting.show(
            drawing, alt=alt, caption=f"“{' '.join(words)}”, layer {layer + 1}, head {head + 1}."
        ),
        alt=alt,
        scripts=SCRIPTS,
        styles=[FOLDER / "attention.css"],
        data={
            "sizes": sizes(encoder),
            "texts": [{"title": title, "text": text} for title, text in sentences],
            "first": {"layer": layer, "head": head, "query": query},
            "longest": LONGEST,
            "width": config.width // config.heads,
        },
        models={"encoder": live.pack_weights(state)},
        about=f"A trained encoder of {config.layers} layers with {config.heads} heads each; it has read "
        f"simulated stories and knows {len(encoder.vocabulary)} words and special tokens.",
        offer="With scripts you can write a sentence, choose the query, and switch heads and mask.",
    )


def _telling(encoder: PretrainedEncoder, text: str) -> tuple[int, int, int]:
    """Choose what to show first: in the last layer, from the hidden word, the sharpest head."""
    layer = encoder.model.config.layers - 1
    seen = step(encoder, text, layer)
    query = seen.tokens.index("[MASK]") if "[MASK]" in seen.tokens else 1
    inside = seen.weights[:, query, 1:-1]  # neither [CLS] nor [SEP]
    return layer, int(inside.amax(1).argmax()), query
