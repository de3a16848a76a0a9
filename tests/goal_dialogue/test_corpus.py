"""Reading and writing the released text of the dialogues."""

import pytest

from reasonlib.errors import DataError, UserError
from reasonlib.goal_dialogue.data import corpus, text_format
from reasonlib.goal_dialogue.data.example import Dialogue, Fact, Note, Turn, examples
from reasonlib.goal_dialogue.data.simulator import make_split

TASK_3 = """\
1 resto_rome_cheap_thai_2stars R_phone resto_rome_cheap_thai_2stars_phone
2 resto_rome_cheap_thai_2stars R_rating 2
3 hi\thello what can i help you with today
4 <SILENCE>\twhat do you think of this option: resto_rome_cheap_thai_2stars

1 hello\thello what can i help you with today

"""
TASK_6 = """\
1 <SILENCE>\tHello , how may I help you ?
2 \tWhat kind of food would you like?
3 canapes food\tapi_call canapes R_location R_price
4 api_call no result
5 <SILENCE>\tSorry there is no canapes  restaurant
6 ask R_post_code ask_post_code
7 goodbye\t you are welcome

"""


@pytest.mark.parametrize(("task", "text"), [(3, TASK_3), (6, TASK_6)])
def test_what_is_read_and_written_again_is_the_same_bytes(tmp_path, task, text):
    path = tmp_path / f"dialog-task{task}-trn.txt"
    path.write_bytes(text.encode())
    corpus.write(text_format.read_file(path), tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == text.encode()


def test_facts_notes_and_blanks_are_kept_as_they_are():
    (dialogue,) = text_format.parse(TASK_6.splitlines(), "here", task=6)
    assert dialogue.events[3] == Note("api_call no result")
    assert dialogue.events[5] == Fact("ask", "R_post_code", "ask_post_code")
    assert dialogue.turns[1].user == "" and dialogue.turns[-1].bot == " you are welcome"
    first, second = text_format.parse(TASK_3.splitlines(), "here", task=3)
    assert len(first.events) == 4 and second == Dialogue(
        task=3, events=(Turn("hello", "hello what can i help you with today"),)
    )
    assert [len(example.history) for example in examples([first, second])] == [2, 3, 0]


def test_dialogues_need_no_blank_line_between_them_and_lines_may_end_as_on_windows(tmp_path):
    text = TASK_3.replace("\n\n", "\n")
    assert len(text_format.parse(text.splitlines(), "here", task=3)) == 2
    (tmp_path / "task3.txt").write_bytes(TASK_3.replace("\n", "\r\n").encode())
    assert text_format.read_file(tmp_path / "task3.txt") == text_format.parse(
        TASK_3.splitlines(), "here", task=3
    )


@pytest.mark.parametrize(
    ("task", "lines", "message"),
    [
        (1, "hi\thello", "here, line 1: expected 'ID user<tab>response'.*start the line with its number"),
        (1, "1 hi\thello\n3 no\tyes", "here, line 2: ID 3 is out of sequence, expected 2 or 1; number"),
        (1, "2 hi\thello", "here, line 1: ID 2 is out of sequence, expected 1; number"),
        (1, "1 hi\t", "here, line 1: turn without a response; write"),
        (1, "1 hi\thello\tagain", "here, line 1: 2 tabs, expected one; write"),
        (1, "1 hi hello what can i do", "here, line 1: neither a turn nor a fact: 'hi hello"),
        (1, "1 api_call no result", "here, line 1: neither a turn nor a fact"),
        (1, "1 resto R_colour red", "here, line 1: unknown relation 'R_colour'; use one of R_phone"),
        (
            1,
            "1 resto R_price cheap\n\n1 hi\thello",
            "here, line 1: the dialogue that starts here has no turn",
        ),
        (1, "\n\n", "here: the file holds no dialogue; get the file again"),
        (
            3,
            "1 hi\thello\n2 resto R_price cheap\n3 resto R_price expensive",
            "here, line 3: resto has R_price 'expensive', but 'cheap' on line 2; remove the wrong one",
        ),
    ],
)
def test_a_malformed_line_is_named_with_a_remedy(task, lines, message):
    with pytest.raises(DataError, match=message):
        text_format.parse(lines.split("\n"), "here", task)


def test_each_dialogue_has_facts_of_its_own_and_task_6_may_contradict_itself():
    cheap, expensive = "1 resto R_price cheap\n2 hi\thello\n", "1 resto R_price expensive\n2 hi\thello\n"
    assert len(text_format.parse((cheap + expensive).splitlines(), "here", 3)) == 2
    released = "1 hi\thello\n2 resto R_rating 2\n3 resto R_rating 1"
    assert len(text_format.parse(released.splitlines(), "here", 6)) == 1


def test_a_response_that_is_no_candidate_is_named():
    message = "here, line 4: the response 'what do you think.* is no candidate; add it to list.txt"
    with pytest.raises(DataError, match=message):
        text_format.parse(
            TASK_3.splitlines(),
            "here",
            3,
            candidates=["hello what can i help you with today"],
            source="list.txt",
        )


def test_a_mark_before_the_first_line_is_passed_over(tmp_path):
    (tmp_path / "task1.txt").write_bytes(b"\xef\xbb\xbf1 hi\thello\n")
    assert text_format.read_file(tmp_path / "task1.txt")[0].events == (Turn("hi", "hello"),)


def test_a_file_that_cannot_be_used_is_one_clear_line(tmp_path):
    with pytest.raises(DataError, match=r"task1.txt: no such file; set REASONLIB_DATA to the folder"):
        text_format.read_file(tmp_path / "task1.txt")
    (tmp_path / "task1.txt").write_bytes(b"1 hi\thello\n2 caf\xe9\tyes\n")
    with pytest.raises(DataError, match=r"task1.txt, line 2: byte 16 is not UTF-8 text; save it as UTF-8"):
        text_format.read_file(tmp_path / "task1.txt")
    (tmp_path / "task1.txt").write_bytes(b"1 hi\thello\n2 no\tye")
    with pytest.raises(
        DataError, match=r"task1.txt, line 2: the last line has no line end, so it may be cut"
    ):
        text_format.read_file(tmp_path / "task1.txt")
    with pytest.raises(DataError, match="no task number in the file name"):
        text_format.read_file(tmp_path / "dialogues.txt")


@pytest.mark.parametrize("between", ["\t", " "])
def test_both_forms_of_the_knowledge_base_are_read(tmp_path, between):
    split = make_split(1, dialogues=1)
    text = text_format.dumps_knowledge(split.knowledge)
    (tmp_path / "kb.txt").write_text(text.replace("\t", between), encoding="utf-8")
    assert text_format.read_knowledge(tmp_path / "kb.txt") == split.knowledge
    assert text.count("\n") == 8400 and len(split.knowledge.facts) == 1200


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "1 a R_price\tcheap\n1 a R_price\tmoderate\n",
            "line 2: a has R_price 'moderate', but 'cheap' on line 1",
        ),
        ("1 a R_price\tcheap\n", "line 1: a has no R_phone; add the fact"),
        ("1 a R_price\n", "line 1: expected '1 subject relation<tab>value'"),
        ("1 a R_colour\tred\n", "line 1: unknown relation 'R_colour'"),
        ("\n", "line 1: expected"),
        ("", "holds no fact"),
        ("1 a R_price\tch", "line 1: the last line has no line end"),
    ],
)
def test_a_knowledge_base_that_contradicts_itself_or_lacks_something_is_refused(tmp_path, lines, message):
    (tmp_path / "kb.txt").write_text(lines, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        text_format.read_knowledge(tmp_path / "kb.txt")


def test_candidates_are_read_in_order_and_each_once(tmp_path):
    path = tmp_path / "candidates.txt"
    path.write_text("1 hello\n1  you are welcome", encoding="utf-8")  # no line end, as released for task 6
    assert text_format.read_candidates(path) == ("hello", " you are welcome")
    path.write_text("1 hello\n1 hello\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: 'hello' is already on line 1; remove one"):
        text_format.read_candidates(path)
    path.write_text("1 hi\thello\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1: expected '1 response'"):
        text_format.read_candidates(path)


def test_a_written_split_is_read_again_from_the_data_folder(tmp_path, monkeypatch):
    split = make_split(3, dialogues=3)
    folder = tmp_path / corpus.CORPORA["dialog-babi"].aliases[0]
    written = corpus.write_split(split, folder)
    assert corpus.path_of(folder, 3, "oov") in written
    assert corpus.read(3, folder) == split
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"candidates\.txt: missing \(and 19 more\); unpack"):
        corpus.locate()  # a folder that is not whole is not read by halves
    for name in corpus.CORPORA["dialog-babi"].files:
        (folder / name).touch()
    assert corpus.read(3) == split
    candidates = corpus.candidates_of(folder, 3)
    text = candidates.read_text(encoding="utf-8")
    candidates.write_text(text.replace("1 i'm on it\n", ""), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"trn.txt, line \d+: the response .* add it to dialog-babi-candidates.txt"
    ):
        corpus.read(3)


def test_what_the_format_cannot_hold_and_what_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="must hold neither tab nor line end"):
        text_format.dumps([Dialogue(task=1, events=(Turn("a\tb", "c"),))])
    for wrong in (lambda: corpus.path_of("x", 7), lambda: corpus.path_of("x", 1, "dev")):
        with pytest.raises(UserError, match="must be"):
            wrong()
    with pytest.raises(UserError, match="task 6 has no oov split"):
        corpus.path_of("x", 6, "oov")
