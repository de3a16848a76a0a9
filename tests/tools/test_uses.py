"""What a chapter rests on: imports followed name by name, what the run loaded and opened."""

import pytest
from uses import Library, digest, plain, used_files


@pytest.fixture
def library(tmp_path):
    """A package with an ``__init__`` that only passes names on, as reasonlib.nn does."""
    files = {
        "__init__.py": "",
        "errors.py": "class Bad(Exception): ...",
        "nn/__init__.py": "from .attention import attend\nfrom .memory import read as recall\nSIZE = 3\n",
        "nn/attention.py": "from reasonlib.errors import Bad\ndef attend(): ...",
        "nn/memory.py": "from .attention import attend\ndef read(): ...",
        "topic/__init__.py": "",
        "topic/models.py": "from reasonlib.nn import recall\ndef f():\n  from reasonlib.topic import other\n",
        "topic/other.py": "import reasonlib.nn",
    }
    for name, text in files.items():
        path = tmp_path / "reasonlib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def reached(root, *starts):
    return Library(root).closure(starts) - {"reasonlib"}


def test_a_name_passed_on_by_a_package_leads_to_the_module_that_makes_it(library):
    assert reached(library, ("reasonlib.nn", "attend")) == {
        "reasonlib.nn",
        "reasonlib.nn.attention",
        "reasonlib.errors",
    }
    assert "reasonlib.nn.memory" in reached(library, ("reasonlib.nn", "recall"))


def test_a_name_the_package_makes_itself_and_a_whole_package_lead_to_everything(library):
    everything = {"reasonlib.nn", "reasonlib.nn.attention", "reasonlib.nn.memory", "reasonlib.errors"}
    assert reached(library, ("reasonlib.nn", "SIZE")) == everything
    assert reached(library, ("reasonlib.nn", None)) == everything


@pytest.mark.parametrize("line", ["from reasonlib import nn", "import reasonlib.nn as nn"])
def test_a_package_asked_for_names_leads_to_these_alone(library, line):
    def asked(*cells):
        loaded = [f"loaded\treasonlib/nn/{name}.py" for name in ("attention", "memory")]
        return {"memory"} & {name[13:-3] for name in used_files(library, [line, *cells], loaded)}

    assert asked("nn.attend()") == set()
    assert asked("nn.attend()", "nn.recall()") == {"memory"}
    assert asked("nn.attend()", "help(nn)") == asked() == {"memory"}  # who knows what of it


def test_compiled_files_come_and_go_and_nothing_rests_on_them(library):
    lines = ["listed\treasonlib/nn/__pycache__", "opened\treasonlib/nn/__pycache__/memory.pyc"]
    assert used_files(library, [], lines) == set()


def test_a_new_topic_runs_no_chapter_of_another(library):
    lines = ["listed\treasonlib", "listed\treasonlib/topic/tables"]
    assert used_files(library, [], lines) == {"reasonlib/topic/tables/"}


def test_a_module_of_a_package_does_not_pull_in_its_neighbours(library):
    assert reached(library, ("reasonlib.nn.attention", "attend")) == {
        "reasonlib.nn", "reasonlib.nn.attention", "reasonlib.errors"
    }  # fmt: skip


def test_other_libraries_are_not_followed(library):
    assert reached(library, ("torch", None), ("json", "loads")) == set()


def test_used_files_are_those_reached_and_loaded_and_those_opened(library):
    everything = [path.relative_to(library).as_posix() for path in library.rglob("*.py")]
    loaded = [f"loaded\t{name}" for name in everything if name != "reasonlib/topic/other.py"]
    cells = ["%matplotlib inline\nfrom reasonlib.topic.models import late"]
    used = used_files(library, cells, [*loaded, "opened\trecords/topic/a.jsonl", "listed\trecords"])
    assert used == {
        "reasonlib/__init__.py", "reasonlib/errors.py", "reasonlib/nn/__init__.py",
        "reasonlib/nn/attention.py",
        "reasonlib/nn/memory.py", "reasonlib/topic/__init__.py", "reasonlib/topic/models.py",
        "records/topic/a.jsonl", "records/",
    }  # fmt: skip
    cells = ["from reasonlib.nn.attention import attend"]
    assert "reasonlib/nn/memory.py" not in used_files(library, cells, loaded)


def test_a_module_asked_for_by_name_is_followed(library):
    loaded = ["loaded\treasonlib/topic/models.py", "loaded\treasonlib/nn/memory.py"]
    used = used_files(library, ["import json"], [*loaded, "called\treasonlib.topic.models"])
    assert {"reasonlib/topic/models.py", "reasonlib/nn/memory.py"} <= used
    assert "reasonlib/topic/models.py" not in used_files(library, ["import json"], loaded)


def test_weights_beside_a_loaded_module_count(library):
    folder = library / "reasonlib" / "topic" / "weights"
    (folder / "encoder").mkdir(parents=True)
    for name in ("small.safetensors", "encoder/model.safetensors"):
        (folder / name).write_bytes(b"1")
    used = used_files(library, ["import reasonlib.topic.models"], ["loaded\treasonlib/topic/models.py"])
    assert {
        "reasonlib/topic/weights/small.safetensors",
        "reasonlib/topic/weights/encoder/model.safetensors",
    } <= used


def test_cells_with_magics_are_read_and_broken_ones_left_to_the_run():
    assert plain("if x:\n    %pip install y\nimport z") == "if x:\n    pass\nimport z"
    assert plain("def (") == ""


def test_a_digest_follows_content_and_names(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    first, names = digest(tmp_path, "a.txt"), digest(tmp_path, "./")
    file.write_text("two")
    assert digest(tmp_path, "a.txt") != first
    assert digest(tmp_path, "./") == names
    (tmp_path / "b.txt").write_text("")
    assert digest(tmp_path, "./") != names
    assert digest(tmp_path, "gone.txt") == digest(tmp_path, "gone/") == ""
