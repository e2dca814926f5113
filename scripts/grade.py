#!/usr/bin/env python3
"""Grades a kernel of your own in the place of a level's: it runs on the simulated device, and each of the level's
claims gets a line that says whether it holds.

    grade.py --start 6 mine              begins the task of level 06 in the folder `mine`: the kernel of level 05, to be
                                         changed, and what to do
    grade.py 6 mine/kernel_sm100.cuh     grades it
    grade.py --start 6.2 mine            the same for a step of a few lines (scripts/steps.py lists them): the kernel
    grade.py 6.2 mine/kernel_sm100.cuh   after step 6.1, and what step 6.2 promises, with a hint where it fails
    grade.py 6 FILE.cuh --arch sm90 --json
    grade.py 6 FILE.cuh --keep program   and keeps its program, for sim.sh and explore.py

Claims: it compiles, without spills; D is right for all shapes, inputs and ragged edges, in all schedules, on small
GPUs; and what the level is about, from counters and timelines. A claim that fails is followed by a page to read.

Exit codes: 0 all claims hold; 1 one does not; 2 wrong command line, or a file without a kernel; 4 the levels are not
built.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from pathlib import Path

from ladder import command, files
from ladder.grader import start
from ladder.grader.verdicts import Answer, Verdict, grade
from ladder.levels import names, patches
from ladder.levels.lab import Build

MARKS = {True: "holds", False: "FAILS", None: "-"}
MOST_LINES = 12  # of what the compiler says


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("level", nargs="?", metavar="LEVEL", help="6, 06, level06, or a step: 6.2")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE.cuh", help="the kernel")
    parser.add_argument("--start", nargs=2, metavar=("LEVEL", "FOLDER"), help="begin a task there")
    parser.add_argument("--arch", default="sm100", metavar="sm90|sm100", help="default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="PROGRAM", help="keep the program that is built, under this name")
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    options = parser.parse_args()
    if (options.level is not None) if options.start else (options.file is None):
        raise command.UsageError("name a level and a file, or --start LEVEL FOLDER (scripts/grade.py --help).")
    return options


def text_of(verdict: Verdict) -> str:
    lines = [f"{MARKS[verdict.holds]:<6} {verdict.sentence}"]
    said = verdict.found.splitlines() or [""]
    if len(said) == 1:
        lines[0] += f": {said[0]}" if said[0] else ""
    elif not verdict.holds:
        lines += said[:MOST_LINES]
        lines += [f"... and {len(said) - MOST_LINES} lines more"] * (len(said) > MOST_LINES)
    if verdict.holds is False:
        lines += [f"       read: {verdict.read}"] * bool(verdict.read)
        lines += [f"       again: {verdict.repeat}"] * bool(verdict.repeat)
        lines += textwrap.wrap(verdict.hint, 120, initial_indent="       hint: ", subsequent_indent="       ")
    return "\n".join([*textwrap.wrap(lines[0], 120, subsequent_indent="       "), *lines[1:]])


def grade_file(options: argparse.Namespace, arch: int) -> int:
    step = patches.find_step(options.level, arch) if "." in options.level else None
    level = step.level if step else names.find_level(options.level, names.all_levels())
    if not options.file.is_file():
        raise command.UsageError(f"there is no file {options.file}.")
    if options.keep is not None:
        files.require_file_name("--keep", options.keep)
    answer = Answer(options.file, level, arch, options.keep, step=step)
    for verdict in grade(answer, Build(files.BUILD)):
        if not options.json:
            print(text_of(verdict), flush=True)
    held = sum(verdict.holds is True for verdict in answer.verdicts)
    if options.json:
        print(json.dumps({"level": level, "arch": arch, "file": str(options.file), "passed": answer.passed,
                          "claims": [dataclasses.asdict(verdict) for verdict in answer.verdicts]}, indent=1))
    else:
        print(f"{options.file}: {held} of {len(answer.verdicts)} claims hold.")
    return command.EXIT_RIGHT if answer.passed else command.EXIT_WRONG


def main() -> int:
    options = parse()
    arch = names.parse_arch(options.arch)
    if options.start:
        what, folder = options.start[0], Path(options.start[1])
        for path in (start.begin_step(patches.find_step(what, arch), folder) if "." in what else
                     start.begin(names.find_level(what, names.all_levels()), arch, folder)):
            print(path)
        return command.EXIT_RIGHT
    return grade_file(options, arch)


if __name__ == "__main__":
    command.run(main)
