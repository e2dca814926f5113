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
    notes: list[str] = field(default_factory=list)  # beside the bars, unless they are hatched
    hatched: str = ""  # the series that is of another kind
    ticks: Values = field(default_factory=list)  # a mark at each bar: what cuBLAS does there
    limit: Optional[float] = None  # a line across
    roof: Optional[tuple[float, float]] = None  # points: peak in TFLOPS, memory in TB/s


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
        hatched = name == panel.hatched
        look: dict[str, Any] = {"color": colours[name]}
        if hatched:
            look = {"facecolor": "none", "edgecolor": colours[name], "hatch": "////", "linewidth": 0.8}
        axes.barh(places, [v or 0 for v in values], thick * 0.92, label=name, **look)
        for row, (place, value) in enumerate(zip(places, values)):
            noted = bool(panel.notes) and not hatched
            note = panel.notes[row] if noted else "" if value is None else f"{value:g}"
            inside = noted and (value or 0) > 0.3 * reach
            axes.annotate(note, (0 if inside else max(value or 0, 0), place), xytext=(4, 0), va="center",
                          textcoords="offset points", fontsize=8,
                          color=ON_BARS if inside else SOFT if value is None else INK)
    for row, tick in enumerate(panel.ticks):
        if tick is not None:
            # Beside the bar that it belongs to: the hatched one below has its own value there.
            axes.plot([tick, tick], [row - 0.42, row + (0 if panel.hatched else 0.42)], color=SOFT, linewidth=2)
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


def _points(axes: Any, panel: Panel, colours: Mapping[str, str]) -> None:
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
        axes.plot([intensity], [value], marker="o", markersize=6, linestyle="", color=colours[name], label=name)
    labels = _neighbours(panel.series)
    for label, (x, y) in labels:
        level = [other_x for _, (other_x, other_y) in labels if other_x != x and 0.75 < y / other_y < 1.33]
        if level and len(label) == 2:  # a single point with others at its height: above
            offset, side = (0, 6), "center"
        elif any(x < other_x for other_x in level):
            offset, side = (-7, -3), "right"
        else:
            offset, side = (7, -3), "left"
        axes.annotate(label, (x, y), xytext=offset, ha=side, textcoords="offset points", fontsize=8)
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
    for value, intensity, name in sorted((v or 1, i or 1, name.split()[0]) for name, (i, v) in series.items()):
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
        if runs and number.isdigit() and int(number) == int(runs[-1][-1]) + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


DRAWERS: dict[str, Callable[[Any, Panel, Mapping[str, str]], None]] = {
    "bars": _bars, "stack": _stack, "lines": _lines, "points": _points}
