"""Reading and writing the released text format."""

import os

import pytest

from reasonlib.errors import DataError, UserError
from reasonlib.story_qa.data import corpus
from reasonlib.story_qa.data.example import TASKS, Example
from reasonlib.story_qa.data.simulator import simulate

TASK_1 = """\
1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel went back to the hallway.
5 Where is Daniel? \thallway\t4
1 John moved to the office.
2 Where is John? \toffice\t1
"""
TASK_8 = """\
1 Mary got the milk there.
2 Mary took the apple there.
3 What is Mary carrying? \tmilk,apple\t1 2
"""
TASK_15 = """\
1 Mice are afraid of wolves.
2 Gertrude is a mouse.
3 What is gertrude afraid of?\twolf\t2 1
4 What is gertrude afraid of?\twolf\t2 1
"""


@pytest.mark.parametrize(
    ("name", "text"), [("qa1_a.txt", TASK_1), ("qa8_b.txt", TASK_8), ("qa15_c.txt", TASK_15)]
)
def test_what_is_read_and_written_again_is_the_same_bytes(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    corpus.write(corpus.read_file(tmp_path / name), tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == text.encode()


def test_supporting_ids_count_questions_and_positions_do_not(tmp_path):
    first, second, third = corpus.parse(TASK_1.splitlines(), "here", task=1)
    assert first == Example(
        task=1,
        story=("Mary moved to the bathroom.", "John went to the hallway."),
        question="Where is Mary?",
        answer=("bathroom",),
        support=(0,),
        group=0,
    )
    assert second.support == (2,) and second.story[2] == "Daniel went back to the hallway."
    assert second.story[:2] == first.story and second.group == 0
    assert third.group == 1 and third.story == ("John moved to the office.",)


def test_list_answers_and_the_order_of_supports_are_kept():
    (listed,) = corpus.parse(TASK_8.splitlines(), "here", task=8)
    assert listed.answer == ("milk", "apple")
    deduced, repeated = corpus.parse(TASK_15.splitlines(), "here", task=15)
    assert deduced.support == (1, 0) and repeated == deduced


def test_line_ends_of_other_systems_are_read():
    lines = TASK_1.replace("\n", "\r\n").splitlines(keepends=True)
    assert corpus.parse(lines, "here", task=1) == corpus.parse(TASK_1.splitlines(), "here", task=1)


def test_a_question_may_come_without_supports(tmp_path):
    text = "1 Mary went to the park.\n2 Where is Mary? \tpark\n"
    (tmp_path / "qa1_mine.txt").write_text(text)
    (example,) = corpus.read_file(tmp_path / "qa1_mine.txt")
    assert example.support == () and corpus.dumps([example]) == text


@pytest.mark.parametrize("task", TASKS)
def test_simulated_stories_survive_the_text_format(tmp_path, task):
    examples = simulate(task, 60, seed=3)
    path = tmp_path / f"qa{task}_train.txt"
    corpus.write(examples, path)
    round_trip = corpus.read_file(path)
    assert round_trip == examples
    assert corpus.dumps(round_trip) == path.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"qa1_x\.txt: the file is empty; fetch"),
        ("1 Mary is here.\nJohn is here.\n", r"qa1_x\.txt, line 2: expected 'ID text', got 'John is here\.'"),
        ("1 Mary is here.\n\n", r"line 2: expected 'ID text', got ''; start the line with its number"),
        ("1\n", r"line 1: expected 'ID text', got '1'"),
        ("-1 Mary is here.\n", r"line 1: expected 'ID text'"),
        ("² Mary is here.\n", r"line 1: expected 'ID text'"),
        ("2 Mary is here.\n", r"line 1: ID 2 is out of sequence, expected 1; number the lines"),
        ("1 A.\n3 B.\n", r"line 2: ID 3 is out of sequence, expected 2 or 1"),
        ("1 A.\n2 Where? \tx\t1\n2 B.\n", r"line 3: ID 2 is out of sequence, expected 3 or 1"),
        ("1 A.\n2 Where is Mary?\n", r"line 2: question without an answer; write 'question\?<tab>answer"),
        ("1 A.\n2 Where is Mary? \t\t1\n", r"line 2: question without an answer"),
        ("1 A.\n2 Where is Mary? \ta,\t1\n", r"line 2: question without an answer"),
        ("1 A.\n2 \tpark\t1\n", r"line 2: question without an answer"),
        ("1 A.\n2 Where? \tx\t1\t1\n", r"line 2: 4 fields, expected question, answer and supporting IDs"),
        ("1 A.\n2 Where? \tx\t2\n", r"line 2: supporting ID '2' names no sentence before this question"),
        ("1 A.\n2 Where? \tx\t0\n", r"line 2: supporting ID '0' names no sentence"),
        ("1 A.\n2 Where? \tx\tone\n", r"line 2: supporting ID 'one' names no sentence"),
        ("1 A.\n2 Where? \tx\t1\n3 So? \ty\t2\n", r"line 3: supporting ID '2' names no sentence"),
        ("1 A.\n2 B? \tx\t1\n1 C.\n2 D? \tx\t3\n", r"line 4: supporting ID '3' names no sentence"),
        (
            "1 A.\n1 B.\n2 Where? \tx\t1\n",
            r"line 2: a new story starts, but the one before it ends without a q",
        ),
        ("1 A.\n2 Where? \tx\t1\n3 B.\n", r"line 3: the file ends before the question of its last story"),
        ("1 A.\n2 Where? \tx\t1", r"line 2: the last line has no line end, so it may be cut short"),
    ],
)
def test_each_malformed_line_is_one_line_of_error(tmp_path, text, message):
    path = tmp_path / "qa1_x.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        corpus.read_file(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_long_bad_line_is_quoted_in_part():
    with pytest.raises(DataError, match=r"got 'x{60}\.\.\.'"):
        corpus.parse(["x" * 1000], "here", task=1)


def test_bytes_that_are_not_text(tmp_path):
    path = tmp_path / "qa1_x.txt"
    path.write_bytes(b"1 Mary\xff.\n")
    with pytest.raises(DataError, match=r"qa1_x\.txt, line 1: byte 6 is not UTF-8 text"):
        corpus.read_file(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        DataError, match=r"qa3_three-supporting-facts_train\.txt: no such file; run `reasonlib"
    ):
        corpus.read(tmp_path, 3, size="en-10k")
    with pytest.raises(DataError, match=r"cannot be read"):
        corpus.read_file(tmp_path, task=1)


def test_a_file_name_without_a_task(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(TASK_1)
    with pytest.raises(DataError, match=r"no task number in the file name; call it qa<task>_"):
        corpus.read_file(path)
    assert len(corpus.read_file(path, task=1)) == 3
    with pytest.raises(ValueError, match="task must be 1 to 20, got 21"):
        corpus.read_file(path, task=21)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    "name",
    ["en/qa8_lists-sets_train", "en-10k/qa8_lists-sets_test", "en-valid/qa8_train", "en-valid-10k/qa8_valid"],
)
def test_a_split_is_found_in_the_tree_or_the_folder_that_holds_it(tmp_path, inside, name):
    tree = tmp_path / corpus.FOLDER
    size, split = name.partition("/")[0], name.rpartition("_")[2]
    (tree / size).mkdir(parents=True)
    (tree / f"{name}.txt").write_text(TASK_8)
    (example,) = corpus.read(tree if inside else tmp_path, 8, split, size)
    assert example.task == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, "train", "en"), "task must be 1 to 20, got 0"),
        ((1, "dev", "en"), "split must be one of train, valid, test, got 'dev'"),
        ((1, "train", "hn"), "size must be one of en, en-10k, en-valid, en-valid-10k, got 'hn'"),
        ((1, "valid", "en-10k"), "en-10k has no valid split; use size 'en-valid-10k'"),
    ],
)
def test_mistakes_in_what_to_read(tmp_path, arguments, message):
    with pytest.raises(UserError, match=message):
        corpus.read(tmp_path, *arguments)


def test_writing_refuses_questions_that_disagree_about_their_story():
    first, second = simulate(1, 2, seed=0)
    other = Example(
        **{**{name: getattr(second, name) for name in Example.__slots__}, "story": second.story[1:]}
    )
    with pytest.raises(ValueError, match="questions of story 0 disagree about its first 2 sentences"):
        corpus.dumps([first, other])


def test_stories_of_several_tasks_are_kept_apart():
    examples = [*simulate(1, stories=1, seed=0), *simulate(4, stories=2, seed=0)]
    lines = corpus.dumps(examples).splitlines()
    assert [line.split()[0] for line in lines].count("1") == 3


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "qa1_x.txt"
    path.write_text("before")

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        corpus.write(simulate(1, 5), path)
    assert path.read_text() == "before" and [file.name for file in tmp_path.iterdir()] == ["qa1_x.txt"]


def test_the_registered_archives():
    assert set(corpus.CORPORA) == {"babi", "babi-original"}
    for name, entry in corpus.CORPORA.items():
        assert entry.name == name and entry.folder == corpus.FOLDER
        assert entry.licence == "CC BY 3.0" and entry.citation == "weston2015"
        assert entry.sha256 is not None and entry.size is not None
        assert len(entry.files) == 40 and "en/qa20_agents-motivations_test.txt" in entry.files
    assert corpus.CORPORA["babi"].sha256 != corpus.CORPORA["babi-original"].sha256
