"""Tables of results, for terminals and for Markdown. A column holds numbers of one kind, of one GPU, and says which."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Callable, Optional

from ladder import markdown
from ladder.levels import names, shapes
from ladder.results.data import DEFAULT_EDGE, SHAPES, Result, Series, all_series, find
from ladder.results.numbers import (
    NOTHING,
    RATIOS,
    burst_ratio_text,
    conditions,
    interval,
    interval_text,
    ratio_text,
    tflops_text,
)


@dataclass
class Group:
    """Columns that belong together: one kind, one GPU."""

    title: str
    columns: dict[str, list[str]]


@dataclass
class Table:
    head: str
    names: list[str]
    groups: list[Group]
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """For terminals: the group titles stand above their columns."""
        width = max(len(n) for n in [self.head, *self.names])
        titles, heads, lines = [" " * width], [self.head.ljust(width)], [[name.ljust(width)] for name in self.names]
        for group in self.groups:
            widths = [max(len(c) for c in [head, *cells]) for head, cells in group.columns.items()]
            total = max(sum(widths) + 2 * (len(widths) - 1), len(group.title))
            titles.append(group.title.ljust(total))
            heads.append("  ".join(h.rjust(w) for h, w in zip(group.columns, widths)).ljust(total))
            for index, line in enumerate(lines):
                cells = [cells[index].rjust(w) for cells, w in zip(group.columns.values(), widths)]
                line.append("  ".join(cells).ljust(total))
        rows = ["   ".join(parts).rstrip() for parts in [titles, heads, *lines]]
        return "\n".join([*rows, *self.notes]) + "\n"

    def markdown(self) -> str:
        heads, rows, notes = self.cells()
        return markdown.table(heads, rows, "l" + "r" * (len(heads) - 1)) + "".join(f"\n{note}\n" for note in notes)

    def cells(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Heads, rows and notes in Markdown, which knows one line of heads: each repeats its group's title."""
        heads = [f"{head}<br>{group.title}" for group in self.groups for head in group.columns]
        rows = [[name, *(markdown.plain(cells[index]) for group in self.groups for cells in group.columns.values())]
                for index, name in enumerate(self.names)]
        return [self.head, *heads], rows, list(map(markdown.plain, self.notes))


def figures(results: Sequence[Optional[Result]],
            ratio: Callable[[Optional[Result], str], str] = ratio_text) -> dict[str, list[str]]:
    """The columns of figures: speed, and the ratios that any of the results has, as `ratio` makes text of them."""
    columns = {"TFLOPS": [tflops_text(r) for r in results]}
    for column, head in RATIOS.items():
        cells = [ratio(r, column) for r in results]
        if any(c != NOTHING for c in cells):
            columns[head] = cells
    return columns


def _notes(groups: Sequence[tuple[Series, Sequence[Optional[Result]]]]) -> list[str]:
    notes = []
    for series, cells in groups:
        present = [r for r in cells if r is not None]
        if series.kind == "measured":
            text = conditions(present)
            notes.append(f"{series.title()}: by this project{'; ' + text if text else ''}.")
        elif series.kind == "reported":
            notes.append(f"{series.title()}: from the author's notes, not measured by this project.")
        else:
            notes.append(f"{series.title()}: computed by the simulated device, not timed on hardware.")
        if any(ratio_text(r, "ratio_cublas").endswith("*") for r in present):
            notes.append("* against torch.matmul instead of cuBLAS called directly.")
    return notes


def interval_notes(results: Sequence[Optional[Result]]) -> list[str]:
    """What the brackets are, if there are any. How sure an interval is depends on how many rounds it is made of."""
    sure = {(int(r.fields["rounds"]), float(r.fields["interval_coverage"])) for r in results
            if r and any(interval(r, column) for column in RATIOS)}
    if not sure:
        return []
    rounds = " or ".join(f"{count} rounds (coverage {coverage:.3f})" for count, coverage in sorted(sure))
    return [f"In brackets: the confidence interval of the ratio, which is the median of {rounds}."]


def progression(results: Sequence[Result], levels: Sequence[str], edge: int = DEFAULT_EDGE,
                first: Sequence[Group] = (), archs: Sequence[int] = names.ARCHES) -> Table:
    """The ladder at one size: a row per level. The groups `first`, with a cell for each of `levels`, come before the
    recorded figures."""
    shape = shapes.cube(edge)
    at_size = [r for r in results if r.shape == shape and r.series.arch in archs]
    cells = [(series, [find(at_size, name, series, shape) for name in levels]) for series in all_series(at_size)]
    groups = [*first, *(Group(series.title(), figures(found)) for series, found in cells)]
    notes = _notes(cells)
    if cells:
        notes.insert(0, f"Figures of record at M = N = K = {edge}.")
    return Table("level", list(levels), groups, notes)


def by_size(results: Sequence[Result], level: str) -> Table:
    """One level at all its sizes, the ratios with their confidence intervals."""
    of_level = [r for r in results if r.level == level]
    sizes = sorted({r.shape for r in of_level}, key=lambda s: (s[0] * s[1] * s[2], s))
    cells = [(series, [find(of_level, level, series, shape) for shape in sizes]) for series in all_series(of_level)]
    groups = []
    for series, found in cells:
        group = Group(series.title(), figures(found, interval_text))
        for column, head in (("sm_mhz", "MHz"), ("power_w", "W")):
            numbers = [r.number(column) if r else None for r in found]
            if any(n is not None for n in numbers):
                group.columns[head] = [NOTHING if n is None else f"{n:.0f}" for n in numbers]
        groups.append(group)
    notes = _notes(cells) + interval_notes([r for _, found in cells for r in found])
    return Table("M = N = K", [shapes.size_text(s) for s in sizes], groups, notes)


def at_shapes(results: Sequence[Result], level: str) -> Table:
    """One level at SHAPES: which configuration it chose, and both ratios in two ways, with their intervals."""
    of_level = [r for r in results if r.level == level]
    sizes = sorted({r.shape for r in of_level}, key=lambda s: (SHAPES.index(s) if s in SHAPES else len(SHAPES), s))
    cells = [(series, [find(of_level, level, series, shape) for shape in sizes]) for series in all_series(of_level)]
    groups = []
    for series, found in cells:
        columns = {"tile": [r.fields.get("config", NOTHING) if r else NOTHING for r in found],
                   **figures(found, interval_text)}
        columns.update({f"{head}, apart": [interval_text(r, f"apart_{column}") for r in found]
                        for column, head in RATIOS.items()})
        groups.append(Group(series.title(), columns))
    notes = ["Apart: with an event between calls, so that no launch overlaps the one before."] if groups else []
    notes += _notes(cells) + interval_notes([r for _, found in cells for r in found])
    return Table("M x N x K", [shapes.size_text(s) for s in sizes], groups, notes)


def bursts(results: Sequence[Result], levels: Sequence[str], edge: int = DEFAULT_EDGE) -> Table:
    """Short bursts on a cool chip beside the sustained figures, at one size: a row per level of which anybody has
    timed bursts."""
    shape = shapes.cube(edge)
    timed = [r for r in results if r.shape == shape and r.number("burst_tflops") is not None]
    levels = [name for name in levels if any(r.level == name for r in timed)]
    cells = [(series, [find(timed, name, series, shape) for name in levels]) for series in all_series(timed)]
    groups = []
    for series, found in cells:
        columns = {"TFLOPS, burst": [tflops_text(r, "burst_tflops") for r in found],
                   "TFLOPS, sustained": [tflops_text(r) for r in found]}
        for column, head in RATIOS.items():
            columns[f"{head}, burst"] = [burst_ratio_text(r, column) for r in found]
            columns[f"{head}, sustained"] = [ratio_text(r, column) for r in found]
        groups.append(Group(series.title(), columns))
    notes = [f"M = N = K = {edge}. Burst: a few milliseconds of work after a pause; its ratios are quotients of median "
             "speeds, without intervals. Clock and power are those of the sustained load."]
    return Table("level", list(levels), groups, notes + _notes(cells) if cells else [])
