"""The bundled translator: what it does, what it refuses, and that a file gives the same model again."""

import pytest
import torch

from reasonlib.context_translation.data.datasets import texts
from reasonlib.context_translation.data.encoding import Words
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.pretrained import WEIGHTS, from_pretrained, save_translator
from reasonlib.context_translation.models.translator import Translator
from reasonlib.errors import UserError
from reasonlib.parallel import contexts, simulate
from reasonlib.parallel.metrics import sentence_accuracy


def cases(documents):
    """Helpful sentences with the two sentences before them."""
    return [
        (pair, before)
        for document in documents
        for pair, before in zip(document.pairs, contexts(document, 2), strict=True)
        if pair.helpful
    ]


def test_the_bundled_translator_needs_its_context():
    translator, helpful = from_pretrained("hce"), cases(simulate(12, seed=99))
    references = [pair.target for pair, _ in helpful]
    own = [translator.translate(pair.source, before).text for pair, before in helpful]
    none = [translator.translate(pair.source).text for pair, _ in helpful]
    assert sentence_accuracy(own, references) > 0.75 > 0.6 > sentence_accuracy(none, references)


def test_a_translation_says_where_the_model_looked():
    made = from_pretrained("hce").translate("it was old .", ["snow fell outside .", "tom found the lamp ."])
    assert made.source == ("it", "was", "old", ".")
    assert made.context[1] == ("<context>", "tom", "found", "the", "lamp", ".")
    assert made.words.shape == (4, 2, 6) and made.gate.shape == (4,)
    torch.testing.assert_close(made.words.sum((1, 2)), torch.ones(4))


def test_what_it_refuses():
    translator = from_pretrained("hce")
    with pytest.raises(UserError, match="the word 'zebra' is not in the vocabulary"):
        translator.translate("the zebra was old .")
    for words, count in (("", 0), ("old " * 1024, 1024)):
        with pytest.raises(UserError, match=f"a sentence must hold 1 to 1023 words, got {count}"):
            translator.translate("it was old .", [words])
    with pytest.raises(UserError, match="the context must be a list of sentences, got one text"):
        translator.translate("it was old .", "tom found the lamp .")
    with pytest.raises(UserError, match="the context must have at most 1023 sentences, got 1024"):
        translator.translate("it was old .", ["tom found the lamp ."] * 1024)
    with pytest.raises(UserError, match="there is no trained model 'dat'; take one of hce, or a file"):
        from_pretrained("dat")


def test_the_file_is_small_enough_for_a_page():
    assert (WEIGHTS / "hce.safetensors").stat().st_size < 1_000_000


@pytest.mark.parametrize("system", ["hce", "concatenation"])
def test_a_saved_translator_is_the_same_again(system, tmp_path):
    tokens = Words.of(texts(simulate(5, seed=1)))
    config = SystemConfig(vocabulary=len(tokens), width=8, layers=1, heads=2, hidden=8, dropout=0.0)
    model = Translator(system, config, seed=3).eval()
    save_translator(model, tokens, {"seed": 3}, tmp_path / "model.safetensors")
    again = from_pretrained(tmp_path / "model.safetensors")
    assert again.tokens.vocabulary == tokens.vocabulary and again.made["seed"] == 3
    assert again.model.settings == model.settings
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], tensor.half().float())


def test_a_damaged_file(tmp_path):
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(UserError):
        from_pretrained(tmp_path / "bad.safetensors")
