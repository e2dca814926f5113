"""Heat-maps of a sweep: two parameters across and up, a third from panel to panel, the best of all others in each cell.

The best point is marked. A cell without a number says why: what dropped its points, or what went wrong with them. A
sweep on the simulated device has no speeds: its maps show what is right.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ladder.command import UsageError
from ladder.draw import plots
from ladder.results import data
from ladder.tune import record, space

Row = data.Fields


@dataclass(frozen=True)
class Plan:
    """One picture: which parameters it shows."""

    suffix: str
    title: str
    x: Sequence[str]  # several parameters make a column of each combination
    y: Sequence[str]
    panel: str        # a parameter, or size


PLANS = {
    "sgemm": (
        Plan("heatmap", "Kernel 9: the tile of a CTA", ("bn",), ("bm",), "bk"),
        Plan("thread_heatmap", "Kernel 9: the sub-tile of a thread", ("tn",), ("tm",), "bk"),
        Plan("space_heatmap", "Kernel 9: every point of the space", ("tm", "tn"), ("bm", "bn"), "bk"),
    ),
    "production": (
        Plan("heatmap", "Production: the tile of a CTA", ("block_n",), ("block_m",), "size"),
        Plan("order_heatmap", "Production: groups of tiles and stages", ("group",), ("stages",), "size"),
    ),
}
CHECKED = {  # of sweeps without speeds
    "sgemm": PLANS["sgemm"][:1],
    "production": (Plan("heatmap", "Production: the tile of a CTA", ("block_n",), ("block_m",), "stages"),),
}

# What a cell without a speed says. The order is that of importance: the first that applies stands in the cell.
LETTERS = {"wrong": "W", "crashed": "C", "hung": "H", "error": "E", "does not compile": "N", "broken": "B",
           "not tried": "", "divisibility": "d", "SMEM": "s", "registers": "r", "vector width": "v"}

FAILED = list(LETTERS)[:6]


@dataclass(frozen=True)
class Cell:
    value: Optional[float] = None  # the best speed, or the share of points that are right
    text: str = ""
    why: str = ""  # there is no value: the key into LETTERS, or empty where nothing was tried


@dataclass(frozen=True)
class Map:
    """One panel."""

    title: str
    x: list[str]
    y: list[str]
    cells: list[list[Cell]]  # [y][x]
    best: Optional[tuple[int, int]] = None  # y, x


@dataclass(frozen=True)
class HeatChart(plots.Chart):
    maps: list[Map] = field(default_factory=list)
    x_name: str = ""
    y_name: str = ""
    speeds: bool = True

    def digest(self) -> str:
        return plots.hash_of(super().digest() + Path(__file__).read_text(encoding="utf-8"))


# --- what they show ---------------------------------------------------------------------------------------------------


def _cause(status: str) -> str:
    return next((key for key in LETTERS if status.startswith(key)), status.split(":")[0])


def _values(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    found = {tuple(row[name] for name in names) for row in rows}
    return ["x".join(v) for v in sorted(found, key=lambda v: [(int(t), "") if t.isdigit() else (0, t) for t in v])]


def _at(row: Row, names: Sequence[str]) -> str:
    return "x".join(row[name] for name in names)


def _cell(rows: Sequence[Row], speeds: bool, others: Sequence[str]) -> Cell:
    """The best of these rows, or why there is none."""
    if not rows:
        return Cell()
    if speeds:
        measured = [r for r in rows if r["status"] == record.OK and r["tflops"]]
        if measured:
            best = max(measured, key=lambda r: float(r["tflops"]))
            speed = float(best["tflops"])
            return Cell(speed, f"{speed:.1f}\n{'x'.join(best[o] for o in others)}".strip())
    else:
        tried = [r for r in rows if r["status"] == record.OK or _cause(r["status"]) in FAILED]
        if tried:
            right = sum(r["status"] == record.OK for r in tried)
            return Cell(right / len(tried), f"{right} of {len(tried)}\nright")
    causes = Counter(_cause(r["status"]) for r in rows)
    return Cell(why=min(causes, key=lambda c: (list(LETTERS).index(c) if c in LETTERS else 99, -causes[c])))


def at_every_size(kernel: space.Kernel, rows: Iterable[Row]) -> list[Row]:
    """One row per point, which is right if it is right at all sizes; they stand in its `size`."""
    points: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        points.setdefault(tuple(row[p.name] for p in kernel.parameters), []).append(row)
    sizes = ", ".join(sorted({row["size"] for found in points.values() for row in found}))
    return [{**found[0], "size": sizes,
             "status": next((r["status"] for r in found if r["status"] != record.OK), record.OK)}
            for found in points.values()]


def make(kernel: space.Kernel, rows: Sequence[Row], plan: Plan, size: str) -> Optional[HeatChart]:
    """The picture of a sweep at one size, or None if there are no two points to compare. Where each panel has a size of
    its own, `size` does not matter."""
    speeds = any(row["tflops"] for row in rows)
    if not speeds:
        rows = at_every_size(kernel, rows)
        size = rows[0]["size"] if rows else size
    else:
        counts = Counter(row["size"] for row in rows if row["tflops"])
        swept = [s for s in counts if counts[s] > max(counts.values()) / 2]  # at others only the best were timed again
        rows = [row for row in rows if row["size"] in (swept if plan.panel == "size" else [size])]
    if len(rows) < 2:
        return None
    measured = [r for r in rows if r["status"] == record.OK and r["tflops"]]
    xs, ys, panels = _values(rows, plan.x), _values(rows, plan.y), _values(rows, [plan.panel])
    shown = {*plan.x, *plan.y, plan.panel}
    others = [name for name in kernel.headline if name not in shown] if len(xs) <= 6 else []
    maps = []
    for panel in panels:
        mine = [row for row in rows if row[plan.panel] == panel]
        places: dict[tuple[str, str], list[Row]] = {}
        for row in mine:
            places.setdefault((_at(row, plan.y), _at(row, plan.x)), []).append(row)
        cells = [[_cell(places.get((y, x), []), speeds, others) for x in xs] for y in ys]
        known = [(cell.value, (i, j)) for i, line in enumerate(cells) for j, cell in enumerate(line)
                 if cell.value is not None]
        best = max(known)[1] if known and speeds else None
        title = f"M = N = K = {panel}" if plan.panel == "size" and panel.isdigit() else \
            f"{plan.panel.upper().replace('_', ' ')} = {panel}"
        maps.append(Map(title, xs, ys, cells, best))
    if speeds and plan.panel != "size":  # one best of all panels
        top = max(cell.value or 0 for m in maps for line in m.cells for cell in line)
        maps = [m if m.best and m.cells[m.best[0]][m.best[1]].value == top else
                Map(m.title, m.x, m.y, m.cells) for m in maps]
    return _chart(kernel, plan, rows, measured, maps, size, others)


def _chart(kernel: space.Kernel, plan: Plan, rows: Sequence[Row], measured: Sequence[Row], maps: list[Map], size: str,
           others: Sequence[str]) -> HeatChart:
    def name_of(names: Sequence[str]) -> str:
        return " x ".join(name.upper().replace("_", " ") for name in names)

    at = "" if plan.panel == "size" else f" at M = N = K = {size}" if size.isdigit() else f" at {size}"
    if measured:
        best = max(measured, key=lambda r: float(r["tflops"]))
        point = ", ".join(f"{name.upper().replace('_', ' ')} {best[name]}" for name in kernel.headline)
        which = "the best of each size; of all" if plan.panel == "size" else "the best"
        note = (f"Measured: {best['gpu']}, CUDA {best['cuda']}. TFLOPS of the best point of each cell"
                + (f", and its {name_of(others)}" if others else "") + f". Marked, {which}: {point}: "
                f"{float(best['tflops']):.1f} TFLOPS, {float(best['ratio_cublas']):.2f} of cuBLAS's.")
    else:
        note = f"Right or wrong on the {next((r['gpu'] for r in rows if r.get('gpu')), 'simulated device')}; no speeds."
    causes = Counter(_cause(row["status"]) for row in rows if row["status"] != record.OK)
    description = (f"Heat-maps of {name_of(plan.y)} up and {name_of(plan.x)} across, one per {name_of([plan.panel])}. "
                   + note + (" Not there: " + _legend(causes) if causes else ""))
    return HeatChart(title=plan.title + at, description=description, panels=[], note=note, maps=maps,
                     x_name=name_of(plan.x), y_name=name_of(plan.y), speeds=bool(measured))


EXPLAINED = {
    "divisibility": "the tile is not a whole number of thread pieces, or of copies",
    "SMEM": "more shared memory than a CTA can have",
    "registers": "more accumulators than registers",
    "vector width": "pieces that float4 cannot read",
}


def _legend(causes: Counter[str]) -> str:
    parts = []
    for cause, count in causes.most_common():
        letter = LETTERS.get(cause, "?")
        explained = f": {EXPLAINED[cause]}" if cause in EXPLAINED else ""
        parts.append(f"{letter} = {cause}{explained} ({count} points)")
    return "; ".join(parts) + "." if parts else ""


# --- drawing them -----------------------------------------------------------------------------------------------------


def _colour(share: float, speeds: bool) -> tuple[str, str]:
    """Of a cell and of the text in it."""
    import matplotlib

    red, green, blue, _ = matplotlib.colormaps["viridis" if speeds else "RdYlGn"](share)
    bright = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
    return f"#{int(255 * red):02x}{int(255 * green):02x}{int(255 * blue):02x}", "#101010" if bright else "#fafafa"


def draw(chart: HeatChart) -> str:
    """The chart as SVG."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    wide = len(chart.maps[0].x) > 6
    columns = min(len(chart.maps), 2 if wide or len(chart.maps) == 4 else 3)
    lines = math.ceil(len(chart.maps) / columns)
    causes: Counter[str] = Counter(cell.why for m in chart.maps for line in m.cells for cell in line if cell.why)
    values = [cell.value for m in chart.maps for line in m.cells for cell in line if cell.value is not None]
    low, high = (min(values, default=0), max(values, default=1)) if chart.speeds else (0, 1)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **plots.STYLE, "axes.grid": False}):
        row_height = (0.26 if wide else 0.42) * len(chart.maps[0].y) + 0.75
        height = lines * row_height + 0.9 + 0.16 * len(causes)
        figure: Any = Figure(figsize=(9.6, height), layout="constrained")
        points = 72 * height
        figure.text(0.012, 1 - 8 / points, chart.title, fontsize=12, fontweight="bold", va="top")
        figure.text(0.012, 1 - 27 / points, _wrapped(chart.note), fontsize=8.5, color=plots.SOFT, va="top")
        legend = _legend_lines(causes)
        figure.text(0.012, 6 / points, legend, fontsize=8, color=plots.SOFT, va="bottom")
        note_lines = _wrapped(chart.note).count("\n") + 1
        bottom = (8 + 11 * (legend.count("\n") + 1) if legend else 2) / points
        figure.get_layout_engine().set(rect=(0, bottom, 1, 1 - (32 + 12 * note_lines) / points - bottom))
        axes_of = figure.subplots(lines, columns, squeeze=False)
        for index, axes in enumerate(axes_of.flat):
            if index < len(chart.maps):
                _draw_map(axes, chart, chart.maps[index], low, high, wide)
            else:
                axes.set_axis_off()
        return plots.to_svg(figure, chart)


def _wrapped(text: str, width: int = 130) -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += ("" if not lines[-1] else " ") + word
    return "\n".join(lines)


def _legend_lines(causes: Counter[str]) -> str:
    return "\n".join(f"{LETTERS.get(cause, '?')}  {cause}" + (f": {EXPLAINED[cause]}" if cause in EXPLAINED else "")
                     for cause in sorted(causes, key=lambda c: -causes[c]))


def _draw_map(axes: Any, chart: HeatChart, panel: Map, low: float, high: float, wide: bool) -> None:
    from matplotlib.patches import Rectangle

    for i, line in enumerate(panel.cells):
        for j, cell in enumerate(line):
            if cell.value is None:
                axes.add_patch(Rectangle((j, i), 1, 1, facecolor=plots.PAGE, edgecolor=plots.GRID, linewidth=0.6))
                axes.text(j + 0.5, i + 0.5, LETTERS.get(cell.why, "?") if cell.why else "", ha="center", va="center",
                          fontsize=6.5 if wide else 8, color=plots.SOFT)
                continue
            share = (cell.value - low) / (high - low) if high > low else 1.0
            fill, ink = _colour(share, chart.speeds)
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=fill, edgecolor=plots.PAGE, linewidth=0.6))
            axes.text(j + 0.5, i + 0.5, f"{cell.value:.0f}" if wide and chart.speeds else "" if wide else cell.text,
                      ha="center", va="center", fontsize=6 if wide else 7.5, color=ink, linespacing=1.25)
    if panel.best:
        i, j = panel.best
        axes.add_patch(Rectangle((j + 0.03, i + 0.05), 0.94, 0.9, facecolor="none", edgecolor="#d6584f", linewidth=2.4,
                                 zorder=3))
    axes.set_xlim(0, len(panel.x))
    axes.set_ylim(0, len(panel.y))
    axes.set_xticks([j + 0.5 for j in range(len(panel.x))], panel.x, rotation=60 if wide else 0,
                    fontsize=7 if wide else 8.5)
    axes.set_yticks([i + 0.5 for i in range(len(panel.y))], panel.y, fontsize=7 if wide else 8.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(chart.x_name)
    axes.set_ylabel(chart.y_name)


# --- files ------------------------------------------------------------------------------------------------------------


def find_kernel(columns: Sequence[str], path: Path) -> space.Kernel:
    """Whose sweep this is: the kernel with most of its parameters among the columns. Raises UsageError."""
    there = [k for k in space.KERNELS.values() if {*k.headline, "size", "status"} <= set(columns)]
    if not there:
        raise UsageError(f"{path} is not the record of a sweep: its columns are {', '.join(columns)}.")
    return max(there, key=lambda k: sum(p.name in columns for p in k.parameters))


def make_all(path: Path) -> dict[str, HeatChart]:
    """The pictures of a CSV file, by their names. Raises OSError, files.DataError, UsageError."""
    columns, rows = data.read_rows(path)
    kernel = find_kernel(columns, path)
    # The sweep's size is the one with most points; at others only the best were timed again.
    counts = Counter(row["size"] for row in rows if row["status"] == record.OK and row.get("tflops"))
    counts = counts or Counter(row["size"] for row in rows)
    if not counts:
        return {}
    size = counts.most_common(1)[0][0]
    prefix = path.stem.split("_")[0]
    prefix = "" if prefix in ("h200", "h100") else f"{prefix}_"
    name = f"{prefix}autotune_{kernel.name}" + (f"_sm{kernel.arch}" if prefix else "")
    plans = (PLANS if any(row["tflops"] for row in rows) else CHECKED).get(kernel.name, ())
    made = {f"{name}_{plan.suffix}": make(kernel, rows, plan, size) for plan in plans}
    return {key: chart for key, chart in made.items() if chart}
