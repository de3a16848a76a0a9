"""The corpora that readers bring: talks and subtitles in the forms in which they are released."""

import gzip
import re

import pytest

from reasonlib.errors import DataError
from reasonlib.parallel import Document, SentencePair
from reasonlib.parallel.contrasts import read_contrasts
from reasonlib.parallel.opus import TimedSentence, read_opus, read_timed_sentences
from reasonlib.parallel.released import KINDS, RELEASED, read_released, released_version
from reasonlib.tracking.runner import run

# Talks

TAGGED = """<doc docid="1" genre="lectures">
<url>http://example.org/1</url>
<keywords>talks</keywords>
<title>A title</title>
{0} one
{0} two

</doc>
<doc docid="2" genre="lectures">
<url>http://example.org/2</url>
{0} three
</doc>
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<doc docid="3" genre="lectures">
<url>http://example.org/3</url>
<title>A title</title>
<seg id="1"> {0} {1} </seg>
<seg id="2"> {0} &amp; more </seg>
</doc>
</mteval>
"""


def talks(folder):
    """Write the files of IWSLT 2017 in small; English lacks the last line of the first talk."""
    folder.mkdir()
    for language in ("en", "de"):
        tagged = TAGGED.format(language)
        if language == "de":
            tagged = tagged.replace("de two\n\n", "de two\nde alone\n")
        (folder / f"train.tags.en-de.{language}").write_text(tagged)
        for part in ("dev2010", "tst2010", "tst2015"):
            path = folder / f"IWSLT17.TED.{part}.en-de.{language}.xml"
            path.write_text(XML.format(language, part))
    return folder


def texts(documents):
    return [[(pair.source, pair.target) for pair in document.pairs] for document in documents]


def test_talks_are_read_in_both_directions(tmp_path):
    folder = talks(tmp_path / "en-de")
    train, valid, test = read_released("iwslt17-en-de", counts=(9, 9, 9), folder=folder)
    assert texts(train) == [[("en one", "de one"), ("en two", "de two")], [("en three", "de three")]]
    assert texts(valid) == [
        [(f"en {part}", f"de {part}"), ("en & more", "de & more")] for part in ("dev2010", "tst2010")
    ]
    assert texts(test) == [[("en tst2015", "de tst2015"), ("en & more", "de & more")]]
    turned = read_released("iwslt17-de-en", counts=(1, 1, 1), folder=folder)
    assert texts(turned[0]) == [[("de one", "en one"), ("de two", "en two")]]
    assert [len(part) for part in turned] == [1, 1, 1]


# Subtitles

LINKS = """<?xml version="1.0" encoding="utf-8"?>
<cesAlign version="1.0">
{}</cesAlign>
"""
GROUP = """<linkGrp targType="s" fromDoc="de/1957/{0}/1.xml.gz" toDoc="en/1957/{0}/2.xml.gz">
<link id="SL1" xtargets="1;1" overlap="0.95" />
<link id="SL2" xtargets="2;2 3" overlap="0.9" />
<link id="SL3" xtargets="3;" overlap="0.99" />
<link id="SL4" xtargets="3;4" overlap="0.5" />
</linkGrp>
"""
TEXT = """<?xml version="1.0" encoding="utf-8"?>
<document id="1">
  <s id="1"><time id="T1S" value="00:00:05,897" />Guten
Tag.<time id="T1E" value="00:00:07,000" /></s>
  <s id="2">Und weiter</s>
  <s id="3"><time id="T2S" value="01:00:08,000" />Ende<time id="T2E" value="01:00:09,000" /></s>
</document>
"""
WORDS = """<document id="2">
<s id="1"><time id="T1S" value="00:00:05,900" /><w id="1.1">Hello</w> <w id="1.2">.</w></s>
<s id="2"><w id="2.1">And</w></s>
<s id="3"><w id="3.1">on</w></s>
<s id="4"><w id="4.1">End</w></s>
</document>
"""


def films(folder, count, links=None, languages=("de", "en")):
    """Write the subtitles of some films as OPUS releases them: text of one language, words of another."""
    numbers = range(100, 100 + count)
    a, b = languages
    for number in numbers:
        first, second = (folder / f"raw/{a}/1957/{number}", folder / f"xml/{b}/1957/{number}")
        first.mkdir(parents=True)
        second.mkdir(parents=True)
        (first / "1.xml").write_text(TEXT)
        (second / "2.xml.gz").write_bytes(gzip.compress(WORDS.encode()))
    text = LINKS.format("".join(map(GROUP.format, numbers))) if links is None else links
    text = re.sub('"(de|en)/', lambda match: f'"{a if match[1] == "de" else b}/', text)
    (folder / f"{a}-{b}.xml.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_sentences_have_the_time_of_their_subtitle(tmp_path):
    (tmp_path / "1.xml").write_text(TEXT)
    assert read_timed_sentences(tmp_path / "1.xml") == {
        "1": TimedSentence(5897, "Guten Tag."),
        "2": TimedSentence(5897, "Und weiter"),
        "3": TimedSentence(3_608_000, "Ende"),
    }


def test_a_sentence_over_two_subtitles_starts_in_the_first(tmp_path):
    """Also where it begins in the middle of it; the sentence after it has the time of the second."""
    (tmp_path / "1.xml").write_text("""<document id="1">
<s id="1"><time id="T1S" value="00:00:01,000" /><w>Hello</w></s>
<s id="2"><w>How</w><time id="T1E" value="00:00:02,000" /><time id="T2S" value="00:00:03,000" /><w>are</w></s>
<s id="3"><w>Fine</w><time id="T2E" value="00:00:04,000" /></s>
</document>""")
    assert [sentence.start for sentence in read_timed_sentences(tmp_path / "1.xml").values()] == [
        1000, 1000, 3000,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [
        ("00:50:5,123", 3_005_123),  # second part of a film, its times moved by the length of the first
        ("00:01:20.300", 80_300),
        ("0:01:20:300", 80_300),
        ("00: 01: 20, 300", 80_300),
        ("00:00:-1,500", -500),
    ],
)
def test_times_are_read_in_every_form_that_opus_keeps(tmp_path, time, milliseconds):
    (tmp_path / "1.xml").write_text(f'<document><s id="1"><time id="T1S" value="{time}" />a</s></document>')
    assert read_timed_sentences(tmp_path / "1.xml")["1"].start == milliseconds


def test_subtitles_that_overlap_are_pairs(tmp_path):
    folder = films(tmp_path, 1)
    (film,) = read_opus(folder, "en", "de")
    assert film == Document(
        (SentencePair("Hello .", "Guten Tag."), SentencePair("And on", "Und weiter")),
        "de/1957/100/1.xml.gz",
        (5900, 5900),
    )
    (turned,) = read_opus(folder, "de", "en", least=0.92)
    assert texts([turned]) == [[("Guten Tag.", "Hello .")]] and turned.starts == (5897,)
    (all_of_it,) = read_opus(folder, "de", "en", least=0.5)
    assert len(all_of_it.pairs) == 3


def test_films_are_shared_out(tmp_path):
    folder = films(tmp_path, 60)
    parts = read_released("opensubtitles-en-de", counts=(100, 1, 5), folder=folder)
    assert [len(part) for part in parts] == [57, 1, 2]
    names = [document.name for part in parts for document in part]
    assert len(set(names)) == 60
    few = read_released("opensubtitles-de-en", counts=(4, 1, 1), folder=folder)
    assert [len(part) for part in few] == [4, 1, 1]
    with pytest.raises(DataError, match="holds too few films of this pair"):
        read_released("opensubtitles-en-de", counts=(1, 0, 1), folder=folder)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "no xml", "damaged"),
        (lambda text: text.replace("de/1957/100", "../100"), "names a document '../100/1.xml.gz'"),
        (
            lambda text: text.replace("1957/100/2", "1957/100/9"),
            "holds no en/1957/100/9.xml.gz in raw/ or xml/",
        ),
        (lambda text: text.replace("1;1", "1"), "a link '1', expected such as '1;1 2'"),
        (lambda text: text.replace("1;1", "7;1"), "links a sentence '7' that its document lacks"),
        (lambda text: text.replace("0.95", "much"), "an overlap 'much', expected a number"),
    ],
)
def test_damaged_links(tmp_path, damage, message):
    folder = films(tmp_path, 1, links=damage(LINKS.format(GROUP.format(100))))
    with pytest.raises(DataError, match=message):
        list(read_opus(folder, "en", "de"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<document/>", "holds no sentence"),
        (
            '<document><s id="1"><time id="T1S" value="soon" />a</s></document>',
            "a time 'soon', expected such as",
        ),
        ("<document>", "damaged"),
    ],
)
def test_damaged_documents(tmp_path, text, message):
    (tmp_path / "1.xml").write_text(text)
    with pytest.raises(DataError, match=message):
        read_timed_sentences(tmp_path / "1.xml")


def test_absent_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"de-en\.xml\.gz: missing; it links en and de"):
        list(read_opus(tmp_path, "en", "de"))
    with pytest.raises(DataError, match=r"1\.xml: cannot be read"):
        read_timed_sentences(tmp_path / "1.xml")
    with pytest.raises(ValueError, match="name must be one of iwslt17-en-de, "):
        read_released("wmt19", counts=(1, 1, 1))


# Contrasts

ANAPHORA = """{"1": {"src": ["a toy", "it is old"], "trg": [
  {"correct": ["un jouet", "il est vieux"], "incorrect": ["un jouet", "elle est vieille"]},
  {"semi-correct": ["une balle", "elle est vieille"], "incorrect": ["une balle", "il est vieux"]}]}}"""
CHOICE = """{"7": {"type": "disambig", "examples": [
  {"src": ["no fire", "a match"], "trg": {"correct": ["pas de feu", "une allumette"],
                                          "incorrect": ["pas de feu", "une correspondance"]}}]}}"""


def contrasts(folder, anaphora=ANAPHORA, choice=CHOICE):
    """Write both contrastive sets in small."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "anaphora.json").write_text(anaphora)
    (folder / "lexical-choice.json").write_text(choice)
    return folder


def test_contrasts_are_documents_of_two_sentences(tmp_path):
    documents = read_contrasts(contrasts(tmp_path))
    assert [(d.name, d.pairs[1].decides.kind) for d in documents] == [
        ("anaphora-1", "anaphora"),
        ("anaphora-1", "anaphora"),
        ("lexical-choice-7", "disambiguation"),
    ]
    before, pair = documents[1].pairs
    assert before == SentencePair("a toy", "une balle") and pair.helpful
    assert (pair.source, pair.target) == ("it is old", "elle est vieille")
    assert pair.decides.contrast == "il est vieux"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"anaphora": "no"}, "anaphora.json: no JSON"),
        ({"anaphora": ANAPHORA.replace('"incorrect"', '"wrong"')}, "anaphora.json, item 1: malformed"),
        ({"choice": CHOICE.replace("disambig", "other")}, "lexical-choice.json, item 7: malformed"),
        ({"choice": CHOICE.replace('"no fire", ', "")}, "lexical-choice.json, item 7: malformed"),
    ],
)
def test_damaged_contrasts(tmp_path, files, message):
    folder = contrasts(tmp_path, **files)
    with pytest.raises(DataError, match=re.escape(message)):
        read_contrasts(folder)


# Training on them


@pytest.mark.parametrize("data", RELEASED)
def test_where_a_corpus_is_not_here_the_line_says_how_to_get_it(data, monkeypatch):
    monkeypatch.delenv("REASONLIB_DATA", raising=False)
    with pytest.raises(DataError, match=r"not on this machine; put .* \(from https://"):
        read_released(data, counts=(1, 1, 1))
    assert released_version(data) is None and KINDS[data] in ("released", "mixed")


@pytest.mark.parametrize("data", ["iwslt17-de-en", "opensubtitles-en-de"])
def test_the_source_s_corpora_train_a_system(data, tmp_path, monkeypatch):
    talks(tmp_path / "en-de")
    films(tmp_path / "OpenSubtitles", 4)
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    (record,) = run(
        "context_translation/full_size", rows="hce", data=data, scale="smoke", seeds=1, device="cpu"
    )
    assert record.data.name == data and record.data.kind == KINDS[data] and record.data.version
    assert record.steps.complete and "tok:intl" in record.details["signatures"]["bleu"]


def test_a_system_chooses_between_translations(tmp_path, monkeypatch):
    films(tmp_path / "OpenSubtitles", 4, languages=("en", "fr"))
    contrasts(tmp_path / "discourse-mt-test-sets" / "test-sets")
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    (record,) = run("context_translation/contrasts", rows="hce", scale="smoke", seeds=1, device="cpu")
    assert {"contrastive_accuracy.anaphora", "contrastive_accuracy.disambiguation"} <= set(record.metrics)
    assert record.data.version.count("+") == 1 and record.steps.complete
