"""Compile the C of live figures to WebAssembly with SIMD.

    pip install ziglang==0.17.1        a C compiler as a package; the book and the library do not need it
    python tools/wasm.py               every reasonlib/display/live/*.c gets its .wasm

A module imports its memory, needs no library and no stack, and holds, as a section named `source`, the digest
of the C that it was compiled from. A test compares the digests, so that the two stay in step.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from chapters import ROOT

FOLDER = ROOT / "reasonlib" / "display" / "live"
COMPILER = (sys.executable, "-m", "ziglang", "cc", "--target=wasm32-freestanding", "-O3", "-msimd128")
LINKER = ("-nostdlib", "-Wl,--no-entry,--import-memory,--strip-all,-z,stack-size=0")


def source_section(source: Path) -> bytes:
    """Give the custom section that names the C: its kind 0, its length, then a name and the digest."""
    digest = hashlib.sha256(source.read_text(encoding="utf-8").encode()).digest()
    name = b"source"
    return bytes([0, 1 + len(name) + len(digest), len(name)]) + name + digest


def compiled(source: Path) -> Path:
    """Compile a file of C into the module beside it."""
    module = source.with_suffix(".wasm")
    subprocess.run([*COMPILER, *LINKER, "-o", str(module), str(source)], check=True)
    module.write_bytes(module.read_bytes() + source_section(source))
    module.chmod(0o644)
    return module


def main() -> int:
    """Compile all."""
    for source in sorted(FOLDER.glob("*.c")):
        module = compiled(source)
        print(f"{module.relative_to(ROOT)}: {module.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
