"""What a chapter uses: the files whose change could change its outputs.

A run is watched (tools/watch), which gives the modules it loaded, the files it opened and the folders it
listed. Of the modules, those stay that the cells can reach: starting at the imports of the cells and at the
modules asked for by name while it ran, through the library's own import statements. A package's
``__init__`` is a list of names, so only the module that holds the name asked for is followed; this is why
``from reasonlib.nn import read`` does not make a chapter depend on every file of `reasonlib.nn`.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = "reasonlib"


class Library:
    """The import statements of a package, read from its files and never executed."""

    def __init__(self, root: Path, package: str = PACKAGE):
        self.root, self.package = root, package
        self._trees: dict[str, ast.Module] = {}

    def file(self, module: str) -> Path | None:
        """The file of a module of this package; None for anything else."""
        if module != self.package and not module.startswith(self.package + "."):
            return None
        base = self.root.joinpath(*module.split("."))
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
        return None

    def tree(self, module: str) -> ast.Module:
        """The parsed source of a module."""
        if module not in self._trees:
            path = self.file(module)
            assert path is not None, module
            self._trees[module] = ast.parse(path.read_text(encoding="utf-8"))
        return self._trees[module]

    def is_package(self, module: str) -> bool:
        """Whether the module is a folder with an ``__init__``."""
        path = self.file(module)
        return path is not None and path.name == "__init__.py"

    def imports(self, tree: ast.AST, module: str | None = None) -> Iterator[tuple[str, str | None]]:
        """Pairs (module, name asked of it); the name is None where the whole module is asked for.

        A package that is only ever asked for names, as ``nn`` in ``nn.read``, is asked for these alone.
        """
        whole, attributes = uses_of_names(tree)
        for base, name, local in self._imported(tree, module):
            package = base if name is None else f"{base}.{name}"
            if local in attributes and local not in whole and self.is_package(package):
                yield from ((package, attribute) for attribute in sorted(attributes[local]))
            else:
                yield base, name

    def _imported(self, tree: ast.AST, module: str | None) -> Iterator[tuple[str, str | None, str | None]]:
        """Triples (module, name asked of it, the name it has here); the last is None where it has several."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, None, alias.asname
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    assert module is not None
                    parts = module.split(".")
                    drop = node.level - (1 if self.is_package(module) else 0)
                    base = ".".join([*parts[: len(parts) - drop], *([base] if base else [])])
                for alias in node.names:
                    yield base, (None if alias.name == "*" else alias.name), alias.asname or alias.name

    def closure(self, starts: Iterable[tuple[str, str | None]]) -> set[str]:
        """Modules reached from pairs (module, name), each package's ``__init__`` included on the way."""
        reached: set[str] = set()
        done: set[tuple[str, str | None]] = set()
        queue = list(starts)
        while queue:
            module, name = item = queue.pop()
            if item in done or self.file(module) is None:
                continue
            done.add(item)
            parts = module.split(".")
            reached.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
            if name is not None and self.file(f"{module}.{name}"):
                queue.append((f"{module}.{name}", None))
            elif name is not None and self.is_package(module):
                queue += self._holders(module, name)
            else:
                queue += self.imports(self.tree(module), module)
        return {module for module in reached if self.file(module)}

    def _holders(self, package: str, name: str) -> list[tuple[str, str | None]]:
        """Where a package's ``__init__`` takes a name from; all it imports if it makes the name itself."""
        holders = []
        for node in ast.walk(self.tree(package)):
            if isinstance(node, ast.ImportFrom):
                if any(name in (alias.asname or alias.name, "*") for alias in node.names):
                    only = ast.ImportFrom(
                        node.module,
                        [
                            ast.alias(alias.name)
                            for alias in node.names
                            if name == (alias.asname or alias.name) or alias.name == "*"
                        ],
                        node.level,
                    )
                    holders += self.imports(only, package)
        return holders or list(self.imports(self.tree(package), package))


def uses_of_names(tree: ast.AST) -> tuple[set[str], dict[str, set[str]]]:
    """The names a source uses in some other way than by a dot; and what it asks of names by a dot."""
    attributes: dict[str, set[str]] = {}
    dotted = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
            dotted.add(node.value)
    whole = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in dotted}
    return whole, attributes


def used_files(root: Path, cells: Iterable[str], seen: Iterable[str]) -> set[str]:
    """Files and folders (with a final slash) below `root` that a chapter's outputs depend on.

    Parameters
    ----------
    root
        The repository.
    cells
        Python source of the chapter's code cells; lines of IPython magic may stand in them.
    seen
        Lines of the watch files: kind, tab, path or module.
    """
    events = [line.rstrip("\n").split("\t", 1) for line in seen if "__pycache__" not in line]
    loaded = {name for kind, name in events if kind == "loaded"}
    library = Library(root)
    starts: list[tuple[str, str | None]] = [(name, None) for kind, name in events if kind == "called"]
    trees = [ast.parse(plain(cell)) for cell in cells]
    starts += library.imports(ast.Module([line for tree in trees for line in tree.body], type_ignores=[]))
    reached = set()
    for module in library.closure(starts):
        path = library.file(module)
        assert path is not None
        reached.add(path.relative_to(root).as_posix())
    files = {path for path in reached if path in loaded or path.endswith("__init__.py")}
    files |= {name for kind, name in events if kind == "opened"}
    # A chapter does not depend on the list of topics: a new topic makes no other chapter run again.
    files |= {name.rstrip("/") + "/" for kind, name in events if kind == "listed" and name != PACKAGE}
    # Weights are read by native code that the watch cannot see: count those of every topic that was loaded.
    for folder in {Path(path).parent for path in loaded}:
        weights = (root / folder / "weights").rglob("*")
        files |= {path.relative_to(root).as_posix() for path in weights if path.is_file()}
    return files


def plain(cell: str) -> str:
    """A cell without IPython's own lines, so that `ast` can read it."""
    lines = []
    for line in cell.splitlines():
        bare = line.lstrip()
        lines.append(line[: len(line) - len(bare)] + "pass" if bare.startswith(("%", "!", "?")) else line)
    text = "\n".join(lines)
    try:
        ast.parse(text)
    except SyntaxError:
        return ""  # the run itself reports it, with the line
    return text


def digest(root: Path, name: str) -> str:
    """SHA-256 of a file, or of the names in a folder; empty where it is gone."""
    path = root / name
    if name.endswith("/"):
        if not path.is_dir():
            return ""
        names = sorted(each.name for each in path.iterdir() if each.name != "__pycache__")
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
