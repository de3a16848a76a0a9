"""Make the README's picture from the built site: the three questions of the first page, one after another."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

from chromium import NoChromium, chromium

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "book" / "_images" / "screenshot.webp"
LIMIT = 1_500_000  # bytes
STEPS = (  # which answer is chosen, and for how many milliseconds its picture is shown
    ("", 2500),
    ("#door-puzzle [data-right]", 3500),
    ("#door-story [data-option]:not([data-right])", 2500),
    ("#door-story [data-right]", 3500),
    ("#door-talk [data-right]", 5000),
)


def main() -> int:
    """Open the first page, choose the answers, write the animation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    given = parser.parse_args()
    path = given.site.resolve() / "book" / "intro.html"
    if not path.is_file():
        print("run `make book` first", file=sys.stderr)
        return 1
    try:
        with chromium() as browser:
            context = browser.new_context(
                viewport={"width": 1280, "height": 1600}, color_scheme="light", device_scale_factor=1.25
            )
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_load_state("networkidle")
            shots = [shoot(page, answer) for answer, _ in STEPS]
    except NoChromium as error:
        print(error, file=sys.stderr)
        return 1
    save(shots, [shown for _, shown in STEPS])
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size // 1000} kB")
    return 0


def shoot(page: Any, answer: str) -> Any:
    """Choose an answer, named by the folded line that answers it, and take a picture of the questions."""
    from PIL import Image

    if answer:
        line = page.locator(answer).first
        form = line.locator("xpath=ancestor::form")
        form.locator(f"input[value='{line.get_attribute('data-option')}']").check()
        page.evaluate("() => document.activeElement.blur()")
    return Image.open(io.BytesIO(page.locator(".rr-door").screenshot())).convert("RGB")


def save(shots: list[Any], shown: list[int]) -> None:
    """Write the animation, each picture on white at the size of the largest, as sharp as the limit allows."""
    from PIL import Image

    width, height = max(shot.width for shot in shots), max(shot.height for shot in shots)
    frames = []
    for shot in shots:
        frame = Image.new("RGB", (width, height), "white")
        frame.paste(shot, (0, 0))
        frames.append(frame)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    for quality in (85, 75, 60, 45):
        frames[0].save(
            TARGET, "WEBP", save_all=True, append_images=frames[1:], duration=shown, loop=0,
            quality=quality, method=6,
        )  # fmt: skip
        if TARGET.stat().st_size <= LIMIT:
            break


if __name__ == "__main__":
    sys.exit(main())
