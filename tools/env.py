"""Make the environment: a virtual environment with the library and everything the book and its tests need.

    python tools/env.py FOLDER [locked|newest|oldest]

``locked`` installs the versions of constraints.txt, ``newest`` the newest that pyproject.toml allows, and
``oldest`` its lower bounds, which uv resolves. Runs on the bare interpreter of a fresh machine, so it uses
the standard library alone.
"""

import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "book,dask,test,widgets"
VERSIONS = ("locked", "newest", "oldest")


def main(folder: str, versions: str = "locked") -> int:
    if versions not in VERSIONS:
        print(f"versions must be one of {', '.join(VERSIONS)}, got {versions!r}", file=sys.stderr)
        return 2
    if sys.version_info < (3, 11):
        print(
            f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: "
            "try `make book PYTHON=python3.12`",
            file=sys.stderr,
        )
        return 2
    if versions == "oldest" and sys.version_info >= (3, 12):
        print(
            f"the oldest versions have no builds for Python {sys.version.split()[0]}: "
            "try `make oldest PYTHON=python3.11`",
            file=sys.stderr,
        )
        return 2
    start = time.monotonic()
    target = Path(folder).absolute()
    python = target / "bin" / "python"
    if not python.exists():
        print(f"making the environment in {folder} (once; a few minutes)")
        try:
            venv.create(target, with_pip=True)
        except (subprocess.CalledProcessError, SystemExit, ImportError):
            print(
                "this Python cannot make virtual environments: install Debian's python3-venv "
                "(or your system's like), then run the same command again",
                file=sys.stderr,
            )
            return 2
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    project = ["-e", f".[{EXTRAS}]"]
    uv = [str(python), "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
    commands = {
        "locked": [[*pip, "-c", "constraints.txt", *project]],
        "newest": [[*pip, "--upgrade", *project]],
        "oldest": [[*pip, "uv"], [*uv, "--resolution", "lowest-direct", *project]],
    }
    # an index that fails to answer for a moment looks to pip like a conflict: ask once more
    if any(
        all(subprocess.run(command, cwd=ROOT).returncode for _ in range(2)) for command in commands[versions]
    ):
        print(
            "the installation failed twice: see the lines above, then run the same command again",
            file=sys.stderr,
        )
        return 1
    (target / ".reasonlib-env").write_text(f"{versions}: made from pyproject.toml and constraints.txt\n")
    print(f"environment ready in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [".venv"])))
