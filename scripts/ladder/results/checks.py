"""What can stand in the columns of results, whichever file they are in: damaged and impossible figures are found when a
file is read, and the sentence names the column."""
from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
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


@lru_cache
def _ruled(columns: tuple[str, ...]) -> list[tuple[str, Callable[[str], str], bool]]:
    """The columns that have a rule, with the rule."""
    first = ((column, next((found for found in RULES if found[0].fullmatch(column)), None)) for column in columns)
    return [(column, found[1], found[2]) for column, found in first if found]


@lru_cache
def _bounded(columns: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """The columns that have others for their bounds, below and above."""
    found = [(f"{column}{low}", column, f"{column}{high}") for column in columns
             for low, high in (("_low", "_high"), ("_min", "_max"))]
    return [bounds for bounds in found if not {bounds[0], bounds[2]}.isdisjoint(columns)]


def complaint(row: Mapping[str, str]) -> str:
    """The first column that cannot be right, and why; empty if all can be."""
    columns = tuple(row)
    for column, rule, needed in _ruled(columns):
        text = row[column]
        wrong = rule(text) if text or needed else ""
        if wrong:
            return f"{column} {wrong}, not '{text}'"
    return _contradiction(row, columns)


def _contradiction(row: Mapping[str, str], columns: tuple[str, ...]) -> str:
    """Columns that cannot be true together."""
    def value(column: str) -> Optional[float]:
        return _number(row.get(column, ""))

    for rival in ("cublas", "cublaslt"):
        mine, its, ratio = value("tflops"), value(f"{rival}_tflops"), value(f"ratio_{rival}")
        if mine and its and ratio and abs(ratio * its / mine - 1) > RATIO_TOLERANCE:
            return f"ratio_{rival} is {ratio:g}, though tflops and {rival}_tflops give {mine / its:.3g}"
    for low, column, high in _bounded(columns):
        known = [bound for bound in map(value, (low, column, high)) if bound is not None]
        if known != sorted(known):
            return f"{column} is {row[column]}, though {low} and {high} say otherwise"
    return ""
