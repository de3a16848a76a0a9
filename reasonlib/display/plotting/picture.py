"""What a page shows: a finished figure as SVG inside HTML, with the words that stand for it."""

import hashlib
import html
import io
import re
from pathlib import Path

from matplotlib.figure import Figure

from reasonlib.display.plotting.style import INK, theme

__all__ = ["CSS", "Picture", "beside", "show"]

CSS = """
.rr{color:inherit}
.rr-figure{margin:1rem 0;max-width:34rem}
.rr-figure svg{display:block;width:100%;height:auto;color:inherit}
.rr-figure figcaption{font-size:.9em;margin-top:.4rem;text-align:left}
.rr figcaption{font-weight:400}
.rr figcaption strong{font-weight:600}
.rr figcaption,.rr figcaption *{color:inherit!important}
.rr-beside{display:flex;flex-wrap:wrap;gap:1rem}
.rr-beside>*{flex:1 1 17rem;margin:0}
.rr-hops{margin:1rem 0;max-width:44rem;overflow-x:auto}
.rr-hops table{border-collapse:collapse;width:100%;font-size:.92em;color:inherit;margin:0;background:none}
.rr-hops figcaption{text-align:left;margin-bottom:.4rem}
.rr-hops caption{caption-side:bottom;text-align:left;font-size:.9em;padding-top:.4rem;color:inherit}
.rr-hops :is(th,td){border:0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.3rem .35rem;background:none;color:inherit;font-weight:normal}
.rr-hops thead th{font-weight:600;text-align:center;vertical-align:bottom}
.rr-hops :is(thead th:first-child:not(.rr-hop),tbody th){text-align:left}
.rr-hops td{text-align:center;font-variant-numeric:tabular-nums;min-width:2.2rem}
.rr-hops .rr-needed th{font-weight:600;box-shadow:inset .25rem 0 currentColor;padding-left:.7rem}
@media(max-width:30rem){.rr-hops :is(td,.rr-hop){padding:.3rem .08rem;min-width:1.75rem;font-size:.9em}}
.rr-hops .rr-tag{font-size:.8em;font-weight:600;border:1px solid;border-radius:.3rem;padding:0 .3rem;
white-space:nowrap}
html[data-theme=dark] .bd-content div.cell_output .text_html:has(.rr){
background:none!important;color:inherit!important;padding:0!important}
"""


class Picture:
    """Something to look at, as HTML, with the words that stand for it.

    A cell that ends with it shows it; `save` writes it as a page of its own.

    Attributes
    ----------
    html
        A fragment that needs nothing else: no script, no style sheet, no network.
    alt
        What it shows, for those who cannot see it; also how it prints in a terminal.
    css
        Its style sheet; by default that of all pictures.
    """

    def __init__(self, body: str, *, alt: str, css: str = CSS):
        self.html = body
        self.alt = alt
        self.css = css

    def _repr_html_(self) -> str:
        return f"<style>{self.css}</style>{self.html}"

    def __repr__(self) -> str:
        return self.alt

    def save(self, path: str | Path) -> None:
        """Write the picture as a page of its own that follows the reader's light or dark setting."""
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="color-scheme" content="light dark">'
            '<meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(self.alt)}</title><style>body{{font-family:sans-serif}}</style>"
            f"{self._repr_html_()}\n"
        )
        Path(path).write_text(page, encoding="utf-8")


def show(drawing: Figure, *, alt: str, caption: str | None = None) -> Picture:
    """Turn a finished figure into a picture for the page.

    Parameters
    ----------
    drawing
        Made inside `theme()` by `figure` or by any function of this module. The functions leave the numbers
        they drew in words on the figure, and these are added to `alt`.
    alt
        What a reader who cannot see the figure should learn from it.
    caption
        Printed under the figure.

    Raises
    ------
    ValueError
        Without alternative text.
    """
    if not alt or not alt.strip():
        raise ValueError(f"alt must say in words what the figure shows, got {alt!r}")
    words = " ".join(part for part in (alt.strip(), str(drawing.get_label())) if part)
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return Picture(f'<figure class="rr rr-figure">{_svg(drawing, alt=words)}{below}</figure>', alt=words)


def beside(*pictures: Picture) -> Picture:
    """Put pictures next to each other, or one under the other where the page is narrow."""
    if not pictures:
        raise ValueError("beside needs at least one picture")
    inner = "".join(picture.html for picture in pictures)
    return Picture(
        f'<div class="rr rr-beside">{inner}</div>', alt=" ".join(picture.alt for picture in pictures)
    )


def _svg(drawing: Figure, *, alt: str) -> str:
    """Render for a place inside a page: no fixed size, no clashing ids, ink in the page's own colour."""
    stream = io.StringIO()
    with theme():
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        drawing.savefig(stream, format="svg", metadata=metadata, transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "\n", text).replace(INK, "currentColor")
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", text)
    own = "r" + hashlib.sha256((alt + text).encode()).hexdigest()[:10]
    text = re.sub(r' id="', f' id="{own}-', text)
    text = re.sub(r'((?:xlink:)?href="|url\()#', rf"\1#{own}-", text)
    text = text.replace("xlink:href", "href")
    view = re.search(r'viewBox="([^"]+)"', text)
    assert view is not None  # the SVG backend always writes one
    head = (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="{view[1]}" '
        'style="stroke-linejoin:round;stroke-linecap:butt">'
    )
    return head + text[text.index(">") + 1 :].strip()
