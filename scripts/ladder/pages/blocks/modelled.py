"""The timing model: its constants, and what it predicts beside what was measured."""
from __future__ import annotations

import csv
from collections.abc import Iterable
from statistics import mean
from typing import Optional

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names
from ladder.pages.blocks.options import Options
from ladder.results import data
from ladder.results.data import Fields
from ladder.results.numbers import grouped
from ladder.sim import predictions

CONSTANTS = "common/sim/timing/constants"
# Levels and edges to which constants were fitted; all others are held out.
FITTED_LEVELS = ("level01_baseline", "level03_warp_specialize", "level05_persistent")
FITTED_EDGES = ("4096", "12288")


def constants(context: Context, options: Options) -> str:
    """The constants of a GPU."""
    gpu = options.pop("gpu", "h200")
    with open(context.root / CONSTANTS / f"{gpu}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return markdown.table(["constant", "value", "unit", "kind", "source"],
                          [[f"`{row['name']}`", *(row[c] for c in ("value", "unit", "kind", "source"))]
                           for row in rows], "lr")


def _modelled(context: Context) -> dict[tuple[str, str, str], Fields]:
    return predictions.by_point(data.read_rows(context.root / predictions.RECORD)[1])


def is_fitted(row: Fields) -> bool:
    return row["level"] in FITTED_LEVELS and row["m"] in FITTED_EDGES


def _error(modelled: str, measured: str) -> Optional[float]:
    """None where nothing was measured."""
    return float(modelled) / float(measured) - 1 if measured else None


def _percent(errors: Iterable[Optional[float]]) -> str:
    return f"{100 * mean(abs(error) for error in errors if error is not None):.1f} %"


def beside_measured(context: Context, _: Options) -> str:
    """TFLOPS as modelled and as measured on an H200, the worst rows first."""
    known = _modelled(context)
    rows = []
    for row in data.read_rows(context.root / RESULTS / "h200.csv")[1]:
        model = known.get((row["level"], "h200", row["m"])) if row["m"] == row["n"] == row["k"] else None
        if model is not None:
            rows.append((row, model, float(model["tflops"]) / float(row["tflops"]) - 1,
                         _error(model["burst_tflops"], row["burst_tflops"])))
    held = [each for each in rows if not is_fitted(each[0])]
    rows.sort(key=lambda each: -abs(each[2]))
    lines = [[names.short(row["level"]), row["m"], model["tflops"], row["tflops"], f"{100 * error:+.1f} %",
              model["mhz"], row["sm_mhz"], "" if burst is None else f"{100 * burst:+.1f} %",
              "fitted" if is_fitted(row) else ""]
             for row, model, error, burst in rows]
    worst = max(held, key=lambda each: abs(each[2]))
    return (f"Mean error of the {len(held)} rows held out: **{_percent([each[2] for each in held])}** of the sustained "
            f"TFLOPS, {_percent([each[3] for each in held])} in bursts; the worst is "
            f"{names.short(worst[0]['level'])} at {worst[0]['m']} with {100 * worst[2]:+.1f} %.\n\n"
            + markdown.table(["level", "M = N = K", "modelled TFLOPS", "measured", "error", "modelled MHz", "measured",
                              "burst: error", ""], lines, "lrrrrrrrl"))


def cycles_and_bytes(context: Context, _: Options) -> str:
    """Cycles and bytes from DRAM, as modelled and as measured on an H200, in bursts, the worst rows first."""
    known = _modelled(context)
    rows = []
    for row in data.read_rows(context.root / RESULTS / "h200_cycles.csv")[1]:
        model = known.get((row["level"], "h200", row["m"]))
        if row["mode"] != "burst" or model is None or not row["plain_us"]:
            continue
        cycles = float(row["plain_us"]) * float(row["mhz"])
        mine = float(model["burst_us"]) * float(model["burst_mhz"])
        gigabytes = float(row["dram_read_bytes"]) / 1e9
        rows.append((row, mine, cycles, mine / cycles - 1, model, gigabytes,
                     float(model["dram_read_gb"]) / gigabytes - 1))
    held = [each for each in rows if not is_fitted(each[0])]
    rows.sort(key=lambda each: -abs(each[3]))
    lines = [[names.short(row["level"]), row["m"], grouped(round(mine)), grouped(round(cycles)),
              f"{100 * error:+.1f} %",
              f"{float(model['dram_read_gb']):.2f}", f"{gigabytes:.2f}", f"{100 * off:+.0f} %",
              "fitted" if is_fitted(row) else ""] for row, mine, cycles, error, model, gigabytes, off in rows]
    return (f"Mean error of the {len(held)} rows held out: **{_percent([each[3] for each in held])}** of the cycles, "
            f"**{_percent([each[6] for each in held])}** of the bytes read from DRAM.\n\n"
            + markdown.table(["level", "M = N = K", "modelled cycles", "measured", "error", "DRAM, modelled GB",
                              "measured",
                              "error", ""], lines, "lrrrrrrrl"))


def blackwell(context: Context, _: Options) -> str:
    """The Blackwell ladder, modelled for a B200 and scaled by one factor, beside what is reported of a GB200."""
    known = _modelled(context)
    reported: dict[tuple[str, str], list[float]] = {}
    for row in data.read_rows(context.root / RESULTS / "gb200_reported.csv")[1]:
        reported.setdefault((row["level"], row.get("m") or row.get("size") or ""), []).append(float(row["tflops"]))
    pairs = {key: (float(known[key[0], "b200", key[1]]["tflops"]), mean(values))
             for key, values in reported.items() if (key[0], "b200", key[1]) in known}
    named = [b / a for (level, _), (a, b) in pairs.items() if level == "level08_deep_pipeline"]
    factor = mean(named)
    errors = [factor * a / b - 1 for a, b in pairs.values()]
    lines = []
    for level in sorted({level for level, gpu, _ in known if gpu == "b200"}):
        for edge in predictions.RECORDED_SIZES.split(","):
            mine = float(known[level, "b200", edge]["tflops"])
            pair = pairs.get((level, edge))
            lines.append([names.short(level), edge, f"{mine:.0f}", f"{factor * mine:.0f}",
                          f"{pair[1]:.0f}" if pair else "",
                          f"{100 * (factor * mine / pair[1] - 1):+.0f} %" if pair else "",
                          known[level, "b200", edge]["limit"]])
    return (f"The factor of this host, from its level 08: {factor:.3f}. With it the mean error of the {len(errors)} "
            f"reported rows is {_percent(errors)}.\n\n"
            + markdown.table(["level", "M = N = K", "modelled TFLOPS", "times the factor", "reported (GB200)", "error",
                              "what limits it, in the model"], lines, "lrrrrrl"))


def limits(context: Context, options: Options) -> str:
    """What limits a level, in the model's words, on both architectures."""
    level = names.find_level(options.pop("level"), names.all_levels(context.root))
    known = _modelled(context)
    lines = []
    for gpu in ("b200", "h200"):
        for edge in predictions.RECORDED_SIZES.split(","):
            row = known[level, gpu, edge]
            lines.append([gpu.upper(), edge, f"{100 * float(row['tensor_share']):.0f} %", row["l2_gb"],
                          row["dram_read_gb"], row["mhz"], row["watts"], row["limit"]])
    return markdown.table(["GPU", "M = N = K", "tensor cores busy", "L2 GB", "DRAM GB", "MHz", "W", "limited by"],
                          lines, "lrrrrrrl")
