"""What the book adds to Sphinx.

Numbers that restart in every chapter, pages that never reach for the network, the Colab button, a description
for search engines, each chapter's measured time and memory, and reference pages that list their modules.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import get_type_hints

from docutils import nodes
from sphinx.ext.autodoc import AttributeDocumenter, DataDocumenter
from sphinx.ext.autodoc.preserve_defaults import DefaultValue
from sphinx.util.typing import stringify_annotation

MODE = """
<script>if (!localStorage.getItem("mode")) localStorage.setItem("mode", "auto");</script>
"""  # before the theme asks: to a reader who never chose light or dark it would answer with an error


def fix_page(app, pagename, templatename, context, doctree):
    """Drop scripts that reach for the network; point the Colab button at the notebook made from the page."""
    seen, keep = set(), []
    for script in context.get("script_files", []):
        body = (getattr(script, "attributes", None) or {}).get("body")
        key = body or str(getattr(script, "filename", script))
        if key in seen or "THEBE_JS_URL" in key or "sphinx-thebe" in key:
            continue
        seen.add(key)
        keep.append(script)
    context["script_files"] = keep
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("text") == "Colab":
                button["url"] = app.config.colab_root + pagename.removeprefix("book/") + ".ipynb"
    if "generate_toctree_html" in context:
        context["generate_toctree_html"] = naming_toggles(context["generate_toctree_html"])
    if "citation-list" in context.get("body", ""):  # roles that belong together, for screen readers
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
    context["metatags"] = context.get("metatags", "") + MODE
    if doctree is not None:
        text = html.escape(description(doctree), quote=True)
        context["metatags"] += f'\n<meta name="description" content="{text}" />\n'


def naming_toggles(generate):
    """Give every toggle of the sidebar a name that a screen reader can say."""

    def named(*args, **kwargs):
        return re.sub(
            r"(<a [^>]*>)(.*?)</a>(\s*<details[^>]*>\s*)<summary>",
            lambda match: (
                f'{match[1]}{match[2]}</a>{match[3]}<summary aria-label="Pages of {bare(match[2])}">'
            ),
            str(generate(*args, **kwargs)),
        )

    return named


def bare(markup: str) -> str:
    """Text without its tags, fit for an attribute."""
    return re.sub(r"<[^>]*>", "", markup).replace('"', "&quot;")


def description(doctree) -> str:
    """The first paragraph of a page, cut at a word near 160 letters."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 40 and "rr-measured" not in paragraph["classes"]:
            return text if len(text) <= 160 else text[:157].rsplit(" ", 1)[0] + " …"
    return "Reasoning, Reproduced: works on machine reasoning, rebuilt, trained and measured."


def list_modules(app, docname, source):
    """Write the sections of a reference page: one for each module its ``modules`` block names.

    A line of the block is a module, or ``package.*`` for every module of a package that no line of any page
    names. Modules and packages whose name begins with an underscore are not public.
    """
    block = re.search(r"^```\{modules\}\n(.*?)^```$", source[0], re.M | re.S)
    if not block:
        return
    root = Path(app.config.reasonlib_repository)
    pages = Path(app.srcdir, "book", "api").glob("*.md")
    named = {line.strip() for page in pages for line in page.read_text(encoding="utf-8").splitlines()}
    module_names: list[str] = []
    for line in block[1].split():
        if line.endswith(".*"):
            module_names += [
                name for name in public_modules(root, line.removesuffix(".*")) if name not in named
            ]
        else:
            module_names.append(line)
    sections = []
    for name in module_names:
        title = name.split(".", 2)[-1] if name.count(".") > 1 else name.split(".")[-1]
        body = f".. automodule:: {name}\n   :members:\n{constants(root, name)}"
        sections.append(f"## `{title}`\n\n```{{eval-rst}}\n{body}```\n")
    source[0] = source[0].replace(block[0], "\n".join(sections))


def _each(node: ast.stmt) -> list[ast.stmt]:
    """Take an assignment to several names apart: ``PAD, END = 0, 2`` is two."""
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and all(isinstance(target, ast.Tuple) for target in node.targets)
    ):
        return [
            ast.copy_location(ast.Assign(targets=[name], value=value), node)
            for target in node.targets
            for name, value in zip(target.elts, node.value.elts, strict=True)
        ]
    return [node]


def one_line(value: ast.expr) -> str | None:
    """A value as its source has it; None if it is too long for a line."""
    text = " ".join(ast.unparse(value).split())
    return text if len(text) <= 90 else None


@cache
def written(module: str) -> dict[str, str | None]:
    """The values that a module and its classes assign, in one line, under names such as ``Config.width``."""

    def inside(body: list[ast.stmt], owner: str) -> Iterator[tuple[str, str | None]]:
        for node in chain.from_iterable(map(_each, body)):
            if isinstance(node, ast.ClassDef):
                yield from inside(node.body, f"{owner}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    yield owner + ast.unparse(target), one_line(node.value)

    return dict(inside(ast.parse(inspect.getsource(sys.modules[module])).body, ""))


def constants(root: Path, module: str) -> str:
    """Describe what autodoc passes over: constants, by the comment on their line, and graded exercises."""
    base = root.joinpath(*module.split("."))
    text = next(path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()).read_text(
        "utf-8"
    )
    lines, body = text.splitlines(), [statement for node in ast.parse(text).body for statement in _each(node)]
    assignments: dict[str, ast.Assign | ast.AnnAssign] = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        documented = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and isinstance(target, ast.Name)
                and node.value
                and not documented
            ):
                assignments[target.id] = node
    out = []
    for name in ast.literal_eval(assignments["__all__"].value) if "__all__" in assignments else ():
        if name in assignments:
            value = one_line(assignments[name].value)
            comment = lines[assignments[name].end_lineno - 1][assignments[name].end_col_offset :].strip()
            out += [
                f"\n.. py:data:: {name}\n   :module: {module}",
                *([f"   :value: {value}"] if value else []),
                "",
            ]
            out += [f"   {comment.lstrip('# ')}", ""] if comment.startswith("#") else []
    for node in body:  # a check that a decorator turned into an exercise is no function any more
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "exercise"
            for decorator in node.decorator_list
        ):
            docstring = (ast.get_docstring(node) or "").splitlines()
            out += [
                f"\n.. py:function:: {node.name}(answer)\n   :module: {module}\n",
                *(f"   {line}".rstrip() for line in docstring),
                "",
            ]
    return "\n".join(out) + "\n" if out else ""


def public_modules(root: Path, package: str) -> list[str]:
    """Modules of a package and of the packages inside it; at the top, the shared modules alone."""
    folder = root.joinpath(*package.split("."))
    names = []
    for path in sorted(folder.rglob("*.py") if package.count(".") else folder.glob("*.py")):
        inside = path.relative_to(root).with_suffix("").parts
        if path.name == "__init__.py" and "__all__" not in path.read_text(encoding="utf-8"):
            continue
        inside = inside[:-1] if path.name == "__init__.py" else inside
        if not any(part.startswith("_") for part in inside) and ".".join(inside) != package:
            names.append(".".join(inside))
    return names


def keep_drawings(app, what, name, obj, options, lines):
    """Take an indented block of a docstring's own text, above its first section, as a drawing or as code."""
    sections = (
        n for n, line in enumerate(lines[1:]) if re.fullmatch(r"-{3,}", line.strip()) and lines[n].strip()
    )
    end = next(sections, len(lines))
    out: list[str] = []
    previous = ""  # the last line that said something
    for line in lines[:end]:
        indented = line.startswith("  ") and line.strip()
        begins = indented and out and not out[-1].strip() and not previous.startswith("  ")
        if (
            begins
            and not previous.rstrip().endswith("::")
            and not re.match(r"([-*+]|\d+[.)]|\.\.|>>>)\s", previous)
        ):
            out += ["::", ""]
        out.append(line)
        previous = line if line.strip() else previous
    lines[:end] = out


def own_nodes(app, doctree):
    """Make every node one of this page: one of an inner document keeps all that Sphinx has read."""
    for node in doctree.findall():
        node.document = doctree


def choose_member(app, what, name, obj, skip, options):
    """Describe every public name of a module, a constant without words too; and once, where it is made."""
    current_module = app.env.temp_data.get("autodoc:module")
    if what != "module" or not current_module:
        return None
    home = getattr(obj, "__module__", None) or ""
    if home.startswith("reasonlib") and home != current_module and getattr(obj, "__name__", name) == name:
        return True  # imported; what another module's factory made has a name of its own
    return False if name in getattr(sys.modules.get(current_module), "__all__", ()) else None


@cache
def array_like() -> tuple[str, ...]:
    """How `numpy.typing.ArrayLike`, a union of a dozen types, comes out in each of Sphinx's spellings."""
    from numpy.typing import ArrayLike

    return tuple(stringify_annotation(ArrayLike, mode) for mode in ("smart", "fully-qualified-except-typing"))


def name_types(app, objtype, name, obj, options, args, retann):
    """Write `ArrayLike` for the dozen types it stands for, and X for ``Annotated[X, ...]``."""
    annotations = app.env.temp_data.get("annotations", {}).get(name, {})
    if any("Annotated[" in text for text in annotations.values()):  # beside the type, objects at addresses
        plain = get_type_hints(obj)
        annotations |= {key: stringify_annotation(plain[key], "smart") for key in annotations}
    for key, text in annotations.items():
        for spelling in array_like():
            text = text.replace(spelling, "ArrayLike")
        annotations[key] = text


class FromSource:
    """Print a value as its source has it; its ``repr`` may contain paths and addresses of this machine."""

    def should_suppress_value_header(self) -> bool:
        """Keep Sphinx from printing the ``repr``."""
        return True

    def add_directive_header(self, sig: str) -> None:
        """Add the value if it fits a line."""
        super().add_directive_header(sig)
        text = written(self.modname).get(".".join(self.objpath))
        if text and not (self.should_suppress_directive_header() or super().should_suppress_value_header()):
            self.add_line(f"   :value: {text}", self.get_sourcename())


class Constant(FromSource, DataDocumenter):
    """A constant of a module."""


class Attribute(FromSource, AttributeDocumenter):
    """An attribute of a class."""


def keep_defaults(app, obj, bound_method):
    """Print the defaults of a generated constructor as the fields of its dataclass have them."""
    path, _, name = getattr(obj, "__qualname__", "").rpartition(".")
    owner = sys.modules.get(getattr(obj, "__module__", None))
    for part in path.split("."):
        owner = getattr(owner, part, None)
    if name != "__init__" or not is_dataclass(owner) or not owner.__dataclass_params__.init:
        return
    homes = [base for base in owner.__mro__ if is_dataclass(base)]
    signature = inspect.signature(obj)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.default is not parameter.empty:
            texts = (written(home.__module__).get(f"{home.__qualname__}.{parameter.name}") for home in homes)
            parameter = parameter.replace(default=DefaultValue(next(filter(None, texts), "...")))
        parameters.append(parameter)
    obj.__signature__ = signature.replace(parameters=parameters)


def setup(app):
    app.connect("source-read", list_modules)
    app.connect("autodoc-process-docstring", keep_drawings, priority=400)
    app.connect("doctree-read", own_nodes)
    app.connect("autodoc-skip-member", choose_member)
    app.connect("autodoc-process-signature", name_types, priority=900)
    app.connect("autodoc-before-process-signature", keep_defaults)
    app.add_autodocumenter(Constant, override=True)
    app.add_autodocumenter(Attribute, override=True)
    app.add_config_value("colab_root", "", "html")
    app.add_config_value("reasonlib_repository", "", "env")
    app.connect("html-page-context", fix_page, priority=900)
    app.add_js_file("../rr/page.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
