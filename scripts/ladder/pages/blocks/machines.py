"""docs/how_fast.md: what the GPUs can do, what the levels' tiles ask of them, and which part a level ran into."""
from __future__ import annotations

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names
from ladder.levels.shapes import cube
from ladder.model.machine import GPUS, Machine, Need, machine
from ladder.pages.blocks.options import Options
from ladder.results import data, numbers

EDGE = data.DEFAULT_EDGE
NEAR_PEAK = 90  # percent: a unit that is busier is what limits a kernel
# What a profiler says of one unit, and what a level does about it.
UNITS = {"tensor core, cycles active %": ("tensor cores", "less power for each FLOP: fewer bytes moved"),
         "L2, throughput %": ("L2, by the link between its halves",
                               "05: the order of tiles; 07, 08: fewer bytes for each product"),
         "DRAM, cycles active %": ("DRAM", "05: the order of tiles")}
WAITS = ("no unit: the tensor cores wait", "loads that run ahead (02, 03); an epilogue that overlaps (06, 08)")


def peak(context: Context, _: Options) -> str:
    """TFLOPS of the tensor cores, at the highest clock and at those that the power limit left level 08."""
    lines = []
    for arch in sorted(GPUS):
        m = machine(context, arch)
        lines.append(_peak_line(m, "the highest clock", m.clock / 1e6))
        for edge in (4096, EDGE):
            if result := _measured(context, names.all_levels(context.root)[-1], m, edge):
                lines.append(_peak_line(m, f"level 08 at {edge}, measured", result.number("sm_mhz") or 0))
    return markdown.table(["GPU", "clock", "MHz", "SMs", "FLOPs per cycle and SM", "peak, TFLOPS"], lines, "llrrrr")


def _peak_line(m: Machine, what: str, mhz: float) -> list[str]:
    return [GPUS[m.arch].upper(), what, f"{mhz:,.0f}", str(m.sms), numbers.grouped(round(m.flops)),
            f"{m.peak(mhz * 1e6):,.0f}"]


def _measured(context: Context, level: str, m: Machine, edge: int) -> data.Result | None:
    return next((r for r in data.of_record(context.results) if r.level == level and r.shape == cube(edge)
                 and r.series.kind == "measured" and r.series.arch == m.arch), None)


def feeding(context: Context, _: Options) -> str:
    """What the tile of each level asks of one SM per cycle, beside what there is."""
    lines = []
    for arch in sorted(GPUS, reverse=True):
        m = machine(context, arch)
        shown: list[Need] = []
        for level in names.all_levels(context.root):
            need = Need(m, context.configs(level, arch)[0])
            if not shown or need.key != shown[-1].key:
                lines.append(_need_line(need))
                shown.append(need)
            else:
                lines[-1][0] = f"{lines[-1][0].partition(' to ')[0]} to {names.head(level)}"
        rates = m.rates
        lines.append([f"**{GPUS[arch].upper()} has**", "", "", "", f"**{rates['L2'].bytes:.0f}**",
                      f"**{rates['shared'].bytes:.0f}**", "", ""])
    return (markdown.table(["level", "tile of an SM", "cycles of a K block", "bytes loaded for it",
                            "bytes per cycle from L2", "bytes per cycle from shared memory",
                            "stages that cover DRAM's latency", "its ring"], lines, "llrrrrrr")
            + "\nA K block is 64 elements. Computed, at the highest clock, for a tensor core that never waits; \\* "
              "half of these products are copies.\n")


def _need_line(need: Need) -> list[str]:
    d = need.level
    tile = f"{d.tile_m} x {d.tile_n}" + (" \\*" if need.wasted else "")
    return [f"{names.ARCH_NAMES[d.arch]} {names.head(d.level)}", tile, f"{need.cycles:.0f}",
            numbers.grouped(need.loaded), f"{need.asked:.0f}", f"{need.read:.0f}", str(need.stages),
            f"{d.stages} stage{'s' if d.stages > 1 else ''}, {numbers.grouped(round(need.ring))} cycles"]


def climb(context: Context, _: Options) -> str:
    """What the levels on Hopper reach, and which unit each ran into."""
    m = machine(context, 90)
    profiles = [row for path in data.measured(context.root / RESULTS, "profile") for row in data.read_rows(path)[1]
                if row["m"] == str(EDGE)]
    lines, conditions = [], []
    for level in names.all_levels(context.root):
        result = _measured(context, level, m, EDGE)
        if result is None:
            continue
        busy = {row["quantity"]: float(row["value"]) for row in profiles
                if row["level"] == level and row["gpu"] == result.series.gpu and row["quantity"] in UNITS}
        mhz, tflops = result.number("sm_mhz") or 0, result.number("tflops") or 0
        limit, removed = _limit(busy)
        conditions.append(result)
        lines.append([names.title(level), numbers.tflops_text(result), f"{mhz:.0f}",
                      f"{100 * tflops / m.peak(mhz * 1e6):.0f} %",
                      f"{busy[next(iter(UNITS))]:.0f} %" if busy else numbers.NOTHING, limit, removed])
    heads = ["level", "TFLOPS", "MHz", "of the peak at that clock", "tensor cores active", "limited by", "what helps"]
    if not lines:
        return "Not measured yet.\n"
    return (markdown.table(heads, lines, "lrrrrll")
            + f"\nMeasured: {conditions[0].series.gpu}, M = N = K = {EDGE}; {numbers.conditions(conditions)}. "
              "*Active*, *limited by*: Nsight Compute, one launch at free clocks; a unit limits from "
              f"{NEAR_PEAK} % of its peak on.\n")


def _limit(busy: dict[str, float]) -> tuple[str, str]:
    if not busy:
        return numbers.NOTHING, numbers.NOTHING
    most = max(busy, key=busy.__getitem__)
    return UNITS[most] if busy[most] >= NEAR_PEAK else WAITS


BLOCKS = {"peak": peak, "feeding": feeding, "climb": climb}
