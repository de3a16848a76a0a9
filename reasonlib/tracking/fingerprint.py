"""A fingerprint of all library code that a run function can reach: equal fingerprints, equal results.

    run -> closure: every definition that it refers to, and what those refer to -> one hash

A definition is hashed by what it computes, with each reference to another definition replaced by the hash
of that one. So the fingerprint changes with whatever a number depends on, and only with that: comments,
layout and annotations are free, and so is moving a module or renaming a module, a function, a class, a
constant or a local variable. Arguments, fields, attributes and strings count.

Nothing is imported. References are followed by name; what is only reached by a name that is made while the
program runs (``getattr(module, name)``) counts as the whole module.
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import reasonlib
from reasonlib.errors import UserError
from reasonlib.tracking.canonical import Token, write, write_node
from reasonlib.tracking.source import WHOLE, Definition, Library

__all__ = ["OUTSIDE", "Closure", "fingerprint"]

PACKAGE = "reasonlib"

OUTSIDE = tuple(f"reasonlib.{part}" for part in ("tracking", "errors", "display", "grading", "data", "cli"))
"""What is around a run and not in it: it plans, records, shows, grades and fetches, and changes no number.

`reasonlib.data` finds files and checks their checksums; a record names them by their version.
"""


class Closure:
    """The definitions that code under a folder refers to, and their hashes.

    Parameters
    ----------
    root
        The folder that holds the package; the one that is imported if None.
    packages
        Whose code counts.
    outside
        Modules and packages of it whose code does not; see `OUTSIDE`.
    """

    def __init__(
        self,
        root: Path | str | None = None,
        *,
        packages: Iterable[str] = (PACKAGE,),
        outside: Iterable[str] = OUTSIDE,
    ) -> None:
        root = Path(reasonlib.__file__).parents[1] if root is None else Path(root)
        self.library = Library(root, packages, outside)
        self._tokens: dict[Definition, list[Token]] = {}
        self._hashes: dict[Definition, str] = {}

    def hash(self, name: str) -> str:
        """Return the hash of ``module:name``, 64 hexadecimal digits.

        Raises
        ------
        UserError
            If there is no such module or name, or a file on the way is not Python.
        """
        return self._hash(self._definition(name))

    def hash_node(self, module: str, node: ast.AST) -> str:
        """Return the hash of a function that is not at the top of its module."""
        return self._digest(write_node(self.library, module, node))

    def definitions(self, name: str) -> dict[str, str]:
        """Return all that ``module:name`` depends on, itself included: ``module:name`` to hash."""
        start = self._definition(name)
        self._hash(start)
        reached = {start}
        waiting = [start]
        while waiting:
            new = {ref for ref in self._references(waiting.pop()) if ref not in reached}
            reached |= new
            waiting += new
        return {str(definition): self._hashes[definition] for definition in sorted(reached)}

    def texts(self, name: str) -> dict[str, str]:
        """Return what ``module:name`` depends on by what each says itself, references left open."""
        names = self.definitions(name)
        return {
            str(definition): "".join(token if isinstance(token, str) else "<>" for token in tokens)
            for definition, tokens in list(self._tokens.items())  # other threads add to it
            if str(definition) in names
        }

    def _definition(self, name: str) -> Definition:
        module_name, _, member = name.partition(":")
        module = self.library.module(module_name)
        if module is None:
            raise UserError(f"there is no module {module_name!r}")
        if not member:
            return Definition(module_name, WHOLE)
        target = self.library.resolve(module, member)
        if not isinstance(target, Definition):
            raise UserError(f"there is no {member!r} at the top of {module_name}")
        return target

    def _references(self, definition: Definition) -> list[Definition]:
        if definition not in self._tokens:
            self._tokens[definition] = write(self.library, definition)
        return [token for token in self._tokens[definition] if isinstance(token, Definition)]

    def _hash(self, start: Definition) -> str:
        if start not in self._hashes:
            for group in _components(start, self._references, self._hashes):
                self._hash_group(group)
        return self._hashes[start]

    def _hash_group(self, group: list[Definition]) -> None:
        """Hash definitions that refer to one another in a circle; most often one that refers to none.

        In a circle nobody's hash is known first. Each begins with the hash of what it says by itself; as
        many rounds as there are definitions carry what the others say all the way round.
        """
        hashes: dict[Definition, str] = dict.fromkeys(group, "")
        for _ in group:
            hashes = {definition: self._digest(self._tokens[definition], hashes) for definition in group}
        self._hashes.update(hashes)

    def _digest(self, tokens: Iterable[Token], inside: dict[Definition, str] | None = None) -> str:
        digest = sha256()
        for token in tokens:
            if isinstance(token, str):
                digest.update(token.encode())
            else:
                token_digest = inside[token] if inside and token in inside else self._hash(token)
                digest.update(f"<{token_digest}>".encode())
        return digest.hexdigest()


def _components(
    start: Definition,
    references: Callable[[Definition], list[Definition]],
    done: dict[Definition, str],
) -> Iterator[list[Definition]]:
    """Yield the strongly connected components that `start` reaches, each after those it refers to.

    Tarjan's algorithm, with a list in place of recursion. What is in `done` is left out.
    """
    order: dict[Definition, int] = {start: 0}
    lowest: dict[Definition, int] = {start: 0}
    open_: list[Definition] = [start]
    path: list[tuple[Definition, Iterator[Definition]]] = [(start, iter(references(start)))]
    closed: set[Definition] = set()
    while path:
        current, following = path[-1]
        for other in following:
            if other in done or other in closed:
                continue
            if other not in order:
                order[other] = lowest[other] = len(order)
                open_.append(other)
                path.append((other, iter(references(other))))
                break
            lowest[current] = min(lowest[current], order[other])
        else:
            path.pop()
            if path:
                lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[current])
            if lowest[current] == order[current]:
                cut = open_.index(current)
                group = open_[cut:]
                del open_[cut:]
                closed.update(group)
                yield group


# Of a function ----------------------------------------------------------------------------------------------

_closures: dict[Path | None, Closure] = {}  # of the package; of each file of a run function that is not in it


def fingerprint(run: Callable[..., Any] | str) -> str:
    """Return the fingerprint of a run function, 16 hexadecimal digits.

    Parameters
    ----------
    run
        A function, or its name, ``package.module:name``. A `functools.partial` counts with its arguments. A
        function that is not part of the package, in a notebook or a test, counts by its own source and by
        what it uses of its file and of the package.

    Raises
    ------
    UserError
        If there is no such module or name, or a file on the way is not Python.
    """
    return _hash(run)[:16]


def _closure(file: Path | None = None) -> Closure:
    """Return what was read before, or begin anew if a file changed since."""
    if file not in _closures or _closures[file].library.changed():
        _closures[file] = Closure()
    return _closures[file]


def _hash(run: Callable[..., Any] | str) -> str:
    if isinstance(run, str):
        return _closure().hash(run)
    if isinstance(run, functools.partial):
        return _digest(_hash(run.func), repr(run.args), repr(sorted(run.keywords.items())))
    code: Any = inspect.unwrap(run)
    if not hasattr(code, "__qualname__"):  # an object that can be called
        code = type(code)
    module, name = code.__module__, code.__qualname__
    closure = _closure()
    if not closure.library.counts(module) or closure.library.module(module) is None:
        try:
            file = Path(inspect.getfile(code))
            closure = _closure(file)
            closure.library.add(module, file)
        except (OSError, TypeError):  # in a notebook
            return _of_source(code)
    top = name.partition(".")[0]
    if "<" not in name and top in closure.library.tops(module):  # not <locals>, not <lambda>
        return closure.hash(f"{module}:{top}")
    line = code.__code__.co_firstlineno if inspect.isfunction(code) else 0
    inner = closure.library.functions_at(module, line)
    return closure.hash_node(module, inner[0]) if len(inner) == 1 else _of_source(code)


def _of_source(run: Any) -> str:
    """Hash a function by its text alone."""
    try:
        return _digest(ast.dump(ast.parse(textwrap.dedent(inspect.getsource(run)))))
    except (OSError, TypeError, SyntaxError):  # typed into a shell
        return _digest(run.__module__, run.__qualname__)


def _digest(*texts: str) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()
