#!/usr/bin/env python3
"""Tunes a kernel: compiles every point of a parameter space, verifies it, times it beside cuBLAS, records the result.

    autotune.py --kernel sgemm              the whole sweep on a GPU, its CSV file and its heat-maps
    autotune.py --kernel sgemm --quick      a handful of points; without a GPU on the simulated device, without speeds
    autotune.py --kernel production --arch 100 --simulate     is every configuration right?
    autotune.py --kernel production --arch 100 --modelled     ranks them without a GPU, by the timing model

Points that cannot exist are dropped before anything is compiled, and recorded with the reason; so is what does not
compile, is wrong, crashes or hangs. The CSV file is complete at any moment: whatever ends the program, the same command
goes on where it stopped. What was measured stays as long as the kernel's sources are the same.

--shard K/N tries one part of the points, and records it in a file of its own in build/autotune/, or in one --output
that all parts share on one machine. When merge.py has made one file of theirs where the whole sweep's is, the same
command without --shard finds the points done: it times the best, and draws.

Exit codes: 0 done; 1 a variant is wrong, crashes or hangs; 2 wrong command line, an error in a space, or a full disk;
77 no GPU; 130 interrupted.
"""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from ladder import command, shards
from ladder.levels import names
from ladder.model import modelled
from ladder.tune import space, tuning


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--kernel", required=True, metavar="sgemm|production", help="which kernel")
    parser.add_argument("--arch", default="90", help="90 (Hopper, the default) or 100 (Blackwell)")
    parser.add_argument("--space", action="append", metavar="NAME|FILE",
                        help="of spaces/ or a file; may be repeated (default: all of this kernel)")
    parser.add_argument("--point", action="append", default=[], metavar="'a=1 b=2'", help="this point only; repeatable")
    parser.add_argument("--sizes", metavar="LIST", help="cubes and MxNxK")
    parser.add_argument("--best", type=int, default=5, metavar="N",
                        help="then time so many of the best, and all named points, for longer (default: %(default)s)")
    parser.add_argument("--best-sizes", metavar="LIST", help="at these sizes")
    parser.add_argument("--gpus", metavar="LIST", help="by number, e.g. 0,1: they share the work (default: 0)")
    parser.add_argument("--quick", action="store_true", help="a handful of points, on whatever there is")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--simulate", action="store_true", help="verify on the simulated device; no speeds")
    how.add_argument("--modelled", action="store_true",
                     help="rank the points by what the timing model predicts; nothing is computed or verified")
    parser.add_argument("--budget", type=command.seconds, default=0.15, metavar="S",
                        help="of timing per point and size; the best get four times as much (default: %(default)s)")
    parser.add_argument("--timeout", type=command.seconds, default=30, metavar="S",
                        help="after which a variant counts as hung (default: %(default)s)")
    parser.add_argument("--jobs", type=command.whole_number, default=os.cpu_count() or 1, metavar="N",
                        help="compilations at a time (default: %(default)s)")
    parser.add_argument("--smem-limit", type=command.whole_number, default=space.SMEM_LIMIT, metavar="BYTES",
                        help=f"per CTA (default: %(default)s; {space.STATIC_SMEM} without asking for more)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: docs/results/GPU_autotune_KERNEL.csv")
    parser.add_argument("--charts", type=Path, metavar="FOLDER", help="default: docs/charts")
    parser.add_argument("--no-charts", action="store_true", help="draw nothing")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    shards.add_argument(parser)
    parser.add_argument("--list", action="store_true", help="print the points, and why some are dropped; do nothing")
    return parser.parse_args()


def request_of(options: argparse.Namespace) -> tuning.Request:
    kernel = space.find_kernel(options.kernel, names.parse_arch(options.arch))
    return tuning.Request(
        kernel, options.space or (), options.point,
        tuning.sizes_of(options.sizes, kernel) if options.sizes else None, options.best,
        tuning.sizes_of(options.best_sizes, kernel) if options.best_sizes else None, options.gpus, options.quick,
        options.simulate, options.budget, options.timeout, options.jobs, options.smem_limit, options.output,
        options.charts, not options.no_charts, options.fresh, options.shard)


def main() -> int:
    options = parse()
    command.heed_sigterm()
    request = request_of(options)
    if options.list:
        tuning.print_candidates(request.kernel, request.shard.of(tuning.find_candidates(request)))
        return 0
    return modelled.rank(request) if options.modelled else tuning.tune(request)


if __name__ == "__main__":
    command.run(main)
