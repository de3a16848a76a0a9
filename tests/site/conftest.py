"""The built site, as files and served; without one the tests are skipped, and say so."""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def site_folder() -> Path | None:
    """The site named by REASONLIB_SITE, else the one that was built for tests, else the book itself."""
    named = os.environ.get("REASONLIB_SITE")
    choices = [ROOT / named] if named else [ROOT / "_build" / "smoke", ROOT / "_build" / "html"]
    return next((path for path in choices if (path / "index.html").is_file()), None)


def page_names() -> list[str]:
    """Every page a reader can open, as paths below the site; index.html only leads to the first of them."""
    folder = site_folder()
    if folder is None:
        return []
    pages = [path.relative_to(folder).as_posix() for path in folder.rglob("*.html")]
    return sorted(
        name for name in pages if not name.startswith(("_modules/", "_static/", "vendor/", "index.html"))
    )


def pytest_generate_tests(metafunc):
    if "page_name" in metafunc.fixturenames:
        names = page_names()
        metafunc.parametrize(
            "page_name", names or [pytest.param("", marks=pytest.mark.skip("no site: `make book`"))]
        )


@pytest.fixture(scope="session")
def site() -> Path:
    folder = site_folder()
    if folder is None:
        pytest.skip("there is no built site: run `make book` or `make site-tests`")
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """A file server that does not write a line for every request."""

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="session")
def served(site):
    """The site's address on a server of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()
