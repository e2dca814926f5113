"""What was tried at the top of the Hopper ladder: the log, and what is to be learned from it."""
from __future__ import annotations

import math
from typing import Callable

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import shapes
from ladder.pages.blocks.options import Options
from ladder.results import data
from ladder.results.data import Fields
from ladder.results.numbers import grouped

LOG = RESULTS / "h200_tuning.csv"
LESSONS = RESULTS / "h200_tuning_lessons.csv"

# Column of the file, and how its figure reads.
FIGURES: dict[str, Callable[[str], str]] = {
    "cycles": lambda text: f"{grouped(int(text))} cycles",
    "dram_bytes": lambda text: f"{int(text) / 1e9:.2f} GB from DRAM",
    "l2_bytes": lambda text: (f"{int(text) / 1e9:.1f} GB in L2" if int(text) >= 1e9 else
                              f"{int(text) / 1e6:.0f} MB in L2"),
    "tensor_percent": lambda text: f"tensor cores active {text} %",
    "us": lambda text: f"{float(text):,.0f} us" if float(text) >= 100 else f"{float(text):.1f} us",
    "ratio_cublas": lambda text: f"{float(text):.3f} x cuBLAS",
}
# What the words in the column `how` stand for.
WAYS = {
    "profiler": "one launch, clocks free, elapsed cycles",
    "clock": "clock64() in the kernel, the busiest CTA seen",
    "bench": "the ratios: the level's own `--bench`, 10 rounds",
    "paired": "the ratios with an error: 2 to 40 rounds alternating with cublasLt, in one process, at the power limit",
}


def log(context: Context, _: Options) -> str:
    """A row per attempt: what it was, what it was expected to bring, what came of it, and why."""
    rows = data.read_rows(context.root / LOG)[1]
    lines: list[list[str]] = []
    for row in rows:
        figures = [FIGURES[column](row[column]) for column in FIGURES if row[column]]
        if row["ratio_cublaslt"]:
            error = f" ± {float(row['ratio_cublaslt_error']):.3f}" if row["ratio_cublaslt_error"] else ""
            figures.append(f"{float(row['ratio_cublaslt']):.3f}{error} x cublasLt")
        size = _size(row)
        observed = "; ".join(filter(None, [row["outcome"], f"{size}: " + ", ".join(figures)]))
        ways = row["how"].split()
        lines.append([row["nr"], row["attempt"], row["expected"], observed, row["why"], ", ".join(ways)])
    legend = "; ".join(f"*{way}*: {words}" for way, words in WAYS.items())
    return (markdown.table(["", "optimisation", "expected", "observed", "why", "how"], lines, "r")
            + f"\n{_source(rows)}. {legend}.\n")


def lessons(context: Context, _: Options) -> str:
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
