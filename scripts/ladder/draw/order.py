"""The order in which tiles are taken, as the kernels' own functions have it."""
from __future__ import annotations

import itertools
from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.levels.description import Description, TileOrder

Draw = Callable[[], Optional[Drawing]]
LEVELS = (5, 7, 8)
FIRST_WAVE = 32  # tiles that are coloured: what 32 CTAs or clusters would have at the same time
WIDE, HIGH = 28, 15  # of a tile


def gallery(context: Context) -> dict[str, Draw]:
    return {f"tile_order_{names.head(level)}": partial(tile_order, context, level)
            for level in names.all_names(context.root)
            if level == names.PRODUCTION or names.number_of(level) in LEVELS}


def tile_order(context: Context, level: str) -> Optional[Drawing]:
    """A grid of tiles per architecture and kind of cluster, numbered as they are taken."""
    shown = [(d, d.tile_order) for arch in names.ARCH_NAMES for d in context.kinds(level, arch) if d.tile_order]
    if not shown:
        return None
    rows, columns = shown[0][1].m_blocks, shown[0][1].n_blocks
    panel = columns * WIDE + 64
    drawing = Drawing(
        f"{names.title(level).capitalize()}: the order of tiles",
        f"{rows} by {columns} tiles of D, numbered in the order in which they are taken: "
        + "; ".join(f"{_name(d)} goes down groups of {_group(d, order)} m-blocks before n advances"
                    for d, order in shown)
        + ".", max(16 + len(shown) * panel + 8, 520), 96 + rows * HIGH + 64)
    drawing.heading(f"{rows} x {columns} tiles, numbered in the order in which they are taken.")
    for index, (description, order) in enumerate(shown):
        _panel(drawing, description, order, 52 + index * panel, 96)
    drawing.legend(16, drawing.height - 30, {"blue": f"the first {FIRST_WAVE} tiles", "none": "later ones"})
    if any(_has_clusters(d) for d, _ in shown):
        drawing.frame(252, drawing.height - 20, 12, 12, "line", 1.5)
        drawing.text(270, drawing.height - 10, "a cluster of CTAs", "soft", SMALL)
    drawing.text(16, drawing.height - 10, "Thick lines part the groups.", "soft", SMALL)
    return drawing


def _has_clusters(description: Description) -> bool:
    """Whether the CTAs of a cluster have a tile each."""
    return description.cluster > 1 and description.tile_owner == "CTA"


def _group(description: Description, order: TileOrder) -> int:
    """m-blocks that are covered before n advances by more than a cluster is wide."""
    first = itertools.takewhile(lambda tile: tile[1] < description.cluster_n, order.tiles)
    return 1 + max(m_block for m_block, _ in first)


def _name(description: Description) -> str:
    is_config = description.config.count("x") == 1  # the production kernel's on Hopper are named after their tile
    return names.ARCH_NAMES[description.arch] + (f" {description.config}" if is_config else "")


def _panel(drawing: Drawing, description: Description, order: TileOrder, left: float, top: float) -> None:
    group, bottom = _group(description, order), top + order.m_blocks * HIGH
    drawing.text(left, top - 24, _name(description), bold=True)
    drawing.text(left, top - 8, f"groups of {group}", "soft", SMALL)
    for block in range(0, order.m_blocks, 4):
        drawing.text(left - 6, top + block * HIGH + 11, f"m {block}" if block == 0 else str(block), "soft", 9, "end")
    for number, (m_block, n_block) in enumerate(order.tiles):
        x, y = left + n_block * WIDE, top + m_block * HIGH
        drawing.rect(x, y, WIDE, HIGH, "blue" if number < FIRST_WAVE else "none", radius=0)
        drawing.label(x, y, WIDE, HIGH, str(number), size=SMALL)
    for m_block, n_block in order.tiles[::description.cluster] if _has_clusters(description) else []:
        drawing.frame(left + n_block * WIDE + 1, top + m_block * HIGH + 1, description.cluster_n * WIDE - 2,
                      description.cluster_m * HIGH - 2, "line", 1.5)
    for edge in range(group, order.m_blocks, group):
        drawing.line((left - 3, top + edge * HIGH), (left + order.n_blocks * WIDE + 3, top + edge * HIGH),
                     stroke="strong", thick=2.5)
    drawing.text(left, bottom + 14, "n", "soft", SMALL)
    drawing.arrow(left + 12, bottom + 10, left + 44, bottom + 10, "line")
