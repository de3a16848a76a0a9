"""The copying network beside N2N in the page: the same responses and numbers as PyTorch, and played with."""

import numpy as np
import pytest
from browsing import DESKTOP, OUTSIDE, data_of
from goal_dialogue.talking import Talking

from reasonlib.display import live
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.page.chat import Conversation
from reasonlib.goal_dialogue.page.live import oov
from reasonlib.goal_dialogue.page.live.oov import LINES, SCRIPTS
from reasonlib.goal_dialogue.page.live.world import examples

TALK = """const { data, models } = given, world = new World(data.world);
const network = new CopyNetwork(new Weights(models.copying), data.copying);
return given.lines.map((lines) => {
  const talk = new Conversation(network, world);
  for (const line of lines) if (line || talk.waiting.length) talk.say(line);
  return talk.said.map(({ text, user, gaps, scores }) => ({ text, user, gaps, scores }));
});"""


@pytest.fixture(scope="module")
def figure():
    return oov()


def test_the_same_responses_and_numbers_as_pytorch(javascript, figure):
    lines = [
        examples((0,))[0]["lines"],
        examples((1,), unseen=True)[0]["lines"],
        ["hello", "we are hungry for zork", "in xanadu please zork", "2 and 3", ""],
    ]
    talks = javascript(live.code(*SCRIPTS), TALK, {**data_of(figure), "lines": lines})
    copier = from_pretrained("copying")
    for replies, user_lines in zip(talks, lines, strict=True):
        talk = Conversation(copier)
        talk.say_all(user_lines)
        assert [reply["text"] for reply in replies] == [reply.text for reply in talk.replies]
        history, turn = [], 0
        for event in talk.dialogue().events:
            if hasattr(event, "bot"):
                response = copier.ask(talk._example(history, event.user))
                gaps = replies[turn]["gaps"]
                assert [gap["names"][0][0] for gap in gaps] == [names[0][0] for names in response.names]
                for gap, names in zip(gaps, response.names, strict=True):
                    shares = [share for _, share in names]
                    np.testing.assert_allclose([share for _, share in gap["names"]], shares, atol=1e-3)
                turn += 1
            history.append(event)


def test_the_figure_is_small_and_asks_for_nothing(figure):
    page = figure._repr_html_()
    assert len(page.encode()) < live.LARGEST and not OUTSIDE.search(page.split("<script>")[1])
    assert "zanzibar" in figure.alt and "System: hello what can i help you with today" in figure.alt


class Live(Talking):
    prefix = "rr-oov"

    def texts(self):
        script = "root => root.oov.state.talks.map((talk) => talk.said.map((one) => one.text))"
        return self.ask(script)


@pytest.mark.browser
def test_invented_names_are_copied_and_n2n_must_choose_others(browser, page):
    with Live(browser, page, **DESKTOP) as opened:
        figure = opened.figure
        figure.get_by_role("textbox", name="An invented city").fill("New Zork!")
        figure.get_by_role("textbox", name="An invented cuisine").fill("cloud-soup")
        copied, chosen = opened.texts()
        assert copied[-1] == "api_call cloud-soup new_zork four cheap"
        assert chosen[-1].startswith("api_call ") and "zork" not in chosen[-1]
        assert "you asked for new_zork and cloud-soup" in figure.inner_text()
        assert [row[1].split()[0] for row in opened.cells(figure.locator("tbody tr"))] == [
            "cloud-soup",
            "new_zork",
            "four",
            "cheap",
        ]
        for line in LINES[4:]:
            assert opened.field.input_value() == line
            opened.go_on()
        copied, _ = opened.texts()
        offers = [text for text in copied if text.startswith("what do you think")]
        assert [offer[-6] for offer in offers] == ["7", "4"], "the best rated first"
        assert "here it is resto_new_zork_cheap_cloud-soup_4stars_address" in copied
        figure.get_by_role("button", name="Begin again").click()
        assert opened.texts() == [[], []]
        assert opened.complaints == []


@pytest.mark.browser
def test_odd_names_and_lines(browser, page):
    with Live(browser, page, **DESKTOP) as opened:
        city = opened.figure.get_by_role("textbox", name="An invented city")
        city.fill("")
        assert opened.texts()[0][-1] == "api_call martian rome four cheap"
        city.fill("please")
        opened.say("...", "?!", "zork " * 60, "4")
        opened.figure.get_by_role("button", name="Begin again").click()
        opened.say("  ")
        assert opened.figure.get_by_text("Say something first.").is_visible()
        assert opened.complaints == []


@pytest.mark.browser
def test_the_figure_fits_and_can_be_read(browser, page, view):
    with Live(browser, page, **view) as opened:
        opened.go_on(5)
        opened.check_view()
