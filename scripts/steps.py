#!/usr/bin/env python3
"""The way from one level's kernel to the next one's, in steps of a few lines: each leaves a kernel that is right, and
has one reason.

  steps.py [6] [--arch sm90]   lists the steps of all levels, or of one
  steps.py show 6.2            prints what the step changes, why, and what should be seen
  steps.py run 6.2             builds the kernel as it is after the step, runs it in all schedules and under the order
                               checker, and says whether what should be seen is there
  steps.py --check [6.2 ...]   runs all steps, or these
  steps.py sgemm               lists those from SGEMM's kernel 9 to the speed of cuBLAS; show sgemm.3 prints one.
                               scripts/autotune/autotune.py --kernel sgemm_ladder runs them

How they are written: scripts/ladder/levels/patches.py. `grade.py --start 6.2 FOLDER` begins a step as a task.
"""
from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from ladder import command, files
from ladder.levels import compare, names, patches, runner
from ladder.levels.lab import Build
from ladder.levels.patches import Step
from ladder.tune import sgemm

EPILOG = """Exit codes: 0 shown, or all as predicted; 1 something else happened; 2 wrong command line; 4 a step does not
apply, or the levels are not built; 77 no GPU for it."""

SGEMM = "sgemm"


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__, epilog=EPILOG)
    parser.add_argument("words", nargs="*", metavar="[show|run] STEP", help="a level such as 6, or a step such as 6.2")
    parser.add_argument("--arch", type=names.parse_arch, metavar="sm90|sm100",
                        help="default: sm100; of the list and of --check both")
    parser.add_argument("--check", nargs="*", metavar="STEP", help="run all steps, or these")
    parser.add_argument("--device", choices=["sim", "gpu"], default="sim", help="where to run a step (default: sim)")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    parser.add_argument("--jobs", type=command.whole_number, default=os.cpu_count() or 1, metavar="N",
                        help="steps that --check runs at a time (default: one per processor)")
    return parser.parse_args()


def list_steps(found: Sequence[Step | sgemm.Step]) -> int:
    width = max((len(one.words) for one in found), default=0)
    longest = max((len(one.title) for one in found), default=0)
    for one in found:
        print(f"{one.title:<{longest}}  sm{one.arch:<4} {one.words:<{width}}  {one.question}")
    return command.EXIT_RIGHT


def show(one: Step | sgemm.Step) -> None:
    print(f"Step {one.title}, {names.ARCH_NAMES[one.arch]}: {one.words}\n")
    print(runner.paragraph("Why", one.question) + "\n")
    print(compare.text_page(one.comparison, compare.wants_colour()))


def main() -> int:
    options = parse()
    build = Build(options.build.resolve())
    arches = [options.arch] if options.arch else list(names.ARCH_NAMES)
    arch = options.arch or compare.DEFAULT_ARCH
    if options.check is not None:
        if options.words or options.device == "gpu":
            raise command.UsageError("--check runs on the simulated device, and takes steps such as 6.2.")
        chosen = [patches.find_step(text, arch) for text in options.check] or patches.all_steps(arches)
        return runner.check(chosen, build, options.jobs, "steps")
    if options.words[:1] in (["show"], ["run"]):
        if len(options.words) != 2:
            raise command.UsageError(f"{options.words[0]} needs one step, such as 6.2 (scripts/steps.py lists them).")
        if options.words[1].startswith(SGEMM):
            if options.words[0] == "run":
                raise command.UsageError("scripts/autotune/autotune.py --kernel sgemm_ladder runs SGEMM's steps.")
            shown = sgemm.find_step(options.words[1])
            show(shown)
            print(runner.paragraph("Seen", shown.expect))
            return command.EXIT_RIGHT
        one = patches.find_step(options.words[1], arch)
        if options.words[0] == "run":
            build.tools()  # if there are none, that comes first
        show(one)
        if options.words[0] == "run":
            return runner.run(one, build, options.device)
        print(runner.paragraph("Seen", one.expect))
        return command.EXIT_RIGHT
    if len(options.words) > 1:
        raise command.UsageError("the list takes one level; show and run take a step, such as 6.2.")
    if options.words == [SGEMM]:
        return list_steps(sgemm.series())
    levels = [names.find_level(text, names.all_levels()) for text in options.words] or names.all_levels()
    return list_steps([one for level in levels for each in arches for one in patches.series(level, each)])


if __name__ == "__main__":
    command.run(main)
