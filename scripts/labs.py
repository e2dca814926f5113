#!/usr/bin/env python3
"""Labs and ablations: small patches that change a level's kernel, each with a question and a prediction. A lab breaks
the kernel. An ablation takes one idea out of it, or tries one more: D stays right, and the question is what it is
worth.

  labs.py                      lists the labs, then the ablations
  labs.py run level01 NAME     applies the patch to a copy, compiles it, runs it and shows the outcome beside the
                               prediction; LEVEL may also be written 1
  labs.py build [LEVEL]        compiles the ablations for a GPU, into build/ablations/
  labs.py --check [LAB...]     runs all labs, or those named like level01/NAME, in every schedule and with --check, and
                               reports which prediction fails; with --spread only a few of every kind

How they are written: scripts/ladder/levels/lab.py. bench.py --ablations measures the speed-up of ablations.
"""
from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from ladder import command, files
from ladder.levels import lab, names, runner
from ladder.levels.lab import Build, Lab

EPILOG = """Exit codes: 0 all as predicted; 1 something else happened; 2 wrong command line; 4 the lab does not apply or
the level is not built; 77 no GPU for it."""


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__, prog="scripts/labs.py", epilog=EPILOG)
    parser.add_argument("action", nargs="?", choices=["list", "run", "build"], default="list",
                        help="list (default), run or build")
    parser.add_argument("level", nargs="?", metavar="LEVEL", help="e.g. level01 or 1")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a lab's name, or its beginning")
    parser.add_argument("--arch", type=names.parse_arch, metavar="sm90|sm100", help="of list and build (default: both)")
    parser.add_argument("--check", nargs="*", metavar="LAB", help="run all labs, or these, and compare")
    parser.add_argument("--spread", action="store_true",
                        help="with --check: only a few labs, of each level, architecture and outcome")
    parser.add_argument("--device", choices=["sim", "gpu"], default="sim", help="where to run a lab (default: sim)")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    parser.add_argument("--jobs", type=command.whole_number, default=os.cpu_count() or 1, metavar="N",
                        help="labs that --check runs at a time (default: one per processor)")
    return parser.parse_args()


# --- what is printed --------------------------------------------------------------------------------------------------


def print_question(chosen: Lab) -> None:
    """The question, and the change."""
    print(f"{chosen.title}, {names.ARCH_NAMES[chosen.arch]}\n")
    print(runner.paragraph("Question", chosen.question))
    changed = [line for line in lab.patch_of(chosen.path).splitlines()
               if line[:1] in ("+", "-") and not line.startswith(("+++", "---"))]
    print(f"\nThe change in {', '.join(chosen.files) or 'the options of the compiler'}")
    print("\n".join(f"  {line}" for line in [*chosen.definitions, *changed]) + "\n")


# --- what is done -----------------------------------------------------------------------------------------------------


def list_labs(labs: Sequence[Lab]) -> int:
    width = max(len(one.title) for one in labs)
    for one in labs:
        print(f"{one.title:<{width}}  sm{one.arch:<4} {one.question}")
    return 0


def chosen_level(labs: Sequence[Lab], text: str) -> list[Lab]:
    """Those of a level. Raises UsageError."""
    level = names.find_level(text, names.all_levels())
    found = [one for one in labs if one.level == level]
    if not found:
        raise command.UsageError(f"There are no labs of level {names.number_of(level)}.")
    return found


def main() -> int:
    options = parse()
    build = Build(options.build.resolve())
    labs = lab.all_labs()
    if options.check is not None:
        if options.level or options.device == "gpu":
            raise command.UsageError("--check runs on the simulated device, and takes labs such as level01/NAME.")
        chosen = [lab.find_lab(labs, *(text.partition("/")[::2])) for text in options.check]
        chosen = chosen or labs
        return runner.check(lab.spread(chosen) if options.spread else chosen, build, options.jobs)
    if options.action == "run":
        if not options.name:
            raise command.UsageError("run needs a level and the name of a lab: labs.py run level01 NAME "
                                     "(scripts/labs.py lists them).")
        chosen_lab = lab.find_lab(labs, options.level, options.name)
        build.tools()  # if there are none, that comes first
        print_question(chosen_lab)
        return runner.run(chosen_lab, build, options.device)
    if options.name:
        raise command.UsageError(f"{options.action} takes a level only; run takes the name of a lab too.")
    if options.level:
        labs = chosen_level(labs, options.level)
    labs = [one for one in labs if options.arch in (None, one.arch)]
    if options.action == "build":
        lab.build_ablations([one for one in labs if one.is_ablation], build, options.jobs)
        return 0
    return list_labs(labs)


if __name__ == "__main__":
    command.run(main)
