"""Fetching made-up archives from this machine: what arrives, what fails, and what is left then."""

import dataclasses
import errno
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
from toy_corpus import ARCHIVE, FILES, FOLDER, ROOT, Handler, corpus_of, id_of, refused, tar_of, tree, zip_of

from reasonlib.data import DataError, download, fetch, locate, verify
from reasonlib.data import cache as cache_module
from reasonlib.data.places import cache_folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Toy set"}, "name must be small letters"),
        ({"url": "ftp://host/toy.tar.gz"}, "url must start with http"),
        ({"mirrors": ("file:///toy.tar.gz",)}, "url must start with http"),
        ({"url": "http://host/toy.rar"}, "url must end in one of .tar.gz"),
        ({"sha256": "AB" * 32}, "sha256 must be 64 small hexadecimal digits"),
        ({"size": None}, "size must be given beside sha256"),
        ({"size": 0}, "size must be at least 1 byte, got 0"),
        ({"folder": "../toy"}, "folder must be a relative path"),
        ({"folder": ""}, "folder must be a relative path"),
        ({"folder": "C:/toy"}, "folder must be a relative path"),
        ({"files": ("a", "/b")}, "files must be a relative path"),
    ],
)
def test_a_wrong_entry_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        corpus_of(**changes)


def test_archive_name_comes_from_the_url():
    assert corpus_of(url="https://host/a/toy%20set.tar.gz?raw=1").archive == "toy set.tar.gz"


def test_an_entry_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus_of().size = 3


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (ARCHIVE, "toy_v1.tar.gz"),
        (ARCHIVE, "toy_v1.tgz"),
        (tar_of(FILES, "w:xz"), "toy_v1.tar.xz"),
        (zip_of(FILES), "toy_v1.zip"),
    ],
    ids=id_of,
)
def test_fetch_unpacks_every_kind(served, server, cache, body, path):
    corpus = served(body, path=path)
    folder = fetch(corpus)
    assert folder.is_relative_to(cache) and folder.name == FOLDER
    assert tree(folder.parent) == tree(folder.parent) | {"toy_v1": None, "toy_v1/en": None} | FILES
    assert locate(corpus) == folder == fetch(corpus)
    assert len(server.requests) == 1, "fetched again although it was there"
    report = verify(corpus)
    assert report.ok and report.source.kind == "cache" and report.problems == ()
    assert [path.name for path in cache.iterdir() if path.name.startswith(".")] == []


def test_fetch_makes_the_cache(served, cache, tmp_path):
    folder = fetch(served(), cache=tmp_path / "a" / "b")
    assert folder.is_relative_to(tmp_path / "a" / "b")
    entry = next((tmp_path / "a" / "b").iterdir())
    assert entry.stat().st_mode & 0o777 == cache.stat().st_mode & 0o777, "closed to other users"


def test_the_default_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("REASONLIB_CACHE", raising=False)
    monkeypatch.delenv("REASONLIB_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "reasonlib" in str(cache_folder(None))
    assert cache_folder("~/x") == Path.home() / "x"


def test_a_truncated_response(served, server, cache):
    corpus = served(instead=ARCHIVE[:-100])
    server.announced["data/toy_v1.tar.gz"] = len(ARCHIVE)
    refused(corpus, rf"toy_v1.tar.gz: the download broke off before all {len(ARCHIVE)} bytes.*REASONLIB_DATA")


def test_a_short_file_sent_as_if_whole(served, cache):
    corpus = served(instead=ARCHIVE[:-100])
    refused(corpus, f"{len(ARCHIVE) - 100} bytes, but {len(ARCHIVE)} are registered")


def test_a_file_that_does_not_end(served, cache):
    refused(served(instead=ARCHIVE * 3), f"sends more than the registered {len(ARCHIVE)} bytes")


def test_one_changed_byte(served, cache):
    changed = bytearray(ARCHIVE)
    changed[len(changed) // 2] ^= 1
    refused(
        served(instead=bytes(changed)), r"SHA-256 [0-9a-f]{12}\.\.\., but [0-9a-f]{12}\.\.\. is registered"
    )


def test_a_wrong_size_in_the_registry(served, cache):
    refused(served(size=len(ARCHIVE) + 1), f"{len(ARCHIVE)} bytes, but {len(ARCHIVE) + 1} are registered")


def test_no_such_file_on_the_server(server, cache):
    refused(corpus_of(url=server.url("gone/toy_v1.tar.gz")), "gone/toy_v1.tar.gz: the server answers 404")


def test_no_network(cache, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    message = refused(
        corpus_of(url=f"http://127.0.0.1:{port}/toy_v1.tar.gz"), f"cannot reach 127.0.0.1:{port}; try again"
    )
    assert "toy_v1.tar.gz or toy_v1/" in message and "REASONLIB_DATA" in message


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (requests.exceptions.ReadTimeout("long\ntext"), "host is silent for 30 s"),
        (requests.exceptions.SSLError("long\ntext"), "host does not prove who it is"),
        (requests.exceptions.TooManyRedirects("30\nredirects"), r"cannot be downloaded \(30 redirects\)"),
    ],
)
def test_other_ways_for_a_download_to_fail(cache, monkeypatch, error, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(requests, "get", fail)
    refused(corpus_of(url="https://host/toy_v1.tar.gz"), message)


def test_a_mirror_steps_in(served, server, cache):
    corpus = served(mirrors=(server.url("elsewhere/other-name.tar.gz"),))
    server.bodies["elsewhere/other-name.tar.gz"] = server.bodies.pop("data/toy_v1.tar.gz")
    assert tree(fetch(corpus))["README.txt"] == b"toy\n"
    assert server.requests == ["/data/toy_v1.tar.gz", "/elsewhere/other-name.tar.gz"]


def test_all_mirrors_fail(server, cache):
    server.bodies["b.tar.gz"] = b"short"
    corpus = corpus_of(url=server.url("a.tar.gz"), mirrors=(server.url("b.tar.gz"),))
    refused(corpus, r"a.tar.gz: the server answers 404, .*b.tar.gz: 5 bytes, but \d+ are registered")


def test_without_a_checksum_nothing_is_downloaded(served, server, cache):
    corpus = served(sha256=None, size=None)
    refused(corpus, "toy: no checksum is registered, so a download cannot be trusted; put toy_v1.tar.gz")
    refused(corpus, "toy: not on this machine; put toy_v1.tar.gz", action=locate)
    assert server.requests == []


def test_a_failure_leaves_no_cache_that_was_not_there(server, cache, tmp_path):
    refused(corpus_of(url=server.url("toy_v1.tar.gz")), "404", cache=tmp_path / "new" / "cache")
    assert not (tmp_path / "new").exists()


def test_a_cache_that_cannot_be_made(served, cache, tmp_path):
    (tmp_path / "file").write_text("")
    refused(served(), "cannot write to the cache .*set REASONLIB_CACHE", cache=tmp_path / "file" / "cache")


def test_a_full_disk(served, cache, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download._Capped, "write", full)
    refused(served(), r"cannot be written \(No space left on device\); make room")


def test_progress_only_on_a_terminal(served, cache, tmp_path, monkeypatch, capsys):
    fetch(served())
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fetch(served(), cache=tmp_path / "second")
    out, err = capsys.readouterr()
    assert out == "" and "toy" in err and "100%" in err
    fetch(served(), cache=tmp_path / "third", progress=False)
    assert capsys.readouterr() == ("", "")


FETCH = """
import sys
sys.path.insert(0, sys.argv[1])
from reasonlib.data import Corpus, fetch
url, sha256, size = sys.argv[2:]
corpus = Corpus(name="toy", url=url, sha256=sha256, size=int(size), licence="CC0", citation="toy2020",
                folder="toy_v1", files=("README.txt", "en/qa1_train.txt"))
print(fetch(corpus), end="")
"""


def start(corpus):
    command = [sys.executable, "-c", FETCH, str(ROOT), corpus.url, corpus.sha256, str(corpus.size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_at_once(served, server, cache):
    corpus = served()
    server.gate = threading.Barrier(2, timeout=60).wait  # neither gets its second half before both have begun
    running = [start(corpus), start(corpus)]
    results = [process.communicate(timeout=120) for process in running]
    server.gate = None
    assert [process.returncode for process in running] == [0, 0], results
    assert results[0] == results[1] == (str(locate(corpus)), "")
    assert verify(corpus).ok and len(server.requests) == 2
    assert sorted(path.name for path in cache.iterdir()) == ["other-0123", locate(corpus).parent.name]


def test_the_slower_of_two_takes_what_is_there(served, server, cache, monkeypatch):
    corpus = served()
    unpack_archive = cache_module.unpack

    def overtaken(*arguments):
        monkeypatch.setattr(cache_module, "unpack", unpack_archive)
        fetch(corpus)
        return unpack_archive(*arguments)

    monkeypatch.setattr(cache_module, "unpack", overtaken)
    assert fetch(corpus) == locate(corpus) and verify(corpus).ok and len(server.requests) == 2
    assert len(list(cache.iterdir())) == 2


def test_a_move_that_fails_puts_the_old_entry_back(fetched, monkeypatch):
    corpus, folder = fetched
    (folder / "README.txt").write_text("tox\n")
    rename = Path.rename

    def fail(path, target):
        if path.name == "entry":
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    refused(corpus, r"cannot be written \(Input/output error\)")


def test_a_killed_process_leaves_nothing_that_is_taken_for_a_corpus(served, server, cache):
    corpus = served()
    reached, leave = threading.Event(), threading.Event()

    def gate():
        reached.set()
        leave.wait(60)

    server.gate = gate
    process = start(corpus)
    try:
        assert reached.wait(60)
    finally:
        process.kill()
        process.communicate()
        leave.set()
    server.gate = None
    with pytest.raises(DataError, match="not on this machine"):
        locate(corpus)
    assert (fetch(corpus) / "README.txt").is_file() and verify(corpus).ok
