"""The page that is printed: every article once, names that do not clash, links that hold, no scripts."""

import re

import pytest
from chapters import Page, pages
from pdf import (
    CannotPrint,
    article,
    bound,
    contents,
    narrower,
    printed_pages,
    relinked,
    spread,
    unfolded,
    without_bars,
    without_scripts,
)

SITE = "https://example.org/book/"
BODY = (
    '<section id="a"><a href="#a">a</a> <a href="other.html#b">b</a> <a href="../../far.html">c</a>'
    '<img src="../../pictures/x.png"><svg><defs id="d"></defs><use xlink:href="#d"/>'
    '<path clip-path="url(#d)"/></svg></section>'
)


def test_names_and_links_hold_in_one_page():
    text = relinked(BODY, Page("book/topic/page"), {"book/topic/page", "book/topic/other"}, SITE)
    own = "page-book-topic-page--"
    assert f'id="{own}a"' in text and f'href="#{own}a"' in text
    assert 'href="#page-book-topic-other--b"' in text
    assert f'href="{SITE}far.html"' in text
    assert 'src="pictures/x.png"' in text
    assert f'xlink:href="#{own}d"' in text and f"url(#{own}d)" in text


def test_scripts_leave_a_picture_and_a_link():
    text = without_scripts(
        "<p>picture</p><noscript><p>Scripts are off: no.</p></noscript>"
        '<script type="application/json">{}</script><script>(() => 1)();</script>',
        f"{SITE}page.html",
    )
    assert "script" not in text and f'<a href="{SITE}page.html">' in text and "picture" in text


def test_everything_is_open_but_the_code_of_figures():
    text = unfolded(
        '<details class="admonition hide above-input"><pre>plot()</pre></details>'
        "<details><p>solution</p></details><details open><p>open</p></details>"
    )
    assert "plot()" not in text
    assert text.count("<details open>") == 2


def test_all_that_is_chosen_from_is_printed_with_its_name():
    text = spread(
        '<fieldset><label for="c1-0">copying</label><label for="c1-1">N2N</label></fieldset>'
        '<div class="rr-panel c1-0"><p>hi</p></div><div class="rr-panel c1-1"><p>hello</p></div>'
        '<div class="rr-panel other"></div>'
    )
    assert '<p class="rr-panel-name">copying</p><p>hi</p>' in text
    assert '<p class="rr-panel-name">N2N</p><p>hello</p>' in text
    assert '<div class="rr-panel other"></div>' in text


def test_wide_tables_have_smaller_letters_and_others_keep_a_mean_with_its_spread():
    widest, wide, narrow = (f"<table><tr>{count * '<td>1 ± 2</td>'}</tr></table>" for count in (12, 11, 6))
    assert narrower(widest) == f'<div class="rr-many rr-most">{widest}</div>'
    assert narrower(wide) == f'<div class="rr-many">{wide}</div>'
    assert narrower(narrow) == narrow.replace(" ± ", "\u00a0±\u00a0")


def test_a_training_is_printed_without_its_bar():
    assert without_bars("<pre>" + 20 * "█" + 4 * "░" + " 5 of 6 steps</pre>") == "<pre>5 of 6 steps</pre>"
    assert without_bars("<td>███ 0.41</td>") == "<td>███ 0.41</td>", "a bar of a table says something"


def test_the_bound_book_has_every_article_once(tmp_path):
    printed = [page for page in pages() if page.topic == "optimisation"][:3]
    for page in printed:
        path = tmp_path / f"{page.name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            '<html><head><link rel="stylesheet" href="../../_static/x.css?v=1">'
            f"<style>.all{{}}</style>\n<style>.of-{page.path.stem}{{}}</style></head><body>"
            f'<article class="bd-article"><h1 id="top">{page.short}</h1></article></body></html>'
        )
    assert printed_pages(tmp_path, []) == printed
    text = bound(tmp_path, printed, SITE)
    assert [text.count(f">{page.short}</h1>") for page in printed] == [1, 1, 1]
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))
    assert 'href="_static/x.css"' in text
    assert text.count(".all{}") == 1 and all(f".of-{page.path.stem}{{}}" in text for page in printed)
    assert all(f'href="#page-{page.name.replace("/", "-")}"' in text for page in printed)


def test_tables_of_results_are_open_on_paper_and_their_conditions_are_not(tmp_path):
    (page,) = [page for page in pages() if page.short == "optimisation/results"]
    path = tmp_path / f"{page.name}.html"
    path.parent.mkdir(parents=True)
    inner = "<summary>4</summary><table></table><details><summary>what differs</summary></details>"
    path.write_text(f'<article class="bd-article"><details class="rr-fold">{inner}</details></article>')
    text = bound(tmp_path, [page], SITE)
    assert text.count('<details class="rr-fold" open>') == 1 and text.count("<details>") == 1


def test_the_contents_name_a_topic_whose_overview_is_not_printed():
    (page,) = [page for page in pages() if page.short == "transformer/attention"]
    text = contents([page])
    assert "The Transformer" in text and "Attention" in text and ">transformer<" not in text


def test_mistakes(tmp_path):
    with pytest.raises(CannotPrint, match="has no page to print: run `make book` first"):
        printed_pages(tmp_path, [])
    with pytest.raises(CannotPrint, match="has no article"):
        article("<p>none</p>")
