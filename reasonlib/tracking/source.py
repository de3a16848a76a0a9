"""Source code as data: which definition a name stands for, found by reading files, never by importing them.

    Library.module("reasonlib.nn") -> Module(definitions, imports) -> Library.resolve(module, name) -> Target

A *definition* is what one name at the top of a module stands for: a function, a class or a constant, with
every statement at the top of that module that binds the name or changes it.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reasonlib.errors import UserError

__all__ = ["WHOLE", "Definition", "External", "Library", "Module", "Package", "Target"]

WHOLE = "*"
"""Name of the definition that stands for everything in a module."""


@dataclass(frozen=True, order=True)
class Definition:
    """A name at the top of a module of the library; `WHOLE` for all its names together."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True)
class Package:
    """A module of the library itself, by its dotted name."""

    name: str


@dataclass(frozen=True)
class External:
    """Something outside the library, by its dotted name: ``torch.nn.Linear``."""

    name: str


Target = Definition | Package | External


@dataclass
class Module:
    """What stands at the top of one file.

    Attributes
    ----------
    definitions
        Name to the statements that bind or change it, in their order.
    imports
        Name to what is imported under it: a module and, after ``from``, one of its names.
    stars
        Modules whose names are all imported.
    mentions_file
        Whether the file speaks of its own path.
    """

    name: str
    file: Path
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    mentions_file: bool = False


class Library:
    """The modules of some packages under a folder; each file is read once.

    Parameters
    ----------
    root
        The folder that holds the packages.
    packages
        Names of the packages (or single modules) whose code counts; everything else is external.
    outside
        Modules and packages among them that do not count.
    """

    def __init__(self, root: Path, packages: Iterable[str], outside: Iterable[str] = ()) -> None:
        self.root = Path(root)
        self.packages = frozenset(packages)
        self.outside = tuple(outside)
        self._modules: dict[str, Module | None] = {}
        self._read: dict[Path, tuple[int, int]] = {}

    def counts(self, module: str) -> bool:
        """Whether a module's code is followed."""
        return module.partition(".")[0] in self.packages and not self.is_outside(module)

    def is_outside(self, module: str) -> bool:
        """Whether a module was named in `outside`, or lies in a package that was."""
        return any(module == name or module.startswith(f"{name}.") for name in self.outside)

    def module(self, name: str) -> Module | None:
        """Return a module of the library; None if there is none of this name.

        Raises
        ------
        UserError
            If its file is not Python.
        """
        if name not in self._modules:
            file = self._file(name)
            self._modules[name] = None if file is None else _parse(name, file, self.read(file))
        return self._modules[name]

    def add(self, name: str, file: Path) -> None:
        """Take in a module that is not under the folder."""
        if self._modules.get(name) is None:
            self._modules[name] = _parse(name, file, self.read(file))

    def tops(self, module: str) -> set[str]:
        """Return the names of the definitions of a module."""
        parsed = self.module(module)
        return set() if parsed is None else set(parsed.definitions)

    def functions_at(self, module: str, line: int) -> list[ast.AST]:
        """Return the functions that begin at a line, inside others or not."""
        parsed = self.module(module)
        statements = (
            [] if parsed is None else [part for parts in parsed.definitions.values() for part in parts]
        )
        functions = {
            id(node): node
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            and line
            == min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        }
        return list(functions.values())

    def read(self, file: Path) -> bytes:
        """Read a file, with line ends of one kind, and remember its state for `changed`."""
        status = file.stat()
        self._read[file] = (status.st_mtime_ns, status.st_size)
        return file.read_bytes().replace(b"\r\n", b"\n")

    def changed(self) -> bool:
        """Whether a file was written to since it was read."""
        try:
            states = {file: file.stat() for file in self._read}
        except OSError:
            return True
        return any((now.st_mtime_ns, now.st_size) != self._read[file] for file, now in states.items())

    def _file(self, name: str) -> Path | None:
        base = self.root.joinpath(*name.split("."))
        for file in (base / "__init__.py", base.with_suffix(".py")):
            if file.is_file():
                return file
        return None

    def resolve(self, module: Module, name: str) -> Target | None:
        """Return what a name means at the top of a module; None for a builtin or an unknown name."""
        return self._bound(module.name, name, set())

    def imported(self, module: str, name: str | None) -> Target:
        """Return what ``import module`` or ``from module import name`` gives."""
        return self._imported(module, name, set())

    def member(self, package: str, name: str) -> Target:
        """Return what ``package.name`` is; the whole package if its files do not say."""
        if self.module(package) is None:
            return External(f"{package}.{name}")
        return (
            self._bound(package, name, set()) or self._submodule(package, name) or Definition(package, WHOLE)
        )

    def _bound(self, package: str, name: str, seen: set[tuple[str, str]]) -> Target | None:
        if (package, name) in seen:
            return None  # a circle of imports
        seen.add((package, name))
        module = self.module(package)
        if module is None:
            return None
        if name in module.imports:  # first, for: try: import x; except ImportError: x = None
            return self._imported(*module.imports[name], seen)
        if name in module.definitions:
            return Definition(package, name)
        for star in module.stars:
            if self.counts(star) and (target := self._bound(star, name, seen)) is not None:
                return target
        return None

    def _imported(self, module: str, name: str | None, seen: set[tuple[str, str]]) -> Target:
        if name is None:
            return Package(module) if self.counts(module) else External(module)
        if not self.counts(module):
            submodule = self.counts(f"{module}.{name}") and self.module(f"{module}.{name}") is not None
            return Package(f"{module}.{name}") if submodule else External(f"{module}.{name}")
        if self.is_outside(f"{module}.{name}") or self.module(module) is None:
            return External(f"{module}.{name}")
        return (
            self._bound(module, name, seen)
            or self._submodule(module, name)
            or Definition(module, WHOLE)  # made while it runs
        )

    def _submodule(self, package: str, name: str) -> Target | None:
        inner = f"{package}.{name}"
        if self.is_outside(inner):
            return External(inner)
        return Package(inner) if self.module(inner) is not None else None


def _parse(name: str, file: Path, text: bytes) -> Module:
    try:
        tree = ast.parse(text, filename=str(file))
    except SyntaxError as error:
        raise UserError(f"{file}:{error.lineno}: {error.msg}") from error
    module = Module(name=name, file=file, mentions_file=b"__file__" in text)
    contents = [(statement, Contents.of([statement])) for statement in tree.body]
    bound = {own for _, inside in contents for own in inside.bound} - {"__all__"}
    for statement, inside in contents:
        for node in inside.imports:
            for own, target in imports_of(node, module):
                if own == "*":
                    module.stars.append(target[0])
                else:
                    module.imports[own] = target
        for own in sorted((inside.bound | inside.changed) & bound):
            module.definitions.setdefault(own, []).append(statement)
    return module


def imports_of(
    node: ast.Import | ast.ImportFrom, module: Module
) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Yield each name that an import statement binds, and what it binds it to."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or name, (name, None)
        return
    base = node.module or ""
    if node.level:
        up = node.level - (module.file.name == "__init__.py")
        parts = module.name.split(".")
        package = ".".join(parts[: len(parts) - up])
        base = f"{package}.{base}" if base else package
    for alias in node.names:
        yield alias.asname or alias.name, (base, alias.name)


@dataclass
class Contents:
    """What statements do to the scope they stand in; functions, classes and comprehensions have their own.

    Attributes
    ----------
    bound
        Names they bind, imports left out.
    changed
        Names whose value they change: ``X[1] = 2``, ``X.a = 2``, ``X.append(2)``.
    elsewhere
        Names they declare ``global`` or ``nonlocal``.
    imports
        Import statements.
    """

    bound: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)

    @classmethod
    def of(cls, nodes: Iterable[ast.AST]) -> "Contents":
        """Look through statements, or the targets of an assignment."""
        contents = cls()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            kind = type(node)
            if kind is ast.Name:
                if not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                    contents.bound.add(node.id)  # type: ignore[attr-defined]
                continue
            if kind is ast.Constant or kind is ast.Lambda:
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                contents.bound.add(node.name)
                continue
            if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                waiting += [n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
                continue
            if isinstance(node, ast.stmt):
                contents._statement(node)
            elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                contents.changed |= _root(node)
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                contents.bound.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                contents.bound.add(node.rest)
            waiting += ast.iter_child_nodes(node)
        return contents

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports.append(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            self.elsewhere.update(node.names)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.changed |= _root(node.value.func)


def _root(node: ast.AST) -> set[str]:
    """Return the name that a chain of attributes, items and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()
