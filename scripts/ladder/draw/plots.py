"""Charts: what each shows is plain data; matplotlib is needed only to draw it.

A chart's file carries the hash of its data and of this file, so that whether it is up to date can be told without
drawing: other versions of matplotlib draw the same data a little differently.
"""
from __future__ import annotations

import hashlib
import html
import importlib.util
import io
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

from ladder.levels.description import SMEM_LIMIT

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
    notes: list[str] = field(default_factory=list)  # beside the bars
    ticks: Values = field(default_factory=list)  # a mark at each bar: what cuBLAS does there
    limit: Optional[float] = None  # a line across
    roofs: dict[str, float] = field(default_factory=dict)  # points: TB/s of each memory, one more place in each series
    peaks: dict[str, float] = field(default_factory=dict)  # points: TFLOPS, the lower one first


@dataclass(frozen=True)
class Chart:
    title: str
    description: str  # what a screen reader says
    panels: list[Panel]
    note: str = ""

    def digest(self) -> str:
        """Of its data, and of what draws it."""
        return hash_of(json.dumps(asdict(self)) + Path(__file__).read_text(encoding="utf-8"))


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_current(chart: Chart, path: Path) -> bool:
    """Whether the SVG file is this chart's. It also carries the hash of its own drawing."""
    if not path.exists():
        return False
    body, _, found = path.read_text(encoding="utf-8").rpartition("<!-- ")
    return found == seal(chart, body)


def seal(chart: Chart, body: str) -> str:
    return f"data {chart.digest()}, drawing {hash_of(body)} -->\n"


# --- drawing them -----------------------------------------------------------------------------------------------------

INK, SOFT, PAGE, GRID = "#1f2328", "#57606a", "#ffffff", "#d0d7de"
ON_BARS = "#fefefe"
DARK = {INK: "#e6edf3", SOFT: "#9aa4b0", PAGE: "#161b22", GRID: "#3d444d"}  # what they become on dark pages
WIDE, MARGIN = 9.6, 1.5  # inches: of a chart, and what the names of its categories take of that
TITLE_LETTER, MOST_COLUMNS = 0.078, 3  # inches that a letter of a panel's title takes; panels in a row
RIVAL = "cuBLAS"
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


def draw(chart: Chart) -> str:
    """The chart as SVG."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        bars = max(len(p.categories) * (1 if p.kind == "stack" else max(1, len(p.series))) for p in chart.panels)
        height = 4.2 if chart.panels[0].kind in ("lines", "points") else 1.5 + 0.24 * max(bars, 6)
        columns = _columns(chart)
        rows = -(-len(chart.panels) // columns)
        figure = Figure(figsize=(WIDE, rows * height), layout="constrained")
        first, colours = chart.panels[0], _colours(chart)
        _heading(figure, chart)
        for index, panel in enumerate(chart.panels):
            axes = figure.add_subplot(rows, columns, index + 1)
            DRAWERS[panel.kind](axes, panel, colours)
            if index % columns and panel.categories and panel.categories == first.categories:
                axes.tick_params(labelleft=False)
        _legend(figure, chart)
        return to_svg(figure, chart)


def _columns(chart: Chart) -> int:
    """Panels in a row: as many as leave room for the longest of their titles."""
    longest = max(len(panel.title) for panel in chart.panels)
    fitting = int((WIDE - MARGIN) / (longest * TITLE_LETTER))
    return max(1, min(len(chart.panels), MOST_COLUMNS, fitting))


def _colours(chart: Chart) -> dict[str, str]:
    """By the names of series: the same in all panels, and a level's the same in all charts."""
    names = list(dict.fromkeys(name for panel in chart.panels for name in panel.series))
    if chart.panels[0].kind in ("lines", "points"):
        return {name: COLOURS[(int(name[:2]) - 1) % len(COLOURS)] if name[:2].isdigit() else
                SOFT if name == RIVAL else INK for name in names}
    order = (4, 3, 0) if chart.panels[0].kind == "stack" else range(len(COLOURS))
    return {name: COLOURS[order[index % len(order)]] for index, name in enumerate(names)}


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


def to_svg(figure: Any, chart: Chart) -> str:
    """A finished figure, for light and dark pages."""
    output = io.StringIO()
    figure.savefig(output, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    body = output.getvalue()
    body = re.sub(r"^.*?(?=<svg)", "", body, flags=re.DOTALL)
    body = re.sub(r" *<metadata>.*?</metadata>\n", "", body, flags=re.DOTALL)
    # Plain colours, which every viewer knows; those that read style sheets replace them on dark pages.
    rules = "".join(f'[style*="{what}: {light}"]{{{what}:{dark}!important}}' for light, dark in DARK.items()
                    for what in ("fill", "stroke"))
    words = f"<title>{html.escape(chart.title)}</title>\n<desc>{html.escape(chart.description)}</desc>\n"
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>\n"
    body = re.sub(r"(<svg[^>]*>\n)", lambda m: m[1] + words + style, body, count=1)
    return body + "<!-- " + seal(chart, body)


def _bars(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
    count = len(panel.series)
    thick = 0.8 / count
    reach = _reach(panel)
    for index, (name, values) in enumerate(panel.series.items()):
        places = [row + (index - (count - 1) / 2) * thick for row in range(len(values))]
        axes.barh(places, [v or 0 for v in values], thick * 0.92, label=name, color=colours[name])
        for row, (place, value) in enumerate(zip(places, values)):
            noted = bool(panel.notes)
            note = panel.notes[row] if noted else "" if value is None else f"{value:g}"
            inside = noted and (value or 0) > 0.3 * reach
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


def _stack(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
    lefts = [0.0] * len(panel.categories)
    for name, values in panel.series.items():
        axes.barh(range(len(values)), [v or 0 for v in values], 0.72, left=lefts, color=colours[name], label=name)
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


def _lines(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
    for name, values in panel.series.items():
        points = [(x, v) for x, v in zip(panel.x, values) if v is not None]
        is_rival = name == RIVAL
        axes.plot([p[0] for p in points], [p[1] for p in points], label=name, markersize=4,
                  color=colours[name], marker="" if is_rival else "o",
                  linestyle="--" if is_rival else "-", linewidth=1.4)
    if panel.limit is not None:
        axes.axhline(panel.limit, color=SOFT, linewidth=1.2, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.set_xticks(panel.x, [f"{x:g}" for x in panel.x])
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel("M = N = K")
    axes.set_ylabel(panel.unit)


MARKS = "os^"  # of a panel's memories


def _points(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
    """A series: FLOPs per byte of each memory, then TFLOPS."""
    peaks = list(panel.peaks.values())
    low, high = 16.0, 2.0 * max(value or 0 for series in panel.series.values() for value in series[:-1])
    for name, memory in panel.roofs.items():
        ridge = peaks[0] / memory
        axes.plot([low, ridge], [low * memory, peaks[0]], color=SOFT, linewidth=1.6)
        axes.plot([ridge, peaks[-1] / memory], [peaks[0], peaks[-1]], color=SOFT, linewidth=1, linestyle=":")
        axes.annotate(f"{name}: {memory:.2g} TB/s", (180 / memory, 180), xytext=(2, 10),
                      textcoords="offset points", fontsize=8, color=SOFT, ha="left", rotation=36)
    for index, (name, peak) in enumerate(panel.peaks.items()):
        axes.plot([peak / max(panel.roofs.values()), high], [peak, peak], color=SOFT, linewidth=1 if index else 1.6,
                  linestyle=":" if index else "-")
        axes.annotate(f"{name}: {peak:,.0f} TFLOPS", (high, peak), xytext=(-4, 4), textcoords="offset points",
                      ha="right", fontsize=8, color=SOFT)
    for name, values in panel.series.items():
        for mark, intensity in zip(MARKS, values[:-1]):
            axes.plot([intensity], [values[-1]], marker=mark, markersize=6, linestyle="", color=colours[name],
                      label=name if mark == MARKS[0] else None)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(150, 1.3 * peaks[-1])
    axes.set_yticks([200, 400, 600, 800, 1000])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel("useful FLOPs per byte")
    axes.set_ylabel(panel.unit)


DRAWERS: dict[str, Callable[[Any, Panel, Mapping[str, str]], None]] = {
    "bars": _bars, "stack": _stack, "lines": _lines, "points": _points}
