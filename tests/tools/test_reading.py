"""The reading time of a chapter, measured on its source."""

import pytest
from chapters import chapters
from reading import Reading, measure, split


def test_words_lines_and_figures_take_their_time():
    assert Reading(words=400, lines=12, figures=2).minutes == pytest.approx(2 + 1 + 1)
    assert Reading(words=400, lines=0, figures=0).rounded == 5
    assert Reading(words=2500, lines=0, figures=0).rounded == 10


def test_markup_is_not_read():
    text = """(label)=
## A *title* of four

Words {cite:p}`key2020` and {ref}`a name <label>`, [a link](https://example.org/words/words) and $x + y$.

```{admonition} A box
:class: dropdown

Inside.
```

```{math}
:label: eq

x = 1
```

```{excerpt} nn/attention.py attention
```

| a | b |
|---|---|
"""
    words, excerpts = split(text)
    assert excerpts == ["nn/attention.py attention"]
    assert len(words.replace("#", " ").replace("|", " ").split()) < 32
    assert "example.org" not in words and "dropdown" not in words and "label" not in words
    assert "a name" in words and "A box" in words and "Inside." in words


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.short)
def test_every_chapter_says_what_it_gives_and_needs_and_can_be_read_in_an_hour(chapter):
    assert chapter.objective.startswith("You will be able to ") and chapter.objective.endswith(".")
    assert len(chapter.objective) <= 150
    assert chapter.needs and not chapter.needs.endswith(".")
    assert 5 <= measure(chapter).rounded <= 60
