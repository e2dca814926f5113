#!/usr/bin/env python3
"""Installs what is missing, builds, runs the levels on the best device there is and prints the
progression table. On a GPU of compute capability 9.0 (H100, H200) or 10.0 (B200, GB200) the levels are verified and
timed; without one they are verified on the simulated device."""
# The second half of scripts/run.sh, which sets up and builds first: what it is called with comes here.
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Optional

from ladder import command, files
from ladder.levels import names, shapes
from ladder.results import this_run
from ladder.results.measure import Settings

EPILOG = "Exit codes: 0 all right; 1 a level is not; 2 wrong command line; 4 to 8 as scripts/build.sh."


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__, prog="scripts/run.sh", epilog=EPILOG)
    parser.add_argument("--levels", default="1-99", metavar="LIST", help="e.g. 1-8 or 1,3-5 (default: all)")
    parser.add_argument("--arch", metavar="sm90|sm100",
                        help="Hopper's or Blackwell's kernels only (default: the GPU's; both when simulated)")
    parser.add_argument("--size", metavar="N", help=f"M = N = K (default: {this_run.GPU_EDGE} on a GPU, "
                                                    f"{this_run.SIMULATED_EDGE} on the simulated device)")
    parser.add_argument("--sim", action="store_true", help="the simulated device even if there is a GPU")
    parser.add_argument("--rounds", type=command.whole_number, default=10, metavar="R",
                        help="of timing (default: %(default)s)")
    parser.add_argument("--timeout", type=command.whole_number, default=600, metavar="S",
                        help="seconds after which a level counts as hung (default: %(default)s)")
    # For run.sh: what to build before this is run in earnest.
    parser.add_argument("--targets", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, default=files.BUILD, help=argparse.SUPPRESS)
    return parser.parse_args()


def edge_of(text: str) -> int:
    m, n, k = shapes.parse_size(text)
    if not m == n == k:
        raise command.UsageError(f"--size needs one edge, M = N = K, and '{text}' is three.")
    return m


def main() -> int:
    command.program = "run.sh"
    options = parse()
    command.heed_sigterm()
    levels = names.choose_levels(options.levels, names.all_names())
    arch: Optional[int] = names.parse_arch(options.arch) if options.arch is not None else None
    edge = edge_of(options.size) if options.size is not None else None
    plan = this_run.make_plan(levels, arch, edge, options.sim)
    if options.targets:
        print("\n".join(this_run.targets(plan)))
        return 0
    return this_run.run(plan, Settings(options.build, options.rounds, timeout_s=options.timeout))


if __name__ == "__main__":
    command.run(main)
