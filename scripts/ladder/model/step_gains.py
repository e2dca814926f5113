"""What each step between two levels is worth in the timing model."""
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ladder.files import RESULTS
from ladder.levels import lab, patches, simulated
from ladder.levels.patches import Step
from ladder.model.predictions import Point, ask, text_of
from ladder.results.data import Fields

RECORD = RESULTS / "modelled_steps.csv"
COLUMNS = ("level", "arch", "step", "m", "n", "k", "tflops", "cycles", "us", "sm_mhz", "tensor_share", "limit", "kind",
           "gpu")
GPUS = ("b200", "h100")
EDGES = ("4096", "8192")


def predict(levels: Sequence[str], build: Path) -> Iterator[Fields]:
    """A row for the kernel after each step to these levels, at each edge. Raises Failure."""
    with lab.scratch() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for gpu in GPUS:
            chosen = [one for one in patches.all_steps([simulated.KNOWN[gpu].arch]) if one.level in levels]
            # Its machine code tells how many CTAs fit an SM.
            program = patches.compile_together(chosen, lab.Build(build), folder / gpu, real=True)

            def row(one: Step, edge: str, gpu: str = gpu, program: Path = program) -> Fields:
                point = Point(one.level, gpu, edge, patches.config_of(one))
                found = ask(program, point.arguments, gpu, build=build)[0][-1]
                return {"level": one.level, "arch": str(one.arch), "step": one.title, "m": edge, "n": edge, "k": edge,
                        **{name: text_of(found[name]) for name in ("tflops", "cycles", "us", "tensor_share", "limit")},
                        "sm_mhz": text_of(found["mhz"]), "kind": "modelled", "gpu": gpu}

            yield from pool.map(row, *zip(*((one, edge) for edge in EDGES for one in chosen)))
