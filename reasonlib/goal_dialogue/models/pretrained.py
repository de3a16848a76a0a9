"""Trained models that are bundled with the library: `from_pretrained`, and how their files are written.

======================================  =====================================================
``n2n``, ``gn2n``, ``un2n``             memory networks with match features, for full dialogues
``copying``                             the copying network, for full dialogues
``tagger-letters``, ``tagger-context``  taggers: one reads a word's characters, one the sentence too
======================================  =====================================================

A file ``weights/<name>.safetensors`` holds the weights in half precision; its metadata says what kind of
model they are and how to construct it. The vocabulary and the candidates of a memory network are not in its
file: the simulator makes the same ones again. `experiments.bundle` and `experiments.taggers` train the models
again.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from reasonlib.arguments import check_choice
from reasonlib.errors import UserError
from reasonlib.goal_dialogue.data import datasets
from reasonlib.goal_dialogue.data.encoding import encode_split
from reasonlib.goal_dialogue.data.mentions import vocabulary_of
from reasonlib.goal_dialogue.data.templates import Language
from reasonlib.goal_dialogue.models.copier import Copier, EncodingConfig
from reasonlib.goal_dialogue.models.copying import CopyConfig, CopyNetwork
from reasonlib.goal_dialogue.models.match_features import entity_types
from reasonlib.goal_dialogue.models.memory_network import NetworkConfig, build
from reasonlib.goal_dialogue.models.memory_system import MemoryNetworkSystem
from reasonlib.goal_dialogue.models.tagger import ContextTagger, Tagger, TaggerConfig, WordTagger
from reasonlib.training.checkpoints import weights_metadata
from reasonlib.training.settings import construct
from reasonlib.training.weights import PREFIX, Bundle, find_weights, reading, save_bundle

__all__ = [
    "BUNDLED",
    "from_pretrained",
    "path_of",
    "save_copier",
    "save_memory_network",
    "save_tagger",
]

WEIGHTS = Path(__file__).parents[1] / "weights"

BUNDLED = ("copying", "n2n", "gn2n", "un2n", "tagger-letters", "tagger-context")
"""Names of the bundled models."""

MEMORY_NETWORK = "memory network for dialogues"
COPYING_NETWORK = "copying network"
TAGGER = "tagger"

TAGGERS: Mapping[str, type[WordTagger] | type[ContextTagger]] = {
    "letters": WordTagger,
    "context": ContextTagger,
}


def path_of(name: str) -> Path:
    """Path of the file of a bundled model."""
    check_choice("name", name, BUNDLED)
    return WEIGHTS / f"{name}.safetensors"


def from_pretrained(name: str | Path) -> Any:
    """Load a trained model.

    Parameters
    ----------
    name
        One of `BUNDLED`, or a file that one of the ``save`` functions wrote. A bundled model is read once.

    Returns
    -------
    MemoryNetworkSystem, Copier, WordTagger or ContextTagger
        In evaluation mode, on the CPU. The first two answer examples; the copier generates its responses.

    Raises
    ------
    UserError
        If there is no such model, or its file is damaged or holds something else.

    Examples
    --------
    >>> from_pretrained("copying").language.write(1)
    'api_call _ _ _ _'
    """
    path = find_weights(name, WEIGHTS, BUNDLED)
    return _bundled(path) if name in BUNDLED else _load(path)


@lru_cache(maxsize=len(BUNDLED))
def _bundled(path: Path) -> Any:
    return _load(path)


def _load(path: Path) -> Any:
    kind = weights_metadata(path).get("kind", "").removeprefix(PREFIX)
    if kind not in LOADERS:
        raise UserError(f"{path}: holds no model of goal_dialogue; give a file that a save function wrote")
    with reading(path, kind=kind) as bundle:
        return LOADERS[kind](bundle)


# Memory networks


def save_memory_network(
    system: MemoryNetworkSystem, path: str | Path, settings: Mapping[str, Any], made: Mapping[str, Any]
) -> Path:
    """Write a memory network in half precision, atomically.

    Parameters
    ----------
    system
        Trained on simulated dialogues of task 5.
    path
        The file.
    settings
        Fields of `NetworkConfig` that differ from the defaults, and ``dialogues``, the number of dialogues.
    made
        How it was trained: JSON values.
    """
    return save_bundle(path, system.model, kind=MEMORY_NETWORK, settings=dict(settings), made=dict(made))


def _load_memory_network(bundle: Bundle) -> MemoryNetworkSystem:
    settings = bundle["settings"]
    split = datasets.load("simulated", 5, dialogues=settings["dialogues"])
    config = construct(NetworkConfig, settings)
    task = encode_split(split, types=entity_types(split) if config.match else None)
    model = build(config, task)
    bundle.fill(model)
    return MemoryNetworkSystem(model, task)


# Copying networks


def save_copier(copier: Copier, path: str | Path, made: Mapping[str, Any], *, half: bool = True) -> Path:
    """Write a copying network with its language, atomically.

    Parameters
    ----------
    copier
        Trained; its candidates are not written.
    path
        The file.
    made
        How it was trained: JSON values.
    half
        Store 16 bits a number.
    """
    return save_bundle(
        path,
        copier.model,
        kind=COPYING_NETWORK,
        half=half,
        config=asdict(copier.model.config),
        encoding=asdict(copier.encoding),
        words=list(copier.language.words),
        templates=[list(template) for template in copier.language.templates],
        made=dict(made),
    )


def _load_copier(bundle: Bundle) -> Copier:
    language = Language(
        words=tuple(bundle["words"]),
        names=(),
        templates=tuple(tuple(template) for template in bundle["templates"]),
    )
    model = CopyNetwork(CopyConfig(**bundle["config"]))
    if len(vocabulary_of(language)) != model.config.vocabulary:
        raise ValueError(f"{len(language.words)} words for {model.config.vocabulary} rows")
    bundle.fill(model)
    return Copier(model, language, EncodingConfig(**bundle["encoding"]), None, bundle["made"])


# Taggers


def save_tagger(tagger: Tagger, path: str | Path, *, made: str, half: bool = True) -> Path:
    """Write a tagger, atomically.

    Parameters
    ----------
    tagger
        A trained tagger.
    path
        The file.
    made
        How it was trained.
    half
        Store 16 bits a number.
    """
    name = next(name for name, kind in TAGGERS.items() if isinstance(tagger, kind))
    return save_bundle(
        path, tagger, kind=TAGGER, half=half, tagger=name, config=asdict(tagger.config), made=made
    )


def _load_tagger(bundle: Bundle) -> Tagger:
    tagger = TAGGERS[bundle["tagger"]](TaggerConfig(**bundle["config"]))
    bundle.fill(tagger)
    return tagger


LOADERS: Mapping[str, Callable[[Bundle], Any]] = {
    MEMORY_NETWORK: _load_memory_network,
    COPYING_NETWORK: _load_copier,
    TAGGER: _load_tagger,
}
"""From the kind of model to what constructs it."""
