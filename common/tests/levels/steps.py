#!/usr/bin/env python3
"""Runs the kernels between two levels, as each step leaves them, on the simulated device: all in one program, and each
run takes all of them. What the last steps leave are the levels' own kernels, which suite.py runs.

    steps.py --arch sm100 [--all]

Without --all a spread of the kernels runs two shapes in two schedules, and one under the order checker; with it all of
them run in the shapes, schedules and sizes of GPU that levels are run in.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder import files
from ladder.levels import lab, names, patches
from ladder.levels.shapes import Shape, shape_text
from ladder.levels.suites import BUSY, MANY_TILES, SHAPES

# Several tiles for each CTA, ragged in every direction; rings wrap around.
FEW: list[Shape] = [(300, 264, 264), (648, 392, 136)]
ORDER = ["--check", *lab.OPTIONS["check"][1:]]  # as labs are checked
Run = tuple[list[str], list[Shape]]


def few_runs() -> Iterator[Run]:
    yield ["--sms", "4"], FEW
    yield ["--sms", "4", "--latest"], FEW
    yield ["--sms", "2", *ORDER], FEW[:1]


def all_runs() -> Iterator[Run]:
    yield from few_runs()
    yield [], SHAPES
    for schedule in (["--latest"], *(["--seed", str(seed)] for seed in range(1, 9))):
        yield schedule, BUSY
    for sms in ("2", "4", "5", "6"):
        for schedule in ([], ["--latest"], ["--seed", sms]):
            yield ["--sms", sms, *schedule], MANY_TILES
    for shape in (*BUSY, MANY_TILES[1]):
        yield ["--sms", "2", *ORDER], [shape]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", type=names.parse_arch, required=True)
    parser.add_argument("--build", type=Path, default=files.BUILD)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    chosen = [one for one in patches.all_steps([options.arch]) if not patches.last(one)]
    if not options.all:  # every second of those that are more than renamed
        chosen = [one for one in chosen if one.number > 1][::2]
    failed = 0
    with lab.scratch() as folder:
        program = patches.compile_together(chosen, lab.Build(options.build), folder)
        for sim, shapes in all_runs() if options.all else few_runs():
            command = [str(files.SCRIPTS / "sim.sh"), "--arith", "fast", *sim, str(program), "--config", "all",
                       "--init", "int", "--sizes", ",".join(map(shape_text, shapes))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            ended = {line.split()[0] for line in done.stdout.splitlines() if " right: " in line}
            said = [line for line in done.stderr.splitlines() if line.startswith("sim: ") and "Simulated" not in line]
            missing = [one.title for one in chosen if not any(name.partition("-")[0] == one.title for name in ended)]
            if done.returncode != 0 or said or missing:
                failed += 1
                print(f"{' '.join(command)}\n  exit code {done.returncode}, not right: {', '.join(missing) or 'none'}\n"
                      f"{done.stdout}{done.stderr}")
    print(f"{len(chosen)} kernels: {failed or 'no'} runs failed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
