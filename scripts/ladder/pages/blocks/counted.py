"""What the kernels do on the simulated device: counted, and what limits them in its timing model."""
from __future__ import annotations

from pathlib import Path
from typing import Callable, Optional

from ladder import markdown
from ladder.context import Context
from ladder.levels import names
from ladder.model import predicted
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results import data
from ladder.results.numbers import NOTHING, grouped
from ladder.sim.counters import executed_share, lines_per_store, wavefronts_per_store

Row = data.Fields
MODEL_PAGE = Path("docs/model.md")
LIMIT_EDGES = ("4096", "8192")


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
    """level=N: what the level does at one small shape, beside the level before: the rows that differ from it."""
    level = take_level(context, options)
    here = names.number_of(level)
    levels = [name for name in names.all_levels(context.root) if names.number_of(name) in (here - 1, here)]
    rows = {(name, arch): row for arch in take_archs(options, list(names.ARCH_NAMES)) for name in levels
            if (row := context.counted(name, arch))}
    if not rows:
        return "Nothing has been counted yet: run scripts/maintain/observe.py.\n"
    heads = [f"{names.ARCH_NAMES[arch]}<br>level {names.number_of(name):02}" for name, arch in rows]
    lines = [[title, *map(line, rows.values())] for title, line in LINES.items() if _differs(line, rows, len(levels))]
    first = next(iter(rows.values()))
    gpus = " and ".join(sorted({row["gpu"] for row in rows.values()}))
    return (markdown.table(["", *heads], lines, "l" + "r" * len(heads)) +
            f"\nModelled: {gpus} of {first['sms']} SMs, M x N x K = {first['m']} x {first['n']} x {first['k']}."
            + (" Counters that are not listed are those of the level before.\n" if len(lines) < len(LINES) else "\n"))


def _differs(line: Callable[[Row], str], rows: dict[tuple[str, int], Row], levels: int) -> bool:
    """Between levels, on any architecture; the first level has nothing beside it but zeros."""
    by_arch: dict[int, set[str]] = {}
    for (_, arch), row in rows.items():
        by_arch.setdefault(arch, set()).add(line(row))
    if levels == 1:
        return any(values - {NOTHING, "0"} for values in by_arch.values())
    return any(len(values) > 1 for values in by_arch.values())


def limits(context: Context, options: Options) -> str:
    """level=N: what limits a level in the timing model, a row per GPU and reason."""
    level = take_level(context, options)
    by_gpu: dict[tuple[str, str], list[Row]] = {}
    for (named, gpu, edge), row in sorted(predicted.recorded(context).items(), key=lambda each: int(each[0][2])):
        if named == level and edge in LIMIT_EDGES:
            by_gpu.setdefault((gpu, row["limit"]), []).append(row)
    if not by_gpu:
        raise ValueError(f"nothing is modelled of {level}")

    def each(rows: list[Row], cell: Callable[[Row], str]) -> str:
        return " / ".join(map(cell, rows))

    lines = [[gpu.upper(), each(rows, lambda row: row["m"]),
              each(rows, lambda row: f"{100 * float(row['tensor_share']):.0f} %"),
              each(rows, lambda row: _gigabytes(row["l2_gb"])), each(rows, lambda row: _gigabytes(row["dram_gb"])),
              each(rows, lambda row: f"{float(row['sm_mhz']):.0f}"),
              each(rows, lambda row: f"{float(row['power_w']):.0f}"), limit]
             for (gpu, limit), rows in sorted(by_gpu.items())]
    heads = ["GPU", "M = N = K", "tensor cores busy", "GB from L2", "GB from and to DRAM", "modelled MHz", "modelled W",
             "limited by"]
    return (markdown.table(heads, lines, "lrrrrrrl")
            + f"\n[Modelled]({context.link(MODEL_PAGE)}), under load. *Limited by*: what the tensor cores wait for, at "
              "the clock that the power limit leaves them in the model.\n")


def _gigabytes(value: str) -> str:
    return f"{float(value):.2f}" if float(value) < 10 else f"{float(value):.1f}"
