"""What was measured and reported: the ladder, a level, the ablations."""
from __future__ import annotations

import ladder
import tables
from blocks.options import Options, table
from recorded import RESULTS, Context


def progression(context: Context, options: Options) -> str:
    """size=EDGE arch=sm90|sm100: the whole ladder at one size, every series in columns of its own."""
    edge = int(options.pop("size", str(tables.DEFAULT_EDGE)))
    archs = [ladder.parse_arch(options.pop("arch"))] if "arch" in options else ladder.ARCHES
    return context.markdown(tables.progression(context.results, context.levels(), edge, archs=archs))


def level(context: Context, options: Options) -> str:
    """level=N: one level at all sizes."""
    text = options.pop("level", "")
    named = [name for name in context.levels() if str(ladder.level_number(name)) == text]
    if not named:
        raise ValueError("level=N must name a level")
    return context.markdown(tables.by_size(context.results, named[0]))


def ablations(context: Context, _: Options) -> str:
    """What was tried beyond the levels, and what came of it: reported on GB200, and measured."""
    reported = context.root / RESULTS / tables.REPORTED_ABLATIONS
    kinds = {(row["kind"], row["gpu"]) for row in tables.read_rows(reported)[1]}
    titles = ", ".join(f"{kind}: {gpu}" for kind, gpu in sorted(kinds))
    parts = [tables.table_from_file(reported, ("optimisation", "expected", "observed", "reason")) + f"\n{titles}.\n"]
    series = {(a.level, a.series): None for a in context.ablations}
    return "\n".join(parts + [_measured(context, *key) for key in series])


def _measured(context: Context, level_name: str, series: tables.Series) -> str:
    """A row per variant; a column per size with the speed in units of the level as it is."""
    found = [a for a in context.ablations if (a.level, a.series) == (level_name, series)]
    shapes = sorted({shape for a in found for shape in a.ratios})
    heads = ["optimisation", "option", "expected", *map(ladder.size_text, shapes), "reason"]
    rows = [[a.name, f"`{a.option}`" if a.option else "", a.expected,
             *(f"{a.ratios[shape]:.3f}" if shape in a.ratios else tables.NOTHING for shape in shapes), a.reason]
            for a in found]
    conditions = tables.conditions([r for a in found for r in a.results])
    return (f"Level {ladder.level_number(level_name):02}, {series.title()}; "
            "speed in units of the level as it is, above 1 is faster:\n\n"
            + table(heads, rows, "lll" + "r" * len(shapes)) + (f"\n{conditions}.\n" if conditions else ""))
