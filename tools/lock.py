"""Write constraints.txt, the one lock: what this environment holds of what the project asks for.

Walks the requirements of the project with all its extras, through every package they reach, and notes the
installed version of each. Local builds lose their local part (``2.13.0+cpu`` becomes ``2.13.0``).
"""

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# The one lock, made by `make lock`; lower bounds for people are in pyproject.toml.\n"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def closure(root: str) -> dict[str, str]:
    """Version of every installed package that `root` with all its extras reaches."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    own = metadata.distribution(root)
    queue = [(root, extra) for extra in ("", *(own.metadata.get_all("Provides-Extra") or ()))]
    while queue:
        name, extra = queue.pop()
        if (canonical(name), extra) in seen:
            continue
        seen.add((canonical(name), extra))
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        versions[canonical(name)] = package.version.split("+")[0]
        for text in package.requires or ():
            requirement = Requirement(text)
            if applies(requirement, extra):
                queue += [(requirement.name, each) for each in ("", *requirement.extras)]
    versions.pop(canonical(root), None)
    return versions


def main() -> int:
    lines = [f"{name}=={version}\n" for name, version in sorted(closure("reasonlib").items())]
    (ROOT / "constraints.txt").write_text(HEAD + "".join(lines), encoding="utf-8")
    print(f"constraints.txt: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
