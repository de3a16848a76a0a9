"""What a check expects of an answer: plain complaints that a student can act on."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Untouched", "Wrong", "expect", "expect_close", "expect_equal", "guard"]


class Wrong(Exception):
    """What a check raises: the hint the student reads."""


class Untouched(Exception):
    """The answer is the empty one that the student was given."""


def expect(condition: Any, hint: str) -> None:
    """Complain with `hint` unless the condition holds."""
    if not bool(condition):
        raise Wrong(hint)


def expect_equal(actual: Any, expected: Any, hint: str, *, wrong: Mapping[str, Any] | None = None) -> None:
    """Complain unless two things are equal.

    Parameters
    ----------
    actual, expected
        The student's and the right one.
    hint
        Said when they differ and no entry of `wrong` fits.
    wrong
        From a better hint to the answer that a known mistake gives.
    """
    _started(actual)
    if _same(actual, expected):
        return
    for better, mistake in (wrong or {}).items():
        if _same(actual, mistake):
            raise Wrong(better)
    raise Wrong(f"{hint} (got {_short(actual)})")


def expect_close(
    actual: Any,
    expected: ArrayLike,
    hint: str,
    *,
    wrong: Mapping[str, ArrayLike] | None = None,
    tolerance: float = 1e-5,
    what: str = "the result",
) -> None:
    """Complain unless two arrays have one shape and, up to a tolerance, one content.

    Parameters
    ----------
    actual, expected
        The student's and the right one: numbers, lists, arrays or tensors.
    hint
        Said when they differ and no entry of `wrong` fits.
    wrong
        From a better hint to the array that a known mistake gives.
    tolerance
        Largest difference allowed, relative and absolute.
    what
        How the messages call the student's array.
    """
    _started(actual)
    try:
        actual_array = _numbers(actual)
    except (TypeError, ValueError):
        raise Wrong(f"{what} must be numbers, got {_short(actual)}") from None
    expected_array = _numbers(expected)
    if _close(actual_array, expected_array, tolerance):
        return
    for better, mistake in (wrong or {}).items():
        if _close(actual_array, _numbers(mistake), tolerance):
            raise Wrong(better)
    if actual_array.shape != expected_array.shape:
        raise Wrong(f"{what} must have shape {expected_array.shape}, got {actual_array.shape}")
    if np.isnan(actual_array).any() and not np.isnan(expected_array).any():
        raise Wrong(
            f"there is NaN in {what}, which is not a number: look for 0/0, inf - inf or the logarithm of 0"
        )
    raise Wrong(f"{hint} (largest difference {np.nanmax(np.abs(actual_array - expected_array)):.2g})")


def _started(actual: Any) -> None:
    if actual is ...:
        raise Untouched
    if actual is None:
        raise Wrong("nothing came back: is a `return` missing?")


def guard(answer: Any) -> Any:
    """Let a plain function complain by itself when it hands back nothing."""
    if not (inspect.isfunction(answer) or getattr(type(answer), "is_remote", False)) or not callable(answer):
        return answer

    def call(*arguments: Any, **named: Any) -> Any:
        value = answer(*arguments, **named)
        _started(value)
        return value

    call.__wrapped__ = answer  # type: ignore[attr-defined]
    return call


def _numbers(values: Any) -> NDArray[np.float64]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=np.float64)


def _close(first: NDArray[np.float64], second: NDArray[np.float64], tolerance: float) -> bool:
    return first.shape == second.shape and bool(
        np.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True)
    )


def _same(first: Any, second: Any) -> bool:
    if hasattr(first, "detach") or hasattr(second, "detach") or isinstance(first, np.ndarray):
        try:
            return _close(_numbers(first), _numbers(second), 0.0)
        except (TypeError, ValueError):
            return False
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    return bool(_scalar(first) == _scalar(second))


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _short(thing: Any) -> str:
    shown = repr(thing)
    return shown if len(shown) <= 80 else shown[:77] + "..."
