"""What a reader of a level looks up: everything that is generated and not on the way through the page, folded."""
from __future__ import annotations

from pathlib import Path

from ladder.context import Context
from ladder.draw import gallery
from ladder.levels import names
from ladder.pages.blocks import counted, figures, images, instructions, kernels, synchronisation
from ladder.pages.blocks.options import Options, take_level


def of_level(context: Context, options: Options) -> str:
    """level=N: shape, roles, barriers, memory; new instructions, counters, limits; what was tried; every site."""
    level = take_level(context, options)

    def each(*blocks: object) -> str:
        return "\n".join(block(context, {"level": level}) for block in blocks if callable(block))

    maps = [f"{names.short(level)}_smem_sm{arch}" for arch in names.ARCH_NAMES]
    pictures = [images.picture(context, {"name": name}) for name in maps if gallery.draw(context, name)]
    memory = each(kernels.shape, kernels.roles, kernels.barriers, *([] if pictures else [kernels.budget]))
    parts = [_folded("Shape, roles, barriers, memory", "\n".join([memory, *pictures])),
             _folded("New instructions, counters, limits in the timing model",
                     each(instructions.of_level, counted.counters, counted.limits))]
    page = Path(level) / "ablations" / "README.md"
    if (context.root / page).exists():
        parts.append(f"[What was tried, and its worth]({context.link(page)}).\n")
    elif (tried := each(figures.ablations)) != figures.NOT_MEASURED:
        parts.append(_folded("What was tried", tried))
    return "\n".join([*parts, each(synchronisation.table)])


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n</details>\n"
