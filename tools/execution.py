"""Which chapters must be executed again and why, each in a process of its own, and what is kept of a run.

``python tools/execution.py WORK SCALE`` is the process of one run; tools/book.py starts it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from address import Address
from captions import NoCaption, set_caption
from chapters import BUILD, ROOT, SCALES, Page, chapters, write_if_changed
from gates import link_exercises
from uses import digest, used_files

RULES = 1  # of the key below; raise it when what is compared or kept changes
CELL_SECONDS = 24 * 3600  # a `paper` run bounds itself by its own budget of minutes
ENVIRONMENT = ("REASONLIB_DATA", "REASONLIB_CACHE", "REASONLIB_RECORDS")
STATUS = BUILD / "status.json"  # the runs of this machine


class BuildError(Exception):
    """What stops a build; the message is printed as it is."""


@dataclass
class Run:
    """One chapter at one scale, and where its result is kept."""

    page: Page
    scale: str
    as_is: bool = False  # outputs of an older run will do

    @property
    def base(self) -> Path:
        return BUILD / "executed" / self.scale / self.page.short

    @property
    def notebook(self) -> Path:
        return self.base.with_suffix(".ipynb")

    @property
    def note(self) -> Path:
        return self.base.with_suffix(".json")

    def read(self):
        """The chapter as a notebook: code cells and raw MyST between them."""
        import jupytext

        return jupytext.reads(self.page.text, fmt="md:myst")

    def cells(self) -> list[str]:
        """What is executed, in order."""
        return [cell.source for cell in code_cells(self.read())]

    def ground(self, cells: list[str]) -> dict[str, str]:
        """What outputs depend on besides files: cells, lock, Python, rules, environment variables."""
        return {
            "its cells": hashlib.sha256("\0".join(cells).encode()).hexdigest(),
            "the lock": digest(ROOT, "constraints.txt"),
            "Python": ".".join(platform.python_version_tuple()[:2]),
            "the build's rules": str(RULES),
            "the environment": json.dumps([os.environ.get(name) for name in ENVIRONMENT]),
        }

    def data(self) -> set[str]:
        """The topic's claims and records, read or not: a new record is a new number."""
        topic = self.page.topic
        paths = (
            [
                *ROOT.glob(f"records/{topic}/*.jsonl"),
                *(ROOT / "records" / name for name in ("renames.yaml", "equivalent.jsonl")),
                ROOT / "reasonlib" / topic / "claims.yaml",
            ]
            if topic
            else []
        )
        return {path.relative_to(ROOT).as_posix() for path in paths if path.is_file()}

    def reason(self) -> str | None:
        """Why the chapter must run; None where its kept result still holds."""
        if not (self.note.is_file() and self.notebook.is_file()):
            return "no result yet"
        try:
            kept = json.loads(self.note.read_text(encoding="utf-8"))
            ground, files = dict(kept["ground"]), dict(kept["files"])
            json.loads(self.notebook.read_text(encoding="utf-8"))["cells"]
        except (OSError, ValueError, KeyError, TypeError):
            return "its kept result is damaged"
        for name, value in self.ground(self.cells()).items():
            if ground.get(name) != value:
                return f"{name} changed"
        for name, value in files.items():
            if digest(ROOT, name) != value:
                return f"{name} changed"
        for name in self.data() - set(files):
            return f"{name} is new"
        return None

    def execute(self) -> dict[str, Any]:
        """Run the chapter; raise BuildError with the cell and its traceback if it fails."""
        import nbformat

        for old in (self.note, self.notebook):
            old.unlink(missing_ok=True)
        work = self.base.with_suffix(".work")
        shutil.rmtree(work, ignore_errors=True)
        (work / "watch").mkdir(parents=True)
        (work / "cwd").mkdir()
        source = self.read()
        cells = [cell.source for cell in code_cells(source)]
        nbformat.write(source, work / "in.ipynb")
        environment = {
            "OMP_NUM_THREADS": "1",  # chapters share the cores, and sums keep their order on every machine
            "TOKENIZERS_PARALLELISM": "false",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            **os.environ,
        }
        begun = time.time()
        command = [sys.executable, __file__, str(work), self.scale]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
        if done.returncode:
            raise BuildError(
                f"{self.page.path.relative_to(ROOT)}: {done.stdout.strip() or done.stderr.strip()}"
            )
        result = json.loads((work / "result.json").read_text(encoding="utf-8"))
        seen = [line for path in (work / "watch").iterdir() for line in path.read_text("utf-8").splitlines()]
        files = {}
        for name in sorted(used_files(ROOT, cells, seen) | self.data()):
            path = ROOT / name
            edited = (
                path.is_file() and path.stat().st_mtime >= begun
            )  # while it ran: do not trust this run's reading
            files[name] = "" if edited and path.suffix == ".py" else digest(ROOT, name)
        status = {
            "chapter": self.page.short,
            "scale": self.scale,
            "seconds": round(time.time() - begun, 1),
            "core_seconds": round(result["core_seconds"], 1),
            "peak_mb": round(result["peak_mb"]),
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begun)),
            "ran": True,
            "versions": result["versions"],
        }
        (work / "out.ipynb").replace(self.notebook)
        write_if_changed(
            self.note, json.dumps({"ground": self.ground(cells), "files": files, "status": status}, indent=1)
        )
        shutil.rmtree(work)
        return status

    def kept(self) -> dict[str, Any]:
        """The status of the kept result."""
        return {**json.loads(self.note.read_text(encoding="utf-8"))["status"], "ran": False}

    def pairs(self, notebook: Any, ran: Any) -> list[tuple[Any, Any]]:
        """Each code cell with the cell that ran; as it is, with one of the same source where there is one."""
        if not self.as_is:
            return list(zip(code_cells(notebook), code_cells(ran), strict=True))
        ran_by_source = {cell.source: cell for cell in code_cells(ran)}
        return [
            (cell, ran_by_source[cell.source])
            for cell in code_cells(notebook)
            if cell.source in ran_by_source
        ]

    def page_notebook(self, executed: set[str]) -> str:
        """The chapter's present text with the outputs of its last run: what the site shows."""
        import nbformat

        notebook, ran = self.read(), nbformat.read(self.notebook, as_version=4)
        for cell, done in self.pairs(notebook, ran):
            cell.outputs = [kept for kept in map(page_output, done.outputs) if kept is not None]
            cell.execution_count = done.execution_count
        link_exercises(notebook.cells, Address.read().colab + f"{self.page.short}.ipynb")
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"
            if cell.cell_type == "code":
                try:
                    set_caption(cell)
                except NoCaption as error:
                    raise BuildError(f"{self.page.path.relative_to(ROOT)}: {error}") from None
            if cell.cell_type == "markdown":
                cell.source = to_chapters(cell.source, f"{self.page.name}.md", executed)
        notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
        return nbformat.writes(notebook) + "\n"


def code_cells(notebook) -> list[Any]:
    """The code cells a chapter itself has: papermill's own cell of parameters is not one."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
    ]


def page_output(output: Any) -> Any | None:
    """An output as a page without a kernel can show it: progress bars are left out."""
    data = output.get("data", {})
    if data.pop("application/vnd.jupyter.widget-view+json", None) and not set(data) - {"text/plain"}:
        return None
    if output.output_type == "stream" and output.name == "stderr" and "\r" in output.text:
        return None
    return output


def execute_in_this_process(work: Path, scale: str) -> int:
    """The worker: run in.ipynb to out.ipynb, note peak memory and versions; print a failing cell."""
    import logging
    import resource
    from importlib import metadata

    import nbformat
    import papermill

    paths = [str(ROOT / "tools" / "watch"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # for the kernel and what it starts
    os.environ["REASONLIB_WATCH"] = str(work / "watch")
    os.environ["REASONLIB_WATCH_ROOT"] = str(ROOT)
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        papermill.execute_notebook(
            work / "in.ipynb",
            work / "out.ipynb",
            parameters={"scale": scale},
            kernel_name="python3",
            progress_bar=False,
            request_save_on_cell_execute=False,
            start_timeout=120,
            execution_timeout=CELL_SECONDS,
            cwd=str(work / "cwd"),
        )
    except papermill.PapermillExecutionError as error:
        own = [cell.source for cell in code_cells(nbformat.read(work / "in.ipynb", as_version=4))]
        failed_cell = (
            f"code cell {own.index(error.source) + 1}" if error.source in own else "the cell of parameters"
        )
        print(f"{failed_cell} failed\n")
        print("\n".join("    " + line for line in error.source.splitlines()))
        print("\n" + "\n".join(error.traceback))
        return 1
    unit = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss: bytes there, KiB elsewhere
    names = ("reasonlib", "torch", "transformers", "accelerate", "numpy")
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    kernel, worker = (resource.getrusage(scope) for scope in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    result = {
        "peak_mb": kernel.ru_maxrss / unit,
        "core_seconds": sum(each.ru_utime + each.ru_stime for each in (kernel, worker)),
        "versions": versions,
    }
    (work / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return 0


def run_chapters(scale: str, pages: Sequence[Page] | None = None) -> list[Run]:
    """Bring every chapter up to date, or those given; say for each whether it ran and why."""
    runs = [Run(page, scale) for page in (chapters() if pages is None else pages)]
    reasons = {run.page.short: run.reason() for run in runs}
    todo = [run for run in runs if reasons[run.page.short]]
    workers = max(1, min(len(todo), os.cpu_count() or 1, 1 if scale == "paper" else 8))
    failures: list[str] = []
    lock = threading.Lock()

    def work(run: Run) -> None:
        say(f"{run.page.short:<28} runs at {scale} ({reasons[run.page.short]})")
        try:
            status = run.execute()
        except BuildError as error:
            failures.append(str(error))
        else:
            say(f"{run.page.short:<28} ran   {cost(status)}")
            with lock:
                keep_status(status)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, todo))
    for run in runs:
        if not reasons[run.page.short]:
            status = run.kept()
            say(f"{run.page.short:<28} kept  {cost(status)}")
            keep_status(status)
    if failures:
        rule = "\n" + "=" * 100 + "\n"
        raise BuildError(rule + rule.join(failures) + rule + f"{len(failures)} chapter(s) failed")
    return runs


def cost(status: dict[str, Any]) -> str:
    """What a run took: seconds on the clock and of one core (not noted by older runs), and memory."""
    cores = f"{status['core_seconds']:.1f}" if "core_seconds" in status else "–"
    return f"{status['seconds']:6.1f} s  {cores:>6} core-s  {status['peak_mb']:5d} MB"


def keep_status(status: dict[str, Any]) -> None:
    """Put one chapter's line into _build/status.json, in place of the line of its last run at that scale."""
    write_if_changed(STATUS, as_lines({**read_status(STATUS), (status["chapter"], status["scale"]): status}))


def read_status(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Lines of a status file by chapter and scale."""
    try:
        lines = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        return {(line["chapter"], line["scale"]): line for line in lines}
    except (ValueError, KeyError, TypeError):
        return {}  # damaged: the next run writes it again


def as_lines(status: dict[tuple[str, str], dict[str, Any]]) -> str:
    """A status file's text: chapters in reading order, small scales first, nothing that left the book."""
    order = {page.short: number for number, page in enumerate(chapters())}
    kept = [line for line in status.values() if line["chapter"] in order]
    kept.sort(key=lambda line: (order[line["chapter"]], SCALES.index(line["scale"])))
    return json.dumps(kept, indent=1) + "\n"


def to_chapters(text: str, name: str, executed: set[str]) -> str:
    """Point links at chapters to the executed notebooks that stand in their place; `name` is this page."""

    def point(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(name), f"{match[1]}.md"))
        return f"]({match[1]}.ipynb{match[2] or ''})" if target in executed else match[0]

    return re.sub(r"\]\(([^()\s#:]+)\.md(#[^()\s]*)?\)", point, text)


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(execute_in_this_process(Path(sys.argv[1]), sys.argv[2]))
