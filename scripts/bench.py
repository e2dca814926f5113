#!/usr/bin/env python3
"""Measures levels on the GPU of this machine, beside cuBLAS, and records the results.

Builds what is not up to date; then every level runs at every size in a process of its own, which verifies, times the
level and cuBLAS in turns and verifies again. A level that is wrong, crashes or hangs is said to be so and leaves no
row; the rest goes on. Rows of the same GPU, level, architecture and size are replaced, all others are kept; the file is
complete at any moment, so an interrupted run loses nothing. All rows of one run carry the same date and commit.

With --shapes it is level 08 alone, at the sizes and shapes that a library has to be good at too, each in two ways: with
calls that follow one another at once, and with an event between them.

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
    parser.add_argument("--levels", metavar="LIST", help="e.g. 1-8 or 1,3-5 (default: all; with --shapes 8)")
    parser.add_argument("--sizes", metavar="LIST",
                        help=f"cubes and MxNxK (default: {','.join(map(str, data.HEADLINE_EDGES))})")
    parser.add_argument("--shapes", action="store_true",
                        help=f"{len(data.SHAPES)} sizes and shapes instead, with --apart, in a file of their own")
    parser.add_argument("--rounds", type=command.whole_number, default=10, metavar="R",
                        help="of timing (default: %(default)s)")
    parser.add_argument("--budget", type=command.seconds, metavar="S",
                        help="seconds of timing per size (default: the level's)")
    parser.add_argument("--burst", action="store_true", help="also time short bursts on a cool chip")
    parser.add_argument("--apart", action="store_true", help="also time calls with an event between them")
    parser.add_argument("--timeout", type=command.seconds, default=300, metavar="S",
                        help="seconds after which a level counts as hung (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/GPU.csv, e.g. h200.csv; with --shapes GPU_shapes.csv")
    parser.add_argument("--digests", type=Path, metavar="FILE",
                        help="also record hashes of D, for comparison with the simulated device")
    parser.add_argument("--digest-sizes", default=measure.DIGEST_SIZES, metavar="LIST", help="default: %(default)s")
    parser.add_argument("--no-build", action="store_true", help="take the executables as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm()
    if options.shapes and options.sizes:
        raise command.UsageError("--shapes and --sizes both say what is measured.")
    chosen = options.levels or ("8" if options.shapes else "1-99")
    levels = names.choose_levels(chosen, names.all_levels())
    headline = [shapes.cube(edge) for edge in data.HEADLINE_EDGES]
    timed = (shapes.parse_sizes(options.sizes) if options.sizes else
             list(data.SHAPES) if options.shapes else headline)
    hashed = shapes.parse_sizes(options.digest_sizes)
    gpu = measure.find_gpu()
    levels = [level for level in levels if names.has_kernel(level, gpu.arch)]
    if not levels:
        raise command.UsageError(f"--levels {chosen}: there is no kernel for sm{gpu.arch}.")
    tasks = measure.make_tasks(levels, timed, hashed if options.digests else [])
    settings = measure.Settings(options.build, options.rounds, options.budget, options.burst,
                                options.apart or options.shapes, options.timeout)
    output = measure.shapes_output(gpu) if options.shapes else measure.default_output(gpu)
    measurement = measure.Measurement(settings, gpu, options.output or output, options.digests)
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
    if options.shapes:
        measure.print_shapes(measurement, levels)
    else:
        measure.print_table(measurement, tasks)
    return code


if __name__ == "__main__":
    command.run(main)
