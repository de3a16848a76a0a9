"""A server, a cache that nothing may touch, and corpora to fetch."""

import threading

import pytest
from toy_corpus import ARCHIVE, Server, corpus_of

from reasonlib.data import fetch


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that already holds something, which nothing may touch."""
    monkeypatch.delenv("REASONLIB_DATA", raising=False)
    folder = tmp_path / "cache"
    (folder / "other-0123").mkdir(parents=True)
    (folder / "other-0123" / "file.txt").write_text("precious")
    monkeypatch.setenv("REASONLIB_CACHE", str(folder))
    return folder


@pytest.fixture
def served(server):
    """Serve a body, or another one in its place, and give the corpus that registers it."""

    def serve(body=ARCHIVE, instead=None, path="data/toy_v1.tar.gz", **changes):
        server.bodies[path] = body if instead is None else instead
        return corpus_of(body, server.url(path), **changes)

    return serve


@pytest.fixture
def fetched(served, cache):
    corpus = served()
    return corpus, fetch(corpus)
