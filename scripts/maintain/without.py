#!/usr/bin/env python3
"""Counts on the GPU of this machine how often a kernel is wrong without one of its fences, barriers and waits.

Of every level, each fence, __syncwarp, barrier and wait whose removal cannot hang the GPU is removed in turn, one at a
time. Every launch finds D poisoned and is compared on the GPU, bit for bit, with the exact product of whole numbers.
First it is checked that a kernel which stores nothing is found wrong, and an unchanged one right. Then
compute-sanitizer's racecheck and synccheck are asked about the same kernels at a small size.

Rows of the same GPU, level and configuration are replaced, all others are kept; the files are complete at any moment.

Exit codes: 0 all counted; 1 an unchanged kernel is wrong, or a kernel left no rows; 2 wrong command line, not built,
or changed PTX does not run; 77 no GPU that the kernels run on.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from ladder import command, files
from ladder.levels import names, shapes
from ladder.mutants import hardware
from ladder.results import measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--levels", default="1-8", metavar="LIST", help="default: %(default)s")
    parser.add_argument("--sizes", metavar="LIST",
                        help=f"cubes and MxNxK (default: {hardware.SIZES.count(',') + 1}, large, flat and ragged)")
    parser.add_argument("--launches", type=command.whole_number, default=hardware.LAUNCHES, metavar="N",
                        help="of each kernel at each size (default: %(default)s)")
    parser.add_argument("--tools", type=command.seconds, metavar="S", default=100.0,
                        help="start no compute-sanitizer run after this time (default: %(default)g)")
    parser.add_argument("--no-tools", action="store_true", help="do not run compute-sanitizer")
    parser.add_argument("--jobs", type=command.whole_number, default=2, metavar="N",
                        help="kernels at a time, which alternate on the GPU (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/GPU_without.csv, e.g. h200_without.csv; what the tools say stands "
                             "beside it, in GPU_without_tools.csv")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    parser.add_argument("--simulate", type=command.whole_number, default=0, metavar="SMS",
                        help="on the simulated H200 with so many SMs, one launch at a small size: a test of this; "
                             "needs --output")
    parser.add_argument("--sites", type=command.whole_number, default=0, metavar="N",
                        help="only the first N sites of each kernel")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm()
    levels = names.choose_levels(options.levels, names.all_names())
    if options.simulate:
        if options.output is None:
            raise command.UsageError("--simulate needs --output: what is simulated is not recorded among results.")
        arch, output = 90, options.output
    else:
        gpu = measure.find_gpu()
        arch, output = gpu.arch, options.output or measure.output_beside(gpu, "without.csv")
    levels = [level for level in levels if names.has_kernel(level, arch)]
    if not levels:
        raise command.UsageError(f"--levels {options.levels}: there is no kernel for sm{arch}.")
    tool_output = output.with_name(f"{output.stem}_tools.csv")
    measure.check_columns(output, hardware.COLUMNS, "without.py")
    measure.check_columns(tool_output, hardware.TOOL_COLUMNS, "without.py")
    sizes = shapes.parse_sizes(options.sizes or (hardware.QUICK_SIZES if options.simulate else hardware.SIZES))
    experiment = hardware.Experiment(
        options.build, arch, output, tool_output, sizes, 1 if options.simulate else options.launches, options.simulate,
        options.jobs, options.sites)
    if not options.no_build:
        targets = [experiment.program(level).name for level in levels]
        if subprocess.run([files.SCRIPTS / "build.sh", *targets], check=False).returncode != 0:
            raise command.Failure("the levels could not be built.")
    try:
        return hardware.perform(experiment, levels, 0 if options.no_tools else options.tools)
    except KeyboardInterrupt:
        print("\nInterrupted; what was counted so far is recorded.", file=sys.stderr)
        return command.EXIT_INTERRUPTED


if __name__ == "__main__":
    command.run(main)
