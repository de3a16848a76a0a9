"""What a step costs: of QA-MLM, beside a step of fine-tuning (section 5.3.3).

The source says that a step of QA-MLM costs about 60 % of a step of fine-tuning. Here multiplications are
counted, and steps are timed.

Axes: S characters of the question, U of the answer, D width, F feed-forward width, L layers, V vocabulary.
"""

from reasonlib.maths_qa.models.transformer import SolverConfig

__all__ = ["fine_tuning_cost", "masking_cost", "place_cost", "relative_cost"]


def masking_cost(config: SolverConfig, question: float, answer: float, *, share: float = 0.15) -> float:
    """Return the multiplications of QA-MLM for one problem, forward.

    Parameters
    ----------
    config
        Sizes.
    question, answer
        S and U, characters; the answer's end counts, and so does its start.
    share
        Of the characters that are asked for.
    """
    tokens = question + answer + 1
    output = share * tokens * config.width * config.vocabulary
    return config.layers * _layer(config, tokens, tokens) + output


def fine_tuning_cost(config: SolverConfig, question: float, answer: float) -> float:
    """Return the multiplications of fine-tuning on one problem, forward."""
    width = config.width
    memory = 2 * question * width**2 + answer * (2 * width**2 + 2 * question * width)
    decoder = config.layers * (_layer(config, answer, answer) + memory)
    output = answer * width * config.vocabulary
    return config.layers * _layer(config, question, question) + decoder + output


def relative_cost(config: SolverConfig, question: float, answer: float) -> float:
    """Return the cost of a step of QA-MLM as a share of a step of fine-tuning."""
    return masking_cost(config, question, answer) / fine_tuning_cost(config, question, answer)


def place_cost(config: SolverConfig, question: float, answer: float) -> float:
    """Return the additions of place embeddings as a share of the multiplications of both stages, forward.

    QA-MLM adds a vector to every token of the question and the answer, fine-tuning to those of the question.
    """
    additions = (2 * question + answer + 1) * config.width
    return additions / (masking_cost(config, question, answer) + fine_tuning_cost(config, question, answer))


def _layer(config: SolverConfig, queries: float, keys: float) -> float:
    """Return the multiplications of self-attention and the feed-forward layers."""
    width = config.width
    projections = queries * (4 * width**2 + 2 * width * config.hidden)
    return projections + 2 * queries * keys * width
