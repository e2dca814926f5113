"""The timing model: its constants, and what it predicts beside what was measured."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Optional

from ladder import markdown
from ladder.context import Context
from ladder.levels import names
from ladder.pages.blocks.options import Options, take_level
from ladder.results import data, derivation, predicted
from ladder.results.numbers import grouped
from ladder.results.predicted import Compared
from ladder.tune.modelled import SEPARATED

MODEL_PAGE, REFERENCES = Path("docs/model.md"), Path("docs/references.md")
CLEAR = 0.03  # changes worth more than this are beyond the noise between rounds
FAR = 0.06  # the model has two configurations further apart
FIRST = 10  # configurations that are tried where the model has ranked them
WORST = 5  # of the configurations, shown beside the first
LIMIT_EDGES = ("4096", "8192")  # on the levels' pages


def constants(context: Context, options: Options) -> str:
    """The constants of a GPU."""
    gpu = options.pop("gpu", "h200")
    rows = data.read_rows(context.root / derivation.CONSTANTS / f"{gpu}.csv")[1]
    return markdown.table(["constant", "value", "unit", "kind", "source"],
                          [[f"`{row['name']}`", *(row[c] for c in ("value", "unit", "kind", "source"))]
                           for row in rows], "lr")


def _mean(errors: Iterable[Optional[float]]) -> str:
    return f"{100 * mean(abs(error) for error in errors if error is not None):.1f} %"


def _percent(error: Optional[float]) -> str:
    return "" if error is None else f"{100 * error:+.1f} %"


def _whole(value: str) -> str:
    """More digits than the model or a measurement is good for would only look like knowledge."""
    return f"{float(value):.0f}"


def _gigabytes(value: str) -> str:
    return f"{float(value):.2f}" if float(value) < 10 else f"{float(value):.1f}"


def _worst_first(rows: Iterable[Compared]) -> list[Compared]:
    return sorted(rows, key=lambda each: -abs(each.error))


def beside_measured(context: Context, _: Options) -> str:
    """TFLOPS as modelled and as measured on an H200, the worst rows first."""
    rows = _worst_first(predicted.speeds(context))
    held = [each for each in rows if not each.fitted]
    lines = [[names.short(each.measured["level"]), each.measured["m"], _whole(each.model["tflops"]),
              _whole(each.measured["tflops"]), _percent(each.error), _whole(each.model["sm_mhz"]),
              _whole(each.measured["sm_mhz"]), _percent(each.other), "fitted" if each.fitted else ""] for each in rows]
    worst, clear = held[0], predicted.ranked(context)
    swapped = predicted.swapped(clear)
    others = f", all but {' and '.join(swapped)}" if swapped else ""
    return (f"Mean error of the {len(held)} rows held out: **{_mean(each.error for each in held)}** of the sustained "
            f"TFLOPS, {_mean(each.other for each in held)} in bursts; the worst is "
            f"{names.short(worst.measured['level'])} at {worst.measured['m']} with {_percent(worst.error)}. "
            f"Of {len(clear)} pairs of levels whose order at a size is beyond the noise of the measurement, the model "
            f"has {len(clear) - len(swapped)} in that order{others}.\n\n"
            + markdown.table(["level", "M = N = K", "modelled TFLOPS", "measured", "error", "modelled MHz", "measured",
                              "burst: error", ""], lines, "lrrrrrrrl"))


def cycles_and_bytes(context: Context, _: Options) -> str:
    """Cycles and bytes from DRAM, as modelled and as measured on an H200, in bursts, the worst rows first."""
    rows = _worst_first(predicted.cycles_and_bytes(context))
    held = [each for each in rows if not each.fitted]
    lines = [[names.short(each.measured["level"]), each.measured["m"], grouped(round(predicted.cycles_of(each.model))),
              grouped(round(predicted.cycles_of(each.measured))), _percent(each.error),
              f"{float(each.model['dram_read_gb']):.2f}", f"{float(each.measured['dram_read_bytes']) / 1e9:.2f}",
              _percent(each.other), "fitted" if each.fitted else ""] for each in rows]
    return (f"Mean error of the {len(held)} rows held out: **{_mean(each.error for each in held)}** of the cycles, "
            f"**{_mean(each.other for each in held)}** of the bytes read from DRAM.\n\n"
            + markdown.table(["level", "M = N = K", "modelled cycles", "measured", "error", "DRAM, modelled GB",
                              "measured", "error", ""], lines, "lrrrrrrrl"))


def changes(context: Context, _: Options) -> str:
    """What changes to kernels are worth in the model, beside what was measured, the largest errors first; and the four
    of which there are words only."""
    all_changes = predicted.changes(context)
    hopper = sorted((each for each in all_changes if each.measured is not None),
                    key=lambda each: -abs(each.modelled - (each.measured or 0)))
    lines = [[names.short(each.row["level"]), each.row["optimisation"], each.row["m"], f"{each.modelled:.3f}",
              f"{each.measured or 0:.3f}" + ("" if each.same_rounds else " *"),
              f"{100 * (each.modelled - (each.measured or 0)):+.1f}"] for each in hopper]
    clear = [each for each in hopper if abs((each.measured or 0) - 1) > CLEAR]
    right = sum((each.modelled > 1) == ((each.measured or 0) > 1) for each in clear)
    text = ""
    if hopper:
        off = 100 * mean(abs(each.modelled - (each.measured or 0)) for each in hopper)
        text = (f"Of the {len(hopper)} changes the model is off by {off:.1f} points on average; it has the direction "
                f"right of {right} of the {len(clear)} that are worth more than {100 * CLEAR:.0f} %.\n\n")
    text += markdown.table(["level", "change", "M = N = K", "modelled, of the level", "measured", "points"], lines,
                           "llrrrr")
    text += "\n\\* from other rounds than the level's.\n\nOn Blackwell, of which the notes have words only:\n\n"
    return text + markdown.table(
        ["level", "change", "M = N = K", "modelled, of the level without it", "reported (GB200)"],
        [[names.short(each.row["level"]), each.row["optimisation"], each.row["m"], f"{each.modelled:.3f}",
          each.reported] for each in all_changes if each.measured is None], "llrrl")


def shapes(context: Context, _: Options) -> str:
    """Shapes and sizes that are not the ladder's, as modelled and as measured on an H200, the worst rows first."""
    rows = _worst_first(predicted.shapes(context))
    lines = [[names.short(each.measured["level"]), "x".join(each.measured[axis] for axis in "mnk"),
              each.model["config"], _whole(each.model["tflops"]), _whole(each.measured["tflops"]), _percent(each.error),
              each.model["limit"]] for each in rows]
    return (f"Mean error of these {len(rows)} rows, all held out: **{_mean(each.error for each in rows)}** of the "
            "sustained TFLOPS.\n\n"
            + markdown.table(["level", "M x N x K", "tile", "modelled TFLOPS", "measured", "error", "limited by"],
                             lines, "lllrrrl"))


def tuner(context: Context, _: Options) -> str:
    """Configurations of level 08 that the tuner timed on an H200, beside what the model makes of them."""
    rows = predicted.tried(context)
    text = ""
    for size in dict.fromkeys(each.size for each in rows):
        mine = [each for each in rows if each.size == size]
        best = mine[0].measured
        worst = sorted(mine, key=lambda each: -abs(each.modelled / each.measured - 1))[:WORST]
        chosen = max((each for each in sorted(mine, key=lambda each: -each.modelled)[:FIRST]),
                     key=lambda each: each.measured)
        text += (f"Of {len(mine)} configurations at {size}: mean error "
                 f"**{_mean(each.modelled / each.measured - 1 for each in mine)}** of the TFLOPS, correlation of the "
                 f"ranks {_rank_correlation([each.modelled for each in mine], [each.measured for each in mine]):.2f}; "
                 f"the best of the model's first {FIRST} is {100 * (1 - chosen.measured / best):.1f} % slower than the "
                 f"best. The {FIRST} that were fastest, and the {WORST} of which the model is furthest off:\n\n")
        text += markdown.table(["tile", "stages", "cluster", "group", "modelled TFLOPS", "measured", "error"],
                               [[f"{m}x{n}" + (", split" if split == "1" else ""), stages, f"{a}x{b}", group,
                                 _whole(str(each.modelled)), _whole(str(each.measured)),
                                 _percent(each.modelled / each.measured - 1)]
                                for each in mine if each in mine[:FIRST] or each in worst
                                for m, n, stages, a, b, group, split in [each.point]],
                               "lrlrrrr") + "\n"
    return text


def tiles(context: Context, _: Options) -> str:
    """All configurations of level 08 at shapes for which nobody had chosen any, by configuration."""
    rows = predicted.tiles(context)
    by_shape = {size: [each for each in rows if each.size == size] for size in dict.fromkeys(r.size for r in rows)}
    lost = [1 - max(mine, key=lambda each: each.modelled).measured / max(each.measured for each in mine)
            for mine in by_shape.values()]
    errors = {config: [each.modelled / each.measured - 1 for each in rows if each.point == config]
              for config in dict.fromkeys(each.point for each in rows)}
    everything = [error for mine in errors.values() for error in mine]
    lines = [[name, len(mine), _percent(median(mine)), _mean(mine)]
             for name, mine in [("all", everything), *((config, mine) for (config,), mine in errors.items())]]
    return (f"The tile that the model finds fastest is {100 * mean(lost):.1f} % slower than the best on average over "
            f"the {len(lost)} shapes, and {100 * median(lost):.1f} % at the median.\n\n"
            + markdown.table(["tile", "shapes", "median error", "mean error"], lines, "lrrr"))


def orders(context: Context, _: Options) -> str:
    """How often a configuration of level 08 that the model finds faster than another was faster on an H200."""
    found = predicted.orders(context)
    near, far = (f"{100 * edge:.0f}" for edge in (SEPARATED, FAR))
    texts = []
    for low, high, apart in ((0.0, SEPARATED, f"less than {near} %"), (SEPARATED, FAR, f"{near} to {far} %"),
                             (FAR, 1.0, f"more than {far} %")):
        right = [is_right for by, is_right in found if low <= by < high]
        texts.append(f"**{100 * mean(right):.0f} %** of the {grouped(len(right))} that the model has {apart} apart")
    return f"Pairs of configurations that an H200 had in the same order: {', '.join(texts)}.\n"


def _rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's."""
    def ranks(values: Sequence[float]) -> list[float]:
        return [sum(a < value for a in values) + (sum(a == value for a in values) - 1) / 2 for value in values]
    a, b = ranks(one), ranks(other)
    return (mean(x * y for x, y in zip(a, b)) - mean(a) * mean(b)) / (pstdev(a) * pstdev(b))


def public(context: Context, _: Options) -> str:
    """Others' kernels for a B200 that are like one of ours, beside the model of ours."""
    rows = predicted.public(context)
    text = ""
    for host in dict.fromkeys(each.row["host"] for each in rows):
        mine = [each for each in rows if each.row["host"] == host]
        source = mine[0].row["source"]
        lines = [[each.row["kernel"], "x".join(each.row[axis] for axis in "mnk"),
                  f"{names.short(each.row['level'])}, {each.row['config']}", _whole(each.model["tflops"]),
                  _whole(str(each.tflops)), _whole(each.row["tflops"]), _percent(each.error)] for each in mine]
        text += (f"[{host}]({context.link(REFERENCES)}#{source}): {mine[0].row['likeness']}. The factor of its host is "
                 f"{mine[0].factor:.3f}; with it the mean error is **{_mean(each.error for each in mine)}**.\n\n"
                 + markdown.table(["kernel", "M x N x K", "like", "modelled TFLOPS", "times the factor",
                                   "reported (B200)", "error"], lines, "lllrrrr") + "\n")
    return text


def blackwell(context: Context, _: Options) -> str:
    """The Blackwell ladder, modelled for a B200 and scaled by one factor, beside what is reported of a GB200, the worst
    rows first."""
    reported, factor = predicted.reported(context), predicted.host_factor(context)
    rows = []
    for (level, gpu, edge), row in predicted.recorded(context).items():
        if gpu == "b200":
            mine, value = factor * float(row["tflops"]), reported.get((level, edge))
            rows.append((level, edge, row, mine, value, mine / value - 1 if value else None))
    held = [each[5] for each in rows if predicted.is_held_out(each[0], each[1]) and each[5] is not None]
    rows.sort(key=lambda each: (each[5] is None, -abs(each[5] or 0), each[0], int(each[1])))
    lines = [[names.short(level), edge, f"{float(row['tflops']):.0f}", f"{mine:.0f}", f"{value:.0f}" if value else "",
              _percent(error),
              "" if error is None or predicted.is_held_out(level, edge) else
              "the factor" if level == predicted.REFERENCE else "fitted"]
             for level, edge, row, mine, value, error in rows]
    return (f"The factor of this host, from its level 08: {factor:.3f}. With it the mean error of the {len(held)} "
            f"other reported rows is **{_mean(held)}**.\n\n"
            + markdown.table(["level", "M = N = K", "modelled TFLOPS", "times the factor", "reported (GB200)", "error",
                              ""], lines, "lrrrrrl"))


def other_hopper(context: Context, _: Options) -> str:
    """The ladder on an H100, modelled and measured, beside the H200's."""
    known, rows = predicted.recorded(context), predicted.other_chip(context)
    beside = {(each.measured["level"], each.measured["m"]): each.measured["tflops"]
              for each in predicted.speeds(context)}
    lines = []
    for each in rows:
        level, edge = each.measured["level"], each.measured["m"]
        on_h200 = known[level, "h200", edge]
        lines.append([names.short(level), edge, _whole(each.model["tflops"]), _whole(each.measured["tflops"]),
                      _percent(each.error), f"{float(each.model['tflops']) / float(on_h200['tflops']):.3f}",
                      f"{float(each.measured['tflops']) / float(beside[level, edge]):.3f}",
                      f"{float(each.measured['ratio_cublas']):.3f}", each.model["limit"]])
    lines.sort(key=lambda line: (int(line[1]), line[0]))
    return (f"Mean error of these {len(rows)} rows, all held out: **{_mean(each.error for each in rows)}** of the "
            "sustained TFLOPS.\n\n"
            + markdown.table(["level", "M = N = K", "H100, modelled TFLOPS", "measured", "error",
                              "H100 / H200, modelled", "measured", "x cuBLAS, measured",
                              "what limits it on the H100, in the model"], lines, "lrrrrrrrl"))


def limits(context: Context, options: Options) -> str:
    """What limits a level, in the model's words, on both architectures."""
    level = take_level(context, options)
    lines = []
    for (named, gpu, edge), row in predicted.recorded(context).items():
        if named == level and edge in LIMIT_EDGES:
            lines.append([gpu.upper(), edge, f"{100 * float(row['tensor_share']):.0f} %", _gigabytes(row["l2_gb"]),
                          _gigabytes(row["dram_gb"]), _whole(row["sm_mhz"]), _whole(row["power_w"]), row["limit"]])
    if not lines:
        raise ValueError(f"nothing is modelled of {level}")
    lines.sort(key=lambda line: (line[0], int(line[1])))
    return (markdown.table(["GPU", "M = N = K", "tensor cores busy", "GB from L2", "GB from and to DRAM", "MHz", "W",
                            "limited by"], lines, "lrrrrrrl")
            + f"\n[Modelled]({context.link(MODEL_PAGE)}), under load.\n")
