"""docs/results/*.csv as data.

Every number is of one of three kinds: measured (by this project, on the GPU that is named), reported (by the author of
the notes that the course follows) or modelled (computed on the simulated device).
"""
from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.files import DataError
from ladder.levels import names, shapes
from ladder.results import checks

FOLDER = files.ROOT / files.RESULTS
REPORTED_ABLATIONS = "gb200_ablations_reported.csv"

# The order in which these columns come first in every file of results.
COLUMNS = ("level", "arch", "m", "n", "k", "tflops", "cublas_tflops", "cublaslt_tflops", "ratio_cublas",
           "ratio_cublaslt", "kind", "gpu")
KINDS = ("measured", "reported", "modelled")
#: Under which a measurement was made, as far as harness and driver say.
CIRCUMSTANCES = ("sm_mhz", "power_w", "power_cap_w", "driver", "cuda", "cublas", "date", "commit")
REPORTED = ("gpus", "published")  # files whose names say it in another way: kind_of
PEAK_TOLERANCE = 1.1  # clocks above those of the data sheet
HEADLINE_EDGES = (4096, 6144, 8192, 10240, 12288)
DEFAULT_EDGE = 8192
# Beyond the headline sizes: small ones, what language models multiply, ragged edges, few rows.
SHAPES: tuple[shapes.Shape, ...] = (
    *(shapes.cube(edge) for edge in (1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384)),
    (4096, 14336, 4096), (8192, 28672, 8192), (8192, 8192, 28672), (2000, 7000, 5000), (1000, 1000, 8192),
    (16, 8192, 8192), (128, 8192, 8192), (512, 8192, 8192))

# Configurations that were tried together share a line, in which each has a column: "tflops of 128x64" holds the
# `tflops` of the row whose `config` is 128x64. "tflops of *" stands for all such columns.
OF_CONFIG = re.compile(r"(\w+) of (\S+)")

Fields = dict[str, str]  # a row: column name to text


class Row(Fields):
    """A row that knows where it stands. A column that the file has not is a DataError, not a KeyError."""

    def __init__(self, fields: Fields, file: Path, line: int):
        super().__init__(fields)
        self.file, self.line = file, line

    def __missing__(self, column: str) -> str:
        raise DataError(f"{self.file}: there is no column '{column}'.")


def place_of(row: Fields) -> str:
    """Where it stands, as a sentence about it begins."""
    return f"{row.file}:{row.line}: " if isinstance(row, Row) else ""


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
    shape: shapes.Shape
    series: Series
    fields: Fields  # the whole row, as text

    def number(self, column: str) -> Optional[float]:
        text = self.fields.get(column, "")
        return float(text) if text else None


def read_rows(path: Path) -> tuple[list[str], list[Fields]]:
    """Column names and rows of a CSV file; lines that start with # are comments. Of many configurations in a line, each
    has a row. Raises DataError, with the line and the column, for what cannot be right."""
    columns, rows = _parsed(path, files.read_text(path))
    return list(columns), [Row(row, row.file, row.line) for row in rows]


@functools.lru_cache(maxsize=64)  # pages are made of a few files, each of which is read many times
def _parsed(path: Path, text: str) -> tuple[list[str], list[Row]]:
    # Comments become empty lines, which are no rows, so that the reader counts the lines of the file.
    reader = csv.reader("\n" if line.startswith("#") else line for line in io.StringIO(text, newline=""))
    columns: list[str] = []
    of_config: list[Optional[re.Match[str]]] = []
    rows: list[Row] = []
    try:
        for fields in reader:
            if not columns:
                columns = fields
                if len(set(columns)) < len(columns):
                    raise DataError(f"{path}:{reader.line_num}: two columns have one name.")
                of_config = [*map(OF_CONFIG.fullmatch, columns)]
            elif fields:
                rows += _rows(columns, of_config, fields, path, reader.line_num)
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: {error}.") from None
    return list(dict.fromkeys(OF_CONFIG.sub(r"\1 of *", column) for column in columns)), rows


def _rows(columns: Sequence[str], of_config: Sequence[Optional[re.Match[str]]], fields: Sequence[str], path: Path,
          line: int) -> list[Row]:
    """What a line says: a row, or one for each configuration of which it says anything."""
    if len(fields) != len(columns):
        raise DataError(f"{path}:{line}: this row has {len(fields)} fields, and the header {len(columns)}.")
    shared: Fields = {}
    configs: dict[str, Fields] = {}
    for column, match, text in zip(columns, of_config, fields):
        if match:
            configs.setdefault(match[2], {"config": match[2]})[match[1]] = text
        else:
            shared[column] = text
    found: list[Row] = []
    for figures in configs.values() if configs else [{}]:
        row = Row({**shared, **figures}, path, line)
        if wrong := checks.complaint(row):
            raise DataError(f"{place_of(row)}{wrong}.")
        if not configs or any(text for name, text in figures.items() if name != "config"):
            found.append(row)
    return found


def _in_lines(columns: Sequence[str], rows: Iterable[Fields]) -> tuple[list[str], list[Fields]]:
    """Columns and lines of rows that share a line where they differ in nothing but their configuration's figures."""
    figures = [match[1] for column in columns if (match := OF_CONFIG.fullmatch(column))]
    shared = [column for column in columns if not OF_CONFIG.fullmatch(column)]
    lines: dict[tuple[str, ...], Fields] = {}
    for row in rows:
        line = lines.setdefault(tuple(row.get(column, "") for column in shared), {c: row.get(c, "") for c in shared})
        line.update({f"{figure} of {row['config']}": row.get(figure, "") for figure in figures})
    of_configs = dict.fromkeys(column for line in lines.values() for column in line if column not in shared)
    return [*shared, *of_configs], list(lines.values())


def csv_text(columns: Sequence[str], rows: Iterable[Fields]) -> str:
    """A CSV file; what a row does not say is empty."""
    if any(map(OF_CONFIG.fullmatch, columns)):
        columns, rows = _in_lines(columns, rows)
    output = io.StringIO()
    writer = csv.DictWriter(output, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue()


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Fields]) -> None:
    files.replace(path, csv_text(columns, rows))


def to_result(row: Fields) -> Result:
    """Of a row that read_rows has read. Raises DataError for what is no result."""
    if row["kind"] not in KINDS:
        raise DataError(f"{place_of(row)}kind must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, not '{row['kind']}'.")
    if not names.is_kernel(row["level"]):
        raise DataError(f"{place_of(row)}level must be a level's name or production, not '{row['level']}'.")
    if not row["gpu"]:
        raise DataError(f"{place_of(row)}gpu is empty.")
    return Result(row["level"], (int(row["m"]), int(row["n"]), int(row["k"])),
                  Series(row["kind"], row["gpu"], int(row["arch"])), row)


def kind_of(path: Path) -> str:
    """Which kind of numbers a file of docs/results has: one kind, and its name says so."""
    if path.name.startswith(("modelled", "sim_")):
        return "modelled"
    return "reported" if path.stem.endswith(("_reported", "_public")) or path.stem in REPORTED else "measured"


def measured(folder: Path, what: str) -> list[Path]:
    """The files GPU_`what`.csv: what was measured of one thing, on each GPU."""
    return [path for path in sorted(folder.glob(f"*_{what}.csv")) if kind_of(path) == "measured"]


def of_record(results: Sequence[Result]) -> list[Result]:
    """All that is reported or modelled, and of each architecture what was measured on one GPU: the one on which most
    levels were, and of several such the latest."""
    measured: dict[int, dict[str, list[Result]]] = {}
    for result in results:
        if result.series.kind == "measured":
            measured.setdefault(result.series.arch, {}).setdefault(result.series.gpu, []).append(result)
    chosen = {arch: max(gpus, key=lambda gpu: (len({r.level for r in gpus[gpu]}),
                                               max(r.fields.get("date", "") for r in gpus[gpu])))
              for arch, gpus in measured.items()}
    return [r for r in results if r.series.kind != "measured" or chosen[r.series.arch] == r.series.gpu]


def load_results(folder: Path = FOLDER) -> list[Result]:
    """The results of all files in `folder` that have the columns of results. Left out are ablations, which measure
    something else than the level as it is, and the files of SHAPES, of random shapes, of a level's configurations and
    of the steps to it."""
    others = ("_shapes", "_random", "_choice", "_steps")
    return [result for path in sorted(folder.glob("*.csv")) if not path.stem.endswith(others)
            for result in load_file(path)]


def load_measured(folder: Path, what: str) -> list[Result]:
    """The results of the files GPU_`what`.csv: "shapes" are those at SHAPES, "random" those at shapes drawn at
    random."""
    return [result for path in measured(folder, what) for result in load_file(path)]


def load_file(path: Path) -> list[Result]:
    """The results of one file; none if its columns are others."""
    columns, rows = read_rows(path)
    return results_of(path, rows) if set(COLUMNS) <= set(columns) and "optimisation" not in columns else []


def results_of(path: Path, rows: Iterable[Fields]) -> list[Result]:
    """The rows of a file as results. Raises DataError for a speed that its GPU cannot reach."""
    results = list(map(to_result, rows))
    peaks = _peaks(path.with_name("gpus.csv"))
    for result in results:
        speed, peak = result.number("tflops"), peaks.get(result.series.gpu)
        if speed and peak and speed > PEAK_TOLERANCE * peak:
            raise DataError(f"{place_of(result.fields)}tflops is {speed:g}, and the data sheet of {result.series.gpu} "
                            f"promises {peak:g}.")
    return results


def _peaks(sheets: Path) -> dict[str, float]:
    """What data sheets promise, GPU by GPU."""
    return {row["gpu"]: float(row["bf16_tflops"]) for row in read_rows(sheets)[1]} if sheets.exists() else {}


def find(results: Iterable[Result], level: str, series: Series, shape: shapes.Shape) -> Optional[Result]:
    """The result for one cell. The notes sometimes give two figures: the one that they compare with cuBLAS's counts."""
    found = [r for r in results if r.level == level and r.series == series and r.shape == shape]
    with_rival = [r for r in found if r.number("ratio_cublas") is not None]
    return next(iter(with_rival or found), None)


def all_levels(results: Iterable[Result], root: Path = files.ROOT) -> list[str]:
    """The levels that are here, and those that only figures exist of."""
    return sorted({*names.all_levels(root), *(r.level for r in results)})


def all_series(results: Iterable[Result]) -> list[Series]:
    return sorted({r.series for r in results}, key=Series.sort_key)
