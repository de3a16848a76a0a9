"""What each system costs (table 3.4): parameters, speeds beside TwC's in one run, and how cost grows.

::

    parameters       counted at the source's sizes, on no device
    speed ratios     a training step, and greedy translation, of this system and of TwC in turn
    exponents        e of cost = a + c * n ** e, n the number, or the length, of the context sentences
    time             of the processor, which other programs on the machine disturb less
    memory           bytes that a training step keeps for its backward pass; counted, not timed

A cost ``a + b n + c n**2`` has an exponent between 1 and 2, and nears 2 where the square dominates: TwC's
does so with many context sentences, which is why they are counted up to 32. HCE has a square too, which the
source leaves out: its sentence vectors attend to one another; but they are few.

The cache spares work of the encoder. A step of the decoder costs nearly the same for one sentence as for
sixteen, so documents are translated side by side: with few of them the decoder takes most of the time.
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch

from reasonlib import training
from reasonlib.context_translation.data.encoding import CONTEXT, Batch
from reasonlib.context_translation.models.cache import CachedTranslator
from reasonlib.context_translation.models.parts import SystemConfig
from reasonlib.context_translation.models.translator import Translator, translation_loss
from reasonlib.nn import decoding
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["exponent", "growth_exponent", "random_batch", "run_cost", "saved_bytes"]

PRINTED_VOCABULARY = 16_430
"""The source's "about 16,000 tokens": 16,430 give the 61.0M parameters that it prints for TwC."""


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Fit cost = c * size ** e by least squares on logarithms and return e.

    Examples
    --------
    >>> round(exponent((4, 8, 16), [32.0, 128.0, 512.0]), 6)
    2.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return over / sum((a - mean_x) ** 2 for a in x)


def growth_exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return the exponent e of cost = a + c * size ** e, from increments, which `a` does not enter.

    0 where every size costs the same; nan where a measured increment is lost in noise.

    Parameters
    ----------
    sizes
        Each twice the one before.
    costs
        Of each size.

    Examples
    --------
    >>> round(growth_exponent((4, 8, 16, 32), [100 + 3 * size for size in (4, 8, 16, 32)]), 6)
    1.0
    >>> growth_exponent((4, 8, 16), [5, 5, 5])
    0.0
    >>> growth_exponent((4, 8, 16), [5.0, 7.0, 6.9])
    nan
    """
    increments = [after - before for before, after in pairwise(costs)]
    if not any(increments):
        return 0.0
    return exponent(sizes[1:], increments) if min(increments) > 0 else math.nan


def random_batch(
    *, rows: int, length: int, sentences: int, context_length: int, vocabulary: int, seed: int = 0
) -> Batch:
    """Draw a batch of sentences of one length, with contexts of one length."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randint(5, vocabulary, shape, generator=generator)

    context = draw(rows, sentences, context_length)
    context[:, :, 0] = CONTEXT
    return Batch(draw(rows, length), context, draw(rows, length), torch.zeros(rows, 0, dtype=torch.long))


def saved_bytes(model: Translator, batch: Batch) -> int:
    """Count the bytes, parameters apart, that a training step keeps for its backward pass."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    seen: dict[int, int] = {}
    kept: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters and storage.data_ptr() not in seen:
            seen[storage.data_ptr()] = storage.nbytes()
            kept.append(tensor)  # keep it, so that its address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        translation_loss(model, batch)
    return sum(seen.values())


def _ratio(call: Callable[[], Any], other: Callable[[], Any], repeats: int) -> float:
    """Return how many times faster `call` is than `other`: the best of several turns of each."""
    best = [math.inf, math.inf]
    for _ in range(repeats + 1):
        for number, function in enumerate((call, other)):
            began = time.process_time()
            function()
            best[number] = min(best[number], time.process_time() - began)
    return best[1] / best[0]


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    durations = []
    for _ in range(repeats + 1):
        began = time.process_time()
        call()
        durations.append(time.process_time() - began)
    return min(durations)


def _step(model: Translator, batch: Batch) -> Callable[[], None]:
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step() -> None:
        model.train()
        optimiser.zero_grad()
        translation_loss(model, batch).backward()
        optimiser.step()

    return step


def _translate(model: Any, batch: Batch, longest: int) -> Callable[[], Any]:
    def translate() -> Any:
        return decoding.greedy(model, batch, longest=longest, end=-1)  # every translation has all tokens

    return translate


@torch.no_grad()
def _growth(model: Translator, batches: Sequence[Batch], repeats: int) -> list[float]:
    model.eval()
    return [_seconds(lambda batch=batch: model.encode(batch), repeats) for batch in batches]  # type: ignore[misc]


def run_cost(trial: Trial) -> Measured:
    """Count and time one system beside TwC."""
    settings, system = trial.settings, trial.settings["system"]
    with torch.device("meta"):
        millions = (
            training.parameter_count(Translator(system, SystemConfig(vocabulary=PRINTED_VOCABULARY))) / 1e6
        )
    config = SystemConfig(
        vocabulary=settings["vocabulary"],
        width=settings["width"],
        layers=settings["layers"],
        heads=8,
        hidden=4 * settings["width"],
        dropout=0.0,
        longest=4096,
    )
    model, baseline = (Translator(name, config, seed=0) for name in (system, "concatenation"))
    shape = {"rows": settings["rows"], "length": settings["length"], "vocabulary": config.vocabulary}
    usual = random_batch(sentences=2, context_length=settings["length"], **shape)
    repeats = settings["repeats"]
    metrics = {
        "parameters_millions": millions,
        "training_speed_ratio": _ratio(_step(model, usual), _step(baseline, usual), repeats),
    }
    model.eval(), baseline.eval()
    metrics["inference_speed_ratio"] = _ratio(
        _translate(model, usual, settings["length"]), _translate(baseline, usual, settings["length"]), repeats
    )
    few = {**shape, "rows": 1}
    counts, lengths = tuple(settings["counts"]), tuple(settings["lengths"])
    by_count = [random_batch(sentences=n, context_length=settings["length"], **few) for n in counts]
    by_length = [random_batch(sentences=4, context_length=n, **few) for n in lengths]
    seconds = {"sentences": _growth(model, by_count, repeats), "length": _growth(model, by_length, repeats)}
    model.train()
    memory = {
        "sentences": [saved_bytes(model, batch) for batch in by_count],
        "length": [saved_bytes(model, batch) for batch in by_length],
    }
    for name, sizes in (("sentences", counts), ("length", lengths)):
        metrics[f"seconds_exponent.{name}"] = growth_exponent(sizes, seconds[name])
        metrics[f"memory_exponent.{name}"] = growth_exponent(sizes, memory[name])
    if system in ("hce", "hmce"):
        metrics |= _cache_ratios(model.eval(), baseline, settings)
    details = {"counts": counts, "lengths": lengths, "seconds": seconds, "bytes": memory}
    return Measured(metrics=metrics, details=details)


def document_batches(
    *, documents: int, sentences: int, length: int, context: int, vocabulary: int
) -> list[Batch]:
    """Draw documents and return them as batches: a sentence of each, then the next of each, and so on."""
    generator = torch.Generator().manual_seed(1)
    words = torch.randint(5, vocabulary, (documents, sentences, length), generator=generator)
    marked = torch.cat((torch.full((documents, sentences, 1), CONTEXT), words), 2)
    result = []
    for number in range(context, sentences):
        before = marked[:, number - context : number].flip(1)  # nearest first
        none = torch.zeros(documents, 0, dtype=torch.long)
        result.append(Batch(words[:, number], before, words[:, number], none))
    return result


def _cache_ratios(model: Translator, baseline: Translator, settings: Any) -> dict[str, float]:
    """Time documents, side by side, at ten context sentences: with the cache, without it, and TwC."""
    stream = document_batches(
        documents=settings.get("side_by_side", settings["rows"]),
        sentences=10 + settings["streamed"],
        length=settings["length"],
        context=10,
        vocabulary=settings["vocabulary"],
    )

    def all_of(make: Callable[[], Any], longest: int) -> Callable[[], None]:
        def run() -> None:
            writer = make()
            for batch in stream:
                if longest:
                    decoding.greedy(writer, batch, longest=longest, end=-1)
                else:
                    with torch.no_grad():
                        writer.encode(batch)

        return run

    longest, repeats = settings["length"], settings["repeats"]

    def cached() -> CachedTranslator:
        return CachedTranslator(model)

    return {
        "cached_speed_ratio": _ratio(all_of(cached, longest), all_of(lambda: baseline, longest), repeats),
        "uncached_speed_ratio": _ratio(
            all_of(lambda: model, longest), all_of(lambda: baseline, longest), repeats
        ),
        "cached_encoding_speed_ratio": _ratio(all_of(cached, 0), all_of(lambda: baseline, 0), repeats),
    }
