"""Computer algebra as a baseline: SymPy answers what a pattern recognises, and nothing else.

Each rule is a pattern of the question and what SymPy does with its parts. It shows which modules need no
learning at all once the wording is known, and in which form the generator wants the answer.
"""

import re
from collections.abc import Callable
from tokenize import TokenError

import sympy

from reasonlib.maths_qa.data.compatibility import released_printing

__all__ = ["RULES", "solve"]

_ORDER = {"first": 1, "second": 2, "third": 3}


def _expression(text: str) -> sympy.Expr:
    """Parse an expression; every letter is a symbol, every decimal an exact fraction."""
    if not re.fullmatch(r"[\d\sa-z.+\-*/()]+", text) or re.search(r"[a-z]{2}", text):
        raise ValueError(f"no expression: {text!r}")
    names = {letter: sympy.Symbol(letter) for letter in "abcdefghijklmnopqrstuvwxyz"}
    return sympy.parse_expr(re.sub(r"\d+\.\d+", r"Rational('\g<0>')", text), local_dict=names)


def _number(value: sympy.Expr, decimal: bool) -> str:
    """Write a number as the generator does: as a decimal where the question has one."""
    if not decimal or not value.is_Rational:
        return str(value)
    places = 0
    while (value * 10**places).q != 1:
        places += 1
        if places > 30:
            return str(value)
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _arithmetic(text: str) -> str:
    return _number(_expression(text), "." in text)


def _distance(a: str, b: str) -> str:
    return _number(abs(_expression(a) - _expression(b)), "." in a + b)


def _derivative(order: str, text: str, name: str | None) -> str:
    polynomial = _expression(text)
    symbol = sympy.Symbol(name) if name else min(polynomial.free_symbols, key=str)
    return str(sympy.expand(sympy.diff(polynomial, symbol, _ORDER[order.strip() or "first"])))


def _roots(text: str, name: str) -> str:
    left, _, right = text.partition("=")
    equation = _expression(left) - _expression(right or "0")
    return ", ".join(str(root) for root in sorted(sympy.roots(equation, sympy.Symbol(name), filter="R")))


def _flipped_roots(name: str, text: str) -> str:
    return _roots(text, name)


def _term(name: str, text: str) -> str:
    values = [sympy.Integer(number) for number in text.split(",")]
    symbol = sympy.Symbol(name)
    return str(sympy.expand(sympy.interpolate(values, symbol)))


def _sequence(letters: str, bag: str) -> str:
    """Return the probability of drawing letters in this order, without putting any back."""
    counted = dict(re.findall(r"([a-z]): (\d+)", bag)) if bag.startswith("{") else {}
    left = {letter: int(counted.get(letter, bag.count(letter) * (not counted))) for letter in letters}
    total = sum(map(int, counted.values())) if counted else len(bag)
    probability = sympy.Integer(1)
    for letter in letters:
        probability *= sympy.Rational(max(left[letter], 0), max(total, 1))
        left[letter] -= 1
        total -= 1
    return str(probability)


def _flipped_sequence(bag: str, letters: str) -> str:
    return _sequence(letters, bag)


def _closest(target: str, text: str) -> str:
    """Return the option, or its letter where the options have letters."""
    labelled = re.findall(r"\(([a-z])\)\s*(\S+)", text)
    options = labelled or [(option.strip(),) * 2 for option in text.split(",")]
    goal = _expression(target)
    return min(options, key=lambda option: abs(_expression(option[1]) - goal))[0]


RULES: tuple[tuple[str, Callable[..., str]], ...] = (
    (r"What is the (?:closest|nearest) to (\S+) in (.+)\?", _closest),
    (r"Which is the (?:closest|nearest) to (\S+)\?\s+(.+)", _closest),
    (r"What is the ([a-z])'th term of (.+)\?", _term),
    (r"(?:Find|What is) the (first |second |third |)derivative of (.+?)(?: wrt ([a-z]))?[.?]", _derivative),
    (r"()Differentiate (.+?)(?: (?:wrt|with respect to) ([a-z]))?\.", _derivative),
    (r"Factor (.+)\.", lambda text: str(sympy.factor(_expression(text)))),
    (r"Solve (.+) for ([a-z])\.", _roots),
    (r"(?:Let|Suppose) (.+ = 0)\. (?:What is|Calculate) ([a-z])[.?]", _roots),
    (
        r"(?:What is|Find|Determine) ([a-z])(?: in| such that| so that|, given that) (.+ = 0)[.?]",
        _flipped_roots,
    ),
    (
        r"(?:What is prob|Calculate prob) of sequence (\w+) when \w+ letters picked .* from (.+)[.?]",
        _sequence,
    ),
    (r"\w+ letters picked without replacement from (.+)\. .* prob of sequence (\w+)[.?]", _flipped_sequence),
    (r"What is the (?:difference between|distance between) (\S+) and (\S+)\?", _distance),
    (r"What is (\S+) (?:minus|take away) (\S+)\?", lambda a, b: _arithmetic(f"{a}-({b})")),
    (r"What is (\S+) plus (\S+)\?", lambda a, b: _arithmetic(f"{a}+({b})")),
    (r"What is (\S+) less than (\S+)\?", lambda a, b: _arithmetic(f"{b}-({a})")),
    (r"(?:Sum|Add|Total of|Put together) (\S+) and (\S+)\.", lambda a, b: _arithmetic(f"{a}+({b})")),
    (r"Subtract (\S+) from (\S+)\.", lambda a, b: _arithmetic(f"{b}-({a})")),
    (r"What is (?:the value of )?(.+)\?", _arithmetic),
    (r"(?:Calculate|Evaluate|Work out) (.+)\.", _arithmetic),
    (r"([^a-zA-Z]+)", _arithmetic),
)
"""Pattern of a whole question, and what answers it from its groups."""


def solve(question: str) -> str:
    """Answer a question that a rule fits; an empty text where none does.

    >>> solve("What is the second derivative of 12518*f**3 + 3760*f wrt f?")
    '75108*f'
    >>> solve("What is the k'th term of 485, 472, 459, 446?")
    '-13*k + 498'
    """
    for pattern, rule in RULES:
        match = re.fullmatch(pattern, question)
        if match:
            try:
                with released_printing():
                    return rule(*match.groups())
            except (ValueError, TypeError, SyntaxError, ZeroDivisionError, TokenError, sympy.SympifyError):
                continue
    return ""
