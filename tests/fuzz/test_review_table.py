"""The table of the review names tests that exist, and every number of the review."""

import ast
import importlib.util
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_every_number_is_held_by_tests_that_exist():
    spec = importlib.util.spec_from_file_location("review_table", TESTS / "review.py")
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    assert list(table.NUMBERS) == [*map(str, range(1, 25)), "talking"]
    for number, (what, tests) in table.NUMBERS.items():
        assert what and tests, number
        for test in tests:
            file, _, name = test.partition("::")
            body = ast.parse((TESTS / file).read_text(encoding="utf-8")).body
            assert name in {node.name for node in body if isinstance(node, ast.FunctionDef)}, test
