"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS"]

METRICS = {
    "accuracy": "share of right answers, mean over the tasks",
    "accuracy.qa1": "share of right answers, one fact (task 1)",
    "accuracy.without_3": "share of right answers, mean over the tasks but 3",
    "accuracy.qa2": "two facts (task 2)",
    "accuracy.qa3": "three facts (task 3)",
    "epochs_to_half": "epochs until half of the answers are right",
    "error": "share of wrong answers, best of the starts",
    "error.restarts": "share of wrong answers, mean of the starts",
    "support.chance": "weight on the supporting facts under uniform attention",
    "support.weight": "weight on the supporting facts",
}
"""From a record's metric to words."""

ROWS = {
    "all": "one network a task",
    "bag-of-words": "bag of words",
    "bert-base": "BERT-base",
    "full": "memory network",
    "lr-0.0025": "rate 0.0025",
    "lr-0.005": "rate 0.005",
    "lr-0.01": "rate 0.01",
    "lstm": "LSTM",
    "no-time": "no temporal encoding",
    "one-hop": "one hop",
    "pre-trained": "pre-trained",
    **{f"d{width}-n{hops}": f"width {width}, {hops} hops" for width in (20, 50, 100) for hops in (3, 6)},
}
"""From a record's row to words; all others lose their hyphens."""
