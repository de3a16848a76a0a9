"""Pictures of the chapters that are made from records, from generated questions and from counting."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reasonlib.display import plotting, results
from reasonlib.display.intervals import Spread, spread
from reasonlib.display.plotting import Picture
from reasonlib.maths_qa.data.generator import simulate
from reasonlib.maths_qa.data.modules import AREAS, EXTRAPOLATION, MODULES, area_of
from reasonlib.maths_qa.experiments.cost import relative_cost
from reasonlib.maths_qa.models.decoding import answer
from reasonlib.maths_qa.models.pretrained import from_pretrained
from reasonlib.maths_qa.models.transformer import SolverConfig
from reasonlib.maths_qa.page.labels import ROWS, module_title
from reasonlib.tracking import claims, records

__all__ = [
    "areas",
    "attention",
    "baselines",
    "bill",
    "by_module",
    "extrapolation",
    "frequent",
    "kinds",
    "learning",
    "starts",
    "structure",
    "variants",
]

PRETRAINING, BASELINES, COMPUTE = "maths_qa/pretraining", "maths_qa/baselines", "maths_qa/compute"
STRUCTURE, MAIN = "maths_qa/structure", "maths_qa/two_modules"
FREQUENT = (
    "numbers__is_prime",
    "numbers__is_factor",
    "comparison__pair",
    "comparison__closest",
    "numbers__place_value",
    "probability__swr_p_sequence",
    "calculus__differentiate",
    "arithmetic__add_or_sub",
)
"""Modules whose most frequent answer chapter 1 counts."""


def areas() -> Picture:
    """Draw the number of modules of each area."""
    training = Counter(map(area_of, MODULES))
    harder = Counter(map(area_of, EXTRAPOLATION))
    values = {
        "training and interpolation": {area: training[area] for area in AREAS},
        "extrapolation": {area: harder[area] for area in AREAS},
    }
    return plotting.show(
        plotting.bars(values, unit="modules"),
        alt="Number of modules of each area.",
        caption=f"The {len(MODULES)} modules of training and interpolation and the {len(EXTRAPOLATION)} of "
        "extrapolation, by area.",
    )


def frequent(seed: int = 0, *, count: int = 200) -> Picture:
    """Draw how often the most frequent answer of some modules is right."""
    shares = {}
    for module in FREQUENT:
        answers = [p.answer for p in simulate(module, count, seed=seed, difficulty="interpolate")]
        shares[module_title(module)] = Counter(answers).most_common(1)[0][1] / count
    return plotting.show(
        plotting.bars(shares, unit="share of questions with the most frequent answer", limits=(0, 1)),
        alt="Share of questions of each module whose answer is the most frequent one.",
        caption=f"How often the most frequent answer is right in {count} generated questions of each module.",
    )


def learning(runs: Iterable[Any]) -> Picture:
    """Draw the learning curves of records that have just been made."""
    curves = {ROWS.get(run.row, run.row): run.details["curve"] for run in runs}
    return plotting.show(
        plotting.learning_curve(curves, "accuracy", step="step"),
        alt="Exact match on questions that training does not contain, against training steps.",
        caption="Exact match on test questions, by training steps after any pre-training; one run each.",
    )


def attention(question: str | None = None) -> Picture:
    """Draw where the bundled pre-trained model looks as it writes an answer."""
    question = question or "What is the tens digit of 5296?"
    written = answer(from_pretrained().model, question)
    rows = [*written.text, "end"][: len(written.attention)]
    return plotting.show(
        plotting.attention_map(written.attention.numpy(), rows, [c if c != " " else "␣" for c in question]),
        alt=f"Attention of each character of the answer {written.text} to the characters of “{question}”.",
        caption=f"Attention from each character of the answer (rows) to the characters of “{question}” "
        "(columns), mean over heads and layers of the bundled model.",
    )


def baselines() -> Picture:
    """Draw the Transformer beside systems that need less."""
    simpler = [(BASELINES, "most-frequent"), (BASELINES, "symbolic"), (BASELINES, "lstm")]
    return _bars(
        [*simpler, (PRETRAINING, "scratch"), (PRETRAINING, "both")],
        "Exact match of the Transformer and of simpler systems on the same questions.",
    )


def starts() -> Picture:
    """Draw exact match of the three ways to start, at equal steps and at equal compute."""
    values, origins = results.spreads(
        [(MAIN, row) for row in ("scratch", "encoder", "both")], "accuracy", names=ROWS
    )
    group = records.best(MAIN, "scratch")
    longer = None if group is None else group.summary("accuracy.equal_compute")
    if longer is not None:
        values["from scratch, equal compute"] = spread(longer)
    if not values:
        return results.missing(MAIN)
    return _exact_match(
        values,
        alt="Exact match after fine-tuning from each start.",
        caption=f"Exact match on {_modules(MAIN)} after the same number of fine-tuning steps, and "
        f"from scratch with as many multiplications as both stages together ({results.together(origins)}).",
    )


def kinds() -> Picture:
    """Draw how many hidden characters of each kind are filled in right: the source's, and ours."""
    published = {}
    for claim in claims.table("maths_qa", table="Table 5.1: masked language model accuracy"):
        kind, _, split = claim["id"].removeprefix("maths_qa/mlm/").partition("/")
        if split == "interpolation":
            published[_KIND_WORDS[kind]] = claim["published"]
    values: dict[str, dict[str, Any]] = {"the source": published}
    group = records.best(MAIN, "both")
    origin = "no runs of ours yet"
    if group is not None:
        metrics = {"digits": "mlm.number", "letters": "mlm.alphabet", "symbols": "mlm.symbols"}
        summaries = {name: group.summary(metric) for name, metric in metrics.items()}
        values["our runs"] = {name: spread(s) for name, s in summaries.items() if s is not None}
        origin = results.origin(group)
    return plotting.show(
        plotting.bars(values, unit="share of hidden characters filled in correctly", limits=(0, 1)),
        alt="Share of hidden digits, letters and symbols that are filled in correctly.",
        caption="Hidden characters filled in correctly, on interpolation. The source: 56 modules, no "
        f"interval; ours: {origin}; lines are 95 % intervals.",
    )


_KIND_WORDS = {"number": "digits", "letter": "letters", "symbol": "symbols"}


def bill() -> Picture:
    """Draw the multiplications of a step of QA-MLM as a share of a step of fine-tuning."""
    config, lengths = SolverConfig(), list(range(20, 161, 10))
    series = {"counted": (lengths, [relative_cost(config, n, 11) for n in lengths])}
    series["stated by the source"] = (lengths, [0.6] * len(lengths))
    group = records.best(COMPUTE, "qa-mlm")
    timed = None if group is None else group.summary("seconds_ratio")
    timing = f" Timed on our model: {timed.mean:.2f} ({results.origin(group)})." if timed and group else ""
    return plotting.show(
        plotting.lines(
            series,
            x="characters of the question",
            y="cost of a step, as a share of fine-tuning",
            limits=(0, 1.05),
        ),
        alt="Multiplications of a QA-MLM step as a share of those of a fine-tuning step.",
        caption="Multiplications of a step of QA-MLM as a share of a step of fine-tuning, for the source's "
        f"model (4 layers, width 512), with answers of 10 characters.{timing}",
    )


def by_module() -> Picture:
    """Draw exact match of each module from each start."""
    values: dict[str, dict[str, Any]] = {}
    origins = set()
    for row in ("scratch", "encoder", "both"):
        group = records.best(MAIN, row)
        if group is None:
            continue
        summaries = {m: group.summary(f"accuracy.{m}") for m in MODULES}
        values[ROWS[row]] = {module_title(m): spread(s) for m, s in summaries.items() if s is not None}
        origins.add(results.origin(group))
    if not values:
        return results.missing(MAIN)
    return _exact_match(
        values,
        alt="Exact match of each module from each start.",
        caption="Exact match by module, after the same number of fine-tuning steps "
        f"({results.together(origins)}).",
    )


def variants() -> Picture:
    """Draw exact match with other characters hidden, and with other positions."""
    rows = ("both", "both-numeric", "both-answers", "both-non-numeric", "scratch", "scratch-sinusoidal")
    return _bars(
        [(PRETRAINING, row) for row in rows],
        f"Exact match on {_modules(PRETRAINING, scale='quick')}, by the characters that pre-training hides "
        "and by the positions.",
    )


def extrapolation() -> Picture:
    """Draw exact match on longer questions beside that in the range of training."""
    values, origins = _both_ranges([(MAIN, row) for row in ("scratch", "encoder", "both")])
    if not origins:
        return results.missing(MAIN)
    return _exact_match(
        values,
        alt="Exact match on interpolation and on extrapolation.",
        caption=f"Interpolation: {_modules(MAIN)}. Extrapolation: the matching modules of the "
        f"fifteen for testing only ({results.together(origins)}).",
    )


def structure() -> Picture:
    """Draw what place values give from scratch and with pre-training, in training's range and beyond it."""
    rows = [(STRUCTURE, row) for row in ("learned", "place-value", "pretrained", "pretrained-place-value")]
    values, origins = _both_ranges(rows)
    if not origins:
        return results.missing(STRUCTURE)
    values["extrapolation, known words"], _ = results.spreads(rows, "extrapolation.known_words", names=ROWS)
    return _exact_match(
        values,
        alt="Exact match from scratch and with pre-training, without and with place values.",
        caption=f"Exact match on {_modules(STRUCTURE)}, on longer numbers than training has, and on those "
        "questions for longer numbers whose words all occur in training, after the same number of "
        f"fine-tuning steps ({results.together(origins)}).",
    )


def _exact_match(values: Mapping[str, Any], *, alt: str, caption: str) -> Picture:
    return plotting.show(
        plotting.bars(values, unit="exact match", limits=(0, 1)),
        alt=alt,
        caption=f"{caption} Lines: 95 % intervals.",
    )


def _both_ranges(rows: Sequence[tuple[str, str]]) -> tuple[dict[str, dict[str, Spread]], set[str]]:
    """Return exact match in the range of training and beyond it, of the rows that have both."""
    inside, origins = results.spreads(rows, "accuracy", names=ROWS)
    beyond, _ = results.spreads(rows, "extrapolation", names=ROWS)
    return {
        "interpolation": {name: value for name, value in inside.items() if name in beyond},
        "extrapolation": beyond,
    }, origins


def _modules(experiment: str, *, scale: str | None = None) -> str:
    """Name the modules that the records of an experiment measure."""
    rows = ("scratch", "learned", "most-frequent")
    groups = (records.best(experiment, row, scale=scale) for row in rows)
    group = next((group for group in groups if group is not None), None)
    names = (
        [m.removeprefix("accuracy.") for m in group.metrics if m.removeprefix("accuracy.") in MODULES]
        if group
        else []
    )
    if len(names) > 3:
        return f"{len(names)} modules"
    return " and ".join(module_title(name) for name in names) or "no module"


def _bars(rows: Sequence[tuple[str, str]], alt: str) -> Picture:
    """Draw the accuracy of rows at `quick`, the only scale at which all of them were run."""
    values, origins = results.spreads(rows, "accuracy", names=ROWS, scale="quick")
    if not values:
        return results.missing(rows[0][0])
    return _exact_match(values, alt=alt, caption=f"{alt} {results.together(origins).capitalize()}.")
