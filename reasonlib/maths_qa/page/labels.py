"""What the records of this topic call their metrics and rows, in words for a reader."""

from reasonlib.maths_qa.data.modules import CURVES

__all__ = ["METRICS", "ROWS", "module_title"]

_KINDS = {"number": "digits", "alphabet": "letters", "symbols": "symbols"}


def module_title(module: str) -> str:
    """Write the name of a module for a reader.

    >>> module_title("comparison__closest_composed")
    'closest, composed'
    """
    name = module.partition("__")[2].replace("_composed", ", composed")
    return name.replace("_", " ")


METRICS = {
    "accuracy": "exact match",
    "extrapolation": "exact match, extrapolation",
    "extrapolation.known_words": "exact match, extrapolation in known words",
    "accuracy.equal_compute": "exact match at equal compute",
    "accuracy.double": "exact match after twice the steps",
    "modules_above_90": "modules above 90 per cent",
    "seconds_ratio": "time of a step, as a ratio to fine-tuning",
    "counted_ratio": "multiplications of a step, as a ratio to fine-tuning",
    **{f"mlm.{kind}": f"hidden {words} filled in right" for kind, words in _KINDS.items()},
    **{f"accuracy.{module}": f"exact match, {module_title(module)}" for module in CURVES[3:]},
    **{f"early.{module}": f"exact match after a quarter, {module_title(module)}" for module in CURVES},
}
"""From a record's metric to words."""

ROWS = {
    "scratch": "from scratch",
    "encoder": "encoder pre-trained",
    "both": "encoder and decoder pre-trained",
    "both-non-numeric": "pre-trained, digits never hidden",
    "both-numeric": "pre-trained, only digits hidden",
    "both-answers": "pre-trained, only answers hidden",
    "scratch-sinusoidal": "from scratch, sinusoidal positions",
    "learned": "learned positions",
    "place-value": "learned positions and place values",
    "solvers": "bundled models",
    "most-frequent": "most frequent answer",
    "symbolic": "computer algebra",
    "lstm": "LSTM with attention",
    "qa-mlm": "a step of QA-MLM",
}
"""From a record's row to words; all others lose their hyphens."""
