"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS"]

METRICS = {
    "sentence_accuracy_helpful": "sentence accuracy, helpful context",
    "sentence_accuracy_unhelpful": "sentence accuracy, unhelpful context",
    "contrastive_accuracy": "contrastive accuracy",
    "bleu": "BLEU",
    "bleu_helpful": "BLEU, helpful context",
    "bleu_unhelpful": "BLEU, unhelpful context",
    "bleu_gap": "BLEU gap, unhelpful less helpful",
    "parameters_millions": "parameters, in millions",
    "training_speed_ratio": "training speed, as a ratio to concatenation",
    "inference_speed_ratio": "translation speed, as a ratio to concatenation",
    "cached_speed_ratio": "translation speed with cached context, as a ratio to concatenation",
    "seconds_exponent.sentences": "exponent of time in the number of context sentences",
    "memory_exponent.sentences": "exponent of memory in the number of context sentences",
}
"""From a record's metric to words."""

ROWS = {
    "no-context": "no context (TwoC)",
    "concatenation": "concatenation (TwC)",
    "dct": "DCT",
    "dat": "DAT",
    "han": "HAN",
    "hce": "HCE",
    "hmce": "HMCE",
}
"""From a record's row to words; all others lose their hyphens."""
