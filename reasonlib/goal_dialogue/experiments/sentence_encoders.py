"""Memory networks whose sentences are more than bags of words: key tags, paragraph vectors, Word2Vec."""

from reasonlib.goal_dialogue.experiments.memory_networks import networks_experiment
from reasonlib.goal_dialogue.experiments.tasks import DATA, scales
from reasonlib.tracking.experiment import subset

__all__ = [
    "ADVICE",
    "DBOW",
    "KEY_TAGS",
    "PARAGRAPHS",
    "PARAGRAPH_TUNING",
    "SWAPPED",
    "TAG_VARIANTS",
    "WORD2VEC",
]


# Key tags (section 4.2) -------------------------------------------------------------------------------------

# Twice as wide as the source's: better on the validation dialogues of task 5.
KTN2N = {"network": "n2n", "sentences": "keytags", "hops": 5, "width": 64}

KEY_TAGS = networks_experiment(
    "key-tags",
    "Key tags beside the words",
    {
        "ktn2n": KTN2N,
        "ktn2n-half": {**KTN2N, "tagger": "letters"},
        "ktn2n-context": {**KTN2N, "tagger": "context"},
    },
    scales=scales(1, 2, 3, 4, 5),
)

TAG_VARIANTS = networks_experiment(
    "key-tag-variants",
    "Key tags on full dialogues: number of hops, other uses of tags, no API results",
    {
        **{
            f"hops-{hops}": {"network": "n2n", "sentences": "keytags", "hops": hops} for hops in (1, 3, 5, 10)
        },
        "adjacent": {"network": "n2n-adjacent", "sentences": "keytags", "hops": 5},
        "sum": {"network": "n2n", "sentences": "tags-added", "hops": 5},
        "multiply": {"network": "n2n", "sentences": "tags-multiplied", "hops": 5},
        "numbers": {"network": "n2n", "sentences": "tags-numbers", "hops": 5},
        "sentence": {"network": "n2n", "sentences": "tags-sentence", "hops": 5},
        "no-results": {"network": "n2n", "sentences": "keytags", "hops": 5, "facts": False},
    },
    scales={
        "smoke": {"tasks": (5,), "dialogues": 8, "epochs": 1, "tagger_steps": 20},
        "quick": {"tasks": (5,), "dialogues": 80, "epochs": 6, "tagger_steps": 100},
        "paper": {"tasks": (5,)},
    },
)

SWAPPED = networks_experiment(
    "swapped",
    "Phone numbers and addresses, trained on the validation dialogues",
    {
        "n2n": {"network": "n2n"},
        "n2n-swapped": {"network": "n2n", "swapped": True},
        "ktn2n": {"network": "n2n", "sentences": "keytags", "hops": 5},
        "ktn2n-swapped": {"network": "n2n", "sentences": "keytags", "hops": 5, "swapped": True},
    },
    scales={
        "smoke": {"tasks": (4,), "dialogues": 8, "epochs": 1, "tagger_steps": 20},
        "quick": {"tasks": (4,), "dialogues": 250, "epochs": 12, "tagger_steps": 100},
        "paper": {"tasks": (4,)},
    },
)

# Vectors trained beforehand (section 4.1) -------------------------------------------------------------------

DBOW = {"network": "n2n", "sentences": "paragraphs", "hops": 8}

PARAGRAPHS = networks_experiment(
    "paragraphs",
    "Paragraph vectors instead of words",
    {
        "dbow": DBOW,
        "dbow-external": {**DBOW, "corpus": "external"},
    },
    scales=scales(1, 2, 3, 4, 5, 6),
)

WORD2VEC = networks_experiment(
    "word2vec",
    "Word vectors initialised with Word2Vec, on full dialogues",
    {"random": {"network": "n2n"}, "word2vec": {"network": "n2n", "sentences": "word2vec"}},
    scales={
        "smoke": {"tasks": (5,), "dialogues": 8, "epochs": 1, "embedding_epochs": 2},
        "quick": {"tasks": (5,), "dialogues": 100, "epochs": 10, "embedding_epochs": 20},
        "paper": {"tasks": (5,)},
    },
)

PARAGRAPH_TUNING = networks_experiment(
    "paragraph-tuning",
    "Width of paragraph vectors and number of hops, on full dialogues (section 5.2)",
    {
        "dbow": DBOW,
        "width-20": {**DBOW, "paragraph_width": 20},
        **{f"hops-{hops}": {**DBOW, "hops": hops} for hops in (1, 2, 4)},
    },
    scales=WORD2VEC.scales,
)

# Few dialogues (section 5.3.5) ------------------------------------------------------------------------------

ADVICE = networks_experiment(
    "advice",
    "Fifty dialogues of an advice line",
    {
        "n2n": {"network": "n2n"},
        "ktn2n": {"network": "n2n", "sentences": "keytags", "hops": 5},
        "dbow": DBOW,
    },
    scales={
        "smoke": {"tasks": (1,), "epochs": 1, "embedding_epochs": 2, "tagger_steps": 20},
        "quick": {"tasks": (1, 2, 3, 5), "epochs": 20, "embedding_epochs": 20, "tagger_steps": 100},
        "paper": {"tasks": (1, 2, 3, 5)},
    },
    data=subset(DATA, "advice"),
)
