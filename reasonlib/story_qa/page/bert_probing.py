"""What the chapter on BERT asks its trained models: hidden words, attention, and answers to changed input.

Each function measures the models that the page has just trained, and draws what it measured.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from reasonlib.display import plotting
from reasonlib.story_qa.data.encoding import StorySet
from reasonlib.story_qa.data.example import Example
from reasonlib.story_qa.data.masking import tell_with_answers
from reasonlib.story_qa.data.simulator import simulate
from reasonlib.story_qa.data.tokens import PairSet, StoryTokens
from reasonlib.story_qa.experiments import probes
from reasonlib.story_qa.experiments.finetune import accuracy, predict_answers
from reasonlib.story_qa.experiments.metrics import attention_on_support
from reasonlib.story_qa.models.bert import AnswerReader
from reasonlib.story_qa.page.figures import labels
from reasonlib.training.vocabulary import Vocabulary

__all__ = [
    "accuracy_by_task",
    "attention_example",
    "attention_of_cls",
    "changed_input",
    "gap_guesses",
    "guesses_by_kind",
    "longer_stories",
    "neighbours",
    "new_texts",
    "vector_counts",
]

KINDS = {
    "name": ("mary", "john", "sandra", "daniel"),
    "verb": ("went", "moved", "travelled", "journeyed"),
    "to, back, the": ("to", "back", "the"),
    "where, is": ("where", "is"),
}
"""Kinds of words in stories of task 1; the others are places."""


def new_texts(stories: int) -> Callable[[int], list[Example]]:
    """Make a source of new stories of all tasks but 3, as `pretrain.pretrain` asks for them by number."""

    def make(number: int) -> list[Example]:
        return [
            example
            for task in range(1, 21)
            if task != 3
            for example in simulate(task, stories=stories, seed=50_000 + number)
        ]

    return make


def gap_guesses(
    board: Sequence[probes.MaskedWord], tokens: StoryTokens, sentences: Sequence[str], gaps: dict[int, int]
) -> list[str]:
    """Write the guesses for some gaps of a text, a line for each.

    Parameters
    ----------
    board
        From `probes.mask_each_word`, of the pair whose second part starts with the fourth sentence.
    tokens
        What packed the pair.
    sentences
        The text.
    gaps
        The number of a sentence, and which of its words is hidden.
    """
    lines = []
    for number, index in gaps.items():
        word = sentences[number].rstrip(".").split()[index].lower()
        end = len(tokens.sentence(" ".join(sentences[: number + 1])))
        end += 1 if number < 3 else 2  # [CLS], and [SEP] after the third sentence
        hidden = max(
            (item for item in board if item.word == word and item.position < end),
            key=lambda item: item.position,
        )
        guesses = ", ".join(f"{guess.word} {guess.share:.2f}" for guess in hidden.guesses)
        lines.append(f"{word:8s} {guesses}")
    return lines


def guesses_by_kind(model: Any, tokens: StoryTokens, *, stories: int) -> plotting.Picture:
    """Hide every word of new stories of task 1 in turn, and draw the share guessed for each kind of word.

    Parameters
    ----------
    model
        From `probes.masked_language_model`, trained.
    tokens
        What packs the stories.
    stories
        How many.
    """
    kinds: Counter[str] = Counter()
    right: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for story in tell_with_answers(simulate(1, stories=stories, seed=55_000)):
        pair = tokens.pair(" ".join(story[:7]), story[7:])
        token_names = tokens.tokenizer.convert_ids_to_tokens(pair.tokens)
        for hidden in probes.mask_each_word(model, tokens.tokenizer, pair, top=1):
            kind = next((kind for kind, group in KINDS.items() if hidden.word in group), "place")
            if token_names[hidden.position - 1] == "?":
                kind = "answer"
            kinds[kind] += 1
            right[kind] += hidden.guesses[0].word == hidden.word
            words[hidden.word] += 1
    shares = {kind: right[kind] / kinds[kind] for kind in kinds}
    return plotting.show(
        plotting.bars(
            dict(sorted(shares.items(), key=lambda item: -item[1])),
            unit="share of hidden words guessed",
            limits=(0, 1),
            reference=("most frequent word", words.most_common(1)[0][1] / words.total()),
        ),
        alt="Share of hidden words that the bundled encoder guesses, one bar for each kind of word",
        caption="Share of hidden words guessed correctly, by kind of word, on new stories of task 1.",
    )


def neighbours(encoder: Any, tokenizer: Any, words: Iterable[str]) -> list[str]:
    """Write the four nearest neighbours of each word among the word embeddings, a line for each."""
    table = encoder.embeddings.word_embeddings.weight.detach()
    table = table - table.mean(0)
    table = table / table.norm(dim=1, keepdim=True)
    lines = []
    for word in words:
        near = (table @ table[tokenizer.convert_tokens_to_ids(word)]).topk(5).indices[1:]
        lines.append(f"{word:7s} " + ", ".join(tokenizer.convert_ids_to_tokens(near.tolist())))
    return lines


def accuracy_by_task(readers: dict[str, AnswerReader], test: PairSet) -> plotting.Picture:
    """Draw the accuracy of some readers on each task of a test set.

    Parameters
    ----------
    readers
        The readers, by the names that the legend gives them.
    test
        The questions.
    """
    names = labels()
    tasks = sorted({int(task) for task in test.task})
    series = {
        name: {names[task]: result[f"accuracy.qa{task}"] for task in tasks}
        for name, reader in readers.items()
        for result in [accuracy(reader, test)]
    }
    return plotting.show(
        plotting.bars(series, unit="accuracy", limits=(0, 1)),
        alt="Accuracy of both readers on new questions, one pair of bars for each task",
        caption="Test accuracy by task after fine-tuning, on new simulated questions.",
    )


def attention_example(
    reader: AnswerReader, tokens: StoryTokens, answers: Vocabulary, examples: Sequence[Example]
) -> plotting.Picture:
    """Draw, layer by layer, how [CLS] attends to the sentences of one story of task 13, and the answer.

    Parameters
    ----------
    reader, tokens, answers
        The reader, what packs its input, and its classes.
    examples
        Questions to choose from: the first of task 13 with four to eight sentences.
    """
    example = next(item for item in examples if item.task == 13 and 4 <= len(item.story) <= 8)
    predicted = predict_answers(reader, PairSet.encode([example], tokens, answers))[0]
    return plotting.memory_hops(
        example.story,
        probes.attention_by_sentence(reader, tokens, [example])[0],
        question=example.question,
        answer=answers.token_of(predicted),
        expected=example.answer[0],
        support=example.support,
        look="layer",
    )


def attention_of_cls(
    reader: AnswerReader, tokens: StoryTokens, examples: Sequence[Example]
) -> plotting.Picture:
    """Draw how much of its attention on the story [CLS] gives to supporting facts, layer by layer.

    Parameters
    ----------
    reader, tokens
        The reader, and what packs its input.
    examples
        Questions with supporting facts.
    """
    weights = probes.attention_by_sentence(reader, tokens, examples)
    layers = {
        f"layer {layer + 1}": attention_on_support(examples, [item[layer : layer + 1] for item in weights])
        for layer in range(len(weights[0]))
    }
    return plotting.show(
        plotting.bars(
            {layer: metrics["support.weight"] for layer, metrics in layers.items()},
            unit="share of attention on supporting facts",
            limits=(0, 1),
            reference=("uniform attention", layers["layer 1"]["support.chance"]),
        ),
        alt="Share of the attention of [CLS] on supporting facts in each layer; a line for uniform attention",
        caption="Share of the attention of [CLS] on supporting facts, averaged over heads and questions.",
    )


def changed_input(
    reader: AnswerReader, tokens: StoryTokens, answers: Vocabulary, examples: Sequence[Example], *, seed: int
) -> plotting.Picture:
    """Draw the accuracy with sentences shuffled, another question, or no story.

    As for `attention_example`, but with any test questions; `seed` draws the changes.
    """
    draw = random.Random(seed)
    questions = [example.question for example in examples]

    def share(change: Callable[[Example], Example]) -> float:
        changed = PairSet.encode([change(example) for example in examples], tokens, answers)
        return accuracy(reader, changed)["accuracy"]

    return plotting.show(
        plotting.bars(
            {
                "unchanged": share(lambda example: example),
                "sentences shuffled": share(
                    lambda example: replace(
                        example, story=tuple(draw.sample(example.story, len(example.story)))
                    )
                ),
                "another question": share(lambda example: replace(example, question=draw.choice(questions))),
                "no story": share(lambda example: replace(example, story=())),
            },
            unit="accuracy, mean over the tasks",
            limits=(0, 1),
        ),
        alt="Accuracy with the input unchanged, sentences shuffled, another question, and no story",
        caption="Accuracy of the same reader on the same questions after a change of the input.",
    )


def longer_stories(
    reader: AnswerReader, tokens: StoryTokens, answers: Vocabulary, examples: Sequence[Example], *, seed: int
) -> plotting.Picture:
    """Draw the accuracy against the number of irrelevant sentences that are added in front of each story.

    As for `attention_example`, but with questions on sizes (task 18); `seed` draws the sentences.
    """
    draw = random.Random(seed)
    filler = [sentence for example in simulate(1, 400, seed=62_000) for sentence in example.story]

    def share(stories: Iterable[tuple[str, ...]]) -> float:
        changed = [
            replace(example, story=story, support=())
            for example, story in zip(examples, stories, strict=True)
        ]
        return accuracy(reader, PairSet.encode(changed, tokens, answers))["accuracy"]

    guessed = share(() for _ in examples)
    lengths = {
        more: share((*draw.sample(filler, more), *example.story) for example in examples)
        for more in (0, 5, 10, 20, 40)
    }
    return plotting.show(
        plotting.lines(
            {
                "longer stories": (list(lengths), list(lengths.values())),
                "no story at all": (list(lengths), [guessed] * len(lengths)),
            },
            x="sentences added in front",
            y="accuracy on task 18",
            limits=(0, 1),
        ),
        alt="Accuracy on task 18 against the number of sentences added; without a story, a flat line",
        caption="Accuracy on size questions against the number of irrelevant sentences added in front.",
    )


def vector_counts(by_word: PairSet, by_sentence: StorySet, *, batch_size: int = 128) -> dict[str, int]:
    """Count the vectors that one epoch needs: of all words, of words of distinct sentences, of sentences.

    Parameters
    ----------
    by_word, by_sentence
        The same questions, as both kinds of reader take them.
    batch_size
        Questions in a batch, within which a sentence is encoded once.
    """
    words = sentences = 0
    for start in range(0, len(by_sentence), batch_size):
        items = range(start, min(start + batch_size, len(by_sentence)))
        batch = by_sentence.batch(items, slots=130)
        words += int((batch.sentences != 0).sum())
        sentences += int(batch.filled.sum()) + len(items)
    return {
        "all words": sum(by_word.lengths),
        "words of distinct sentences": words,
        "sentences": sentences,
    }
