"""A made-up corpus: its archives, a server of this machine, and what a refusal looks like."""

import contextlib
import hashlib
import io
import os
import tarfile
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import reasonlib
from reasonlib.data import Corpus, DataError, fetch

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


def id_of(value):
    """The name of a parameter in a test's id; the bytes of an archive hold the time at which it was made."""
    return "archive" if isinstance(value, bytes) else None


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
