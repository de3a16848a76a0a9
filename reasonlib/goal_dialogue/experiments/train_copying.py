"""Past the out-of-vocabulary wall: the copying network trained, measured, shipped.

::

    dialogues --learn_language--> words, names, templates
        |                                  |
        +-----------encode-----------------+--> MentionSet --learn--> CopyNetwork
                                                                         |
    candidates --Candidates.make--> ways to say each -----likelihood-----+--> the best candidate
                                                                         |
                                    best template, best name in each gap +--> a response of its own

What it uses of a training set: dialogues and their responses. What it uses of a test dialogue: what was said
and what the API calls brought back. Never the knowledge base, a list of entities, or their types.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from reasonlib import training
from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data.encode_mentions import Batch, Candidates, MentionSet, encode, vocabulary_of
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Split, Turn
from reasonlib.goal_dialogue.data.templates import Language, learn_language
from reasonlib.goal_dialogue.models.copying import CopyConfig, CopyNetwork, Spoken
from reasonlib.training.batching import LengthBuckets
from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata

__all__ = [
    "PARTS",
    "SHIPPED",
    "Copier",
    "CopyRecipe",
    "Listening",
    "Response",
    "build",
    "learn",
    "load_copier",
    "measure",
    "save_copier",
    "ship",
]

SHIPPED = Path(__file__).parents[1] / "weights" / "copying.safetensors"
"""The network trained on task 5 that travels with the library."""

PARTS: Mapping[str, Mapping[str, Any]] = {
    "copying": {},
    "own vectors": {"own": True},
    "no company": {"radius": 0},
    "no recency": {"ages": 1},
    "deaf to names beside": {"rounds": 1},
    "deaf to itself": {"echo": False},
    "no numbers": {"numbers": False},
}
"""The model and its ablations: the settings that differ from the defaults.

``own vectors`` gives each name heard in training a vector of its own in place of its company, as every other
network of this topic does.
"""


@dataclass(frozen=True, kw_only=True)
class Listening:
    """How dialogues are taken apart; see `templates.learn_language` and `mentions.encode`."""

    repeated: float = 1.0
    common: float = 0.05
    numbers: bool = True  # without: a rating is one more name
    radius: int = 3
    echo: bool = True  # without: it does not hear what it says itself


@dataclass(frozen=True, kw_only=True)
class CopyRecipe:
    """How the network is trained.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    epochs: int = 6
    batch_size: int = 32
    lr: float = 0.005
    clip: float = 10.0  # greatest norm of all gradients

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")

    def config(self, *, seed: int = 0, minutes: float | None = None) -> training.TrainingConfig:
        """Translate into the settings of the common training loop: Adam, its rate falling to zero."""
        return training.TrainingConfig(
            epochs=self.epochs, lr=self.lr, schedule="linear", clip=self.clip, seed=seed, minutes=minutes
        )


class Response(NamedTuple):
    """What the network says of its own accord.

    Attributes
    ----------
    text
        The best template with the best name in each gap.
    template
        The template written out, with open gaps.
    names
        For each gap the names heard, the likeliest first, with their probabilities.
    likelihood
        Log-probability of the text (nats).
    """

    text: str
    template: str
    names: tuple[tuple[tuple[str, float], ...], ...]
    likelihood: float


@dataclass(frozen=True)
class Copier:
    """A network with the language it speaks: a `evaluation.System` once it is given candidates.

    Attributes
    ----------
    model
        Trained, or to be trained.
    language
        Words, names and templates of the training set.
    listening
        How dialogues are taken apart.
    candidates
        What it chooses from; without, it speaks freely.
    made
        How a shipped one was trained.
    """

    model: CopyNetwork
    language: Language
    listening: Listening
    candidates: Candidates | None = None
    made: Mapping[str, Any] | None = None

    def encode(self, dialogues: Sequence[Dialogue]) -> MentionSet:
        """Write dialogues down as this network reads them."""
        return encode(dialogues, self.language, radius=self.listening.radius, echo=self.listening.echo)

    def _ask(self, turns: MentionSet, size: int = 64) -> Iterator[tuple[list[int], Spoken]]:
        """Go through all turns, those with as many mentions together."""
        where = self.model.word.device
        order = np.argsort(turns.lengths, kind="stable").tolist()
        training_before = self.model.training
        self.model.eval()
        with torch.no_grad():
            for start in range(0, len(order), size):
                items = order[start : start + size]
                yield items, self.model(turns.batch(items, slots=self.model.config.slots).to(where))
        self.model.train(training_before)

    def scores(self, turns: MentionSet) -> Iterator[tuple[list[int], Tensor]]:
        """Score all candidates: numbers of some turns, log-probabilities (B, C) in nats.

        Raises
        ------
        ValueError
            If it was given no candidates.
        """
        if self.candidates is None:
            raise ValueError("scores needs candidates to choose from, got none")
        where = self.model.word.device
        template = torch.from_numpy(self.candidates.template).to(where)
        fillers = torch.from_numpy(self.candidates.fillers).to(where)
        for items, spoken in self._ask(turns):
            number = turns.numbers(items, self.candidates.names).to(where)
            yield (
                items,
                self.model.likelihood(spoken, template.expand(len(items), -1, -1), number[:, fillers]),
            )

    def choose(self, turns: MentionSet) -> list[str]:
        """Give the likeliest candidate at every turn."""
        given = [""] * len(turns)
        for items, scores in self.scores(turns):
            for item, best in zip(items, scores.argmax(1).tolist(), strict=True):
                given[item] = self.candidates.texts[best]  # type: ignore[union-attr]
        return given

    def speak(self, turns: MentionSet, *, names: int = 5) -> list[Response]:
        """Say something at every turn without any candidates: the best template, its gaps filled."""
        given: list[Response | None] = [None] * len(turns)
        first = self.model.first.tolist()
        for items, spoken in self._ask(turns):
            for row, item in enumerate(items):
                heard = turns.names(item)
                given[item] = self._response(spoken, row, heard, first, names)
        return [one for one in given if one is not None]

    def _response(
        self, spoken: Spoken, row: int, heard: tuple[str, ...], first: list[int], names: int
    ) -> Response:
        sayable = [not gaps or bool(heard) for gaps in self.language.gaps]
        chances = spoken.templates[row].masked_fill(~torch.tensor(sayable), -torch.inf)
        template = int(chances.argmax())
        likelihood = float(chances[template])
        told = []
        for gap in range(self.language.gaps[template]):
            chance, number = spoken.names[row, first[template] + gap].topk(min(names, len(heard)))
            told.append(
                tuple((heard[n - 1], c) for n, c in zip(number.tolist(), chance.exp().tolist(), strict=True))
            )
            likelihood += float(chance[0])
        text = self.language.write(template, [best[0][0] for best in told])
        return Response(text, self.language.write(template), tuple(told), likelihood)

    def _turns(self, examples: Sequence[Example]) -> tuple[MentionSet, np.ndarray]:
        turns = self.encode(
            [Dialogue(task=one.task, events=(*one.history, Turn(one.user, ""))) for one in examples]
        )
        return turns, np.flatnonzero(np.diff(turns.dialogues, append=len(examples)))

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example: the best candidate, or free speech where it has none."""
        given: list[str] = []
        for start in range(0, len(examples), 256):
            turns, last = self._turns(examples[start : start + 256])
            turns = turns.take(last)
            given += self.choose(turns) if self.candidates else [one.text for one in self.speak(turns)]
        return given

    def ask(self, example: Example) -> Response:
        """Say what it would say to one example, and how sure it is of each name."""
        turns, last = self._turns([example])
        return self.speak(turns.take(last))[0]


def _pick(kind: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in settings.items() if name in names}


def build(
    split: Split, settings: Mapping[str, Any] | None = None, *, seed: int = 0
) -> tuple[Copier, dict[str, MentionSet]]:
    """Learn the language of a training set, write all sets down, make the network.

    Parameters
    ----------
    split
        Its candidates are what the network chooses from. Its knowledge base is not read.
    settings
        Fields of `Listening` and `CopyConfig` that differ from the defaults; ``own`` is true or false.
    seed
        Draws the first weights.

    Returns
    -------
    Copier
        With candidates, untrained.
    dict
        ``train``, ``valid``, ``test`` and, where there is one, ``oov``.
    """
    settings = dict(settings or {})
    listening = Listening(**_pick(Listening, settings))
    language = learn_language(
        split.train,
        repeated=listening.repeated,
        common=listening.common,
        numbers=listening.numbers,
    )
    own = len(language.names) if settings.pop("own", False) else 0
    config = CopyConfig(
        vocabulary=len(vocabulary_of(language)),
        gaps=language.gaps,
        own=own,
        **_pick(
            CopyConfig,
            {name: value for name, value in settings.items() if name not in ("vocabulary", "gaps")},
        ),
    )
    copier = Copier(
        CopyNetwork(config, seed=seed), language, listening, Candidates.make(split.candidates, language)
    )
    parts = {"train": split.train, "valid": split.valid, "test": split.test, "oov": split.oov}
    return copier, {name: copier.encode(dialogues) for name, dialogues in parts.items() if dialogues}


def surprise(model: CopyNetwork, batch: Batch) -> Tensor:
    """Mean negative log-probability of the responses (nats) over those that can be said."""
    chance = model.likelihood(model(batch), batch.template.unsqueeze(1), batch.fillers.unsqueeze(1)).squeeze(
        1
    )
    sayable = chance > torch.finfo(chance.dtype).min
    return -torch.where(sayable, chance, 0.0).sum() / sayable.sum().clamp(min=1)


def learn(
    copier: Copier,
    sets: Mapping[str, MentionSet],
    recipe: CopyRecipe | None = None,
    *,
    seed: int = 0,
    minutes: float | None = None,
    checkpoint: Path | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> training.History:
    """Train the network in place on ``sets["train"]``, end to end, from dialogues and responses alone.

    Parameters
    ----------
    copier, sets
        From `build`.
    recipe
        Epochs, batch size, rate.
    seed
        Orders the turns.
    minutes, checkpoint, progress, on_epoch
        As in `reasonlib.training.fit`.

    Returns
    -------
    History
        One row an epoch: the loss, in nats a response.
    """
    recipe = recipe or CopyRecipe()
    turns, model = sets["train"], copier.model
    buckets = LengthBuckets(turns.lengths.tolist(), batch_size=recipe.batch_size, seed=seed)
    where = model.word.device

    def batches(epoch: int) -> Iterator[Batch]:
        for items in buckets.plan(epoch):
            yield turns.batch(items, slots=model.config.slots).to(where)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        assert isinstance(model, CopyNetwork)
        return surprise(model, batch)

    return training.fit(
        model,
        batches,
        loss=loss,
        config=recipe.config(seed=seed, minutes=minutes),
        monitor="loss",
        mode="min",
        checkpoint=checkpoint,
        identity={"recipe": repr(recipe), "model": repr(model.config), "turns": len(turns)},
        steps_per_epoch=len(buckets),
        on_epoch=on_epoch,
        progress=progress,
    )


def measure(copier: Copier, turns: MentionSet, *, free: bool = False) -> dict[str, float]:
    """Count right responses and right dialogues, as `evaluation.accuracy` does.

    Parameters
    ----------
    copier
        Trained.
    turns
        From `build` or `Copier.encode`.
    free
        Let it speak without candidates.

    Returns
    -------
    dict
        ``per_response`` and ``per_dialogue``, fractions.
    """
    given = [one.text for one in copier.speak(turns)] if free else copier.choose(turns)
    right = np.asarray([a == b for a, b in zip(given, turns.responses, strict=True)])
    whole = np.ones(int(turns.dialogues.max()) + 1, dtype=bool)
    np.logical_and.at(whole, turns.dialogues, right)
    asked = np.bincount(turns.dialogues, minlength=len(whole)) > 0
    return {"per_response": float(right.mean()), "per_dialogue": float(whole[asked].mean())}


# Shipping ---------------------------------------------------------------------------------------------------

KIND = "reasonlib copying network"


def save_copier(copier: Copier, path: str | Path, made: Mapping[str, Any], *, half: bool = True) -> Path:
    """Write a network with its language as one safetensors file: whole, or not at all.

    Parameters
    ----------
    copier
        Trained; its candidates are not written.
    path
        The file.
    made
        How it was trained: anything JSON can hold.
    half
        Store 16 bits a number.
    """
    about = {
        "kind": KIND,
        "config": asdict(copier.model.config),
        "listening": asdict(copier.listening),
        "words": list(copier.language.words),
        "templates": [list(template) for template in copier.language.templates],
        "made": dict(made),
    }
    return save_weights(path, copier.model, half=half, metadata=about)


def load_copier(path: str | Path | None = None, *, candidates: Sequence[str] | None = None) -> Copier:
    """Read what `save_copier` wrote.

    Parameters
    ----------
    path
        The file; by default the network that ships with this library.
    candidates
        What it is to choose from; without, it speaks freely.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = SHIPPED if path is None else Path(path)
    if not path.is_file():
        remedy = "install the library again" if path == SHIPPED else "give the path that save_copier wrote"
        raise UserError(f"there is no copying network at {path}; {remedy}")
    about: dict[str, Any] = dict(weights_metadata(path))
    if about.get("kind") != KIND:
        raise UserError(f"{path}: holds no copying network; give the path that save_copier wrote")
    try:
        about |= {
            name: json.loads(about[name]) for name in ("config", "listening", "words", "templates", "made")
        }
        language = Language(
            words=tuple(about["words"]),
            names=(),
            templates=tuple(tuple(template) for template in about["templates"]),
        )
        model = CopyNetwork(CopyConfig(**about["config"]))
        model.load_state_dict({name: tensor.float() for name, tensor in load_weights(path).items()})
        listening = Listening(**about["listening"])
        if len(vocabulary_of(language)) != model.config.vocabulary:
            raise ValueError(f"{len(language.words)} words for {model.config.vocabulary} rows")
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
        raise UserError(f"{path}: a damaged copying network ({line}); make it again") from error
    chosen = None if candidates is None else Candidates.make(candidates, language)
    return Copier(model.eval(), language, listening, chosen, about["made"])


def ship(path: str | Path | None = None, *, seed: int = 0) -> Path:
    """Train on task 5 of the released set, measure, and write the network that travels with the library.

    Parameters
    ----------
    path
        Where to; by default in place of the one that is there.
    seed
        Of weights and order.
    """
    from reasonlib.goal_dialogue.data import datasets as sets

    copier, parts = build(sets.load("dialog-babi", 5), seed=seed)
    history = learn(copier, parts, seed=seed)
    made = {
        "command": f"python -c 'from reasonlib.goal_dialogue import wall; wall.ship(seed={seed})'",
        "data": "dialog-babi, task 5",
        "steps": history.steps_done,
        **{
            f"{part}.{name}": value
            for part in ("test", "oov")
            for name, value in measure(copier, parts[part]).items()
        },
    }
    return save_copier(copier, SHIPPED if path is None else path, made)
