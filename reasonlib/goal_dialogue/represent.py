"""How a memory network's sentences are represented: one door to words, tags and paragraphs.

::

    encoder                 a sentence is                                      trained apart
    words                   the sum of its words' vectors                      nothing, or Word2Vec as a start
    keytags                 that, and the sum of its tags' vectors             the tagger
    tags-numbers, -added,   what the source tried before that                  the tagger
    -multiplied, -sentence
    paragraphs              its paragraph vector                               PV-DBOW
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from reasonlib.goal_dialogue.dialogue import Split
from reasonlib.goal_dialogue.keytags import ENCODERS, Tags, build_keytags
from reasonlib.goal_dialogue.memory_network import MemoryNetwork, NetworkConfig, build
from reasonlib.goal_dialogue.tagger import ContextTagger, WordTagger, look_up, tag
from reasonlib.goal_dialogue.tagging import TaggerRecipe, known_half, learn_tagger
from reasonlib.goal_dialogue.tensors import Encoded, encode_split, words
from reasonlib.goal_dialogue.texts import Texts

__all__ = ["STARTS", "TAGGERS", "Represented", "make_tagger", "represent"]

TAGGERS = ("letters", "context", "known", "all")
"""The source's tagger, ours, and no tagger: the known half of the knowledge base looked up, or all of it."""

STARTS = ("random", "word2vec", "word2vec-scaled")
"""What the word tables start from; scaled is Word2Vec as short as the random start is."""


class Represented(NamedTuple):
    """A network with the task as it reads it.

    Attributes
    ----------
    model
        Not yet trained.
    task
        To train and to measure on.
    texts
        Numbers the texts of other dialogues for this network; None where it reads words alone.
    """

    model: MemoryNetwork
    task: Encoded
    texts: Texts | None


def make_tagger(
    split: Split, tagger: str = "letters", *, seed: int = 0
) -> Callable[[Sequence[Sequence[str]]], Tags]:
    """Train a tagger on a task, or look words up.

    Parameters
    ----------
    split
        Its training dialogues and its knowledge base.
    tagger
        One of `TAGGERS`.
    seed
        Draws the tagger's weights and lessons.

    Raises
    ------
    ValueError
        If there is no such tagger.
    UserError
        If the task has no knowledge base.
    """
    if tagger not in TAGGERS:
        raise ValueError(f"tagger must be one of {', '.join(TAGGERS)}, got {tagger!r}")
    half = known_half(split)
    if tagger == "known":
        return partial(look_up, half.types())
    if tagger == "all" and split.knowledge is not None:
        return partial(look_up, split.knowledge.types())
    if tagger == "letters":
        model: WordTagger | ContextTagger = WordTagger(seed=seed)
        recipe = TaggerRecipe(made_up=0.0)
    else:
        model, recipe = ContextTagger(seed=seed), TaggerRecipe()
    learn_tagger(model, split, recipe, knowledge=half, seed=seed, progress=False)
    return partial(tag, model)


def represent(
    config: NetworkConfig,
    split: Split,
    task: Encoded,
    *,
    encoder: str = "words",
    tagger: str = "letters",
    start: str = "random",
    external: Split | None = None,
    marks: bool = True,
    paragraph_width: int = 100,
    seed: int = 0,
) -> Represented:
    """Put a network together whose sentences are represented in one of these ways.

    Parameters
    ----------
    config
        Which network, how large.
    split, task
        The same task as dialogues and as numbers.
    encoder
        ``"words"``, a key of `keytags.ENCODERS`, or ``"paragraphs"``.
    tagger
        One of `TAGGERS`; of encoders with tags.
    start
        One of `STARTS`; of words.
    external
        Whose training dialogues paragraph vectors are learned from, in place of the task's own.
    marks
        See `paragraph.build_paragraphs`.
    paragraph_width
        D of paragraph vectors.
    seed
        Draws all first weights.

    Raises
    ------
    ValueError
        If there is no such encoder or start, or an option belongs to another encoder.
    """
    names = ("words", *ENCODERS, "paragraphs")
    if encoder not in names:
        raise ValueError(f"encoder must be one of {', '.join(names)}, got {encoder!r}")
    if start not in STARTS:
        raise ValueError(f"start must be one of {', '.join(STARTS)}, got {start!r}")
    if start != "random" and encoder != "words":
        raise ValueError(f"start must be random with encoder {encoder}, got {start!r}")
    if encoder in ENCODERS:
        tagged = make_tagger(split, tagger, seed=seed)
        return Represented(*build_keytags(config, task, tagged, encoder=encoder, seed=seed))
    if encoder == "paragraphs":
        from reasonlib.goal_dialogue import paragraph

        source = task if external is None else encode_split(external)
        vectors = paragraph.learn_paragraphs(
            paragraph.sentences_to_learn(source, marks=marks),
            paragraph.ParagraphConfig(width=paragraph_width),
            seed=seed,
        )
        return Represented(*paragraph.build_paragraphs(config, task, vectors, marks=marks, seed=seed))
    model = build(config, task, seed=seed)
    if start != "random":
        from reasonlib.goal_dialogue import word2vec

        found = word2vec.learn_words((words(text) for text in task.train.texts), config.width, seed=seed)
        spread = config.spread if start == "word2vec-scaled" else None
        word2vec.start_from(model, task.vocabulary, found, spread=spread)
    return Represented(model, task, None)
