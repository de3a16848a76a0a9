"""One encoder run for all domain-slot pairs against one run a pair, as the number of pairs grows.

Both read the same turns with the same weights. The last lines fit seconds = c * pairs ** e to each: one run
reads the dialogue once and grows with its DS tokens alone, one run a pair reads it again for each.
`state_tracking/cost` measures the same for the book.
"""

import time
from statistics import median

import torch

from reasonlib.state_tracking.data.encoding import TurnTokens, candidates_of, collate, encode
from reasonlib.state_tracking.data.simulator import simulate
from reasonlib.state_tracking.experiments.cost import PAIRS_TIMED, exponent
from reasonlib.state_tracking.models.encoder import DSCEncoder, load_encoder

TURNS = 4  # of middle length


def comparisons():
    encoder, tokenizer = load_encoder()
    dialogues = simulate(4, seed=5)
    turns = encode(dialogues, TurnTokens(tokenizer), candidates_of(dialogues))
    middle = (len(turns) - TURNS) // 2
    turns = sorted(turns, key=lambda turn: len(turn.tokens))[middle : middle + TURNS]
    tokens, roles, mask = collate(turns, tokenizer.pad_token_id)[:3]
    dsc = DSCEncoder(encoder, longest=tokens.shape[1]).eval()
    seconds = {"one run": {}, "one run a pair": {}}

    def clocked(name, count, call):
        def run():
            began = time.perf_counter()
            with torch.no_grad():
                call()
            seconds[name].setdefault(count, []).append(time.perf_counter() - began)

        return run

    for count in PAIRS_TIMED:
        yield (
            f"{count} pairs of {TURNS} turns in one encoder run",
            "one run a pair",
            clocked("one run", count, lambda count=count: dsc(tokens, roles, mask, pairs=slice(0, count))),
            clocked(
                "one run a pair",
                count,
                lambda count=count: [
                    dsc(tokens, roles, mask, pairs=slice(pair, pair + 1)) for pair in range(count)
                ],
            ),
        )
    for name, measured in seconds.items():
        if len(measured) > 1:
            sizes, best = tuple(measured), [median(times) for times in measured.values()]
            speeds = ", ".join(f"{TURNS / s:,.1f}" for s in best)
            print(f"    {name}: {speeds} turns a second with {', '.join(map(str, sizes))} pairs")
            print(f"    {name}: time grows with the pairs to the power {exponent(sizes, best):.2f}")
