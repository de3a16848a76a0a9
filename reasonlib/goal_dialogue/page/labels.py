"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS"]

METRICS = {
    "average": "share of right responses, mean of tasks 1 to 5",
    "oov": "share of right responses, OOV entities, mean of tasks 1 to 5",
    **{f"oov{task}": f"share of right responses, task {task}, OOV entities" for task in range(1, 6)},
    "seen": "share of right types, seen words",
    "unseen": "share of right types, unseen words",
    "free.oov": "share of responses said word for word, OOV entities",
    **{f"task{task}": f"share of right responses, task {task}" for task in range(1, 7)},
}
"""From a record's metric to words."""

ROWS = {
    "adadelta": "Adadelta",
    "batch-256": "batches of 256",
    "chosen": "the recipe",
    "context": "reads the sentence",
    "copying": "copying",
    "dbow": "DbowN2N",
    "dbow-external": "DbowN2N, vectors from other text",
    "gn2n": "GN2N",
    "gn2n-match": "GN2N, match",
    "hinge": "hinge loss",
    "hops-1": "1 hop",
    "hops-3": "3 hops",
    "hops-5": "5 hops",
    "hops-10": "10 hops",
    "in-order": "without shuffling",
    "ktn2n": "KTN2N",
    "letters": "reads letters, from half of the knowledge base",
    "letters-all": "reads letters, from all of the knowledge base",
    "ktn2n-swapped": "KTN2N, from the validation dialogues",
    "multiply": "tags multiplied",
    "n2n": "N2N",
    "n2n-match": "N2N, match",
    "n2n-swapped": "N2N, from the validation dialogues",
    "nearest": "nearest neighbour",
    "no-results": "without API results",
    "numbers": "tags as numbers",
    "random": "random vectors",
    "sentence": "a tag for a sentence",
    "slots-100": "100 memory slots",
    "sum": "tags added",
    "supervised": "supervised embeddings",
    "supervised-match": "supervised embeddings, match",
    "tf-idf": "TF-IDF",
    "tf-idf-typed": "TF-IDF, types",
    "train": "the bound",
    "un2n": "UN2N",
    "un2n-match": "UN2N, match",
    "word2vec": "Word2Vec",
}
"""From a record's row to words; all others lose their hyphens."""
