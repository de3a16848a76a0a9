"""The copying network as a system that answers: from dialogues to responses.

::

    dialogues --learn_language--> words, names, templates
        |                                  |
        +-----------encode-----------------+--> MentionSet --> CopyNetwork
                                                                  |
    candidates --Candidates.make--> derivations ---likelihood-----+--> choose: the best candidate
                                                                  |
                        best template, best name in each gap -----+--> generate: a response of its own

It reads dialogues and their responses in training, and in a test dialogue what was said and what the API
calls returned. It never reads the knowledge base, a list of entities, or their types.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reasonlib.goal_dialogue.data.encode_mentions import encode
from reasonlib.goal_dialogue.data.example import Dialogue, Example, Split, Turn
from reasonlib.goal_dialogue.data.mentions import Candidates, MentionSet, vocabulary_of
from reasonlib.goal_dialogue.data.templates import Language, learn_language
from reasonlib.goal_dialogue.models.copying import CopyConfig, CopyNetwork, CopyNetworkOutput
from reasonlib.training.settings import construct

__all__ = ["Copier", "EncodingConfig", "GeneratedResponse", "build_copier"]


@dataclass(frozen=True, kw_only=True)
class EncodingConfig:
    """How dialogues become mentions; see `templates.learn_language` and `encode_mentions.encode`."""

    repeated: float = 1.0
    common: float = 0.05
    numbers: bool = True  # without: a rating is one more name
    radius: int = 3
    echo: bool = True  # without: what the system says adds no mentions


class GeneratedResponse(NamedTuple):
    """A response that was not chosen from candidates.

    Attributes
    ----------
    text, template
        The best template with the best name in each gap, and with open gaps.
    names
        For each gap the names mentioned so far, the likeliest first, with their probabilities.
    likelihood
        Log-probability of the text (nats).
    """

    text: str
    template: str
    names: tuple[tuple[tuple[str, float], ...], ...]
    likelihood: float


@dataclass(frozen=True)
class Copier:
    """A copying network with its vocabulary and templates: a `system.System`.

    Attributes
    ----------
    model
        Trained, or to be trained.
    language
        Words, names and templates of the training set.
    encoding
        How dialogues become mentions.
    candidates
        What it chooses from; without, it generates.
    made
        How a bundled one was trained.
    """

    model: CopyNetwork
    language: Language
    encoding: EncodingConfig
    candidates: Candidates | None = None
    made: Mapping[str, Any] | None = None

    def encode(self, dialogues: Sequence[Dialogue]) -> MentionSet:
        """Encode dialogues as this network reads them."""
        return encode(dialogues, self.language, radius=self.encoding.radius, echo=self.encoding.echo)

    def _forward(
        self, turns: MentionSet, batch_size: int = 64
    ) -> Iterator[tuple[list[int], CopyNetworkOutput]]:
        """Run the network on all turns, those with equally many mentions together."""
        device = self.model.word.device
        order = np.argsort(turns.lengths, kind="stable").tolist()
        training = self.model.training
        self.model.eval()
        with torch.no_grad():
            for start in range(0, len(order), batch_size):
                items = order[start : start + batch_size]
                yield items, self.model(turns.batch(items, slots=self.model.config.slots).to(device))
        self.model.train(training)

    def scores(self, turns: MentionSet) -> Iterator[tuple[list[int], Tensor]]:
        """Score all candidates: indices of some turns, log-probabilities (B, C) in nats.

        Raises
        ------
        ValueError
            If it was given no candidates.
        """
        if self.candidates is None:
            raise ValueError("scores needs candidates to choose from, got none")
        device = self.model.word.device
        template = torch.from_numpy(self.candidates.template).to(device)
        fillers = torch.from_numpy(self.candidates.fillers).to(device)
        for items, output in self._forward(turns):
            numbers = turns.numbers(items, self.candidates.names).to(device)
            yield (
                items,
                self.model.likelihood(output, template.expand(len(items), -1, -1), numbers[:, fillers]),
            )

    def choose(self, turns: MentionSet) -> list[str]:
        """Give the likeliest candidate at every turn."""
        answers = [""] * len(turns)
        for items, scores in self.scores(turns):
            for item, best in zip(items, scores.argmax(1).tolist(), strict=True):
                answers[item] = self.candidates.texts[best]  # type: ignore[union-attr]
        return answers

    def generate(self, turns: MentionSet, *, names: int = 5) -> list[GeneratedResponse]:
        """Respond at every turn without candidates: the best template, its gaps filled.

        Parameters
        ----------
        turns
            From `encode`.
        names
            How many names to list for each gap.
        """
        responses: list[GeneratedResponse | None] = [None] * len(turns)
        first_gap = self.model.first.tolist()
        for items, output in self._forward(turns):
            for row, item in enumerate(items):
                mentioned = turns.names(item)
                responses[item] = self._response(output, row, mentioned, first_gap, names)
        return [response for response in responses if response is not None]

    def _response(
        self,
        output: CopyNetworkOutput,
        row: int,
        mentioned: tuple[str, ...],
        first_gap: list[int],
        names: int,
    ) -> GeneratedResponse:
        possible = [not gaps or bool(mentioned) for gaps in self.language.gaps]
        template_scores = output.templates[row].masked_fill(~torch.tensor(possible), -torch.inf)
        template = int(template_scores.argmax())
        likelihood = float(template_scores[template])
        fillers = []
        for gap in range(self.language.gaps[template]):
            scores, numbers = output.names[row, first_gap[template] + gap].topk(min(names, len(mentioned)))
            fillers.append(
                tuple(
                    (mentioned[number - 1], share)
                    for number, share in zip(numbers.tolist(), scores.exp().tolist(), strict=True)
                )
            )
            likelihood += float(scores[0])
        text = self.language.write(template, [best[0][0] for best in fillers])
        return GeneratedResponse(text, self.language.write(template), tuple(fillers), likelihood)

    def _turns(self, examples: Sequence[Example]) -> tuple[MentionSet, np.ndarray]:
        """Encode examples as dialogues; also give the index of each example's turn."""
        turns = self.encode(
            [
                Dialogue(task=example.task, events=(*example.history, Turn(example.user, "")))
                for example in examples
            ]
        )
        return turns, np.flatnonzero(np.diff(turns.dialogues, append=len(examples)))

    def answer(self, examples: Sequence[Example]) -> list[str]:
        """Give the response to each example: the best candidate, or a generated one if it has none."""
        answers: list[str] = []
        for start in range(0, len(examples), 256):
            turns, last = self._turns(examples[start : start + 256])
            turns = turns.take(last)
            answers += self.choose(turns) if self.candidates else [each.text for each in self.generate(turns)]
        return answers

    def ask(self, example: Example) -> GeneratedResponse:
        """Generate the response to one example, with the probability of each name."""
        turns, last = self._turns([example])
        return self.generate(turns.take(last))[0]


def build_copier(
    split: Split, settings: Mapping[str, Any] | None = None, *, seed: int = 0
) -> tuple[Copier, dict[str, MentionSet]]:
    """Learn the language of a training set, encode all sets, make the network.

    Parameters
    ----------
    split
        Its candidates are what the network chooses from. Its knowledge base is not read.
    settings
        Fields of `EncodingConfig` and `CopyConfig` that differ from the defaults;
        ``name_embeddings`` is true or false.
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
    encoding = construct(EncodingConfig, settings)
    language = learn_language(
        split.train,
        repeated=encoding.repeated,
        common=encoding.common,
        numbers=encoding.numbers,
    )
    name_embeddings = len(language.names) if settings.pop("name_embeddings", False) else 0
    config = construct(
        CopyConfig,
        settings,
        vocabulary=len(vocabulary_of(language)),
        gaps=language.gaps,
        name_embeddings=name_embeddings,
    )
    model = CopyNetwork(config, seed=seed)
    copier = Copier(model, language, encoding, Candidates.make(split.candidates, language))
    sets = {"train": split.train, "valid": split.valid, "test": split.test, "oov": split.oov}
    return copier, {name: copier.encode(dialogues) for name, dialogues in sets.items() if dialogues}
