"""A training step of TwoC beside torch's and transformers' of the same size; HCE's cache beside TwC."""

import warnings

import torch
from clocks import training_step
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel

from reasonlib.context_translation.experiments.cost import document_batches, random_batch
from reasonlib.context_translation.models.cache import CachedTranslator
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.translator import Translator, translation_loss
from reasonlib.nn import decoding

ROWS, LENGTH, VOCABULARY, WIDTH, LAYERS, HEADS = 16, 25, 4000, 128, 2, 8
SIZES = {"vocabulary": VOCABULARY, "width": WIDTH, "layers": LAYERS, "heads": HEADS, "hidden": 4 * WIDTH}


class TorchTranslator(torch.nn.Module):
    """The same translator of torch's own parts: two embeddings, the target's gives the logits."""

    def __init__(self):
        super().__init__()
        self.source = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.target = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.positions = torch.nn.Parameter(torch.zeros(LENGTH, WIDTH), requires_grad=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nested tensors need norms at the end
            self.transformer = torch.nn.Transformer(
                WIDTH, HEADS, LAYERS, LAYERS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
            )

    def loss(self, batch):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=torch.bool)
        padding = batch.source == 0
        states = self.transformer(
            self.source(batch.source) + self.positions,
            self.target(batch.given) + self.positions,
            tgt_mask=mask.isinf() if mask.is_floating_point() else mask,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        logits = states @ self.target.weight.T
        return functional.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)


def marian():
    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH, max_position_embeddings=64, dropout=0.0, activation_function="relu",
        pad_token_id=0, eos_token_id=2, decoder_start_token_id=1, share_encoder_decoder_embeddings=False,
        decoder_vocab_size=VOCABULARY,
    )  # fmt: skip
    return MarianMTModel(config)


def comparisons():
    batch = random_batch(rows=ROWS, length=LENGTH, sentences=1, context_length=LENGTH, vocabulary=VOCABULARY)
    ours = Translator("no-context", SystemConfig(**SIZES, dropout=0.0))
    step = training_step(ours, lambda: translation_loss(ours, batch))
    torchs = TorchTranslator()
    name = f"training step of TwoC, {ROWS} x {LENGTH} tokens, width {WIDTH}, {LAYERS} layers"
    yield name, "torch.nn.Transformer", step, training_step(torchs, lambda: torchs.loss(batch))
    theirs = marian()
    labels = batch.target.masked_fill(batch.target == 0, -100)
    yield (
        name,
        "transformers.MarianMTModel",
        step,
        training_step(
            theirs,
            lambda: (
                theirs(
                    input_ids=batch.source,
                    attention_mask=batch.source.ne(0).long(),
                    decoder_input_ids=batch.given,
                    labels=labels,
                ).loss
            ),
        ),
    )

    hce, twc = (
        Translator(name, SystemConfig(**SIZES, dropout=0.0)).eval() for name in ("hce", "concatenation")
    )

    def translate(make, stream):
        def run():
            writer = make()
            for each in stream:
                decoding.greedy(writer, each, longest=LENGTH, end=-1)

        return run

    for documents in (1, 4, 16):
        stream = document_batches(
            documents=documents, sentences=13, length=LENGTH, context=10, vocabulary=VOCABULARY
        )
        yield (
            f"ten context sentences, {documents} documents side by side, HCE with its cache",
            "TwC",
            translate(lambda: CachedTranslator(hce), stream),
            translate(lambda: twc, stream),
        )
