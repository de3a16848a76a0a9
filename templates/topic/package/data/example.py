"""What an example of this topic is: the simulator and the reader of the real files return the same."""

from dataclasses import dataclass

__all__ = ["Example"]


@dataclass(frozen=True, kw_only=True)
class Example:
    """A row of digits, and the digit that occurs more often in it.

    Attributes
    ----------
    digits
        0 and 1; their number is odd.
    answer
        The digit that occurs more often.
    support
        Positions of that digit, from 0.
    """

    digits: tuple[int, ...]
    answer: int
    support: tuple[int, ...]
