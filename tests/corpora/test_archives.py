"""Archives that must not be unpacked, and those that may."""

import os
import tarfile

import pytest
from toy_corpus import FILES, FOLDER, corpus_of, id_of, link, refused, tar_of, tree, zip_of

from reasonlib.data import fetch, locate


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
    ids=id_of,
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
    ids=id_of,
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
