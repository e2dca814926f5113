"""The three stages of the production kernel on Hopper: D in the ring, pairs, and clusters of four."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw import layout
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.levels.description import Description

Draw = Callable[[], Optional[Drawing]]
LEVEL, ARCH = names.PRODUCTION, 90
LEFT, SLOT, ROW, GAP = 116, 82, 30, 8  # pixels: a slot is the time of one K block's MMAs
WRITE, STORE = 0.7, 1.5  # slots, roughly: registers to shared memory; TMA's reads of it


def gallery(context: Context) -> dict[str, Draw]:
    if LEVEL not in names.all_names(context.root):
        return {}
    found: dict[str, Draw] = {"production_ring_sm90": partial(ring, context, LEVEL)}
    for name, cluster in (("production_pair_sm90", 2), ("production_four_sm90", 4)):
        found[name] = partial(sharing, context, LEVEL, cluster)
    return found


def _first(context: Context, level: str) -> Optional[Description]:
    """The configuration with the largest tile, which needs all of this."""
    return next(iter(context.described(level, ARCH)), None)


# --- D in the ring ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tenant:
    """What a stage holds: from when, and from when until when it is worked with. In slots."""

    name: str
    fill: str
    stage: int
    begin: float
    used: float
    end: float


def tenants(stages: int, d_stages: int, lead: int, shown: int) -> list[Tenant]:
    """The end of one tile and the first `shown` K blocks of the next, with D between them."""
    sequence: list[tuple[str, str, float, float]] = [
        ("n" if i == stages - 1 else f"n - {stages - 1 - i}", "blue", i, i + 1) for i in range(stages)]
    start = stages + WRITE  # of the next tile's MMAs
    for k in range(shown):
        if k == lead:
            sequence += [(f"D {i}" if d_stages > 1 else "D", "green", stages, start + STORE * (1 + 0.25 * i))
                         for i in range(d_stages)]
        sequence.append((str(k), "orange", start + k, start + k + 1))
    found: list[Tenant] = []
    free = [0.0] * stages
    for position, (name, fill, used, end) in enumerate(sequence):
        stage = position % stages
        found.append(Tenant(name if fill == "green" else f"K {name}", fill, stage, free[stage], used, end))
        free[stage] = end
    return found


def ring(context: Context, level: str) -> Optional[Drawing]:
    """What each stage holds while one tile ends and the next begins."""
    description = _first(context, level)
    if description is None:
        return None
    stages, constants = description.stages, description.constants
    d_stages, lead = constants["D_STAGES"], constants["PREFETCH_DISTANCE"]
    shown = lead + 2
    end = stages + WRITE + shown
    drawing = Drawing(
        f"Production, Hopper, {description.config}: stages of the ring hold D",
        f"What the {stages} stages hold over time: the last K blocks of a tile; {lead} K blocks of the next tile, "
        f"which are loaded before it ends; then D, in {d_stages} stages, from the consumers' writes to the end of "
        "TMA's reads; then the next K blocks. The consumers stop multiplying only while they write D.",
        LEFT + end * SLOT + 20, 70 + (stages + 2) * (ROW + GAP) + 44)
    drawing.heading("Time goes to the right, not to scale. Grey: being loaded, or waiting for its MMAs.")

    def bar(row: int, begin: float, until: float, fill: str, text: str) -> None:
        x, y, wide = LEFT + begin * SLOT, 70 + row * (ROW + GAP), (min(until, end) - begin) * SLOT
        drawing.rect(x, y, wide, ROW, fill)
        drawing.label(x, y, wide, ROW, text, size=SMALL)

    def title(row: int, text: str) -> None:
        drawing.text(LEFT - 10, 70 + row * (ROW + GAP) + ROW / 2 + 4, text, "soft", SMALL, "end")

    for stage in range(stages):
        title(stage, f"stage {stage}")
    title(stages, "consumers")
    title(stages + 1, "store warps")
    ends = [0.0] * stages
    for tenant in tenants(stages, d_stages, lead, shown):
        if tenant.begin < tenant.used:
            bar(tenant.stage, tenant.begin, tenant.used, "none", "given to D" if tenant.fill == "green" else "")
        bar(tenant.stage, tenant.used, tenant.end, tenant.fill, tenant.name)
        ends[tenant.stage] = tenant.end
    for stage, last in enumerate(ends):
        if last < end:
            bar(stage, last, end, "none", "")
    start = stages + WRITE
    bar(stages, 0, stages, "blue", "MMAs of this tile")
    bar(stages, stages, start, "green", "write D")
    bar(stages, start, end, "orange", "MMAs of the next")
    bar(stages + 1, start, start + STORE * (1 + 0.25 * (d_stages - 1)), "green", "TMA stores D, stages go back")
    drawing.legend(16, drawing.height - 16, {"blue": "this tile", "green": "its D", "orange": "the next tile"})
    return drawing


# --- sharing loads --------------------------------------------------------------------------------------------------


def sharing(context: Context, level: str, cluster: int) -> Optional[Drawing]:
    """Which CTA loads what for which others, in one K block of a cluster of so many CTAs."""
    description = _first(context, level)
    if description is None or description.cluster < cluster:
        return None
    chosen = replace(description, cluster=cluster, cluster_n=cluster // 2)
    found = layout.layout_of(context, chosen)
    size = description.tile_k * 2
    alone, now = ((rows + columns) * size for rows, columns in (
        (description.tile_m, description.tile_n),
        (sum(part.size for part in found.a) // cluster, sum(part.size for part in found.b) // cluster)))
    facts = [*found.facts[:3], f"Together {now:,} bytes;", f"alone it would load {alone:,}."]
    found = replace(found, facts=facts)
    what = {2: "a pair shares B", 4: "four CTAs share A and B"}[cluster]
    scale = 300 / max(found.rows, found.columns)
    drawing = Drawing(f"Production, Hopper, {description.config}: {what}",
                      f"{cluster} CTAs compute {found.rows} rows and {found.columns} columns of D. "
                      + " ".join(" ".join(facts).split()),
                      max(700, 460 + found.columns * scale), 60 + found.rows * scale + 152)
    drawing.heading("One K block, rows and columns to scale. A colour is the CTA that loads, or computes.")
    layout.draw_gemm(drawing, chosen, found, 40, 176, scale)
    drawing.legend(16, drawing.height - 16, {layout.CTAS[cta]: f"CTA {cta}" for cta in range(cluster)})
    return drawing
