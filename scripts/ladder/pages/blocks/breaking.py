"""The break-it labs of a level: what there is to break, and the question that goes with it."""
from __future__ import annotations

from ladder import markdown
from ladder.context import Context
from ladder.levels import lab, names
from ladder.pages.blocks.options import Options, take_level


def of_level(context: Context, options: Options) -> str:
    """level=N: a row for each of its labs."""
    level = take_level(context, options)
    found = [lab.parse_lab(path) for path in sorted((context.root / level / "labs").glob("*.patch"))]
    if not found:
        return "This level has no labs.\n"
    rows = [[f"[`{one.name}`]({context.link(one.path.relative_to(context.root))})", names.ARCH_NAMES[one.arch],
             one.question] for one in sorted(found, key=lambda one: (-one.arch, one.name))]
    return markdown.table(["lab", "kernel", "question"], rows)
