"""Memory networks to talk to in the page: the same responses and numbers as PyTorch, and played with."""

import numpy as np
import pytest
from browsing import DESKTOP, OUTSIDE, data_of
from goal_dialogue.talking import Talking

from reasonlib.display import live
from reasonlib.goal_dialogue.data.world import WORLD
from reasonlib.goal_dialogue.models.memory_system import predict
from reasonlib.goal_dialogue.models.pretrained import from_pretrained
from reasonlib.goal_dialogue.page.chat import Conversation
from reasonlib.goal_dialogue.page.live import chat
from reasonlib.goal_dialogue.page.live.chat import SCRIPTS, PageSystem
from reasonlib.goal_dialogue.page.live.world import examples

NETWORKS = ("n2n", "gn2n", "un2n")

TALK = """const { data, models, name } = given, world = new World(data.world);
const network = new MemoryNetwork(new Weights(models[name]), data.networks[name], data, world);
return given.lines.map((lines) => {
  const talk = new Conversation(network, world);
  for (const line of lines) if (line || talk.waiting.length) talk.say(line);
  const plain = (rows) => rows.map((row) => [...row]);
  return talk.said.map(({ text, user, remark, logits, weights, gates }) => (
    { text, user, remark, logits, weights: plain(weights), gates: plain(gates) }));
});"""


@pytest.fixture(scope="module")
def figure():
    return chat(NETWORKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_responses_and_numbers_as_pytorch(javascript, figure, name):
    lines = [example["lines"] for example in examples((0, 3))] + [["rhea wants zither food", "in hanoi"]]
    talks = javascript(live.code(*SCRIPTS), TALK, {**data_of(figure), "name": name, "lines": lines})
    system = PageSystem(name, (WORLD.seen,))
    for replies, user_lines in zip(talks, lines, strict=True):
        talk = Conversation(system)
        talk.say_all(user_lines)
        assert [reply["text"] for reply in replies] == [reply.text for reply in talk.replies]
        assert [reply["remark"].removesuffix(" here") for reply in replies] == [
            reply.remark for reply in talk.replies
        ]
        history, turn = [], 0
        for event in talk.dialogue().events:
            if not hasattr(event, "bot"):
                history.append(event)
                continue
            answered = system.ask([talk._example(history, event.user)])
            np.testing.assert_allclose(replies[turn]["logits"], answered.logits[0], atol=2e-3, rtol=1e-4)
            if history:
                shown = np.array(replies[turn]["weights"])
                np.testing.assert_allclose(shown, answered.weights[0, :, : shown.shape[1]], atol=1e-3)
            if answered.gates is not None:
                np.testing.assert_allclose(replies[turn]["gates"], answered.gates[0], atol=1e-3)
            history.append(event)
            turn += 1
        assert turn == len(replies)


def test_a_bit_less_of_each_weight_changes_few_responses():
    bundled = from_pretrained("n2n")
    turns = bundled.task.test
    exact, rounded = predict(bundled.model, turns), predict(PageSystem("n2n", (WORLD.seen,)).model, turns)
    assert (exact != rounded).mean() < 0.02
    assert abs((exact == turns.response).mean() - (rounded == turns.response).mean()) < 0.005


def test_the_figure_is_small_and_asks_for_nothing(figure):
    page = figure._repr_html_()
    assert len(page.encode()) < live.LARGEST and not OUTSIDE.search(page.split("<script>")[1])
    assert "System: hello what can i help you with today" in figure.alt
    titles = [[entry["title"] for entry in data_of(each)["data"]["examples"]] for each in (chat(), figure)]
    assert titles[0] == titles[1], "two chapters name other dialogues"
    with pytest.raises(ValueError, match=r"names must be some of n2n, gn2n, un2n, got \['copying'\]"):
        chat(("copying",))


class Live(Talking):
    prefix = "rr-chat"

    def bubbles(self, kind):
        self.drawn()
        return self.figure.locator(f".rr-chat-{kind}").all_inner_texts()


@pytest.mark.browser
def test_a_table_is_booked(browser, page):
    lines = examples((5, 4, 10))[0]["lines"]
    talk = Conversation(PageSystem("n2n", (WORLD.seen,)))
    with Live(browser, page, **DESKTOP) as opened:
        figure, field = opened.figure, opened.field
        talk.say_all(lines)
        for line in lines[3:]:
            assert field.input_value() == line, "the next line of the example is offered"
            assert figure.get_by_role("button", name="Go on" if not line else "Say it").is_visible()
            opened.go_on()
        texts = [reply.text.replace("api_call", "query") for reply in talk.replies]
        remarks = [f"\n{reply.remark}" if reply.remark else "" for reply in talk.replies]
        assert opened.bubbles("bot") == [text + remark for text, remark in zip(texts, remarks, strict=True)]
        assert any("phone" in text or "address" in text for text in opened.bubbles("bot"))
        figure.locator(".rr-chat-bot").nth(1).click()
        assert "Before it said i'm on it" in opened.part("asked").inner_text()
        assert figure.locator(".rr-live-table tbody tr").count() >= 1
        before = opened.bubbles("user")
        figure.get_by_role("radio", name="UN2N", exact=True).check()
        assert opened.bubbles("user") == before, "another network hears the same lines"
        figure.get_by_role("button", name="Begin again").click()
        assert opened.bubbles("bot") == [] and field.input_value() == lines[0]
        assert opened.complaints == []


@pytest.mark.browser
def test_what_people_type(browser, page):
    with Live(browser, page, **DESKTOP) as opened:
        figure = opened.figure
        figure.get_by_role("combobox", name="Example").select_option("own")
        figure.get_by_role("button", name="Say it").click()
        assert opened.figure.get_by_text("Say something first.").is_visible()
        opened.say("Hello!!", "I’d like a table in ROME, Italian food, for 4 people; cheap. Zither?")
        plain = "i'd like a table in rome italian food for four people cheap zither"
        assert opened.bubbles("user")[1] == plain.replace("four", "4"), "as it was typed"
        assert figure.locator(".rr-live-unknown").all_inner_texts() == ["zither"]
        state = figure.evaluate("root => root.chat.state.talk.events.map((event) => event.user)")
        assert state[1] == plain, "as the network reads it"
        assert opened.complaints == []


@pytest.mark.browser
def test_the_figure_fits_and_can_be_read(browser, page, view):
    with Live(browser, page, **view) as opened:
        opened.go_on(7)
        opened.figure.locator("details summary").first.click()
        opened.check_view()
