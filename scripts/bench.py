#!/usr/bin/env python3
"""Measures levels on the GPU of this machine, beside cuBLAS, and records the results.

Builds what is not up to date; then every level runs at every size in a process of its own, which verifies, times the
level and cuBLAS in turns and verifies again. A level that is wrong, crashes or hangs is said to be so and leaves no
row; the rest goes on. Rows of the same GPU, level, architecture and size are replaced, all others are kept; the file is
complete at any moment, so an interrupted run loses nothing. All rows of one run carry the same date and commit.

Exit codes: 0 all measured; 1 a level failed; 2 wrong command line, or not built; 77 no GPU that the levels run on.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ladder import command, files
from ladder.levels import names, shapes
from ladder.results import data, measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--levels", default="1-99", metavar="LIST", help="e.g. 1-8 or 1,3-5 (default: all)")
    parser.add_argument("--sizes", default=",".join(map(str, data.HEADLINE_EDGES)), metavar="LIST",
                        help="cubes and MxNxK (default: %(default)s)")
    parser.add_argument("--rounds", type=command.whole_number, default=10, metavar="R",
                        help="of timing (default: %(default)s)")
    parser.add_argument("--budget", type=command.seconds, metavar="S",
                        help="seconds of timing per size (default: the level's)")
    parser.add_argument("--burst", action="store_true", help="also time short bursts on a cool chip")
    parser.add_argument("--timeout", type=command.seconds, default=300, metavar="S",
                        help="seconds after which a level counts as hung (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: docs/results/GPU.csv, e.g. h200.csv")
    parser.add_argument("--digests", type=Path, metavar="FILE",
                        help="also record hashes of D, for comparison with the simulated device")
    parser.add_argument("--digest-sizes", default=measure.DIGEST_SIZES, metavar="LIST", help="default: %(default)s")
    parser.add_argument("--no-build", action="store_true", help="take the executables as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm()
    levels = names.choose_levels(options.levels, names.all_levels())
    timed, hashed = shapes.parse_sizes(options.sizes), shapes.parse_sizes(options.digest_sizes)
    gpu = measure.find_gpu()
    levels = [level for level in levels if names.has_kernel(level, gpu.arch)]
    if not levels:
        raise command.UsageError(f"--levels {options.levels}: there is no kernel for sm{gpu.arch}.")
    tasks = measure.make_tasks(levels, timed, hashed if options.digests else [])
    settings = measure.Settings(options.build, options.rounds, options.budget, options.burst, options.timeout)
    measurement = measure.Measurement(settings, gpu, options.output or measure.default_output(gpu), options.digests)
    if not measurement.commit:
        print("The commit of these sources is unknown here: LADDER_COMMIT can say it.", file=sys.stderr)
    measure.check_outputs(measurement.output, options.digests)
    if not options.no_build:
        measure.build(levels, gpu.arch)
    try:
        measure.perform(measurement, tasks)
    except KeyboardInterrupt:
        print("\nInterrupted; what was measured so far is recorded.", file=sys.stderr)
        return command.EXIT_INTERRUPTED
    code = measure.summarise(measurement, tasks)
    measure.print_table(measurement, tasks)
    return code


if __name__ == "__main__":
    command.run(main)
