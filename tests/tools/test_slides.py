"""Slides: every numbered figure, equation and question of a chapter, in one file that needs no network."""

import re

import nbformat
import pytest
import slides
from chapters import chapters
from conversion import read_book
from execution import Run

CHAPTER = next(page for page in chapters() if page.short == "optimisation/losses")
FIGURE = '<figure class="rr rr-figure"><svg viewBox="0 0 9 9"></svg><figcaption>A line.</figcaption></figure>'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The deck of a chapter whose figures are all the same line."""
    run = Run(CHAPTER, "smoke")
    executed = run.read()
    for cell in executed.cells:
        if cell.cell_type == "code":
            shown = nbformat.v4.new_output("display_data", {"text/html": FIGURE})
            cell.outputs = [shown] if slides.labelled(cell.metadata) else []
    path = tmp_path_factory.mktemp("run") / "losses.ipynb"
    nbformat.write(executed, path)

    class Kept(Run):
        notebook = path

    return slides.deck(CHAPTER, Kept(CHAPTER, "smoke"), read_book())


def test_every_numbered_figure_before_the_exercises_has_a_slide(made):
    text = CHAPTER.text.partition("\n## Exercises")[0]
    labels = re.findall(r"^:(?:figure|table): (\S+)", text, re.M)
    shown = [slide for slide in made if 'class="caption"' in slide.body]
    assert len(shown) == len(labels) >= 3
    numbers = [re.search(r"(Figure|Table) ([\d.]+\d)", slide.body)[0] for slide in shown]
    assert len(set(numbers)) == len(numbers) and numbers[0] == f"Figure {CHAPTER.number}.1"


def test_equations_questions_and_the_summary_have_slides(made):
    kinds = [slide.kind for slide in made]
    assert kinds[0] == "title" and {"equation", "question", "words"} <= {*kinds}
    assert kinds.count("question") == CHAPTER.text.partition("\n## Exercises")[0].count(":::{question}")
    assert any(slide.title == "In short" and slide.body.count("<li>") >= 3 for slide in made)
    assert not any(slide.title == "Exercises" for slide in made)
    assert 'class="katex' in "".join(slide.body for slide in made)
    assert "{" not in re.sub(r"(?s)<(style|annotation).*?</\1>|<[^>]*>", "", made[0].body)
    assert all("Answer</summary>" in slide.body for slide in made if slide.kind == "question")


def test_a_sentence_about_a_cell_is_left_out():
    assert slides.first_sentences("The next cell trains both. Wait.\n\nBoth fail. Why?") == "- Both fail."
    assert slides.first_sentences("The next cell trains both.") == ""


@pytest.mark.browser
def test_keys_turn_slides_and_nothing_is_loaded_from_elsewhere(browser, made, tmp_path):
    page = tmp_path / "optimisation" / "losses.html"
    page.parent.mkdir()
    page.write_text(slides.as_html(CHAPTER, made), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1280, "height": 720})
    asked = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(page.as_uri())
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", "Space"):
        opened.keyboard.press(key)
    opened.wait_for_function("location.hash === '#2'")
    opened.keyboard.press("n")
    opened.locator("aside").nth(1).wait_for(state="visible")
    opened.close()
    assert all(url.startswith(tmp_path.as_uri()) for url in asked)


def test_what_is_no_chapter_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["slides.py", "optimisation/none"])
    assert slides.main() == 2
    assert (
        "there is no chapter 'optimisation/none'; there are: optimisation/losses" in capsys.readouterr().err
    )
