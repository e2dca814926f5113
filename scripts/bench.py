#!/usr/bin/env python3
"""Measures levels on the GPU of this machine, beside cuBLAS, and records the results.

Builds what is not up to date; then every level runs at every size in a process of its own, which verifies, times the
level and cuBLAS alternately and verifies again. A level that is wrong, crashes or hangs is reported and leaves no row;
the others are still measured. Rows of the same GPU, level, architecture and size are replaced, all others are kept; the
file is complete at any moment, so an interrupted run loses nothing. All rows of one run carry the same date and commit.

--shapes measures the production kernel alone, at further sizes and shapes or at --sizes, each in two ways: with calls
that follow one another at once, and with an event between them.

--random measures the production kernel alone, at shapes that are drawn at random, for which it was not tuned. They are
the same for the same --seed.

--tiles measures every configuration of the production kernel, in the same rounds, at the shapes of
docs/results/*_choice.csv or at --sizes, to judge the kernel's own choice among them.

--ablations measures each level that has ablations (scripts/labs.py lists them), and each of these, one after the other
at each size; --levels and --sizes choose some. The worth of an ablation is the quotient of the two ratios to
cuBLAS.

--steps measures the kernels after each step between two levels (scripts/steps.py lists them), those of one level in the
same rounds.

Where a GPU is available for some minutes only, --limit ends the run by itself, with every size measured for its share
of them. --resume measures what an earlier run of the same commit has left out. Sizes are taken in the order given.

Exit codes: 0 all measured; 1 a level failed; 2 wrong command line, or not built; 77 no GPU that the levels run on.
"""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ladder import command, files
from ladder.levels import lab, names, patches, shapes
from ladder.results import ablations, choice, data, measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--levels", metavar="LIST",
                        help="e.g. 1-8, or 1,3-5,production (default: all; with --shapes, --random or --tiles "
                             "production)")
    parser.add_argument("--sizes", metavar="LIST",
                        help=f"cubes and MxNxK (default: {','.join(map(str, data.HEADLINE_EDGES))})")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--shapes", action="store_true",
                      help=f"{len(data.SHAPES)} sizes and shapes, or --sizes, with --apart, in a file of their own")
    what.add_argument("--random", type=command.whole_number, metavar="N",
                      help="N shapes drawn at random, in a file of their own")
    what.add_argument("--tiles", action="store_true",
                      help="all configurations in the same rounds, in a file of their own")
    what.add_argument("--ablations", action="store_true",
                      help=f"levels with each of their ablations (default sizes: "
                           f"{','.join(map(str, ablations.EDGES))}), in a file of their own")
    what.add_argument("--steps", action="store_true",
                      help=f"the kernels after each step to these levels (default sizes: "
                           f"{','.join(map(str, ablations.EDGES))}), in a file of their own")
    parser.add_argument("--seed", type=int, default=1, help="of --random (default: %(default)s)")
    parser.add_argument("--rounds", type=command.whole_number, default=10, metavar="R",
                        help="of timing (default: %(default)s)")
    parser.add_argument("--budget", type=command.seconds, metavar="S",
                        help="seconds of timing per size (default: the level's; with --limit, what there is)")
    parser.add_argument("--limit", type=command.seconds, metavar="S",
                        help="seconds for the whole run, divided among the sizes")
    parser.add_argument("--resume", action="store_true", help="leave out what is recorded for this commit")
    parser.add_argument("--burst", action="store_true", help="also time short bursts on a cool chip")
    parser.add_argument("--apart", action="store_true", help="also time calls with an event between them")
    parser.add_argument("--timeout", type=command.seconds, default=300, metavar="S",
                        help="seconds after which a level counts as hung (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/GPU.csv, e.g. h200.csv; with --shapes GPU_shapes.csv, with "
                             "--random GPU_random.csv, with --tiles GPU_choice.csv, with --ablations "
                             "GPU_ablations.csv, with --steps GPU_steps.csv")
    parser.add_argument("--digests", type=Path, metavar="FILE",
                        help="also record hashes of D, for comparison with the simulated device")
    parser.add_argument("--digest-sizes", default=measure.DIGEST_SIZES, metavar="LIST", help="default: %(default)s")
    parser.add_argument("--no-build", action="store_true", help="take the executables as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm("what was measured so far is recorded")
    what = next((name for name in ("shapes", "random", "tiles", "ablations", "steps") if getattr(options, name)), "")
    if options.digests and what in ("tiles", "ablations", "steps"):
        raise command.UsageError(f"--{what} is a measurement of its own, without --digests.")
    if options.random and options.sizes:
        raise command.UsageError("--random draws the shapes itself, without --sizes.")
    production = what in ("shapes", "random", "tiles")
    chosen = options.levels or (names.PRODUCTION if production else ",".join(names.all_names()))
    levels = names.choose_levels(chosen, names.all_names())
    headline = [shapes.cube(edge) for edge in data.HEADLINE_EDGES]
    timed = (shapes.parse_sizes(options.sizes) if options.sizes else
             list(data.SHAPES) if options.shapes else choice.shapes() if options.tiles else
             shapes.random_shapes(options.random, options.seed) if options.random else
             [shapes.cube(edge) for edge in ablations.EDGES] if options.ablations or options.steps else headline)
    hashed = shapes.parse_sizes(options.digest_sizes)
    gpu = measure.find_gpu()
    levels = [level for level in levels if names.has_kernel(level, gpu.arch)]
    if options.steps:
        levels = [level for level in levels if names.number_of(level) > 1]
    if not levels:
        raise command.UsageError(f"--levels {chosen}: there is no kernel for sm{gpu.arch}.")
    settings = measure.Settings(options.build, options.rounds, options.budget, options.burst,
                                options.apart or options.shapes, options.timeout,
                                options.tiles or options.steps, options.ablations, options.steps)
    output = options.output or (measure.output_beside(gpu, f"{'choice' if options.tiles else what}.csv") if what else
                                measure.default_output(gpu))
    measurement = measure.Measurement(settings, gpu, output, options.digests)
    if not measurement.commit:
        print("The commit of these sources is unknown here: LADDER_COMMIT can say it.", file=sys.stderr)
    measure.check_outputs(measurement.output, options.digests)
    tasks = (measure.ablation_tasks(levels, gpu.arch, timed) if options.ablations else
             measure.make_tasks(levels, timed, hashed if options.digests else []))
    if options.resume:
        if not measurement.commit:
            raise command.UsageError("--resume has to know the commit: LADDER_COMMIT can say it.")
        tasks = [task for task in tasks if not measure.is_recorded(measurement, task)]
    if not options.no_build:
        measure.build(names.target(level, gpu.arch) for level in levels)
        lab.build_ablations(list({task.ablation.path: task.ablation for task in tasks if task.ablation}.values()),
                            lab.Build(options.build.resolve()), os.cpu_count() or 1)
        if options.steps:
            patches.build(levels, gpu.arch, lab.Build(options.build.resolve()))
    measure.perform(measurement, tasks, options.limit)
    code = measure.summarise(measurement, tasks)
    if options.tiles and measurement.output.exists():
        choice.refresh(measurement.output, lambda level, arch: names.executable(level, arch, options.build))
    if options.shapes:
        measure.print_shapes(measurement, levels)
    elif not what:
        measure.print_table(measurement, tasks)
    return code


if __name__ == "__main__":
    command.run(main)
