"""Ask a trained model about a story in plain words, and see where it looked.

Three kinds of model answer. The memory network that ships with this library knows the words of the twenty
tasks; so does the BERT that reads them sentence by sentence and marks those it needs; any extractive reader
in `transformers` format knows ordinary English and points at a span of the story.

    typed (sentences, words) -> bundled or span (a model) -> answers.Answer
"""

import re
from dataclasses import replace
from functools import lru_cache

from reasonlib.errors import UserError
from reasonlib.story_qa.models import pretrained
from reasonlib.story_qa.page.answers import Answer
from reasonlib.story_qa.page.bundled import ask_evidence, ask_memory, ask_reader
from reasonlib.story_qa.page.span import ask_span, load_span_reader, quiet
from reasonlib.story_qa.page.typed import as_read, split_sentences

__all__ = ["Answer", "answer", "ask_evidence", "ask_memory", "ask_reader", "ask_span", "split_sentences"]


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
        return ask_span(*load_span_reader(model), sentences, question)
    network = _memory()
    sentences, question, notes = as_read(sentences, question, network.vocabulary.tokens)
    if model == "bert":
        result = ask_evidence(_evidence(), sentences, question)
    else:
        result = ask_memory(network.model, network.vocabulary, sentences, question, encoding=network.encoding)
    return replace(result, notes=(*notes, *result.notes))


@lru_cache(maxsize=1)
def _memory() -> pretrained.PretrainedMemory:
    return pretrained.load_memory()


@lru_cache(maxsize=1)
def _evidence() -> pretrained.PretrainedEvidence:
    with quiet():
        return pretrained.load_evidence()
