"""Views: tables of figures that follow from several files of results, such as the timing model's beside measured ones.

Each takes the context and returns sections: a table with a sentence before and a note after it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Callable, Optional

from ladder.context import Context
from ladder.levels import names
from ladder.model import ablations, account, predicted, predictions
from ladder.model.modelled import SEPARATED
from ladder.model.predicted import Compared
from ladder.mutants.sites import key_of
from ladder.pages.blocks import attempts, figures, on_hardware, profiled, synchronisation
from ladder.results import table
from ladder.results.numbers import grouped

REFERENCES = Path("docs/references.md")
CLEAR = 0.03  # changes worth more than this are beyond the noise between rounds
FAR = 0.06  # the model has two configurations further apart
FIRST = 10  # configurations that are tried where the model has ranked them
WORST = 3  # of the configurations, shown beside the fastest
SHOWN = 5  # rows of a table of the worst, and of the fastest configurations


@dataclass(frozen=True)
class Section:
    """A table, the sentence before it and the note below it; all of it Markdown."""

    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    lead: str = ""
    note: str = ""


def _mean(errors: Iterable[Optional[float]]) -> str:
    return f"{100 * mean(abs(error) for error in errors if error is not None):.1f} %"


def _percent(error: Optional[float]) -> str:
    return "" if error is None else f"{100 * error:+.1f} %"


def _whole(value: str) -> str:
    """More digits than the model or a measurement is good for would only look like knowledge."""
    return f"{float(value):.0f}"


def _worst_first(rows: Iterable[Compared]) -> list[Compared]:
    return sorted(rows, key=lambda each: -abs(each.error))


def _worst(heads: Sequence[str], lines: Sequence[Sequence[str]], lead: str, source: Path, note: str = "") -> Section:
    """The first lines of a table whose worst come first."""
    rest = f"{len(lines) - SHOWN} more rows, nearer to what was measured: `{source}`." if len(lines) > SHOWN else ""
    return Section(heads, lines[:SHOWN], lead, "\n\n".join(filter(None, (note, rest))))


def _compared(rows: Sequence[Compared], columns: dict[str, Callable[[Compared], str]], lead: str,
              source: Optional[Path] = None) -> list[Section]:
    """A line per row, or the worst, which come first; rows to which nothing was fitted stand for the model's error."""
    lines = [[cell(each) for cell in columns.values()] for each in rows]
    if source is not None:
        return [_worst(list(columns), lines, lead, source)] if rows else []
    return [Section(list(columns), lines, lead)] if rows else []


def _level(each: Compared) -> str:
    return names.short(each.measured["level"])


def _edge(each: Compared) -> str:
    return each.measured["m"]


def _fitted(each: Compared) -> str:
    return "fitted" if each.fitted else ""


# Heads that stand twice in a table differ by a blank at their end.
SPEEDS: dict[str, Callable[[Compared], str]] = {
    "modelled TFLOPS": lambda each: _whole(each.model["tflops"]),
    "measured": lambda each: _whole(each.measured["tflops"]),
    "error": lambda each: _percent(each.error),
}


def beside_measured(context: Context) -> list[Section]:
    """TFLOPS as modelled and as measured on an H200."""
    rows = _worst_first(predicted.speeds(context))
    held = [each for each in rows if not each.fitted]
    worst, clear = held[0], predicted.ranked(context)
    swapped = predicted.swapped(clear)
    others = f", all but {' and '.join(swapped)}" if swapped else ""
    lead = (f"Mean error of the {len(held)} rows held out: **{_mean(each.error for each in held)}** of the sustained "
            f"TFLOPS, {_mean(each.other for each in held)} in bursts; the worst is {_level(worst)} at {_edge(worst)} "
            f"with {_percent(worst.error)}. Of {len(clear)} pairs of levels whose order at a size is beyond the noise "
            f"of the measurement, the model has {len(clear) - len(swapped)} in that order{others}.")
    return _compared(rows, {"level": _level, "M = N = K": _edge, **SPEEDS,
                            "modelled MHz": lambda each: _whole(each.model["sm_mhz"]),
                            "measured ": lambda each: _whole(each.measured["sm_mhz"]),
                            "burst: error": lambda each: _percent(each.other), "": _fitted}, lead, predictions.RECORD)


def cycles_and_bytes(context: Context) -> list[Section]:
    """Cycles and bytes from DRAM, as modelled and as measured on an H200, in bursts."""
    rows = _worst_first(predicted.cycles_and_bytes(context))
    held = [each for each in rows if not each.fitted]
    lead = (f"Mean error of the {len(held)} rows held out: **{_mean(each.error for each in held)}** of the cycles, "
            f"**{_mean(each.other for each in held)}** of the bytes read from DRAM.")
    return _compared(rows, {
        "level": _level, "M = N = K": _edge,
        "modelled cycles": lambda each: grouped(round(predicted.cycles_of(each.model))),
        "measured": lambda each: grouped(round(predicted.cycles_of(each.measured))),
        "error": lambda each: _percent(each.error),
        "DRAM, modelled GB": lambda each: f"{float(each.model['dram_read_gb']):.2f}",
        "measured ": lambda each: f"{float(each.measured['dram_read_bytes']) / 1e9:.2f}",
        "error ": lambda each: _percent(each.other), "": _fitted}, lead, predictions.OTHERS)


def shapes(context: Context) -> list[Section]:
    """Shapes and sizes that are not the ladder's, as modelled and as measured on an H200."""
    rows = _worst_first(predicted.shapes(context))
    return _compared(rows, {"level": _level, "M x N x K": lambda each: "x".join(each.measured[axis] for axis in "mnk"),
                            "tile": lambda each: each.model["config"], **SPEEDS,
                            "limited by": lambda each: each.model["limit"]}, _all_held_out(rows),
                     predictions.OTHERS)


def _all_held_out(rows: Sequence[Compared]) -> str:
    return (f"Mean error of these {len(rows)} rows, all held out: **{_mean(each.error for each in rows)}** of the "
            "sustained TFLOPS.") if rows else ""


def other_hopper(context: Context) -> list[Section]:
    """The ladder on an H100, modelled and measured, beside the H200's."""
    known = predicted.recorded(context)
    beside = {(_level(each), _edge(each)): each.measured["tflops"] for each in predicted.speeds(context)}
    rows = sorted(predicted.other_chip(context), key=lambda each: (int(_edge(each)), _level(each)))

    def modelled_quotient(each: Compared) -> str:
        on_h200 = known[each.measured["level"], "h200", _edge(each)]
        return f"{float(each.model['tflops']) / float(on_h200['tflops']):.3f}"

    return _compared(rows, {
        "level": _level, "M = N = K": _edge, "H100, modelled TFLOPS": SPEEDS["modelled TFLOPS"],
        "measured": SPEEDS["measured"], "error": SPEEDS["error"], "H100 / H200, modelled": modelled_quotient,
        "measured ": lambda each: f"{float(each.measured['tflops']) / float(beside[_level(each), _edge(each)]):.3f}",
        "x cuBLAS, measured": lambda each: f"{float(each.measured['ratio_cublas']):.3f}",
        "what limits it on the H100, in the model": lambda each: each.model["limit"]},
        f"Mean error of these {len(rows)} rows, which were looked at while the link was modelled: "
        f"**{_mean(each.error for each in rows)}** of the sustained TFLOPS." if rows else "")


def beside_a_profiler(context: Context) -> list[Section]:
    """Parts of the model beside what a profiler counted on an H100."""
    rows = sorted(predicted.profiled(context), key=lambda each: -abs(each.cycles))
    lines = [[names.short(each.model["level"]), each.model["size"], _whole(each.model["sm_mhz"]),
              f"{float(each.model['cycles']) / 1e6:.3f}", f"{each.counted['cycles'] / 1e6:.3f}", _percent(each.cycles),
              f"{100 * float(each.model['tensor_share']):.1f}",
              f"{each.counted['tensor core, cycles active %']:.1f}", f"{each.tensor:+.1f}",
              f"{float(each.model['dram_read_gb']):.2f}", f"{each.counted['DRAM, bytes read'] / 1e9:.2f}",
              each.model["limit"].partition(":")[0], ", ".join(each.busiest) or "none"]
             for each in rows]
    lead = (f"Mean error of the {len(rows)} rows: **{_mean(each.cycles for each in rows)}** of the cycles, "
            f"**{mean(abs(each.tensor) for each in rows):.1f} points** of the tensor cores' share.") if rows else ""
    return [_worst(["level", "M = N = K", "MHz", "million cycles, modelled", "measured", "error",
                    "tensor cores busy %, modelled", "measured ", "points", "DRAM read GB, modelled", "measured  ",
                    "limited by, modelled", "above 90 % of its peak, measured"], lines, lead, account.PROFILED)]


def changes(context: Context) -> list[Section]:
    """What changes to kernels are worth in the model, beside what was measured, the largest errors first."""
    found = predicted.changes(context)
    hopper = sorted(((each, each.measured) for each in found if each.measured is not None),
                    key=lambda pair: -abs(pair[0].modelled - pair[1]))
    clear = [(each, measured) for each, measured in hopper if abs(measured - 1) > CLEAR]
    right = sum((each.modelled > 1) == (measured > 1) for each, measured in clear)
    lead = (f"The model is off by {100 * mean(abs(each.modelled - measured) for each, measured in hopper):.1f} points "
            f"on average over the {len(hopper)} changes; it has the right sign for {right} of the {len(clear)} that "
            f"are worth more than {100 * CLEAR:.0f} %.") if hopper else ""
    measured_lines = [[names.short(each.row["level"]), each.row["optimisation"], each.row["m"], f"{each.modelled:.3f}",
                       f"{measured:.3f}" + ("" if each.same_rounds else " *"),
                       f"{100 * (each.modelled - measured):+.1f}"] for each, measured in hopper]
    return [_worst(["level", "change", "M = N = K", "modelled, of the level", "measured", "points"], measured_lines,
                   lead, ablations.RECORD, r"\* from other rounds than the level's.")]


def tuner(context: Context) -> list[Section]:
    """Configurations of the production kernel that the tuner timed on an H200, beside the model's predictions."""
    rows, sections = predicted.tried(context), []
    for size in dict.fromkeys(each.size for each in rows):
        mine = [each for each in rows if each.size == size]
        worst = sorted(mine, key=lambda each: -abs(each.modelled / each.measured - 1))[:WORST]
        chosen = max(sorted(mine, key=lambda each: -each.modelled)[:FIRST], key=lambda each: each.measured)
        lead = (f"Of {len(mine)} configurations at {size}: mean error "
                f"**{_mean(each.modelled / each.measured - 1 for each in mine)}** of the TFLOPS, correlation of the "
                f"ranks {_rank_correlation([each.modelled for each in mine], [each.measured for each in mine]):.2f}; "
                f"the best of the model's first {FIRST} is {100 * (1 - chosen.measured / mine[0].measured):.1f} % "
                f"slower than the best. The {SHOWN} fastest, and the {WORST} with the model's largest errors:")
        lines = [[f"{m}x{n}" + (", split" if split == "1" else ""), stages, f"{a}x{b}", group,
                  _whole(str(each.modelled)), _whole(str(each.measured)), _percent(each.modelled / each.measured - 1)]
                 for each in mine if each in mine[:SHOWN] or each in worst
                 for m, n, stages, a, b, group, split in [each.point]]
        sections.append(Section(["tile", "stages", "cluster", "group", *SPEEDS], lines, lead))
    return sections


def tiles(context: Context) -> list[Section]:
    """All configurations of the production kernel at shapes for which none had been chosen, by configuration."""
    rows = predicted.tiles(context)
    if not rows:
        return []
    by_shape = {size: [each for each in rows if each.size == size] for size in dict.fromkeys(r.size for r in rows)}
    lost = [1 - max(mine, key=lambda each: each.modelled).measured / max(each.measured for each in mine)
            for mine in by_shape.values()]
    errors = {config: [each.modelled / each.measured - 1 for each in rows if each.point == config]
              for config in dict.fromkeys(each.point for each in rows)}
    everything = [error for mine in errors.values() for error in mine]
    worst = sorted(errors.items(), key=lambda each: -mean(map(abs, each[1])))
    lines = [[name, str(len(mine)), _percent(median(mine)), _mean(mine)]
             for name, mine in [("all", everything), *((config, mine) for (config,), mine in worst)]]
    return [_worst(["tile", "shapes", "median error", "mean error"], lines,
                   f"The tile that the model finds fastest is {100 * mean(lost):.1f} % slower than the best on "
                   f"average over the {len(lost)} shapes, and {100 * median(lost):.1f} % at the median.",
                   predictions.TILES)]


def orders(context: Context) -> list[Section]:
    """How often the model's order of two configurations of the production kernel is their order on an H200."""
    found, texts = predicted.orders(context), []
    near, far = (f"{100 * edge:.0f}" for edge in (SEPARATED, FAR))
    for low, high, apart in ((0.0, SEPARATED, f"less than {near} %"), (SEPARATED, FAR, f"{near} to {far} %"),
                             (FAR, 1.0, f"more than {far} %")):
        right = [is_right for by, is_right in found if low <= by < high]
        texts.append(f"**{100 * mean(right):.0f} %** of the {grouped(len(right))} that the model has {apart} apart")
    return [Section([], [], f"Pairs of configurations that an H200 had in the same order: {', '.join(texts)}.")]


def _rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's."""
    def ranks(values: Sequence[float]) -> list[float]:
        return [sum(a < value for a in values) + (sum(a == value for a in values) - 1) / 2 for value in values]
    a, b = ranks(one), ranks(other)
    return (mean(x * y for x, y in zip(a, b)) - mean(a) * mean(b)) / (pstdev(a) * pstdev(b))


def public(context: Context) -> list[Section]:
    """Others' kernels for a B200 that are like one of ours, beside the model of ours."""
    rows, sections = predicted.public(context), []
    for host in dict.fromkeys(each.row["host"] for each in rows):
        mine = [each for each in rows if each.row["host"] == host]
        lines = [[each.row["kernel"], "x".join(each.row[axis] for axis in "mnk"),
                  f"{names.short(each.row['level'])}, {each.row['config']}", _whole(each.model["tflops"]),
                  _whole(str(each.tflops)), _whole(each.row["tflops"]), _percent(each.error)] for each in mine]
        lead = (f"[{host}]({context.link(REFERENCES)}#{mine[0].row['source']}): {mine[0].row['likeness']}. The factor "
                f"of its host is {mine[0].factor:.3f}; with it the mean error is "
                f"**{_mean(each.error for each in mine)}**.")
        sections.append(Section(["kernel", "M x N x K", "like", "modelled TFLOPS", "times the factor",
                                 "reported (B200)", "error"], lines, lead))
    return sections


def blackwell(context: Context) -> list[Section]:
    """The Blackwell ladder, modelled for a B200 and scaled by one factor, beside what is reported of a GB200, the worst
    rows first."""
    reported, factor = predicted.reported(context), predicted.host_factor(context)
    rows = []
    for (level, gpu, edge), row in predicted.recorded(context).items():
        if gpu == "b200" and (level, edge) in reported:
            mine, value = factor * float(row["tflops"]), reported[level, edge]
            rows.append((level, edge, row, mine, value, mine / value - 1))
    held = [each[5] for each in rows if predicted.is_held_out(each[0], each[1])]
    later = [each[5] for each in rows if predicted.is_held_out(each[0], each[1]) and names.number_of(each[0]) > 1]
    rows.sort(key=lambda each: (-abs(each[5]), each[0], int(each[1])))
    lines = [[names.short(level), edge, f"{float(row['tflops']):.0f}", f"{mine:.0f}", f"{value:.0f}", _percent(error),
              "" if predicted.is_held_out(level, edge) else
              "the factor" if level == predicted.REFERENCE else "fitted"]
             for level, edge, row, mine, value, error in rows]
    lead = (f"The factor of this host, from its level 08: {factor:.3f}. With it the mean error of the {len(held)} "
            f"other reported rows is **{_mean(held)}**, and **{_mean(later)}** without level 01.")
    heads = ["level", "M = N = K", "modelled TFLOPS", "times the factor", "reported (GB200)", "error", ""]
    return [_worst(heads, lines, lead, predictions.RECORD)]


# --- what was measured ------------------------------------------------------------------------------------------------


def bursts(context: Context) -> list[Section]:
    """Short bursts beside the sustained figures, level by level."""
    found = table.bursts(context.results, context.levels())
    if not found.groups:
        return []
    heads, lines, notes = found.cells()
    return [Section(heads, lines, note="\n\n".join(notes))]


def sanitized_mutants(context: Context) -> list[Section]:
    """What compute-sanitizer's tools said of kernels that lack one fence, barrier or wait."""
    rows = [row for row in on_hardware.read(context, on_hardware.WITHOUT_TOOLS) if row["site"]]
    gpus = {row["gpu"] for row in rows}
    measured = on_hardware.by_site([row for row in on_hardware.read_all(context) if row["gpu"] in gpus])
    failing = {key for key, found in measured.items() if any(found.wrong)}
    lines = []
    for tool in dict.fromkeys(row["tool"] for row in rows):
        said = Counter(row["verdict"] for row in rows if row["tool"] == tool)
        wrong = [row for row in rows if row["tool"] == tool and key_of(row) in failing]
        lines.append([tool, str(sum(said.values())), str(said["reported"]),
                      str(said["internal error"] + said["timeout"]), str(len(wrong)),
                      str(sum(row["verdict"] == "clean" for row in wrong))])
    heads = ["tool", "kernels", "reported", "tool failed", "wrong on the GPU", "of these, nothing said"]
    label = ", ".join(sorted({f"{row['kind']}: {row['gpu']}" for row in rows}))
    return [Section(heads, lines, note=f"{label}.")] if lines else []


# A view may also return Markdown, where it is more than tables with a sentence.
VIEWS: dict[str, Callable[[Context], list[Section] | str]] = {
    "choices": figures.choices, "random": figures.at_random, "tuning_lessons": attempts.lessons,
    "profile": profiled.counters, "score": synchronisation.score, "weakened": synchronisation.weakened,
    "modelled": beside_measured, "modelled_cycles": cycles_and_bytes, "modelled_shapes": shapes,
    "modelled_h100": other_hopper, "modelled_profile": beside_a_profiler,
    "modelled_ablations": changes, "modelled_tuner": tuner, "modelled_choice": tiles,
    "modelled_orders": orders, "modelled_public": public, "modelled_blackwell": blackwell, "bursts": bursts,
    "sanitized_mutants": sanitized_mutants,
}
