"""Bundled weights: the trained detector and three trained reasoners.

    >>> model = from_pretrained("relational")

A file holds the class of the model, its config, its weights in 16 bits and its provenance: the command that
trained it and what it scored. The modules `bundle` and `reasoners` of `reasonlib.visual_iq.experiments` train
them again.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from reasonlib.training.checkpoints import weights_metadata
from reasonlib.training.weights import PREFIX, reading, save_bundle
from reasonlib.visual_iq.models.detector.detector import Detector, DetectorConfig
from reasonlib.visual_iq.models.reasoner import Reasoner, ReasonerConfig
from reasonlib.visual_iq.models.relational import Relational, RelationalConfig

__all__ = [
    "BUNDLED",
    "DETECTOR",
    "REASONERS",
    "Pretrained",
    "from_pretrained",
    "load_pretrained",
    "save_pretrained",
]

FOLDER = Path(__file__).parents[1] / "weights"
DETECTOR = "detector"
REASONERS = ("reasoner", "reasoner-fair", "relational")
"""The hierarchical reasoner trained on RAVEN and on I-RAVEN, and the relational model, whose training sees no
candidates."""
BUNDLED = {name: FOLDER / f"{name}.safetensors" for name in (DETECTOR, *REASONERS)}
"""Files of the bundled weights, by name."""

Model = Detector | Reasoner | Relational
CLASSES: dict[str, tuple[type, type]] = {
    "Detector": (Detector, DetectorConfig),
    "Reasoner": (Reasoner, ReasonerConfig),
    "Relational": (Relational, RelationalConfig),
}
DETECTOR_KIND, REASONER_KIND = "detector of entities", "visual reasoner"


class Pretrained(NamedTuple):
    """A trained model and its provenance: the command that trained it, its data, steps and accuracy."""

    model: Any
    provenance: Mapping[str, Any]


def save_pretrained(
    path: str | Path, model: Model, provenance: Mapping[str, Any], *, half: bool = True
) -> Path:
    """Write a trained model as one safetensors file, atomically.

    Parameters
    ----------
    path
        The file; its folder is created.
    model
        A trained model.
    provenance
        How it was trained: anything JSON can hold.
    half
        Store 16 bits a number.
    """
    return save_bundle(
        path,
        model,
        kind=DETECTOR_KIND if isinstance(model, Detector) else REASONER_KIND,
        half=half,
        model=type(model).__name__,
        config=asdict(model.config),
        made=dict(provenance),
    )


def load_pretrained(name: str | Path) -> Pretrained:
    """Read bundled weights, or a file that `save_pretrained` wrote.

    Parameters
    ----------
    name
        One of `BUNDLED`, or the path of a file.

    Returns
    -------
    Pretrained
        The model in float32 on the CPU, in evaluation mode.

    Raises
    ------
    UserError
        If the file is absent, damaged, or holds something else.
    """
    path = BUNDLED.get(str(name), Path(name))
    is_detector = path.is_file() and weights_metadata(path).get("kind") == PREFIX + DETECTOR_KIND
    kind = DETECTOR_KIND if is_detector else REASONER_KIND
    remedy = f"choose {' or '.join(BUNDLED)}, or a file that save_pretrained wrote"
    with reading(path, kind=kind, remedy=remedy) as bundle:
        model_class, config_class = CLASSES[bundle.get("model", "Detector")]
        model = bundle.fill(model_class(config_class(**bundle["config"])))
        return Pretrained(model, bundle.get("made", {}))


def from_pretrained(name: str | Path) -> Any:
    """Load a trained model by its name in `BUNDLED` or from a file; see `load_pretrained`.

    Examples
    --------
    >>> type(from_pretrained("detector")).__name__
    'Detector'
    """
    return load_pretrained(name).model
