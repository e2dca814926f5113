"""What can stand in the columns of results, whichever file they are in: damaged and impossible figures are found when a
file is read, and the sentence names the column."""
from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Callable, Optional

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
RATIO_TOLERANCE = 0.15  # a ratio is the median of many, not the quotient of two medians


def _arch(text: str) -> str:
    return "" if text in ("90", "100") else "must be 90 or 100"


def _edge(text: str) -> str:
    return "" if text.isascii() and text.isdigit() and int(text) >= 1 else "must be a whole number of at least 1"


def _count(text: str) -> str:
    return "" if text.isascii() and text.isdigit() else "must be a whole number"


def _figure(text: str) -> str:
    return "" if (value := _number(text)) is not None and value > 0 else "must be a number above 0"


def _share(text: str) -> str:
    return "" if (value := _number(text)) is not None and 0 <= value <= 1 else "must be a number from 0 to 1"


def _number(text: str) -> Optional[float]:
    """None for what is none, infinities and NaN included, and digits that are not those of programs."""
    value = float(text) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


# By the column's name; the first that fits counts. What is not known is empty, unless it is needed.
RULES: list[tuple[re.Pattern[str], Callable[[str], str], bool]] = [
    (re.compile(pattern), rule, needed) for pattern, rule, needed in (
        (r"arch", _arch, True),
        (r"[mnk]", _edge, True),
        (r"(\w+_)?tflops(_min|_max)?|ratio_(cublas|cublaslt|level)(_\w+)?", _figure, False),
        (r"us|(\w+_)?mhz|power(_\w+)?_w|memory_tb_per_s", _figure, False),
        (r"(useful|tensor)_flops", _edge, True),
        (r"\w+_bytes|\w+_instructions|cycles|rounds|registers|ctas_per_sm", _count, False),
        (r"occupancy|interval_coverage", _share, False))]


def complaint(row: Mapping[str, str]) -> str:
    """The first column that cannot be right, and why; empty if all can be."""
    for column, text in row.items():
        for pattern, rule, needed in RULES:
            if pattern.fullmatch(column):
                wrong = rule(text) if text or needed else ""
                if wrong:
                    return f"{column} {wrong}, not '{text}'"
                break
    return _contradiction(row)


def _contradiction(row: Mapping[str, str]) -> str:
    """Columns that cannot be true together."""
    def value(column: str) -> Optional[float]:
        return _number(row.get(column, ""))

    for rival in ("cublas", "cublaslt"):
        mine, its, ratio = value("tflops"), value(f"{rival}_tflops"), value(f"ratio_{rival}")
        if mine and its and ratio and abs(ratio * its / mine - 1) > RATIO_TOLERANCE:
            return f"ratio_{rival} is {ratio:g}, though tflops and {rival}_tflops give {mine / its:.3g}"
    for column in row:
        for low, high in (("_low", "_high"), ("_min", "_max")):
            bounds = value(f"{column}{low}"), value(column), value(f"{column}{high}")
            known = [bound for bound in bounds if bound is not None]
            if known != sorted(known):
                return f"{column} is {row[column]}, though {column}{low} and {column}{high} say otherwise"
    return ""
