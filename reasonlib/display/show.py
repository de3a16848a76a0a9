"""Show the library's own code inside a chapter, so that the page and the code cannot drift apart.

>>> from reasonlib.story_qa.data.example import words
>>> print(source(words))
reasonlib/story_qa/data/example.py
<BLANKLINE>
def words(sentence: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", sentence.lower())
"""

import functools
import importlib.metadata
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reasonlib.display.excerpts import Excerpt, find, without_docstrings

__all__ = ["Excerpt", "Listing", "excerpt", "repository", "source", "without_docstrings"]

PACKAGE = "reasonlib"


class Listing:
    """Code that Jupyter and the book show highlighted, under a line that names its file.

    Attributes
    ----------
    excerpts
        The pieces shown, in order.
    """

    def __init__(self, excerpts: tuple[Excerpt, ...]):
        self.excerpts = excerpts

    def _by_file(self) -> list[tuple[Excerpt, str]]:
        """Group neighbours of one file: a first excerpt that speaks for the group, and the joined code."""
        groups: list[list[Excerpt]] = []
        for excerpt in self.excerpts:
            if groups and groups[-1][0].file == excerpt.file:
                groups[-1].append(excerpt)
            else:
                groups.append([excerpt])
        return [(group[0], "\n\n\n".join(excerpt.code for excerpt in group)) for group in groups]

    @property
    def code(self) -> str:
        """All the code shown, without the lines that name files."""
        return "\n\n\n".join(excerpt.code for excerpt in self.excerpts)

    def _repr_markdown_(self) -> str:
        parts = []
        for excerpt, code in self._by_file():
            fence = "```" + "`" * _longest_fence(code)
            parts.append(f"{_heading(excerpt)}\n\n{fence}python\n{code}\n{fence}")
        return "\n\n".join(parts) + "\n"

    def __repr__(self) -> str:
        parts = [f"{excerpt.file or 'Defined here'}\n\n{code}" for excerpt, code in self._by_file()]
        return "\n\n\n".join(parts)


def source(*objects: Any, docstring: bool = False) -> Listing:
    """Show the code of functions, classes, methods or modules.

    Parameters
    ----------
    *objects
        What to show. An instance stands for its class, a wrapped function for what it wraps. A plain
        function written in the chapter itself can be shown too.
    docstring
        Keep docstrings. They are left out by default, because the chapter's own text says it at length;
        signatures and comments always stay.

    Returns
    -------
    Listing
        Rendered as highlighted Python on the page and in a notebook, as plain text elsewhere.

    Raises
    ------
    ValueError
        With no object, or one that has no Python source.
    """
    if not objects:
        raise ValueError("source needs at least one object to show")
    return Listing(tuple(_excerpt(thing, docstring=docstring) for thing in objects))


def excerpt(file: str, *names: str) -> Listing:
    """Show the lines that a file of the library marks with these names.

    Parameters
    ----------
    file
        Path below the package, ``nn/memory.py``.
    *names
        As in the markers, ``# excerpt: read``; shown in this order.

    Raises
    ------
    ValueError
        With no name.
    UserError
        If there is no such file, or no excerpt of that name in it.

    Examples
    --------
    >>> print(excerpt("nn/attention.py", "attention").excerpts[0].name)
    attention
    """
    if not names:
        raise ValueError("excerpt needs the name of at least one excerpt to show")
    return Listing(tuple(find(file, name) for name in names))


@functools.cache
def repository() -> str | None:
    """Give the project's public address as its installed metadata states it, without a final slash.

    Returns
    -------
    str or None
        `None` when the library runs from a folder that was never installed, or states no address.
    """
    try:
        urls = importlib.metadata.metadata(PACKAGE).get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    named = {name.strip().lower(): url.strip() for name, _, url in (entry.partition(",") for entry in urls)}
    for name in ("repository", "source", "homepage"):
        if named.get(name):
            return named[name].rstrip("/")
    return None


def _excerpt(thing: Any, *, docstring: bool) -> Excerpt:
    target = _definition(thing)
    try:
        lines, first = inspect.getsourcelines(target)
    except (OSError, TypeError) as error:
        name = getattr(target, "__qualname__", repr(thing))
        raise ValueError(
            f"source shows functions, classes and modules written in Python, got {name}"
        ) from error
    first = max(first, 1)  # a module counts from zero
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    code = "".join(line.removeprefix(margin) for line in lines).rstrip()
    if not docstring:
        code = without_docstrings(code)
    name = getattr(target, "__qualname__", getattr(target, "__name__", ""))
    return Excerpt(name=name, code=code, file=_file(target), lines=(first, first + len(lines) - 1))


def _definition(thing: Any) -> Any:
    """Follow wrappers, partials, properties, bound methods and instances to what was written."""
    while True:
        if isinstance(thing, functools.partial):
            thing = thing.func
        elif isinstance(thing, property):
            thing = thing.fget
        elif isinstance(thing, functools.cached_property):
            thing = thing.func
        elif isinstance(thing, (classmethod, staticmethod)) or inspect.ismethod(thing):
            thing = thing.__func__
        elif hasattr(thing, "__wrapped__") and not inspect.isclass(thing):
            thing = thing.__wrapped__
        elif inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
            return thing
        else:
            return type(thing)


def _file(target: Callable[..., Any] | type) -> str | None:
    module = sys.modules.get(str(getattr(target, "__module__", None) or getattr(target, "__name__", "")))
    name = getattr(module, "__name__", "")
    location = getattr(module, "__file__", None)
    if location is None or name.partition(".")[0] != PACKAGE:
        return None
    parts = name.split(".")
    path = (
        Path(*parts, "__init__.py")
        if Path(location).name == "__init__.py"
        else Path(*parts[:-1], parts[-1] + ".py")
    )
    return path.as_posix()


def _heading(excerpt: Excerpt) -> str:
    if excerpt.file is None:
        return "Defined here:"
    address = repository()
    if address is None:
        return f"`{excerpt.file}`"
    first, last = excerpt.lines
    return f"[`{excerpt.file}`]({address}/blob/main/{excerpt.file}#L{first}-L{last})"


def _longest_fence(code: str) -> int:
    """Count how many backticks beyond three a fence needs to hold this code."""
    longest = 0
    for line in code.splitlines():
        mark = line.strip()
        if mark.startswith("```"):
            longest = max(longest, len(mark) - len(mark.lstrip("`")))
    return max(0, longest - 2)
