"""Memory networks whose sentences are more than bags of words: key tags, paragraph vectors, Word2Vec."""

from reasonlib.goal_dialogue.experiments.memory_networks import resolve, run_networks
from reasonlib.goal_dialogue.experiments.tasks import BOTH, DATA, data_version, scales
from reasonlib.tracking.experiment import Experiment, subset

__all__ = ["ADVICE", "KEY_TAGS", "PARAGRAPHS", "SWAPPED", "TAG_VARIANTS", "WORD2VEC"]


# Key tags (section 4.2) -------------------------------------------------------------------------------------

# Twice as wide as the source's: better on the validation dialogues of task 5.
KTN2N = {"network": "n2n", "sentences": "keytags", "hops": 5, "width": 64}

KEY_TAGS = Experiment(
    name="goal_dialogue/key-tags",
    title="Key tags beside the words",
    rows={
        "ktn2n": KTN2N,
        "ktn2n-half": {**KTN2N, "tagger": "letters"},
        "ktn2n-context": {**KTN2N, "tagger": "context"},
    },
    scales=scales(1, 2, 3, 4, 5),
    data=BOTH,
    run=run_networks,
    resolve=resolve,
    version=data_version,
)

TAG_VARIANTS = Experiment(
    name="goal_dialogue/key-tag-variants",
    title="Key tags on full dialogues: number of hops, other uses of tags, no API results",
    rows={
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
    data=BOTH,
    run=run_networks,
    resolve=resolve,
    version=data_version,
)

SWAPPED = Experiment(
    name="goal_dialogue/swapped",
    title="Phone numbers and addresses, trained on the validation dialogues",
    rows={
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
    data=BOTH,
    run=run_networks,
    resolve=resolve,
    version=data_version,
)

# Vectors trained beforehand (section 4.1) -------------------------------------------------------------------

PARAGRAPHS = Experiment(
    name="goal_dialogue/paragraphs",
    title="Paragraph vectors instead of words",
    rows={
        "dbow": {"network": "n2n", "sentences": "paragraphs", "hops": 8},
        "dbow-external": {"network": "n2n", "sentences": "paragraphs", "corpus": "external", "hops": 8},
    },
    scales=scales(1, 2, 3, 4, 5, 6),
    data=BOTH,
    run=run_networks,
    resolve=resolve,
    version=data_version,
)

WORD2VEC = Experiment(
    name="goal_dialogue/word2vec",
    title="Word vectors initialised with Word2Vec, on full dialogues",
    rows={"random": {"network": "n2n"}, "word2vec": {"network": "n2n", "sentences": "word2vec"}},
    scales={
        "smoke": {"tasks": (5,), "dialogues": 8, "epochs": 1, "embedding_epochs": 2},
        "quick": {"tasks": (5,), "dialogues": 100, "epochs": 10, "embedding_epochs": 20},
        "paper": {"tasks": (5,)},
    },
    data=BOTH,
    run=run_networks,
    resolve=resolve,
    version=data_version,
)

# Few dialogues (section 5.3.5) ------------------------------------------------------------------------------

ADVICE = Experiment(
    name="goal_dialogue/advice",
    title="Fifty dialogues of an advice line",
    rows={
        "n2n": {"network": "n2n"},
        "ktn2n": {"network": "n2n", "sentences": "keytags", "hops": 5},
        "dbow": {"network": "n2n", "sentences": "paragraphs", "hops": 8},
    },
    scales={
        "smoke": {"tasks": (1,), "epochs": 1, "embedding_epochs": 2, "tagger_steps": 20},
        "quick": {"tasks": (1, 2, 3, 5), "epochs": 20, "embedding_epochs": 20, "tagger_steps": 100},
        "paper": {"tasks": (1, 2, 3, 5)},
    },
    data=subset(DATA, "advice"),
    run=run_networks,
    resolve=resolve,
    version=data_version,
)
