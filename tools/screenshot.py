"""Make the README's picture from the built site: the first page on a desktop, and on a phone in the dark."""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "book" / "_images" / "screenshot.webp"
LIMIT = 300_000  # bytes
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", default="book/intro.html")
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--below", type=int, default=0, help="pixels to scroll down on the desktop first")
    given = parser.parse_args()
    path = given.site.resolve() / given.page
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not path.is_file() or browser is None:
        print("run `make book` first" if browser else "no Chromium on this machine", file=sys.stderr)
        return 1

    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        shots = []
        for width, height, scheme, below in ((1280, 860, "light", given.below), (390, 860, "dark", 0)):
            context = opened.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.25
            )
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_load_state("networkidle")
            page.evaluate(f"() => window.scrollTo(0, {below})")
            shots.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
            context.close()
        opened.close()
    gap = 24
    picture = Image.new("RGB", (sum(shot.width for shot in shots) + gap, shots[0].height), "white")
    picture.paste(shots[0], (0, 0))
    picture.paste(shots[1], (shots[0].width + gap, 0))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    for quality in (85, 75, 60, 45):
        picture.save(TARGET, "WEBP", quality=quality, method=6)
        if TARGET.stat().st_size <= LIMIT:
            break
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
