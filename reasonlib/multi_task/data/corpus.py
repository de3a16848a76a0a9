"""Where the released sets come from, and which of their files are read.

No checksum of these archives could be verified, so that they are not fetched: unpack them into a folder, each
under its name, and set ``REASONLIB_DATA`` to that folder. A folder ``glue`` around them is allowed; around
the sets of `GLUE` also ``glue_data``, as GLUE's own script calls it.
"""

from collections.abc import Mapping
from dataclasses import replace

from reasonlib import data
from reasonlib.arguments import check_choice
from reasonlib.data import Corpus
from reasonlib.multi_task.data.example import Example
from reasonlib.multi_task.data.glue import TASKS, read_file

__all__ = ["CORPORA", "FILES", "GLUE", "read"]

_GLUE = "https://dl.fbaipublicfiles.com/glue/data"
_STANFORD = "https://nlp.stanford.edu/projects/snli/snli_1.0.zip"
_SCITAIL = "https://ai2-public-datasets.s3.amazonaws.com/scitail/SciTailV1.1.zip"
_WIKIQA = (
    "https://download.microsoft.com/download/E/5/F/E5FCFCEE-7005-4814-853D-DAA7C66507E0/WikiQACorpus.zip"
)

_SOURCES: Mapping[str, tuple[str, str, str, str]] = {
    "cola": (
        "https://nyu-mll.github.io/CoLA/cola_public_1.1.zip", "cola_public", "CoLA/cola_public", "research",
    ),
    "sst2": (f"{_GLUE}/SST-2.zip", "SST-2", "SST-2", "research"),
    "mrpc": (f"{_GLUE}/MRPC.zip", "MRPC", "MRPC", "research"),
    "stsb": (
        "http://ixa2.si.ehu.eus/stswiki/images/4/48/Stsbenchmark.tar.gz", "stsbenchmark", "STS-B",
        "scores CC BY-SA 4.0",
    ),
    "rte": (f"{_GLUE}/RTE.zip", "RTE", "RTE", "research"),
    "wnli": (f"{_GLUE}/WNLI.zip", "WNLI", "WNLI", "research"),
    "mnli": (f"{_GLUE}/MNLI.zip", "MNLI", "MNLI", "OANC and others"),
    "qqp": (f"{_GLUE}/QQP.zip", "QQP", "QQP", "research"),
    "qnli": (f"{_GLUE}/QNLIv2.zip", "QNLI", "QNLI", "CC BY-SA 4.0"),
    "snli": (_STANFORD, "snli_1.0", "SNLI", "CC BY-SA 4.0"),
    "scitail": (_SCITAIL, "SciTailV1.1", "SciTail", "research"),
    "quora": (f"{_GLUE}/QQP-clean.zip", "Quora", "Quora", "research"),
    "wikiqa": (_WIKIQA, "WikiQACorpus", "WikiQA", "Microsoft Research data licence"),
}  # fmt: skip
"""Set to the address of its archive, the folder in it, its name in GLUE, and its licence."""

FILES: Mapping[str, Mapping[str, str]] = {
    "cola": {
        "train": "raw/in_domain_train.tsv",
        "dev": "raw/in_domain_dev.tsv",
        "test": "raw/out_of_domain_dev.tsv",
    },
    "sst2": {"train": "train.tsv", "dev": "dev.tsv", "test": "test-labeled.tsv"},
    "mrpc": {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"},
    "stsb": {"train": "sts-train.csv", "dev": "sts-dev.csv", "test": "sts-test.csv"},
    "rte": {"train": "train.tsv", "dev": "dev.tsv"},
    "wnli": {"train": "train.tsv", "dev": "dev.tsv"},
    "mnli": {"train": "train.tsv", "dev": "dev_matched.tsv", "test": "dev_mismatched.tsv"},
    "qqp": {"train": "train.tsv", "dev": "dev.tsv"},
    "qnli": {"train": "train.tsv", "dev": "dev.tsv"},
    "snli": {"dev": "dev.txt", "test": "test.txt"},
    "scitail": {"dev": "dev.txt", "test": "test.txt"},
    "quora": {"dev": "dev.txt", "test": "test.txt"},
    "wikiqa": {"train": "train.txt", "dev": "dev.txt", "test": "test.txt"},
}
"""Set to its labelled parts and the file of each. SNLI, SciTail and Quora are read as three columns."""

_SETS: dict[str, Corpus] = {
    task: Corpus(
        name=task,
        url=url,
        sha256=None,
        size=None,
        licence=licence,
        citation="liu2019mtdnn",
        folder=folder,
        aliases=(f"glue/{name}", name),
    )
    for task, (url, folder, name, licence) in _SOURCES.items()
}

GLUE: dict[str, Corpus] = {
    name: replace(
        _SETS[name.partition("-")[0]],
        name=f"glue-{name}",
        url=f"{_GLUE}/{archive}.zip",
        citation="wang2019glue",
        folder=folder,
        aliases=(f"glue/{folder}", f"glue_data/{folder}", *others),
    )
    for name, archive, folder, *others in (
        ("cola", "CoLA", "CoLA", "cola_public"),
        ("sst2", "SST-2", "SST-2"),
        ("mrpc", "MRPC", "MRPC"),
        ("stsb", "STS-B", "STS-B", "stsbenchmark"),
        ("qqp", "QQP", "QQP"),
        ("mnli", "MNLI", "MNLI"),
        ("qnli", "QNLIv2", "QNLI"),
        ("qnli-v1", "QNLI", "QNLI-v1"),  # withdrawn; unpacked under a name of its own beside version 2
        ("rte", "RTE", "RTE"),
        ("wnli", "WNLI", "WNLI"),
    )
}
"""The sets of GLUE as the benchmark splits them; `reasonlib.multi_task.data.benchmark` reads them."""

CORPORA = _SETS | {corpus.name: corpus for corpus in GLUE.values()}


def read(task: str, part: str) -> list[Example]:
    """Read one part of one set from this machine.

    Parameters
    ----------
    task
        A name in `reasonlib.multi_task.data.glue.TASKS`.
    part
        ``train``, ``dev`` or ``test``, as far as the set has it.

    Raises
    ------
    ValueError
        If there is no such set or part.
    DataError
        If the corpus is not on this machine, or a line is malformed.
    """
    check_choice("task", task, TASKS)
    if part not in FILES[task]:
        raise ValueError(f"part of {task} must be one of {', '.join(FILES[task])}, got {part!r}")
    return read_file(task, data.locate(_SETS[task]) / FILES[task][part])
