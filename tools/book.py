"""Execute the chapters that changed, then build the site from their outputs.

    python tools/book.py build [--scale quick] [--site _build/html]
    python tools/book.py chapters [--scale quick]      the first half of build
    python tools/book.py preview NAME ... [--as-is]    a site of these pages alone in _build/preview, at smoke
    python tools/book.py measured                      keep this machine's times in book/measured.json
    python tools/book.py serve [--port 8000]

Papermill executes each chapter in its own process, at the requested scale, and only when something it
depends on has changed: its cells, the files of the library that its last run used (tools/uses.py), its
topic's claims, records and weights, the lock, or the Python. A failing cell stops the build and is kept as
no result, so the next build fails on it again. Prose is not part of this: an edit to it reuses the outputs.

Left in _build/: ``executed/<scale>/`` (the run notebooks and what they depend on), ``status.json`` (seconds,
peak memory and versions of each run), ``<site>/`` and its ``<site>.work/`` (sources, Sphinx's files).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: builds are not kept apart
    fcntl = None  # type: ignore[assignment]

import execution
from chapters import BUILD, ROOT, SCALES, pages, write_if_changed
from execution import STATUS, BuildError, Run, as_lines, read_status, run_chapters, say, to_chapters

MEASURED = ROOT / "book" / "measured.json"  # the runs a fresh clone can quote, before its own


def measured() -> None:
    """Write this machine's runs into the file that is committed."""
    runs = {**read_status(MEASURED), **read_status(STATUS)}
    lines = {
        key: {name: value for name, value in line.items() if name != "ran"} for key, line in runs.items()
    }
    write_if_changed(MEASURED, as_lines(lines))
    say(f"{len(lines)} run(s) in {MEASURED.relative_to(ROOT)}")


def stage(runs: list[Run], folder: Path) -> str:
    """Lay out the site's sources, prose as it is and chapters with their outputs; return their digest."""
    executed = {f"{run.page.name}.md": run for run in runs}
    contents: dict[str, bytes] = {}
    for path in [ROOT / "_config.yml", ROOT / "_toc.yml", *sorted((ROOT / "book").rglob("*"))]:
        name = path.relative_to(ROOT).as_posix()
        if not path.is_file() or "__pycache__" in name or "/." in name:
            continue
        if name in executed:
            contents[name.removesuffix(".md") + ".ipynb"] = (
                executed[name].page_notebook(set(executed)).encode()
            )
        elif path.suffix == ".md":
            contents[name] = to_chapters(path.read_text(encoding="utf-8"), name, set(executed)).encode()
        else:
            contents[name] = path.read_bytes()
    lines = {**read_status(MEASURED), **read_status(STATUS)}
    contents["book/status.json"] = as_lines(
        {key: {**line, "ran": None} for key, line in lines.items()}
    ).encode()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in contents:
            path.unlink()
    for name, data in contents.items():
        write_if_changed(folder / name, data)
    total = hashlib.sha256()
    for name, data in sorted(contents.items()):
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    beside = [
        *ROOT.glob("reasonlib/**/*.py"),
        *ROOT.glob("reasonlib/**/*.yaml"),
        *ROOT.glob("records/**/*.jsonl"),
    ]
    for path in sorted(
        [*beside, ROOT / "constraints.txt", ROOT / "pyproject.toml", Path(__file__), Path(execution.__file__)]
    ):
        total.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return total.hexdigest()


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
    modules = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("reasonlib/**/*.py"))
    read = b"".join(path.read_bytes() for path in paths) + "\n".join(modules).encode()
    whole = hashlib.sha256(read).hexdigest()
    unseen = not (work / "whole").is_file() or (work / "whole").read_text() != whole
    if unseen or not mark.is_file():  # Sphinx does not see this, nor that it was broken off
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

    def nested(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for entry in entries:
            yield entry
            yield from nested(entry.get("sections", []))

    book = yaml.safe_load(toc)
    for part in book["parts"]:
        part["chapters"] = [
            {key: entry[key] for key in ("file", "title") if key in entry}
            for entry in nested(part["chapters"])
            if entry["file"].removeprefix("book/") in {*only, "glossary", "bibliography"}
        ]
    book["parts"] = [part for part in book["parts"] if part["chapters"]]
    return yaml.safe_dump(book, sort_keys=False)


def preview(names: Sequence[str], site: Path, *, as_is: bool) -> None:
    """Build a site of the pages named, to look at while writing; `as_is` keeps outputs of older code."""
    by_name = {page.short: page for page in pages()}
    if unknown := [name for name in names if name not in by_name]:
        raise BuildError(f"there is no page {unknown[0]!r}; there are: {', '.join(by_name)}")
    BUILD.mkdir(exist_ok=True)
    executable = [by_name[name] for name in names if by_name[name].executable]
    runs = [Run(page, "smoke", as_is=as_is) for page in executable]
    if not as_is or not all(run.notebook.is_file() for run in runs):
        runs = run_chapters("smoke", executable)
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
        else:
            return sphinx_in_this_process(given.work, given.site, given.scale, lenient=given.lenient)
    except BuildError as error:
        message = str(error)
        if not sys.stderr.isatty():  # a traceback of IPython is coloured
            message = re.sub(r"\x1b\[[0-9;]*m", "", message)
        print(message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
