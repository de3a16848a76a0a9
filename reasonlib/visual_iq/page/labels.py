"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS"]

METRICS = {
    "accuracy": "share solved",
    "accuracy_2x2Grid": "share solved, 2x2Grid",
    "accuracy_3x3Grid": "share solved, 3x3Grid",
    "accuracy_Center": "share solved, Center",
    "accuracy_L-R": "share solved, L-R",
    "accuracy_O-IC": "share solved, O-IC",
    "accuracy_O-IG": "share solved, O-IG",
    "accuracy_U-D": "share solved, U-D",
    "chance": "chance",
    "longer@accuracy": "share solved, 50 passes",
    "reasoner@accuracy": "share solved, 10 passes",
}
"""From a record's metric to words; what stands before an @ is the experiment it is meant for."""

ROWS = {
    "blind": "the hierarchy, context hidden",
    "cnn-reasoner": "with a CNN in the detector's place",
    "copinet": "CoPINet",
    "cross-entropy": "the same with cross-entropy",
    "full": "the hierarchy",
    "no-entity": "without its entity encoder",
    "no-panel": "without its panel encoder",
    "vote": "a vote",
}
"""From a record's row to words; all others lose their hyphens."""
