"""Tables of the chapter on out-of-vocabulary names, from records or from networks that the page trained."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reasonlib.display import results
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Split, Turn
from reasonlib.goal_dialogue.data.templates import learn_language
from reasonlib.goal_dialogue.experiments import analysis, train_copying
from reasonlib.goal_dialogue.page import chat

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["accuracy", "bound", "losses", "mentions", "moves", "ranks", "renamed", "replies", "unsaid"]


def renamed(dialogue: Dialogue) -> Dialogue:
    """Replace the cuisine and the city of a dialogue of task 1 by invented words."""
    query = dialogue.turns[-1].bot.split()  # api_call cuisine city number price
    names = {query[1]: "bla0", query[2]: "bla1"}

    def rename(text: str) -> str:
        return " ".join(names.get(word, word) for word in text.split())

    return replace(
        dialogue, events=tuple(Turn(rename(turn.user), rename(turn.bot)) for turn in dialogue.turns)
    )


def bound() -> "pd.DataFrame":
    """The bound for word vectors, and what three networks reach, by task."""
    import pandas as pd

    systems = {
        "the bound": ("goal_dialogue/ceiling", "train"),
        "N2N": ("goal_dialogue/networks", "n2n"),
        "GN2N": ("goal_dialogue/networks", "gn2n"),
        "UN2N": ("goal_dialogue/networks", "un2n"),
    }
    metrics = {f"task{number}": f"task {number}" for number in range(1, 6)}
    metrics |= {f"oov{number}": f"task {number}, OOV" for number in range(1, 6)}
    columns = {}
    for name, (experiment, row) in systems.items():
        group = results.best(experiment, row)
        shares = {label: group.summary(metric) for metric, label in metrics.items()}
        columns[name] = {label: f"{share.mean:.3f}" if share else "–" for label, share in shares.items()}
        columns[name]["runs"] = str(len(group.records))
        columns[name]["measured"] = f"{group.scale}, {group.data.kind}"
    return pd.DataFrame(columns)


def unsaid(splits: Iterable[Split]) -> "pd.DataFrame":
    """Count test responses by kind, and those with a word that the system never says in training."""
    import pandas as pd

    rows = []
    for split in splits:
        train_words = {word for talk in split.train for turn in talk.turns for word in turn.bot.split()}
        language = learn_language(split.train)
        for talk in split.test:
            for turn in talk.turns:
                ways = language.derive(turn.bot)
                rows.append(
                    {
                        "task": talk.task,
                        "response": language.write(ways[0].template) if ways else turn.bot,
                        "turns": 1,
                        "with a new word": not train_words.issuperset(turn.bot.split()),
                    }
                )
    counts = pd.DataFrame(rows).groupby(["task", "response"]).sum()
    return counts.sort_values(["task", "with a new word", "turns"], ascending=[True, False, False])


def ranks(examples: Sequence[Example], answers: Sequence[str]) -> "pd.DataFrame":
    """Set the share of right offers beside that of a random pick, by the rank of the right restaurant."""
    import pandas as pd

    lines = [
        {
            "rank of the right one": group.name,
            "turns": group.turns,
            "right": group.right,
            "by chance": group.chance,
        }
        for group in analysis.by_rank(examples, answers)
    ]
    return pd.DataFrame(lines).set_index("rank of the right one").round(3)


def moves(split: Split, task: Any, moved: np.ndarray) -> "pd.DataFrame":
    """Say how far word vectors moved in training: of words that a training response has, and of others.

    Parameters
    ----------
    split
        The dialogues.
    task
        The same, encoded.
    moved
        How each word's vector changed, shape (V, D).
    """
    import pandas as pd

    train_words = {word for talk in split.train for turn in talk.turns for word in turn.bot.split()}
    words = {word for candidate in task.candidates for word in candidate.split()}
    lines = {}
    for label, chosen in (("in a training response", words & train_words), ("in none", words - train_words)):
        steps = moved[[task.vocabulary.id_of(word) for word in sorted(chosen)]]
        each = np.linalg.norm(steps, axis=1).mean()
        lines[label] = {
            "words": len(chosen),
            "mean move": each,
            "length of the mean / mean length": np.linalg.norm(steps.mean(0)) / each,
        }
    return pd.DataFrame(lines).T.astype({"words": int}).round(2)


def losses() -> "pd.DataFrame":
    """What each change of the copying network costs on OOV entities."""
    import pandas as pd

    removed = {
        "a vector for each name": "own-vectors",
        "no context": "no-context",
        "no recency": "no-recency",
        "one round": "one-round",
        "no names from the system": "no-echo",
        "ratings as names": "no-numbers",
    }
    groups = {
        name: results.best("goal_dialogue/copying", row, data="dialog-babi")
        for name, row in {"whole": "copying", **removed}.items()
    }
    means = {
        name: summary.mean for name, group in groups.items() if (summary := group.summary("oov")) is not None
    }
    lines = {}
    for name in removed:
        loss = means["whole"] - means[name]
        lines[name] = {
            "loss": f"{loss:.3f}" if loss >= 0.0005 else "none",
            "runs": len(groups[name].records),
            "measured": f"{groups[name].scale}, {groups[name].data.kind}",
        }
    return pd.DataFrame(lines).T


def accuracy(copier: Any, parts: Mapping[str, Any]) -> "pd.DataFrame":
    """The share of right responses, and of whole dialogues, of a copying network on both test sets.

    Parameters
    ----------
    copier, parts
        From `models.copier.build_copier`, trained.
    """
    import pandas as pd

    columns = {"per_response": "responses", "per_dialogue": "whole dialogues"}
    sides = {"known entities": "test", "OOV entities": "oov"}
    measured = {side: train_copying.evaluate_copier(copier, parts[part]) for side, part in sides.items()}
    return pd.DataFrame(measured).T.rename(columns=columns).round(3)


def mentions(copier: Any, example: Example) -> "pd.DataFrame":
    """What each mention of the restaurant that is offered adds to its score, in nats."""
    import pandas as pd

    offered = copier.ask(example).text.split()[-1]
    first = f"mention of {offered}"
    lines = [
        {first: mention.window, "adds (nats)": mention.score}
        for mention in analysis.evidence(copier, example)
        if mention.name == offered
    ]
    return pd.DataFrame(lines).round(1).set_index(first)


def replies(
    systems: Mapping[str, Callable[[], chat.Conversation]], requests: Sequence[str]
) -> "pd.DataFrame":
    """What each system replies to each request, right after the greeting.

    Parameters
    ----------
    systems
        What opens a conversation with each.
    requests
        What the user says.
    """
    import pandas as pd

    texts: dict[str, list[str]] = {name: [] for name in systems}
    for name, begin in systems.items():
        for request in requests:
            conversation = begin()
            conversation.say("hi")
            texts[name].append(conversation.say(request)[-1].text)
    return pd.DataFrame(texts, index=list(requests))
