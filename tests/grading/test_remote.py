"""Checks call answers in another process, on values that are read as data, and find the same."""

import queue
import threading

import numpy as np
import pytest
import torch
from editions import EDITIONS

from reasonlib.grading import checks, remote, values

SLOW = {"two_hops", "vote", "border", "breaking_dialogue"}  # trains, or asks a thousand times


@pytest.fixture
def connected():
    """Give a function that offers an object on the student's side and returns what the check gets of it."""
    to_student, to_check = queue.Queue(), queue.Queue()

    def receive(lines):
        message = lines.get()
        if message is None:
            raise remote.Ended
        return message

    student = remote.Peer(to_check.put, lambda: receive(to_student), networks="make")
    check = remote.Peer(to_student.put, lambda: receive(to_check), networks="send")

    def serve():
        try:
            while True:
                student.answer(student.receive())
        except remote.Ended:
            pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    student.offer(lambda: offered[0])
    offered = [None]

    def get(value):
        offered[0] = value
        return check.call(0, "", (), {})

    yield get
    to_student.put(None)
    thread.join(10)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**70,
        0.1,
        float("inf"),
        "\ud800 ü",
        ...,
        [1, ("a", [])],
        {1, 2},
        {"a": {(1, 2): None}},
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array(["ab", "c"]),
        torch.randn(2, 0, 3),
        torch.tensor([True]),
        torch.tensor(3),
    ],
)
def test_values_arrive_as_they_were(connected, value):
    got = connected(value)
    assert type(got) is type(value)
    if isinstance(value, (np.ndarray, torch.Tensor)):
        assert got.dtype == value.dtype and got.shape == value.shape and (got == value).all()
    else:
        assert got == value


def test_scalars_generators_and_gradients(connected):
    assert connected(np.float32(0.5)) == 0.5 and connected(np.bool_(True)) == np.True_
    assert connected(torch.ones(2, requires_grad=True)).requires_grad
    drawn = torch.rand(3, generator=torch.Generator().manual_seed(3))
    assert torch.equal(
        connected(lambda g: torch.rand(3, generator=g))(torch.Generator().manual_seed(3)), drawn
    )


def test_functions_go_both_ways(connected):
    def apply(f, x):
        return lambda y: f(x) + y

    assert connected(apply)(lambda x: 10 * x, 2)(3) == 23


def test_what_the_student_changes_is_changed_here(connected):
    def change(items, table, tensor, array):
        items.pop()
        table["b"] = 2
        tensor[0] = 7
        array[:] = 1
        return items

    items, table, tensor, array = [1, 2], {"a": 1}, torch.zeros(2), np.zeros(2)
    assert connected(change)(items, table, tensor, array) is items
    assert (items, table, tensor.tolist(), array.tolist()) == ([1], {"a": 1, "b": 2}, [7, 0], [1, 1])


def test_what_an_answer_raises_comes_with_its_line(connected):
    def broken(x):
        return x["no"]

    with pytest.raises(checks.StudentError, match=r"your code stopped at its line .*TypeError"):
        connected(broken)(1)
    with pytest.raises(checks.StudentError) as caught:
        connected(checks.stub())()
    assert caught.value.untouched


@pytest.mark.parametrize(
    "text",
    [
        [],
        {"x": 1},
        {"c": ["os", "system", {}]},
        {"c": ["reasonlib.cli", "main", {}]},
        {"m": ["reasonlib.story_qa.models.memory_network", "MemoryNetwork", None, {"d": []}, True]},
        {"a": ["|O", [1], "AAAA"]},
        {"a": ["<f8", [10**9], "AAAA"]},
        {"t": 3},
        {"s": [{"l": []}]},
    ],
)
def test_what_is_no_data_is_refused(text):
    with pytest.raises(values.NotData):
        values.decode(text, lambda *_: None)


@pytest.mark.parametrize("value", [10**2000, np.array([object()])])
def test_what_cannot_be_sent_is_refused(value):
    with pytest.raises(values.NotData):
        values.encode(value, lambda _: None)


@pytest.mark.parametrize(
    ("topic", "name"),
    [(topic, name) for topic, solved in EDITIONS.items() for name in solved if name not in SLOW],
)
def test_checks_find_the_same_in_another_process(connected, topic, name):
    exercise = next(candidate for candidate in checks.exercises(topic) if candidate.name == name)
    solved = EDITIONS[topic][name]
    assert exercise(connected(checks.stub())).untouched
    result = exercise(connected(solved.solution), seed=1)
    assert result.passed, result.message
    for mistake in solved.mistakes:
        result = exercise(connected(mistake.answer), seed=1)
        assert not result.passed and not result.untouched
        assert any(part in result.message for part in mistake.hint.split("|")), result.message
