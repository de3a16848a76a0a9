"""The teacher's editions of all topics."""

from pathlib import Path

from reasonlib.grading import edition

FOLDER = Path(__file__).parents[1] / "teaching"
EDITIONS = {path.stem: edition.load(path) for path in sorted(FOLDER.glob("*.py"))}
