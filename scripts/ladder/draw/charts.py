"""The charts of the figures: what each shows."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw import heat_maps, plots
from ladder.draw.plots import Chart, Panel, Values
from ladder.files import RESULTS
from ladder.levels import names
from ladder.levels.description import SMEM_LIMIT
from ladder.levels.shapes import cube, size_text
from ladder.model import machine
from ladder.results import data, numbers
from ladder.sim.counters import executed_share, lines_per_store, wavefronts_per_store

HEAT_MAPS = "autotune_"  # stands in the names of sweeps, and of the heat-maps that are made of them


def _short(level: str) -> str:
    """Its number, and its name as its page has it: 02 a ring of stages."""
    page = names.folder(level) / "README.md"
    named = re.match(r"# Level \d+: (.+)", page.read_text(encoding="utf-8")) if page.exists() else None
    return f"{names.head(level)} {named[1] if named else level.partition('_')[2].replace('_', ' ')}".strip()


def _ladders(context: Context) -> list[data.Series]:
    """Blackwell's figures before Hopper's."""
    return sorted((s for s in data.all_series(context.results) if s.kind != "modelled"),
                  key=lambda s: (-s.arch, s.kind, s.gpu))


def _title(series: data.Series) -> str:
    return f"{names.ARCH_NAMES[series.arch]}, {series.kind}: {series.gpu}"


def _summary(context: Context, series: data.Series) -> str:
    """The last level at the usual size, in words."""
    found = [r for level in context.levels()
             if (r := data.find(context.results, level, series, cube(data.DEFAULT_EDGE)))]
    if not found:
        return f"{_title(series)}: nothing at {data.DEFAULT_EDGE}"
    steps = f"from {numbers.tflops_text(found[0])} to {numbers.tflops_text(found[-1])}"
    ratio = numbers.ratio_text(found[-1], "ratio_cublas")
    return f"{_title(series)}: {steps} TFLOPS" + (f", {ratio} of cuBLAS" if ratio != numbers.NOTHING else "")


PROGRESSION_EDGES = (4096, data.DEFAULT_EDGE)


def progression(context: Context) -> Optional[Chart]:
    """A row for each kind of figure, measured on the GPU of record and reported; a panel for each size."""
    panels = []
    levels = context.levels()
    for series in sorted(data.all_series(data.of_record(context.results)), key=lambda s: (s.arch, s.kind, s.gpu)):
        for edge in PROGRESSION_EDGES if series.kind != "modelled" else ():
            found = [data.find(context.results, level, series, cube(edge)) for level in levels]
            notes = []
            for result in found:
                ratio = numbers.ratio_text(result, "ratio_cublas")
                notes.append("no figure" if result is None else numbers.tflops_text(result) +
                             (f"  ({ratio} x)" if ratio != numbers.NOTHING else ""))
            title = f"{edge}, {series.kind}: {re.sub(r' [0-9]+GB.*', '', series.gpu)}"
            panels.append(Panel("bars", title, "TFLOPS", [_short(level) for level in levels], notes=notes,
                                series={"TFLOPS": [r.number("tflops") if r else None for r in found]},
                                ticks=[r.number("cublas_tflops") if r else None for r in found]))
    if not panels:
        return None
    return Chart(f"The two ladders at M = N = K = {' and '.join(map(str, PROGRESSION_EDGES))}: Hopper, then Blackwell",
                 "Bars of TFLOPS, level by level. " + "; ".join(_summary(context, s) for s in _ladders(context)) + ".",
                 panels, "Mark: cuBLAS beside it.  (x): ratio to cuBLAS; * to torch.matmul.")


def _by_size(context: Context, column: str, factor: float, unit: str) -> list[Panel]:
    panels = []
    for series in _ladders(context):
        mine = [r for r in context.results if r.series == series and r.shape == cube(r.shape[0])]
        edges = sorted({r.shape[0] for r in mine})
        lines: dict[str, Values] = {}
        for level in context.levels():
            found = [data.find(mine, level, series, cube(edge)) for edge in edges]
            values = [r.number(column) if r else None for r in found]
            if any(v is not None for v in values):
                lines[_short(level)] = [v if v is None else round(v * factor, 4) for v in values]
        if column == "tflops":
            lines["cuBLAS"] = [_rival(mine, edge) for edge in edges]
        panels.append(Panel("lines", _title(series), unit, x=[float(e) for e in edges], series=lines,
                            limit=100.0 if column != "tflops" else None))
    return panels


def _rival(results: Sequence[data.Result], edge: int) -> Optional[float]:
    """The median of what cuBLAS did at this size, beside the levels."""
    values = sorted(v for r in results if r.shape == cube(edge) and (v := r.number("cublas_tflops")) is not None)
    return values[len(values) // 2] if values else None


def tflops_by_size(context: Context) -> Optional[Chart]:
    return _chart_by_size(context, "TFLOPS", "tflops", 1, "TFLOPS",
                          "cuBLAS: the median of its figures beside the levels. Each GPU has a scale of its own.")


def percent_of_cublas(context: Context) -> Optional[Chart]:
    return _chart_by_size(context, "Percent of cuBLAS", "ratio_cublas", 100, "% of cuBLAS",
                          "Level 01 on GB200 is compared with torch.matmul.")


def _chart_by_size(context: Context, what: str, column: str, factor: float, axis: str, note: str) -> Optional[Chart]:
    panels = _by_size(context, column, factor, axis)
    if not panels:
        return None
    words = what if what.isupper() else what[0].lower() + what[1:]
    return Chart(f"{what} by size", f"Lines of {words} over M = N = K, one per level. "
                 + "; ".join(_summary(context, s) for s in _ladders(context)) + ".", panels, note)


def roofline(context: Context) -> Optional[Chart]:
    """Useful FLOPs per byte of each memory, as profiled, against the roofs of the GPU: a line per memory."""
    profiles = [row for path in data.measured(context.root / RESULTS, "profile") for row in data.read_rows(path)[1]
                if row["m"] == str(data.DEFAULT_EDGE)]
    panels = []
    for series in _ladders(context):
        seen: dict[str, dict[str, float]] = {}
        for row in profiles:
            if row["gpu"] == series.gpu:
                seen.setdefault(row["level"], {})[row["quantity"]] = float(row["value"])
        points: dict[str, Values] = {}
        for level in names.all_levels(context.root):
            result, bytes_of = data.find(context.results, level, series, cube(data.DEFAULT_EDGE)), seen.get(level, {})
            # L2 hands a line out once for neighbours that ask together, and looks a far line up twice.
            served = [bytes_of[name] for name in ("SMs, bytes received", "L2, bytes looked up") if name in bytes_of]
            if result and served and "DRAM, bytes read" in bytes_of:
                flops = 2.0 * data.DEFAULT_EDGE ** 3
                points[_short(level)] = [round(flops / bytes_of["DRAM, bytes read"], 1), round(flops / min(served), 1),
                                         result.number("tflops")]
        if points:
            m = machine.machine(context, series.arch)
            clock = 1e6 * max(r.number("sm_mhz") or 0 for r in context.results if r.series == series
                              and r.shape == cube(data.DEFAULT_EDGE) and r.level == names.all_levels(context.root)[-1])
            panels.append(Panel("points", _title(series), "TFLOPS", series=points, roofs={
                "DRAM": m.value("dram_bytes_per_second") / 1e12, "L2": m.value("l2_bytes_per_second") / 1e12}, peaks={
                f"tensor cores at level 08's {clock / 1e6:.0f} MHz": round(m.peak(clock), 1),
                f"at {m.clock / 1e6:.0f} MHz": round(m.peak(m.clock), 1)}))
    if not panels:
        return None
    return Chart(f"Roofline at M = N = K = {data.DEFAULT_EDGE}, a line per memory",
                 "TFLOPS of each level over its useful FLOPs per byte from DRAM (circles) and from L2 (squares), under "
                 "the roofs of both memories and of the tensor cores.", panels,
                 "Circle: bytes from DRAM; square: bytes that L2 hands out. TFLOPS sustained; bytes: Nsight Compute; "
                 "bandwidths: micro-benchmarks.")


def smem_budget(context: Context) -> Optional[Chart]:
    panels = []
    for arch, name in names.ARCH_NAMES.items():
        found = [d for level in names.all_levels(context.root) for d in context.described(level, arch)]
        parts: dict[str, Values] = {"barriers": [], "D on its way out": [], "stages of A and B": []}
        for d in found:
            stages = d.stages * d.stage_bytes
            barriers = d.outline[0].bytes
            parts["barriers"].append(barriers)
            parts["stages of A and B"].append(stages)
            parts["D on its way out"].append(d.smem_bytes - barriers - stages)
        several = {d.level for d in found if len(context.described(d.level, arch)) > 1}
        panels.append(Panel("stack", name, "bytes", [f"{names.number_of(d.level):02}"
                            + (f" {d.config}" if d.level in several else "") for d in found],
                            series=parts, notes=[f"{d.smem_bytes:,}" for d in found], limit=SMEM_LIMIT))
    if not any(p.categories for p in panels):
        return None
    return Chart("Shared memory of a CTA, level by level",
                 "Stacked bars of the bytes of shared memory: barriers, D on its way out, stages of A and B. "
                 f"A CTA can have {SMEM_LIMIT:,}.", panels, f"Line: {SMEM_LIMIT:,} bytes, all that a CTA can have.")


def counters(context: Context) -> Optional[Chart]:
    if not context.counters:
        return None
    levels = names.all_levels(context.root)

    def panel(title: str, unit: str, value: Callable[[data.Fields], Optional[float]]) -> Panel:
        series = {}
        for arch, name in names.ARCH_NAMES.items():
            rows = [context.counted(level, arch) for level in levels]
            series[name] = [round(v, 2) if row and (v := value(row)) is not None else None for row in rows]
        return Panel("bars", title, unit, [f"{names.number_of(level):02}" for level in levels], series=series)

    panels = [panel("tensor FLOPs", "executed / useful", executed_share),
              panel("global stores", "cache lines per warp", lines_per_store),
              panel("stores to shared memory", "wavefronts per warp", wavefronts_per_store)]
    first = context.counters[0]
    shape = f"M x N x K = {first['m']} x {first['n']} x {first['k']}"
    return Chart("What each level executes",
                 "Bars per level, Blackwell and Hopper, counted on the simulated device: tensor FLOPs executed per "
                 "useful one; cache lines per global store of a warp; wavefronts per shared-memory store of a warp.",
                 panels, f"Modelled: counted on the simulated device, {shape}. No bar: no such instruction.")


def ablations(context: Context) -> Optional[Chart]:
    """Those of the last level and of the production kernel, which are made of choices; what others show with theirs
    stands on their own pages."""
    of_level = [a for a in context.ablations if a.level in (names.all_levels(context.root)[-1], names.PRODUCTION)]
    panels = []
    for level, series in {(a.level, a.series): None for a in of_level}:
        found = [a for a in of_level if (a.level, a.series) == (level, series)]
        columns: dict[str, Values] = {
            size_text(shape): [round(100 * (a.ratios[shape] - 1), 2) if shape in a.ratios else None for a in found]
            for shape in sorted({shape for a in found for shape in a.ratios})}
        panels.append(Panel("bars", f"{names.title(level).capitalize()}, {_title(series)}",
                            "% faster than the kernel as it is", [a.name for a in found], series=columns, limit=0))
    if not panels:
        return None
    return Chart("What one change is worth", "Bars per variant of a kernel: how much faster or slower than the kernel "
                 "as it is.", panels)


CATALOGUE: dict[str, Callable[[Context], Optional[Chart]]] = {
    "progression": progression, "tflops_by_size": tflops_by_size, "percent_of_cublas": percent_of_cublas,
    "roofline": roofline, "smem_budget": smem_budget, "counters": counters, "ablations": ablations,
}


def all_charts(context: Context) -> dict[str, Chart]:
    """Every chart that there is data for, by name: those above, and the heat-maps of all sweeps."""
    return context.once("charts", _make_all)


def _make_all(context: Context) -> dict[str, Chart]:
    found: dict[str, Chart] = {name: chart for name, make in CATALOGUE.items() if (chart := make(context))}
    for sweep in sorted((context.root / RESULTS).glob(f"*{HEAT_MAPS}*.csv")):
        found.update(heat_maps.make_all(sweep))
    return found


def draw(chart: Chart) -> str:
    return heat_maps.draw(chart) if isinstance(chart, heat_maps.HeatChart) else plots.draw(chart)
