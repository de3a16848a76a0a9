"""A corpus in the cache or in a folder of the user, and its version."""

import errno
import hashlib
import json
import re

import pytest
from toy_corpus import ARCHIVE, FILES, FOLDER, corpus_of, refused, tar_of, tree

from reasonlib.data import DataError, Source, checks, fetch, locate, source_of, verify, version


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


@pytest.fixture
def mine(cache, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("REASONLIB_DATA", str(folder))
    return folder


def unpack(folder):
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def test_an_unpacked_folder_of_the_user(mine, cache):
    unpack(mine)
    before = tree(cache)
    assert locate(corpus_of()) == mine / FOLDER == fetch(corpus_of())
    assert tree(cache) == before
    report = verify(corpus_of())
    assert report.ok and report.source.kind == "folder" and "no checksum" in report.checked


def test_an_unpacked_folder_that_lacks_a_file(mine):
    unpack(mine)
    (mine / FOLDER / "en" / "qa1_train.txt").unlink()
    refused(corpus_of(), "mine/toy_v1/en/qa1_train.txt: missing; unpack toy_v1.tar.gz", action=locate)
    assert verify(corpus_of()).problems == (f"{mine / FOLDER}/en/qa1_train.txt: missing",)


def test_an_unpacked_folder_that_lacks_a_file_one_can_do_without(mine):
    unpack(mine)
    report = verify(corpus_of(others=("README.txt", "en-10k/qa1_train.txt")))
    assert report.ok and report.absent == ("en-10k/qa1_train.txt",)


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
