#!/usr/bin/env python3
"""Measures the constants of the timing model on the GPU of this machine: micro-benchmarks of the memory system, the
tensor core, stores, barriers, launches and power. No level runs: the model is not fitted to what it predicts.

Builds the programs of scripts/maintain/calibrate/ if they are not up to date, runs each experiment in a process of its
own and records what it says. Nothing about the GPU is changed. Takes a few minutes; an experiment that fails or hangs
is reported and leaves no rows, the others still run. Rows of the same GPU and experiment are replaced, all others are
kept.

Exit codes: 0 all measured; 1 an experiment failed; 2 wrong command line, or not built; 77 no GPU that the kernels run
on.
"""
from __future__ import annotations

import argparse
from pathlib import Path

from ladder import command, files
from ladder.model import calibration
from ladder.results import measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--experiments", default=",".join(calibration.EXPERIMENTS), metavar="LIST",
                        help="default: %(default)s")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/GPU_calibration.csv, e.g. h200_calibration.csv")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    parser.add_argument("--simulate", type=command.whole_number, default=0, metavar="SMS",
                        help="a short run on the simulated H200 with so many SMs, as a test of this command and of the "
                             "model; needs --output")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm("what was measured so far is recorded")
    experiments = calibration.choose_experiments(options.experiments)
    arch, output = measure.device_and_output(options.simulate, options.output, "calibration.csv")
    measure.check_columns(output, calibration.COLUMNS, "calibrate.py")
    run = calibration.Calibration(options.build, arch, output, options.simulate)
    if not options.no_build:
        measure.build([run.program.name], "micro-benchmarks")
    return calibration.perform(run, experiments)


if __name__ == "__main__":
    command.run(main)
