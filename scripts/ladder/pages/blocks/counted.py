"""What the kernels do on the simulated device, counted."""
from __future__ import annotations

from typing import Callable, Optional

from ladder import markdown
from ladder.context import Context
from ladder.levels import names
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results import data
from ladder.results.numbers import NOTHING, grouped
from ladder.sim.counters import executed_share, lines_per_store, wavefronts_per_store

Row = data.Fields


def _ratio(value: Optional[float]) -> str:
    return NOTHING if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: grouped(int(row[name]))


LINES: dict[str, Callable[[Row], str]] = {
    "tensor FLOPs executed / useful": lambda row: _ratio(executed_share(row)),
    "tensor-core instructions": _count("tensor_instructions"),
    "TMA instructions": _count("tma_instructions"),
    "bytes that TMA fetches": _count("tma_fetch_bytes"),
    "bytes that it delivers": _count("tma_load_bytes"),
    "bytes that TMA stores": _count("tma_store_bytes"),
    "bytes of D stored more than once": _count("redundant_store_bytes"),
    "cache lines per global store of a warp": lambda row: _ratio(lines_per_store(row)),
    "wavefronts per shared store of a warp": lambda row: _ratio(wavefronts_per_store(row)),
    "waits for mbarriers": _count("barrier_waits"),
    "of which blocked": _count("barrier_waits_blocked"),
    "barriers of a CTA": _count("cta_barriers"),
    "barriers of a cluster": _count("cluster_barriers"),
}


def counters(context: Context, options: Options) -> str:
    """level=N: what the level does at one small shape, beside the level before."""
    level = take_level(context, options)
    here = names.number_of(level)
    levels = [name for name in names.all_levels(context.root) if names.number_of(name) in (here - 1, here)]
    rows = {(name, arch): row for arch in take_archs(options, list(names.ARCH_NAMES)) for name in levels
            if (row := context.counted(name, arch))}
    if not rows:
        return "Nothing has been counted yet: run python3 scripts/observe.py.\n"
    heads = [f"{names.ARCH_NAMES[arch]}<br>level {names.number_of(name):02}" for name, arch in rows]
    lines = [[title, *map(line, rows.values())] for title, line in LINES.items()]
    first = next(iter(rows.values()))
    gpus = " and ".join(sorted({row["gpu"] for row in rows.values()}))
    return (markdown.table(["", *heads], lines, "l" + "r" * len(heads)) +
            f"\nModelled: {gpus} of {first['sms']} SMs, M x N x K = {first['m']} x {first['n']} x {first['k']}.\n")
