"""The baseline that reads nothing but the module: its most frequent answer in training."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from reasonlib.maths_qa.data.encoding import Encoded

__all__ = ["most_frequent"]


def most_frequent(train: Encoded, problems: Encoded) -> list[str]:
    """Answer each problem with the most frequent training answer of its module.

    Of equally frequent answers the first in alphabetical order is taken.
    """
    counts: Mapping[str, Counter[str]] = defaultdict(Counter)
    for item, number in enumerate(train.module.tolist()):
        counts[train.modules[number]][train.answer(item)] += 1
    best = {
        module: min(answers, key=lambda text: (-answers[text], text)) for module, answers in counts.items()
    }
    return [best.get(problems.modules[number], "") for number in problems.module.tolist()]
