"""The 56 kinds of question, and the 15 that are harder than anything in training (Saxton et al. 2019)."""

from collections.abc import Mapping

__all__ = ["AREAS", "COMPOSED", "CURVES", "EXTRAPOLATION", "MODULES", "area_of"]

_WITH_COMPOSED = {
    "algebra": ("linear_1d", "linear_2d", "polynomial_roots"),
    "calculus": ("differentiate",),
    "comparison": ("closest", "kth_biggest", "pair", "sort"),
    "numbers": (
        "div_remainder", "gcd", "is_factor", "is_prime", "lcm", "list_prime_factors", "place_value",
        "round_number",
    ),
    "polynomials": ("evaluate",),
}  # fmt: skip
"""Questions that are also asked of quantities which must first be worked out, as ``<name>_composed``."""

_ALONE = {
    "algebra": ("sequence_next_term", "sequence_nth_term"),
    "arithmetic": (
        "add_or_sub", "add_or_sub_in_base", "add_sub_multiple", "div", "mixed", "mul", "mul_div_multiple",
        "nearest_integer_root", "simplify_surd",
    ),
    "measurement": ("conversion", "time"),
    "numbers": ("base_conversion",),
    "polynomials": ("add", "coefficient_named", "collect", "compose", "expand", "simplify_power"),
    "probability": ("swr_p_level_set", "swr_p_sequence"),
}  # fmt: skip

_EXTRA = {
    "algebra": ("polynomial_roots_big",),
    "arithmetic": (
        "add_or_sub_big", "add_sub_multiple_longer", "div_big", "mixed_longer", "mul_big",
        "mul_div_multiple_longer",
    ),
    "comparison": ("closest_more", "kth_biggest_more", "sort_more"),
    "measurement": ("conversion",),
    "numbers": ("place_value_big", "round_number_big"),
    "probability": ("swr_p_level_set_more_samples", "swr_p_sequence_more_samples"),
}  # fmt: skip


def _names(parts: Mapping[str, tuple[str, ...]], ending: str = "") -> set[str]:
    return {f"{area}__{name}{ending}" for area, names in parts.items() for name in names}


COMPOSED = tuple(sorted(_names(_WITH_COMPOSED, "_composed")))
"""The modules whose questions have several steps."""

MODULES = tuple(sorted(_names(_WITH_COMPOSED) | set(COMPOSED) | _names(_ALONE)))
"""The 56 modules of training and of the interpolation test, as ``<area>__<name>``."""

EXTRAPOLATION = tuple(sorted(_names(_EXTRA)))
"""The 15 modules of the extrapolation test."""

AREAS = tuple(sorted({name.partition("__")[0] for name in MODULES}))
"""The eight areas."""

CURVES = (
    "comparison__closest", "arithmetic__add_or_sub", "calculus__differentiate",
    "comparison__closest_composed", "calculus__differentiate_composed", "arithmetic__add_sub_multiple",
    "algebra__polynomial_roots", "algebra__sequence_nth_term", "probability__swr_p_sequence",
)  # fmt: skip
"""The nine modules whose learning curves the source shows (figure 5.6), row by row."""


def area_of(module: str) -> str:
    """Return the area of a module.

    >>> area_of("arithmetic__add_or_sub")
    'arithmetic'
    """
    return module.partition("__")[0]
