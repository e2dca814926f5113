"""What each fence, wait, arrival and barrier of a kernel is for: what the simulated device says without it, and what an
H200 did."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names
from ladder.levels.names import ARCH_NAMES
from ladder.mutants import judge, study
from ladder.mutants.sites import key_of
from ladder.pages.blocks.on_hardware import measured_on, places_of, read
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results.data import Fields
from ladder.results.numbers import NOTHING

NEEDED = RESULTS / "needed.csv"


def table(context: Context, options: Options) -> str:
    """level=N [arch=sm90]: every site of the level's kernels, what it orders, and what is found without it."""
    level = take_level(context, options)
    parts = []
    for arch in take_archs(options, list(ARCH_NAMES)):
        rows = [row for row in read(context, NEEDED) if (row["level"], row["arch"]) == (level, str(arch))]
        if not rows:
            raise ValueError(f"{level} is not in docs/results/needed.csv for sm{arch}: run python3 scripts/needed.py")
        rows = [row for row in rows if not study.is_half(row)]
        configs = list(dict.fromkeys(row["config"] for row in rows))
        for config in configs:
            title = f"{ARCH_NAMES[arch]}{f', `{config}`' if len(configs) > 1 else ''}"
            parts.append(_folded(f"{title}: every fence, wait, arrival and barrier, and what happens without it",
                                 _sites(context, level, arch, [row for row in rows if row["config"] == config])))
    return "\n".join(parts)


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary.replace('`', '')}</summary>\n\n{content}\n</details>\n"


def _sites(context: Context, level: str, arch: int, rows: Sequence[Fields]) -> str:
    measured, places = measured_on(context), places_of(read(context, NEEDED))
    kernel = context.link(names.kernel_path(Path(), level, arch))
    hopper = any(place[:2] == (level, str(arch)) for place in measured)
    lines = []
    for row in rows:
        found = measured.get(places[key_of(row)])
        cells = [f"[{row['line']}]({kernel}#L{row['line']})", f"`{row['instruction']}`", *_outcome(row)]
        lines.append([*cells, found.word if found else NOTHING] if hopper else cells)
    heads = ["line", "instruction", "orders", "without it", *(["wrong on an H200"] if hopper else [])]
    return markdown.table(heads, lines, "r")


def _outcome(row: Fields) -> tuple[str, str]:
    """What is ordered, and what happens without it."""
    if row["found_by"] == judge.FAULT:
        return NOTHING, f"{judge.FAULT}: {row['orders'].partition(': ')[0]}"
    required = row["verdict"].startswith(study.REQUIRED)
    return row["orders"] or NOTHING, row["found_by"] if required else row["verdict"]


# --- the score --------------------------------------------------------------------------------------------------------

KINDS = (judge.RACE, judge.CONVERGED, judge.HABIT, judge.DEADLOCK, judge.FAULT, judge.WRONG)


def score(context: Context, options: Options) -> str:
    """How many mutants of all kernels are reported, and by what, by kind of instruction."""
    del options
    rows = read(context, NEEDED)
    if not rows:
        raise ValueError("there is no docs/results/needed.csv: run python3 scripts/needed.py")
    by_kind: dict[str, list[Fields]] = {}
    for row in rows:
        by_kind.setdefault(row["instruction"], []).append(row)
    lines = [_counts(f"`{kind}`", some) for kind, some in sorted(by_kind.items())]
    lines.append([f"**{cell}**" for cell in _counts("together", rows)])
    heads = ["without", "made", "race", "convergence", "habit", "deadlock", "fault", "wrong D", "redundant, proven",
             "not about order", "open"]
    asked = [row for row in rows if row["named"]]
    leading = sum(row["named"] == "yes" for row in asked)
    kernels = len({(row["level"], row["arch"]) for row in rows})
    return (markdown.table(heads, lines, "l" + "r" * 10)
            + f"\n{len(rows)} mutants of {kernels} kernels. Of {len(asked)} reports about order {leading} name the "
              "kind of instruction that is missing, and its line, or one next to which no other of its kind stands.\n")


def _counts(title: str, rows: Sequence[Fields]) -> list[str]:
    required = [row for row in rows if row["verdict"].startswith(study.REQUIRED)]
    kinds = Counter(row["found_by"].partition(" (")[0] for row in required)
    words = Counter(row["verdict"].partition(":")[0] for row in rows if row not in required)
    unknown = words[study.UNPROVEN] + words[study.NOT_EXECUTED]
    return [title, *map(str, [len(rows), *(kinds[kind] for kind in KINDS), words[study.REDUNDANT], words[study.OTHER],
                              unknown])]
