#!/usr/bin/env python3
"""Reads docs/results/*.csv and makes tables of it, for terminals and for Markdown.

Every number is of one of three kinds: measured (by this project, on the GPU that is named), reported (by the author of
the notes that the course follows) or modelled (computed on the simulated device). A column holds one kind, of one GPU,
and says which.
"""
from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, Optional, Sequence

import ladder

RESULTS = ladder.ROOT / "docs" / "results"
REPORTED_ABLATIONS = "gb200_ablations_reported.csv"

# The order in which these columns come first in every file of results.
COLUMNS = ("level", "arch", "m", "n", "k", "tflops", "cublas_tflops", "cublaslt_tflops", "ratio_cublas",
           "ratio_cublaslt", "kind", "gpu")
KINDS = ("measured", "reported", "modelled")
HEADLINE_EDGES = (4096, 6144, 8192, 10240, 12288)
DEFAULT_EDGE = 8192
RATIOS = {"ratio_cublas": "x cuBLAS", "ratio_cublaslt": "x cublasLt"}
NOTHING = "-"

Fields = dict[str, str]


class DataError(Exception):
    """A file of results that cannot be right; the message names file and line."""


# --- results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """Whose numbers: what may stand in one column."""

    kind: str
    gpu: str
    arch: int

    def title(self) -> str:
        return f"{self.kind}: {self.gpu} (sm{self.arch})"

    def sort_key(self) -> tuple[int, int, str]:
        return KINDS.index(self.kind), self.arch, self.gpu


@dataclass(frozen=True)
class Result:
    level: str
    shape: ladder.Shape
    series: Series
    fields: Fields  # the whole row, as text

    def number(self, column: str) -> Optional[float]:
        text = self.fields.get(column, "")
        return float(text) if text else None


def read_rows(path: Path) -> tuple[list[str], list[Fields]]:
    """Column names and rows of a CSV file; lines that start with # are comments."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(line for line in file if not line.startswith("#"))
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise DataError(f"{path}:{reader.line_num}: this row has not as many fields as the header has names.")
            rows.append(dict(row))
        return list(reader.fieldnames or []), rows


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Fields]) -> None:
    lines = [",".join(columns)]
    for row in rows:
        lines.append(",".join(_csv_field(row.get(column, "")) for column in columns))
    ladder.replace_file(path, "\n".join(lines) + "\n")


def _csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


def to_result(row: Fields) -> Result:
    """Raises ValueError for what is no result."""
    if row["kind"] not in KINDS:
        raise ValueError(f"kind must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, not '{row['kind']}'")
    if not ladder.level_number(row["level"]):
        raise ValueError(f"'{row['level']}' is no level")
    if not row["gpu"]:
        raise ValueError("gpu is empty")
    result = Result(row["level"], (int(row["m"]), int(row["n"]), int(row["k"])),
                    Series(row["kind"], row["gpu"], int(row["arch"])), row)
    for column in COLUMNS[5:10]:
        result.number(column)
    return result


def load_results(folder: Path = RESULTS) -> list[Result]:
    """The results of all files in `folder` that have the columns of results; other tables are none of these, nor are
    ablations, which measure something else than the level as it is."""
    results = []
    for path in sorted(folder.glob("*.csv")):
        columns, rows = read_rows(path)
        if not set(COLUMNS) <= set(columns) or "optimisation" in columns:
            continue
        for number, row in enumerate(rows, start=1):
            try:
                results.append(to_result(row))
            except ValueError as error:
                raise DataError(f"{path}: row {number}: {error}.") from None
    return results


def find(results: Iterable[Result], level: str, series: Series, shape: ladder.Shape) -> Optional[Result]:
    """The result for one cell. The notes sometimes give two figures: the one that they compare with cuBLAS's counts."""
    found = [r for r in results if r.level == level and r.series == series and r.shape == shape]
    with_rival = [r for r in found if r.number("ratio_cublas") is not None]
    return next(iter(with_rival or found), None)


def all_levels(results: Iterable[Result], root: Path = ladder.ROOT) -> list[str]:
    """The levels that are here, and those that only figures exist of."""
    return sorted({*ladder.all_levels(root), *(r.level for r in results)})


def all_series(results: Iterable[Result]) -> list[Series]:
    return sorted({r.series for r in results}, key=Series.sort_key)


# --- numbers as text --------------------------------------------------------------------------------------------------


def tflops_text(result: Optional[Result], column: str = "tflops") -> str:
    value = result.number(column) if result else None
    if result is None or value is None:
        return NOTHING
    tilde = "~" if column == "tflops" and result.fields.get("approx") == "1" else ""
    return f"{tilde}{value:.1f}" if value < 100 else f"{tilde}{value:.0f}"


def ratio_text(result: Optional[Result], column: str) -> str:
    value = result.number(column) if result else None
    if result is None or value is None:
        return NOTHING
    other_rival = column == "ratio_cublas" and result.fields.get("reference") == "torch.matmul"
    return f"{value:.3f}" + ("*" if other_rival else "")


def burst_ratio(result: Result, column: str) -> Optional[float]:
    """In a burst, what `column` of RATIOS is under load; None if the level or its rival was not timed so."""
    own, rival = result.number("burst_tflops"), result.number(column.replace("ratio", "burst") + "_tflops")
    return None if own is None or rival is None else own / rival


def burst_ratio_text(result: Optional[Result], column: str) -> str:
    value = burst_ratio(result, column) if result else None
    return NOTHING if value is None else f"{value:.3f}"


def interval(result: Result, column: str) -> Optional[tuple[float, float]]:
    """The confidence interval of a ratio. One that does not say how sure it is, is none."""
    low, high, *sure = map(result.number, (f"{column}_low", f"{column}_high", "interval_coverage", "rounds"))
    return None if low is None or high is None or None in sure else (low, high)


def interval_text(result: Optional[Result], column: str) -> str:
    """The ratio with its confidence interval, where there is one: 0.851 [0.821, 0.862]."""
    found = interval(result, column) if result else None
    return ratio_text(result, column) + (f" [{found[0]:.3f}, {found[1]:.3f}]" if found else "")


def range_text(values: Iterable[Optional[float]], unit: str) -> str:
    known = [v for v in values if v is not None]
    if not known:
        return ""
    low, high = f"{min(known):.0f}", f"{max(known):.0f}"
    return f"{low} {unit}" if low == high else f"{low}-{high} {unit}"


def conditions(results: Sequence[Result]) -> str:
    """Under which circumstances: no speed means anything without them."""
    clocks = range_text([r.number("sm_mhz") for r in results], "MHz (NVML)")
    power = range_text([r.number("power_w") for r in results], "W")
    caps = sorted({r.fields["power_cap_w"] for r in results if r.fields.get("power_cap_w")})
    if power and caps:
        power += f" of {' / '.join(caps)} W"
    parts = [clocks, power]
    for name, column, length in (("driver ", "driver", None), ("CUDA ", "cuda", None), ("cuBLAS ", "cublas", None),
                                 ("commit ", "commit", None), ("", "date", len("2025-01-31"))):
        values = sorted({r.fields.get(column, "")[:length] for r in results} - {""})
        parts.append(name + ", ".join(values) if values else "")
    return "; ".join(p for p in parts if p)


# --- tables -----------------------------------------------------------------------------------------------------------


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
        """Markdown knows one line of heads, so each repeats its group's title."""
        heads = [f"{head}<br>{group.title}" for group in self.groups for head in group.columns]
        lines = ["| " + " | ".join([self.head, *heads]) + " |", "|---" + "|--:" * len(heads) + "|"]
        for index, name in enumerate(self.names):
            cells = [cells[index] for group in self.groups for cells in group.columns.values()]
            lines.append("| " + " | ".join([name, *(c.replace("*", r"\*").replace("|", r"\|") for c in cells)]) + " |")
        lines += [line for note in self.notes for line in ("", note.replace("*", r"\*"))]
        return "\n".join(lines) + "\n"


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
                first: Sequence[Group] = (), archs: Sequence[int] = ladder.ARCHES) -> Table:
    """The ladder at one size: a row per level. The groups `first`, with a cell for each of `levels`, come before the
    recorded figures."""
    shape = (edge, edge, edge)
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
    shapes = sorted({r.shape for r in of_level}, key=lambda s: (s[0] * s[1] * s[2], s))
    cells = [(series, [find(of_level, level, series, shape) for shape in shapes]) for series in all_series(of_level)]
    groups = []
    for series, found in cells:
        group = Group(series.title(), figures(found, interval_text))
        for column, head in (("sm_mhz", "MHz"), ("power_w", "W")):
            numbers = [r.number(column) if r else None for r in found]
            if any(n is not None for n in numbers):
                group.columns[head] = [NOTHING if n is None else f"{n:.0f}" for n in numbers]
        groups.append(group)
    notes = _notes(cells) + interval_notes([r for _, found in cells for r in found])
    return Table("M = N = K", [ladder.size_text(s) for s in shapes], groups, notes)


def bursts(results: Sequence[Result], levels: Sequence[str], edge: int = DEFAULT_EDGE) -> Table:
    """Short bursts on a cool chip beside the sustained figures, at one size: a row per level, as far as anybody has
    timed bursts."""
    shape = (edge, edge, edge)
    timed = [r for r in results if r.shape == shape and r.number("burst_tflops") is not None]
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


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = ladder.Parser(description="Prints the ladder as docs/results/*.csv records it.", allow_abbrev=False)
    parser.add_argument("--size", type=ladder.whole_number, default=DEFAULT_EDGE, metavar="EDGE",
                        help="M = N = K (default: %(default)s)")
    parser.add_argument("--level", type=ladder.whole_number, metavar="N", help="one level at all its sizes instead")
    parser.add_argument("--markdown", action="store_true", help="for a README instead of a terminal")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="default: docs/results")
    options = parser.parse_args(arguments)
    try:
        results = load_results(options.results)
    except (OSError, DataError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    levels = all_levels(results)
    table = progression(results, levels, options.size)
    if options.level is not None:
        named = [name for name in levels if ladder.level_number(name) == options.level]
        if not named:
            ladder.give_up(ladder.EXIT_USAGE, f"there is no level {options.level}.")
        table = by_size(results, named[0])
    if not table.groups:
        ladder.give_up(ladder.EXIT_USAGE, f"there are no results for this in {options.results}.")
    formatter: Callable[[], str] = table.markdown if options.markdown else table.text
    print(formatter(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
