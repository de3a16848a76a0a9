"""The live figure: the same numbers in the browser as in PyTorch, and it weighs less than a megabyte."""

import pytest
import torch

from reasonlib.display import live as shell
from reasonlib.state_tracking.data.encoding import TurnTokens
from reasonlib.state_tracking.data.example import Dialogue, Turn
from reasonlib.state_tracking.data.ontology import PAIRS
from reasonlib.state_tracking.models.pretrained import from_pretrained
from reasonlib.state_tracking.models.span import LONGEST_SPAN, OPEN, Spans
from reasonlib.state_tracking.page import live

NETWORK = shell.code(live.FOLDER / "network.js")
"""The JavaScript of the forward pass, with the shared parts before it."""

DIALOGUE = live.chosen_dialogues()[0]
TURNS = [(turn.system, turn.user) for turn in DIALOGUE.turns]


def rounded():
    """Load the tracker with the weights as the page gets them."""
    tracker = from_pretrained.__wrapped__(attention=True)
    state = shell.round_weights(live.weights_of(tracker), bits=8)
    table = "tracker.encoder.encoder.embeddings.position_embeddings.weight"
    whole = dict(tracker.model.state_dict())
    whole |= {name: tensor for name, tensor in state.items() if name != table}
    whole[table] = torch.cat([state[table], whole[table][len(state[table]) :]])
    tracker.model.load_state_dict(whole)
    return tracker


BODY = """
const [model, data, turns, blocked] = given;
const result = track(new Weights(model), data, turns, { blocked });
return { state: result.state, sure: result.sure, words: result.words,
         row: Array.from(result.attention.at(-1)[1].row(3)) };
"""


@pytest.mark.parametrize("blocked", [False, True])
def test_the_page_computes_what_pytorch_computes(javascript, blocked):
    tracker = rounded()
    tracker.model.tracker.encoder.blocked = blocked
    packed = shell.pack_weights(live.weights_of(from_pretrained()), bits=8)
    given = [packed, live.describe_network(tracker), [list(turn) for turn in TURNS], blocked]
    theirs = javascript(NETWORK, BODY, given)
    ours = tracker.track(TURNS, attention=True)
    assert theirs["state"] == ours.state
    assert theirs["words"] == list(ours.tokens[30:])
    assert theirs["sure"] == pytest.approx(ours.confidence, abs=1e-3)
    torch.testing.assert_close(torch.tensor(theirs["row"]), ours.attention[-1, 1, 3], atol=1e-4, rtol=1e-3)


def test_tokens_in_the_page_are_those_of_the_library(javascript):
    tracker = from_pretrained()
    turns = tuple(Turn(system=s, user=u, state={}) for s, u in TURNS)
    ids, roles, _ = TurnTokens(tracker.tokenizer).history(Dialogue(name="", turns=turns), len(turns) - 1)
    body = "return turnTokens(given[1], new Vocabulary(given[0], { unknown: '[UNK]' }), 320);"
    theirs = javascript(NETWORK, body, [live.describe_network(tracker)["tokens"], TURNS])
    assert (theirs["ids"], theirs["roles"]) == (ids, roles)


def test_a_span_is_the_best_pair_of_tokens(javascript):
    draw = torch.Generator().manual_seed(0)
    starts, ends = torch.randn(2, 20, 12, generator=draw)
    nothing = torch.empty(1, 0)
    for first, last in zip(starts, ends, strict=True):
        said = Spans(nothing, nothing, first[None, None], last[None, None], None)
        theirs = javascript(
            NETWORK, "return bestSpan(...given);", [first.tolist(), last.tolist(), LONGEST_SPAN]
        )
        assert theirs == said.best_spans()[0, 0].tolist()


def test_the_figure_says_what_it_shows():
    figure = live.tracking()
    assert "taxi-destination" in figure.alt and "rr-tracking" in figure.html
    with pytest.raises(ValueError, match="at least one dialogue"):
        live.tracking(dialogues=[])


def test_chapters_begin_with_different_dialogues():
    first, second = live.tracking(), live.tracking(start=1, turn=6, slot="taxi-destination")
    opening = live.chosen_dialogues()[1].turns[0].user
    assert opening in second.html.split("<script")[0] and opening not in first.html.split("<script")[0]
    for wrong, message in (
        ({"start": 4}, "start must be from 0 to 3, got 4"),
        ({"turn": 0}, "turn must be from 1 to 9, got 0"),
        ({"slot": "taxi"}, "slot must be a domain-slot pair"),
    ):
        with pytest.raises(ValueError, match=message):
            live.tracking(**wrong)


@pytest.mark.browser
def test_a_reader_steps_through_and_writes(open_figure):
    page = open_figure(live.tracking())
    for _ in range(len(TURNS) - 1):
        page.get_by_role("button", name="Next turn").click()
    shown = page.evaluate("document.querySelector('.rr-tracking').tracking.state()")
    assert shown == rounded().track(TURNS).state
    for pair, value in shown.items():
        page.locator(f".rr-tracking-slot[aria-label^='{pair} is']").click()
        marked = " ".join(page.locator(".rr-tracking-marked").all_inner_texts())
        assert marked == (value if PAIRS.index(pair) in OPEN and value != "dontcare" else "")
    page.evaluate("document.querySelector('.rr-tracking').tracking.write('I need a hotel in the north.')")
    assert page.evaluate("document.querySelector('.rr-tracking').tracking.state()")


@pytest.mark.browser
def test_the_figure_opens_where_the_chapter_says(open_figure):
    page = open_figure(live.tracking(start=1, turn=6, slot="taxi-destination"))
    turns = [(turn.system, turn.user) for turn in live.chosen_dialogues()[1].turns][:6]
    shown = page.evaluate("document.querySelector('.rr-tracking').tracking.state()")
    assert shown == rounded().track(turns).state
    assert page.get_by_label("Dialogue", exact=True).first.is_visible()
    assert page.locator(".rr-tracking-user").count() == 6
    assert page.get_by_text("taxi-destination attends to these slots").first.is_visible()
    page.get_by_role("button", name="Next turn").click()
    assert page.locator(".rr-tracking-user").count() == 7


@pytest.mark.browser
def test_a_slot_stays_in_view_when_the_attention_is_cut(open_figure):
    """Even if the turn does not fill it then, because an earlier turn already did."""
    page = open_figure(live.tracking(start=3, turn=6, slot="restaurant-book day"))
    page.get_by_label("Cut the attention among slots").check()
    fills = page.get_by_text("Turn 6 fills").first.inner_text()
    assert "restaurant-book time" in fills and "restaurant-book day" not in fills
    assert page.get_by_text("restaurant-book day attends to these slots").first.is_visible()


@pytest.mark.browser
def test_what_a_reader_types_is_read_as_the_dialogues_are_written(open_figure):
    page = open_figure(live.tracking())
    notes = page.locator(".rr-live-notes")

    def write(text):
        page.evaluate("text => document.querySelector('.rr-tracking').tracking.write(text)", text)
        return page.locator(".rr-tracking-talk li").last.inner_text()

    opening = page.locator(".rr-tracking-talk li").last.inner_text()
    for nothing in ("", "  ", "?!", "\U0001f600"):
        assert write(nothing) == opening and "in words first" in notes.inner_text(), nothing
    for typed, read in (
        ("I'd like a CHEAP hotel (in the north)!!!", "user i would like a cheap hotel in the north ."),
        ("I don't mind; we'll leave at 9:30\u2026", "user i do not mind , we will leave at 09:30 ."),
        ("I can\u2019t ... well , no .", "user i can not . well , no ."),
    ):
        assert write(typed) == read and notes.inner_text() == "", typed
    write("<b>zork</b> __proto__ 10:15")
    assert "not in the small tracker's vocabulary" in notes.inner_text()
    write("i need a taxi " * 200)
    assert "and this one is longer" in notes.inner_text()
    page.set_viewport_size({"width": 390, "height": 844})
    write("x" * 300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
