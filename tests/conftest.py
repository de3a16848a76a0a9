"""What tests of every topic share: one headless browser a process, and JavaScript in it and in node."""

import gc
import json
import subprocess
from contextlib import ExitStack

import pytest
import torch
from browsing import DESKTOP, PHONE, Opened, chromium
from node import node_program

pytest_plugins = ["cores", "toy_topic"]


def pytest_configure():
    """Collect garbage less often than by default: reference counting frees nearly all that tests make."""
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Train on one thread: sums in another order are other bits."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def page(tmp_path_factory, figure):
    """A module's `figure`, saved as a page."""
    path = tmp_path_factory.mktemp("page") / "live.html"
    figure.save(path)
    return path


@pytest.fixture(scope="session")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(params=[("dark", PHONE), ("light", DESKTOP)], ids=["dark", "light"])
def view(request):
    """How a page is seen: in the dark on a phone, and in the light on a desk."""
    scheme, screen = request.param
    return {"color_scheme": scheme, **screen}


@pytest.fixture
def open_figure(browser, tmp_path):
    """A function: open a live figure in a page of its own, once its script runs; it complains of nothing."""
    with ExitStack() as pages:

        def start(figure):
            figure.save(tmp_path / "figure.html")
            opened.append(pages.enter_context(Opened(browser, tmp_path / "figure.html")))
            opened[-1].page.wait_for_selector(".rr-live[data-ready]")
            return opened[-1].page

        opened = []
        yield start
        assert [complaint for each in opened for complaint in each.complaints] == []


@pytest.fixture(params=["node", pytest.param("chromium", marks=[pytest.mark.browser, pytest.mark.slow])])
def javascript(request):
    """A function ``(code, body, given)``: run code, then the body of a function of `given`.

    Node and Chromium compute with one engine, so the browser is asked with the slow tests only.
    """

    def in_browser(code, body, given=None):
        page = request.getfixturevalue("browser").new_page()
        try:
            return page.evaluate(f"(given) => {{\n{code}\n{body}\n}}", given)
        finally:
            page.close()

    def in_node(code, body, given=None):
        script = f"const run = (given) => {{\n{code}\n{body}\n}};\n"
        script += f"console.log(JSON.stringify(run({json.dumps(given)}) ?? null));"
        done = subprocess.run([node_program(), "-"], input=script, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    return in_browser if request.param == "chromium" else in_node
