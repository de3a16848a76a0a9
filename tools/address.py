"""The book's public address: kept in pyproject.toml, used everywhere, changed by one command.

    python tools/address.py check
    python tools/address.py set https://github.com/OWNER/NAME

``[project.urls] Repository`` is the one place. Badges, the site's address, the Colab links, the install cells
and the citation file are written from it by ``set``; ``check``, a test, names every line that disagrees.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BRANCH = "main"
PATTERN = re.compile(r"https://github\.com/([\w-]+)/([\w.-]+?)(?:\.git)?/?$")
ELSEWHERE = (
    "book/_offline/",
    "tests/",
    "LICENSE",
    "constraints.txt",
)  # other people's text, and made-up examples
OTHERS = {
    "containers/bubblewrap",
    "google-deepmind/mathematics_dataset",
    "jayleicn/TVQAplus",
    "nyu-mll/CoLA",
    "rbawden/discourse-mt-test-sets",
    "sameenmaruf/selective-attn",
    "smartyfh/DST-STAR",
    "timbmg/RNNLM",
}  # projects that ours links to


@dataclass(frozen=True)
class Address:
    """Everything that is made from the owner and the name of the public repository."""

    owner: str
    name: str

    @classmethod
    def parse(cls, url: str) -> Address:
        """From the address of a GitHub repository."""
        match = PATTERN.match(url.strip())
        if not match:
            raise ValueError(f"the address must look like https://github.com/OWNER/NAME, got {url}")
        return cls(*match.groups())

    @classmethod
    def read(cls, root: Path = ROOT) -> Address:
        """From pyproject.toml."""
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return cls.parse(project["urls"]["Repository"])

    @property
    def slug(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def repository(self) -> str:
        return f"https://github.com/{self.slug}"

    @property
    def site(self) -> str:
        """Where GitHub Pages serves the book."""
        return f"https://{self.owner.lower()}.github.io/{self.name}/"

    @property
    def raw(self) -> str:
        """Where a file of the repository is served as it is."""
        return f"https://raw.githubusercontent.com/{self.slug}/{BRANCH}/"

    @property
    def files(self) -> str:
        """Where a reader looks at a file of the repository."""
        return f"{self.repository}/blob/{BRANCH}/"

    @property
    def colab(self) -> str:
        """What a notebook's path is appended to."""
        return f"https://colab.research.google.com/github/{self.slug}/blob/{BRANCH}/notebooks/"

    @property
    def archive(self) -> str:
        """What pip installs on Colab; needs no git."""
        return f"{self.repository}/archive/refs/heads/{BRANCH}.zip"


def tracked(root: Path = ROOT) -> list[Path]:
    """The text files of the repository that may name the address."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    ).stdout
    files = []
    for name in filter(None, listed.split("\0")):
        path = root / name
        if not name.startswith(ELSEWHERE) and path.is_file() and path.stat().st_size < 2_000_000:
            files.append(path)
    return files


def places(address: Address) -> list[re.Pattern[str]]:
    """Forms an address of a GitHub project takes; the groups are owner and name."""
    part, name = r"([A-Za-z0-9][\w-]*)", r"([A-Za-z0-9][\w.-]*)"
    return [
        re.compile(rf"colab\.research\.google\.com/github/{part}/{name}"),
        re.compile(rf"raw\.githubusercontent\.com/{part}/{name}"),
        re.compile(rf"img\.shields\.io/github/[a-z/-]+/{part}/{name}"),
        re.compile(rf"(?<![\w.-]){part}\.github\.io/{name}"),
        re.compile(rf"(?<![\w.])github\.com/{part}/{name}"),
    ]


def check(root: Path = ROOT) -> list[str]:
    """Lines that name another project's address where ours is meant: "file:line: text"."""
    address = Address.read(root)
    wrong = []
    for path in tracked(root):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if "other project" in line:  # said on the line itself
                continue
            for pattern in places(address):
                for owner, name in pattern.findall(line):
                    name = name.rstrip(".").removesuffix(".git").removesuffix(".zip")
                    if f"{owner}/{name}" in OTHERS or owner == "OWNER":
                        continue
                    if (owner.lower(), name) != (address.owner.lower(), address.name):
                        wrong.append(f"{path.relative_to(root)}:{number}: {owner}/{name}")
    return wrong


def change(url: str, root: Path = ROOT) -> list[Path]:
    """Put a new address in the place of the old one, everywhere; return the files that changed."""
    old, new = Address.read(root), Address.parse(url)
    pairs = [
        (old.site.removeprefix("https://").rstrip("/"), new.site.removeprefix("https://").rstrip("/")),
        (old.slug, new.slug),
    ]
    changed = []
    for path in tracked(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        fresh = text
        for before, after in pairs:
            fresh = re.sub(rf"(?<![\w-]){re.escape(before)}(?![\w-])", after, fresh)
        if fresh != text:
            path.write_text(fresh, encoding="utf-8")
            changed.append(path)
    return changed


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["set"] and len(arguments) == 2:
        try:
            changed = change(arguments[1])
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
        print("\n".join(str(path.relative_to(ROOT)) for path in changed) or "nothing to change")
        return 0
    if arguments not in ([], ["check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = check()
    print("\n".join(wrong) or f"{Address.read().repository}: every link agrees")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
