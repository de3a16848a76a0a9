"""The simulated languages, and the readers of parallel text with what they refuse."""

from collections import Counter, defaultdict

import pytest

from reasonlib.context_translation.data import corpus
from reasonlib.errors import DataError
from reasonlib.parallel import Document, SentencePair, SimulatorConfig, contexts, simulate
from reasonlib.parallel.bpe import Subwords
from reasonlib.parallel.documents import read_aligned, write_aligned
from reasonlib.parallel.lexicon import NAMES, THINGS, TITLES, TRANSITIVE
from reasonlib.parallel.subtitles import Subtitle, align, overlap, read_srt, read_subtitles
from reasonlib.parallel.ted import read_ted

# The simulator


def test_the_same_seed_gives_the_same_documents_and_another_seed_others():
    assert simulate(3, seed=4) == simulate(3, seed=4) != simulate(3, seed=5)


@pytest.mark.parametrize(
    ("sentences", "helpful", "distance"), [(10, 0.3, (1, 2)), (8, 0.25, (3, 3)), (31, 1 / 31, (30, 30))]
)
def test_rates_and_distances_are_what_was_asked(sentences, helpful, distance):
    config = SimulatorConfig(sentences=sentences, helpful=helpful, distance=distance)
    for document in simulate(20, seed=1, config=config):
        labels = [pair.decides for pair in document.pairs if pair.helpful]
        assert len(document.pairs) == sentences
        assert len(labels) == pytest.approx(sentences * helpful)
        assert all(distance[0] <= label.distance <= distance[1] for label in labels)


def test_all_kinds_come_equally_often():
    counts = Counter(
        pair.decides.kind for document in simulate(400, seed=2) for pair in document.pairs if pair.decides
    )
    assert set(counts) == {"pronoun", "subject", "verb", "formality"}
    assert min(counts.values()) > 0.8 * max(counts.values())


def value_of(kind, word):
    """What the deciding context word is worth, read from the lexicon and not from the generator."""
    table = {"pronoun": THINGS, "subject": NAMES, "formality": TITLES}
    return TRANSITIVE[word] if kind == "verb" else table[kind][word][1]


def test_the_label_points_to_the_nearest_word_that_can_decide():
    """Scanning back for the last word of the right sort finds the labelled one, at its distance."""
    words = {"pronoun": THINGS, "subject": NAMES, "verb": TRANSITIVE, "formality": TITLES}
    for document in simulate(200, seed=3):
        for position, pair in enumerate(document.pairs):
            if pair.decides is None:
                continue
            back = next(
                (distance, word)
                for distance in range(1, position + 1)
                for word in reversed(document.pairs[position - distance].source.split())
                if word in words[pair.decides.kind]
            )
            assert back == (pair.decides.distance, pair.decides.context_word)


def test_a_helpful_source_has_one_translation_a_value_and_an_unhelpful_source_one():
    """Translations depend on the decided value and nothing else, so that the helpful share is exact."""
    targets, alone = defaultdict(set), defaultdict(set)
    for document in simulate(1500, seed=6):
        for pair in document.pairs:
            if pair.decides is None:
                alone[pair.source].add(pair.target)
            else:
                value = value_of(pair.decides.kind, pair.decides.context_word)
                targets[pair.decides.kind, pair.source, value].add(pair.target)
                assert pair.decides.word in pair.target.split()
                assert pair.decides.contrast != pair.target
                assert len(pair.decides.contrast.split()) == len(pair.target.split())
                assert pair.decides.word not in pair.decides.contrast.split()
    assert all(len(each) == 1 for each in (*targets.values(), *alone.values()))
    assert not {source for _, source, _ in targets} & set(alone)


def test_bad_rates_are_refused():
    with pytest.raises(
        ValueError, match=r"helpful must be at most 0\.3: 10 sentences hold 3 segments of 3; got 0\.5"
    ):
        SimulatorConfig(helpful=0.5)
    with pytest.raises(
        ValueError, match=r"distance must be nearest and farthest, each at least 1, got \(2, 1\)"
    ):
        SimulatorConfig(distance=(2, 1))
    with pytest.raises(ValueError, match="kinds must be some of pronoun, subject, verb, formality"):
        SimulatorConfig(kinds=("tense",))
    with pytest.raises(ValueError, match="documents must be at least 1, got 0"):
        simulate(0, seed=0)


# Aligned files


def write(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(folder / name for name in files)


def test_aligned_files_are_read_as_they_were_written(tmp_path):
    documents = simulate(3, seed=1)
    paths = tmp_path / "text.en", tmp_path / "text.xx"
    write_aligned(documents, *paths)
    made = read_aligned(*paths)
    assert [[(p.source, p.target) for p in d.pairs] for d in made] == [
        [(p.source, p.target) for p in d.pairs] for d in documents
    ]
    assert all(pair.helpful is None for document in made for pair in document.pairs)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("<d>\na\nb\n", "<d>\na\n", "must have equally many lines, got 3 and 2"),
        ("<d>\na\n<d>\n", "<d>\na\nb\n", "line 3: a boundary <d> on this side only"),
        ("<d>\n<d>\na\n", "<d>\n<d>\na\n", "line 2: the document before this boundary is empty"),
        ("<d>\na\n<d>\n", "<d>\na\n<d>\n", "the last document is empty"),
        ("a\n", "a\n", "line 1: text before the first boundary <d>"),
        ("<d>\na\n\n", "<d>\na\nb\n", "line 3: an empty line beside a sentence"),
        ("", "", "the last document is empty"),
    ],
)
def test_aligned_files_that_do_not_fit_are_one_clear_line(tmp_path, source, target, message):
    paths = write(tmp_path, source=source, target=target)
    with pytest.raises(DataError, match=message) as error:
        read_aligned(*paths)
    assert len(str(error.value).splitlines()) == 1


def test_absent_and_binary_files(tmp_path):
    with pytest.raises(DataError, match="cannot read the file"):
        read_aligned(tmp_path / "none", tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8 text"):
        read_aligned(tmp_path / "binary", tmp_path / "binary")


def test_a_mark_of_the_encoding_is_no_text(tmp_path):
    paths = write(tmp_path, source="\ufeff<d>\na\n", target="<d>\nb\n")
    assert read_aligned(*paths)[0].pairs == (SentencePair("a", "b"),)


def test_the_real_corpus_is_read_under_both_names(tmp_path):
    for index, (name, names) in enumerate(
        (
            ("a", ("dev.en", "dev.de")),
            ("b", ("concatenated_en2de_dev_en.txt", "concatenated_en2de_dev_de.txt")),
        )
    ):
        folder = tmp_path / name / "NC-2016"
        folder.mkdir(parents=True)
        for file in names:
            (folder / file).write_text(f"<d>\nsentence {index}\n", encoding="utf-8")
        assert corpus.read("dev", "news", folder=tmp_path / name)[0].pairs[0].source == f"sentence {index}"
    with pytest.raises(DataError, match=r"holds neither test\.en nor"):
        corpus.read("test", "news", folder=tmp_path / "a")
    with pytest.raises(ValueError, match="name must be one of ted, europarl, news, got 'x'"):
        corpus.read("dev", "x", folder=tmp_path)


# Subtitles and talks

SRT = """1
00:05:37,733 --> 00:05:39,967
Daniel likes hanging out
with his <i>cousins</i>.

2
00:05:40,035 --> 00:05:41,168
He's been going back and forth

3
00:05:44,373 --> 00:05:45,940
Listen, don't worry.
"""


def test_subtitles_are_paired_by_their_times_and_have_context_by_them(tmp_path):
    german = SRT.replace("Daniel", "Daniel (de)").replace("00:05:40,035", "00:05:40,700")
    source, target = write(tmp_path, en="\ufeff" + SRT, de=german)
    assert read_srt(source)[0] == Subtitle(337_733, 339_967, "Daniel likes hanging out with his cousins.")
    document = read_subtitles(source, target)
    assert [pair.target[:6] for pair in document.pairs] == ["Daniel", "Listen"]  # the second overlaps by 0.41
    assert contexts(document, 2) == [(), ()]  # 6.6 seconds later
    whole = read_subtitles(source, source)
    assert [len(before) for before in contexts(whole, 2)] == [0, 1, 0]
    assert [len(before) for before in contexts(whole, 2, within=10_000)] == [0, 1, 2]


def test_overlap_and_alignment_by_hand():
    assert overlap(Subtitle(0, 10, "a"), Subtitle(20, 30, "b")) == 0
    assert overlap(Subtitle(0, 100, "a"), Subtitle(0, 90, "b")) == 0.9
    source = [Subtitle(0, 100, "a"), Subtitle(100, 200, "b")]
    assert align(source, [Subtitle(104, 204, "B")]).pairs == (SentencePair("b", "B"),)
    at_once = [Subtitle(0, 100, text) for text in "ab"]  # two people speak
    assert align(at_once, [Subtitle(0, 100, text) for text in "AB"]).pairs == (
        SentencePair("a", "A"),
        SentencePair("b", "B"),
    )
    assert len(align(at_once, [Subtitle(0, 100, "A")]).pairs) == 1
    with pytest.raises(ValueError, match="least must be above 0 and at most 1, got 0"):
        align(source, source, least=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nno time\n", "line 1: expected a number and a time"),
        ("1\n00:00:02,000 --> 00:00:01,000\nx\n", "line 2: the times must rise"),
    ],
)
def test_damaged_subtitles(tmp_path, text, message):
    (path,) = write(tmp_path, srt=text)
    with pytest.raises(DataError, match=message):
        read_srt(path)


def test_subtitles_of_another_film(tmp_path):
    source, target = write(tmp_path, en=SRT, de=SRT.replace("00:05", "00:25"))
    with pytest.raises(DataError, match=r"no two subtitles overlap by 0\.9; are they of one film"):
        read_subtitles(source, target)


def test_talks_are_documents(tmp_path):
    xml = '<doc docid="1">\n<seg id="1"> A &amp; B </seg>\n</doc>\n<doc docid="2">\n<seg id="1">C</seg>\n'
    tagged = "<url>u</url>\n<title>t</title>\nA & B\n<url>v</url>\nC\n"
    paths = write(tmp_path, xml=xml, tagged=tagged)
    made = read_ted(*paths)
    assert [document.pairs for document in made] == [
        (SentencePair("A & B", "A & B"),),
        (SentencePair("C", "C"),),
    ]
    (plain,) = write(tmp_path, plain="only text\n")
    with pytest.raises(DataError, match="holds no talk"):
        read_ted(plain, plain)


# Pieces of words


def test_subwords_lose_nothing_and_are_read_again(tmp_path):
    specials = ("<pad>", "<start>", "<end>")
    subwords = Subwords.learn(["the lighthouse", "the light house"] * 3, size=280, specials=specials)
    text = "the lighthouse — Größe 光"
    ids = subwords.encode(text)
    assert subwords.decode([1, *ids, 2, 0]) == text and min(ids) >= len(specials)
    subwords.save(tmp_path / "pieces.json")
    again = Subwords.load(tmp_path / "pieces.json", specials=3)
    assert again.encode(text) == ids and len(again) == len(subwords) <= 280
    with pytest.raises(ValueError, match="size must be at least 259, got 100"):
        Subwords.learn(["a"], size=100, specials=specials)
    with pytest.raises(DataError, match="cannot read the pieces"):
        Subwords.load(tmp_path / "none", specials=3)
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DataError, match="no tokenizer"):
        Subwords.load(tmp_path / "bad.json", specials=3)


def test_contexts_are_nearest_first():
    pairs = tuple(SentencePair(word, word) for word in "abcd")
    document = Document(pairs)
    assert contexts(document, 0) == [()] * 4
    timed = Document(pairs, starts=(1000, 4000, 60_000, 5000))  # the last is out of its place in the file
    assert contexts(timed, 3) == [(), ("a",), (), ("b",)]
    with pytest.raises(ValueError, match="sentences must be at least 0, got -1"):
        contexts(document, -1)
