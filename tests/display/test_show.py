"""What a chapter shows is the library's own code, whole, and nothing but."""

import ast
import dataclasses
import functools
import importlib
import inspect
import pkgutil

import pytest
import torch

import reasonlib
from reasonlib.display import show
from reasonlib.story_qa.data import example as story


def library_modules():
    names = ["reasonlib"]
    names += [info.name for info in pkgutil.walk_packages(reasonlib.__path__, prefix="reasonlib.")]
    return [name for name in names if not name.rpartition(".")[2].startswith("__")]


def own_objects(module):
    for name, thing in vars(module).items():
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__ == module.__name__:
            yield name, thing


def stripped(code):
    """Parse, and drop docstrings in the tree: an independent road to the same place."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or (
                [] if isinstance(node, ast.Module) else [ast.Expr(ast.Constant(...))]
            )
    return ast.dump(tree)


@pytest.mark.parametrize("name", library_modules())
def test_every_definition_of_the_library_can_be_shown_and_still_compiles(name):
    module = importlib.import_module(name)
    for label, thing in own_objects(module):
        shown = show.source(thing).code
        whole = show.source(thing, docstring=True).code
        compile(shown, label, "exec")
        assert ast.dump(ast.parse(shown)) == stripped(whole), f"{name}.{label}"


def test_docstrings_go_and_signature_and_comments_stay():
    code = show.source(show._longest_fence).code
    assert code.startswith("def _longest_fence(code: str) -> int:")
    assert "Count how many" not in code
    assert "Count how many" in show.source(show._longest_fence, docstring=True).code
    assert "# a module counts from zero" in show.source(show._excerpt).code


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ('def f():\n    """Say."""', "def f():\n    ..."),
        ('def f(): "Say."', "def f(): ..."),
        ('def f(): "Say."; return 1', "def f(): return 1"),
        ('def f():\n    "é"; return "é"', 'def f():\n    return "é"'),
        (
            'def f():\n    """Say\n\n    more."""\n\n    # why\n    return 1',
            "def f():\n    # why\n    return 1",
        ),
        ('class A:\n    """Say."""\n\n    x: int\n', "class A:\n    x: int"),
        ('"""Say."""\nx = """not a docstring"""', 'x = """not a docstring"""'),
        ('def f():\n    def g():\n        "Inner."\n        return 1\n    return g', None),
    ],
)
def test_docstrings_of_every_shape_are_removed(code, left):
    shown = show.without_docstrings(code)
    assert ast.dump(ast.parse(shown)) == stripped(code)
    if left is not None:
        assert shown == left


def test_a_method_is_dedented_and_named_with_its_file():
    listing = show.source(show.Listing._by_file)
    assert listing.code.startswith("def _by_file(self)")
    assert listing.excerpts[0].file == "reasonlib/display/show.py"
    assert listing.excerpts[0].name == "Listing._by_file"


def test_what_a_method_holds_beyond_its_margin_is_kept():
    class Poem:
        def line(self):
            return """one
two"""

    assert show.source(Poem.line).code == 'def line(self):\n    return """one\ntwo"""'


def test_the_named_lines_are_the_lines_of_the_file():
    excerpt = show.source(story.words, docstring=True).excerpts[0]
    lines = inspect.getsource(story).splitlines()
    first, last = excerpt.lines
    assert "\n".join(lines[first - 1 : last]) == excerpt.code


def test_wrapped_things_show_what_they_wrap():
    plain = show.source(story.words).code

    @functools.wraps(story.words)
    def wrapper(sentence):
        return story.words(sentence)

    for thing in (functools.partial(story.words, "a"), wrapper, functools.cache(story.words)):
        assert show.source(thing).code == plain


def test_instances_dataclasses_and_torch_modules_show_their_class():
    class Twice(torch.nn.Module):
        """Double."""

        def forward(self, x):
            return 2 * x

    assert show.source(Twice()).code == show.source(Twice).code
    assert (
        show.source(Twice).code
        == "class Twice(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x"
    )
    example = story.Example(task=1, story=("A.",), question="B?", answer=("c",), support=(0,), group=0)
    assert dataclasses.is_dataclass(example)
    assert show.source(example).code.startswith("@dataclass(frozen=True")


def test_several_objects_of_one_file_share_a_heading_and_others_get_their_own():
    page = show.source(story.Example, story.words, show.source)._repr_markdown_()
    assert page.count("reasonlib/story_qa/data/example.py`") == 1
    assert page.count("reasonlib/display/show.py`") == 1
    assert page.count("```python\n") == 2
    assert page.count("\n```\n") == 2


def test_code_that_holds_a_fence_is_shown_in_a_longer_one():
    listing = show.Listing((show.Excerpt(name="f", code='f = """\n````\n"""', file=None, lines=(1, 3)),))
    assert "`````python\n" in listing._repr_markdown_()


def test_the_heading_links_to_the_repository_when_one_is_known(monkeypatch):
    monkeypatch.setattr(show, "repository", lambda: "https://example.org/book")
    page = show.source(story.words)._repr_markdown_()
    first, last = show.source(story.words).excerpts[0].lines
    link = f"(https://example.org/book/blob/main/reasonlib/story_qa/data/example.py#L{first}-L{last})"
    assert page.startswith(f"[`reasonlib/story_qa/data/example.py`]{link}")
    monkeypatch.setattr(show, "repository", lambda: None)
    assert show.source(story.words)._repr_markdown_().startswith("`reasonlib/story_qa/data/example.py`\n")


def test_the_address_comes_from_the_package_metadata(monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return ["Documentation, https://example.org/doc", "Repository, https://example.org/book/"]

    monkeypatch.setattr(show.importlib.metadata, "metadata", lambda name: Metadata())
    show.repository.cache_clear()
    assert show.repository() == "https://example.org/book"

    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(show.importlib.metadata, "metadata", absent)
    show.repository.cache_clear()
    assert show.repository() is None
    show.repository.cache_clear()


def test_code_written_elsewhere_is_not_given_a_library_file():
    def local(x):
        return x

    listing = show.source(local)
    assert listing.excerpts[0].file is None
    assert listing._repr_markdown_().startswith("Defined here:")


@pytest.mark.parametrize("thing", [len, 3, "text"])
def test_what_has_no_python_source_is_refused(thing):
    with pytest.raises(
        ValueError, match="source shows functions, classes and modules written in Python, got"
    ):
        show.source(thing)


def test_nothing_to_show_is_refused():
    with pytest.raises(ValueError, match="at least one object"):
        show.source()
