"""The blocks of the Markdown files: a function each, from what is recorded and the block's options to Markdown.

Each takes its options out of the dictionary; options that nobody took are an error. Raises ValueError for options that
make no sense, with the beginning of a sentence.
"""
from __future__ import annotations

from typing import Callable

from blocks import autotune, breaking, costs, figures, images, kernel, observed, tuning
from recorded import Context

Options = dict[str, str]

BLOCKS: dict[str, Callable[[Context, Options], str]] = {
    "progression": figures.progression, "level": figures.level, "bursts": figures.bursts,
    "ablations": figures.ablations, "shape": kernel.shape, "barriers": kernel.barriers, "budget": kernel.budget,
    "roles": kernel.roles, "instructions": kernel.instructions, "ptx_map": kernel.ptx_map, "changes": kernel.changes,
    "counters": observed.counters, "labs": breaking.of_level, "sim_costs": costs.of_device, "tuning": tuning.log,
    "picture": images.picture, "timeline": images.timeline, "chart": images.chart,
    **autotune.BLOCKS,
}
