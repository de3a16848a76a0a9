"""How many pairs of a query and a key each encoder compares, counted from its equations.

``live/counting.js`` counts the same in the page.
"""

from reasonlib.arguments import check_choice

__all__ = ["SYSTEMS", "attention_pairs"]

SYSTEMS = ("no-context", "concatenation", "dct", "dat", "han", "hce", "hmce")


def attention_pairs(system: str, *, source: int, context: int, count: int, layers: int = 6) -> int:
    """Count the pairs that the encoder of a system compares for one source sentence and its context.

    Parameters
    ----------
    system
        One of `SYSTEMS`.
    source, context
        Tokens of the source sentence, and of each context sentence.
    count
        Context sentences.
    layers
        Layers of the encoder.

    Raises
    ------
    ValueError
        If the system is unknown.

    Examples
    --------
    >>> attention_pairs("concatenation", source=10, context=10, count=2, layers=1)
    900
    >>> attention_pairs("hce", source=10, context=10, count=2, layers=1)
    524
    """
    check_choice("system", system, SYSTEMS)
    # excerpt: pairs of attention
    words = count * context  # of all context sentences
    alone = layers * source**2  # the source, self-attention
    apart = layers * count * context**2  # each context sentence, self-attention
    pooled = count * context**2  # HCE: weights for the words of a sentence
    together = count**2  # HCE: the sentence vectors among themselves
    return {
        "no-context": alone,
        "concatenation": layers * (source + words) ** 2,
        "dct": alone + apart + layers * source * words,
        "dat": alone + apart + source * words,
        "han": alone + apart + layers * source * (words + count),
        "hce": alone + apart + pooled + together + source * count,
        "hmce": alone + apart + pooled + together + 2 * source * count,
    }[system]
    # end excerpt
