#!/usr/bin/env python3
"""Measures, on the GPU of this machine, what the timing model predicts. It records the cycles of each level at each
size, when its CTAs begin, load and finish tiles, how far they drift apart, and the mean clock, under load and in a
burst on a cool chip.

--waits records instead how long each role waits at each line of its kernel: clocks are read in the PTX wrappers that
wait, in a build of its own.

Builds each level once more, with a kernel that records the time (an asynchronous store per K block), and once as it is,
to see what recording costs; where there is Nsight Compute, counts the bytes that come from DRAM. Nothing about
the GPU is changed. Takes about four minutes. Rows of the same GPU, level and size are replaced, all others are kept.

Exit codes: 0 all measured; 1 a level failed; 2 wrong command line, or not built; 77 no GPU that the kernels run on.
"""
from __future__ import annotations

import argparse
from pathlib import Path

from ladder import command, files
from ladder.levels import names, shapes
from ladder.model import ground_truth
from ladder.results import measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--levels", default="1-8", metavar="LIST", help="default: %(default)s")
    parser.add_argument("--sizes", default=ground_truth.SIZES, metavar="LIST", help="default: %(default)s")
    parser.add_argument("--waits", action="store_true", help="how long warps wait, and where")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/GPU_cycles.csv, e.g. h200_cycles.csv; with --waits GPU_waits.csv")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm("what was measured so far is recorded")
    levels = names.choose_levels(options.levels, names.all_names())
    sizes = shapes.parse_sizes(options.sizes)
    gpu = measure.find_gpu()
    levels = [level for level in levels if names.has_kernel(level, gpu.arch)]
    if not levels:
        raise command.UsageError(f"--levels {options.levels}: there is no kernel for sm{gpu.arch}.")
    output = options.output or measure.output_beside(gpu, "waits.csv" if options.waits else "cycles.csv")
    columns = ground_truth.WAITS_COLUMNS if options.waits else ground_truth.COLUMNS
    measure.check_columns(output, columns, "cycles.py")
    run = ground_truth.Recording(options.build, gpu.arch, output, sizes, options.waits)
    if not options.no_build:
        noting = run.waits_program if options.waits else run.program
        measure.build(path.name for level in levels for path in (noting(level), run.plain_program(level)))
    return ground_truth.perform(run, levels)


if __name__ == "__main__":
    command.run(main)
