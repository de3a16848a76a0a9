"""Train one system on real documents and measure it on the test parts (table 3.2).

``doc-en-de`` comes without its training part: about 13,000 sentence pairs train, against the source's
211,000 of TED talks alone. BLEU of this size is low for every system; what can be compared is their order.
The source's own corpora are read where somebody has put them on the machine.
"""

from functools import lru_cache

from reasonlib.context_translation.data.datasets import Splits, load, texts
from reasonlib.context_translation.data.encoding import SPECIALS, encode
from reasonlib.context_translation.experiments.train import Recipe, train
from reasonlib.parallel.bpe import Subwords
from reasonlib.parallel.metrics import bleu, chrf
from reasonlib.tracking.experiment import Measured, Trial
from reasonlib.tracking.trials import measured
from reasonlib.training import parameter_count
from reasonlib.training.settings import construct

__all__ = ["run_corpus"]


@lru_cache(maxsize=2)
def subwords(splits: Splits, size: int) -> Subwords:
    """Learn the pieces of the training part, once for all systems of a process."""
    return Subwords.learn(texts(splits.train), size=size, specials=SPECIALS)


def run_corpus(trial: Trial) -> Measured:
    """Train one system, and measure BLEU and chrF of its translations of the test part."""
    settings = trial.settings
    splits = load(
        trial.data, train=settings["documents"], valid=settings["valid_size"], test=settings["test_size"]
    )
    tokens = subwords(splits, settings["vocabulary"])
    recipe = construct(Recipe, settings)
    trained = train(
        recipe,
        splits,
        tokens,
        device=trial.device,
        **trial.options,
    )
    tested = encode(
        splits.test, tokens, context=recipe.context, longest=settings["longest"], whole=recipe.document
    )
    translations = trained.translate(tested, longest=settings["longest"])
    references = [pair.target for document in splits.test for pair in document.pairs]
    samples = settings["samples"]
    scores = {
        "bleu": bleu(translations, references, tokenize=settings["tokenize"], samples=samples),
        "chrf": chrf(translations, references, samples=samples),
    }
    return measured(
        trained.history,
        {name: score.score for name, score in scores.items()},
        curve=("epoch", "loss", "valid_loss"),
        details={
            "signatures": {name: score.signature for name, score in scores.items()},
            "margins": {name: score.margin for name, score in scores.items()},
            "sentences": len(references),
            "parameters": parameter_count(trained.model),
            "translations": [
                [pair.source, pair.target, translation]
                for pair, translation in zip(splits.test[0].pairs[:5], translations, strict=False)
            ],
        },
    )
