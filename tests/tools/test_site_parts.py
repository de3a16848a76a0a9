"""What the site's own Sphinx extensions make: icons and mathematics."""

import base64
import io
import re

import pytest
import reasonlib_light as light
import reasonlib_math as mathematics


def test_the_sheet_of_icons_is_small_and_holds_every_icon():
    from fontTools.ttLib import TTFont

    sheet = light.icon_sheet()
    assert len(sheet) < 12_000
    held = set()
    for data in re.findall(r"base64,([\w+/=]+)", sheet):
        held |= set(TTFont(io.BytesIO(base64.b64decode(data))).getBestCmap())
    assert light.code_points() <= held
    with pytest.raises(ValueError, match="no icon 'unheard-of'"):
        light.code_points(("unheard-of",))


def test_letters_of_a_style_sheet():
    assert light.letter(r"\f0c9") == light.letter("\uf0c9") == 0xF0C9


def test_a_formula_is_typeset_with_words_for_screen_readers():
    html = mathematics.typeset(r"\frac{1}{2}", True)
    assert "katex-display" in html and "<mfrac>" in html and 'aria-hidden="true"' in html
    assert "katex-display" not in mathematics.typeset("x", False)
    with pytest.raises(ValueError, match="KaTeX parse error"):
        mathematics.typeset(r"\nosuchmacro{x}", False)
