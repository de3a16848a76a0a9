"""The registry of corpora."""

import hashlib
import sys

import pytest
from toy_corpus import zip_of

import reasonlib
from reasonlib.data import Corpus, DataError, corpora, find, locate, verify
from reasonlib.errors import UserError

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
