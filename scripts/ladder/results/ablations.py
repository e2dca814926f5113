"""Ablations that were measured: a level with one thing changed, against the level as it is.

Those that are patches in a level's folder ablations/ (levels/lab.py) are measured by bench.py --ablations; others are
on record only.

docs/results/*.csv with a column `optimisation` and ratios: a row per variant and size. The rows named BASELINE are the
level as it is, measured at the same time. A column `ratio_level` holds the speed in units of the level's, if it was
measured so; otherwise it follows from the two ratios to cuBLAS.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from ladder.files import DataError
from ladder.levels import lab, shapes
from ladder.results import data

BASELINE = "as it is"
EDGES = (4096, 8192)
COLUMNS = ("level", "arch", "optimisation", "option", "expected", "reason", "m", "n", "k", "tflops", "ratio_cublas",
           "ratio_cublas_low", "ratio_cublas_high", "ratio_cublaslt", "ratio_cublaslt_low", "ratio_cublaslt_high",
           "ratio_level", "ratio_level_low", "ratio_level_high", "interval_coverage", "dram_bytes", "l2_bytes",
           "cycles", "kind", "gpu", "rounds", "budget_s", *data.CIRCUMSTANCES)


@dataclass
class Ablation:
    """One variant of one level, at all its sizes."""

    level: str
    series: data.Series
    name: str
    option: str
    expected: str
    reason: str
    ratios: dict[shapes.Shape, float] = field(default_factory=dict)  # above 1: faster than the level
    results: list[data.Result] = field(default_factory=list)
    baselines: dict[shapes.Shape, data.Result] = field(default_factory=dict)  # the level as it is, where measured


def load(folder: Path) -> list[Ablation]:
    """Those of all files in `folder`, in the order of the files. Raises DataError."""
    found: dict[tuple[object, ...], Ablation] = {}
    for path in sorted(folder.glob("*.csv")):
        columns, rows = data.read_rows(path)
        if not {"optimisation", "ratio_cublas", "m"} <= set(columns):
            continue
        results = list(map(data.to_result, rows))
        baselines = {_key(r): r for r in results if r.fields["optimisation"] == BASELINE}
        for result in results:
            row = result.fields
            if row["optimisation"] == BASELINE:
                continue
            baseline = baselines.get(_key(result))
            ratio = _ratio(result, baseline)
            if ratio is None:
                where = f"'{row['optimisation']}' at {shapes.size_text(result.shape)}"
                raise DataError(f"{path}: {where} has neither ratio_level nor a row '{BASELINE}' beside it.")
            key = (result.level, result.series, row["optimisation"], row.get("option", ""))
            variant = found.setdefault(key, Ablation(*key, row.get("expected", ""), row.get("reason", "")))
            variant.ratios[result.shape] = ratio
            variant.results.append(result)
            if baseline:
                variant.baselines[result.shape] = baseline
    return list(found.values())


def name_of(ablation: Optional[lab.Lab]) -> str:
    return ablation.words if ablation else BASELINE


def row_of(ablation: Optional[lab.Lab], row: data.Fields) -> data.Fields:
    """What is recorded of a row that a program has written: the level's, or the ablation's."""
    told = {"optimisation": name_of(ablation)}
    if ablation:
        expected, reason = ablation.worth
        told |= {"option": ablation.option, "expected": expected, "reason": reason}
    return {column: {**row, **told}.get(column, "") for column in COLUMNS}


def _key(result: data.Result) -> tuple[object, ...]:
    return result.level, result.series, result.shape


def _ratio(result: data.Result, baseline: Optional[data.Result]) -> Optional[float]:
    direct = result.number("ratio_level")
    if direct is not None or baseline is None:
        return direct
    mine, its = result.number("ratio_cublas"), baseline.number("ratio_cublas")
    return mine / its if mine and its else None
