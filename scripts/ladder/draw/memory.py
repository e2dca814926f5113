"""What lies where: shared memory, tensor memory, and the swizzles of tiles in shared memory."""
from __future__ import annotations

import itertools
from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.levels.description import SMEM_LIMIT, TMEM_COLUMNS, Description, Region
from ladder.sim.counters import wavefronts_per_store

Draw = Callable[[], Optional[Drawing]]
MOST_BARS = 6  # of configurations: of more, one of each kind
BARRIER_BYTES = 8
TMEM_LANES = 128
CHUNK_BYTES = 16  # what a swizzle moves
LINE_BYTES = 128  # all 32 banks of shared memory, 4 bytes each
SWIZZLES = {"None": "no swizzle", "B32": "32-byte swizzle", "B64": "64-byte swizzle", "B128": "128-byte swizzle"}
RING = "stages of A and B"  # how they are called, unless something else uses them
OPERANDS = {"A": "blue", "B": "green"}
BUFFERS = ("blue", "orange")  # of accumulators


def gallery(context: Context) -> dict[str, Draw]:
    found: dict[str, Draw] = {}
    for level, arch in names.all_kernels(context.root):
        short = names.short(level)
        found[f"{short}_smem_sm{arch}"] = partial(smem, context, level, arch)
        if arch == 100:
            found[f"{short}_tmem"] = partial(tmem, context, level)
    if names.PRODUCTION in names.all_names(context.root):
        found["production_smem_sm90"] = partial(smem, context, names.PRODUCTION, 90)
    levels = {names.number_of(level) for level in names.all_levels(context.root)}
    if 2 in levels and context.configs(context.level(2), 100):
        found["swizzles"] = partial(swizzles, context)
    if {7, 8} <= levels:
        found["cd_swizzle"] = partial(cd_swizzle, context)
    return found


# --- shared memory ----------------------------------------------------------------------------------------------------


def smem(context: Context, level: str, arch: int) -> Optional[Drawing]:
    """The map of a CTA's shared memory, a bar per configuration, and its first bytes enlarged. Of many configurations
    it has one of each kind."""
    configs = context.described(level, arch)
    if not configs:
        return None
    if len(configs) > MOST_BARS:
        configs = context.kinds(level, arch)
    first = configs[0]
    barriers = [region for region in first.smem if region.kind != "data"]
    left, wide, high, step = 16, 828, 44, 96
    drawing = Drawing(
        f"{first.title}: shared memory of a CTA",
        f"Map of a CTA's shared memory: {_in_words(first)} {first.smem_bytes:,} of {SMEM_LIMIT:,} bytes are used.",
        left + wide + 16, 62 + step * len(configs) + 96)
    ring = next((r.what for r in first.outline if r.name == "stages"), RING)
    drawing.heading(f"To scale: the outline is the {SMEM_LIMIT:,} bytes that a CTA can have."
                    + (f" The ring: {ring}." if ring != RING else ""))
    for index, description in enumerate(configs):
        _smem_bar(drawing, description, left, 74 + step * index, wide, high, alone=len(configs) == 1)
    whose = "" if len(configs) == 1 else f" of {first.config}"
    _barrier_strip(drawing, barriers, whose, left, 62 + step * len(configs) + 24, wide)
    return drawing


def _in_words(description: Description) -> str:
    return "; ".join(f"{r.what} at {r.offset:,} ({r.total:,} bytes)" for r in description.outline) + "."


def _smem_bar(drawing: Drawing, description: Description, left: float, top: float, wide: float, high: float,
              alone: bool) -> None:
    def x(offset: float) -> float:
        return left + offset / SMEM_LIMIT * wide

    def piece(offset: int, size: int, fill: str, label: str, tip: str) -> None:
        begin, width = x(offset), x(offset + size) - x(offset)
        drawing.rect(begin, top, width, high, fill, tip=f"{tip}: {size:,} bytes at {offset:,}")
        if label:
            drawing.label(begin, top, width, high, label)

    if not alone:
        drawing.text(left, top - 6, description.config, bold=True, size=SMALL)
    drawing.frame(left, top, wide, high, "line", 1, dashed=True)
    if description.request_bytes > description.smem_bytes:
        drawing.rect(x(0), top, x(description.request_bytes) - left, high, "none")
        drawing.label(x(description.smem_bytes), top, x(description.request_bytes) - x(description.smem_bytes), high,
                      "requested, not used", "soft", SMALL)
    for region in description.outline:
        if region.parts:
            for stage, part in itertools.product(range(region.count), region.parts):
                piece(region.offset + stage * region.bytes + part.offset, part.bytes, OPERANDS[part.name],
                      f"{part.name}{stage}", f"{part.name} of stage {stage}")
        elif region.kind == "barrier":  # too narrow for words
            piece(region.offset, region.total, "red", "", region.what)
        else:
            operand = OPERANDS.get(region.what)
            piece(region.offset, region.total, operand or "purple", region.what if operand else "D", region.what)
    ends = [*(r.offset for r in description.outline if r.offset), description.smem_bytes]
    for offset in ends:
        drawing.line((x(offset), top + high), (x(offset), top + high + 5))
    last = -100.0
    for offset in ends:
        anchor = "end" if offset == ends[-1] and x(offset) > left + 120 else "start"
        if anchor == "start" and x(offset) < last + 60:
            continue
        drawing.text(x(offset), top + high + 17, f"{offset:,}", "soft", SMALL, anchor)
        last = x(offset)


def _barrier_strip(drawing: Drawing, barriers: list[Region], whose: str, left: float, top: float,
                   wide: float) -> None:
    drawing.text(left, top, f"the barriers{whose}, {BARRIER_BYTES} bytes each, enlarged", "soft", SMALL)
    each = wide / len(barriers)
    for index, region in enumerate(barriers):
        at = left + index * each
        fill = "red" if region.kind == "barrier" else "yellow"
        share = (each - 12) / region.count
        for copy in range(region.count):
            drawing.rect(at + copy * share, top + 10, share, 22, fill)
            drawing.label(at + copy * share, top + 10, share, 22, str(copy) if region.count > 1 else "", size=SMALL)
        drawing.text(at, top + 46, f"{region.name} at {region.offset}", size=SMALL)


# --- tensor memory ----------------------------------------------------------------------------------------------------


def tmem(context: Context, level: str) -> Optional[Drawing]:
    """Columns by lanes of a CTA's tensor memory."""
    described = context.described(level, 100)
    if not described:
        return None
    columns = described[0].tile_n  # of an M sub-tile
    bands = described[0].constants.get("M_SUBTILES", 1)
    buffers = described[0].constants.get("NUM_ACCUMULATORS", 1)
    left, top, column, lane = 104, 96, 1.44, 1.1
    high = TMEM_LANES * lane
    drawing = Drawing(
        f"{described[0].title}: tensor memory of a CTA",
        f"Tensor memory, {TMEM_LANES} lanes by {TMEM_COLUMNS} columns of 4 bytes: {described[0].tmem_columns} columns "
        f"are allocated, for {buffers} accumulator{'s' if buffers > 1 else ''} of {bands * columns} columns"
        + (f", each {bands} M sub-tiles of {columns}" if bands > 1 else "")
        + ". Warp w of the epilogue reaches lanes 32 (w % 4) to 32 (w % 4) + 31.",
        left + TMEM_COLUMNS * column + 20, top + high + 52)
    drawing.heading("Lane = row of the tile; column = column of the tile, in FP32. Grey is not allocated.")
    drawing.rect(left, top, TMEM_COLUMNS * column, high, "none")
    for buffer in range(buffers):
        for band in range(bands):
            at = left + (buffer * bands + band) * columns * column
            wide = columns * column
            drawing.rect(at, top, wide, high, BUFFERS[buffer % 2])
            rows = f"rows {band * TMEM_LANES}-{(band + 1) * TMEM_LANES - 1}"
            drawing.label(at, top + high / 2 - 24, wide, 20, f"accumulator {buffer}" if buffers > 1 else "accumulator",
                          bold=True)
            drawing.label(at, top + high / 2, wide, 20, f"M sub-tile {band}: {rows}" if bands > 1 else rows)
    for mark in range(0, TMEM_COLUMNS + 1, 64):
        drawing.line((left + mark * column, top - 5), (left + mark * column, top))
        drawing.text(left + mark * column, top - 9, str(mark), "soft", SMALL, "middle")
    drawing.text(left, top - 26, "column", "soft", SMALL)
    for quarter in range(4):
        at = top + quarter * high / 4
        drawing.line((left - 5, at), (left + described[0].tmem_columns * column, at), dashed=quarter > 0)
        drawing.text(left - 10, at + high / 8 + 4, f"warps % 4 = {quarter}", "soft", SMALL, "end")
    drawing.text(left, top + high + 24, f"{described[0].tmem_columns} of {TMEM_COLUMNS} columns allocated, in both "
                 "CTAs of the pair.", "soft", SMALL)
    return drawing


# --- swizzles ---------------------------------------------------------------------------------------------------------


def place_of(description: Description, region: Region, row: int, chunk: int) -> tuple[int, int]:
    """Where a 16-byte chunk of a row of a region lies: line of 128 bytes, as far as a swizzle's pattern goes, and which
    chunk of the line."""
    pattern = description.swizzles[region.swizzle]
    return divmod(pattern[(row * region.pitch // CHUNK_BYTES + chunk) % len(pattern)], LINE_BYTES // CHUNK_BYTES)


def swizzles(context: Context) -> Drawing:
    """Which 16-byte chunk of an operand lies where in the first 1,024 bytes of a slab, for the configurations of level
    02."""
    cell_wide, cell_high, gap = 46, 24, 36
    panel = 8 * cell_wide
    drawing = Drawing(
        "The four swizzles of an operand block in shared memory",
        "The first 1,024 bytes of a slab of A under each swizzle: 8 lines of 128 bytes, cut into chunks of 16. Rows 0 "
        "to 7 of the first chunk, which the tensor core reads together, stand out: under each of the four they fall "
        "into eight different groups of banks.",
        16 + 2 * panel + gap + 52, 2 * (8 * cell_high + 62) + 96)
    drawing.heading("Each box is 16 bytes: row . chunk of the operand. Left to right are the banks, 4 bytes each.")
    configs = {d.region("stages").swizzle: d for d in context.configs(context.level(2), 100)}
    for index, (mode, title) in enumerate(SWIZZLES.items()):
        left = 16 + index % 2 * (panel + gap)
        top = 100 + index // 2 * (8 * cell_high + 62)
        _swizzle_panel(drawing, configs[mode], title, left, top, cell_wide, cell_high)
    drawing.legend(16, drawing.height - 16, {
        "yellow": "rows 0-7 of chunk 0: what the tensor core reads at once",
        "blue": "other chunks of rows 0-7", "none": "rows from 8 on"})
    return drawing


def _swizzle_panel(drawing: Drawing, description: Description, title: str, left: float, top: float, cell_wide: float,
                   cell_high: float) -> None:
    operands = description.region("stages")
    span = operands.pitch
    rows = 8 * LINE_BYTES // span
    drawing.text(left, top - 22, f"{title}: a row of the slab is {span} bytes", bold=True)
    for column in range(8):
        drawing.text(left + (column + 0.5) * cell_wide, top - 6, f"{4 * column}-{4 * column + 3}", "soft", 9, "middle")
    drawing.text(left + 8 * cell_wide + 4, top - 6, "bank", "soft", 9)
    for row in range(rows):
        for chunk in range(span // CHUNK_BYTES):
            line, place = place_of(description, operands, row, chunk)
            x, y = left + place * cell_wide, top + line * cell_high
            fill = "none" if row >= 8 else "yellow" if chunk == 0 else "blue"
            drawing.rect(x, y, cell_wide, cell_high, fill, radius=0)
            drawing.label(x, y, cell_wide, cell_high, f"{row}.{chunk}", size=SMALL)


def cd_swizzle(context: Context) -> Optional[Drawing]:
    """How the 16-byte stores of eight neighbouring lanes fall into the banks, with and without the swizzle."""
    level, before = context.level(8), context.level(7)
    described, plain = context.described(level, 100), context.described(before, 100)
    if not described or not plain:
        return None
    regions = [(d, d.region("cd")) for d in (plain[0], described[0])]
    cell_wide, cell_high, gap = 46, 26, 60
    panel = 8 * cell_wide
    counted = [context.counted(name, 100) for name in (before, level)]
    costs = [wavefronts_per_store(row) if row else None for row in counted]
    drawing = Drawing(
        "Level 08: the tile on its way out, without and with the swizzle",
        f"Eight lanes of an epilogue warp store 16 bytes each, one row per lane. With level 07's pitch of "
        f"{regions[0][1].pitch} bytes all eight fall into the same four banks; with the 128-byte swizzle chunk c of "
        "row r lies at chunk c ^ (r % 8), and the eight fall into eight different groups of banks.",
        32 + 2 * panel + gap + 34, 8 * cell_high + 176)
    drawing.heading("Each box is a chunk of 16 bytes, by its number in the row. Yellow: what one store instruction of "
                    "lanes 0 to 7 writes.")

    for index, (description, region) in enumerate(regions):
        title = f"level {names.number_of(description.level):02}: rows of {region.pitch} bytes, " + \
            ("as they come" if region.swizzle == "None" else SWIZZLES[region.swizzle])
        left, top = 46 + index * (panel + gap), 96
        drawing.text(left, top - 22, title, bold=True)
        drawing.text(left - 6, top - 6, "bank", "soft", 9, "end")
        for row in range(8):
            y = top + row * cell_high
            drawing.text(left - 6, y + 17, f"row {row}", "soft", 9, "end")
            for chunk in range(8):
                x = left + place_of(description, region, row, chunk)[1] * cell_wide
                drawing.rect(x, y, cell_wide, cell_high, "yellow" if chunk == 0 else "none", radius=0)
                drawing.label(x, y, cell_wide, cell_high, f"lane {row}" if chunk == 0 else str(chunk),
                              "ink" if chunk == 0 else "soft", SMALL)
        for column in range(8):
            drawing.text(left + (column + 0.5) * cell_wide, top - 6, f"{4 * column}-{4 * column + 3}", "soft", 9,
                         "middle")
        if costs[index]:
            drawing.text(left, top + 8 * cell_high + 24,
                         f"{costs[index]:g} wavefronts per store of a warp (modelled, counted)", "soft", SMALL)
    drawing.text(46, drawing.height - 18, "512 bytes of a warp need 4 wavefronts of 128 bytes at best.", "soft", SMALL)
    return drawing
