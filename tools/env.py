"""Make the environment: a virtual environment with the library and everything the book and its tests need.

Runs on the bare interpreter of a fresh machine, so it uses the standard library alone.
"""

import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "book,dask,test,widgets"


def main(folder: str) -> int:
    if sys.version_info < (3, 11):
        print(
            f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: "
            "try `make book PYTHON=python3.12`",
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
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        "constraints.txt",
        "-e",
        f".[{EXTRAS}]",
    ]
    # an index that fails to answer for a moment looks to pip like a conflict: ask once more
    if all(subprocess.run(command, cwd=ROOT).returncode for _ in range(2)):
        print(
            "the installation failed twice: see the lines above, then run the same command again",
            file=sys.stderr,
        )
        return 1
    (target / ".reasonlib-env").write_text("made from pyproject.toml and constraints.txt\n")
    print(f"environment ready in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ".venv"))
