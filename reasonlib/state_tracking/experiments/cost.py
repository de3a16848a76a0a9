"""What one encoder run for every pair costs against one run for all pairs.

The number of pairs grows from 1 to 30. One run reads the dialogue once, with one more token a pair; one run a
pair reads it again for each. Both predict with the same weights; only forward passes are timed, on turns of
middle length. On a CPU the processor's time counts, which other programs disturb little; elsewhere the
clock's.
"""

import math
import time
from collections.abc import Callable

import torch

from reasonlib.state_tracking.data.encoding import TurnTokens, candidates_of, collate, encode
from reasonlib.state_tracking.data.simulator import simulate
from reasonlib.state_tracking.models.encoder import DSCEncoder, load_encoder
from reasonlib.tracking.experiment import Measured, Trial

__all__ = ["PAIRS_TIMED", "exponent", "run_cost"]

PAIRS_TIMED = (1, 5, 10, 20, 30)


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Fit seconds = c * size ** e by least squares on logarithms and return e.

    Examples
    --------
    >>> round(exponent((1, 10, 100), [2.0, 20.0, 200.0]), 6)
    1.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return over / sum((a - mean_x) ** 2 for a in x)


def _best(call: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    """Return the shortest of several durations in seconds, which other programs disturb least."""
    durations = []
    for _ in range(repeats):
        began = clock()
        call()
        durations.append(clock() - began)
    return min(durations)


@torch.no_grad()
def run_cost(trial: Trial) -> Measured:
    """Time one of the two designs, on the same turns for both, and fit how its time grows with the pairs."""
    settings = trial.settings
    encoder, tokenizer = load_encoder()
    dialogues = simulate(8, seed=5)
    turns = encode(dialogues, TurnTokens(tokenizer), candidates_of(dialogues))
    middle = max(0, len(turns) - settings["turns"]) // 2
    turns = sorted(turns, key=lambda turn: len(turn.tokens))[middle : middle + settings["turns"]]
    batch = collate(turns, tokenizer.pad_token_id)
    dsc = DSCEncoder(encoder, longest=max(len(turn.tokens) for turn in turns)).to(trial.device).eval()
    tokens, roles, mask = (part.to(trial.device) for part in batch[:3])

    def together(count: int) -> None:
        dsc(tokens, roles, mask, pairs=slice(0, count))

    def apart(count: int) -> None:
        for pair in range(count):
            dsc(tokens, roles, mask, pairs=slice(pair, pair + 1))

    call = together if trial.row == "one-run" else apart
    clock = time.process_time if str(trial.device).startswith("cpu") else time.perf_counter
    call(1)
    seconds = [
        _best(lambda count=count: call(count), settings["repeats"], clock)  # type: ignore[misc]
        for count in PAIRS_TIMED
    ]
    metrics = {
        f"turns_per_second.{count}": len(turns) / second
        for count, second in zip(PAIRS_TIMED, seconds, strict=True)
    }
    metrics["seconds_exponent"] = exponent(PAIRS_TIMED, seconds)
    return Measured(metrics=metrics, details={"turns": len(turns), "tokens": tokens.shape[1]})
