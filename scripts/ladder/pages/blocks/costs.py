"""What an operation costs on the simulated device: read out of the descriptions of its GPUs."""
from __future__ import annotations

import re

from ladder import markdown
from ladder.context import Context
from ladder.pages.blocks.options import Options
from ladder.results.numbers import grouped

HEADER, SOURCE = "common/sim/machine/gpu.h", "common/sim/machine/gpu.cpp"
COST = re.compile(r"^  int (\w+) = ([\d']+);\s*///< (.+)$", re.MULTILINE)
OTHER = re.compile(r"gpu\.costs\.(\w+) = ([\d']+);")


def of_device(context: Context, _: Options) -> str:
    """All costs, for both GPUs."""
    header = (context.root / HEADER).read_text(encoding="utf-8")
    source = (context.root / SOURCE).read_text(encoding="utf-8")
    costs = COST.findall(header.partition("struct Costs {")[2].partition("};")[0])
    hopper = dict(OTHER.findall(source.partition("Gpu h200()")[2]))
    if not costs or not set(hopper) <= {name for name, _, _ in costs}:
        raise ValueError(f"the costs in {HEADER} and {SOURCE} cannot be read")
    rows = [[f"`{name}`", comment, *(grouped(int(value.replace("'", ""))) for value in (b200, hopper.get(name, b200)))]
            for name, b200, comment in costs]
    heads = ["cost", "of what", "B200", "H200"]
    return markdown.table(heads, rows, "llrr") + "\nModelled, in cycles of an SM's clock.\n"
