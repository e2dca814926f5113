"""Figures of docs/results/sim_counters.csv: what a kernel does on the simulated device, counted."""
from __future__ import annotations

from typing import Optional

from ladder.results.data import Fields


def per_access(row: Fields, total: str, accesses: str) -> Optional[float]:
    """What an access of a warp costs on average, None if there is no such access."""
    count = int(row[accesses])
    return int(row[total]) / count if count else None


def lines_per_store(row: Fields) -> Optional[float]:
    """Cache lines that a warp touches with a store to global memory."""
    return per_access(row, "global_store_lines", "global_stores")


def wavefronts_per_store(row: Fields) -> Optional[float]:
    """Passes through shared memory that a warp's store takes."""
    return per_access(row, "shared_store_wavefronts", "shared_stores")


def executed_share(row: Fields) -> float:
    """Tensor FLOPs that are executed, in units of the useful ones."""
    return int(row["tensor_flops"]) / int(row["useful_flops"])
