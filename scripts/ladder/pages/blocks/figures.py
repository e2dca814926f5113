"""What was measured and reported: the ladder, a level, the ablations."""
from __future__ import annotations

from typing import Callable, Optional

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import lab, names
from ladder.levels.shapes import Shape, cube, size_text
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results import data, numbers, table
from ladder.results.ablations import BASELINE, EDGES, Ablation
from ladder.results.choice import Judged, quantile
from ladder.results.numbers import grouped

MODELLED_ON = {90: "H200", 100: "B200"}
WORST = 5  # rows of a table of the worst
NOT_MEASURED = "Not measured yet.\n"
# What a profiler says of one product: column of the file, head, and how its figure reads.
TRAFFIC: dict[str, tuple[str, Callable[[float], str]]] = {
    "dram_bytes": ("from DRAM", lambda count: f"{count / 1e9:.1f} GB"),
    "l2_bytes": ("through L2", lambda count: f"{count / 1e9:.1f} GB"),
    "cycles": ("cycles", lambda count: grouped(int(count))),
}


def _figures(found: table.Table) -> str:
    return found.markdown() if found.groups else "No figures yet.\n"


def progression(context: Context, options: Options) -> str:
    """size=EDGE arch=sm90|sm100 gpu=NAME: the whole ladder at one size, as reported and on one measured GPU: that of
    record, or the one whose name has this in it."""
    edge = int(options.pop("size", str(data.DEFAULT_EDGE)))
    archs, gpu = take_archs(options, names.ARCHES), options.pop("gpu", "")
    results = [r for r in context.results if gpu.lower() in r.series.gpu.lower()] if gpu else (
        data.of_record(context.results))
    return _figures(table.progression(results, context.levels(), edge, archs=archs))


def level(context: Context, options: Options) -> str:
    """level=N: one level at all sizes, with confidence intervals where there are any."""
    return _figures(table.by_size(data.of_record(context.results), take_level(context, options)))


def at_random(context: Context) -> str:
    """The production kernel at shapes drawn at random, GPU by GPU: quantiles, and the worst."""
    groups: dict[data.Series, list[data.Result]] = {}
    for result in data.load_measured(context.root / RESULTS, "random"):
        groups.setdefault(result.series, []).append(result)
    return "\n".join(map(_at_random, groups.values())) or NOT_MEASURED


def _at_random(results: list[data.Result]) -> str:
    worst = sorted(results, key=lambda result: result.number("ratio_cublaslt") or 1)[:WORST]
    return (_quantiles(results) + "\nFurthest behind cublasLt:\n\n" + markdown.table(
        ["M x N x K", "tile", "TFLOPS", "x cublasLt"],
        [[size_text(result.shape), result.fields["config"], numbers.tflops_text(result),
          numbers.ratio_text(result, "ratio_cublaslt")] for result in worst], "llrr")
        + f"\n{numbers.conditions(results)}.\n")


def choices(context: Context) -> str:
    """How good a level's choice among its configurations is: quantiles over all timed shapes, and the worst."""
    return "\n".join(_choices(judged) for judged in context.choices.values()) or NOT_MEASURED


def _choices(judged: list[Judged]) -> str:
    losses = [each.loss for each in judged]
    text = _quantiles([each.chosen for each in judged], [
        "longer than our best tile", *(f"{100 * quantile(losses, share):.1f} %" for share in (0.5, 0.9, 1))])
    for title, ordered in (
            ("Furthest from our best tile:", sorted(judged, key=lambda each: -each.loss)),
            ("Furthest behind cublasLt:", sorted(judged, key=lambda each: each.ratio_cublaslt or 1))):
        text += f"\n{title}\n\n" + markdown.table(
            ["M x N x K", "tile", "TFLOPS", "best tile", "TFLOPS", "x cublasLt", "best tile x cublasLt"],
            [[size_text(each.chosen.shape), each.chosen.fields["config"], numbers.tflops_text(each.chosen),
              each.best.fields["config"], numbers.tflops_text(each.best),
              *(numbers.ratio_text(result, "ratio_cublaslt") for result in (each.chosen, each.best))]
             for each in ordered[:WORST]], "llrlrrr")
    conditions = numbers.conditions([each.chosen for each in judged])
    fewest, most = min(each.timed for each in judged), max(each.timed for each in judged)
    tiles = f"{fewest} to {most}" if fewest < most else f"{most}"
    return text + f"\n{tiles} tiles were timed at each of these shapes. {conditions}.\n"


def _quantiles(results: list[data.Result], *rows: list[str]) -> str:
    """The median, what a tenth is worse than, and the worst: under `rows`, the ratios to cublasLt, at all shapes, and
    apart where rows of K begin on lines of L2 and where they do not."""
    known = [(result.shape[2], ratio) for result in results
             if (ratio := result.number("ratio_cublaslt")) is not None]
    on_lines = [ratio for k, ratio in known if k % 64 == 0]
    across = [ratio for k, ratio in known if k % 64 != 0]
    titled = [("x cublasLt", [ratio for _, ratio in known]),
              (f"x cublasLt, K a multiple of 64: {len(on_lines)} shapes", on_lines),
              (f"x cublasLt, any other K: {len(across)} shapes", across)]
    return markdown.table(
        [f"{results[0].series.title()}: {len(results)} shapes", "median", "a tenth is worse than", "worst"],
        [*rows, *([title, *(f"{quantile(ratios, share):.3f}" for share in (0.5, 0.1, 0))]
                  for title, ratios in titled if ratios)], "lrrr")


def ablations(context: Context, options: Options) -> str:
    """level=N: what was tried with the level, and what came of it: reported on GB200, and measured."""
    name = take_level(context, options)
    measured = [a for a in context.ablations if a.level == name]
    parts = _reported(context, name) + _patches(context, name)
    for series in {a.series: None for a in measured}:
        parts += _measured([a for a in measured if a.series == series])
    return "\n".join(parts) or NOT_MEASURED


def _reported(context: Context, name: str) -> list[str]:
    _, all_rows = data.read_rows(context.root / RESULTS / data.REPORTED_ABLATIONS)
    rows = [row for row in all_rows if row["level"] == name]
    if not rows:
        return []
    columns = ["optimisation", "expected", "observed", "reason"]
    titles = sorted({f"{row['kind']}: {row['gpu']}" for row in rows})
    return [markdown.table(columns, [[row[c] for c in columns] for row in rows]) + f"\n{', '.join(titles)}.\n"]


def _patches(context: Context, name: str) -> list[str]:
    """Of a level that has ablations as patches: a row for each, with what the model says of it."""
    patches = [one for one in lab.all_labs(context.root, (lab.ABLATIONS,)) if one.level == name]
    if not patches:
        return []
    modelled = {(row["arch"], row["option"], row["m"]): f"{float(row['ratio_level']):.3f}"
                for row in context.modelled_ablations if row["level"] == name}
    sizes = [str(edge) for edge in EDGES]
    rows = [[f"[{one.words}]({context.link(one.path.relative_to(context.root))})", one.notes or numbers.NOTHING,
             one.worth[0], *(modelled.get((str(one.arch), one.option, size), numbers.NOTHING) for size in sizes),
             one.worth[1]] for one in patches]
    heads = ["ablation", "in the notes", "expected", *sizes, "why"]
    return [f"{names.ARCH_NAMES[arch]}, modelled on a {MODELLED_ON[arch]}; speed in units of the level as it is, above "
            "1 is faster:\n\n"
            + markdown.table(heads, [row for row, one in zip(rows, patches) if one.arch == arch],
                             "lll" + "r" * len(sizes) + "l")
            for arch in sorted({one.arch for one in patches}, reverse=True)]


def _measured(found: list[Ablation]) -> list[str]:
    """A row per variant: its speed in units of the level as it is, size by size, and what a profiler saw of it."""
    sizes = sorted({shape for a in found for shape in a.ratios})
    traffic = _traffic(found)
    heads = ["optimisation", "option", "expected", *map(size_text, sizes),
             *(f"{TRAFFIC[column][0]}, {size_text(shape)}" for column, shape in traffic), "reason"]
    rows = [[a.name, f"`{a.option}`" if a.option else "", a.expected, *(_speed(a, shape) for shape in sizes),
             *(_seen({r.shape: r for r in a.results}.get(shape), column) for column, shape in traffic), a.reason]
            for a in found]
    baselines = {shape: result for a in found for shape, result in a.baselines.items()}
    if traffic:
        rows.insert(0, [BASELINE, "", "", *("1" if shape in baselines else numbers.NOTHING for shape in sizes),
                        *(_seen(baselines.get(shape), column) for column, shape in traffic), ""])
    results = [r for a in found for r in a.results]
    conditions = numbers.conditions(results)
    notes = [f"{conditions}."] if conditions else []
    notes += table.interval_notes([r for r in results if numbers.interval(r, "ratio_level")])
    return [f"{names.title(found[0].level).capitalize()}, {found[0].series.title()}; "
            "speed in units of the level as it is, above 1 is faster"
            + ("; bytes and cycles of one product:" if traffic else ":") + "\n\n"
            + markdown.table(heads, rows, "lll" + "r" * (len(heads) - 4))
            + ("\n" + " ".join(notes) + "\n" if notes else "")]


# The steps to the production kernel: what each adds, and how it is built without the next ones; the last is all of it.
STAGES = [("1. D in the ring", "-DCLUSTER_CTAS=1"), ("2. and pairs", "-DCLUSTER_CTAS=2"),
          ("3. and clusters of four or eight", "")]


def capstone(context: Context, _: Options) -> str:
    """The stages of the production kernel, each beside the whole of it, and beside level 07."""
    name = names.PRODUCTION
    found = {a.option: a for a in context.ablations if a.level == name and a.series.kind == "measured"}
    variants = [found.get(option) for _, option in STAGES if option]
    if not all(variants):
        return NOT_MEASURED
    first = variants[0]
    assert first
    sizes = sorted(first.ratios)
    before = context.level(7)
    rows = [[names.title(before), "",
             *(_beside(context, before, name, first.series, shape) for shape in sizes),
             *(numbers.NOTHING for _ in sizes)]]
    for title, option in STAGES:
        results = {r.shape: r for r in found[option].results} if option else first.baselines
        speeds = [_speed(found[option], shape) for shape in sizes] if option else ["1"] * len(sizes)
        rows.append([title, f"`{option}`" if option else "the kernel as it is", *speeds,
                     *(_seen(results.get(shape), "l2_bytes") for shape in sizes)])
    heads = ["stage", "built with", *(f"speed, {size_text(shape)}" for shape in sizes),
             *(f"through L2, {size_text(shape)}" for shape in sizes)]
    conditions = numbers.conditions([r for a in variants if a for r in a.results])
    return (markdown.table(heads, rows, "ll" + "r" * (len(heads) - 2))
            + f"\n{first.series.title()}; speed in units of the kernel as it is. {conditions}. Level 07: "
              "the quotient of both kernels' ratios to cublasLt, each from a run of its own.\n")


def gain(context: Context, options: Options) -> str:
    """level=N size=EDGE: how much faster the level is than the one before it, on the measured GPU of record."""
    level, edge = take_level(context, options), int(options.pop("size", str(data.DEFAULT_EDGE)))
    before = context.level(names.number_of(level) - 1)
    speeds = {r.level: r.number("tflops") for r in data.of_record(context.results)
              if r.series.kind == "measured" and r.shape == cube(edge)}
    mine, theirs = speeds.get(level), speeds.get(before)
    if not mine or not theirs:
        raise ValueError(f"{names.short(level)} or the level before it has not been measured at {edge}")
    return f"{100 * (mine / theirs - 1):+.1f} %"


GROUPED = f"{lab.ABLATIONS}/grouped_order_sm90"  # of the levels before the order of tiles


def order(context: Context, _: Options) -> str:
    """What the order of tiles alone is worth to the levels before it: TFLOPS, and bytes from DRAM where counted."""
    found = [a for a in context.ablations if a.option == GROUPED]
    if not found:
        return NOT_MEASURED
    sizes = sorted({shape for a in found for shape in a.ratios})
    rows = []
    for a in found:
        grouped_at = {result.shape: result for result in a.results}
        cells = [names.head(a.level)]
        for shape in sizes:
            pair = [one.get(shape) for one in (a.baselines, grouped_at)]
            cells += [*(numbers.tflops_text(each) if each else numbers.NOTHING for each in pair), _speed(a, shape)]
        rows.append(cells + [_seen(one.get(sizes[-1]), "dram_bytes") for one in (a.baselines, grouped_at)])
    heads = ["level", *(f"{what}, {size_text(shape)}" for shape in sizes for what in ("row-major", "grouped", "ratio")),
             *(f"from DRAM, {what}" for what in ("row-major", "grouped"))]
    conditions = numbers.conditions([r for a in found for r in (*a.results, *a.baselines.values())])
    return (markdown.table(heads, rows, "l" + "r" * (len(heads) - 1))
            + f"\nTFLOPS, {found[0].series.title()}. *Ratio*: of both speeds beside cuBLAS, each in rounds of its own. "
              f"Bytes: at {size_text(sizes[-1])}. {conditions}.\n")


def _beside(context: Context, other: str, name: str, series: data.Series, shape: Shape) -> str:
    """How fast another kernel is, in units of this one."""
    ratios = {r.level: r.number("ratio_cublaslt") for r in context.results
              if r.series == series and r.shape == shape}
    theirs, ours = ratios.get(other), ratios.get(name)
    return f"{theirs / ours:.3f}" if theirs and ours else numbers.NOTHING


def _speed(ablation: Ablation, shape: Shape) -> str:
    """In units of the level's, with an interval if the two alternated."""
    if shape not in ablation.ratios:
        return numbers.NOTHING
    result = next(r for r in ablation.results if r.shape == shape)
    if numbers.interval(result, "ratio_level"):
        return numbers.interval_text(result, "ratio_level")
    return f"{ablation.ratios[shape]:.3f}"


def _traffic(found: list[Ablation]) -> list[tuple[str, Shape]]:
    """The columns that a profiler has filled, size by size."""
    results = [r for a in found for r in (*a.results, *a.baselines.values())]
    return [(column, shape) for column in TRAFFIC for shape in sorted({r.shape for r in results})
            if any(r.shape == shape and r.fields.get(column) for r in results)]


def _seen(result: Optional[data.Result], column: str) -> str:
    text = result.fields.get(column) if result else None
    return TRAFFIC[column][1](float(text)) if text else numbers.NOTHING
