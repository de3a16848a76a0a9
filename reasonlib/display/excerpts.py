r"""Cut out of a library file the few lines that a chapter sets beside an equation.

The file itself marks them, with two comments::

    # excerpt: attention weights
    scores = query @ key.transpose(-2, -1) / math.sqrt(width)
    weights = scores.softmax(-1)
    # end excerpt

A name may occur several times in one file: the parts are joined by a line of dots, so that checks of
arguments between them are left out. Docstrings are left out too, because the chapter says the same at
length. What an excerpt may hold is checked by `problems`, for every marker of the library, in the tests.

>>> (cut,) = cut_all("# excerpt: half\nx = 1 / 2  # exact\n# end excerpt\n", file="reasonlib/half.py")
>>> cut.name, cut.code, cut.lines
('half', 'x = 1 / 2  # exact', (2, 2))
"""

import ast
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from reasonlib.errors import UserError

__all__ = ["LINES", "WIDTH", "Excerpt", "cut_all", "find", "problems", "without_docstrings"]

LINES = 25  # of an excerpt, at most
WIDTH = 80  # of its lines, at most: the column of a page 1280 pixels wide
DOTS = "..."

PACKAGE = Path(__file__).resolve().parent.parent
BEGIN = re.compile(r"^\s*# excerpt: (?P<name>\S.*?)\s*$")
END = re.compile(r"^\s*# end excerpt\s*$")
TOOLING = re.compile(r"\s*#\s*(?:type: ignore|noqa|pragma|fmt:|pylint).*$")
DRAWING = {"plotting", "plt", "axes", "seaborn", "print"}


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """Some code and where it stands.

    Attributes
    ----------
    name
        Qualified name of an object, `MemoryNetwork.forward`, or the name of a marked excerpt.
    code
        Its source, dedented, without a trailing newline.
    file
        `reasonlib/nn/memory.py`, or `None` for code that is not the library's.
    lines
        First and last line in `file`, counted from one.
    """

    name: str
    code: str
    file: str | None
    lines: tuple[int, int]


def find(file: str, name: str) -> Excerpt:
    """Read one excerpt.

    Parameters
    ----------
    file
        Path below the package, ``nn/memory.py``; ``reasonlib/nn/memory.py`` is understood too.
    name
        As in its marker.

    Raises
    ------
    UserError
        If there is no such file or no such excerpt in it; lists those there are.
    """
    inside = file.removeprefix("reasonlib/")
    path = (PACKAGE / inside).resolve()
    if not path.is_relative_to(PACKAGE) or not path.is_file() or path.suffix != ".py":
        raise UserError(f"an excerpt comes from a file of the library such as nn/memory.py, got {file!r}")
    cuts = {cut.name: cut for cut in cut_all(path.read_text(encoding="utf-8"), file=f"reasonlib/{inside}")}
    if name not in cuts:
        raise UserError(
            f"reasonlib/{inside} has no excerpt {name!r}; it has: {', '.join(cuts) or 'none'} "
            "(mark lines with `# excerpt: NAME` and `# end excerpt`)"
        )
    return cuts[name]


def cut_all(text: str, *, file: str) -> list[Excerpt]:
    """Cut out every marked excerpt of a file, in order.

    Parameters
    ----------
    text
        The file's source.
    file
        Its path, for messages and links.

    Raises
    ------
    UserError
        If a marker is not closed, or opened inside another.
    """
    parts: dict[str, list[tuple[int, int]]] = {}
    lines = text.splitlines()
    name, first = "", 0
    for number, line in enumerate(lines, 1):
        if begin := BEGIN.match(line):
            if name:
                raise UserError(f"{file}:{number}: excerpt {name!r} is still open; close it first")
            name, first = begin["name"], number + 1
        elif END.match(line):
            if not name:
                raise UserError(f"{file}:{number}: `# end excerpt` closes nothing")
            parts.setdefault(name, []).append((first, number - 1))
            name = ""
    if name:
        raise UserError(f"{file}: excerpt {name!r} is never closed with `# end excerpt`")
    return [
        Excerpt(
            name=each,
            code=_joined([lines[first - 1 : last] for first, last in spans]),
            file=file,
            lines=(spans[0][0], spans[-1][1]),
        )
        for each, spans in parts.items()
    ]


def problems(excerpt: Excerpt) -> list[str]:
    """Say what of an excerpt a reader should not meet; an empty list if it is as it should be."""
    lines = excerpt.code.splitlines()
    faults = []
    if not 1 <= len(lines) <= LINES:
        faults.append(f"has {len(lines)} lines; show 1 to {LINES}")
    if wide := [line for line in lines if len(line) > WIDTH]:
        faults.append(f"has a line of {max(map(len, wide))} characters; at most {WIDTH}: {wide[0].strip()!r}")
    try:
        tree = ast.parse(excerpt.code)
    except SyntaxError as error:
        return [*faults, f"is no whole statement (line {error.lineno}: {error.msg})"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Assert):
            faults.append(f"checks its arguments: `{ast.unparse(node)[:60]}`; mark the lines around it")
        if isinstance(node, ast.Name) and node.id in DRAWING:
            faults.append(f"draws or prints: `{node.id}`; show what is computed")
    return list(dict.fromkeys(faults))


def without_docstrings(code: str) -> str:
    r"""Remove every docstring from a piece of code; a body that was nothing else becomes `...`.

    >>> print(without_docstrings('def half(x):\n    "Divide by two."\n    return x / 2  # exact'))
    def half(x):
        return x / 2  # exact
    """
    lines = code.splitlines()
    cuts: list[tuple[ast.stmt, bool]] = []
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            cuts.append((node.body[0], len(node.body) == 1 and not isinstance(node, ast.Module)))
    for statement, alone in sorted(cuts, key=lambda cut: cut[0].lineno, reverse=True):
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        before = lines[first].encode()[: statement.col_offset].decode()
        after = lines[last].encode()[statement.end_col_offset :].decode()
        if alone:
            lines[first : last + 1] = [before + "..." + after]
        elif before.strip():  # def f(): "text"; return 1
            lines[first : last + 1] = [before + after.lstrip(" ;")]
        elif after.strip():  # a comment, or a statement after a semicolon
            lines[first : last + 1] = [before + after.lstrip(" ;")]
        else:
            end = last + 1
            while end < len(lines) and not lines[end].strip():
                end += 1
            lines[first:end] = []
    return "\n".join(lines)


def _joined(pieces: list[list[str]]) -> str:
    """Join the parts of an excerpt with dots; leave out docstrings and notes to tools."""
    lines: list[str] = []
    for piece in pieces:
        if lines and piece:
            lines.append(piece[0][: len(piece[0]) - len(piece[0].lstrip())] + DOTS)
        lines += [TOOLING.sub("", line) for line in piece]
    code = textwrap.dedent("\n".join(lines)).strip("\n")
    try:
        return without_docstrings(code)
    except SyntaxError:
        return code  # `problems` says so
