"""Pictures of the chapters that are made from records and from simulated documents."""

from collections import Counter
from collections.abc import Sequence

from reasonlib.context_translation.page.labels import METRICS, ROWS
from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, spread
from reasonlib.display.plotting import Picture
from reasonlib.parallel import lexicon
from reasonlib.parallel.example import KINDS, Document
from reasonlib.parallel.metrics import bleu, sentence_accuracy
from reasonlib.parallel.simulator import simulate
from reasonlib.tracking import claims, records
from reasonlib.tracking.record import Record

__all__ = [
    "by_distance", "cached", "documents", "growth", "helpful", "hidden_by_bleu", "kinds", "overall",
    "real_text", "systems",
]  # fmt: skip

SIMULATED, LENGTH, DISTANT, CORPUS, COST = (
    f"context_translation/{name}" for name in ("simulated", "context_length", "distant", "corpus", "cost")
)
DISTANCES = {"1 to 3": (1, 3), "4 to 10": (4, 10), "11 to 30": (11, 30)}
"""Groups of how many sentences back the word stands that decides, by what a chart calls them."""
READINGS = {
    "pronoun": len(lexicon.CLASSES),
    "subject": len(lexicon.PERSON_PRONOUNS),
    "verb": len(lexicon.TRANSITIVE),
    "formality": len(lexicon.POLITENESS),
}
"""Kind of a helpful sentence to the number of its translations."""


def kinds(documents: Sequence[Document]) -> Picture:
    """Draw what the sentences of documents leave to their context."""
    pairs = [pair for document in documents for pair in document.pairs]
    counts = Counter(pair.decides.kind if pair.decides else "nothing" for pair in pairs)
    shares = {kind: counts[kind] / len(pairs) for kind in ("nothing", *KINDS)}
    helpful = sum(counts[kind] for kind in KINDS)
    ceiling = sum(counts[kind] / READINGS[kind] for kind in KINDS) / helpful
    readings = ", ".join(f"{kind} {READINGS[kind]}" for kind in KINDS)
    return plotting.show(
        plotting.bars(shares, unit="share of sentences", limits=(0, 1)),
        alt="Kinds of sentences that need their context, as shares of all sentences.",
        caption=f"Kinds of sentences that need their context, in {len(documents)} simulated documents. "
        f"Possible translations of a sentence: {readings}. Without the context no system can "
        f"get more than {100 * ceiling:.0f} % of the helpful sentences right, on average.",
    )


def hidden_by_bleu(shares: Sequence[float] = (0, 0.25, 0.5, 0.75, 1), *, count: int = 200) -> Picture:
    """Draw BLEU and sentence accuracy as more helpful sentences get the translation of another context."""
    pairs = [pair for document in simulate(count, seed=4) for pair in document.pairs]
    references = [pair.target for pair in pairs]
    deciding = [number for number, pair in enumerate(pairs) if pair.decides is not None]
    lines: dict[str, list[float]] = {"BLEU": [], "sentences right": [], "helpful sentences right": []}
    for share in shares:
        wrong = set(deciding[: round(share * len(deciding))])
        written = [
            pair.decides.contrast if number in wrong and pair.decides is not None else pair.target
            for number, pair in enumerate(pairs)
        ]
        lines["BLEU"].append(bleu(written, references, tokenize="none").score)
        lines["sentences right"].append(100 * sentence_accuracy(written, references))
        lines["helpful sentences right"].append(
            100 * sentence_accuracy([written[n] for n in deciding], [references[n] for n in deciding])
        )
    across = [100 * share for share in shares]
    drawing = plotting.lines(
        {name: (across, values) for name, values in lines.items()},
        x="helpful sentences with an error, in per cent",
        y="BLEU, and sentences in per cent",
        limits=(0, 104),
    )
    return plotting.show(
        drawing,
        alt=f"When every helpful sentence is wrong, BLEU is still {lines['BLEU'][-1]:.0f}, while no helpful "
        f"sentence is right and {lines['sentences right'][-1]:.0f} per cent of all sentences are",
        caption="The same errors under three measures. The errors are simulated, not those of a "
        f"model; {len(pairs)} sentences, {len(deciding)} of them helpful. BLEU falls from 100 to "
        f"{lines['BLEU'][-1]:.0f}.",
    )


def helpful() -> Picture:
    """Draw helpful against unhelpful sentences: the source's BLEU, and our sentence accuracy."""
    published: dict[str, dict[str, float]] = {"helpful": {}, "unhelpful": {}}
    for claim in claims.table("context_translation", table="Table 3.5: helpful and unhelpful contexts"):
        row, _, part = claim["id"].removeprefix("context_translation/helpful/").partition("/")
        if part in published:
            published[part][_short(row)] = claim["published"]
    ours, origins = _by_training("sentence_accuracy_helpful", tuple(ROWS), name="helpful")
    unhelpful, more_origins = _by_training("sentence_accuracy_unhelpful", tuple(ROWS), name="unhelpful")
    left = plotting.show(
        plotting.bars(published, unit="BLEU, English to Korean, as published"),
        alt="Published BLEU on helpful and on unhelpful sentences.",
    )
    if not ours:
        return plotting.beside(left, results.missing(SIMULATED))
    *_, (label, easy) = unhelpful.items()  # after the longest training
    right = plotting.show(
        plotting.bars({**ours, label: easy}, unit="sentence accuracy, simulated languages", limits=(0, 1)),
        alt="Our sentence accuracy on helpful and on unhelpful sentences, after short and long training.",
        caption="First: the thesis's table 3.5. Second: our runs, by steps of training "
        f"({results.together(origins | more_origins)}); lines are 95 % intervals.",
    )
    return plotting.beside(left, right)


def overall() -> Picture:
    """Draw BLEU of all systems: the source's on TED talks, ours on simulated documents."""
    published = {}
    for claim in claims.table("context_translation", table="Table 3.2: BLEU with two context sentences"):
        row, _, column = claim["id"].removeprefix("context_translation/overall/").partition("/")
        if column == "iwslt-en-de":
            published[_short(row)] = claim["published"]
    left = plotting.show(
        plotting.bars(published, unit="BLEU, English to German, as published", limits=(26, 29.6)),
        alt="Published BLEU of the seven systems.",
    )
    values, origins = _by_training("bleu", tuple(ROWS))
    if not values:
        return plotting.beside(left, results.missing(SIMULATED))
    lowest = min(value.mean for scores in values.values() for value in scores.values())
    right = plotting.show(
        plotting.bars(values, unit="BLEU, simulated languages", limits=(max(0, lowest - 10), 104)),
        alt="Our BLEU of the seven systems, after short and long training.",
        caption="First: the thesis's table 3.2, IWSLT 2017; the axis starts at 26. Second: our runs, by "
        f"steps of training ({results.together(origins)}); lines are 95 % intervals.",
    )
    return plotting.beside(left, right)


def real_text() -> Picture:
    """Draw BLEU and chrF of all systems on real English-German documents."""
    rows = [(CORPUS, row) for row in ROWS]
    pictures = []
    for metric, unit in (("bleu", "BLEU"), ("chrf", "chrF")):
        values, origins = results.spreads(
            rows, metric, names={row: _short(row) for row in ROWS}, data="doc-en-de"
        )
        if not values:
            return results.missing(CORPUS)
        pictures.append(
            plotting.show(
                plotting.bars(
                    values,
                    unit=f"{unit}, English to German",
                    limits=(0, 1.4 * max(value.mean for value in values.values())),
                ),
                alt=f"{unit} of the systems on real documents.",
                caption=None
                if metric == "bleu"
                else f"TED talks, parliament and news: {results.together(origins)}. Lines: 95 % intervals.",
            )
        )
    return plotting.beside(*pictures)


def systems(metric: str, unit: str, *, rows: Sequence[str] = tuple(ROWS)) -> Picture:
    """Draw one metric of systems on simulated documents, by steps of training: mean and 95 % interval."""
    values, origins = _by_training(metric, rows)
    if not values:
        return results.missing(SIMULATED)
    return plotting.show(
        plotting.bars(values, unit=unit, limits=(0, 1.08)),
        alt=f"{unit.capitalize()} of the systems.",
        caption=f"{METRICS.get(metric, unit).capitalize()}: {results.together(origins)}. Lines: 95 % "
        "intervals.",
    )


def growth(over: str = "sentences") -> Picture:
    """Draw time and memory of the encoders against the number of context sentences, with fitted exponents.

    Or against their length, where `over` is "length".
    """
    symbol, sizes, what, shown = {
        "sentences": ("N", "counts", "context sentences", "its context"),
        "length": ("the length", "lengths", "words of a context sentence", "four context sentences"),
    }[over]
    time: dict[str, tuple[list[int], list[float]]] = {}
    memory: dict[str, tuple[list[int], list[float]]] = {}
    notes: dict[str, list[str]] = {"seconds": [], "memory": []}
    origins = set()
    for row in ("concatenation", "dct", "dat", "han", "hce", "hmce"):
        group = records.best(COST, row)
        if group is None:
            continue
        details = [record.details for record in group.records]
        counts = [int(count) for count in details[0][sizes]]
        seconds = zip(*(run["seconds"][over] for run in details), strict=True)
        time[_short(row)] = (counts, [1000 * sum(durations) / len(durations) for durations in seconds])
        memory[_short(row)] = (counts, [kept / 1e6 for kept in details[0]["bytes"][over]])
        origins.add(results.origin(group))
        for name, exponents in notes.items():
            exponent = group.summary(f"{name}_exponent.{over}")
            if exponent is not None:
                exponents.append(f"{_short(row)} {exponent.mean:.2f}")
    if not time:
        return results.missing(COST)
    pictures = []
    for lines, unit in ((time, "milliseconds to encode"), (memory, "megabytes stored for the gradient")):
        drawing = plotting.lines(lines, x=what, y=unit, log=True, log_y=True)
        drawing.axes[0].set_xticks(lines["TwC"][0] if "TwC" in lines else [])
        caption = (
            f"One sentence and {shown}; axes are logarithmic. First: processor time, second: memory. "
            f"What the context adds grows with these powers of {symbol}. "
            f"Time: {', '.join(notes['seconds'])}. Memory: {', '.join(notes['memory'])}. "
            f"{results.together(origins).capitalize()}."
        )
        alt = f"{unit.capitalize()} against {what}; concatenation grows fastest."
        pictures.append(plotting.show(drawing, alt=alt, caption=caption if lines is memory else None))
    return plotting.beside(*pictures)


def documents() -> Picture:
    """Draw more context sentences and a document vector: the source's BLEU (table 3.3), our accuracy."""
    series: dict[str, dict[str, float]] = {"first column": {}, "second column": {}}
    for claim in claims.table(
        "context_translation", table="Table 3.3: more context sentences, document vector"
    ):
        row, _, column = claim["id"].removeprefix("context_translation/length/").partition("/")
        series[f"{column} column"][_with_count(row)] = claim["published"]
    left = plotting.show(
        plotting.bars(series, unit="BLEU, English to German, as published", limits=(22, 30)),
        alt="Published BLEU with two and ten context sentences, with and without a document vector.",
    )
    rows = [
        "concatenation-2", "concatenation-10",
        *(f"{name}-{count}" for name in ("hce", "hmce")
          for count in ("2", "2-document", "10", "10-document")),
    ]  # fmt: skip
    names = {row: _with_count(row) for row in rows}
    values: dict[str, dict[str, Spread]] = {}
    origins: set[str] = set()
    for name, ending in (("own context", ""), ("another document's", ".other-document")):
        values[name], new_origins = results.spreads(
            [(LENGTH, row) for row in rows], f"sentence_accuracy_helpful{ending}", names=names
        )
        origins |= new_origins
    if not values["own context"]:
        return plotting.beside(left, results.missing(LENGTH))
    right = plotting.show(
        plotting.bars(values, unit="helpful sentences right, simulated languages", limits=(0, 1)),
        alt="Our accuracy on helpful sentences with two and ten context sentences.",
        caption="First: the thesis's table 3.3: system, number of context sentences, and whether a "
        "document vector was added. The thesis does not name the two columns; the axis starts at 22. Second: "
        f"our runs ({results.together(origins)}), with their own context and with that of another document "
        "(the document vector stays that of their own); lines are 95 % intervals.",
    )
    return plotting.beside(left, right)


def by_distance() -> Picture:
    """Draw the accuracy on helpful sentences by how far back the word stands that decides."""
    values: dict[str, dict[str, Spread]] = {}
    origins: set[str] = set()
    for row in ("concatenation", "hce", "hmce"):
        group = records.best(DISTANT, row)
        if group is None:
            continue
        origins.add(results.origin(group))
        values[_short(row)] = {
            label: spread([_within(record, *ends) for record in group.records])
            for label, ends in DISTANCES.items()
        }
    if not values:
        return results.missing(DISTANT)
    return plotting.show(
        plotting.bars(values, unit="helpful sentences right", limits=(0, 1)),
        alt="Accuracy on helpful sentences by the distance of the sentence that decides.",
        caption="Thirty context sentences; groups by how many sentences back the word stands that decides "
        f"({results.together(origins)}).",
    )


def _within(record: Record, first: int, last: int) -> float:
    """Return the share of helpful sentences that are right where the distance is from first to last."""
    names = [f"sentence_accuracy_helpful.distance-{distance}" for distance in range(first, last + 1)]
    counts = {name: record.details["sentences"].get(name, 0) for name in names}
    right = sum(count * record.metrics[name] for name, count in counts.items() if count)
    return right / sum(counts.values())


def cached() -> Picture:
    """Draw how much faster HCE and HMCE translate documents than concatenation, with and without a cache."""
    rows = {"hce": _short("hce"), "hmce": _short("hmce")}
    values: dict[str, dict[str, Spread]] = {}
    origins: set[str] = set()
    for name, metric in (
        ("context read again", "uncached_speed_ratio"),
        ("context cached", "cached_speed_ratio"),
    ):
        values[name], new_origins = results.spreads([(COST, row) for row in rows], metric, names=rows)
        origins |= new_origins
    if not values["context cached"]:
        return results.missing(COST)
    return plotting.show(
        plotting.bars(values, unit="sentences a second, as a ratio to TwC", reference=("TwC", 1.0)),
        alt="Translation speed as a ratio to TwC, with and without a cache.",
        caption="Documents with ten context sentences, by processor time "
        f"({results.together(origins)}). Lines: 95 % intervals.",
    )


def _by_training(
    metric: str, rows: Sequence[str], *, name: str = ""
) -> tuple[dict[str, dict[str, Spread]], set[str]]:
    """Return a metric on simulated documents: steps of training, with a name before, to row to its spread."""
    values: dict[str, dict[str, Spread]] = {}
    origins: set[str] = set()
    for scale in ("quick", "paper"):
        spreads, new_origins = results.spreads(
            [(SIMULATED, row) for row in rows], metric, names={row: _short(row) for row in rows}, scale=scale
        )
        if spreads:
            group = next(filter(None, (records.best(SIMULATED, row, scale=scale) for row in rows)))
            steps = f"{group.records[0].steps.planned:,} steps"
            values[f"{name}, {steps}" if name else steps] = spreads
            origins |= new_origins
    return values, origins


def _with_count(row: str) -> str:
    """Name a row of table 3.3, such as "HCE 2 + vector"."""
    name, _, rest = row.partition("-")
    return f"{_short(name)} {rest.replace('-document', ' + vector')}".strip()


def _short(row: str) -> str:
    return {"no-context": "TwoC", "concatenation": "TwC"}.get(row, row.upper())
