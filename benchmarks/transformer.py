"""Attention, encoder, decoding and pre-training, each beside torch's, transformers' or the obvious way.

Ours gives back every head's weights, which the chapters draw; torch's modules are asked for theirs too where
they can give them.
"""

import warnings

import torch
from clocks import training_step
from torch.nn import functional
from transformers import BertConfig as TheirConfig
from transformers import BertForPreTraining

from reasonlib import nn
from reasonlib.nn import decoding
from reasonlib.training.masked_words import UNSCORED, mask_tokens
from reasonlib.transformer.data.datasets import texts
from reasonlib.transformer.data.pairs import SPECIALS, Pairs, pack, story_vocabulary
from reasonlib.transformer.data.simulator import simulate
from reasonlib.transformer.experiments.tasks import encode
from reasonlib.transformer.models.bert import Bert, BertConfig
from reasonlib.transformer.models.translator import Translator, TranslatorConfig

BATCH, LENGTH, WIDTH, HEADS, HIDDEN, LAYERS = 32, 40, 64, 4, 256, 2


def greedy_without_cache(model, source, *, longest):
    """Greedy writing in the obvious way: at each token, the whole answer so far is read anew."""
    with torch.no_grad():
        written = torch.ones(len(source), 1, dtype=torch.long)
        for _ in range(longest):
            logits = model(source, written).logits[:, -1]
            written = torch.cat((written, logits.argmax(-1, keepdim=True)), 1)
    return written


def comparisons():
    yield from layers()
    yield pretraining()
    yield from writing()


def layers():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(BATCH, LENGTH, WIDTH, generator=generator)
    mask = nn.causal_mask(LENGTH)

    ours = nn.MultiHeadAttention(WIDTH, HEADS)
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    yield (
        f"attention and its weights, {BATCH} x {LENGTH} tokens, {HEADS} heads",
        "torch.nn.MultiheadAttention",
        lambda: ours(x, x, x, mask),
        lambda: theirs(x, x, x, attn_mask=~mask, average_attn_weights=False),
    )

    config = nn.TransformerConfig(layers=LAYERS, width=WIDTH, heads=HEADS, hidden=HIDDEN, dropout=0.0)
    stack = nn.Encoder(config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says when it cannot take its fast path
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True)
        other = torch.nn.TransformerEncoder(layer, LAYERS)
    yield (
        f"a training step of {LAYERS} encoder layers",
        "torch.nn.TransformerEncoder",
        training_step(stack, lambda: stack(x).output.square().mean()),
        training_step(other, lambda: other(x).square().mean()),
    )


def pretraining():
    generator = torch.Generator().manual_seed(0)
    words = story_vocabulary()
    stories = texts(0, stories=BATCH)
    pairs = pack([(story[0], story[1]) for story in stories], words)
    seen, labels = mask_tokens(pairs.tokens, words=len(words), first=len(SPECIALS), generator=generator)
    follows = torch.randint(2, (BATCH,), generator=generator)
    shown = Pairs(seen, pairs.segments)
    mine = Bert(BertConfig(vocabulary=len(words)))
    bert = BertForPreTraining(
        TheirConfig(
            vocab_size=len(words),
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=HIDDEN,
            max_position_embeddings=96,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )

    def our_loss():
        output = mine(shown)
        hidden = functional.cross_entropy(
            output.mlm_logits.flatten(0, 1), labels.flatten(), ignore_index=UNSCORED
        )
        return hidden + functional.cross_entropy(output.nsp_logits, follows)

    def their_loss():
        return bert(
            input_ids=seen,
            token_type_ids=pairs.segments,
            attention_mask=(seen != 0).long(),
            labels=labels,
            next_sentence_label=follows,
        ).loss

    return (
        f"a pre-training step on {BATCH} pairs, both tasks",
        "transformers' BertForPreTraining",
        training_step(mine, our_loss),
        training_step(bert, their_loss),
    )


def writing():
    writer = Translator(TranslatorConfig(vocabulary=40)).eval()
    source = encode(simulate("copy", BATCH, shortest=8, longest=8, seed=0)).ids.source
    longest = 40
    yield (
        f"write {BATCH} answers of up to {longest} tokens",
        "reading the answer anew at each token",
        lambda: decoding.greedy(writer, source, longest=longest, end=-1),
        lambda: greedy_without_cache(writer, source, longest=longest),
    )
    yield (
        f"the same with a beam of four, for {BATCH} sources at once",
        "one source after another",
        lambda: decoding.beam_search(writer, source, width=4, longest=longest),
        lambda: [decoding.beam_search(writer, row[None], width=4, longest=longest) for row in source],
    )
