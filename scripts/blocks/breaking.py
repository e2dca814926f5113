"""The break-it labs of a level: what there is to break, and the question that goes with it."""
from __future__ import annotations

import kernels
import labs
from blocks.options import Options, table, take_level
from recorded import Context


def of_level(context: Context, options: Options) -> str:
    """level=N: a row for each of its labs."""
    level = take_level(context, options)
    try:
        found = [labs.parse_lab(path) for path in sorted((context.root / level / "labs").glob("*.patch"))]
    except labs.LabError as error:
        raise ValueError(str(error)) from None
    if not found:
        return "This level has no labs.\n"
    rows = [[f"[`{lab.name}`]({context.link(lab.path.relative_to(context.root))})", kernels.ARCH_NAMES[lab.arch],
             lab.question] for lab in sorted(found, key=lambda lab: (-lab.arch, lab.name))]
    return table(["lab", "kernel", "question"], rows)
