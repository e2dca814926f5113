"""The blocks of the Markdown files: a function each, from what is recorded and the block's options to Markdown.

Each takes its options out of the dictionary; options that nobody took are an error. Raises ValueError for options that
make no sense, with the beginning of a sentence.
"""
from __future__ import annotations

from typing import Callable

from ladder.context import Context
from ladder.pages.blocks import (
    attempts,
    breaking,
    counted,
    figures,
    footprint,
    images,
    instructions,
    kernels,
    modelled,
    on_hardware,
    profiled,
    published,
    sweeps,
    synchronisation,
)
from ladder.pages.blocks.options import Options

BLOCKS: dict[str, Callable[[Context, Options], str]] = {
    "progression": figures.progression, "level": figures.level, "bursts": figures.bursts,
    "shapes": figures.at_shapes, "choices": figures.choices, "random": figures.at_random,
    "ablations": figures.ablations, "capstone": figures.capstone, "shape": kernels.shape,
    "barriers": kernels.barriers, "budget": kernels.budget, "roles": kernels.roles, "changes": kernels.changes,
    "instructions": instructions.of_level, "ptx_map": instructions.ptx_map, "counters": counted.counters,
    "labs": breaking.of_level, "tuning": attempts.log, "tuning_lessons": attempts.lessons, "picture": images.picture,
    "timeline": images.timeline, "chart": images.chart, "published": published.of_topic,
    "profile": profiled.counters, "timers": profiled.timers, "footprint": footprint.of_project,
    "pytorch": profiled.pytorch,
    "needed": synchronisation.table, "score": synchronisation.score, "weakened": synchronisation.weakened,
    "model_constants": modelled.constants, "modelled": modelled.beside_measured,
    "modelled_cycles": modelled.cycles_and_bytes, "modelled_blackwell": modelled.blackwell,
    "modelled_h100": modelled.other_hopper, "modelled_ablations": modelled.changes, "limits": modelled.limits,
    "modelled_shapes": modelled.shapes, "modelled_public": modelled.public, "modelled_tuner": modelled.tuner,
    "modelled_orders": modelled.orders, "modelled_choice": modelled.tiles,
    "without": on_hardware.without, "sanitizer": on_hardware.sanitizer, **sweeps.BLOCKS,
}
