"""Which PTX instruction is taught where."""
from __future__ import annotations

from pathlib import Path
from typing import Optional

from ladder import markdown
from ladder.context import Context
from ladder.levels import instructions, names
from ladder.levels.instructions import Wrapper
from ladder.levels.names import ARCH_NAMES
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results.numbers import NOTHING

MOST = 20  # rows of a level's page
PTX_MAP = Path("docs/ptx_map.md")


def of_level(context: Context, options: Options) -> str:
    """level=N: the wrappers that this level is the first to call on an architecture."""
    level = take_level(context, options)
    archs = take_archs(options, list(ARCH_NAMES))
    rows = []
    for wrapper, first in context.introductions.items():
        new = [ARCH_NAMES[arch] for arch in archs if first.get(arch) == level]
        if new:
            rows.append([_link(context, wrapper), f"`{wrapper.ptx}`", " and ".join(new)])
    if len(rows) > MOST:
        return f"{len(rows)} PTX wrappers: the [PTX map]({context.link(PTX_MAP)}) lists them with their level.\n"
    none = [f"New on {ARCH_NAMES[arch]}: none.\n" for arch in archs
            if not any(ARCH_NAMES[arch] in row[2] for row in rows)]
    return "\n".join([*([markdown.table(["wrapper", "PTX", "new on"], rows)] if rows else []), *none])


def ptx_map(context: Context, _: Options) -> str:
    """Every instruction, its wrapper, and the level that introduces it: a table per family."""
    heads = ["instruction", "wrapper", *ARCH_NAMES.values(), "PTX ISA", "since"]
    parts = []
    for file, title in instructions.families(context.root).items():
        members = [w for w in context.introductions if w.header == (instructions.FOLDER / file).as_posix()]
        if members:
            rows = [_row(context, w, context.introductions[w]) for w in members]
            parts.append(f"### {title[0].upper()}{title[1:]}\n\n{markdown.table(heads, rows)}")
    return "\n".join(parts)


def _row(context: Context, wrapper: Wrapper, first: dict[int, str]) -> list[str]:
    section = f"{wrapper.section} {wrapper.instruction}" if wrapper.section else NOTHING
    since = ", ".join(text for text in (f"PTX {wrapper.since}" if wrapper.since else "", wrapper.target) if text)
    levels = [_level(context, first.get(arch), arch) for arch in ARCH_NAMES]
    return [f"`{wrapper.ptx}`", _link(context, wrapper), *levels, section, since or NOTHING]


def _link(context: Context, wrapper: Wrapper) -> str:
    """Its name, leading to its source."""
    return f"[`{wrapper.name}`]({context.link(Path(wrapper.header))}#L{wrapper.line})"


def _level(context: Context, level: Optional[str], arch: int) -> str:
    if not level:
        return NOTHING
    return f"[{names.number_of(level):02}]({context.link(names.kernel_path(Path(), level, arch))})"
