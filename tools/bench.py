"""Speeds as ratios, side by side in one run: ours against another way of doing the same.

Every file in benchmarks/ has a function ``comparisons()`` that yields tuples
``(what, other, ours, theirs)``: what is done, the name of the other way, and two functions without arguments.
The two are called in turn, so that whatever else the machine does touches both; the medians are compared.
No test depends on these numbers.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent


def timed(call: Callable[[], object]) -> float:
    """Seconds one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], budget: float
) -> tuple[float, float, int]:
    """Median seconds of each, and how many rounds fitted into the budget."""
    ours(), theirs()  # the first call of each warms caches and is not counted
    a: list[float] = []
    b: list[float] = []
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(a) < 3:
        a.append(timed(ours))
        b.append(timed(theirs))
    return median(a), median(b), len(a)


def shown(seconds: float) -> str:
    """A duration with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:7.3g} {unit:<2}"
    return f"{seconds / 1e-6:7.3g} µs"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="only benchmarks whose file or line has one of these words")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each comparison (default 3)")
    given = parser.parse_args()
    files = sorted((ROOT / "benchmarks").glob("*.py"))
    print(f"{'what':<52} {'ours':>10}  {'other':>10}  ratio")
    for path in files:
        spec = importlib.util.spec_from_file_location(f"benchmarks_{path.stem}", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for label, other, ours, reference in module.comparisons():
            if given.words and not any(word in f"{path.stem} {label}" for word in given.words):
                continue
            a, b, rounds = compare(ours, reference, given.seconds)
            print(
                f"{label:<52} {shown(a)}  {shown(b)}  {b / a:5.2f} x the speed of {other} ({rounds} rounds)",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
