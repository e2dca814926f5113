"""The steps that lead from one level's kernel to the next one's, and what each brings."""
from __future__ import annotations

import re

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names, patches
from ladder.levels.patches import Step
from ladder.pages.blocks.options import Options, take_level
from ladder.results import data

MODELLED, MEASURED = "modelled_steps.csv", "h100_steps.csv"


def of_level(context: Context, options: Options) -> str:
    """level=N: a table for each architecture."""
    level = take_level(context, options)
    parts = [_table(context, found) for arch in names.ARCH_NAMES
             if (found := patches.series(level, arch, context.root))]
    if not parts:
        return "No steps lead to this level.\n"
    number = names.number_of(level)
    return "\n".join([*parts, f"`scripts/steps.py show {number}.2` prints a step, `run {number}.2` runs its kernel; "
                      f"`scripts/grade.py --start {number}.2 mine` makes it a task.\nHopper's take `--arch sm90`.\n"])


def brings(context: Context, one: Step) -> list[tuple[str, str]]:
    """What a step's figures are, and the figures."""
    found = [_rows(context, file, (one,)) for file in (MODELLED, MEASURED)]
    return [(heading(rows), gains(rows, one)) for rows in found if rows]


def _table(context: Context, series: tuple[Step, ...]) -> str:
    found = [(file, rows) for file in (MODELLED, MEASURED) if (rows := _rows(context, file, series))]
    head = [names.ARCH_NAMES[series[0].arch], "why", *(heading(rows) for _, rows in found)]
    lines = [[f"[{one.title}]({context.link(one.path.relative_to(context.root))}) {one.words}", one.question,
              *(gains(rows, one) for _, rows in found)] for one in series]
    return markdown.table(head, lines)


def _rows(context: Context, file: str, series: tuple[Step, ...]) -> list[data.Fields]:
    path = context.root / RESULTS / file
    level, arch = series[0].level, str(series[0].arch)
    return [row for row in (data.read_rows(path)[1] if path.exists() else [])
            if (row["level"], row["arch"]) == (level, arch)]


def heading(rows: list[data.Fields]) -> str:
    gpu = re.search(r"[A-Z]+\d+", rows[0]["gpu"].upper())
    return f"times as fast, at {' and '.join(_edges(rows))} ({rows[0]['kind']}, {gpu[0] if gpu else rows[0]['gpu']})"


def _edges(rows: list[data.Fields]) -> list[str]:
    return sorted({row["m"] for row in rows}, key=int)


def gains(rows: list[data.Fields], one: Step) -> str:
    """Against the kernel before; the first step only renames, and is what the second is compared with. Measured are
    configurations of one program."""
    speed = {((row.get("step") or row["config"]).partition("-")[0], row["m"]): float(row["tflops"])
             for row in reversed(rows)}
    before = f"{names.number_of(one.level)}.{one.number - 1}"
    return ", ".join(f"{speed[one.title, edge] / speed[before, edge]:.2f}"
                     if {(one.title, edge), (before, edge)} <= set(speed) else "-" for edge in _edges(rows))
