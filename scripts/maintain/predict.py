#!/usr/bin/env python3
"""Predicts how long levels take on a GPU, without having one: cycles, clock, watts, TFLOPS, bytes from L2 and
DRAM, and what limits them. The simulated device's timing model does it (docs/model.md says how good it is).

    predict.py --levels 5-8 --sizes 4096,8192
    predict.py --gpu b200 --sizes 8192 --csv modelled.csv
    predict.py --record            docs/results/modelled.csv: the ladder, on all GPUs; modelled_account.csv: where
                                   their tensor cores' time goes
    predict.py --check             predicts a few points again, and compares them with what is recorded
    predict.py --others            docs/results/modelled_others.csv: other shapes and sizes, and others' kernels
    predict.py --steps             docs/results/modelled_steps.csv: the kernels between two levels, after each step
    predict.py --ablations         docs/results/modelled_ablations.csv: what each change to a level is worth
    predict.py --profile           docs/results/modelled_profile.csv: what Nsight Compute counted, at its clocks

The same sources give the same figures, to the last digit, on every machine.

Exit codes: 0 predicted; 1 a level cannot be predicted, or is not as recorded; 2 wrong command line, or not built.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command, files
from ladder.levels import names, simulated
from ladder.model import ablations, account, predictions, step_gains
from ladder.results import data


def check(build: Path) -> int:
    rows, failures = predictions.predict(predictions.CHECKED, build, print)
    recorded = predictions.by_point(data.read_rows(files.ROOT / predictions.RECORD)[1])
    for row, _ in rows:
        for name, value in recorded[row["level"], row["gpu"], row["m"]].items():
            if row[name] != value:
                failures.append(f"{row['level']} {row['m']} on {row['gpu']}: {name} is {row[name]}, and was {value}")
    if failures:
        command.give_up(1, "\n".join([*failures, "If that is meant: scripts/maintain/predict.py --record"]))
    return 0


def record_ablations(build: Path, only: str) -> int:
    """Of the levels named in `only`, with the others' rows kept."""
    levels = names.choose_levels(only, names.all_names())
    path = files.ROOT / ablations.RECORD
    before = data.read_rows(path)[1] if path.exists() else []
    wanted = ablations.changes(data.read_rows(files.ROOT / ablations.MEASURED)[1])
    fresh = ablations.predict([each for each in wanted if each[0].level in levels], build, print)
    rows = sorted([row for row in before if row["level"] not in levels] + fresh, key=lambda row: row["level"])
    files.replace(path, data.csv_text(ablations.COLUMNS, rows))
    return 0


def record_steps(build: Path, only: str) -> int:
    """Of the levels named in `only`, with the others' rows kept."""
    levels = names.choose_levels(only, names.all_names())
    path = files.ROOT / step_gains.RECORD
    rows = [row for row in (data.read_rows(path)[1] if path.exists() else []) if row["level"] not in levels]
    for row in step_gains.predict(levels, build):
        print(f"{row['gpu']} {row['step']} at {row['m']}: {row['tflops']} TFLOPS", flush=True)
        rows.append(row)
    rows.sort(key=lambda row: (row["gpu"], int(row["m"]), row["step"]))
    files.replace(path, data.csv_text(step_gains.COLUMNS, rows))
    return 0


def record_profiled(build: Path, only: str) -> int:
    """Of the levels named in `only`, with the others' rows kept."""
    levels = names.choose_levels(only, names.all_names())
    path = files.ROOT / account.PROFILED
    before = data.read_rows(path)[1] if path.exists() else []
    rows = [row for row in before if row["level"] not in levels]
    rows += predictions.predict_profiled(files.ROOT, levels, build, print)
    rows.sort(key=lambda row: (row["level"], int(row["size"])))
    files.replace(path, data.csv_text(predictions.PROFILE_COLUMNS, rows))
    return 0


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("--levels", default="1-8", metavar="LIST", help="default: %(default)s")
    parser.add_argument("--sizes", default=predictions.SIZES, metavar="LIST",
                        help="M = N = K each, or MxNxK (default: %(default)s)")
    parser.add_argument("--gpu", choices=sorted(simulated.KNOWN), default="h200", help="default: %(default)s")
    parser.add_argument("--config", default="", metavar="NAME", help="of the levels, where they have several")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the rows there, too")
    parser.add_argument("--record", action="store_true",
                        help="all levels on all GPUs, into docs/results/modelled.csv")
    parser.add_argument("--others", action="store_true",
                        help=f"what {predictions.SHAPES.name}, {predictions.CYCLES.name} and {predictions.PUBLIC.name} "
                             "have beside the ladder, into docs/results/modelled_others.csv")
    parser.add_argument("--tiles", action="store_true",
                        help=f"all configurations at the shapes of {predictions.TIMED_TILES.name}, into "
                             "docs/results/modelled_tiles.csv")
    parser.add_argument("--check", action="store_true",
                        help=f"{', '.join(map(str, predictions.CHECKED))}: are they as recorded, to the last digit?")
    parser.add_argument("--ablations", action="store_true",
                        help="of these levels: each change whose worth was measured or reported, which takes minutes")
    parser.add_argument("--steps", action="store_true",
                        help=f"of these levels: the kernel after each step to them, into {step_gains.RECORD}")
    parser.add_argument("--profile", action="store_true",
                        help=f"of these levels: what {account.COUNTED.name} has, at the clocks of "
                             f"{account.CLOCKS.name}, into {account.PROFILED}")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    options = parser.parse_args()
    output: Path | None = options.csv
    if options.record or options.others:
        output = files.ROOT / (predictions.RECORD if options.record else predictions.OTHERS)
    if options.check:
        return check(options.build.resolve())
    if options.tiles:
        rows = predictions.predict_tiles(files.ROOT, options.build.resolve(), print)
        files.replace(files.ROOT / predictions.TILES, data.csv_text(predictions.TILE_COLUMNS, rows))
        return 0
    if options.ablations:
        return record_ablations(options.build.resolve(), options.levels)
    if options.profile:
        return record_profiled(options.build.resolve(), options.levels)
    if options.steps:
        return record_steps(options.build.resolve(), options.levels)
    levels = names.all_names() if options.record else names.choose_levels(options.levels, names.all_names())
    sizes = predictions.RECORDED if options.record else {options.gpu: options.sizes}
    points = [predictions.Point(level, gpu, size, options.config)
              for gpu, listed in sizes.items() for level in levels for size in listed.split(",")]
    if options.others:
        points = predictions.others(files.ROOT)
    found, failures = predictions.predict(points, options.build.resolve(), print)
    if output is not None and not failures:
        files.replace(output, data.csv_text(predictions.COLUMNS, [row for row, _ in found]))
    if options.record and not failures:
        files.replace(files.ROOT / account.RECORD,
                      data.csv_text(account.COLUMNS, [row for _, shares in found for row in shares]))
    if failures:
        command.give_up(1, "\n".join(failures))
    return 0


if __name__ == "__main__":
    command.run(main)
