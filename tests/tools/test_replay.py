"""nbval compares the outputs of a run that there has been with those that a notebook stores."""

import json
import subprocess
import sys

import nbformat
import pytest
from chapters import ROOT
from nbformat.v4 import new_code_cell, new_notebook, new_output
from replay import OUTPUTS

SUM = "print(2 + 2)"


def printed(text):
    return new_output("stream", name="stdout", text=text)


def compare(folder, *, stored, ran):
    """Run nbval on a notebook that stores one output, with another in place of a kernel's."""
    cell = new_code_cell(SUM, execution_count=1, outputs=[printed(stored)])
    cell.metadata["tags"] = ["nbval-check-output"]
    notebook = new_notebook(cells=[new_code_cell("# not run"), cell])
    nbformat.write(notebook, folder / "chapter.ipynb")
    (folder / OUTPUTS).write_text(json.dumps([(SUM, ran)]), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "replay", "--nbval-lax"]
    command += ["--nbval-current-env", "-q", "--rootdir", folder, "-c", "/dev/null", folder]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT / "tools")}, capture_output=True, text=True
    )


def test_equal_outputs_pass(tmp_path):
    done = compare(tmp_path, stored="4\n", ran=[printed("4\n")])
    assert done.returncode == 0 and "2 passed" in done.stdout


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        ([printed("5\n")], "Cell outputs differ"),
        ([], "Cell outputs differ"),
        ([new_output("error", ename="ValueError", evalue="no", traceback=["no"])], "caused an exception"),
    ],
    ids=["another", "none", "error"],
)
def test_other_outputs_fail(tmp_path, ran, says):
    done = compare(tmp_path, stored="4\n", ran=ran)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout and says in done.stdout
