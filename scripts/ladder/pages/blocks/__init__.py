"""The blocks of the Markdown files: a function each, from what is recorded and the block's options to Markdown.

Each takes its options out of the dictionary; options that are left over are an error. Raises ValueError for options
that make no sense, with the beginning of a sentence.
"""
from __future__ import annotations

from typing import Callable

from ladder.context import Context
from ladder.pages.blocks import (
    accounts,
    breaking,
    contact,
    counted,
    figures,
    images,
    instructions,
    kernels,
    machines,
    on_hardware,
    profiled,
    reference,
    rows,
    stepwise,
    sweeps,
    synchronisation,
)
from ladder.pages.blocks.options import Options

BLOCKS: dict[str, Callable[[Context, Options], str]] = {
    "account": accounts.block, "contact": contact.block, "table": rows.table,
    "progression": figures.progression, "level": figures.level,
    "ablations": figures.ablations, "order": figures.order, "profile": profiled.of_level,
    "capstone": figures.capstone, "shape": kernels.shape, "barriers": kernels.barriers, "budget": kernels.budget,
    "roles": kernels.roles, "changes": kernels.changes, "instructions": instructions.of_level,
    "ptx_map": instructions.ptx_map, "counters": counted.counters, "limits": counted.limits,
    "reference": reference.of_level, "labs": breaking.of_level, "steps": stepwise.of_level,
    "picture": images.picture,
    "timeline": images.timeline, "chart": images.chart,
    "needed": synchronisation.table,
    "without": on_hardware.without, **sweeps.BLOCKS, **machines.BLOCKS,
}

# Within a line of prose: one figure each.
INLINE: dict[str, Callable[[Context, Options], str]] = {"figure": rows.figure, "gain": figures.gain}
