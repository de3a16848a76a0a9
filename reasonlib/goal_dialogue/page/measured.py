"""Charts of the chapters on words and on out-of-vocabulary names, from records; each names its runs."""

from collections.abc import Mapping

from reasonlib.display import plotting, results
from reasonlib.goal_dialogue.page.bars import right_responses

__all__ = [
    "ablations",
    "key_tag_variants",
    "key_tags_and_bound",
    "networks_on_oov",
    "rewording",
    "swapped",
    "taggers",
]

TAG_USES = {
    "hops-5": "beside, with T",
    "sum": "added",
    "multiply": "multiplied",
    "numbers": "bare numbers beside",
    "sentence": "one for a sentence",
    "no-results": "beside, no API results",
}
"""Row of the variants to how it uses the tags."""


def taggers() -> plotting.Picture:
    """The share of words that three taggers give the right type, for seen words and unseen ones by type."""
    unseen = ("cuisine", "location", "restaurant", "phone", "address")
    return results.by_metric(
        {
            "from letters": "goal_dialogue/taggers:letters",
            "from the sentence": "goal_dialogue/taggers:context",
            "from letters, whole knowledge base": "goal_dialogue/taggers:letters-all",
        },
        {"all seen words": "seen"} | {f"unseen: {kind}": f"{kind}.unseen" for kind in unseen},
        unit="share of words that get the right type",
        data="dialog-babi",
    )


def key_tag_variants() -> plotting.Picture:
    """Full dialogues with each way to use the tags."""
    return right_responses(
        "goal_dialogue/key-tag-variants", 5, TAG_USES, only=tuple(TAG_USES), caption="Every bar"
    )


def swapped() -> plotting.Picture:
    """Task 4 for networks that were trained on the training or on the validation dialogues."""
    names = {"n2n": "N2N", "ktn2n": "KTN2N"}
    swapped = {f"{row}-swapped": f"{name}, from validation" for row, name in names.items()}
    return right_responses("goal_dialogue/swapped", 4, names | swapped, caption="Every bar")


def _on_oov(rows: Mapping[str, str]) -> plotting.Picture:
    """Draw the share of right responses on OOV entities, by task, of rows named as for `by_metric`."""
    tasks = {f"task {number}": f"oov{number}" for number in range(1, 6)}
    return results.by_metric(rows, tasks, unit="share of right responses, OOV entities")


def key_tags_and_bound() -> plotting.Picture:
    """KTN2N on OOV entities, beside the share of responses whose words the system said in training."""
    return _on_oov(
        {
            "words all said in training": "goal_dialogue/ceiling:train",
            "KTN2N": "goal_dialogue/key-tags:ktn2n",
        }
    )


def networks_on_oov() -> plotting.Picture:
    """Two memory networks and the copying network on OOV entities, by task."""
    return _on_oov(
        {
            "N2N": "goal_dialogue/networks:n2n",
            "UN2N with match": "goal_dialogue/networks:un2n-match",
            "copying": "goal_dialogue/copying:restarts",
        }
    )


def ablations() -> plotting.Picture:
    """The copying network on OOV entities, whole and with one part removed, by task."""
    return _on_oov(
        {
            "whole": "goal_dialogue/copying:copying",
            "a vector for each name": "goal_dialogue/copying:own-vectors",
            "no context": "goal_dialogue/copying:no-context",
            "no recency": "goal_dialogue/copying:no-recency",
            "one round": "goal_dialogue/copying:one-round",
            "no names from the system": "goal_dialogue/copying:no-echo",
        }
    )


def rewording() -> plotting.Picture:
    """The copying network with and without reworded dialogues in training, on released and reworded ones."""
    return results.by_metric(
        {
            "released wording only": "goal_dialogue/bundle-copying:released-words",
            "reworded dialogues too": "goal_dialogue/bundle-copying:copying",
        },
        {
            "as released": "free.task5",
            "as released, OOV entities": "free.oov5",
            "reworded": "reworded.task5",
            "reworded, OOV entities": "reworded.oov5",
        },
        unit="share of right responses, task 5",
    )
