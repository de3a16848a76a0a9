"""Note which files of the repository a process loads or opens (see tools/uses.py).

tools/book.py puts this folder on PYTHONPATH while a chapter runs, so that the chapter's kernel and every
process it starts import this module first. Lines go to ``$REASONLIB_WATCH/<pid>``:
``loaded`` for a module's file, ``opened`` for a file read, ``listed`` for a folder listed, ``called`` for a
module asked for by name with ``importlib.import_module``.
"""

import os
import sys


def watch(root: str, folder: str) -> None:
    """Start noting everything below `root`, except hidden folders, _build/ and tools/."""
    seen: set[tuple[str, str]] = set()
    kinds = {"open": "opened", "os.scandir": "listed", "os.listdir": "listed"}
    importing = "<frozen importlib._bootstrap_external>"

    def note(kind: str, target: str) -> None:
        if (kind, target) not in seen:
            seen.add((kind, target))
            with open(os.path.join(folder, str(os.getpid())), "a", encoding="utf-8") as out:
                out.write(f"{kind}\t{target}\n")

    def hook(event: str, arguments: tuple) -> None:
        if event not in kinds or not arguments or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if not path.startswith(root):
            return
        inside = path[len(root) :]
        if inside.startswith((".", "_build", "tools/")):
            return
        if event == "open" and isinstance(arguments[1], str) and not arguments[1].startswith("r"):
            return
        caller = sys._getframe().f_back
        by_import = caller is not None and caller.f_code.co_filename == importing
        if not by_import:
            note(kinds[event], inside)
        elif event == "open":
            head, cached, tail = inside.rpartition("__pycache__/")
            note("loaded", head + tail.partition(".")[0] + ".py" if cached else inside)

    sys.addaudithook(hook)

    import importlib

    original = importlib.import_module

    def import_module(name: str, package: str | None = None):
        note("called", importlib.util.resolve_name(name, package) if name.startswith(".") else name)
        return original(name, package)

    import importlib.util

    importlib.import_module = import_module


if os.environ.get("REASONLIB_WATCH"):
    watch(os.environ["REASONLIB_WATCH_ROOT"].rstrip("/") + "/", os.environ["REASONLIB_WATCH"])
