"""A definition written so that what it computes counts, and how it is spelled does not.

    class Scale(Layer): ...  ->  ["ClassDef(bases=[", Definition("reasonlib.nn.sums", "Layer"), "],body=..."]

The text between is the syntax tree, the same under every version of Python that can parse it. Left out are
comments, docstrings, layout, annotations, imports inside functions and what an error says; what a local
variable, the definition itself, an imported name or a module is called is left out too. Names that can be
seen from elsewhere stay: arguments, attributes, fields, strings.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from reasonlib.tracking.source import (
    WHOLE,
    Contents,
    Definition,
    External,
    Library,
    Module,
    Package,
    Target,
    imports_of,
)

__all__ = ["Token", "write"]

Token = str | Definition

SELF = "<self>"
_SKIPPED = ("ctx", "kind", "type_comment", "type_ignores", "type_params", "returns", "annotation")
_MARKERS = ("ClassVar", "InitVar", "KW_ONLY")  # annotations that change what a dataclass does
_TEXT_FILES = (".json", ".csv", ".txt", ".yaml", ".css", ".js", ".html")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def write(library: Library, definition: Definition) -> list[Token]:
    """Write a definition; what it refers to stands in between as `Definition`."""
    module = library.module(definition.module)
    assert module is not None, definition
    if definition.name == WHOLE:
        tokens: list[Token] = []
        for name in sorted(module.definitions):
            tokens += [f"{name}=", Definition(module.name, name), ";"]
        return tokens
    writer = _Writer(library, module, definition.name)
    for statement in module.definitions[definition.name]:
        writer.write(statement)
    return writer.joined()


def write_node(library: Library, module: str, node: ast.AST) -> list[Token]:
    """Write a function or an expression that is not at the top of its module."""
    around = library.module(module)
    assert around is not None, module
    writer = _Writer(library, around, getattr(node, "name", None))
    writer.write(node)
    return writer.joined()


@dataclass
class _Scope:
    """Names of one function, class or comprehension: how each is written, or what it imports."""

    names: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    is_class: bool = False


class _Writer:
    def __init__(self, library: Library, module: Module, own: str | None) -> None:
        self.library = library
        self.module = module
        self.own = own
        self.tokens: list[Token] = []
        self.scopes: list[_Scope] = []
        self.numbered = 0

    def joined(self) -> list[Token]:
        """Return the tokens, neighbouring text made one."""
        joined: list[Token] = []
        pieces: list[str] = []
        for token in self.tokens:
            if isinstance(token, str):
                pieces.append(token)
                continue
            joined += ["".join(pieces), token]
            pieces = []
        return [*joined, "".join(pieces)]

    # Statements and scopes ----------------------------------------------------------------------------------

    def write(self, value: Any) -> None:
        if isinstance(value, list):
            self.tokens.append("[")
            for item in value:
                self.write(item)
                self.tokens.append(",")
            self.tokens.append("]")
        elif isinstance(value, ast.AST):
            self._node(value)
        else:
            self.tokens.append(repr(value))

    def _node(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp | ast.Call) and (
            self._file(node) or self._reference(node)
        ):
            return
        if isinstance(node, _FUNCTIONS):
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            self._fields(ast.Raise(exc=_without_text(node.exc), cause=node.cause))
        elif isinstance(node, ast.Assert):
            self._fields(ast.Assert(test=node.test))
        elif isinstance(node, ast.AnnAssign):
            self._annotated(node)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self._fields(node, name=self._local(node.name))
        else:
            self._fields(node)

    def _fields(self, node: ast.AST, **replaced: str) -> None:
        self.tokens.append(f"{type(node).__name__}(")
        for name in node._fields:
            value = replaced.get(name, getattr(node, name, None))
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                value = [item for item in value if not _is_free(item)]
                if name == "body" and not value:
                    value = [ast.Pass()]
            elif isinstance(node, ast.JoinedStr) and name == "values":
                value = _merged(value)
            if value is None or value == [] or name in _SKIPPED:
                continue
            self.tokens.append(f"{name}=")
            self.write(value)
            self.tokens.append(",")
        self.tokens.append(")")

    def _annotated(self, node: ast.AnnAssign) -> None:
        """Write ``x: int = 1`` as ``x = 1``, except in a class, where it makes a field."""
        if not (self.scopes and self.scopes[-1].is_class):
            if node.value is not None:
                self._fields(ast.Assign(targets=[node.target], value=node.value))
            return
        marker = next((name for name in _MARKERS if name in ast.dump(node.annotation)), "")
        self.tokens.append(f"Field({marker},")
        self.write([node.target, *([] if node.value is None else [node.value])])
        self.tokens.append(")")

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        self.tokens.append(f"{type(node).__name__}(")
        if not isinstance(node, ast.Lambda):
            self._name_of(node)
            self.write(node.decorator_list)
        arguments = node.args
        self.write([*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)])
        body = node.body if isinstance(node.body, list) else [node.body]
        scope = self._scope(body, written="")
        for argument in _arguments(arguments):
            scope.names[argument] = "" if isinstance(node, ast.Lambda) else argument
        self.scopes.append(scope)
        kinds = (arguments.posonlyargs, arguments.args, [arguments.vararg], arguments.kwonlyargs)
        for group in (*kinds, [arguments.kwarg]):
            self.tokens.append("|" + ",".join(self._local(a.arg) for a in group if a is not None))
        self.tokens.append("".join("-" if default is None else "=" for default in arguments.kw_defaults))
        self._body(body)
        self.scopes.pop()
        self.tokens.append(")")

    def _class(self, node: ast.ClassDef) -> None:
        self.tokens.append("ClassDef(")
        self._name_of(node)
        self.write(node.decorator_list)
        self.write(node.bases)
        self.write(node.keywords)
        scope = self._scope(node.body)
        scope.is_class = True
        self.scopes.append(scope)
        self._body(node.body)
        self.scopes.pop()
        self.tokens.append(")")

    def _scope(self, body: list[Any], written: str | None = None) -> _Scope:
        """Look up what a body binds; `written` is how its names are written, as they are if None."""
        contents = Contents.of(body)
        return _Scope(
            names={
                name: name if written is None else written for name in contents.bound - contents.elsewhere
            },
            imports={
                name: target for node in contents.imports for name, target in imports_of(node, self.module)
            },
        )

    def _name_of(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """Write the name a function or class is bound to, which counts inside a class alone."""
        self.tokens.append(self._local(node.name) + ":")

    def _body(self, body: list[Any]) -> None:
        self.write([item for item in body if not _is_free(item)])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        scope = _Scope()
        for part in node.generators:
            scope.names.update((name, "") for name in Contents.of([part.target]).bound)
        self.tokens.append(f"{type(node).__name__}(")
        self.write(node.generators[0].iter)  # what it goes over first belongs to the scope around it
        self.scopes.append(scope)
        for number, part in enumerate(node.generators):
            self.write(part.target)
            if number:
                self.write(part.iter)
            self.write(part.ifs)
            self.tokens.append("async" if part.is_async else ";")
        self.write([node.key, node.value] if isinstance(node, ast.DictComp) else node.elt)
        self.scopes.pop()
        self.tokens.append(")")

    # Names --------------------------------------------------------------------------------------------------

    def _reference(self, node: ast.AST) -> bool:
        """Write a name, or a chain of attributes that begins with one; False for any other node."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return False
        target = self._target(node.id)
        while isinstance(target, Package) and attributes:
            target = self.library.member(target.name, attributes.pop())
        if isinstance(target, External):
            while attributes:
                target = External(f"{target.name}.{attributes.pop()}")
            outside = self.library.is_outside(target.name)
            self.tokens.append(f"<{target.name.rpartition('.')[2] if outside else target.name}>")
        elif isinstance(target, Package):
            self.tokens.append(Definition(target.name, WHOLE))
        elif isinstance(target, Definition):
            own = (self.module.name, self.own)
            self.tokens.append(SELF if (target.module, target.name) == own else target)
        else:
            self.tokens.append(self._local(node.id))
        self.tokens += [f".{attribute}" for attribute in reversed(attributes)]
        return True

    def _target(self, name: str) -> Target | None:
        """Return what a name imports or stands for at the top; None for a local variable or a builtin."""
        for scope in self._visible():
            if name in scope.imports:
                return self.library.imported(*scope.imports[name])
            if name in scope.names:
                return None
        return self.library.resolve(self.module, name)

    def _local(self, name: str) -> str:
        """Return how a name is written: a local variable by its number, others as they are."""
        for scope in self._visible():
            if name in scope.names:
                if not scope.names[name]:
                    self.numbered += 1
                    scope.names[name] = f"%{self.numbered}"
                return scope.names[name]
        return SELF if name == self.own else name

    def _visible(self) -> Iterator[_Scope]:
        """Yield the scopes that a name is looked up in; a class is seen from its own body alone."""
        for depth, scope in enumerate(reversed(self.scopes)):
            if not scope.is_class or depth == 0:
                yield scope

    # Files beside the code ----------------------------------------------------------------------------------

    def _file(self, node: ast.AST) -> bool:
        """Write a path that is made of ``__file__`` and constants as what lies there; False for other nodes.

        A text file counts with its content; of others, such as weights, and of folders the name counts.
        """
        path = _path(node, self.module.file) if self.module.mentions_file else None
        if path is None:
            return False
        if path.is_file() and path.suffix in _TEXT_FILES:
            self.tokens.append(f"<file {sha256(self.library.read(path)).hexdigest()}>")
        elif (path / "__init__.py").is_file():
            self.tokens.append("<folder>")
        else:
            self.tokens.append(f"<path {path.name}>")
        return True


def _path(node: ast.AST, file: Path) -> Path | None:
    """Work out a path that is written with ``Path(__file__)``; None if it is anything else."""
    match node:
        case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path"), args=[ast.Name(id="__file__")]):
            return file
        case ast.Call(func=ast.Attribute(value=inner, attr="resolve" | "absolute"), args=[]):
            return _path(inner, file)
        case ast.Call(
            func=ast.Attribute(value=inner, attr="with_name"), args=[ast.Constant(value=str(name))]
        ):
            path = _path(inner, file)
            return path and path.with_name(name)
        case ast.Attribute(value=inner, attr="parent"):
            path = _path(inner, file)
            return path and path.parent
        case ast.Subscript(
            value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(up))
        ):
            path = _path(inner, file)
            return path and path.parents[up]
        case ast.BinOp(left=inner, op=ast.Div(), right=ast.Constant(value=str(name))):
            path = _path(inner, file)
            return path and path / name
    return None


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            yield extra.arg


def _is_free(node: ast.AST) -> bool:
    """Whether a statement computes nothing: a text, an import, what says which variable is meant."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _without_text(call: ast.Call) -> ast.Call:
    """Leave out what an error says."""
    return ast.Call(
        func=call.func,
        args=[argument for argument in call.args if not _says(argument)],
        keywords=call.keywords,
    )


def _says(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _says(node.left) or _says(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _merged(values: Any) -> list:
    """Join neighbouring constants of an f-string, which versions of Python cut differently."""
    merged: list = []
    for value in values:
        if isinstance(value, ast.Constant) and merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(str(merged[-1].value) + str(value.value))
        else:
            merged.append(value)
    return [value for value in merged if not (isinstance(value, ast.Constant) and value.value == "")]
