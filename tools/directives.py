"""The blocks of MyST Markdown: directives between fences, and display equations between dollars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FENCE = re.compile(r"^(?P<mark>`{3,}|:{3,})\{(?P<name>[\w:.-]+)\}[ \t]*(?P<argument>.*)$")
CODE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?!\{)")
TARGET = re.compile(r"^\((?P<label>[\w:. -]+)\)=\s*$")
OPTION = re.compile(r"^:(?P<key>[\w-]+):[ \t]*(?P<value>.*)$")
DOLLARS = re.compile(r"^\$\$(?P<one>.+?)\$\$[ \t]*(?:\((?P<label>[\w:.-]+)\))?\s*$")


class UnknownMarkup(ValueError):
    """MyST that has no words here yet."""


@dataclass
class Block:
    """One directive: its name, argument, options and body, with the line it begins on."""

    name: str
    argument: str
    options: dict[str, str]
    body: list[str]


def directive(lines: Sequence[str], start: int) -> tuple[Block, int]:
    """Read the directive whose fence is at `start`; return it and the line after its end."""
    match = FENCE.match(lines[start])
    assert match
    mark = match["mark"]
    end = start + 1
    closing = re.compile(rf"^{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    inner: list[str] = []  # colon fences of the same length may not nest, code inside is skipped whole
    while end < len(lines) and not (closing.match(lines[end]) and not inner):
        code = CODE.match(lines[end])
        if inner and re.match(rf"^{re.escape(inner[-1])}\s*$", lines[end]):
            inner.pop()
        elif not inner and code and mark[0] == ":":
            inner.append(code["mark"])
        end += 1
    if end == len(lines):
        raise UnknownMarkup(f"the fence {lines[start].strip()} is never closed")
    body = list(lines[start + 1 : end])
    options: dict[str, str] = {}
    if body and body[0].strip() == "---":
        stop = body.index("---", 1)
        for line in body[1:stop]:
            key, _, value = line.partition(":")
            options[key.strip()] = value.strip()
        body = body[stop + 1 :]
    else:
        while body and (option := OPTION.match(body[0])):
            options[option["key"]] = option["value"].strip()
            body.pop(0)
    return Block(match["name"], match["argument"].strip(), options, body), end + 1


def dollars(lines: Sequence[str], index: int) -> tuple[int, str, str | None]:
    """Read a display equation between double dollars; return the line after it, the formula and its label."""
    if match := DOLLARS.match(lines[index]):
        return index + 1, match["one"].strip(), match["label"]
    formula = [lines[index].removeprefix("$$")]
    index += 1
    while index < len(lines):
        if "$$" in lines[index]:
            before, _, after = lines[index].partition("$$")
            label = re.match(r"\s*\(([\w:.-]+)\)\s*$", after)
            return index + 1, "\n".join([*formula, before]).strip(), label[1] if label else None
        formula.append(lines[index])
        index += 1
    raise UnknownMarkup("a display equation is never closed")
