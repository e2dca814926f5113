"""What the tuner found: the spaces, the best points, the ladder of kernel 9, and which parameters matter."""
from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Callable, Optional

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names
from ladder.model import modelled
from ladder.pages.blocks.options import Options
from ladder.results import data, numbers
from ladder.results.numbers import grouped
from ladder.tune import sgemm, space

Row = data.Fields

NOTHING = "Nothing has been measured yet.\n"
NOTES = ("bm", "bn", "bk", "tm", "tn")  # the parameters of the notes' space
NAMES = {"sgemm": NOTES, "sgemm_ladder": ("step",),
         "production": ("block_m", "block_n", "stages", "cluster_m", "cluster_n", "group", "split")}


def _take_kernel(options: Options) -> str:
    kernel = options.pop("kernel", "sgemm")
    if kernel not in NAMES:
        raise ValueError(f"kernel={kernel} names nothing that is tuned, only {', '.join(NAMES)} are")
    return kernel


def _measured(context: Context, kernel: str) -> list[Row]:
    """Every right and timed row of one GPU, in the file's order: the first GPU by name that was swept."""
    for path in data.measured(context.root / RESULTS, f"autotune_{kernel}"):
        rows = [row for row in data.read_rows(path)[1] if row["status"] == "ok" and row["tflops"]]
        if rows:
            return rows
    return []


def _tflops(row: Row) -> float:
    return float(row["tflops"])


def _sizes(rows: Iterable[Row]) -> list[str]:
    return sorted({row["size"] for row in rows}, key=lambda size: [int(edge) for edge in size.split("x")])


def _swept_size(rows: Sequence[Row]) -> str:
    """The size at which all points were measured; at others only the best were."""
    return max(_sizes(rows), key=lambda size: sum(row["size"] == size for row in rows))


def _conditions(rows: Sequence[Row]) -> str:
    def values(column: str) -> list[Optional[float]]:
        return [float(row[column]) if row.get(column) else None for row in rows]

    def words(before: str, column: str, length: Optional[int] = None) -> str:
        found = sorted({row.get(column, "")[:length] for row in rows} - {""})
        return f"{before}{', '.join(found)}" if found else ""

    power = numbers.range_text(values("power_w"), "W")
    cap = numbers.range_text(values("power_cap_w"), "W")
    parts = [f"Measured: {rows[0]['gpu']}", numbers.range_text(values("sm_mhz"), "MHz (NVML)"),
             f"{power} of {cap}" if power and cap else power, words("driver ", "driver"), words("CUDA ", "cuda"),
             words("cuBLAS ", "cublas"), words("", "date", len("2025-01-31"))]
    return "; ".join(part for part in parts if part) + ".\n"


def _speed(row: Optional[Row]) -> str:
    return f"{_tflops(row):.1f} ({float(row['ratio_cublas']):.2f})" if row else numbers.NOTHING


# --- blocks -----------------------------------------------------------------------------------------------------------


def autotune_space(context: Context, options: Options) -> str:
    """name=sgemm_notes: how many points a space has, how many are legal, and what drops the others."""
    name = options.pop("name", "sgemm_notes")
    path = context.root / space.SPACES / f"{name}.space"
    kernel = space.KERNELS[space.kernel_of(path), int(name.partition("_sm")[2] or 90)]
    found = space.load(path, kernel)
    limits = ((space.STATIC_SMEM, "what every CTA has"), (space.SMEM_LIMIT, "what a CTA can ask for"))
    counted = []
    for limit, _ in limits:
        reasons = [c.reason.split(":")[0] or "legal" for c in found.candidates(kernel, limit)]
        counted.append({reason: reasons.count(reason) for reason in reasons})
    rows = [["all points", *(grouped(sum(c.values())) for c in counted)]]
    for reason in dict.fromkeys(r for c in counted for r in sorted(c, key=lambda r: (r == "legal", -c[r]))):
        word = "**legal**" if reason == "legal" else f"dropped: {reason}"
        rows.append([word, *(grouped(c.get(reason, 0)) for c in counted)])
    rows.sort(key=lambda row: row[0].startswith("**"))
    heads = [f"`{name}`", *(f"{grouped(limit)} bytes of shared memory: {words}" for limit, words in limits)]
    return markdown.table(heads, rows, "lrr")


def autotune_best(context: Context, options: Options) -> str:
    """kernel=sgemm|sgemm_ladder|production count=N size=EDGE: the fastest points."""
    kernel, count = _take_kernel(options), int(options.pop("count", "5"))
    size = options.pop("size", "")
    rows = [row for row in _measured(context, kernel) if not size or row["size"] == size]
    if not rows:
        return NOTHING
    shown = NAMES[kernel]
    heads = ["size", "TFLOPS", "cuBLAS", "ratio", *(name.upper().replace("_", " ") for name in shown), "registers",
             "spilled bytes", "CTAs per SM"]
    lines = []
    for edge in _sizes(rows):
        for row in sorted((r for r in rows if r["size"] == edge), key=_tflops, reverse=True)[:count]:
            speeds = [f"{_tflops(row):.1f}", f"{float(row['cublas_tflops']):.1f}", f"{float(row['ratio_cublas']):.3f}"]
            code = [row["registers"], row["spill_bytes"], row["ctas_per_sm"]]
            lines.append([edge, *speeds, *(row.get(name, "") for name in shown), *code])
    return markdown.table(heads, lines, "r" * len(heads)) + "\n" + _conditions(rows)


def autotune_ladder(context: Context, _: Options) -> str:
    """Kernel 9 and its successors, step by step."""
    rows = _measured(context, "sgemm_ladder")
    if not rows:
        return NOTHING
    sizes = _sizes(rows)
    lines = []
    for step in sgemm.series():
        mine = {row["size"]: row for row in rows if row["step"] == step.name}
        code = next(([row["registers"], row["ctas_per_sm"]] for row in mine.values()), ["", ""])
        link = f"[{step.name.replace('_', ' ')}]({context.link(Path(step.path))})"
        lines.append([link, *(_speed(mine.get(size)) for size in sizes), *code])
    heads = ["step", *sizes, "registers", "CTAs per SM"]
    return (markdown.table(heads, lines, "l" + "r" * (len(sizes) + 2))
            + f"\nTFLOPS (and the ratio to cuBLAS). {_conditions(rows)}")


def autotune_parameter(context: Context, options: Options) -> str:
    """name=bk kernel=sgemm: for each value of a parameter the best and the median point of the notes' space."""
    kernel, name = _take_kernel(options), options.pop("name", "")
    if name not in NAMES[kernel]:
        raise ValueError(f"name must be one of {', '.join(NAMES[kernel])}")
    rows = _measured(context, kernel)
    if not rows:
        return NOTHING
    size = _swept_size(rows)
    rows = [row for row in rows if row["size"] == size]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    if len(groups) < 2:
        return NOTHING
    lines = []
    for value in sorted(groups, key=int):
        found = sorted(groups[value], key=_tflops)
        best = found[-1]
        others = ", ".join(f"{other.upper()} {best[other]}" for other in NAMES[kernel] if other != name)
        lines.append([value, len(found), f"{_tflops(best):.1f}", f"{statistics.median(map(_tflops, found)):.1f}",
                      f"{_tflops(found[0]):.1f}", others])
    heads = [name.upper(), "points", "best TFLOPS", "median", "worst", "the best one"]
    return markdown.table(heads, lines, "rrrrrl") + f"\nM = N = K = {size}. {_conditions(rows)}"


def autotune_influence(context: Context, options: Options) -> str:
    """kernel=sgemm: how much of the differences in speed each parameter explains by itself, and pairs beyond that."""
    kernel, pairs = _take_kernel(options), int(options.pop("pairs", "5"))
    rows = _measured(context, kernel)
    if not rows:
        return NOTHING
    size = _swept_size(rows)
    rows = [row for row in rows if row["size"] == size]
    names = [name for name in NAMES[kernel] if len({row[name] for row in rows}) > 1]
    if len(names) < 2:
        return NOTHING
    alone = {name: _explained(rows, [name]) for name in names}
    lines = [[name.upper().replace("_", " "), f"{100 * share:.0f} %"]
             for name, share in sorted(alone.items(), key=lambda item: -item[1])]
    together = {pair: _explained(rows, pair) for pair in itertools.combinations(names, 2)}
    beyond = sorted(((share - alone[a] - alone[b], share, a, b) for (a, b), share in together.items()), reverse=True)
    pair_lines = [[f"{a.upper()} and {b.upper()}".replace("_", " "), f"{100 * share:.0f} %", f"{100 * extra:+.0f}"]
                  for extra, share, a, b in beyond[:pairs]]
    return (markdown.table(["parameter", "explains alone"], lines, "lr") + "\n"
            + markdown.table(["pair", "explains together", "beyond the sum of both, in points of %"], pair_lines, "lrr")
            + f"\nShare of the variance of log(TFLOPS) over {len(rows)} points at M = N = K = {size}. "
            + _conditions(rows))


def _explained(rows: Sequence[Row], names: Sequence[str]) -> float:
    """1 - (variance inside the groups of rows that agree in these parameters) / (variance of all)."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(math.log(_tflops(row)))
    values = [v for group in groups.values() for v in group]
    total = statistics.pvariance(values) * len(values)
    inside = sum(statistics.pvariance(group) * len(group) for group in groups.values())
    return 1 - inside / total if total > 0 else 0.0


def autotune_checked(context: Context, options: Options) -> str:
    """kernel=production arch=sm100: how many configurations were found right on the simulated device."""
    kernel, arch = _take_kernel(options), names.parse_arch(options.pop("arch", "sm100"))
    path = context.root / RESULTS / f"sim_autotune_{kernel}_sm{arch}.csv"
    if not path.exists():
        return "Nothing has been checked yet.\n"
    rows = data.read_rows(path)[1]
    points: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        point = tuple(row[parameter.name] for parameter in space.KERNELS[kernel, arch].parameters)
        points.setdefault(point, []).append(row["status"])
    tried = [s for s in points.values() if not s[0].startswith(("SMEM", "divisibility", "registers", "stages"))]
    right = sum(all(status == "ok" for status in s) for s in tried)
    sizes = ", ".join(_sizes(rows))
    gpu = next((row["gpu"] for row in rows if row["gpu"]), "the simulated device")
    return (f"{len(points)} points, of which {len(points) - len(tried)} cannot exist. Of the other {len(tried)}, "
            f"{right} are right, and without a race, at M x N x K = {sizes} ({gpu}; nothing is timed there).\n")


def autotune_stalls(context: Context, _: Options) -> str:
    """Where the best point waits, beside cuBLAS, and what other orders of its products change."""
    rows = data.read_rows(context.root / RESULTS / "h200_sgemm_stalls.csv")[1]
    stalls = [column for column in rows[0] if column.startswith("stall_")]
    lines = [[row["run"], row["variant"],
              f"{float(row['tflops']):.1f} ({float(row['ratio_cublas']):.2f})" if row["tflops"] else "-",
              f"{int(row['cycles']) / 1e6:.2f}" if row["cycles"] else "-",
              *(row[column] or "-" for column in ("two_operands_in_a_bank_percent", "issue_active_percent", *stalls))]
             for row in rows]
    heads = ["run", "variant", "TFLOPS", "million cycles", "% with two operands in one bank",
             "% of cycles with an instruction",
             *(column.removeprefix("stall_").removesuffix("_stall").replace("_", " ") for column in stalls)]
    first = rows[0]
    return (markdown.table(heads, lines, "rl" + "r" * (len(heads) - 2))
            + f"\nM = N = K = {first['m']}. TFLOPS: alternating with cuBLAS; compare rows of one run. Cycles, and from "
              "the sixth column on: the profiler, one launch; warps that wait for that, per instruction. Operands: "
              "counted in the machine code of the main loop, registers that `.reuse` spares left out. Measured: "
              f"{first['gpu']}; driver {first['driver']}; CUDA {first['cuda']}; cuBLAS {first['cublas']}; "
              f"{first['date']}.\n")


def _ranked(context: Context, options: Options) -> tuple[space.Kernel, list[Row], list[str]]:
    kernel = space.KERNELS[_take_kernel(options), names.parse_arch(options.pop("arch", "sm100"))]
    rows = data.read_rows(modelled.record_of(context.root / RESULTS, kernel))[1]
    return kernel, rows, _sizes(rows)


def ranked_tiles(context: Context, options: Options) -> str:
    """kernel=production arch=sm100: what the timing model says of each tile, with as many stages as were tried."""
    kernel, rows, sizes = _ranked(context, options)
    varied = ("block_m", "block_n", "stages", "clc")
    defaults = {p.name: p.text(p.default) for p in kernel.parameters if p.name not in varied}
    found: dict[tuple[int, int], dict[tuple[str, str], tuple[int, float]]] = {}
    for row in rows:
        if all(row[name] == text for name, text in defaults.items()):
            cells = found.setdefault((int(row["block_m"]), int(row["block_n"])), {})
            cell = row["size"], row["clc"]
            cells[cell] = max(cells.get(cell, (0, 0.0)), (int(row["stages"]), _tflops(row)))
    lines = []
    for (m, n), cells in sorted(found.items()):
        speeds = [f"{cells[size, clc][1]:.0f}" if (size, clc) in cells else numbers.NOTHING
                  for clc in "01" for size in sizes]
        lines.append([f"{m} x {n}", max(stages for stages, _ in cells.values()), *speeds])
    heads = ["tile of a CTA", "stages", *sizes, *(f"{size}, `CLC=1`" for size in sizes)]
    return markdown.table(heads, lines, "l" + "r" * (len(heads) - 1)) + _ranked_conditions(rows)


def ranked_changes(context: Context, options: Options) -> str:
    """kernel=production arch=sm100: what the timing model says of the named points, each beside what it changes."""
    kernel, rows, sizes = _ranked(context, options)
    speeds = {(row["name"], row["size"]): _tflops(row) for row in rows if row["name"]}
    points = {row["name"]: row for row in rows if row["name"]}
    moved = {row["name"]: row["dram_gb"] for row in rows if row["size"] == sizes[-1]}
    lines = []
    for name, row in points.items():
        base = next(each for each in points if name.startswith(each))
        first = next(iter(points)) if base == name else base
        changes = ", ".join(f"`{p.macro.removeprefix('TUNED_')}={row[p.name]}`" for p in kernel.parameters
                            if row[p.name] != points[first][p.name])
        lines.append([f"**{name}**" if base == name else "", changes or "the notes' shape",
                      *(f"{speeds[name, size]:.0f} ({speeds[name, size] / speeds[first, size]:.3f})" for size in sizes),
                      f"{float(moved[name]):.1f}"])
    return (markdown.table(["", "what changes", *sizes, f"GB from and to DRAM, {sizes[-1]}"], lines,
                           "ll" + "r" * (len(sizes) + 1)) + _ranked_conditions(rows))


def _ranked_conditions(rows: Sequence[Row]) -> str:
    error = 100 * max(float(row["error"]) for row in rows)
    return f"\nTFLOPS on a {rows[0]['gpu'].upper()}, modelled: the mean error of its model is {error:.0f} %.\n"


BLOCKS: dict[str, Callable[[Context, Options], str]] = {
    "autotune_space": autotune_space, "autotune_best": autotune_best, "autotune_ladder": autotune_ladder,
    "autotune_parameter": autotune_parameter, "autotune_influence": autotune_influence,
    "autotune_checked": autotune_checked, "autotune_stalls": autotune_stalls, "ranked_tiles": ranked_tiles,
    "ranked_changes": ranked_changes,
}
