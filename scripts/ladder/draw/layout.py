"""Which CTA loads and computes what of A, B and D, and which bytes of D a warp stores at once."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.levels.description import Description
from ladder.sim.counters import executed_share, lines_per_store

Draw = Callable[[], Optional[Drawing]]
CTAS = ("blue", "orange", "green", "purple", "red", "yellow", "teal", "pink")
BOTH = "both"
WARPGROUP = 128  # threads


def gallery(context: Context) -> dict[str, Draw]:
    found: dict[str, Draw] = {f"{names.short(level)}_tiles_sm{arch}": partial(tiles, context, level, arch)
                              for level, arch in names.all_kernels(context.root)}
    if names.PRODUCTION in names.all_names(context.root):
        found["production_tiles_sm90"] = partial(tiles, context, names.PRODUCTION, 90)
    if {3, 4} <= {names.number_of(level) for level in names.all_levels(context.root)}:
        found["epilogue_lanes"] = partial(epilogue_lanes, context)
    return found


# --- tiles ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Rows of A, columns of B^T, or rows of D, counted from the cluster's first, and the CTA that they belong to."""

    begin: int
    size: int
    owner: str  # a fill
    left: int = 0  # first column, of parts of D

    def who(self, cluster: int) -> str:
        if cluster == 1:
            return "the CTA"
        return "both CTAs" if self.owner == BOTH else f"CTA {CTAS.index(self.owner)}"


@dataclass(frozen=True)
class Layout:
    """What one cluster has in one K block."""

    a: list[Part]
    b: list[Part]
    d: list[Part]  # each as wide as a tile
    bands: list[str]  # how each part of D is divided by rows, from above
    facts: list[str]

    @property
    def rows(self) -> int:
        return max(part.begin + part.size for part in self.d)

    @property
    def columns(self) -> int:
        return sum(part.size for part in self.b)


def layout_of(context: Context, description: Description) -> Layout:
    """As the kernel has it; where that has A and B swapped, turned at the end."""
    rows, columns, block_k = description.tile_m, description.tile_n, description.tile_k
    down, across = description.cluster_m, description.cluster_n
    swapped = description.constants.get("SWAPS_AB", 0) != 0
    if swapped:
        rows, columns, down, across = columns, rows, across, down
    ctas = [(CTAS[n * down + m], m, n) for n in range(across) for m in range(down)]
    d = [Part(m * rows, rows, cta, n * columns) for cta, m, n in ctas]
    if description.tile_owner != "CTA":
        d = [Part(0, rows, BOTH if description.cluster > 1 else CTAS[0])]
    share = columns // down
    b = [Part(n * columns + m * share, share, cta) for cta, m, n in ctas]
    a = d
    if across > 1:  # each takes its share of every box
        loaded, boxed = description.constants["A_LOAD_ROWS"], description.constants["A_BOX_ROWS"]
        a = [Part(m * rows + box + n * loaded, loaded, CTAS[n * down + m]) for m in range(down)
             for box in range(0, rows, boxed) for n in range(across)]
    bands, facts = _work(context, description, rows)
    others = {1: "", 2: " for both CTAs", 4: " for two CTAs", 8: " for two or four CTAs"}[
        description.cluster if description.arch == 90 else 1]
    loads = [(rows // across, others if across > 1 else ""), (share, others)]
    if swapped:
        a, b, d = b, a, [Part(n * columns, columns, cta, m * rows) for cta, m, n in ctas]
        loads.reverse()
    head = f"{'Each CTA loads' if description.cluster > 1 else 'Loads'}, per K block of {block_k}:"
    sizes = [f"   {name} {size} x {block_k}{whom}: {size * block_k * 2:,} bytes"
             for name, (size, whom) in zip("AB", loads)]
    return Layout(a, b, d, bands, [head, *sizes, *facts])


def _work(context: Context, description: Description, rows: int) -> tuple[list[str], list[str]]:
    """How a CTA's `rows` (columns of D, if A and B are swapped) are divided, and what is to be said about the work."""
    constants = description.constants
    counted = context.counted(description.level, description.arch)
    if description.arch == 100:
        count = constants.get("M_SUBTILES", 1)
        bands = [f"M sub-tile {band}" for band in range(count)] if count > 1 else []
        m, n, k = (constants[f"UMMA_{edge}"] for edge in "MNK")
        facts = ["The leader's MMAs work in both CTAs:",
                 f"   {count * description.tile_k // k} of {m} x {n} x {k} per K block"]
    else:
        holders = description.tile_m * description.tile_n // (WARPGROUP * description.accumulators)
        consumers = constants.get("NUM_CONSUMERS", 1)
        m, n, k = (constants[f"WGMMA_{edge}"] for edge in "MNK")
        bands = [f"consumer {c}" for c in range(holders)] if holders > 1 else []
        facts = ["Each warpgroup multiplies its rows:" if holders > 1 else
                 "Two consumers alternate (ping-pong):" if consumers > 1 else "One warpgroup multiplies:"]
        instructions = rows // holders // m * description.tile_k // k
        facts.append(f"   {instructions} of {m} x {n} x {k} per K block")
    if counted:
        stored_twice = int(counted["redundant_store_bytes"]) > 0
        facts.append(f"Executed: {executed_share(counted):.1f} x the useful FLOPs (counted)")
        if description.cluster > 1:
            facts.append("Both CTAs store the whole tile" if stored_twice else "Each CTA stores its own tile"
                         if description.tile_owner == "CTA" else "The leader alone stores it")
    return bands, facts


def tiles(context: Context, level: str, arch: int) -> Optional[Drawing]:
    """The familiar picture of a GEMM: A on the left, B above, D between them."""
    configs = context.kinds(level, arch)
    if not configs:
        return None
    layouts = [layout_of(context, d) for d in configs]
    largest = max(max(layout.rows, layout.columns) for layout in layouts)
    scale = min(1.4, (360 if len(configs) == 1 else 300) / largest)
    heights = [layout.rows * scale + 134 for layout in layouts]
    drawing = Drawing(f"{configs[0].title}: loads and tiles of each CTA",
                      " ".join(_in_words(d, layout, len(configs) > 1) for d, layout in zip(configs, layouts)),
                      max(740, 480 + max(layout.columns for layout in layouts) * scale), 60 + sum(heights) + 24)
    most = max(d.cluster for d in configs)
    unit = "cluster of two CTAs" if configs[0].cluster == 2 else "CTA"
    whose = f"one {unit}" if len(configs) == 1 else "one configuration of each kind"
    drawing.heading(f"One K block of {whose}, rows and columns to scale.")
    top = 60.0
    for description, layout, height in zip(configs, layouts, heights):
        if len(configs) > 1:
            drawing.text(40, top + 32, description.config, bold=True)
        draw_gemm(drawing, description, layout, 40, top + 110, scale)
        top += height
    if most > 1:
        entries = {CTAS[cta]: f"CTA {cta}" for cta in range(most)}
        if arch == 100:
            entries[CTAS[0]] = "CTA 0, the leader"
        if any(part.owner == BOTH for layout in layouts for part in layout.a):
            entries[BOTH] = "both, the same"
        drawing.legend(16, drawing.height - 16, entries)
    return drawing


def _in_words(description: Description, layout: Layout, several: bool) -> str:
    def part(of: str, item: Part, what: str) -> str:
        verb = "load" if item.owner == BOTH else "loads"
        return f"{item.who(description.cluster)} {verb} {what} {item.begin} to {item.begin + item.size - 1} of {of}"

    name = f"{description.config}: " if several else ""
    if description.cluster > 2:
        rows = sum(part.size for part in layout.a) // description.cluster
        return (f"{name}{description.cluster} CTAs compute {layout.rows} rows and {layout.columns} columns of D; each "
                f"loads {rows} rows of A, for the CTA beside it too, and {layout.b[0].size} rows of B, for the one "
                "above or below it too.")
    loads = [part("A", item, "rows") for item in layout.a] + [part("B", item, "rows") for item in layout.b]
    computes = [f"{item.who(description.cluster)} compute{'' if item.owner == BOTH else 's'} rows {item.begin} to "
                f"{item.begin + item.size - 1} of D" for item in layout.d]
    words = name + "; ".join(loads + computes) + f", {description.tile_n} columns wide."
    return words[0].upper() + words[1:]


def draw_gemm(drawing: Drawing, description: Description, layout: Layout, left: float, top: float,
              scale: float) -> None:
    """`top` and `left`: of A's corner."""
    blocks = 3  # of K that are shown; the first is the one in work
    step_a, step_b, gap = 44.0, 28.0, 16.0
    d_left, d_top = left + blocks * step_a + gap, top
    wide = layout.columns * scale
    b_top = d_top - gap - blocks * step_b
    for part in layout.a:
        y, high = top + part.begin * scale, part.size * scale
        for block in range(blocks):
            drawing.rect(left + block * step_a, y, step_a, high, part.owner if block == 0 else "none", radius=0)
        drawing.label(left, y, step_a, high, "A", bold=True)
        rows = f"{part.size} rows" if high > 50 else str(part.size)
        drawing.text(left - 8, y + high / 2, rows, "soft", SMALL, "middle", turned=True)
    for part in layout.b:
        x, part_wide = d_left + part.begin * scale, part.size * scale
        for block in range(blocks):
            drawing.rect(x, b_top + block * step_b, part_wide, step_b, part.owner if block == 0 else "none", radius=0)
        drawing.label(x, b_top, part_wide, step_b, "B", bold=True)
        drawing.text(x + part_wide / 2, b_top - 6, str(part.size), "soft", SMALL, "middle")
    for part in layout.d:
        x, tile_wide = d_left + part.left * scale, description.tile_n * scale
        y, high = d_top + part.begin * scale, part.size * scale
        drawing.rect(x, y, tile_wide, high, part.owner, radius=0)
        bands = layout.bands or [""]
        for band, name in enumerate(bands):
            at = y + band * high / len(bands)
            if band:
                drawing.line((x, at), (x + tile_wide, at), dashed=True, stroke="strong")
            drawing.label(x, at, tile_wide, high / len(bands), f"D: {name}" if name else "D", bold=not name)
    drawing.frame(d_left, d_top, wide, layout.rows * scale, thick=1.5)
    drawing.text(left, top - 8, f"K, {description.tile_k} at a time", "soft", SMALL)
    for number, fact in enumerate(layout.facts):
        drawing.text(max(d_left + wide + 28, 440), b_top + 36 + number * 19, fact.replace("   ", "\u2003"),
                     "ink" if fact.startswith(" ") else "soft", SMALL)


# --- lanes ------------------------------------------------------------------------------------------------------------

LANES = 32
CACHE_LINE = 128
ROWS_SHOWN = 32

Stores = Callable[[int], tuple[int, int, int]]  # from a lane to its row, first byte and bytes


def store_of(context: Context, number: int, arch: int) -> Stores:
    """Which bytes of the tile a lane stores with the warp's first instruction."""
    level = context.level(number)
    description = context.described(level, arch)[0]
    if arch == 100:
        size = description.constants["STORE_N"] * 2
        return (lambda lane: (lane, 0, size)) if number == 3 else (lambda lane: (0, lane * size, size))
    if number == 3:  # a fragment of wgmma: 4 lanes share a row, 2 elements each
        return lambda lane: (lane // 4, lane % 4 * 4, 4)
    lanes_per_row = description.tile_n * 2 // 16
    return lambda lane: (lane // lanes_per_row, lane % lanes_per_row * 16, 16)


def lines_touched(store: Stores) -> int:
    """Cache lines that the warp touches, if rows begin on one."""
    return len({(row, byte // CACHE_LINE) for row, byte, _ in map(store, range(LANES))})


def epilogue_lanes(context: Context) -> Optional[Drawing]:
    panels = [(number, arch) for arch in names.ARCH_NAMES for number in (3, 4)]
    if not all(context.described(context.level(number), arch) for number, arch in panels):
        return None
    wide, high, gap = 186, 7, 22
    stores = {panel: store_of(context, *panel) for panel in panels}
    words = "; ".join(f"level {number:02} on {names.ARCH_NAMES[arch]} touches {lines_touched(stores[number, arch])} "
                      "cache lines" for number, arch in panels)
    drawing = Drawing("Levels 03 and 04: which bytes of D a warp stores at once",
                      f"The bytes of a tile of D that the first store instruction of a warp writes: {words}.",
                      44 + len(panels) * (wide + gap), 94 + ROWS_SHOWN * high + 76)
    drawing.heading(f"The first {ROWS_SHOWN} rows of a tile, {CACHE_LINE * 2} bytes each: two cache lines a row.")
    for index, panel in enumerate(panels):
        left, top = 44 + index * (wide + gap), 94
        _lanes_panel(drawing, context, panel, stores[panel], left, top, wide, high)
    drawing.text(36, 94 + 8, "row 0", "soft", 9, "end")
    drawing.text(36, 94 + ROWS_SHOWN * high, str(ROWS_SHOWN - 1), "soft", 9, "end")
    drawing.legend(44, drawing.height - 14, {"purple": "stored by one instruction of the warp",
                                             "yellow": "the rest of the cache lines that it touches"})
    return drawing


def _lanes_panel(drawing: Drawing, context: Context, panel: tuple[int, int], store: Stores, left: float, top: float,
                 wide: float, high: float) -> None:
    number, arch = panel
    row_bytes = 2 * CACHE_LINE
    drawing.text(left, top - 24, f"Level {number:02}, {names.ARCH_NAMES[arch]}", bold=True)
    drawing.text(left, top - 8, f"{store(0)[2]} bytes a lane", "soft", SMALL)
    touched = {(row, byte // CACHE_LINE) for row, byte, _ in map(store, range(LANES))}
    for row in range(ROWS_SHOWN):
        for line in range(2):
            drawing.rect(left + line * wide / 2, top + row * high, wide / 2, high,
                         "yellow" if (row, line) in touched else "none", radius=0, thick=0.5)
    for lane in range(LANES):
        row, byte, size = store(lane)
        drawing.rect(left + byte / row_bytes * wide, top + row * high, size / row_bytes * wide, high, "purple",
                     radius=0, thick=0.5, tip=f"lane {lane}")
    lines = lines_touched(store)
    drawing.text(left, top + ROWS_SHOWN * high + 18, f"{lines} cache lines for {LANES * store(0)[2]} bytes", size=SMALL)
    counted = context.counted(context.level(number), arch)
    average = lines_per_store(counted) if counted else None
    if average is not None:
        drawing.text(left, top + ROWS_SHOWN * high + 34, f"counted, modelled: {average:.3g}", "soft", SMALL)
