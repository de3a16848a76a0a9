"""Characters, words and subwords compared on held-out text."""

from hashlib import sha256

from reasonlib.tracking.experiment import Experiment, Trial, by_scale, subset
from reasonlib.transformer.data import tokenizers
from reasonlib.transformer.data.datasets import DATA


def run_tokenising(trial: Trial) -> dict[str, float]:
    """Learn a way to cut words from one part of a text and measure it on the other."""
    settings = trial.settings
    text = tokenizers.news() if trial.data == "news" else tokenizers.stories()
    train, held_out = text.train[: settings["words"]], text.held_out[: settings["words"]]
    if settings["how"] == "characters":
        cutter = tokenizers.characters(train)
    elif settings["how"] == "words":
        cutter = tokenizers.words(train, most=settings.get("most"))
    else:
        cutter = tokenizers.pieces(train, vocabulary=settings["most"])
    stats = tokenizers.measure(cutter, held_out)
    return {
        "vocabulary": float(stats.vocabulary),
        "length": stats.length,
        "unknown": stats.unknown,
        "words-lost": stats.words_lost,
    }


def _version_of_texts(name: str) -> str | None:
    """Name the state of the news that are fetched, None where they are not on this machine."""
    if name == "stories":
        return None
    try:
        text = tokenizers.news()
    except OSError:
        return None
    return sha256(" ".join((*text.train, *text.held_out)).encode()).hexdigest()[:12]


TOKENISING = Experiment(
    name="transformer/tokenising",
    title="Characters, words and subwords on unseen text",
    rows={
        **{how: {"how": how} for how in ("characters", "words")},
        "words-2000": {"how": "words", "most": 2000},
        **{f"pieces-{most}": {"how": "pieces", "most": most} for most in (500, 2000, 8000)},
    },
    scales=by_scale(words=(300, 20_000, 1_000_000)),
    data=subset(DATA, "news", "stories"),
    run=run_tokenising,
    deterministic=True,
    version=_version_of_texts,
)
