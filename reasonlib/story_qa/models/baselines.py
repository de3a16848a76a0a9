"""What a memory network must beat: counting, a bag of words, an LSTM.

Sources: Weston et al. (2015), section 4 (LSTM, n-gram classifier); Hochreiter and Schmidhuber (1997).

Axes: B questions, T words of story and question, V words, D width.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from reasonlib.story_qa.data.encoding import Batch, answer_token
from reasonlib.story_qa.data.example import Example

__all__ = ["BagOfWords", "MostFrequent", "StoryLSTM"]


@dataclass(frozen=True)
class MostFrequent:
    """Always give the commonest training answer to the question's form.

    The form is the question's first two words, which is all that a reader who skips the story could go by:
    "where is" is answered by a place, "how many" by a number.
    """

    answers: dict[str, str]
    otherwise: str

    @classmethod
    def fit(cls, examples: Iterable[Example]) -> "MostFrequent":
        """Count the answers of each form of question; equal counts are settled by the alphabet."""
        counts: dict[str, Counter[str]] = {}
        total: Counter[str] = Counter()
        for example in examples:
            token = answer_token(example.answer)
            counts.setdefault(cls.form(example.question), Counter())[token] += 1
            total[token] += 1

        def commonest(counter: Counter[str]) -> str:
            return min(counter, key=lambda token: (-counter[token], token))

        return cls({form: commonest(counter) for form, counter in counts.items()}, commonest(total))

    @staticmethod
    def form(question: str) -> str:
        """Give the first two words of a question.

        >>> MostFrequent.form("Where is Mary?")
        'where is'
        """
        return " ".join(question.lower().split()[:2])

    def answer(self, example: Example) -> str:
        """Answer without reading the story."""
        return self.answers.get(self.form(example.question), self.otherwise)


class BagOfWords(nn.Module):
    r"""A two-layer classifier of unordered words, :math:`W_2\,\mathrm{relu}(W_1[s; q])`.

    `s` counts the words of the whole story and `q` those of the question, so neither order nor time is left.

    Parameters
    ----------
    vocabulary, width
        V and D.
    """

    def __init__(self, vocabulary: int, width: int = 64) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * vocabulary, width)
        self.answer = nn.Linear(width, vocabulary)

    def forward(self, batch: Batch) -> Float[Tensor, "B V"]:
        """Score every answer; the batch's sentences must be encoded as plain bags."""
        counts = batch.sentences[:, 0]  # (U, V)
        shares = counts.new_zeros(len(batch), len(counts))
        story = shares.scatter_add(1, batch.story, batch.filled.to(counts.dtype)) @ counts  # (B, V)
        return self.answer(self.hidden(torch.cat([story.log1p(), counts[batch.question]], dim=1)).relu())


class StoryLSTM(nn.Module):
    """Read story and question word by word, answer from the last state.

    Parameters
    ----------
    vocabulary, width
        V and D; words and state have the same width.
    """

    def __init__(self, vocabulary: int, width: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.read = nn.LSTM(width, width, batch_first=True)
        self.answer = nn.Linear(width, vocabulary)

    def forward(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B V"]:
        """Score every answer.

        Parameters
        ----------
        tokens
            The words of the story, oldest first, then those of the question; padded with 0 at the end.
        lengths
            Words in each row.
        """
        packed = nn.utils.rnn.pack_padded_sequence(
            self.words(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        _, (state, _) = self.read(packed)
        return self.answer(state[-1])
