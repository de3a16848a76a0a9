"""The notebooks that are made from the chapters."""

import ast
import re

import conversion
import nbformat
import pytest
from address import Address
from chapters import ROOT, Page, chapters
from gates import solutions_apart
from IPython.core.inputtransformer2 import TransformerManager
from made_up import FRONT

import notebooks
from reasonlib.grading import notebook as grading

CHAPTER = (
    FRONT
    + """
# Made up

Text.

```{code-cell} ipython3
:tags: [parameters]

scale = "quick"
```

```{code-cell} ipython3
:tags: [page-only]

print("for the page")
```

```{exercise-start} Try
:label: try
```

```{code-cell} ipython3
answer = None
```

```{exercise-end}
```

````{solution-start} try
:class: dropdown
````

The secret is:

```{code-cell} ipython3
answer = "secret"
```

````{solution-end}
````

```{code-cell} ipython3
:tags: [nbval-check-output]

answer = None
```

After.
"""
)


@pytest.fixture
def page(monkeypatch):
    page = Page("book/topic/made-up")
    monkeypatch.setitem(page.__dict__, "text", CHAPTER)
    return page


@pytest.fixture
def notebook(page):
    return conversion.make(page, conversion.Book(site="https://site/", raw="https://raw/"))


def sources(notebook, kind):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def test_solutions_and_cells_of_the_page_are_left_out(notebook):
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "secret" not in text
    assert "for the page" not in text
    assert sources(notebook, "code").count("answer = None") == 2
    assert "After." in text


def test_the_first_code_cell_installs_on_colab_alone(notebook):
    install = sources(notebook, "code")[0]
    plain = TransformerManager().transform_cell(install)
    guard = next(node for node in ast.parse(plain).body if isinstance(node, ast.If))
    assert "google.colab" in ast.unparse(guard.test)
    assert "missing" in ast.unparse(guard.test) and 'missing = importlib.util.find_spec("reasonlib")' in plain
    assert Address.read().archive in install
    assert "torch" not in install
    assert "==" not in install
    exec(compile(plain, "install", "exec"), {})  # here, nothing is installed


def test_the_bytes_depend_on_the_chapter_alone(page, notebook):
    again = conversion.make(page, conversion.Book(site="https://site/", raw="https://raw/"))
    assert notebooks.written(again) == notebooks.written(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


def test_stored_outputs_stay_with_unchanged_cells(page, notebook):
    assert not notebooks.keep_outputs(notebook, None)
    cell = notebooks.checked(notebook)[0]
    cell.outputs = [nbformat.v4.new_output("stream", text="None\n")]
    again = conversion.make(page, conversion.Book(site="https://site/", raw="https://raw/"))
    assert notebooks.keep_outputs(again, notebook)
    assert notebooks.checked(again)[0].outputs == cell.outputs
    assert notebooks.checked(again)[0].execution_count == 1


def test_a_copy_at_smoke_says_so(page, notebook):
    copy = notebooks.at_smoke(notebook, page)
    assert 'scale = "smoke"' in "\n".join(sources(copy, "code"))
    assert 'scale = "quick"' in "\n".join(sources(notebook, "code"))


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.short)
def test_a_committed_notebook_opens_on_colab(chapter):
    notebook = nbformat.read(chapter.notebook, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata["accelerator"] == "GPU"
    assert notebook.metadata["colab"]["gpuType"] == "T4"
    assert notebook.cells[0].source.startswith("# ")
    text = "\n".join(sources(notebook, "markdown"))
    assert f"{Address.read().colab}{chapter.short}.ipynb" in text
    assert not re.findall(r"^[`:]{3,}\{|\{(?:cite|ref|eq|term|doc|numref)[:\w]*\}`", text, re.M)
    compared = notebooks.checked(notebook)
    assert compared
    assert all(cell.outputs and cell.execution_count for cell in compared)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.short)
def test_a_chapter_has_its_parameters_before_they_are_used(chapter):
    code = [cell for cell in conversion.sources(chapter) if cell.cell_type == "code"]
    first = next(at for at, cell in enumerate(code) if "parameters" in cell.metadata.get("tags", []))
    names = {target.id for node in ast.parse(code[first].source).body for target in node.targets}
    assert {"scale", "seed"} <= names
    assert 'scale = "quick"' in code[first].source
    before = [node for cell in code[:first] for node in ast.walk(ast.parse(cell.source))]
    assert not names & {node.id for node in before if isinstance(node, ast.Name)}


def test_the_template_of_a_chapter_makes_a_notebook():
    template = Page("templates/topic/book/chapter")
    text = template.path.read_text().replace("TOPIC/models/vote.py vote", "nn/attention.py attention")
    template.__dict__["text"] = text
    book = conversion.read_book()
    cells = [(cell.cell_type, cell.source, cell.metadata) for cell in conversion.sources(template)]
    book.labels.update(conversion.labels_of(template.name, cells))
    book.labels.update(conversion.labels_of("templates/topic/book/results", [("markdown", "# Results", {})]))
    made = conversion.make(template, book)
    text = "\n".join(sources(made, "markdown"))
    assert "> **Exercise 1: Put the steps of the vote in order (2 minutes)**" in text
    assert "> <details><summary>Answer</summary>" in text
    assert "**Exercise 2: Count for yourself (5 minutes)**" in text
    assert "\\tag{1}" in text
    assert "2 * sum(row)" not in "\n".join(sources(made, "code"))
    assert "You need: Python" in text and "*Figure 2, above.*" in text and "softmax" in text
    assert "<summary>Answer</summary>" in text
    (first,) = [cell for cell in made.cells if cell.id == "CHAPTER-exercise-margin"]
    assert "raise NotImplementedError" in first.source and first.metadata["id"] == first.id
    assert notebooks.checked(made)
    assert notebooks.round_trip(template)
    assert 'scale = "smoke"' in "\n".join(sources(notebooks.at_smoke(made, template), "code"))


ANSWERED = CHAPTER.replace("# Made up", "# Made up\n\n## Exercises").replace(
    "answer = None\n```\n\n```{exercise-end}",
    "def find_location(story, question):\n    raise NotImplementedError\n\n\n"
    "exercises.check_find_location(find_location)\n```\n\n```{exercise-end}",
)


@pytest.fixture
def exercised():
    page = Page("book/story_qa/made-up")
    page.__dict__["text"] = ANSWERED
    return page


def test_an_assignment_holds_the_exercises_alone(exercised):
    made = conversion.assignment(exercised, conversion.Book(site="https://site/", raw="https://raw/"))
    text = "\n".join(cell.source for cell in made.cells)
    assert "# Exercises: Made up" in text
    assert f"{Address.read().site}book/story_qa/made-up.html" in text
    assert "| Answer by rule | `find_location` | 3 | 20 |" in text
    assert "secret" not in text and "for the page" not in text
    assert 'names = [\n    "find_location",\n]\nchecks.grade("story_qa", globals(), names=names)' in text
    assert not any(cell.get("outputs") for cell in made.cells)
    again = conversion.assignment(exercised, conversion.Book(site="https://site/", raw="https://raw/"))
    assert notebooks.written(again) == notebooks.written(made)


def test_a_chapter_without_exercises_has_no_assignment(page):
    assert conversion.assignment(page, conversion.Book(site="https://site/", raw="https://raw/")) is None


def test_a_check_of_another_name_is_said(exercised):
    exercised.__dict__["text"] = ANSWERED.replace("check_find_location", "check_whence")
    with pytest.raises(conversion.OutOfStep, match="topic story_qa has no exercise 'whence'"):
        conversion.assignment(exercised, conversion.Book(site="https://site/", raw="https://raw/"))


GRADED = [chapter for chapter in chapters() if "exercises.check_" in chapter.text]
SHORTEST = min(GRADED, key=lambda chapter: len(chapter.text))


@pytest.mark.parametrize(
    "chapter",
    [
        pytest.param(chapter, marks=[] if chapter is SHORTEST else pytest.mark.slow, id=chapter.short)
        for chapter in GRADED
    ],
)
def test_an_assignment_with_the_chapter_s_solutions_wins_every_point(chapter, tmp_path):
    """It has all the imports its answers need, and chapter, check and assignment call an answer alike."""
    handed_out = nbformat.read(chapter.assignment, as_version=4)
    solved, hidden = [], False
    for cell in conversion.sources(chapter):
        if cell.cell_type == "markdown":
            _, hidden = solutions_apart(cell.source, hidden)
        elif hidden and "exercises.check_" in cell.source:  # others go on from a solution
            solved.append(cell.source)
    stubs = [
        cell
        for cell in handed_out.cells
        if cell.cell_type == "code" and "raise NotImplementedError" in cell.source
    ]
    assert len(stubs) == len(solved) > 0
    for stub, solution in zip(stubs, solved, strict=True):
        ((check, answer),) = re.findall(r"^exercises\.check_(\w+)\((\w+)\)$", stub.source, re.M)
        assert check == answer and f"def {answer}(" in solution
        stub.source = solution
    path = tmp_path / "solved.ipynb"
    nbformat.write(handed_out, path)
    graded = grading.grade_notebook(path, seconds=600, minutes=60)  # a busy machine is not a wrong answer
    assert graded.failed == ()
    assert graded.report.passed, repr(graded)
    assert len(graded.report.results) == len(stubs)


def test_citations_are_read_from_the_bibliography():
    works = conversion.citations()
    assert works["vaswani2017"][:2] == ("Vaswani et al.", "2017")
    assert works["mehak2019"][:2] == ("Mehak", "2019")
    assert all(url == "" or url.startswith("https://") for _, _, url in works.values())


def test_every_chapter_of_the_folder_is_in_the_book():
    listed = {chapter.path for chapter in chapters()}
    on_disk = {
        path
        for path in (ROOT / "book").rglob("*.md")
        if "kernelspec:" in path.read_text(encoding="utf-8")[:600]
    }
    assert on_disk == listed
