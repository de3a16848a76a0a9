"""What the records of this topic call their metrics and rows, in words for a reader."""

__all__ = ["METRICS", "ROWS", "TASK_NAMES"]

TASK_NAMES = {
    "acceptability": "acceptability",
    "sentiment": "sentiment",
    "similarity": "similarity",
    "inference": "inference",
    "entailment": "entailment",
    "paraphrase": "paraphrase",
    "answers": "answers",
}
"""From a task of the simulated family to the word that figures use."""

METRICS = {
    "mean": "mean of the tasks' own metrics",
    "inference.accuracy": "inference, accuracy",
    "entailment.accuracy": "entailment, accuracy",
    "paraphrase.accuracy": "paraphrase, accuracy",
    "answers.accuracy": "answers, accuracy",
    "gain": "gain from inference",
    "captions.accuracy_0.1": "captions, accuracy, 0.1 % of the examples",
    "captions.accuracy_1": "captions, accuracy, 1 % of the examples",
    "captions.accuracy_10": "captions, accuracy, 10 % of the examples",
    "captions.accuracy_100": "captions, accuracy, all examples",
    "science.accuracy_0.1": "science, accuracy, 0.1 % of the examples",
    "science.accuracy_1": "science, accuracy, 1 % of the examples",
    "science.accuracy_10": "science, accuracy, 10 % of the examples",
    "science.accuracy_100": "science, accuracy, all examples",
    "rte.accuracy": "RTE, accuracy",
    "mrpc.f1": "MRPC, F1",
    "cola.matthews": "CoLA, Matthews correlation",
    "stsb.pearson": "STS-B, Pearson correlation",
    "sst2.accuracy": "SST-2, accuracy",
    "wikiqa.map": "WikiQA, mean average precision",
    **{
        f"{corpus}.accuracy_{share}": f"{name}, accuracy, {words}"
        for corpus, name in (("snli", "SNLI"), ("scitail", "SciTail"))
        for share, words in (
            ("0.1", "0.1 % of the examples"),
            ("1", "1 % of the examples"),
            ("10", "10 % of the examples"),
            ("100", "all examples"),
        )
    },
}
"""From a record's metric to words."""

ROWS = {
    "mt-dnn": "MT-DNN",
    "mt-dnn-no-fine-tuning": "MT-DNN without fine-tuning",
    "mt-dnn-head": "MT-DNN with a trained head",
    "st-dnn": "ST-DNN, each task alone",
    "bert": "BERT, plain heads",
    "mt-dnn-from-scratch": "MT-DNN, not pre-trained",
    "st-dnn-from-scratch": "ST-DNN, not pre-trained",
    "linear": "linear head",
    "san": "answer network",
    "san-one-step": "answer network, one step",
    "san-keeps-all": "answer network, no answer dropped",
    "relevance": "ranking head, γ = 1",
    "relevance-sharp": "ranking head, γ = 10",
    "scores": "ranking head without sigmoid",
    "classification": "each candidate alone",
    "50": "50 examples",
    "1600": "1,600 examples",
    "32": "32 examples",
    "2016": "2,016 examples",
    "0": "relatedness 0",
    "1": "relatedness 1",
    "joint": "mean of all gradients",
    "pcgrad": "PCGrad",
    "one-task-a-step": "one task a step",
    "temperature": "temperature 5",
    **{
        f"{encoder}-{row}": f"{name}, {system}"
        for encoder, name in (("minilm", "MiniLM"), ("own", "encoder pre-trained here"))
        for row, system in (
            ("mt-dnn", "MT-DNN"),
            ("mt-dnn-no-fine-tuning", "MT-DNN without fine-tuning"),
            ("mt-dnn-head", "MT-DNN with a trained head"),
            ("st-dnn", "ST-DNN"),
            ("bert", "plain heads"),
        )
    },
}
"""From a record's row to words; all others lose their hyphens."""
