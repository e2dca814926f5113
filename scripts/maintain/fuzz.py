#!/usr/bin/env python3
"""Tests the simulated device with malformed texts and with random values, from a seed.

    ptx      mutated PTX, judged by ptxas 13.0 and by the simulated device: they must agree. First instructions
             (--lines), then texts of the levels (--texts)
    run      mutated PTX, executed: every text ends with an error message or normally, within ten seconds, and takes no
             memory that it does not request
    fatbin   programs whose fat binary is damaged: each ends with an error message, or normally
    values   arithmetic, conversions, shuffles and atomics, 32 rows of operands for each of 2,300 spellings, one after
             the other: they give what an exact model of the ISA gives, bit for bit

`run` and `fatbin` find most in a sanitizer build: cmake --preset asan, cmake --build build/asan, --build build/asan.

A mutant, or a trial of values, has a number; seed and number identify it, and --only N runs it alone. --shard K/N
takes every N-th: merge.py makes one record (--output) of theirs.

Exit codes: 0 all as expected; 1 something was not; 2 wrong command line, or something is not built; 77 no ptxas 13.0.
"""
from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Optional, TextIO

from ladder import command, files, shards
from ladder.exact.form import LANES
from ladder.fuzzing import judges, trial, values
from ladder.levels import simulated


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="ptx|run|fatbin|values",
                                  parser_class=command.Parser)
    ptx = kinds.add_parser("ptx", description="Judgement of PTX, compared with that of ptxas.")
    ptx.add_argument("--lines", type=int, default=4000, metavar="N", help="mutated instructions (default: %(default)s)")
    ptx.add_argument("--texts", type=int, default=1000, metavar="N", help="mutated texts (default: %(default)s)")
    run = kinds.add_parser("run", description="Mutated PTX, executed.")
    run.add_argument("--texts", type=int, default=2000, metavar="N", help="mutated texts (default: %(default)s)")
    run.add_argument("--memory", type=command.whole_number, default=1500, metavar="MIB",
                     help="that a run may take (default: %(default)s)")
    run.add_argument("--keep", type=Path, metavar="FOLDER", help="for the texts that fail")
    fatbin = kinds.add_parser("fatbin", description="Damaged fat binaries.")
    fatbin.add_argument("--programs", type=int, default=1000, metavar="N",
                        help="damaged programs (default: %(default)s)")
    model = kinds.add_parser("values", description="Values that instructions give, compared with an exact model's.")
    model.add_argument("--trials", type=int, default=10000, metavar="N",
                       help="of 32 rows of operands each (default: %(default)s)")
    model.add_argument("--gpu", choices=sorted(simulated.KNOWN), default="b200", help="default: %(default)s")
    model.add_argument("--hardware", action="store_true", help="on the GPU of this machine: does the model hold there?")
    for each in (ptx, run):
        each.add_argument("--kernels", type=Path, metavar="FOLDER",
                          help="the build with the levels whose PTX is mutated (default: --build)")
    for each in (ptx, run, fatbin, model):
        each.add_argument("--seed", type=int, default=1, metavar="S", help="default: %(default)s")
        shards.add_argument(each)
        each.add_argument("--only", type=int, metavar="N", help="this one alone")
        each.add_argument("--seconds", type=command.seconds, metavar="S", help="stop after so long")
        each.add_argument("--output", type=Path, metavar="FILE", help="a line of JSON per mutant, appended")
        each.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    return parser.parse_args()


def main() -> int:
    options = parse()
    command.heed_sigterm()
    with contextlib.ExitStack() as stack:
        output = None
        if options.output is not None:
            output = stack.enter_context(open(options.output, "a", encoding="utf-8"))
        return report(fuzz(options, output), options.seed)


def fuzz(options: argparse.Namespace, output: Optional[TextIO]) -> list[trial.Record]:
    deadline = trial.Deadline(options.seconds)

    def chosen(total: int) -> Sequence[int]:
        return [options.only] if options.only is not None else options.shard.of(range(total))

    if options.kind == "ptx":
        records = [trial.Record("line", output), trial.Record("text", output)]
        try:
            ptxas = judges.Ptxas(judges.find_ptxas())
        except judges.Missing as missing:
            command.give_up(command.EXIT_SKIPPED, str(missing))
        simulator = judges.Simulator(options.build)
        if options.lines:
            trial.lines(ptxas, simulator, options.seed, chosen(options.lines), records[0], deadline)
        if options.texts:
            trial.texts(ptxas, simulator, options.kernels or options.build, options.seed, chosen(options.texts),
                        records[1], deadline)
    elif options.kind == "run":
        records = [trial.Record("run", output)]
        kernels = options.kernels or options.build
        trial.runs(judges.Simulator(options.build), kernels, options.seed, chosen(options.texts), records[0], deadline,
                   lambda index, text: keep(options.keep, index, text), options.memory)
    elif options.kind == "values":
        records = [trial.Record("values", output)]
        values.compare(None if options.hardware else options.build, options.gpu, options.seed, chosen(options.trials),
                       records[0], deadline)
    else:
        records = [trial.Record("fatbin", output)]
        trial.damaged(options.build, options.seed, chosen(options.programs), records[0], deadline)
    return records


def keep(folder: Optional[Path], index: int, text: str) -> str:
    """Where the text is kept."""
    if folder is None:
        return "--keep FOLDER keeps the text"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{index}.ptx"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return str(path)


def report(records: list[trial.Record], seed: int) -> int:
    for record in records:
        if record.total:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in record.counts.most_common())
            what = f"trials of {LANES} values" if record.kind == "values" else f"mutants of the kind '{record.kind}'"
            print(f"{record.total} {what}, seed {seed}: {counts}")
    wrong = [each for record in records for each in record.wrong]
    for each in wrong:
        print(each)
    return command.EXIT_WRONG if wrong else command.EXIT_RIGHT


if __name__ == "__main__":
    command.run(main)
