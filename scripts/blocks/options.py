"""Options that several blocks have, and tables of text."""
from __future__ import annotations

from typing import Optional, Sequence

import kernels
import ladder
from recorded import Context

Options = dict[str, str]


def take_level(context: Context, options: Options) -> str:
    """level=N: its name."""
    text = options.pop("level", "")
    if not text.isdigit():
        raise ValueError("level=N must name a level")
    return context.level(int(text))


def take_archs(options: Options, default: Optional[Sequence[int]] = None) -> Sequence[int]:
    """arch=sm90|sm100; without it the default."""
    if "arch" in options:
        return [ladder.parse_arch(options.pop("arch"))]
    if default is None:
        raise ValueError("arch=sm90 or arch=sm100 is needed")
    return default


def cell(text: object) -> str:
    return str(text).replace("|", r"\|")


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], aligned: str = "") -> str:
    """Markdown. `aligned` has a letter per column: l (the default) or r."""
    marks = {"l": "---", "r": "--:"}
    aligned = aligned.ljust(len(heads), "l")
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join(marks[a] for a in aligned) + "|"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def arch_title(arch: int) -> str:
    return f"{kernels.ARCH_NAMES[arch]} (sm{arch})"


def number(value: int) -> str:
    return f"{value:,}"
