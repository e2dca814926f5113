"""The order in which tiles are taken, from the kernels' own functions."""
from __future__ import annotations

from functools import partial
from typing import Callable, Optional

from ladder.context import Context, cluster_shape
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.levels.description import Description

Draw = Callable[[], Optional[Drawing]]
M_BLOCKS, N_BLOCKS = 20, 6
LEVELS = (5, 7, 8)
FIRST_WAVE = 32  # tiles that are coloured: what 32 CTAs or clusters would have at the same time


def gallery(context: Context) -> dict[str, Draw]:
    return {f"tile_order_{number:02}": partial(tile_order, context, level) for level in names.all_levels(context.root)
            if (number := names.number_of(level)) in LEVELS}


def tile_order(context: Context, level: str) -> Optional[Drawing]:
    """A grid of tiles per architecture and configuration, numbered as they are taken."""
    shown = [d for arch in names.ARCH_NAMES for d in context.described(level, arch)]
    if not shown:
        return None
    wide, high = 28, 15
    panel = N_BLOCKS * wide + 64
    groups = [context.kernel(d).config.SWIZZLE_GROUP_SIZE * _counted(context, d)[0] for d in shown]
    drawing = Drawing(
        f"Level {names.number_of(level):02}: the order of tiles",
        f"{M_BLOCKS} by {N_BLOCKS} tiles of D, numbered in the order in which they are taken: "
        + "; ".join(f"{_name(d)} goes down groups of {g} m-blocks before n advances" for d, g in zip(shown, groups))
        + ".", max(16 + len(shown) * panel + 8, 520), 96 + M_BLOCKS * high + 64)
    drawing.heading(f"{M_BLOCKS} x {N_BLOCKS} tiles, numbered in the order in which they are taken.")
    clusters = False
    for index, (description, group) in enumerate(zip(shown, groups)):
        left, top = 52 + index * panel, 96
        clusters |= _panel(drawing, context, description, group, left, top, wide, high)
    drawing.legend(16, drawing.height - 30, {"blue": f"the first {FIRST_WAVE} tiles", "none": "later ones"})
    if clusters:
        drawing.frame(252, drawing.height - 20, 12, 12, "line", 1.5)
        drawing.text(270, drawing.height - 10, "a cluster of CTAs", "soft", SMALL)
    drawing.text(16, drawing.height - 10, "Thick lines part the groups.", "soft", SMALL)
    return drawing


def _name(description: Description) -> str:
    is_config = description.config.count("x") == 1  # configurations of level 08 on Hopper are named after their tile
    return names.ARCH_NAMES[description.arch] + (f" {description.config}" if is_config else "")


def _panel(drawing: Drawing, context: Context, description: Description, group: int, left: float, top: float,
           wide: float, high: float) -> bool:
    """Returns whether tiles belong together in clusters."""
    order = _order(context, description)
    is_cluster = description.cluster > 1 and description.tile_owner == "CTA"
    rows, columns = cluster_shape(context, description)
    drawing.text(left, top - 24, _name(description), bold=True)
    drawing.text(left, top - 8, f"groups of {group}", "soft", SMALL)
    for block in range(0, M_BLOCKS, 4):
        drawing.text(left - 6, top + block * high + 11, f"m {block}" if block == 0 else str(block), "soft", 9, "end")
    for tile in range(M_BLOCKS * N_BLOCKS):
        m_block, n_block = order(tile)
        x, y = left + n_block * wide, top + m_block * high
        drawing.rect(x, y, wide, high, "blue" if tile < FIRST_WAVE else "none", radius=0)
        drawing.label(x, y, wide, high, str(tile), size=SMALL)
    for tile in range(0, M_BLOCKS * N_BLOCKS if is_cluster else 0, description.cluster):
        m_block, n_block = order(tile)
        drawing.frame(left + n_block * wide + 1, top + m_block * high + 1, columns * wide - 2, rows * high - 2, "line",
                      1.5)
    for edge in range(group, M_BLOCKS, group):
        drawing.line((left - 3, top + edge * high), (left + N_BLOCKS * wide + 3, top + edge * high), stroke="strong",
                     thick=2.5)
    drawing.text(left, top + M_BLOCKS * high + 14, "n", "soft", SMALL)
    drawing.arrow(left + 12, top + M_BLOCKS * high + 10, left + 44, top + M_BLOCKS * high + 10, "line")
    return is_cluster


def _order(context: Context, description: Description) -> Callable[[int], tuple[int, int]]:
    """Where a tile lies: row and column in the grid of tiles."""
    kernel = context.kernel(description)
    function, (rows, columns) = kernel.function("tile_coordinates"), _counted(context, description)
    if not _counts_clusters(context, description):
        return lambda tile: function(tile, M_BLOCKS, N_BLOCKS)

    def of_clusters(tile: int) -> tuple[int, int]:
        cluster, rank = divmod(tile, rows * columns)
        m_block, n_block = function(cluster, M_BLOCKS // rows, N_BLOCKS // columns, kernel.config.SWIZZLE_GROUP_SIZE)
        return m_block * rows + rank % rows, n_block * columns + rank // rows
    return of_clusters


def _counted(context: Context, description: Description) -> tuple[int, int]:
    """Rows and columns of tiles in what the kernel's order counts: a tile, or a cluster of them."""
    return cluster_shape(context, description) if _counts_clusters(context, description) else (1, 1)


def _counts_clusters(context: Context, description: Description) -> bool:
    """Whether the order is that of the clusters. Its function is told then how many of them a group has."""
    return "int full_group" in context.kernel(description).source
