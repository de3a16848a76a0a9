"""A figure that plays simulated scenes; a bundled TVQA_abc answers the reader's questions in the browser.

``reading.js`` computes the model, ``watching.js`` shows the scene and the answer.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reasonlib.display import live as shell
from reasonlib.display.plotting import Picture
from reasonlib.modality_alignment.data.scene import (
    COLOURS,
    Scene,
    SceneConfig,
    caption,
    draw_scene,
    regions_of,
)
from reasonlib.modality_alignment.models.pretrained import BundledAnswerer, from_pretrained

__all__ = ["describe_scene", "reading_code", "watching"]

FOLDER = Path(__file__).parent
BITS = 8
SEED = 2026  # of the scenes in the figure; training and its tests have others
SCENES = 8


def reading_code() -> str:
    """Give the JavaScript of TVQA_abc, with the shared parts before it; for tests."""
    return shell.code(FOLDER / "reading.js")


def describe_scene(scene: Scene, draw: np.random.Generator, config: SceneConfig) -> dict[str, Any]:
    """Give a scene as the page needs it: objects, lines, and the regions of every frame."""
    return {
        "actors": [actor._asdict() for actor in scene.actors],
        "lines": [line._asdict() for line in scene.lines],
        "frames": [
            [
                {
                    "label": region.label,
                    "box": [float(edge) for edge in region.box],
                    "features": [round(float(value), 3) for value in region.features],
                }
                for region in frame
            ]
            for frame in regions_of(scene, draw, config)
        ],
    }


def watching(reader: BundledAnswerer | None = None) -> Picture:
    """Put scenes into the page: a reader asks about them, and a model answers with what it looked at.

    Parameters
    ----------
    reader
        By default the bundled one.
    """
    reader = reader or from_pretrained()
    seen = SceneConfig(frames_each=1, features=reader.model.config.features, noise=0.05)
    draw = np.random.default_rng(SEED)
    scenes = [draw_scene(draw) for _ in range(SCENES)]
    return shell.figure(
        "watching",
        label="Ask a model about a scene",
        static=_table(scenes[0]),
        scripts=[FOLDER / "reading.js", FOLDER / "watching.js"],
        styles=[FOLDER / "figure.css"],
        modules=["plot"],
        data={
            "tokens": list(reader.vocabulary.tokens),
            "colours": list(COLOURS),
            "scenes": [describe_scene(scene, draw, seen) for scene in scenes],
        },
        models={"model": shell.pack_weights(reader.model.state_dict(), bits=BITS)},
        about="A small TVQA_abc, trained on simulated questions. These scenes are new to it."
        + _accuracies(reader.made),
        offer="With scripts you can play the scenes and ask a model about them.",
    )


def _accuracies(metadata: Mapping[str, Any]) -> str:
    """Say how often the model is right, by what a question needs; nothing where it was not measured."""
    names = {"video": "the video", "subtitle": "the subtitles", "both": "both"}
    shares = [
        f"{100 * metadata[f'accuracy.{need}']:.0f} % ({words})"
        for need, words in names.items()
        if f"accuracy.{need}" in metadata
    ]
    return f" Right on new questions, by what they need: {', '.join(shares)}." if shares else ""


def _table(scene: Scene) -> Picture:
    """Write a scene as a table, for pages without scripts."""
    rows = "".join(
        f"<tr><td>{caption(scene, slot)}</td><td>{line.speaker}: i {line.verb} the {line.shape}</td></tr>"
        for slot, line in enumerate(scene.lines)
    )
    description = "; ".join(caption(scene, slot) for slot in range(len(scene.actors)))
    return Picture(
        '<div class="rr-figure"><table><thead><tr><th>seen</th><th>said</th></tr></thead>'
        f"{rows}</table></div>",
        alt=f"A scene of five objects: {description}. While each acts, somebody says what they want or fear.",
    )
