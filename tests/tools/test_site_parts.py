"""What the site's own Sphinx extensions make: icons, mathematics and reference pages."""

import base64
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import reasonlib_book as book_pages
import reasonlib_light as light
import reasonlib_math as mathematics
import reasonlib_numbers as numbers
import reasonlib_spaces as spaces
from docutils import nodes
from docutils.utils import new_document


def test_the_sheet_of_icons_is_small_and_holds_every_icon():
    from fontTools.ttLib import TTFont

    sheet = light.icon_sheet()
    assert len(sheet) < 12_000
    available = set()
    for data in re.findall(r"base64,([\w+/=]+)", sheet):
        available |= set(TTFont(io.BytesIO(base64.b64decode(data))).getBestCmap())
    assert light.code_points() <= available
    with pytest.raises(ValueError, match="no icon 'unheard-of'"):
        light.code_points(("unheard-of",))


def test_letters_of_a_style_sheet():
    assert light.letter(r"\f0c9") == light.letter("\uf0c9") == 0xF0C9


def test_outputs_say_by_a_class_what_a_rule_would_ask_of_all_that_is_in_them(tmp_path):
    def output(source):
        return nodes.container("", nodes.raw("", source, format="html"), classes=["output", "text_html"])

    ours, theirs = output('<div class="rr rr-live"></div>'), output("<b>bold</b>")
    cell = nodes.container("", nodes.container("", classes=["cell_input"]), ours, classes=["cell"])
    light.mark_outputs(None, nodes.section("", cell, theirs), "page")
    assert "rr-several" in cell["classes"] and "rr-foreign" in theirs["classes"]
    assert "rr-foreign" not in ours["classes"]

    sheet = tmp_path / "_static" / "styles" / "pydata-sphinx-theme.css"
    sheet.parent.mkdir(parents=True)
    sheet.write_text("a .text_html:not(:has(table.dataframe)){}")
    for _ in range(2):  # a second build finds it done
        light.decided(tmp_path)
        assert sheet.read_text() == "a .text_html.rr-foreign{}"
    sheet.write_text("a{}")
    with pytest.raises(ValueError, match="asks in another way now"):
        light.decided(tmp_path)


def test_style_sheets_of_the_body_stand_once_in_the_head_and_scripts_stay():
    script = "<script>const text = '<style>not a sheet</style>';</script>"
    page = (
        "<html><head><title>t</title></head><body><style>\n.a{}</style><p>1</p>"
        f"<style scoped>.b{{}}</style>{script}<style>.a{{}}</style><p>2</p></body></html>"
    )
    moved = "<html><head><title>t</title><style>.a{}</style>\n<style>.b{}</style>\n</head>"
    assert light.gather_styles(page) == f"{moved}<body><p>1</p>{script}<p>2</p></body></html>"
    bare = "<html><head></head><body><p>1</p></body></html>"
    assert light.gather_styles(bare) == bare


def test_the_script_of_the_theme_measures_nothing(tmp_path):
    script = tmp_path / "theme.js"
    script.write_text(f"list={light.SCROLLING}.join()", encoding="utf-8")
    for _ in range(2):  # a file that Sphinx did not copy again
        light.measure_nothing(script)
        assert script.read_text(encoding="utf-8") == f"list={light.NOTHING}.join()"
    script.write_text("something else", encoding="utf-8")
    with pytest.raises(ValueError, match=r"theme\.js measures what scrolls in another way"):
        light.measure_nothing(script)
    theme = light.THEME / "scripts" / "pydata-sphinx-theme.js"
    assert light.SCROLLING in theme.read_text(encoding="utf-8")


def test_a_formula_is_typeset_with_words_for_screen_readers():
    html = mathematics.typeset(r"\frac{1}{2}", True)
    assert "katex-display" in html and "<mfrac>" in html and 'aria-hidden="true"' in html
    assert "katex-display" not in mathematics.typeset("x", False)
    with pytest.raises(ValueError, match="KaTeX parse error"):
        mathematics.typeset(r"\nosuchmacro{x}", False)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((" (", "The slope of ", "x", " (5 minutes)", ")"), "· The slope of x (5 minutes)"),
        ((" Exercise 1.2", " (", "A name (an hour)", ")"), " Exercise 1.2 · A name (an hour)"),
        ((" Exercise 1.2",), " Exercise 1.2"),
    ],
)
def test_the_name_of_an_exercise_is_not_in_brackets(parts, text):
    title = nodes.title("", "", *map(nodes.Text, parts))
    numbers.unbracket(title)
    assert title.astext() == text


def test_a_number_keeps_its_percent_sign_and_code_keeps_its_spaces():
    text, code = nodes.paragraph("", "95 % of 3 %, a % b"), nodes.literal("", "x = 7 % 2")
    document = new_document("page")
    document += [text, nodes.paragraph("", "", code)]
    spaces.JoinPercent(document).run()
    assert text.astext() == "95\u00a0% of 3\u00a0%, a % b"
    assert code.astext() == "x = 7 % 2"


HERE = Path(book_pages.__file__).parent
DESCRIBED = ("shelves", "reasonlib.cli.data", "reasonlib.visual_iq.data.simulator_fit")
MODULE = """
\"\"\"A module.\"\"\"

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

__all__ = ["LONG", "PAIRS", "TABLE", "Config", "Shelf", "Wider", "command"]

TABLE = Path(__file__).with_name("table.json")
\"\"\"A path.\"\"\"

LONG = {name: Path(__file__).with_name(name) for name in ("first", "second", "third", "fourth", "last")}
\"\"\"Paths.\"\"\"

PAIRS = dict[str, int]
\"\"\"An alias.\"\"\"


class Shelf:
    \"\"\"A shelf.\"\"\"

    room: object = object()
    \"\"\"Room.\"\"\"


@dataclass
class Config:
    \"\"\"A config.\"\"\"

    path: Path = TABLE
    make: object = len
    names: list[str] = field(default_factory=list)


@dataclass
class Wider(Config):
    \"\"\"A wider config.\"\"\"

    width: float = 1e-9


def command(files: Annotated[list[Path], object()], by: list[Annotated[int, object()]] = []) -> None:
    \"\"\"Do it.\"\"\"
"""


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The text of a reference page. Sphinx changes the signatures it describes, so it has its own process."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "shelves.py").write_text(MODULE, encoding="utf-8")
    blocks = [f".. automodule:: {name}\n   :members:\n" for name in DESCRIBED]
    (folder / "index.rst").write_text("\n".join(["Reference\n=========\n", *blocks]), encoding="utf-8")
    settings = {
        "extensions": "sphinx.ext.autodoc,sphinx.ext.napoleon,reasonlib_book",
        "autodoc_typehints": "description",
        "autodoc_preserve_defaults": "1",
    }
    command = [sys.executable, "-m", "sphinx", "-q", "-C", "-b", "text"]
    command += [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    paths = os.pathsep.join(map(str, (folder, HERE, HERE.parents[1])))
    done = subprocess.run(
        [*command, str(folder), str(folder / "out")],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return (folder / "out" / "index.txt").read_text(encoding="utf-8")


def test_reference_pages_print_values_and_types_as_the_source_has_them(reference):
    lines = reference.splitlines()
    for line in (
        "shelves.TABLE = Path(__file__).with_name('table.json')",
        "shelves.LONG",
        "shelves.PAIRS",
        "   room: object = object()",
        "class shelves.Config(path=TABLE, make=len, names=field(default_factory=list))",
        "class shelves.Wider(path=TABLE, make=len, names=field(default_factory=list), width=1e-09)",
        "shelves.command(files, by=[])",
    ):
        assert line in lines, reference
    plain = reference.replace("*", "")
    assert "files (list[Path])" in plain and "by (list[int])" in plain, reference


def test_reference_pages_show_no_path_and_no_address_of_this_machine(reference):
    assert [name for name in DESCRIBED if f"{name}." not in reference] == []
    assert re.findall(r".*(?:\b0x[0-9a-f]{4}|PosixPath|WindowsPath|<built-in|<class).*", reference) == []
    assert str(HERE.parents[1]) not in reference
