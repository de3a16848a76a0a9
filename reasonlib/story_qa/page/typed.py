"""Read a story and a question as people type them: in sentences, in words that the bundled models know."""

import re
from collections.abc import Collection, Sequence

from reasonlib.display.typed import nearest, readable
from reasonlib.errors import UserError
from reasonlib.story_qa.data.example import words

__all__ = ["as_read", "listed", "split_sentences"]

CONTRACTED = re.compile(r"\b(where|what|who)'?s\b", re.I)
TITLES = frozenset({"mr.", "mrs.", "ms.", "dr.", "st."})  # whose full stop ends no sentence


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
    sentences: Sequence[str], question: str, vocabulary: Collection[str]
) -> tuple[list[str], str, list[str]]:
    """Bring a story and a question to the letters and words of the bundled models.

    Parameters
    ----------
    sentences, question
        As they were typed.
    vocabulary
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
    *clean_sentences, clean_question = (CONTRACTED.sub(r"\1 is", text.text) for text in read)
    clean_sentences = [text for text in clean_sentences if words(text)]
    if not clean_sentences:
        raise UserError("the story has no word in Latin letters; this model reads English alone")
    if clean_question.isupper():
        clean_question = clean_question.capitalize()  # capitals mark no name where everything is one
    notes = []
    for left_out in ([sign for text in read for sign in text.symbols], [w for t in read for w in t.foreign]):
        if left_out:
            notes.append(f"it cannot read {listed(left_out)}, which is left out")
    story_words = {word for text in clean_sentences for word in words(text)}
    replacements = {}
    for word in dict.fromkeys(word for text in (*clean_sentences, clean_question) for word in words(text)):
        if word not in vocabulary and (
            name := nearest(word, story_words & {*vocabulary}, shortest=3) or nearest(word, vocabulary)
        ):
            replacements[word] = name
    for word, name in replacements.items():
        pattern = re.compile(rf"\b{re.escape(word)}\b", re.I)
        clean_sentences = [_swap(pattern, name, text) for text in clean_sentences]
        clean_question = _swap(pattern, name, clean_question)
        notes.append(f"{word} is read as {name}")
    return clean_sentences, clean_question, notes


def _swap(pattern: re.Pattern[str], name: str, text: str) -> str:
    return pattern.sub(lambda match: name.capitalize() if match[0][0].isupper() else name, text)


def _end_of_sentence(match: re.Match[str]) -> str:
    return match[0] if match[1].lower() in TITLES else match[1] + "\n"


def listed(texts: Sequence[str]) -> str:
    """List texts, each once and twelve at most, separated by commas.

    >>> listed(["a", "b", "a"])
    'a, b'
    """
    unique = list(dict.fromkeys(texts))
    return ", ".join(unique[:12]) + (f" and {len(unique) - 12} more" if len(unique) > 12 else "")
