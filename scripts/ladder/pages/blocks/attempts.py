"""The log of what was tried at the top of the Hopper ladder."""
from __future__ import annotations

from typing import Callable

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import shapes
from ladder.pages.blocks.options import Options
from ladder.results import data
from ladder.results.numbers import grouped

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
    "paired": "the ratios with an error: 4 to 24 rounds in turns with cublasLt, in one process, at the power limit",
}


def log(context: Context, _: Options) -> str:
    """A row per attempt: what it was, what it was expected to bring, what came of it, and why."""
    rows = data.read_rows(context.root / RESULTS / "h200_tuning.csv")[1]
    lines: list[list[str]] = []
    for row in rows:
        figures = [FIGURES[column](row[column]) for column in FIGURES if row[column]]
        if row["ratio_cublaslt"]:
            error = f" ± {float(row['ratio_cublaslt_error']):.3f}" if row["ratio_cublaslt_error"] else ""
            figures.append(f"{float(row['ratio_cublaslt']):.3f}{error} x cublasLt")
        size = shapes.size_text((int(row["m"]), int(row["n"]), int(row["k"])))
        observed = "; ".join(filter(None, [row["outcome"], f"{size}: " + ", ".join(figures)]))
        ways = row["how"].split()
        lines.append([row["nr"], row["attempt"], row["expected"], observed, row["why"], ", ".join(ways)])
    legend = "; ".join(f"*{way}*: {words}" for way, words in WAYS.items())
    source = sorted({f"{row['kind']}: {row['gpu']}, {row['date']}" for row in rows})
    return (markdown.table(["", "optimisation", "expected", "observed", "why", "how"], lines, "r")
            + f"\n{'; '.join(source)}. {legend}.\n")
