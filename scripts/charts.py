"""Charts of the figures: what each shows is plain data; matplotlib is needed only to draw it.

A chart's files carry the hash of its data and of this file, so that whether they are up to date can be told without
drawing: other versions of matplotlib draw the same data a little differently.
"""
from __future__ import annotations

import hashlib
import html
import importlib.util
import io
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

import kernels
import ladder
import tables
from recorded import CHARTS, SMEM_LIMIT, Context, executed_share, lines_per_store, wavefronts_per_store

Values = list[Optional[float]]


@dataclass(frozen=True)
class Panel:
    """One diagram. Bars: a group per category, lying. Stack: the same on top of each other. Lines and points: values
    over `x`."""

    kind: str  # bars, stack, lines, points
    title: str
    unit: str
    categories: list[str] = field(default_factory=list)
    x: list[float] = field(default_factory=list)
    series: dict[str, Values] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # beside the bars of the last series
    ticks: Values = field(default_factory=list)  # a mark at each bar: what cuBLAS does there
    limit: Optional[float] = None  # a line across
    roof: Optional[tuple[float, float]] = None  # points: peak in TFLOPS, memory in TB/s


@dataclass(frozen=True)
class Chart:
    title: str
    description: str  # what a reader hears who cannot see it
    panels: list[Panel]
    note: str = ""

    def digest(self) -> str:
        source = Path(__file__).read_text(encoding="utf-8")
        return hashlib.sha256((json.dumps(asdict(self)) + source).encode()).hexdigest()[:16]


# --- what they show ---------------------------------------------------------------------------------------------------


def _short(level: str) -> str:
    return f"{ladder.level_number(level):02} " + level.partition("_")[2].replace("_", " ")


def _ladders(context: Context) -> list[tables.Series]:
    """Blackwell's figures before Hopper's."""
    return sorted((s for s in tables.all_series(context.results) if s.kind != "modelled"),
                  key=lambda s: (-s.arch, s.kind, s.gpu))


def _title(series: tables.Series) -> str:
    return f"{kernels.ARCH_NAMES[series.arch]}, {series.kind}: {series.gpu}"


def _cube(edge: int) -> ladder.Shape:
    return edge, edge, edge


def _summary(context: Context, series: tables.Series) -> str:
    """The last level at the usual size, in words."""
    found = [r for level in context.levels()
             if (r := tables.find(context.results, level, series, _cube(tables.DEFAULT_EDGE)))]
    if not found:
        return f"{_title(series)}: nothing at {tables.DEFAULT_EDGE}"
    steps = f"from {tables.tflops_text(found[0])} to {tables.tflops_text(found[-1])}"
    ratio = tables.ratio_text(found[-1], "ratio_cublas")
    return f"{_title(series)}: {steps} TFLOPS" + (f", {ratio} of cuBLAS" if ratio != tables.NOTHING else "")


def progression(context: Context) -> Optional[Chart]:
    panels = []
    levels = context.levels()
    for series in _ladders(context):
        found = [tables.find(context.results, level, series, _cube(tables.DEFAULT_EDGE)) for level in levels]
        notes = []
        for result in found:
            ratio = tables.ratio_text(result, "ratio_cublas")
            notes.append("no figure" if result is None else tables.tflops_text(result) +
                         (f"  ({ratio} x)" if ratio != tables.NOTHING else ""))
        panels.append(Panel("bars", _title(series), "TFLOPS", [_short(level) for level in levels],
                            series={"level": [r.number("tflops") if r else None for r in found]}, notes=notes,
                            ticks=[r.number("cublas_tflops") if r else None for r in found]))
    if not panels:
        return None
    return Chart(f"The two ladders at M = N = K = {tables.DEFAULT_EDGE}",
                 "Bars of TFLOPS, level by level. " + "; ".join(_summary(context, s) for s in _ladders(context)) + ".",
                 panels, "Mark: cuBLAS beside it.  (x): ratio to cuBLAS; * to torch.matmul.  "
                 "Each GPU has a scale of its own.")


def _by_size(context: Context, column: str, factor: float, unit: str) -> list[Panel]:
    panels = []
    for series in _ladders(context):
        mine = [r for r in context.results if r.series == series and r.shape == _cube(r.shape[0])]
        edges = sorted({r.shape[0] for r in mine})
        lines: dict[str, Values] = {}
        for level in context.levels():
            found = [tables.find(mine, level, series, _cube(edge)) for edge in edges]
            values = [r.number(column) if r else None for r in found]
            if any(v is not None for v in values):
                lines[_short(level)] = [v if v is None else round(v * factor, 4) for v in values]
        if column == "tflops":
            lines["cuBLAS"] = [_rival(mine, edge) for edge in edges]
        panels.append(Panel("lines", _title(series), unit, x=[float(e) for e in edges], series=lines,
                            limit=100.0 if column != "tflops" else None))
    return panels


def _rival(results: Sequence[tables.Result], edge: int) -> Optional[float]:
    """The median of what cuBLAS did at this size, beside the levels."""
    values = sorted(v for r in results if r.shape == _cube(edge) and (v := r.number("cublas_tflops")) is not None)
    return values[len(values) // 2] if values else None


def tflops_by_size(context: Context) -> Optional[Chart]:
    return _chart_by_size(context, "TFLOPS", "tflops", 1, "TFLOPS",
                          "cuBLAS: the median of its figures beside the levels. Each GPU has a scale of its own.")


def percent_of_cublas(context: Context) -> Optional[Chart]:
    return _chart_by_size(context, "Percent of cuBLAS", "ratio_cublas", 100, "% of cuBLAS",
                          "Level 01 on GB200 is compared with torch.matmul.")


def _chart_by_size(context: Context, what: str, column: str, factor: float, axis: str, note: str) -> Optional[Chart]:
    panels = _by_size(context, column, factor, axis)
    if not panels:
        return None
    words = what if what.isupper() else what[0].lower() + what[1:]
    return Chart(f"{what} by size", f"Lines of {words} over M = N = K, one per level. "
                 + "; ".join(_summary(context, s) for s in _ladders(context)) + ".", panels, note)


def roofline(context: Context) -> Optional[Chart]:
    """Useful FLOPs per byte that the kernel asks for, against the roofs of the GPU."""
    panels = []
    for series in _ladders(context):
        gpu = next((g for g in context.gpus if g["gpu"] == series.gpu), None)
        if gpu is None:
            continue
        points: dict[str, Values] = {}
        for level in context.levels():
            row = context.counted(level, series.arch)
            result = tables.find(context.results, level, series, _cube(tables.DEFAULT_EDGE))
            if row and result:
                asked = int(row["tma_fetch_bytes"]) + int(row["tma_store_bytes"]) + int(row["global_store_bytes"])
                points[_short(level)] = [round(int(row["useful_flops"]) / asked, 2), result.number("tflops")]
        panels.append(Panel("points", _title(series), "TFLOPS", series=points,
                            roof=(float(gpu["bf16_tflops"]), float(gpu["memory_tb_per_s"]))))
    if not panels:
        return None
    return Chart(f"Roofline at M = N = K = {tables.DEFAULT_EDGE}",
                 "TFLOPS of each level over the useful FLOPs per byte that it asks the memory system for, under the "
                 "roofs of memory and tensor cores. Points above the slope live on the L2 cache.", panels,
                 "FLOPs per byte requested: counted on the simulated device (modelled). Roofs: data sheets. "
                 "Points above the slope: L2 serves what memory could not.")


def smem_budget(context: Context) -> Optional[Chart]:
    panels = []
    for arch, name in kernels.ARCH_NAMES.items():
        found = [d for level in ladder.all_levels(context.root) for d in context.described(level, arch)]
        parts: dict[str, Values] = {"barriers": [], "D on its way out": [], "stages of A and B": []}
        for d in found:
            stages = d.stages * d.stage_bytes
            parts["barriers"].append(d.smem[0].bytes)
            parts["stages of A and B"].append(stages)
            parts["D on its way out"].append(d.smem_bytes - d.smem[0].bytes - stages)
        several = {d.level for d in found if len(context.described(d.level, arch)) > 1}
        panels.append(Panel("stack", name, "bytes", [f"{ladder.level_number(d.level):02}"
                            + (f" {d.config}" if d.level in several else "") for d in found],
                            series=parts, notes=[f"{d.smem_bytes:,}" for d in found], limit=SMEM_LIMIT))
    if not any(p.categories for p in panels):
        return None
    return Chart("Shared memory of a CTA, level by level",
                 "Stacked bars of the bytes of shared memory: barriers, D on its way out, stages of A and B. "
                 f"A CTA can have {SMEM_LIMIT:,}.", panels, f"Line: {SMEM_LIMIT:,} bytes, all that a CTA can have.")


def counters(context: Context) -> Optional[Chart]:
    if not context.counters:
        return None
    levels = ladder.all_levels(context.root)

    def panel(title: str, unit: str, value: Callable[[tables.Fields], Optional[float]]) -> Panel:
        series = {}
        for arch, name in kernels.ARCH_NAMES.items():
            rows = [context.counted(level, arch) for level in levels]
            series[name] = [round(v, 2) if row and (v := value(row)) is not None else None for row in rows]
        return Panel("bars", title, unit, [f"{ladder.level_number(level):02}" for level in levels], series=series)

    panels = [panel("tensor FLOPs", "executed / useful", executed_share),
              panel("global stores", "cache lines per warp", lines_per_store),
              panel("stores to shared memory", "wavefronts per warp", wavefronts_per_store)]
    first = context.counters[0]
    shape = f"M x N x K = {first['m']} x {first['n']} x {first['k']}"
    return Chart("What each level executes",
                 "Bars per level, Blackwell and Hopper, counted on the simulated device: tensor FLOPs executed per "
                 "useful one; cache lines per global store of a warp; wavefronts per shared-memory store of a warp.",
                 panels, f"Modelled: counted on the simulated device, {shape}. No bar: no such instruction.")


def ablations(context: Context) -> Optional[Chart]:
    """Those of the last level, which is made of choices; what others show with theirs stands on their own pages."""
    level = ladder.all_levels(context.root)[-1]
    of_level = [a for a in context.ablations if a.level == level]
    panels = []
    for series in {a.series: None for a in of_level}:
        found = [a for a in of_level if a.series == series]
        shapes = sorted({shape for a in found for shape in a.ratios})
        columns: dict[str, Values] = {
            ladder.size_text(shape): [round(100 * (a.ratios[shape] - 1), 2) if shape in a.ratios else None
                                      for a in found] for shape in shapes}
        panels.append(Panel("bars", f"Level {ladder.level_number(level):02}, {_title(series)}",
                            "% faster than the level as it is", [a.name for a in found], series=columns, limit=0))
    if not panels:
        return None
    return Chart("What one change is worth", "Bars per variant of a level: how much faster or slower than the level "
                 "as it is.", panels)


CATALOGUE: dict[str, Callable[[Context], Optional[Chart]]] = {
    "progression": progression, "tflops_by_size": tflops_by_size, "percent_of_cublas": percent_of_cublas,
    "roofline": roofline, "smem_budget": smem_budget, "counters": counters, "ablations": ablations,
}


def stale(context: Context) -> dict[str, Chart]:
    """The charts whose files differ from what the data say, by name."""
    found = {name: make(context) for name, make in CATALOGUE.items()}
    folder = context.root / CHARTS
    return {name: chart for name, chart in found.items() if chart and not is_current(chart, folder / name)}


def is_current(chart: Chart, path: Path) -> bool:
    """`path`: without suffix. The SVG also carries the hash of its own drawing."""
    svg, png = path.with_suffix(".svg"), path.with_suffix(".png")
    if not svg.exists() or not png.exists():
        return False
    body, _, seal = svg.read_text(encoding="utf-8").rpartition("<!-- ")
    return seal == _seal(chart, body) and chart.digest().encode() in png.read_bytes()


def _seal(chart: Chart, body: str) -> str:
    return f"data {chart.digest()}, drawing {hashlib.sha256(body.encode()).hexdigest()[:16]} -->\n"


# --- drawing them -----------------------------------------------------------------------------------------------------

INK, SOFT, PAGE, GRID = "#1f2328", "#57606a", "#ffffff", "#d0d7de"
ON_BARS = "#fefefe"
DARK = {INK: "#e6edf3", SOFT: "#9aa4b0", PAGE: "#161b22", GRID: "#3d444d"}  # what they become on dark pages
COLOURS = ["#3b82d6", "#d9822b", "#3fa35b", "#9a6dd7", "#d6584f", "#2a9d9d", "#b8942a", "#c2578f"]
STYLE: Any = {
    "svg.hashsalt": "tensor core ladder", "svg.fonttype": "none", "font.size": 9.5, "text.color": INK,
    "axes.edgecolor": SOFT, "axes.labelcolor": SOFT, "axes.titlecolor": INK, "axes.titlesize": 10.5,
    "axes.facecolor": PAGE, "figure.facecolor": PAGE, "savefig.facecolor": PAGE, "axes.grid": True,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "grid.color": GRID,
    "grid.linewidth": 0.6, "xtick.color": SOFT, "ytick.color": SOFT, "legend.frameon": False, "legend.fontsize": 8.5,
}


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw(chart: Chart, path: Path) -> dict[Path, bytes]:
    """The files of a chart, whose name is `path` without suffix, and their content."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        bars = max(len(p.categories) * (1 if p.kind == "stack" else max(1, len(p.series))) for p in chart.panels)
        height = 4.2 if chart.panels[0].kind in ("lines", "points") else 1.5 + 0.24 * max(bars, 6)
        figure = Figure(figsize=(9.6, height), layout="constrained")
        first = chart.panels[0]
        _heading(figure, chart)
        for index, panel in enumerate(chart.panels):
            axes = figure.add_subplot(1, len(chart.panels), index + 1)
            DRAWERS[panel.kind](axes, panel)
            if index and panel.categories and panel.categories == first.categories:
                axes.tick_params(labelleft=False)
        _legend(figure, chart)
        return files(figure, chart, path)


def files(figure: Any, chart: Chart, path: Path) -> dict[Path, bytes]:
    """What a finished figure becomes."""
    return {path.with_suffix(".svg"): _svg(figure, chart).encode(), path.with_suffix(".png"): _png(figure, chart)}


def _heading(figure: Any, chart: Chart) -> None:
    """The title and the note below it, above all diagrams."""
    height = 72 * figure.get_figheight()  # in points
    figure.text(0.012, 1 - 8 / height, chart.title, fontsize=12, fontweight="bold", va="top")
    figure.text(0.012, 1 - 27 / height, chart.note, fontsize=8.5, color=SOFT, va="top")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - (42 if chart.note else 28) / height))


def _legend(figure: Any, chart: Chart) -> None:
    """One for all panels, below them; none where there is nothing to tell apart."""
    entries = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    if len(entries) > 1:
        names = sorted(entries) if chart.panels[0].kind in ("lines", "points") else list(entries)
        figure.legend([entries[name] for name in names], names, loc="outside lower center", ncols=min(len(names), 5),
                      columnspacing=1.2, handlelength=1.4)


def _png(figure: Any, chart: Chart) -> bytes:
    output = io.BytesIO()
    figure.savefig(output, format="png", dpi=160, metadata={"Software": None, "Title": chart.title,
                                                            "Comment": chart.digest()})
    return output.getvalue()


def _svg(figure: Any, chart: Chart) -> str:
    output = io.StringIO()
    figure.savefig(output, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    body = output.getvalue()
    body = re.sub(r"^.*?(?=<svg)", "", body, flags=re.DOTALL)
    body = re.sub(r" *<metadata>.*?</metadata>\n", "", body, flags=re.DOTALL)
    for light in DARK:
        body = body.replace(light, f"var(--c{light[1:]})")
    rules = ["".join(f"--c{light[1:]}:{value};" for light, value in colours)
             for colours in (zip(DARK, DARK), DARK.items())]
    words = f"<title>{html.escape(chart.title)}</title>\n<desc>{html.escape(chart.description)}</desc>\n"
    style = f"<style>:root{{{rules[0]}}}@media (prefers-color-scheme:dark){{:root{{{rules[1]}}}}}</style>\n"
    body = re.sub(r"(<svg[^>]*>\n)", lambda m: m[1] + words + style, body, count=1)
    return body + "<!-- " + _seal(chart, body)


def _bars(axes: Any, panel: Panel) -> None:
    count = len(panel.series)
    thick = 0.8 / count
    reach = _reach(panel)
    for index, (name, values) in enumerate(panel.series.items()):
        places = [row + (index - (count - 1) / 2) * thick for row in range(len(values))]
        axes.barh(places, [v or 0 for v in values], thick * 0.92, color=COLOURS[index % len(COLOURS)],
                  label=name)
        for row, (place, value) in enumerate(zip(places, values)):
            note = panel.notes[row] if panel.notes else "" if value is None else f"{value:g}"
            inside = bool(panel.notes) and (value or 0) > 0.3 * reach
            axes.annotate(note, (0 if inside else max(value or 0, 0), place), xytext=(4, 0), va="center",
                          textcoords="offset points", fontsize=8,
                          color=ON_BARS if inside else SOFT if value is None else INK)
    for row, tick in enumerate(panel.ticks):
        if tick is not None:
            axes.plot([tick, tick], [row - 0.42, row + 0.42], color=SOFT, linewidth=2)
    _category_axis(axes, panel)


def _reach(panel: Panel) -> float:
    """How far to the right bars and their marks go."""
    values = [v for series in (*panel.series.values(), panel.ticks) for v in series if v is not None]
    return max([*values, 0])


def _stack(axes: Any, panel: Panel) -> None:
    lefts = [0.0] * len(panel.categories)
    for index, (name, values) in enumerate(panel.series.items()):
        axes.barh(range(len(values)), [v or 0 for v in values], 0.72, left=lefts,
                  color=COLOURS[(4, 3, 0)[index % 3]], label=name)
        lefts = [left + (v or 0) for left, v in zip(lefts, values)]
    for row, (left, note) in enumerate(zip(lefts, panel.notes)):
        inside = left > 0.5 * (panel.limit or 0)
        axes.annotate(note, (left, row), xytext=(-5 if inside else 4, 0), textcoords="offset points", va="center",
                      ha="right" if inside else "left", fontsize=8, color=ON_BARS if inside else INK)
    _category_axis(axes, panel)
    axes.set_xticks(range(0, SMEM_LIMIT, 65_536))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _category_axis(axes: Any, panel: Panel) -> None:
    axes.set_yticks(range(len(panel.categories)), panel.categories)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.margins(x=0.02)
    if panel.kind == "bars":
        lowest = min([v for values in panel.series.values() for v in values if v is not None] + [0])
        reach = max(_reach(panel), -0.1 * lowest)
        axes.set_xlim(lowest * 1.2, reach * (1.05 if panel.notes else 1.2) or 1)
    if panel.limit is not None:
        axes.axvline(panel.limit, color=SOFT, linewidth=1.2, linestyle="--")
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.unit)


def _lines(axes: Any, panel: Panel) -> None:
    for name, values in panel.series.items():
        points = [(x, v) for x, v in zip(panel.x, values) if v is not None]
        is_rival = name == "cuBLAS"
        axes.plot([p[0] for p in points], [p[1] for p in points], label=name, markersize=4,
                  color=SOFT if is_rival else COLOURS[_place(name)], marker="" if is_rival else "o",
                  linestyle="--" if is_rival else "-", linewidth=1.4)
    if panel.limit is not None:
        axes.axhline(panel.limit, color=SOFT, linewidth=1.2, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel("M = N = K")
    axes.set_ylabel(panel.unit)


def _place(name: str) -> int:
    """A level has the same colour everywhere."""
    return (int(name[:2]) - 1) % len(COLOURS) if name[:2].isdigit() else 0


def _points(axes: Any, panel: Panel) -> None:
    assert panel.roof
    peak, memory = panel.roof
    ridge = peak / memory
    low, high = 16.0, max(1024.0, 2 * ridge)
    axes.plot([low, ridge, high], [low * memory, peak, peak], color=SOFT, linewidth=1.6)
    axes.annotate(f"tensor cores: {peak:,g} TFLOPS", (high, peak), xytext=(-4, 4), textcoords="offset points",
                  ha="right", fontsize=8, color=SOFT)
    axes.annotate(f"memory: {memory:g} TB/s", (low * 1.15, low * 1.15 * memory), xytext=(8, -6),
                  textcoords="offset points", fontsize=8, color=SOFT)
    for name, (intensity, value) in panel.series.items():
        axes.plot([intensity], [value], marker="o", markersize=6, linestyle="", color=COLOURS[_place(name)],
                  label=name)
    labels = _neighbours(panel.series)
    for names, (x, y) in labels:
        level = [other_x for _, (other_x, other_y) in labels if other_x != x and 0.75 < y / other_y < 1.33]
        if level and len(names) == 2:  # a single point with others at its height: above
            offset, side = (0, 6), "center"
        elif any(x < other_x for other_x in level):
            offset, side = (-7, -3), "right"
        else:
            offset, side = (7, -3), "left"
        axes.annotate(names, (x, y), xytext=offset, ha=side, textcoords="offset points", fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(40, 2 * peak)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel("useful FLOPs per byte requested")
    axes.set_ylabel(panel.unit)


def _neighbours(series: dict[str, Values]) -> list[tuple[str, tuple[float, float]]]:
    """The numbers of levels whose points lie so close that they need one label, and where it goes."""
    groups: list[list[tuple[float, float, str]]] = []
    for value, intensity, name in sorted((v or 1, i or 1, name[:2]) for name, (i, v) in series.items()):
        near = next((g for g in groups if value < 1.13 * g[-1][0] and 0.7 < intensity / g[-1][1] < 1.4), None)
        if near is None:
            groups.append([(value, intensity, name)])
        else:
            near.append((value, intensity, name))
    return [(_together(sorted(n for _, _, n in g)), (max(i for _, i, _ in g), g[len(g) // 2][0])) for g in groups]


def _together(numbers: list[str]) -> str:
    """03, 04, 05 and 08 as "03-05, 08"."""
    runs: list[list[str]] = []
    for number in numbers:
        if runs and int(number) == int(runs[-1][-1]) + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


DRAWERS: dict[str, Callable[[Any, Panel], None]] = {"bars": _bars, "stack": _stack, "lines": _lines, "points": _points}
