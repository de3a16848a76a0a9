"""Did a change of code change a number? Train both at smoke, and compare every metric bit for bit.

    python tools/same_bits.py [--before COMMIT] [--experiment NAME ...] [--all-rows] [--but ROW ...]
                               [--jobs N] [--why]

A record keeps a fingerprint of all code that its number depends on, so whatever touches that code makes it
stale. Where the code was only rewritten (an argument renamed, a function split), this shows it and says so:

1. The fingerprint of each experiment's run function is worked out at COMMIT (the last commit that changed
   `records/equivalent.jsonl`, if none is named) and in the present tree. Equal fingerprints need no run, and
   neither do those that are known to give the same bits. `--why` lists the definitions that differ, and runs
   nothing.
2. Otherwise the experiment is run in both, with its smoke settings at COMMIT, from seeds 0 and 1: enough rows
   that each setting with words in it is tried in each of its values (`--all-rows`: all), and one of them on
   each other data set that is on this machine (`REASONLIB_DATA`). Names that changed since are looked up in
   `records/renames.yaml`. Times are not compared, nor any number that the present tree does not give twice
   the same.
3. Where all the rest is equal, a line with the evidence is appended to `records/equivalent.jsonl`: records
   made by the code of then count as made by the code of now. Commit that file.

An experiment whose metrics differ is reported with the first of them, and the command fails; its records are
stale: measure them again (`reasonlib run`), or find what changed. If some rows were meant to change, name
them behind `--but`: they are not compared, and their records stay stale until they are measured again.

What was run is kept in `_run/same_bits`, so that a command that was stopped goes on when started again.
`--jobs` is the number of experiments at a time; each takes two processes of one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from trees import KEPT, ROOT, SameBitsError, Tree, git, tree_at

SEEDS = (0, 1)
TIMES = re.compile(r"(^|[._])(\w*per_second|\w*seconds|\w*in_time)($|[._])")

BEFORE_THE_MOVE = tuple(
    f"reasonlib.{module}"
    for module in (
        "experiment", "records", "campaign", "claims", "plotting", "results", "findings", "scoreboard",
        "show", "check", "grading", "cli",
    )
)  # fmt: skip
"""What lay around a run before it moved into `reasonlib.tracking`, `display` and `grading`."""


# Comparing --------------------------------------------------------------------------------------------------


@dataclass
class Pair:
    """One experiment in both trees.

    Attributes
    ----------
    before, after
        Its fingerprints; `own` is the one that the tree of then gave itself, where it could.
    rows
        Today's name of each row that both have, to the name it had.
    settings
        The smoke settings that a row had, by today's names.
    changed
        Rows whose smoke settings are others today.
    data
        Today's name of each data set that both have, to the name it had.
    """

    name: str
    old_name: str
    before: str
    after: str
    own: str | None
    rows: dict[str, str]
    settings: dict[str, dict[str, Any]]
    changed: set[str]
    data: dict[str, str]


def pairs(before: Tree, after: Tree, closures: tuple[Any, Any], names: list[str]) -> Iterator[Pair]:
    """Match the experiments of two trees by the names they have today."""
    from reasonlib.tracking.renames import load

    renames = load(ROOT / "records")
    old = {renames.experiment(name): (name, experiment) for name, experiment in before.experiments.items()}
    unknown = [name for name in names if name not in after.experiments]
    if unknown:
        raise SameBitsError(f"there is no experiment {', '.join(unknown)}; see: reasonlib list")
    for name, now in after.experiments.items():
        if name not in old or (names and name not in names):
            continue
        old_name, then = old[name]
        rows: dict[str, str] = {}
        settings: dict[str, dict[str, Any]] = {}
        data: dict[str, str] = {}
        for row, config in then["rows"].items():
            for kept, kind in then["data"].items():
                record = renames.apply(
                    {
                        "experiment": old_name, "scale": "smoke", "row": row, "config": config, "metrics": {},
                        "data": {"name": kept, "kind": kind},
                    }
                )  # fmt: skip
                data[record["data"]["name"]] = kept
            rows[record["row"]] = row
            settings[record["row"]] = record["config"]
        yield Pair(
            name=name,
            old_name=old_name,
            before=closures[0].hash(then["run"])[:16],
            after=closures[1].hash(now["run"])[:16],
            own=then["fingerprint"],
            rows={row: rows[row] for row in now["rows"] if row in rows},
            settings=settings,
            changed={row for row in now["rows"] if row in rows and now["rows"][row] != settings[row]},
            data={data_name: data[data_name] for data_name in now["data"] if data_name in data},
        )


def chosen(pair: Pair, *, all_rows: bool, but: Container[str] = ()) -> list[tuple[str, str]]:
    """Choose rows and data: each setting, and each word, truth or nothing it can be, at least once."""
    shapes = {row: set(_shape(pair.settings[row])) for row in pair.rows if row not in but}
    if not shapes or not pair.data:
        return []
    first, *others = pair.data
    if all_rows:
        return [(row, data) for data in pair.data for row in shapes]
    rows: list[str] = []
    left = set().union(*shapes.values())
    while left or not rows:
        row = max(shapes, key=lambda name: len(shapes[name] & left))
        rows.append(row)
        left -= shapes.pop(row)
    return [*((row, first) for row in rows), *((rows[0], data) for data in others)]


def _shape(settings: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            yield from _shape(value, f"{path}.{key}")
    elif isinstance(settings, list):
        yield path, len(settings) > 0
        for value in settings:
            yield from _shape(value, path)
    else:
        yield path, settings if isinstance(settings, str | bool | None) else "number"


@dataclass
class Finding:
    """What the runs of one experiment showed."""

    compared: set[str] = field(default_factory=set)
    times: set[str] = field(default_factory=set)
    unsteady: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    new: set[str] = field(default_factory=set)
    different: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)  # data that cannot be had here, and why
    trials: list[str] = field(default_factory=list)


def compare(pair: Pair, before: Tree, after: Tree, *, all_rows: bool, but: Container[str] = ()) -> Finding:
    """Run an experiment in both trees and compare the metrics of all rows `but` some."""
    from reasonlib.tracking.renames import load

    renames = load(ROOT / "records")
    finding = Finding()
    for row, data in chosen(pair, all_rows=all_rows, but=but):
        for seed in SEEDS:
            if data in finding.absent:
                break
            request = {
                "experiment": pair.old_name,
                "row": pair.rows[row],
                "data": pair.data[data],
                "seed": seed,
            }
            then = kept(before, pair.before, request)
            request_now = {"experiment": pair.name, "row": row, "data": data, "seed": seed}
            if row in pair.changed:
                request_now["settings"] = pair.settings[row]
            now = kept(after, pair.after, request_now)
            trial = f"{row} on {data}, seed {seed}"
            if "error" in then or "error" in now:
                if then.get("error", "").startswith("DataError") and "error" in now:
                    finding.absent[data] = then["error"]
                elif then.get("error", "").startswith(("UserError", "OSError")) and then == now:
                    break  # such as a row that downloads weights: the trials that ran are the evidence
                else:
                    finding.different.append(f"{trial}: {then.get('error')} | {now.get('error')}")
                continue
            old = renames.apply(
                {
                    "experiment": pair.old_name, "row": row, "scale": "smoke", "config": {},
                    "metrics": then["metrics"], "data": {"name": data, "kind": ""},
                }
            )["metrics"]  # fmt: skip
            new = now["metrics"]
            finding.gone |= {*old} - {*new}
            finding.new |= {*new} - {*old}
            finding.trials.append(trial)
            unequal = [name for name in old if name in new and repr(old[name]) != repr(new[name])]
            finding.times |= {name for name in unequal if TIMES.search(name)}
            unequal = [name for name in unequal if not TIMES.search(name)]
            if unequal:
                unsteady = unrepeated(after, pair.after, request_now)
                finding.unsteady |= unsteady
                finding.different += [
                    f"{trial}: {name} was {old[name]!r}, is {new[name]!r}"
                    for name in unequal
                    if name not in unsteady
                ]
            finding.compared |= {*old} & {*new}
    finding.compared -= finding.times | finding.unsteady
    return finding


def kept(tree: Tree, fingerprint: str, request: dict[str, Any], *, repeat: bool = False) -> dict[str, Any]:
    """Run a trial, or take what it gave when it was run before by the same code."""
    topic = request["experiment"].partition("/")[0]
    facts = json.dumps(
        [fingerprint, tree.beside_code(topic), request, "again" if repeat else ""], sort_keys=True
    )
    file = KEPT / "trials" / topic / f"{hashlib.sha256(facts.encode()).hexdigest()[:24]}.json"
    if file.is_file():
        return json.loads(file.read_text())
    answer = tree.ask(**request)
    if "error" not in answer:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(answer))
        os.replace(temporary, file)
    return answer


def unrepeated(tree: Tree, fingerprint: str, request: dict[str, Any]) -> set[str]:
    """Return the metrics that a trial does not give twice the same."""
    first, second = (kept(tree, fingerprint, request, repeat=repeat)["metrics"] for repeat in (False, True))
    return {name for name in first if repr(first[name]) != repr(second.get(name))}


# The command ------------------------------------------------------------------------------------------------


def evidence(pair: Pair, finding: Finding, before: Tree) -> str:
    """Say in one line what was compared."""
    parts = [
        f"smoke, seeds {' and '.join(map(str, SEEDS))}",
        f"{len(finding.trials)} trials ({'; '.join(sorted({t.rpartition(',')[0] for t in finding.trials}))})",
        f"{len(finding.compared)} metrics equal bit for bit at {before.name} and after",
    ]
    for label, names in (
        ("times, not compared", finding.times),
        ("not the same twice, not compared", finding.unsteady),
        ("metrics no longer measured", finding.gone),
        ("metrics measured since", finding.new),
        ("data that was not here", set(finding.absent)),
    ):
        if names:
            parts.append(f"{label}: {', '.join(sorted(names))}")
    return "; ".join(parts)


def why(pair: Pair, closures: tuple[Any, Any], runs: tuple[str, str]) -> list[str]:
    """List the definitions of one closure whose own text the other does not have."""
    texts = [closure.texts(run) for closure, run in zip(closures, runs, strict=True)]
    (old, new) = texts
    return [
        *(f"- {name}" for name, text in old.items() if text not in set(new.values())),
        *(f"+ {name}" for name, text in new.items() if text not in set(old.values())),
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--before",
        metavar="COMMIT",
        help="whose code made the records; by default the last to change records/equivalent.jsonl",
    )
    parser.add_argument("--experiment", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--all-rows", action="store_true", help="every row on every data set")
    parser.add_argument("--but", nargs="+", default=[], metavar="ROW", help="rows that were meant to change")
    parser.add_argument("--jobs", type=int, default=1, help="experiments at a time")
    parser.add_argument("--why", action="store_true", help="list what differs and run nothing")
    return parser.parse_args()


def prove(pair: Pair, before: Tree, after: Tree, *, all_rows: bool, but: list[str]) -> tuple[bool, str]:
    """Run both trees; whether they agree, and the evidence or the first thing that stands against it."""
    if pair.before == pair.after:
        return True, "the same code, fingerprinted otherwise"
    finding = compare(pair, before, after, all_rows=all_rows, but=but)
    proof = evidence(pair, finding, before)
    if finding.different:
        return False, finding.different[0]
    return bool(finding.compared), proof if finding.compared else f"nothing to compare: {proof}"


def main() -> int:
    """Check the experiments that were named, or all; 1 if one of them measures otherwise."""
    options = arguments()
    sys.path.insert(0, str(ROOT))
    from reasonlib.tracking import equivalence
    from reasonlib.tracking.fingerprint import OUTSIDE, Closure
    from reasonlib.tracking.renames import load

    commit = (
        options.before or git("log", "-1", "--format=%H", "--", "records/equivalent.jsonl").decode().strip()
    )
    before, after = tree_at(commit), Tree(ROOT, "now")
    for tree in (before, after):
        tree.experiments = tree.ask()
        if "error" in tree.experiments:
            raise SameBitsError(
                f"the experiments of {tree.name} cannot be listed: {tree.experiments['error']}"
            )
    outside = (*OUTSIDE, *BEFORE_THE_MOVE)
    closures = (Closure(before.folder, outside=outside), Closure(ROOT, outside=outside))
    equivalences = equivalence.load(ROOT / "records", load(ROOT / "records"))
    lock, failed = Lock(), []

    def check(pair: Pair) -> None:
        then = {pair.before, *([pair.own] if pair.own else [])}
        but = [row for row in pair.rows if row in options.but]
        open_ = [
            fingerprint
            for fingerprint in sorted(then)
            if any(
                equivalences.same(pair.name, row, fingerprint)
                != equivalences.same(pair.name, row, pair.after)
                for row in pair.rows
                if row not in but
            )
        ]
        if options.why:
            lines = ["same code"] if pair.before == pair.after else why(pair, closures, _runs(pair))
        elif not open_:
            lines = ["same code" if pair.before == pair.after else "known to give the same bits"]
        else:
            same, proof = prove(pair, before, after, all_rows=options.all_rows, but=but)
            if not same:
                failed.append(pair.name)
            for fingerprint in open_ if same else ():
                line = equivalence.Equivalence(
                    experiment=pair.name,
                    before=fingerprint,
                    after=pair.after,
                    evidence=proof,
                    but=", ".join(but),
                )
                equivalence.append(ROOT / "records", line)
            lines = [proof if same else f"NOT THE SAME: {proof}"]
        with lock:
            print(f"{pair.name}: " + "\n    ".join(lines), flush=True)

    def _runs(pair: Pair) -> tuple[str, str]:
        return before.experiments[pair.old_name]["run"], after.experiments[pair.name]["run"]

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(check, pairs(before, after, closures, options.experiment)))
    if failed:
        print(f"\n{len(failed)} of them measure otherwise: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SameBitsError as error:
        sys.exit(str(error))
