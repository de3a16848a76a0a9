"""Execute the chapters that changed, then build the site from their outputs.

    python tools/book.py build [--scale quick] [--site _build/html]
    python tools/book.py chapters [--scale quick]      the first half of build
    python tools/book.py preview NAME ... [--as-is]    a site of these pages alone in _build/preview, at smoke
    python tools/book.py measured                      keep this machine's times in book/measured.json
    python tools/book.py serve [--port 8000]

A chapter is executed by papermill in a process of its own, at the scale asked for, and only when something it
rests on changed: its cells, the files of the library its last run used (tools/uses.py), its topic's claims,
records and weights, the lock, or the Python. A failing cell stops the build and is kept as no result, so
the next build fails on it again. Prose is not part of this: an edit to it reuses the outputs.

Left in _build/: ``executed/<scale>/`` (the run notebooks and what they rest on), ``status.json`` (seconds,
peak memory and versions of each run), ``<site>/`` and its ``<site>.work/`` (sources, Sphinx's files).
"""

from __future__ import annotations

import argparse
import contextlib
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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: builds are not kept apart
    fcntl = None  # type: ignore[assignment]

from address import Address
from captions import NoCaption, set_caption
from chapters import BUILD, ROOT, SCALES, Page, chapters, pages, write_if_changed
from gates import link_exercises
from uses import digest, used_files

RULES = 1  # of the key below; raise it when what is compared or kept changes
CELL_SECONDS = 24 * 3600  # a `paper` run bounds itself by its own budget of minutes
ENVIRONMENT = ("REASONLIB_DATA", "REASONLIB_CACHE", "REASONLIB_RECORDS")
STATUS = BUILD / "status.json"  # the runs of this machine
MEASURED = ROOT / "book" / "measured.json"  # the runs a fresh clone can quote, before its own


class BuildError(Exception):
    """What stops a build; the message is printed as it is."""


# ---------------------------------------------------------------- chapters


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
        """Everything outside the repository's other files that the outputs rest on."""
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
        command = [sys.executable, __file__, "_execute", str(work), self.scale]
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
        known = {cell.source: cell for cell in code_cells(ran)}
        return [(cell, known[cell.source]) for cell in code_cells(notebook) if cell.source in known]

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
        which = (
            f"code cell {own.index(error.source) + 1}" if error.source in own else "the cell of parameters"
        )
        print(f"{which} failed\n")
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
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    (work / "result.json").write_text(json.dumps({"peak_mb": peak, "versions": versions}), encoding="utf-8")
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
            say(f"{run.page.short:<28} ran   {status['seconds']:6.1f} s  {status['peak_mb']:5d} MB")
            with lock:
                keep_status(status)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, todo))
    for run in runs:
        if not reasons[run.page.short]:
            status = run.kept()
            say(f"{run.page.short:<28} kept  {status['seconds']:6.1f} s  {status['peak_mb']:5d} MB")
            keep_status(status)
    if failures:
        rule = "\n" + "=" * 100 + "\n"
        raise BuildError(rule + rule.join(failures) + rule + f"{len(failures)} chapter(s) failed")
    return runs


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


def measured() -> None:
    """Write this machine's runs into the file that is committed."""
    runs = {**read_status(MEASURED), **read_status(STATUS)}
    lines = {
        key: {name: value for name, value in line.items() if name != "ran"} for key, line in runs.items()
    }
    write_if_changed(MEASURED, as_lines(lines))
    say(f"{len(lines)} run(s) in {MEASURED.relative_to(ROOT)}")


# ---------------------------------------------------------------- site


def stage(runs: list[Run], folder: Path) -> str:
    """Lay out the site's sources, prose as it is and chapters with their outputs; return their digest."""
    executed = {f"{run.page.name}.md": run for run in runs}
    wanted: dict[str, bytes] = {}
    for path in [ROOT / "_config.yml", ROOT / "_toc.yml", *sorted((ROOT / "book").rglob("*"))]:
        name = path.relative_to(ROOT).as_posix()
        if not path.is_file() or "__pycache__" in name or "/." in name:
            continue
        if name in executed:
            wanted[name.removesuffix(".md") + ".ipynb"] = executed[name].page_notebook(set(executed)).encode()
        elif path.suffix == ".md":
            wanted[name] = to_chapters(path.read_text(encoding="utf-8"), name, set(executed)).encode()
        else:
            wanted[name] = path.read_bytes()
    known = {**read_status(MEASURED), **read_status(STATUS)}
    wanted["book/status.json"] = as_lines(
        {key: {**line, "ran": None} for key, line in known.items()}
    ).encode()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, data in wanted.items():
        write_if_changed(folder / name, data)
    total = hashlib.sha256()
    for name, data in sorted(wanted.items()):
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    beside = [
        *ROOT.glob("reasonlib/**/*.py"),
        *ROOT.glob("reasonlib/**/*.yaml"),
        *ROOT.glob("records/**/*.jsonl"),
    ]
    for path in sorted([*beside, ROOT / "constraints.txt", ROOT / "pyproject.toml", Path(__file__)]):
        total.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return total.hexdigest()


def to_chapters(text: str, name: str, executed: set[str]) -> str:
    """Point links at chapters to the executed notebooks that stand in their place; `name` is this page."""

    def point(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(name), f"{match[1]}.md"))
        return f"]({match[1]}.ipynb{match[2] or ''})" if target in executed else match[0]

    return re.sub(r"\]\(([^()\s#:]+)\.md(#[^()\s]*)?\)", point, text)


def build_site(runs: list[Run], site: Path, scale: str, *, only: Sequence[str] | None = None) -> str:
    """Run Sphinx where anything it reads changed; warnings are errors. Return what was done.

    With `only`, the site has these pages alone, and warnings, such as of links to other pages, are none.
    """
    work = site.with_name(site.name + ".work")
    mark = work / "built"
    key = scale + " " + stage(runs, work / "source")
    if only is not None:
        toc = work / "source" / "_toc.yml"
        write_if_changed(toc, contents_of(toc.read_text(encoding="utf-8"), only))
        key += " ".join(only)
    if mark.is_file() and mark.read_text() == key and (site / "index.html").is_file():
        return "kept"
    paths = sorted([*(ROOT / "book" / "_ext").glob("*.py"), ROOT / "constraints.txt"])
    whole = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    unseen = not (work / "whole").is_file() or (work / "whole").read_text() != whole
    if unseen or not mark.is_file():  # Sphinx sees neither a changed extension nor that it was broken off
        shutil.rmtree(work / "doctrees", ignore_errors=True)
    (work / "whole").write_text(whole)
    mark.unlink(missing_ok=True)
    command = [sys.executable, __file__, "_sphinx", str(work), str(site), scale]
    command += [] if only is None else ["--lenient"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    log = done.stdout + done.stderr
    (work / "sphinx.log").write_text(log, encoding="utf-8")
    if done.returncode:
        shutil.rmtree(
            work / "doctrees", ignore_errors=True
        )  # so that the next build meets every warning again
        lines = [
            line for line in log.splitlines() if any(word in line for word in ("WARNING", "ERROR", "rror:"))
        ]
        raise BuildError(
            "\n".join([*(lines or log.splitlines()[-30:]), f"the site has warnings: {work / 'sphinx.log'}"])
        )
    for run in runs:  # what a reader downloads is the notebook for people, not the one for Sphinx
        if run.page.notebook.is_file():
            shutil.copyfile(run.page.notebook, site / "_sources" / f"{run.page.name}.ipynb")
    mark.write_text(key)
    return "built"


def contents_of(toc: str, only: Sequence[str]) -> str:
    """A table of contents with the first page and these pages alone, in their parts."""
    import yaml

    book = yaml.safe_load(toc)
    for part in book["parts"]:
        part["chapters"] = [
            {key: entry[key] for key in ("file", "title") if key in entry}
            for entry in part["chapters"]
            if entry["file"].removeprefix("book/") in {*only, "glossary", "bibliography"}
        ]
    book["parts"] = [part for part in book["parts"] if part["chapters"]]
    return yaml.safe_dump(book, sort_keys=False)


def preview(names: Sequence[str], site: Path, *, as_is: bool) -> None:
    """Build a site of the pages named, to look at while writing; `as_is` keeps outputs of older code."""
    there = {page.short: page for page in pages()}
    if unknown := [name for name in names if name not in there]:
        raise BuildError(f"there is no page {unknown[0]!r}; there are: {', '.join(there)}")
    BUILD.mkdir(exist_ok=True)
    wanted = [there[name] for name in names if there[name].executable]
    runs = [Run(page, "smoke", as_is=as_is) for page in wanted]
    if not as_is or not all(run.notebook.is_file() for run in runs):
        runs = run_chapters("smoke", wanted)
    build_site(runs, site, "smoke", only=names)
    for name in names:
        say((site / "book" / f"{name}.html").resolve().as_uri())


def sphinx_in_this_process(work: Path, site: Path, scale: str, *, lenient: bool = False) -> int:
    """The worker: Jupyter Book's own Sphinx build over the staged sources, with execution off."""
    from jupyter_book.sphinx import build_sphinx

    source = work / "source"
    result = build_sphinx(
        str(source),
        str(site),
        path_config=source / "_config.yml",
        doctreedir=str(work / "doctrees"),
        noconfig=True,
        confoverrides={
            "latex_individualpages": False,
            "reasonlib_repository": str(ROOT),
            "reasonlib_scale": scale,
            "external_toc_path": str(source / "_toc.yml"),
        },
        warningiserror=not lenient,
        keep_going=True,
    )
    return result if isinstance(result, int) else 1


def build(scale: str, site: Path) -> None:
    """Chapters, then site; say where it is and how long it took."""
    start = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    runs = run_chapters(scale)
    before = time.monotonic()
    done = build_site(runs, site, scale)
    say(f"{'site':<28} {done:<5} {time.monotonic() - before:6.1f} s")
    index = (site / "index.html").resolve()
    say(
        f"\nThe book is at {index.as_uri()} (scale {scale}; {time.monotonic() - start:.1f} s). "
        "`make serve` opens it."
    )


def serve(site: Path, port: int) -> None:
    """Serve the built site on this machine and open it in the reader's browser."""
    import webbrowser
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    if not (site / "index.html").is_file():
        raise BuildError("there is no site yet: run `make book` first")
    if not 0 <= port <= 65535:
        raise BuildError(f"port must be between 0 and 65535, got {port}: try `make serve PORT=8000`")
    try:
        server = ThreadingHTTPServer(
            ("127.0.0.1", port), partial(SimpleHTTPRequestHandler, directory=str(site))
        )
    except OSError as error:
        raise BuildError(
            f"port {port} cannot be used ({error.strerror}): try `make serve PORT={port + 1}`"
        ) from None
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    say(f"the book is at {address} (Ctrl-C ends)")
    webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say("")


def say(line: str) -> None:
    print(line, flush=True)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one build at a time write below a folder; another one waits for it."""
    if fcntl is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"another build is writing to {folder}; waiting until it has ended")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    each = commands.add_parser("build", help="execute what changed and build the site")
    each.add_argument("--scale", choices=SCALES, default="quick")
    each.add_argument("--site", type=Path, default=BUILD / "html")
    each = commands.add_parser("chapters", help="execute what changed")
    each.add_argument("--scale", choices=SCALES, default="quick")
    each = commands.add_parser("preview", help="a small site of some pages, at smoke")
    each.add_argument("names", nargs="+", metavar="NAME", help="such as story_qa/memory or intro")
    each.add_argument("--site", type=Path, default=BUILD / "preview")
    each.add_argument("--as-is", action="store_true", help="show the last outputs, run nothing")
    commands.add_parser("measured", help="write times and memory into book/measured.json")
    each = commands.add_parser("serve", help="serve the built site")
    each.add_argument("--site", type=Path, default=BUILD / "html")
    each.add_argument("--port", type=int, default=8000)
    each = commands.add_parser("_execute")
    each.add_argument("work", type=Path)
    each.add_argument("scale")
    each = commands.add_parser("_sphinx")
    each.add_argument("work", type=Path)
    each.add_argument("site", type=Path)
    each.add_argument("scale")
    each.add_argument("--lenient", action="store_true")
    given = parser.parse_args()
    try:
        if given.command == "build":
            with alone(BUILD):
                build(given.scale, given.site.resolve())
        elif given.command == "chapters":
            with alone(BUILD):
                run_chapters(given.scale)
        elif given.command == "preview":
            with alone(BUILD):
                preview(given.names, given.site.resolve(), as_is=given.as_is)
        elif given.command == "measured":
            measured()
        elif given.command == "serve":
            serve(given.site.resolve(), given.port)
        elif given.command == "_execute":
            return execute_in_this_process(given.work, given.scale)
        else:
            return sphinx_in_this_process(given.work, given.site, given.scale, lenient=given.lenient)
    except BuildError as error:
        told = str(error)
        if not sys.stderr.isatty():  # a traceback of IPython is coloured
            told = re.sub(r"\x1b\[[0-9;]*m", "", told)
        print(told, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
