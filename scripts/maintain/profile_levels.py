#!/usr/bin/env python3
"""Profiles levels on the GPU of this machine: Nsight Compute's counters for each of them, and a timeline
of level 06 from timers in its kernel. docs/profilers.md shows both.

Builds what is not up to date; then every level runs at every size under ncu, in a process of its own. A level that
fails leaves no rows; the others still run. Rows of the same GPU, level and size are replaced. Nothing about the GPU is
changed, and clocks are left alone. Takes a few minutes.

Exit codes: 0 all profiled; 1 something failed; 2 wrong command line, or not built; 77 no GPU that the levels run on.
"""
from __future__ import annotations

import argparse
from pathlib import Path

from ladder import command, files
from ladder.levels import names, shapes
from ladder.model import profiling
from ladder.results import measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--levels", default="1-99", metavar="LIST", help="e.g. 1-8 or 1,3-5 (default: all)")
    parser.add_argument("--sizes", default="4096,8192", metavar="LIST", help="for ncu (default: %(default)s)")
    parser.add_argument("--only", choices=("counters", "timers"), help="one of the two")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="of the counters; default: docs/results/GPU_profile.csv, e.g. h200_profile.csv")
    parser.add_argument("--timers", type=Path, metavar="FILE",
                        help="default: docs/results/GPU_timers_level06_sm90.json")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="also keep the timers' whole trace, for Perfetto")
    parser.add_argument("--no-build", action="store_true", help="take the executables as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    parser.add_argument("--simulate", action="store_true",
                        help="the timers on the simulated device, as a test of this command; needs --timers")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm("what was profiled so far is recorded")
    levels = names.choose_levels(options.levels, names.all_names())
    sizes = shapes.parse_sizes(options.sizes)
    for option, path in (("--output", options.output), ("--timers", options.timers), ("--trace", options.trace)):
        if path is not None:
            files.require_file_name(option, path)
    if options.simulate:
        if options.timers is None:
            raise command.UsageError("--simulate needs --timers: what is simulated is not recorded among results.")
        profiling.record_timers(options.build, None, options.timers, options.trace)
        return command.EXIT_RIGHT
    gpu = measure.find_gpu()
    levels = [level for level in levels if names.has_kernel(level, gpu.arch)]
    if not options.no_build:
        measure.build(names.target(level, gpu.arch) for level in levels)
    run = profiling.Profile(options.build, gpu, options.output or measure.output_beside(gpu, "profile.csv"))
    if options.only != "timers":
        profiling.count_all(run, levels, sizes)
    if options.only != "counters":
        path = options.timers or measure.output_beside(gpu, f"timers_{profiling.TIMED}.json")
        profiling.try_timers(run, path, options.trace)
    return profiling.summarise(run)


if __name__ == "__main__":
    command.run(main)
