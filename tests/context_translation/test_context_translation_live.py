"""The live figures: the same numbers in the browser as in PyTorch, and they weigh less than a megabyte."""

import pytest
import torch

from reasonlib.context_translation.models.pretrained import from_pretrained
from reasonlib.context_translation.page import live
from reasonlib.context_translation.page.glosses import glosses
from reasonlib.context_translation.page.pairs import SYSTEMS, attention_pairs
from reasonlib.context_translation.page.reading import CONTEXTS, knows, read_in_context, translate_all
from reasonlib.display import live as shell

NETWORK = shell.code(live.FOLDER / "network.js")
"""The JavaScript of the forward pass, with the shared parts before it."""

SENTENCES = [
    ("it was old .", ["mary found the lamp .", "it rained again ."]),
    ("you found the map ?", ["good morning , sir ."]),
    ("then slept at home .", []),
]


def rounded():
    """Load the translator with the weights as the page gets them."""
    translator = from_pretrained.__wrapped__()
    state = shell.round_weights(live.weights_of(translator), bits=live.BITS)
    translator.model.load_state_dict(dict(translator.model.state_dict()) | state)
    return translator


BODY = """
const [model, data, sentence, context] = given;
const result = translateInContext(new Weights(model), data, sentence, context);
const { words, chances, looks, gates, unknown } = result;
return { words, chances, looks, gates, unknown };
"""


@pytest.mark.parametrize(("sentence", "context"), SENTENCES)
def test_the_page_computes_what_pytorch_computes(javascript, sentence, context):
    translator = rounded()
    packed = shell.pack_weights(live.weights_of(from_pretrained()), bits=live.BITS)
    given = [packed, live.describe_network(translator), sentence, context]
    theirs = javascript(NETWORK, BODY, given)
    ours = read_in_context(translator, sentence, context)
    assert theirs["words"] == ours.words and not theirs["unknown"]
    torch.testing.assert_close(torch.tensor(theirs["gates"]), 1 - ours.kept, atol=1e-4, rtol=1e-3)
    for word, looks in enumerate(ours.attention):
        for number, weights in enumerate(looks):
            shown = torch.tensor(theirs["looks"][word][number])
            torch.testing.assert_close(shown, weights, atol=1e-4, rtol=1e-3)


def test_the_page_reads_what_people_type(javascript):
    body = "return splitWords(given);"
    typed = "Good morning, Sir. You found the map?"
    expected = ["good", "morning", ",", "sir", ".", "you", "found", "the", "map", "?"]
    assert javascript(NETWORK, body, typed) == expected


@pytest.mark.parametrize("count", [0, 2, 10])
def test_the_page_counts_what_the_library_counts(javascript, count):
    sizes = {"source": 12, "context": 9, "count": count, "layers": 6}
    theirs = javascript(shell.code(live.FOLDER / "counting.js"), "return attentionPairs(given);", sizes)
    assert theirs == {name: attention_pairs(name, **sizes) for name in SYSTEMS}


def test_the_figures_say_what_they_show():
    for figure, name in ((live.translating(), "rr-translating"), (live.counting(), "rr-counting")):
        assert figure.alt and name in figure.html


def test_chapters_begin_with_different_sentences():
    figure = live.translating(start=2, context=2)
    assert live.CASES[2]["source"] in figure.alt and live.CASES[0]["source"] not in figure.alt
    for wrong, message in (
        ({"start": 5}, "start must be from 0 to 4, got 5"),
        ({"start": 1, "context": 3}, "context must be from 0 to 2, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            live.translating(**wrong)


def test_every_case_is_in_the_vocabulary_and_every_target_word_has_a_gloss():
    translator = from_pretrained()
    meanings = glosses()
    for case in live.CASES:
        for lines in case["contexts"]:
            assert len(lines) <= CONTEXTS
            assert all(knows(translator, word) for text in (case["source"], *lines) for word in text.split())
            written = translate_all(translator, [(case["source"], lines)])[0]
            assert all(word in meanings for word in written.split()), written


@pytest.mark.browser
def test_a_reader_changes_the_context(open_figure):
    page = open_figure(live.translating())
    root = "document.querySelector('.rr-translating').translating"
    translator = rounded()
    for lines in live.CASES[0]["contexts"]:
        page.evaluate(f"(lines) => {root}.write(lines)", lines)
        shown = page.evaluate(f"{root}.result().words")
        assert shown == read_in_context(translator, live.CASES[0]["source"], lines).words
    page.evaluate(f"{root}.write(['Mary sold the zeppelin.'])")
    assert "zeppelin" in page.locator(".rr-live-notes").inner_text()
    page.evaluate(f"{root}.write(['the lamp '.repeat(300)])")
    assert f"first {live.WORDS} words" in page.locator(".rr-live-notes").inner_text()
    assert page.locator(".rr-translating-line span").count() == live.WORDS


def test_the_words_to_write_with_are_those_of_the_source_language():
    words = live.source_words()
    assert {"it", "tom", "lamp", "snow", "sir"} <= words
    assert not words & {"padu", "noch", "slush", "veko"}, "words of the translations"


@pytest.mark.browser
def test_the_figure_opens_where_the_chapter_says(open_figure):
    page = open_figure(live.translating(start=2, context=2))
    assert page.locator(".rr-translating-line").count() == len(live.CASES[2]["contexts"][2])
    page.get_by_label("Sentence to translate").select_option("1")
    assert page.locator(".rr-translating-line").count() == len(live.CASES[1]["contexts"][0])
