"""Published cells that our runs do not agree with, by the reason they share."""

import html

from reasonlib.display import plotting
from reasonlib.tracking import claims

__all__ = ["AGAINST", "objections"]

AGAINST = ("contradicted", "challenged", "exceeded")
"""Verdicts on cells that our runs do not agree with."""

CSS = """
.rr-objections li{margin:0 0 .6rem;font-variant-numeric:tabular-nums}
.rr-objections span{font-size:.92em}
"""


def objections(table: str, experiment: str) -> plotting.Picture:
    """List the cells of a published table that our runs do not agree with, under the reason they share.

    Parameters
    ----------
    table
        As the claims name it, such as ``Table 3.1: all systems``.
    experiment
        Only cells that this experiment answers.
    """
    cells_by_reason: dict[str, dict[str, list[str]]] = {}
    for row in claims.table("goal_dialogue", table=table):
        if row["verdict"] in AGAINST and row["experiment"] == experiment and row["row"]:
            system, _, column = row["row"].rpartition(", ")
            side = f"{system}, ours {'higher' if row['ours']['mean'] > row['published'] else 'lower'}"
            cells_by_reason.setdefault(row["reason"] or "The reason is unknown.", {}).setdefault(
                side, []
            ).append(column)
    items, alt_parts = [], []
    for reason, sides in cells_by_reason.items():
        cells = [f"{side}: {'; '.join(columns)}" for side, columns in sides.items()]
        lines = "<br>".join(map(html.escape, cells))
        items.append(f"<li>{lines}<br><span>{html.escape(reason)}</span></li>")
        alt_parts.append(f"{'. '.join(cells)}. {reason}")
    alt = f"Cells of {table} that our runs do not agree with. {' '.join(alt_parts) or 'None.'}"
    listed = "".join(items) or "<li>none</li>"
    return plotting.Picture(
        f'<style>{CSS}</style><div class="rr rr-objections"><ul>{listed}</ul></div>', alt=alt
    )
