"""The registry of corpora, on made-up archives served from this machine."""

import contextlib
import dataclasses
import errno
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

import reasonlib
from reasonlib.data import (
    Corpus,
    DataError,
    Source,
    checks,
    corpora,
    download,
    fetch,
    find,
    locate,
    source_of,
    verify,
    version,
)
from reasonlib.data import cache as cache_module
from reasonlib.data.places import cache_folder
from reasonlib.errors import UserError

ROOT = Path(reasonlib.__file__).parents[1]
FOLDER = "toy_v1"
FILES = {f"{FOLDER}/README.txt": b"toy\n", f"{FOLDER}/en/qa1_train.txt": b"1 Mary slept.\n" * 5000}


def tar_of(files, mode="w:gz", members=()):
    """An archive with these files, then these hand-made members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in members:
            tar.addfile(member)
    return buffer.getvalue()


def zip_of(files, links=(), packed=True):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
        for name in links:
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o120777 << 16
            zipped.writestr(member, "/etc/passwd")
    return buffer.getvalue()


def link(name, target, kind=tarfile.SYMTYPE):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


ARCHIVE = tar_of(FILES)


class Server(ThreadingHTTPServer):
    """Serves bytes by path; counts requests."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies, self.announced, self.gate, self.requests = {}, {}, None, []

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        body = self.server.bodies.get(self.path.lstrip("/"))
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", self.server.announced.get(self.path.lstrip("/"), len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            half = len(body) // 2
            self.wfile.write(body[:half])
            self.wfile.flush()
            if self.server.gate is not None:
                self.server.gate()
            self.wfile.write(body[half:])

    def log_message(self, *_):
        pass


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


def corpus_of(body=ARCHIVE, url="http://127.0.0.1:9/data/toy_v1.tar.gz", **changes):
    fields = {
        "name": "toy",
        "url": url,
        "sha256": hashlib.sha256(body).hexdigest(),
        "size": len(body),
        "licence": "CC0",
        "citation": "toy2020",
        "folder": FOLDER,
        "files": ("README.txt", "en/qa1_train.txt"),
    }
    return Corpus(**(fields | changes))


@pytest.fixture
def served(server):
    """Serve a body, or another one in its place, and give the corpus that registers it."""

    def serve(body=ARCHIVE, instead=None, path="data/toy_v1.tar.gz", **changes):
        server.bodies[path] = body if instead is None else instead
        return corpus_of(body, server.url(path), **changes)

    return serve


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in Path(folder).rglob("*")
    }


def refused(corpus, message, action=fetch, **options):
    """The action fails with one line that matches, and no file anywhere near the cache has changed."""
    root = Path(os.environ["REASONLIB_CACHE"]).parent
    before = tree(root)
    with pytest.raises(DataError, match=message) as caught:
        action(corpus, **options)
    assert "\n" not in str(caught.value)
    assert "; " in str(caught.value), "no remedy"
    assert tree(root) == before
    return str(caught.value)


# The entry


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


# Fetching


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (ARCHIVE, "toy_v1.tar.gz"),
        (ARCHIVE, "toy_v1.tgz"),
        (tar_of(FILES, "w:xz"), "toy_v1.tar.xz"),
        (zip_of(FILES), "toy_v1.zip"),
    ],
)
def test_fetch_unpacks_every_kind(served, server, cache, body, path):
    corpus = served(body, path=path)
    folder = fetch(corpus)
    assert folder.is_relative_to(cache) and folder.name == FOLDER
    assert tree(folder.parent) == tree(folder.parent) | {"toy_v1": None, "toy_v1/en": None} | FILES
    assert locate(corpus) == folder == fetch(corpus)
    assert len(server.requests) == 1, "fetched again although it was there"
    found = verify(corpus)
    assert found.ok and found.source.kind == "cache" and found.problems == ()
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


# Archives that must not be unpacked


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (tar_of(FILES | {"../evil.txt": b"x"}), r"member '../evil.txt' would leave its folder"),
        (tar_of(FILES | {f"{FOLDER}/../../evil.txt": b"x"}), "would leave its folder"),
        (tar_of(FILES | {"/tmp/evil.txt": b"x"}), "member '/tmp/evil.txt' would leave"),
        (tar_of(FILES | {"..\\evil.txt": b"x"}), "would leave its folder"),
        (tar_of(FILES | {"C:/evil.txt": b"x"}), "would leave its folder"),
        (
            tar_of(FILES, members=[link(f"{FOLDER}/l", "../../evil")]),
            "link 'toy_v1/l' to '../evil' would leave",
        ),
        (tar_of(FILES, members=[link(f"{FOLDER}/l", "/etc/passwd")]), "to '/etc/passwd' would leave"),
        (tar_of(FILES, members=[link("l", "../x", tarfile.LNKTYPE)]), "would leave its folder"),
        (tar_of(FILES, members=[link(f"{FOLDER}/l", "nothing")]), "leads to no file of the archive"),
        (tar_of(FILES, members=[link("a", "b"), link("b", "a")]), "leads to no file of the archive"),
        (
            tar_of(FILES, members=[link("pipe", "", tarfile.FIFOTYPE)]),
            "member 'pipe' is neither file nor folder",
        ),
        (tar_of({"other/README.txt": b"x"}), "toy_v1: no such folder; report it"),
        (tar_of({f"{FOLDER}/README.txt": b"x"}), "toy_v1/en/qa1_train.txt: missing; report it"),
        (tar_of({f"{FOLDER}/other.txt": b"x"}), r"toy_v1/README.txt: missing \(and 1 more\); report it"),
        (tar_of(FILES | {f"{FOLDER}/README.txt/x": b"x"}), "cannot be written"),
        (b"this is no archive", "cannot be unpacked .*the archive is broken"),
    ],
)
def test_a_bad_tar_is_refused(served, cache, body, message):
    refused(served(body), message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (zip_of(FILES | {"../evil.txt": b"x"}), "would leave its folder"),
        (zip_of(FILES, links=["link"]), "member 'link' is a link"),
        (b"this is no archive", "cannot be unpacked .*the archive is broken"),
        (zip_of({"a.txt": b"marker"}, packed=False).replace(b"marker", b"MARKER"), "Bad CRC-32"),
    ],
)
def test_a_bad_zip_is_refused(served, cache, body, message):
    refused(served(body, path="toy_v1.zip"), message)


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
def test_an_archive_cut_anywhere_is_refused(cache, tmp_path, monkeypatch, mode):
    """Even where no checksum is registered, no cut makes a half-read corpus."""
    files = {f"{FOLDER}/{number}.txt": os.urandom(600) for number in range(3)}
    whole = tar_of(files, mode)
    suffix = ".tar.gz" if mode == "w:gz" else ".tar.xz"
    corpus = corpus_of(url=f"http://127.0.0.1:9/cut{suffix}", sha256=None, size=None, files=())
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path / "mine"))
    for end in [0, *range(1, len(whole), 37), len(whole) - 1]:
        (tmp_path / "mine" / f"cut{suffix}").write_bytes(whole[:end])
        refused(corpus, "cannot be unpacked|no such folder", action=locate)


def test_links_inside_an_archive_become_files(served, cache):
    members = [
        link(f"{FOLDER}/same.txt", "README.txt"),
        link(f"{FOLDER}/en/up.txt", "../README.txt"),
        link(f"{FOLDER}/hard.txt", f"{FOLDER}/README.txt", tarfile.LNKTYPE),
    ]
    folder = fetch(served(tar_of(FILES, members=members)))
    for name in ("same.txt", "en/up.txt", "hard.txt"):
        assert (folder / name).read_bytes() == b"toy\n" and not (folder / name).is_symlink()


def test_dots_in_front_of_members(served, cache):
    body = tar_of({f"./{name}": content for name, content in FILES.items()})
    assert tree(fetch(served(body)))["README.txt"] == b"toy\n"


def test_a_folder_inside_a_folder(served, cache):
    body = tar_of({f"repository-1a2b/{name}": content for name, content in FILES.items()})
    folder = fetch(served(body, folder=f"repository-1a2b/{FOLDER}"))
    assert folder.name == FOLDER and (folder / "README.txt").is_file()


# The cache after it is filled


@pytest.fixture
def fetched(served, cache):
    corpus = served()
    return corpus, fetch(corpus)


def test_absent_everywhere(cache):
    refused(corpus_of(), "toy: not on this machine; run `reasonlib data fetch toy`, or put", action=locate)
    refused(corpus_of(), "toy: not on this machine", action=verify)
    assert source_of(corpus_of()) is None


@pytest.mark.parametrize(
    ("damage", "shallow", "deep"),
    [
        (lambda folder: (folder / "README.txt").unlink(), "README.txt: missing", "README.txt: missing"),
        (
            lambda folder: (folder / "README.txt").write_text("to"),
            "README.txt: 2 bytes, but 4 were",
            "2 bytes",
        ),
        (lambda folder: (folder / "README.txt").write_text("tox\n"), None, "README.txt: changed since"),
        (lambda folder: (folder.parent / checks.MANIFEST).unlink(), "missing or broken", "missing or broken"),
        (lambda folder: (folder.parent / checks.MANIFEST).write_text("[]"), "missing or broken", "broken"),
        (lambda folder: (folder.parent / checks.MANIFEST).write_text("{"), "missing or broken", "broken"),
    ],
)
def test_damage_to_the_cache_is_detected_and_repaired(fetched, served, server, damage, shallow, deep):
    corpus, folder = fetched
    damage(folder)
    if shallow is None:
        assert locate(corpus) == folder
    else:
        refused(corpus, f"{shallow}.*; run `reasonlib data fetch toy`", action=locate)
    result = verify(corpus)
    assert not result.ok and re.search(deep, result.problems[0])

    server.bodies.clear()
    refused(corpus, "404")
    served()
    assert fetch(corpus) == folder and verify(corpus).ok
    assert (folder / "README.txt").read_text() == "toy\n"


def test_the_manifest_lists_what_was_unpacked(fetched):
    corpus, folder = fetched
    manifest = json.loads((folder.parent / checks.MANIFEST).read_text())
    assert manifest["sha256"] == corpus.sha256 and manifest["licence"] == "CC0"
    assert manifest["files"][f"{FOLDER}/README.txt"] == {
        "size": 4,
        "sha256": hashlib.sha256(b"toy\n").hexdigest(),
    }


def test_another_release_has_its_own_place(fetched, served):
    _, folder = fetched
    newer = fetch(served(tar_of(FILES | {f"{FOLDER}/new.txt": b"new"})))
    assert newer != folder and (newer / "new.txt").exists() and not (folder / "new.txt").exists()


# Folders of the user


@pytest.fixture
def mine(cache, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("REASONLIB_DATA", str(folder))
    return folder


def unpack(where):
    for name, content in FILES.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(content)


def test_an_unpacked_folder_of_the_user(mine, cache):
    unpack(mine)
    before = tree(cache)
    assert locate(corpus_of()) == mine / FOLDER == fetch(corpus_of())
    assert tree(cache) == before
    found = verify(corpus_of())
    assert found.ok and found.source.kind == "folder" and "no checksum" in found.checked


def test_an_unpacked_folder_that_lacks_a_file(mine):
    unpack(mine)
    (mine / FOLDER / "en" / "qa1_train.txt").unlink()
    refused(corpus_of(), "mine/toy_v1/en/qa1_train.txt: missing; unpack toy_v1.tar.gz", action=locate)
    assert verify(corpus_of()).problems == (f"{mine / FOLDER}/en/qa1_train.txt: missing",)


def test_an_unpacked_folder_that_lacks_a_file_one_can_do_without(mine):
    unpack(mine)
    found = verify(corpus_of(others=("README.txt", "en-10k/qa1_train.txt")))
    assert found.ok and found.absent == ("en-10k/qa1_train.txt",)


@pytest.mark.parametrize("pinned", [True, False])
def test_an_archive_of_the_user(mine, cache, pinned):
    (mine / "toy_v1.tar.gz").write_bytes(ARCHIVE)
    corpus = corpus_of() if pinned else corpus_of(sha256=None, size=None)
    assert source_of(corpus) == Source(kind="archive", path=mine / "toy_v1.tar.gz")
    folder = locate(corpus)
    assert folder.is_relative_to(cache) and tree(folder)["README.txt"] == b"toy\n"
    before = tree(cache)
    assert locate(corpus) == folder == fetch(corpus)
    assert tree(cache) == before and list(mine.iterdir()) == [mine / "toy_v1.tar.gz"]
    assert verify(corpus).ok and ("nothing" in verify(corpus).checked) is not pinned
    (folder / "README.txt").unlink()
    assert locate(corpus) == folder and (folder / "README.txt").is_file()


def test_a_broken_archive_of_the_user(mine):
    (mine / "toy_v1.tar.gz").write_bytes(ARCHIVE[:-1])
    message = f"mine/toy_v1.tar.gz: {len(ARCHIVE) - 1} bytes, but {len(ARCHIVE)} are registered"
    refused(corpus_of(), f"{message}; replace it with http", action=locate)
    refused(corpus_of(), message, action=fetch)
    assert not verify(corpus_of()).ok
    (mine / "toy_v1.tar.gz").write_bytes(ARCHIVE[:-1] + b"x")
    refused(corpus_of(), "mine/toy_v1.tar.gz: SHA-256", action=locate)


def test_an_archive_of_the_user_without_the_files(mine):
    (mine / "toy_v1.tar.gz").write_bytes(tar_of({"wrong/a.txt": b""}))
    refused(corpus_of(sha256=None, size=None), "toy_v1: no such folder; get it again from", action=locate)


def test_the_folder_comes_before_the_archive_and_the_cache(fetched, mine):
    corpus, folder = fetched
    assert locate(corpus) == folder
    (mine / "toy_v1.tar.gz").write_bytes(b"broken")
    assert source_of(corpus).kind == "archive"
    unpack(mine)
    assert locate(corpus) == mine / FOLDER


def test_a_folder_of_the_user_that_holds_neither(mine):
    refused(corpus_of(), r"\(.*/mine holds neither toy_v1.tar.gz nor toy_v1/\); run", action=locate)


def test_a_folder_of_the_user_that_is_not_there(mine):
    mine.rmdir()
    for action in (locate, fetch, verify):
        refused(corpus_of(), "mine: no such folder; set REASONLIB_DATA", action=action)


def test_an_archive_that_cannot_be_read(mine, monkeypatch):
    (mine / "toy_v1.tar.gz").write_bytes(ARCHIVE)

    def locked(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(checks.hashlib, "file_digest", locked)
    refused(corpus_of(), r"toy_v1.tar.gz: cannot be read \(Permission denied\)", action=locate)


# Several at once, and killed ones


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


# Versions


def test_version_depends_on_content_alone(fetched, tmp_path):
    _, folder = fetched
    unpack(tmp_path / "copy")
    copy = tmp_path / "copy" / FOLDER
    (copy / ".DS_Store").write_text("")
    assert version(copy) == version(folder) and re.fullmatch("[0-9a-f]{12}", version(copy))
    (copy / "README.txt").write_text("tox\n")
    assert version(copy) != version(folder)
    (copy / "README.txt").write_text("toy\n")
    (copy / "README.txt").rename(copy / "READ.txt")
    assert version(copy) != version(folder)


def test_version_of_nothing(tmp_path):
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(DataError, match="holds no files; locate or fetch"):
            version(folder)


# The registry

TOPIC = """
from reasonlib.data import Corpus
toy = Corpus(name="toy-a", url="http://host/{url}.tar.gz", sha256=None, size=None, licence="CC0",
             citation="toy2020", folder="toy")
CORPORA = {{{key!r}: toy}}
"""


@pytest.fixture
def topics(tmp_path, monkeypatch):
    """Topics made on the spot; as many as the test asks for."""
    monkeypatch.setattr(reasonlib, "__path__", [str(tmp_path)])

    def add(name, corpus=None, claims=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        if claims:
            (tmp_path / name / "claims.yaml").write_text("[]\n")
        if corpus is not None:
            (tmp_path / name / "data").mkdir()
            (tmp_path / name / "data" / "corpus.py").write_text(corpus)

    yield add
    for module in [name for name in sys.modules if name.startswith("reasonlib.made_up")]:
        del sys.modules[module]
        reasonlib.__dict__.pop(module.split(".")[1], None)


def test_corpora_are_found_by_convention(topics):
    topics("made_up_a", TOPIC.format(key="toy-a", url="a"))
    topics("made_up_b")
    topics("made_up_c", "")
    topics("made_up_d", "raise AssertionError('no claims.yaml, so no topic')", claims=False)
    assert list(corpora()) == ["toy-a"]
    assert find("toy-a") is corpora()["toy-a"]
    with pytest.raises(UserError, match="corpus must be one of toy-a, got 'toy'"):
        find("toy")


def test_a_corpus_under_a_wrong_name(topics):
    topics("made_up_a", TOPIC.format(key="toy-b", url="a"))
    with pytest.raises(ValueError, match=r"made_up_a.data.corpus: corpus 'toy-a' is filed under 'toy-b'"):
        corpora()


def test_two_topics_may_share_a_corpus_but_not_a_name(topics):
    topics("made_up_a", TOPIC.format(key="toy-a", url="a"))
    topics("made_up_b", TOPIC.format(key="toy-a", url="a"))
    assert list(corpora()) == ["toy-a"]
    topics("made_up_c", TOPIC.format(key="toy-a", url="other"))
    with pytest.raises(ValueError, match=r"made_up_c\.data\.corpus: another topic has a different"):
        corpora()


def test_no_topics_at_all(topics):
    with pytest.raises(UserError, match=r"corpus must be one of \(none\), got 'toy'"):
        find("toy")


def test_the_librarys_own_corpora_are_complete():
    for corpus in corpora().values():
        assert corpus.licence and corpus.citation
        assert corpus.files or corpus.sha256 is None, "what can be fetched names the files it must hold"


def test_an_archive_without_a_folder_is_found_packed_and_unpacked(tmp_path, monkeypatch):
    packed = zip_of({"toy.train.txt": b"a\n", "toy.test.txt": b"b\n"})
    corpus = Corpus(
        name="flat", url="http://127.0.0.1:9/toy.zip", sha256=hashlib.sha256(packed).hexdigest(),
        size=len(packed), licence="none", citation="toy2020", folder=".", aliases=("toy",),
        files=("toy.train.txt",),
    )  # fmt: skip
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"neither toy\.zip nor toy/"):
        locate(corpus, cache=tmp_path / "cache")
    (tmp_path / "toy.zip").write_bytes(packed)
    folder = locate(corpus, cache=tmp_path / "cache")
    assert (folder / "toy.test.txt").read_bytes() == b"b\n" and verify(corpus, cache=tmp_path / "cache").ok
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.train.txt").write_bytes(b"a\n")
    assert locate(corpus, cache=tmp_path / "cache") == tmp_path / "toy"
