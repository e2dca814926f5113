"""What was tried at the top of the Hopper ladder: the log, and what is to be learned from it."""
from __future__ import annotations

import math

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import shapes
from ladder.results import data
from ladder.results.data import Fields

LOG = RESULTS / "h200_tuning.csv"
LESSONS = RESULTS / "h200_tuning_lessons.csv"


def lessons(context: Context) -> str:
    """What paid and what did not: each with the row of the log that shows it, and the one that it is compared with."""
    log_rows = {row["nr"]: row for row in data.read_rows(context.root / LOG)[1]}
    lines, used = [], []
    for lesson in data.read_rows(context.root / LESSONS)[1]:
        row, beside = log_rows[lesson["row"]], log_rows[lesson["beside"]]
        ratio, error = faster(row, beside)
        lines.append([lesson["paid"], lesson["lesson"], _size(row), f"{ratio:.3f} ± {error:.3f}",
                      f"{row['nr']}, beside {beside['nr']}"])
        used += [row, beside]
    return (markdown.table(["paid", "what", "M x N x K", "times as fast", "rows of the log"], lines, "lllr")
            + f"\n{_source(used)}. *Times as fast*: the quotient of two ratios to cublasLt, which alternated with "
              "either row; its error is that of both.\n")


def faster(row: Fields, beside: Fields) -> tuple[float, float]:
    """How many times as fast the one is as the other, by their ratios to cublasLt, and the error of that."""
    first, second = float(row["ratio_cublaslt"]), float(beside["ratio_cublaslt"])
    ratio = first / second
    return ratio, ratio * math.hypot(float(row["ratio_cublaslt_error"]) / first,
                                     float(beside["ratio_cublaslt_error"]) / second)


def _size(row: Fields) -> str:
    return shapes.size_text((int(row["m"]), int(row["n"]), int(row["k"])))


def _source(rows: list[Fields]) -> str:
    """"measured: NVIDIA H200, 2026-11-21, 2026-11-22"."""
    dates: dict[str, set[str]] = {}
    for row in rows:
        dates.setdefault(f"{row['kind']}: {row['gpu']}", set()).add(row["date"])
    return "; ".join(", ".join([one, *sorted(dates[one])]) for one in sorted(dates))
