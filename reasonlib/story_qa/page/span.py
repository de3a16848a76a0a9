"""Ask a reader of ordinary English, which points at a span of the story (Devlin et al. 2019, section 4.2).

Axes: N windows, S sentences, T tokens.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reasonlib.errors import UserError
from reasonlib.story_qa.models.bert import SpanOutput
from reasonlib.story_qa.page.answers import Answer

__all__ = ["ask_span", "load_span_reader", "quiet"]

OVERLAP = 64  # tokens that two neighbouring windows of a long story share
LONGEST_SPAN = 30  # tokens


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
    weights = _by_sentence(sentences, offsets[inside][:, 0].numpy(), ((begins + ends) / 2)[inside].numpy())
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


def _by_sentence(sentences: Sequence[str], begins: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Add up shares by the sentence in which their tokens begin, (1, S); `begins` counts characters."""
    weights = np.zeros((1, len(sentences)))
    edges = np.cumsum([0, *(len(sentence) + 1 for sentence in sentences)])
    np.add.at(weights[0], np.searchsorted(edges, begins, side="right") - 1, shares)
    return weights


@lru_cache(maxsize=1)
def load_span_reader(name: str) -> tuple[Any, Any]:
    """Load a model for extractive question answering with its tokenizer."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    folder = Path(name).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{name} is a file; give the folder of a model")
    try:
        with quiet():
            local_only = folder.is_dir() or not _on_hub(name)  # then nothing is asked of the network
            source = str(folder) if folder.is_dir() else name
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_only)
            model, report = AutoModelForQuestionAnswering.from_pretrained(
                source, local_files_only=local_only, output_loading_info=True
            )
    except UserError:
        raise
    except (OSError, ValueError, KeyError) as error:
        reason = (
            "the folder holds" if folder.is_dir() else "there is no such folder, and the hub or its cache has"
        )
        raise UserError(
            f"{name}: {reason} no model that could be loaded; give bert, a folder with config.json, "
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
def quiet() -> Iterator[None]:
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
