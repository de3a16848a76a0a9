"""Questions about videos: published accuracies, single streams, captions, moments, and what words tell."""

from reasonlib.display import plotting, results
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.page.figures.bars import SYSTEMS, TVQA, by_kind, by_need, grouped, measured
from reasonlib.modality_alignment.page.labels import ROWS
from reasonlib.tracking import records

__all__ = [
    "captions",
    "giveaways",
    "guessed",
    "leaks",
    "moments",
    "published_accuracy",
    "streams",
    "text_bias",
]

BIASED, RULES = "modality_alignment/text_bias", "modality_alignment/annotations"
LEAKS = "modality_alignment/leaks"


def published_accuracy() -> Picture:
    """Draw the accuracies of the source's table 5.2."""
    names = {
        "tvqa-abc": "TVQA_abc", "tvqa-abc-cka": "TVQA_abc, CKA", "stage-video": "STAGE, video only",
        "stage-subtitle": "STAGE, subtitles only", "stage": "STAGE", "stage-cka": "STAGE, CKA",
        "stage-caption-cka": "STAGE, CKA, captions",
    }  # fmt: skip
    theirs = results.published("modality_alignment/accuracy/")
    values = {label: 100 * theirs[key] for key, label in names.items()}
    return plotting.show(
        plotting.bars(
            values, unit="accuracy in per cent, published", limits=(0, 100), reference=("chance", 20)
        ),
        alt="Published accuracy: "
        + ", ".join(f"{name} {value:.2f} %" for name, value in values.items())
        + ".",
        caption="The source's table 5.2: TVQA_abc on TVQA, STAGE on TVQA+; one number each.",
    )


def streams(system: str = "tvqa-abc") -> Picture:
    """Draw what each stream of a system answers alone, by what the question needs."""
    rows = {
        "": "subtitles and video",
        "-video": "video only",
        "-subtitle": "subtitles only",
        "-question": "question only",
    }
    return by_need(
        SYSTEMS[system],
        {row: label for ending, label in rows.items() if (row := f"{system}{ending}") in ROWS},
        f"Simulated questions, by what they need, for {ROWS[system]} with some of its streams.",
    )


def captions() -> Picture:
    """Draw which questions about both streams TVQA_abc answers with and without generated captions."""
    return by_kind(
        TVQA,
        {"tvqa-abc": "subtitles and video", "tvqa-abc-caption": "and captions"},
        {"both.meeting": "meeting", "both.moment": "moment"},
        "Simulated questions that need both streams, for TVQA_abc with and without generated captions.",
    )


def giveaways() -> Picture:
    """Draw how often rules that read only the words are right on the released questions of TVQA+."""
    values: dict[str, float] = {}
    for row in ("first", "shortest", "most-typical", "word-overlap", "longest"):
        group = records.best(RULES, row, data="tvqa-plus")
        summary = None if group is None else group.summary("accuracy")
        if summary is not None:
            values[ROWS[row]] = summary.mean
    if not values:
        return results.missing(RULES)
    return plotting.show(
        plotting.bars(values, unit="accuracy", limits=(0, 1), reference=("chance", 0.2)),
        alt="Accuracy of rules that read only the words: "
        + ", ".join(f"{name} {value:.2f}" for name, value in values.items()),
        caption="Accuracy of rules without a model on the released validation questions of TVQA+, which "
        "have five answers each. A rule sees the words of question and answers, no video and no subtitles.",
    )


def guessed() -> Picture:
    """Draw how far one guessed moment overlaps those of the released questions of TVQA+."""
    group = records.best(RULES, "first", data="tvqa-plus")
    if group is None:
        return results.missing(RULES)
    tenths = [tenth / 10 for tenth in range(1, 10)]
    summaries = {least: group.summary(f"recall@{least}") for least in tenths}
    shares = [(least, summary.mean) for least, summary in summaries.items() if summary is not None]
    mean, length = group.summary("overlap"), group.summary("seconds.span")
    if not shares or mean is None or length is None:
        return results.missing(RULES)
    return plotting.show(
        plotting.lines(
            {"one guess": tuple(zip(*shares, strict=True))}, x="overlap of at least", y="share of questions"
        ),
        alt="One guessed moment for all questions of TVQA+: "
        + ", ".join(f"{share:.2f} overlap by {least}" for least, share in shares)
        + f"; mean overlap {mean.mean:.2f}.",
        caption="Released validation questions of TVQA+: the same moment is guessed for all, from the median "
        f"start to the median end of these questions. Its mean overlap is {mean.mean:.2f}; moments last "
        f"{length.mean:.1f} seconds on average. Any model that finds moments should do better.",
    )


def moments() -> Picture:
    """Draw how well STAGE finds the moments of simulated questions."""
    experiment = SYSTEMS["stage"]
    rows = [row for row in ROWS if row.startswith("stage")]
    series = {
        "overlap in time": measured(experiment, rows, "overlap"),
        "right answer and overlap of 0.5": measured(experiment, rows, "joint"),
    }
    return grouped(
        series,
        experiment,
        "overlap; share of questions",
        "Simulated questions with a moment: the mean overlap of the moment that STAGE finds with the true "
        "one, and the share answered right with an overlap of at least one half.",
        limits=(0, 1),
    )


def text_bias() -> Picture:
    """Draw accuracy on questions about colours against the share that has the usual answer."""
    shares = {"0": "no bias", "0.5": "half", "1": "all"}
    series = {
        label: measured(
            BIASED,
            [f"{row}{ending}" for row in shares],
            "accuracy.video.colour",
            {f"{row}{ending}": name for row, name in shares.items()},
        )
        for label, ending in (
            ("the words alone", "-words"),
            ("video and subtitles", ""),
            ("video and subtitles, CKA", "-cka"),
        )
    }
    return grouped(
        series,
        BIASED,
        "accuracy",
        "Questions about colours, for TVQA_abc: the share that is given the usual answer, in training and in "
        "test questions, grows from top to bottom.",
        limits=(0, 1),
        reference=("chance", 0.2),
    )


def leaks() -> Picture:
    """Draw what one stream learns of questions that need what it does not see."""
    rows = {
        "video-on-subtitles": "video: what is said",
        "subtitles-on-video": "subtitles: what is seen",
        "words-on-video": "no context: what is seen",
        "words-on-subtitles": "no context: what is said",
    }
    return grouped(
        {"accuracy": measured(LEAKS, rows, "accuracy", rows)},
        LEAKS,
        "accuracy",
        "What TVQA_abc reads, and what it is trained and tested on: questions that need another context.",
        limits=(0, 1),
        reference=("chance", 0.2),
    )
