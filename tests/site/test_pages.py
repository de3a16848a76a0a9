"""The files of the built site: links, pictures, titles, nothing from elsewhere, every public name."""

import ast
import json
import re
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lxml import etree, html

pytestmark = pytest.mark.site

ROOT = Path(__file__).resolve().parent.parent.parent


PARSER = html.HTMLParser(encoding="utf-8", huge_tree=True)
NOT_LOADED = ("canonical", "next", "prev", "index", "search", "author")
NAMING = ("aria-controls", "aria-describedby", "aria-labelledby", "aria-owns", "for")
LOADS = ("script", "iframe", "img", "source", "video", "audio")


class Document:
    """The parts of a page that the tests ask about."""

    def __init__(self, text: bytes):
        self.anchors, self.links, self.loaded, self.images, self.metas = set(), [], [], [], {}
        self.headings = 0
        self.ids, self.named = Counter(), set()  # how often each is given, and those that labels name
        root = html.document_fromstring(text, parser=PARSER)
        self.language, self.title = root.get("lang"), (root.findtext("head/title") or "").strip()
        for element in root.iter(etree.Element):
            self._add(element.tag, element.attrib)

    def _add(self, tag, given):
        self.anchors.update(filter(None, (given.get("id"), given.get("name"))))
        self.ids.update(filter(None, [given.get("id")]))
        for name in NAMING:
            self.named.update(given.get(name, "").split())
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in NOT_LOADED:
            self.loaded.append(given.get("href") or "")
        elif tag in LOADS:
            if given.get("src"):
                self.loaded.append(given["src"])
            if tag == "img":
                self.images.append(dict(given))
        elif tag == "meta" and given.get("name"):
            self.metas[given["name"]] = given.get("content", "")
        elif tag == "article":
            self.headings = 0  # what stands before is the theme's own heading for paper
        elif tag == "h1":
            self.headings += 1


@cache
def read(path: Path) -> Document:
    return Document(path.read_bytes())


def test_every_internal_link_leads_somewhere(site, page_name):
    page = site / page_name
    broken = []
    for link in [*read(page).links, *read(page).loaded]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            broken.append(link)
        elif (
            parts.fragment
            and target.suffix == ".html"
            and unquote(parts.fragment) not in read(target).anchors
        ):
            broken.append(link)
    assert not [link for link in broken if link != "#"]


def test_nothing_is_fetched_from_elsewhere(site, page_name):
    text = (site / page_name).read_text(encoding="utf-8")
    assert [url for url in read(site / page_name).loaded if urlsplit(url).netloc] == []
    assert re.findall(r"(?:import\(|@import |url\()\s*[\"']?https?://[^\"')]+", text) == []
    assert "unpkg.com" not in text and "jsdelivr" not in text


def test_style_sheets_fetch_nothing_from_elsewhere(site):
    sheets = sorted(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        external = re.findall(r"(?:@import\s+|url\()\s*[\"']?https?://", sheet.read_text(encoding="utf-8"))
        assert not external, sheet


def test_a_page_says_what_it_is(site, page_name):
    page = read(site / page_name)
    assert page.language == "en"
    assert page.title
    if page_name.startswith("book/"):
        assert page.headings == 1
        assert 40 <= len(page.metas.get("description", "")) <= 170


def test_pages_load_icons_mathematics_and_search_only_where_they_need_them(site, page_name):
    from reasonlib_light import ICONS

    text = (site / page_name).read_text(encoding="utf-8")
    assert "fontawesome.js" not in text
    loaded = {*ICONS, "solid", "brands", "regular", "lg"}
    assert set(re.findall(r"\bfa-([a-z-]+)", text)) <= loaded
    assert ("katex.min.css" in text) == ('class="katex"' in text)
    assert ("searchindex.js" in text) == (page_name == "search.html")
    assert ("questions.js" in text) == ('class="rr-question"' in text)


def test_every_picture_has_words(site, page_name):
    bare = [
        image.get("src", "")[:80]
        for image in read(site / page_name).images
        if not (image.get("alt") or "").strip()
    ]
    assert not bare


def test_what_a_label_names_is_one_thing(site, page_name):
    """Also where it is folded away, of which axe is not asked."""
    page = read(site / page_name)
    assert [name for name in page.named if page.ids[name] > 1] == []


def test_no_raw_markup_is_left_on_a_page(site, page_name):
    text = re.sub(
        r"<(script|style|pre|code)\b.*?</\1>", "", (site / page_name).read_text(encoding="utf-8"), flags=re.S
    )
    assert not re.findall(r"\{(?:cite|ref|eq|term|doc|numref|math)(?::\w+)?\}", text)


def test_colab_buttons_open_notebooks_that_exist(site):
    from address import Address
    from chapters import chapters

    root = Address.read().colab
    for page in chapters():
        links = {
            link
            for link in re.findall(
                r'href="([^"]*)"', (site / f"{page.name}.html").read_text(encoding="utf-8")
            )
            if "colab.research" in link
        }
        assert f"{root}{page.short}.ipynb" in links
        assert {link.split("#")[0] for link in links} == {f"{root}{page.short}.ipynb"}
        notebook = ROOT / "notebooks" / f"{page.short}.ipynb"
        assert json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def notebooks():
    """Each chapter with the text of its notebook."""
    from chapters import chapters

    for page in chapters():
        cells = json.loads(page.notebook.read_text(encoding="utf-8"))["cells"]
        yield page, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_links_of_the_notebooks_into_the_site_lead_somewhere(site):
    from address import Address

    root = Address.read().site
    broken = []
    for page, text in notebooks():
        for link in re.findall(re.escape(root) + r"([^\s)]*)", text):
            path, _, anchor = link.partition("#")
            if not (site / path).is_file() or (anchor and anchor not in read(site / path).anchors):
                broken.append((page.short, link))
    assert broken == []


def test_page_and_notebook_number_alike(site):
    for page, text in notebooks():
        source = (site / f"{page.name}.html").read_text(encoding="utf-8")
        shown = re.sub(r"<[^>]+>", "", "\n".join(re.findall(r'<p class="admonition-title">.*?</p>', source)))
        number = rf"{page.number}\.\d+"
        exercises = re.findall(rf"^Exercise ({number})", shown, re.M)
        assert exercises == re.findall(rf"\*\*Exercise ({number})", text)
        equations = re.findall(r'class="eqno">\(([\d.]+)\)', source)
        assert equations == re.findall(rf"\\tag\{{({number})\}}", text)
        for kind in ("Figure", "Table"):
            captions = re.findall(rf'<span class="caption-number">{kind} ([\d.]+)', source)
            there = rf"^(?:\*{kind} ({number})[.,]|\*\*{kind} ({number})\.\*\*)"
            assert captions == [italic or bold for italic, bold in re.findall(there, text, re.M)]


def test_the_notebook_a_reader_downloads_is_the_one_for_people(site):
    for page, _ in notebooks():
        assert (site / "_sources" / f"{page.name}.ipynb").read_bytes() == page.notebook.read_bytes()


def test_no_page_shows_what_was_meant_for_a_terminal(site, page_name):
    text = (site / page_name).read_text(encoding="utf-8")
    assert 'class="output stderr' not in text, "a cell of this page writes warnings or progress"
    assert 'class="output traceback' not in text


def test_what_sphinx_keeps_of_a_page_is_that_page_alone(site):
    """A node of another document takes Sphinx's environment along, and with it all that was read."""
    kept = list(site.with_name(f"{site.name}.work").rglob("*.doctree"))
    assert kept, "Sphinx kept nothing beside the site"
    assert [path.stem for path in kept if b"BuildEnvironment" in path.read_bytes()] == []


def test_reference_pages_show_no_path_and_no_address_of_the_machine_that_built_them(site):
    machine = rf"\b0x[0-9a-f]{{6,}}|PosixPath|WindowsPath|{re.escape(str(ROOT))}"
    pages = sorted(site.glob("book/api/*.html"))
    assert pages
    for page in pages:
        shown = html.document_fromstring(page.read_bytes(), parser=PARSER).text_content()
        assert re.findall(f".*(?:{machine}).*", shown) == [], page.name


def inventory(site: Path) -> set[str]:
    """Names described on API pages, from Sphinx's own list of them."""
    data = (site / "objects.inv").read_bytes()
    for _ in range(4):
        data = data[data.index(b"\n") + 1 :]
    return {line.split(" ")[0] for line in zlib.decompress(data).decode().splitlines() if " py:" in line}


def public_names() -> list[str]:
    """Every name in the ``__all__`` of a module of the library, read without importing it."""
    names = []
    for path in sorted((ROOT / "reasonlib").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
                names += [f"{module}.{name}" for name in ast.literal_eval(node.value)]
    return names


def test_every_public_name_is_on_a_page_of_the_reference(site):
    described = inventory(site)
    last = {name.rsplit(".", 1)[-1] for name in described}
    missing = [
        name for name in public_names() if name not in described and name.rsplit(".", 1)[-1] not in last
    ]
    assert public_names()
    assert missing == []


def test_every_module_is_on_a_page_of_the_reference(site):
    described = inventory(site)
    modules = set()
    for path in (ROOT / "reasonlib").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not module.endswith(("__init__", "__main__")) and not any(
            part.startswith("_") for part in path.parts
        ):
            modules.add(module)
    assert modules - described == set()
