"""Figures of results as text."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ladder.results.data import Result

RATIOS = {"ratio_cublas": "x cuBLAS", "ratio_cublaslt": "x cublasLt"}  # columns, and how their heads read
NOTHING = "-"


def grouped(value: int) -> str:
    """24,576"""
    return f"{value:,}"


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
                                 ("PyTorch ", "torch", None), ("", "profiler", None),
                                 ("commit ", "commit", None), ("", "date", len("2025-01-31"))):
        values = sorted({r.fields.get(column, "")[:length] for r in results} - {""})
        parts.append(name + ", ".join(values) if values else "")
    return "; ".join(p for p in parts if p)
