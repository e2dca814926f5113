"""What a profiler has counted on a GPU, level by level."""
from __future__ import annotations

from typing import Callable, Optional

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names
from ladder.pages.blocks.options import Options, take_level
from ladder.results import data
from ladder.results.data import Fields
from ladder.results.numbers import grouped

SECTOR = 32  # bytes
NOTHING = "-"
NONE = "Not profiled yet: `scripts/maintain/profile_levels.py` fills this place.\n"
Values = dict[str, float]  # by quantity


def _share(part: str, whole: str, factor: float = 1.0) -> Callable[[Values], Optional[float]]:
    """The one per unit of the other, if both were counted."""
    return lambda v: factor * v[part] / v[whole] if v.get(whole) and part in v else None


def _of(quantity: str, factor: float = 1.0) -> Callable[[Values], Optional[float]]:
    return lambda v: v[quantity] * factor if quantity in v else None


def _stall(values: Values) -> str:
    """What warps waited for most often."""
    stalls = {name.partition(": ")[2]: value for name, value in values.items() if name.startswith("stalled: ")}
    return max(stalls, key=stalls.__getitem__).replace("_", " ") if stalls else NOTHING


# What stands in a row, how it is computed, and how many decimal places it has.
ROWS: list[tuple[str, Callable[[Values], Optional[float]], int]] = [
    ("cycles", _of("cycles"), 0),
    ("tensor core active, %", _of("tensor core, cycles active %"), 1),
    ("busiest part of L2, % of its peak", _of("L2, throughput %"), 0),
    ("L2 to the SMs, %", _of("L2, to the SMs %"), 0),
    ("DRAM, %", _of("DRAM, cycles active %"), 0),
    ("GB delivered to the SMs", _of("SMs, bytes received", 1e-9), 1),
    ("GB looked up in L2, in both halves", _of("L2, bytes looked up", 1e-9), 1),
    ("GB read from DRAM", _of("DRAM, bytes read", 1e-9), 2),
    ("GB read through L2", _of("L2, sectors read", SECTOR * 1e-9), 1),
    ("of which L2 had, %", _share("L2, sectors read that hit", "L2, sectors read", 100), 0),
    ("wavefronts per shared store", _share("shared memory, store wavefronts", "shared memory, store instructions"), 1),
    ("sectors per global store", _share("global stores, sectors", "global stores, requests"), 1),
    ("million warp instructions", _of("instructions", 1e-6), 1),
]

BY_LEVEL = ("cycles", "tensor core active, %", "busiest part of L2, % of its peak", "L2 to the SMs, %", "DRAM, %",
            "GB delivered to the SMs", "GB looked up in L2, in both halves", "GB read from DRAM")
TIMES = ("cycles", "tensor core active, %")  # of launches that run side by side there is no sum


Launches = dict[tuple[str, ...], list[Fields]]  # by GPU and size


def _profiled(context: Context) -> Launches:
    rows: Launches = {}
    for path in data.measured(context.root / RESULTS, "profile"):
        for row in data.read_rows(path)[1]:
            rows.setdefault((row["gpu"], row["m"], row["n"], row["k"]), []).append(row)
    return rows


def counters(context: Context) -> str:
    """A column per level, a table per GPU and size."""
    return "\n".join(_table(rows) for rows in _profiled(context).values()) or NONE


def of_level(context: Context, options: Options) -> str:
    """level=N: what a profiler saw of the level and of the one before it, on the GPU of record, size by size; with
    alone=yes, of the level alone."""
    here, alone = names.number_of(take_level(context, options)), options.pop("alone", "") == "yes"
    wanted = [level for level in names.all_levels(context.root)
              if names.number_of(level) == here or (not alone and names.number_of(level) == here - 1)]
    gpus = {result.series.gpu for result in data.of_record(context.results) if result.series.kind == "measured"}
    beside = {size: [row for row in rows if row["level"] in wanted and row["gpu"] in gpus]
              for size, rows in _profiled(context).items()}
    columns = {(size[1], level): [row for row in rows if row["level"] == level]
               for size, rows in sorted(beside.items(), key=lambda each: int(each[0][1]))
               for level in sorted({row["level"] for row in rows})}
    if not columns:
        return NONE
    values = [{row["quantity"]: float(row["value"]) for row in rows} for rows in columns.values()]
    cells = [(title, [compute(each) for each in values], places) for title, compute, places in ROWS
             if title in BY_LEVEL]
    lines = [[title, *(NOTHING if cell is None else _number(cell, places) for cell in row)]
             for title, row, places in cells if any(cell is not None for cell in row)]
    first = next(iter(columns.values()))[0]
    return (markdown.table(["", *(f"{names.head(level)} at {size}" for size, level in columns)], lines,
                           "l" + "r" * len(columns))
            + f"\nMeasured: {first['gpu']}, {first['profiler']}, clocks free; commit {first['commit']}; "
              f"{first['date'][:10]}.\n")


def _table(rows: list[Fields]) -> str:
    levels = sorted({row["level"] for row in rows})
    values = {level: {row["quantity"]: float(row["value"]) for row in rows if row["level"] == level}
              for level in levels}
    launches = {row["level"]: row["launches"] for row in rows}
    lines: list[list[str]] = []
    for title, compute, places in ROWS:
        cells = [compute(values[level]) if launches[level] == "1" or title not in TIMES else None for level in levels]
        if any(cell is not None for cell in cells):
            lines.append([title, *(NOTHING if cell is None else _number(cell, places) for cell in cells)])
    waits = [_stall(values[level]) for level in levels]
    lines += [["warps waited most for", *waits]] if set(waits) != {NOTHING} else []
    heads = ["", *(names.head(level) for level in levels)]
    first = rows[0]
    several = [names.head(level) for level in levels if launches[level] != "1"]
    note = (f" Level {', '.join(several)} is more than one launch, and the profiler runs one after the other what runs "
            "side by side otherwise: it says nothing about cycles.") if several else ""
    return (markdown.table(heads, lines, "l" + "r" * len(levels))
            + f"\nMeasured: {first['gpu']}, M = N = K = {first['m']}, {first['profiler']}, clocks free; commit "
              f"{first['commit']}; {first['date'][:10]}.{note}\n")


def _number(value: float, places: int) -> str:
    return grouped(round(value)) if places == 0 else f"{value:.{places}f}"
