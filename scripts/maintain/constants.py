#!/usr/bin/env python3
"""Derives the timing model's measured constants of a GPU from what scripts/maintain/calibrate.py has recorded of it,
and writes them into its file in
common/sim/machine/gpus, or to --output. Constants that are reported, fitted or assumed stay.

    scripts/maintain/constants.py                   of the H200, anew
    scripts/maintain/constants.py --check           changes nothing; prints what would change
    scripts/maintain/constants.py --gpu b200 --calibration docs/results/b200_calibration.csv

Exit codes: 0 written, or nothing would change; 1 something would; 2 wrong command line, or a measurement is missing.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command, files
from ladder.levels import simulated
from ladder.model import calibration, derivation
from ladder.results import data


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("--gpu", choices=sorted(simulated.KNOWN), default="h200", help="default: %(default)s")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="default: docs/results/GPU_calibration.csv")
    parser.add_argument("--experiments", default=",".join(calibration.EXPERIMENTS), metavar="LIST",
                        help="of calibrate.py, whose constants are derived (default: all)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: common/sim/machine/gpus/GPU.csv")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if anything would")
    options = parser.parse_args()
    recorded = options.calibration or files.ROOT / files.RESULTS / f"{options.gpu}_calibration.csv"
    if not recorded.exists():
        raise command.UsageError(f"there is no {recorded}: scripts/maintain/calibrate.py makes one, on that GPU.")
    constants = simulated.path_of(options.gpu)
    before = constants.read_text(encoding="utf-8")
    try:
        text = data.csv_text(derivation.COLUMNS, derivation.derived(data.read_rows(constants)[1],
                                                               data.read_rows(recorded)[1],
                                                               calibration.choose_experiments(options.experiments)))
    except KeyError as missing:
        raise command.UsageError(f"{recorded} has no row for {missing}.") from None
    if options.check:
        if text != before:
            command.give_up(1, f"{constants} is not what {recorded} says: run scripts/maintain/constants.py")
        return 0
    files.replace(options.output or constants, text)
    return 0


if __name__ == "__main__":
    command.run(main)
