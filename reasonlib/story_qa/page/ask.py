"""Ask a trained model about a story in plain words, and see where it looked.

Three kinds of model answer. The memory network that ships with this library knows the words of the twenty
tasks; so does the BERT that reads them sentence by sentence and marks those it needs; any extractive reader
in `transformers` format knows ordinary English and points at a span of the story (Devlin et al. 2019,
section 4.2).

Axes: K hops (or layers, or steps), S sentences, N windows, T tokens.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from reasonlib.display.typed import nearest, readable
from reasonlib.errors import UserError
from reasonlib.story_qa.data.encoding import encode
from reasonlib.story_qa.data.example import Example, words
from reasonlib.story_qa.data.tokens import StoryTokens, encode_sentences, stack
from reasonlib.story_qa.models import pretrained
from reasonlib.story_qa.models.bert import SpanOutput
from reasonlib.story_qa.models.memory_network import MemoryNetwork
from reasonlib.training.vocabulary import Vocabulary

if TYPE_CHECKING:
    from reasonlib.display.plotting import Picture

__all__ = ["Answer", "answer", "ask_evidence", "ask_memory", "ask_reader", "ask_span", "split_sentences"]

TOP = 5  # answers named with their probabilities
OVERLAP = 64  # tokens that two neighbouring windows of a long story share
LONGEST_SPAN = 30  # tokens
CONTRACTED = re.compile(r"\b(where|what|who)'?s\b", re.I)
TITLES = frozenset({"mr.", "mrs.", "ms.", "dr.", "st."})  # whose full stop ends no sentence


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model says and where it looked.

    Attributes
    ----------
    question
        As asked.
    text
        The answer; several words of a list or a path are joined by commas.
    confidence
        Probability the model gives it.
    others
        The likeliest answers with their probabilities, this one first.
    sentences
        The S sentences of the story, oldest first.
    weights : (K, S)
        How much of each look fell on each sentence; zero for a sentence the model has no room for.
    look
        What one row of `weights` is: a ``"hop"`` of the memory network, a ``"layer"`` of the encoder (the
        attention of [CLS], averaged over heads), the ``"mark"`` (the chance that a sentence is needed), or
        the ``"pointer"`` (where the answer begins and ends).
    support
        Positions of the sentences that the answer needs, where somebody labelled them.
    expected
        The right answer, where it is known.
    notes
        What the reader should know before trusting the answer, one line each.
    """

    question: str
    text: str
    confidence: float
    others: tuple[tuple[str, float], ...]
    sentences: tuple[str, ...]
    weights: Float[np.ndarray, "K S"]
    look: str = "hop"
    support: tuple[int, ...] | None = None
    expected: str | None = None
    notes: tuple[str, ...] = ()

    def labelled(self, example: Example) -> "Answer":
        """Add what is known of this question: the right answer and the sentences it needs."""
        return replace(self, support=example.support, expected=", ".join(example.answer))

    def picture(self) -> "Picture":
        """Draw the sentences and the weight of each look."""
        from reasonlib.display.plotting import memory_hops  # drawing takes longer to load than answering

        return memory_hops(
            self.sentences,
            self.weights,
            question=self.question,
            answer=self.text,
            expected=self.expected,
            support=self.support,
            caption=" ".join(f"{note[0].upper()}{note[1:]}." for note in self.notes) or None,
            look=self.look,
        )

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()

    def __str__(self) -> str:
        return self.text


def answer(story: str, question: str, model: str | None = None) -> Answer:
    """Answer a question about a story in plain words.

    Parameters
    ----------
    story
        Sentences; each ends with a full stop or stands on a line of its own (see `split_sentences`).
    question
        One question.
    model
        The memory network that ships with this library by default; ``"bert"`` for the BERT that ships
        with it; any other name is an extractive reader: a folder, or a name on the Hugging Face hub.

    Raises
    ------
    UserError
        If story or question are empty, or the model is not available.

    Examples
    --------
    >>> answer("Mary went to the garden. John went to the office.", "Where is Mary?").text
    'garden'
    """
    sentences = split_sentences(story)
    if not sentences:
        raise UserError("the story has no sentences; give at least one")
    question = " ".join(question.split())
    if not re.search(r"\w", question):
        raise UserError("the question has no words; ask something")
    if model is not None and model != "bert":
        return ask_span(*_span_model(model), sentences, question)
    network = _memory()
    sentences, question, notes = as_read(sentences, question, network.vocabulary.tokens)
    if model == "bert":
        found = ask_evidence(_evidence(), sentences, question)
    else:
        found = ask_memory(network.model, network.vocabulary, sentences, question, encoding=network.encoding)
    return replace(found, notes=(*notes, *found.notes))


def split_sentences(text: str) -> list[str]:
    r"""Cut a text into sentences, at line ends and after each of ``. ! ?``.

    A story copied from the files of the twenty tasks may keep its line numbers; its lines of questions are
    left out.

    Raises
    ------
    UserError
        If the lines are numbered and the numbers start again: two stories in one text.

    Examples
    --------
    >>> split_sentences("Hey! I am Rhea. I love Dr. Who.")
    ['Hey!', 'I am Rhea.', 'I love Dr. Who.']
    >>> split_sentences("1 Mary is here.\n2 Where is Mary?\there\t1")
    ['Mary is here.']
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    numbers = [re.match(r"(\d+)\s+(?=\S)", line) for line in lines]
    if lines and numbers[0] and int(numbers[0][1]) == 1 and all(numbers):
        starts = [
            position for position, result in enumerate(numbers, start=1) if result and int(result[1]) == 1
        ]
        if len(starts) > 1:
            raise UserError(
                f"a second story begins at line {starts[1]} of the text; give one story at a time"
            )
        lines = [
            line[result.end() :]
            for line, result in zip(lines, numbers, strict=True)
            if result and "\t" not in line
        ]
    result = []
    for line in lines:
        line = re.sub(r"([。！？])(?=\S)", r"\1 ", line)
        cut = re.sub(r"(\S*[.!?。！？][\"')\]]*)\s+", _end_of_sentence, line)
        result += [sentence.strip() for sentence in cut.split("\n") if re.search(r"\w", sentence)]
    return result


def as_read(
    sentences: Sequence[str], question: str, known: Collection[str]
) -> tuple[list[str], str, list[str]]:
    """Bring a story and a question to the letters and words of the bundled models.

    Parameters
    ----------
    sentences, question
        As they were typed.
    known
        The words that the model has met.

    Returns
    -------
    tuple
        Sentences, question, and a note for each thing that was read otherwise or left out.

    Raises
    ------
    UserError
        If the question, or every sentence, has no word in Latin letters.
    """
    read = [readable(text) for text in (*sentences, question)]
    if not words(read[-1].text):
        raise UserError("the question has no word in Latin letters; this model reads English alone")
    *told, asked = (CONTRACTED.sub(r"\1 is", text.text) for text in read)
    told = [text for text in told if words(text)]
    if not told:
        raise UserError("the story has no word in Latin letters; this model reads English alone")
    if asked.isupper():
        asked = asked.capitalize()  # capitals mark no name where everything is one
    notes = []
    for left_out in ([sign for text in read for sign in text.symbols], [w for t in read for w in t.foreign]):
        if left_out:
            notes.append(f"it cannot read {_listed(left_out)}, which is left out")
    met = {word for text in told for word in words(text)}
    otherwise = {}
    for word in dict.fromkeys(word for text in (*told, asked) for word in words(text)):
        if word not in known and (name := nearest(word, met & {*known}, shortest=3) or nearest(word, known)):
            otherwise[word] = name
    for word, name in otherwise.items():
        swap = re.compile(rf"\b{re.escape(word)}\b", re.I)
        told, asked = [_swap(swap, name, text) for text in told], _swap(swap, name, asked)
        notes.append(f"{word} is read as {name}")
    return told, asked, notes


def _swap(pattern: re.Pattern[str], name: str, text: str) -> str:
    return pattern.sub(lambda found: name.capitalize() if found[0][0].isupper() else name, text)


def _end_of_sentence(found: re.Match[str]) -> str:
    return found[0] if found[1].lower() in TITLES else found[1] + "\n"


# The memory network -----------------------------------------------------------------------------------------


@torch.no_grad()
def ask_memory(
    model: MemoryNetwork,
    vocabulary: Vocabulary,
    sentences: Sequence[str],
    question: str,
    *,
    encoding: str = "position",
) -> Answer:
    """Ask a memory network.

    Parameters
    ----------
    model
        Trained.
    vocabulary
        Its words.
    sentences
        The S sentences of the story, oldest first; the model remembers the latest ``config.slots``.
    question
        One question.
    encoding
        How its sentences were encoded in training.
    """
    example = Example(task=0, story=tuple(sentences), question=question, answer=(), support=(), group=0)
    asked = encode([example], vocabulary, encoding)
    answered = model(asked.batch([0], slots=model.config.slots).to(model.words.device))
    shares = answered.logits[0].softmax(0).cpu()
    kept = min(len(sentences), model.config.slots)
    weights = np.zeros((model.config.hops, len(sentences)))
    weights[:, len(sentences) - kept :] = answered.weights[0, :, :kept].cpu().numpy()[:, ::-1]
    told = (word for sentence in (*sentences, question) for word in words(sentence))
    unknown = [word for word in dict.fromkeys(told) if word not in vocabulary]
    notes = [_unknown(unknown)] if unknown else []
    if absent := _absent(sentences, question):
        notes.append(f"the story does not mention {', '.join(absent)}")
    if kept < len(sentences):
        notes.append(f"it remembers the latest {kept} sentences and has forgotten those before")
    return _best(shares, vocabulary, question, sentences, weights, "hop", notes)


def _best(
    shares: torch.Tensor,
    classes: Vocabulary,
    question: str,
    sentences: Sequence[str],
    weights: np.ndarray,
    look: str,
    notes: Sequence[str],
) -> Answer:
    """Name the likeliest classes; padding and the unknown word are none."""
    order = shares.argsort(descending=True, stable=True).tolist()
    named = [position for position in order if not classes.token_of(position).startswith("<")][:TOP]
    others = tuple(
        (classes.token_of(position).replace(",", ", "), float(shares[position])) for position in named
    )
    return Answer(
        question=question,
        text=others[0][0],
        confidence=others[0][1],
        others=others,
        sentences=tuple(sentences),
        weights=weights,
        look=look,
        notes=tuple(notes),
    )


def _listed(texts: Sequence[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return ", ".join(unique[:12]) + (f" and {len(unique) - 12} more" if len(unique) > 12 else "")


def _unknown(unknown: Sequence[str]) -> str:
    listed = _listed(unknown)
    many = "this word" if len(unknown) == 1 else "these words"
    return f"it has never met {many}, so the answer may mean nothing: {listed}"


def _absent(sentences: Sequence[str], question: str) -> list[str]:
    """Give the names in a question that its story has not: these models always answer something."""
    told = {word for sentence in sentences for word in words(sentence)}
    asked = (re.sub(r"('s)?\W*$", "", word) for word in question.split()[1:] if word[0].isupper())
    return [name for name in dict.fromkeys(asked) if words(name) and not told.issuperset(words(name))]


# The fine-tuned encoder -------------------------------------------------------------------------------------


@torch.no_grad()
def ask_reader(reader: pretrained.PretrainedReader, sentences: Sequence[str], question: str) -> Answer:
    """Ask an encoder that was fine-tuned on the twenty tasks.

    Parameters
    ----------
    reader
        From `shipped.load_reader`.
    sentences
        The S sentences of the story, oldest first.
    question
        One question.

    Raises
    ------
    UserError
        If the question alone is too long for the encoder.
    """
    model, tokenizer, answers, _ = reader
    longest = min(512, getattr(model.encoder.config, "max_position_embeddings", 512))
    tokens = StoryTokens(tokenizer, longest)
    try:
        pair = tokens.pair(question, sentences)
    except ValueError as error:
        raise UserError(f"{error}; ask a shorter question") from error
    model.encoder.set_attn_implementation("eager")  # the only one that gives its weights
    read = model(stack([pair], tokenizer.pad_token_id or 0), attention=True)
    heard = read.attention[0, :, :, 0].mean(1).cpu().numpy()  # (L, T): how [CLS] looks in each layer
    weights = np.zeros((len(heard), len(sentences)))
    position = len(tokens.sentence(question)) + 2
    for row in range(pair.dropped, len(sentences)):
        size = len(tokens.sentence(sentences[row]))
        weights[:, row] = heard[:, position : position + size].sum(1)
        position += size
    notes = []
    unknown = [
        word
        for word in dict.fromkeys(word for text in (*sentences, question) for word in words(text))
        if tokenizer.unk_token_id in tokens.sentence(word)
    ]
    if unknown:
        notes.append(_unknown(unknown))
    if pair.dropped:
        first = "the first sentence" if pair.dropped == 1 else f"the first {pair.dropped} sentences"
        notes.append(f"the story is longer than the {longest} tokens it can read: {first} were left out")
    return _best(read.logits[0].softmax(0).cpu(), answers, question, sentences, weights, "layer", notes)


# The reader of sentences ------------------------------------------------------------------------------------


@torch.no_grad()
def ask_evidence(reader: pretrained.PretrainedEvidence, sentences: Sequence[str], question: str) -> Answer:
    """Ask a BERT that reads sentence by sentence and marks those it needs.

    Parameters
    ----------
    reader
        From `shipped.load_evidence`.
    sentences
        The S sentences of the story, oldest first; it remembers the latest ``config.slots``.
    question
        One question.

    Raises
    ------
    UserError
        If a sentence has more words than the encoder has places for.
    """
    model, tokenizer, answers, _ = reader
    told = (*sentences, question)
    tokens, longest = StoryTokens(tokenizer), model.encoder.config.max_position_embeddings
    for text in told:
        if (count := len(tokens.sentence(text)) + 1) > longest:
            raise UserError(f"a sentence must fit into {longest} tokens, got {count}; make it shorter")
    example = Example(task=0, story=tuple(sentences), question=question, answer=(), support=(), group=0)
    read = model(encode_sentences([example], tokenizer, answers).batch([0], slots=model.config.slots))
    kept = min(len(sentences), model.config.slots)
    weights = np.zeros((1, len(sentences)))
    weights[0, len(sentences) - kept :] = read.needed[0, :kept].sigmoid().numpy()[::-1]
    unknown = [
        word
        for word in dict.fromkeys(word for text in told for word in words(text))
        if tokenizer.unk_token_id in tokens.sentence(word)
    ]
    notes = [_unknown(unknown)] if unknown else []
    if absent := _absent(sentences, question):
        notes.append(f"the story does not mention {', '.join(absent)}")
    if kept < len(sentences):
        notes.append(f"it remembers the latest {kept} sentences and has forgotten those before")
    return _best(read.logits[0].softmax(0), answers, question, sentences, weights, "mark", notes)


# A reader of ordinary English -------------------------------------------------------------------------------


@torch.no_grad()
def ask_span(model: Any, tokenizer: Any, sentences: Sequence[str], question: str) -> Answer:
    """Let an extractive reader point at the answer in the story.

    A story that is too long is read through windows that overlap; the span with the highest score in any of
    them is the answer.

    Parameters
    ----------
    model, tokenizer
        A `transformers` model for question answering, with a fast tokenizer.
    sentences
        The S sentences of the story.
    question
        One question.

    Raises
    ------
    UserError
        If the question leaves no room for the story.
    """
    story = " ".join(sentences)
    longest = min(512, tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
    room = longest - len(tokenizer(question, "")["input_ids"])
    if room < 16:
        raise UserError(f"the question leaves no room for the story in {longest} tokens; ask a shorter one")
    windows = tokenizer(
        question,
        story,
        max_length=longest,
        truncation="only_second",
        stride=min(OVERLAP, room // 2),
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        padding=True,
        return_tensors="pt",
    )
    offsets = windows.pop("offset_mapping")  # (N, T, 2)
    windows.pop("overflow_to_sample_mapping", None)
    scores = model(**windows)
    inside = torch.tensor([[of == 1 for of in windows.sequence_ids(row)] for row in range(len(offsets))])
    inside &= offsets[..., 1] > offsets[..., 0]
    start, end = (
        logits.float().masked_fill(~inside, -torch.inf) for logits in (scores.start_logits, scores.end_logits)
    )
    spans = SpanOutput(start, end).best(LONGEST_SPAN)
    height = [float(start[row, first] + end[row, last]) for row, (first, last) in enumerate(spans)]
    row = int(np.argmax(height))
    first, last = spans[row]
    begin, stop = int(offsets[row, first, 0]), int(offsets[row, last, 1])
    begins, ends = (
        logits.flatten().softmax(0).view_as(logits) for logits in (start, end)
    )  # over all windows
    weights = np.zeros((1, len(sentences)))
    edges = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)])
    holder = np.searchsorted(edges, offsets[..., 0].numpy(), side="right") - 1
    np.add.at(weights[0], holder[inside.numpy()], ((begins + ends) / 2)[inside].numpy())
    confidence = float(begins[row, first] * ends[row, last])
    notes = []
    if len(offsets) > 1:
        notes.append(f"the story is longer than {longest} tokens: it was read through {len(offsets)} windows")
    if float(scores.start_logits[row, 0] + scores.end_logits[row, 0]) > height[row]:
        notes.append("the model finds it more probable that the story does not say")
    return Answer(
        question=question,
        text=story[begin:stop],
        confidence=confidence,
        others=((story[begin:stop], confidence),),
        sentences=tuple(sentences),
        weights=weights,
        look="pointer",
        notes=tuple(notes),
    )


# Loading ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _memory() -> pretrained.PretrainedMemory:
    return pretrained.load_memory()


@lru_cache(maxsize=1)
def _evidence() -> pretrained.PretrainedEvidence:
    with _quiet():
        return pretrained.load_evidence()


@lru_cache(maxsize=1)
def _span_model(name: str) -> tuple[Any, Any]:
    """Load a model for extractive question answering with its tokenizer."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    there = Path(name).expanduser()
    if there.exists() and not there.is_dir():
        raise UserError(f"{name} is a file; give the folder of a model")
    try:
        with _quiet():
            here = there.is_dir() or not _on_hub(name)  # then nothing is asked of the network
            source = str(there) if there.is_dir() else name
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=here)
            model, report = AutoModelForQuestionAnswering.from_pretrained(
                source, local_files_only=here, output_loading_info=True
            )
    except UserError:
        raise
    except (OSError, ValueError, KeyError) as error:
        where = (
            "the folder holds" if there.is_dir() else "there is no such folder, and the hub or its cache has"
        )
        raise UserError(
            f"{name}: {where} no model that could be loaded; give bert, a folder with config.json, "
            "weights and tokenizer, or while online a name on the Hugging Face hub"
        ) from error
    if any("qa_outputs" in key for key in report["missing_keys"]):
        raise UserError(f"{name}: a model without a question-answering head; choose one fine-tuned for it")
    if not tokenizer.is_fast:
        raise UserError(
            f"{name}: its tokenizer cannot say where tokens stand; choose a model with a fast one"
        )
    return model.float().eval(), tokenizer


def _on_hub(name: str) -> bool:
    """Ask the hub once, and not for long, whether it has a model; False if the hub cannot be reached.

    Raises
    ------
    UserError
        If the name is none, or the hub answers that it has no such model.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    if name.startswith((".", "/", "~")) or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        raise UserError(f"there is no folder {name}")
    try:
        HfApi().model_info(name, timeout=10)
    except HfHubHTTPError as error:
        raise UserError(
            f"{name}: there is no such folder, and no such model on the Hugging Face hub"
        ) from error
    except Exception:  # whatever the hub's client raises without a network
        return False
    return True


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep `transformers` from printing while it loads."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
