"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS"]

METRICS = {
    "joint_goal": "joint goal accuracy",
    "inherited": "accuracy on inherited slots",
    "turns_per_second.30": "turns a second, 30 pairs",
    "gate.none.precision": "gate: precision of none",
    "gate.none.recall": "gate: recall of none",
    "gate.dontcare.precision": "gate: precision of dontcare",
    "gate.dontcare.recall": "gate: recall of dontcare",
    "gate.prediction.precision": "gate: precision of prediction",
    "gate.prediction.recall": "gate: recall of prediction",
}
"""From a record's metric to words."""

ROWS = {
    "merge": "DS-merge",
    "merge-blocked": "DS-merge, attention among slots blocked",
    "split": "DS-split",
    "split-blocked": "DS-split, attention among slots blocked",
    "none": "no DS tokens, [CLS] alone",
    "three-way-gate": "DS-merge, three-way gate",
    "from-scratch": "DS-merge, encoder not pre-trained",
    "truncated": "DS-merge, 96 tokens at most",
    "carry-over": "the last turn's true state",
    "copy": "copy model, each slot on its own",
    "one-run-a-pair": "one encoder run a pair",
    "one-run": "one encoder run for all pairs",
    "closed": "DS-merge, closed lists of values",
    "span": "DS-merge, spans of the dialogue",
}
"""From a record's row to words; all others lose their hyphens."""
