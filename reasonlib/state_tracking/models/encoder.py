r"""Any pre-trained encoder with tokens for domains and slots before the dialogue (source, section 4.2.1).

::

    DS-merge   DS_1 ... DS_30        [CLS] X [SEP]      one token for each pair
    DS-split   D_1 ... D_5 S_1..S_17 [CLS] X [SEP]      one for each domain, one for each slot
    none                             [CLS] X [SEP]      ablation of table 4.2
    positions  -       -               0   1 ...        none on DS tokens: their order means nothing
    types      d (merge), d and s      -   s,u          own embeddings; none on [CLS]

Every token is a sum of a word, a position and a type embedding. Words and positions come from the pre-trained
encoder. Its position table grows with new rows where dialogues are longer than it, and the old rows stay. One
further row of zeros is the "position" of the DS tokens, so that the encoder's own code needs no change.

Axes: B turns, T tokens of the dialogue, N DS tokens, L layers, H heads, D width, E width of the embeddings.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reasonlib import training
from reasonlib.arguments import check_choice
from reasonlib.errors import UserError
from reasonlib.state_tracking.data.example import Dialogue
from reasonlib.state_tracking.data.ontology import DOMAINS, PAIRS, SLOTS, domain_of, slot_of
from reasonlib.training.encoders import EncoderConfig, load_pretrained, small_encoder
from reasonlib.training.masked_words import SPECIALS
from reasonlib.training.word_pieces import word_pieces

__all__ = ["LAYOUTS", "DSCEncoder", "Encoded", "ds_mask", "load_encoder", "new_encoder"]

LAYOUTS = ("merge", "split", "none")
BUNDLED = Path(__file__).parent.parent / "weights" / "encoder"


def load_encoder(name: str | Path | None = None, *, seed: int = 0) -> tuple[Any, Any]:
    """Load an encoder and its tokenizer, and teach both the token ``[SEPU]``.

    Parameters
    ----------
    name
        A name on the Hugging Face hub (``albert-large-v2``, ``roberta-large``), or a folder, see
        `load_pretrained`; None for the small one that is bundled with the library.
    seed
        Draws the embedding of ``[SEPU]`` where the encoder has none.
    """
    encoder, tokenizer = load_pretrained(BUNDLED if name is None else name)
    if tokenizer.convert_tokens_to_ids(SPECIALS[5]) in (None, tokenizer.unk_token_id):
        tokenizer.add_special_tokens({"additional_special_tokens": [SPECIALS[5]]})
    if len(tokenizer) > encoder.get_input_embeddings().num_embeddings:
        with training.seeded(seed):
            encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    return encoder, tokenizer


def new_encoder(dialogues: Iterable[Dialogue], pieces: int, *, seed: int) -> tuple[Any, Any]:
    """Make a small encoder with random weights whose tokenizer is learned from dialogues.

    The bundled encoder knows the words of the simulator alone; of real dialogues it reads most names, places
    and times as unknown.

    Parameters
    ----------
    dialogues
        Of the training part.
    pieces
        Words and pieces of words at most, special tokens included.
    seed
        Draws the weights.
    """
    texts = (text for dialogue in dialogues for turn in dialogue.turns for text in (turn.system, turn.user))
    tokenizer = word_pieces(texts, pieces, punctuation=False)
    return small_encoder(EncoderConfig(), len(tokenizer), seed=seed), tokenizer


def ds_mask(mask: Bool[Tensor, "B T"], tokens: int, *, blocked: bool = False) -> Float[Tensor, "B 1 S S"]:
    """Make the additive attention mask of DS tokens followed by a dialogue.

    Parameters
    ----------
    mask
        True where the dialogue has a token.
    tokens
        N, how many DS tokens come first.
    blocked
        Whether a DS token may look at no other DS token (source, section 4.3.4). It still sees itself and the
        dialogue, and the dialogue still sees it.

    Returns
    -------
    Tensor
        0 where a query (axis 2) may attend to a key (axis 3), else the most negative number; S = N + T.
    """
    ahead = torch.ones(len(mask), tokens, dtype=torch.bool, device=mask.device)
    # excerpt: mask
    keys = torch.cat([ahead, mask], 1)[:, None, None, :]  # (B, 1, 1, S)
    size = keys.shape[-1]
    allowed = keys.expand(-1, 1, size, -1)  # every query may attend to every token
    if blocked and tokens:
        apart = torch.ones(size, size, dtype=torch.bool)
        # a slot attends to no other slot
        apart[:tokens, :tokens] = torch.eye(tokens, dtype=torch.bool)
        allowed = allowed & apart.to(mask.device)
    # end excerpt
    return torch.where(allowed, 0.0, torch.finfo(torch.float32).min)


class Encoded(NamedTuple):
    """What the encoder gives.

    Attributes
    ----------
    pairs : (B, P, d)
        One vector for each pair: its DS token (merge), domain and slot token side by side (split, d = 2D), or
        nothing (none, d = 0).
    cls : (B, D)
        The vector of ``[CLS]``.
    context : (B, T, D)
        The vectors of the dialogue, ``[CLS]`` first.
    attention : (L, B, H, S, S) or None
        Weights, where they were asked for.
    """

    pairs: Float[Tensor, "B P d"]
    cls: Float[Tensor, "B D"]
    context: Float[Tensor, "B T D"]
    attention: Float[Tensor, "L B H S S"] | None


class DSCEncoder(nn.Module):
    r"""The domain-slot-context encoder.

    .. math:: \widehat{DS}_{(1,1)}, \dots, \widehat{DS}_{(n,m)}, \widehat{CLS} =
              \mathrm{DSCencoder}([\{DS\}, CLS, X^t, SEP])

    which is the source's equation 4.5 (merge) and, with :math:`\widehat{D}, \widehat{S}`, its equation 4.6
    (split).

    Parameters
    ----------
    encoder
        A `transformers` encoder with absolute positions (BERT, ALBERT, RoBERTa, MiniLM).
    layout
        One of `LAYOUTS`.
    blocked
        Whether DS tokens are kept from attending to one another.
    longest
        Tokens of the longest dialogue; the position table grows to it.
    seed
        Draws the new embeddings.

    Raises
    ------
    ValueError
        If there is no such layout.
    UserError
        If the encoder has no table of absolute positions.
    """

    _rows: Tensor
    _kinds: Tensor

    def __init__(
        self, encoder: Any, *, layout: str = "merge", blocked: bool = False, longest: int = 512, seed: int = 0
    ) -> None:
        super().__init__()
        check_choice("layout", layout, LAYOUTS)
        self.encoder: Any = encoder
        self.layout, self.blocked = layout, blocked
        words = encoder.get_input_embeddings()
        draw = torch.Generator().manual_seed(seed)
        self.tokens = {"merge": len(PAIRS), "split": len(DOMAINS) + len(SLOTS), "none": 0}[layout]
        # as large as the words, so that the layer norm after them does not make all DS tokens alike
        spread = words.weight.detach().std().item()
        self.ds = nn.Parameter(spread * torch.randn(self.tokens, words.embedding_dim, generator=draw))
        self.types = nn.Parameter(0.02 * torch.randn(4, words.embedding_dim, generator=draw))
        self.first, self.nowhere = _grow_positions(encoder, longest, draw)
        domain = [DOMAINS.index(domain_of(pair)) for pair in PAIRS]
        slot = [len(DOMAINS) + SLOTS.index(slot_of(pair)) for pair in PAIRS]
        self.register_buffer("_rows", torch.tensor([domain, slot]), persistent=False)
        kind = [2] * self.tokens if layout != "split" else [2] * len(DOMAINS) + [3] * len(SLOTS)
        self.register_buffer("_kinds", torch.tensor(kind, dtype=torch.long), persistent=False)

    @property
    def width(self) -> int:
        """Width of a pair's vector: D, 2D or 0."""
        return self.encoder.config.hidden_size * {"merge": 1, "split": 2, "none": 0}[self.layout]

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        roles: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"],
        *,
        pairs: slice | None = None,
        attention: bool = False,
    ) -> Encoded:
        """Encode B dialogues after all DS tokens, or after those of `pairs`."""
        # excerpt: inputs
        # DS tokens and their types
        ahead = (self.ds + self.types[self._kinds])[pairs or slice(None)]
        count = len(ahead)
        # words and their types: none, system, user
        words = self.encoder.get_input_embeddings()(tokens)
        types = torch.cat([torch.zeros_like(self.types[:1]), self.types[:2]])[roles]
        inputs = torch.cat(  # (B, N + T, E)
            [ahead.expand(len(tokens), -1, -1), words + types],
            1,
        )
        indices = torch.arange(tokens.shape[1], device=tokens.device) + self.first
        # all DS tokens share one "position", a row of zeros
        positions = torch.cat([indices.new_full((count,), self.nowhere), indices])
        # end excerpt
        output = self.encoder(
            inputs_embeds=inputs,
            attention_mask=ds_mask(mask, count, blocked=self.blocked),
            position_ids=positions[None].expand(len(tokens), -1),
            token_type_ids=torch.zeros(inputs.shape[:2], dtype=torch.long, device=tokens.device),
            output_attentions=attention,
        )
        states = output.last_hidden_state
        return Encoded(
            pairs=self._pairs(states[:, :count]),
            cls=states[:, count],
            context=states[:, count:],
            attention=torch.stack(output.attentions) if attention else None,
        )

    def _pairs(self, states: Float[Tensor, "B N D"]) -> Float[Tensor, "B P d"]:
        if self.layout == "split":
            return torch.cat([states[:, self._rows[0]], states[:, self._rows[1]]], 2)
        if self.layout == "none":
            return states.new_zeros(len(states), len(PAIRS), 0)
        return states


def _grow_positions(encoder: Any, longest: int, draw: torch.Generator) -> tuple[int, int]:
    """Grow the position table to `longest` rows and one of zeros; return the first row and the zero row."""
    embeddings: Any = getattr(encoder, "embeddings", None)
    table = getattr(embeddings, "position_embeddings", None)
    if not isinstance(table, nn.Embedding):
        raise UserError(f"the encoder needs absolute positions; {type(encoder).__name__} has none")
    first = 0 if table.padding_idx is None else table.padding_idx + 1  # RoBERTa counts from 2
    old = table.weight.detach()
    rows = max(longest + first, len(old))
    grown = nn.Embedding(rows + 1, old.shape[1], padding_idx=rows)
    with torch.no_grad():
        grown.weight.copy_(0.02 * torch.randn(grown.weight.shape, generator=draw))
        grown.weight[: len(old)] = old
        grown.weight[rows] = 0.0
    embeddings.position_embeddings = grown
    return first, rows
