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
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional, Sequence

import ladder
import tables

RESULT_KEY = ("gpu", "level", "arch", "m", "n", "k")
DIGEST_KEY = (*RESULT_KEY, "init", "seed")
DIGEST_COLUMNS = ("level", "arch", "m", "n", "k", "init", "seed", "digest", "config", "gpu", "date", "commit")
# Small enough for the simulated device to repeat, square and ragged, less than one tile and many.
DIGEST_SIZES = "256,512,72x136x200,384x520x1000"
DIGEST_INITS = ("normal", "uniform", "int")


def seconds(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) <= 0:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is needed, not '{text}'")
    return float(text)


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = ladder.Parser(description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", default="1-99", metavar="LIST", help="e.g. 1-8 or 1,3-5 (default: all)")
    parser.add_argument("--sizes", default=",".join(map(str, tables.HEADLINE_EDGES)), metavar="LIST",
                        help="cubes and MxNxK (default: %(default)s)")
    parser.add_argument("--rounds", type=ladder.whole_number, default=10, metavar="R",
                        help="of timing (default: %(default)s)")
    parser.add_argument("--budget", type=seconds, metavar="S", help="seconds of timing per size (default: the level's)")
    parser.add_argument("--burst", action="store_true", help="also time short bursts on a cool chip")
    parser.add_argument("--timeout", type=seconds, default=300, metavar="S",
                        help="seconds after which a level counts as hung (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: docs/results/GPU.csv, e.g. h200.csv")
    parser.add_argument("--digests", type=Path, metavar="FILE",
                        help="also record hashes of D, for comparison with the simulated device")
    parser.add_argument("--digest-sizes", default=DIGEST_SIZES, metavar="LIST", help="default: %(default)s")
    parser.add_argument("--no-build", action="store_true", help="take the executables as they are")
    parser.add_argument("--build", type=Path, default=ladder.ROOT / "build", metavar="FOLDER", help="default: build")
    return parser.parse_args(arguments)


# --- what to do -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One process: a level at one size, timed, or hashed for one kind of input."""

    level: str
    shape: ladder.Shape
    init: str = ""  # for a digest

    def title(self) -> str:
        return f"{self.level} {ladder.size_text(self.shape)}" + (f" digest, {self.init}" if self.init else "")


def find_gpu() -> ladder.Gpu:
    gpus = ladder.find_gpus()
    for gpu in gpus:
        if gpu.arch in ladder.ARCHES:
            return gpu
    found = ", ".join(f"{gpu.name} ({gpu.arch / 10:.1f})" for gpu in gpus)
    here = f"only {found}" if found else "none"
    ladder.give_up(ladder.EXIT_SKIPPED, "measuring needs a GPU of compute capability 9.0 (H100, H200) or 10.0 (B200, "
                   f"GB200), and here is {here}. scripts/run.sh verifies the levels without one.")


def default_output(gpu: ladder.Gpu) -> Path:
    """docs/results/h200.csv for an "NVIDIA H200"."""
    match = re.search(r"\b(?:G?[BH]\d{3})\b", gpu.name)
    name = match[0] if match else re.sub(r"\W+", "_", gpu.name)
    return tables.RESULTS / f"{name.lower()}.csv"


def check_writable(path: Path) -> None:
    """Before any measuring: neither a folder nor somewhere that files cannot be made, and results if anything."""
    if path.is_dir():
        raise ladder.UsageError(f"{path} is a folder.")
    if not os.access(path.resolve().parent if path.resolve().parent.exists() else ladder.ROOT, os.W_OK):
        raise ladder.UsageError(f"{path} cannot be written.")
    if path.exists():
        columns, _ = tables.read_rows(path)
        if columns and not {"level", "arch", "m", "n", "k", "gpu"} <= set(columns):
            raise ladder.UsageError(f"{path} holds something else than results: its columns are {', '.join(columns)}.")


def check_outputs(output: Path, digests: Optional[Path]) -> None:
    check_writable(output)
    if digests:
        check_writable(digests)
        if digests.resolve() == output.resolve():
            raise ladder.UsageError("--output and --digests are the same file.")


def build(levels: Sequence[str], arch: int) -> None:
    targets = [ladder.target(level, arch) for level in levels]
    if subprocess.run([ladder.ROOT / "scripts" / "build.sh", *targets], check=False).returncode != 0:
        ladder.give_up(ladder.EXIT_USAGE, "the levels could not be built.")


# --- doing it ---------------------------------------------------------------------------------------------------------


class TaskFailed(Exception):
    """A level that has no result; the message says what happened to it."""


class Measurement:
    """One run: what all its rows have in common."""

    def __init__(self, options: argparse.Namespace, gpu: ladder.Gpu):
        self.options = options
        self.gpu = gpu
        self.output: Path = options.output or default_output(gpu)
        self.date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.commit = ladder.commit_id()
        self.failures: list[str] = []
        if not self.commit:
            print("The commit of these sources is unknown here: LADDER_COMMIT can say it.", file=sys.stderr)

    def command(self, task: Task, file: Path) -> list[str]:
        program = ladder.executable(task.level, self.gpu.arch, self.options.build)
        command = [str(program), "--sizes", ladder.shape_text(task.shape), "--csv", str(file)]
        if task.init:
            return [*command, "--init", task.init, "--digest"]
        command += ["--bench", "--rounds", str(self.options.rounds)]
        if self.options.budget:
            command += ["--budget", f"{self.options.budget:g}"]
        return command + (["--burst"] if self.options.burst else [])

    def run(self, task: Task) -> tables.Fields:
        """The row of a task. Raises TaskFailed."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.csv"
            environment = dict(os.environ, LADDER_COMMIT=self.commit)
            try:
                code = ladder.run_program(self.command(task, file), self.options.timeout, environment)
            except OSError as error:
                raise TaskFailed(f"DOES NOT START: {error.strerror}") from None
            if code != ladder.EXIT_RIGHT:
                raise TaskFailed(ladder.describe_failure(code, self.options.timeout))
            _, rows = tables.read_rows(file) if file.exists() else ([], [])
        problem = self.what_is_wrong(task, rows)
        if problem:
            raise TaskFailed(f"NO RESULT: {problem}")
        return dict(rows[0], date=self.date, commit=self.commit)

    def what_is_wrong(self, task: Task, rows: Sequence[tables.Fields]) -> str:
        """An exit code of 0 is not proof enough that the row is what was asked for."""
        if len(rows) != 1:
            return f"there are {len(rows)} rows instead of one"
        try:
            result = tables.to_result(rows[0])
        except (KeyError, ValueError) as error:
            return str(error)
        if (result.level, result.shape, result.series.arch) != (task.level, task.shape, self.gpu.arch):
            return f"the row is of {result.level} (sm{result.series.arch}) at {ladder.shape_text(result.shape)}"
        if result.series.kind != "measured" or result.fields.get("verdict") != "right":
            return f"it is {result.series.kind} and {result.fields.get('verdict') or 'unverified'}"
        if result.series.gpu != self.gpu.name:
            return f"it is of an {result.series.gpu}"
        if task.init:
            return "" if result.fields.get("digest") else "there is no digest"
        return "" if (result.number("tflops") or 0) > 0 else "there is no speed"

    def record(self, task: Task, row: tables.Fields) -> None:
        if task.init:
            merge(self.options.digests, DIGEST_COLUMNS, {c: row.get(c, "") for c in DIGEST_COLUMNS}, DIGEST_KEY)
        else:
            merge(self.output, list(row), row, RESULT_KEY)


def merge(path: Path, columns: Sequence[str], row: tables.Fields, key: Sequence[str]) -> None:
    """Puts a row into a file in the place of those with the same key. Columns that one of the two lacks are empty."""
    old_columns, old_rows = tables.read_rows(path) if path.exists() else ([], [])
    all_columns = [*columns, *(c for c in old_columns if c not in columns)]
    kept = [old for old in old_rows if any(old.get(c, "") != row[c] for c in key)]
    tables.write_rows(path, all_columns, sorted([*kept, row], key=lambda r: sort_key(r, key)))


def sort_key(row: tables.Fields, key: Sequence[str]) -> list[tuple[int, str]]:
    """Numbers by value: 10240 comes after 4096."""
    return [(int(row[c]), "") if row.get(c, "").isdigit() else (-1, row.get(c, "")) for c in key]


def duration_text(duration: float) -> str:
    return f"{duration:.0f} s" if duration < 90 else f"{duration / 60:.0f} min"


def perform(measurement: Measurement, tasks: Sequence[Task]) -> None:
    start = time.monotonic()
    for done, task in enumerate(tasks):
        left = ""
        if done:
            left = f", about {duration_text((time.monotonic() - start) / done * (len(tasks) - done))} left"
        print(f"[{done + 1}/{len(tasks)}] {task.title()}{left}", flush=True)
        try:
            measurement.record(task, measurement.run(task))
        except TaskFailed as failure:
            print(f"{task.title()}: {failure}; it leaves no row.", flush=True)
            measurement.failures.append(f"{task.title()}: {failure}")


def summarise(measurement: Measurement, tasks: Sequence[Task]) -> int:
    files = " and ".join(str(f) for f in (measurement.output, measurement.options.digests) if f)
    done = len(tasks) - len(measurement.failures)
    print(f"\n{done} of {len(tasks)} done on {measurement.gpu.name}, recorded in {files}.")
    for failure in measurement.failures:
        print(f"  {failure}")
    if measurement.failures:
        print("Older rows of what failed are kept, with their own dates and commits.")
    return ladder.EXIT_WRONG if measurement.failures else ladder.EXIT_RIGHT


def print_table(measurement: Measurement, tasks: Sequence[Task]) -> None:
    results = tables.load_results(measurement.output.resolve().parent)
    edges = sorted({t.shape[0] for t in tasks if t.shape[0] == t.shape[1] == t.shape[2] and not t.init})
    if edges:
        edge = tables.DEFAULT_EDGE if tables.DEFAULT_EDGE in edges else edges[-1]
        print("\n" + tables.progression(results, tables.all_levels(results), edge).text(), end="")


def make_tasks(options: argparse.Namespace, levels: Sequence[str]) -> list[Task]:
    tasks = [Task(level, shape) for level in levels for shape in ladder.parse_sizes(options.sizes)]
    digest_shapes = ladder.parse_sizes(options.digest_sizes)
    if options.digests:
        tasks += [Task(level, shape, init) for level in levels for shape in digest_shapes for init in DIGEST_INITS]
    return tasks


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = parse(arguments)
    ladder.heed_sigterm()
    try:
        levels = ladder.choose_levels(options.levels, ladder.all_levels())
        make_tasks(options, levels)  # a bad size is found out without a GPU, too
        gpu = find_gpu()
        levels = [level for level in levels if ladder.has_kernel(level, gpu.arch)]
        if not levels:
            raise ladder.UsageError(f"--levels {options.levels}: there is no kernel for sm{gpu.arch}.")
        tasks = make_tasks(options, levels)
        measurement = Measurement(options, gpu)
        check_outputs(measurement.output, options.digests)
        if not options.no_build:
            build(levels, gpu.arch)
        perform(measurement, tasks)
        code = summarise(measurement, tasks)
        print_table(measurement, tasks)
        return code
    except (ladder.UsageError, tables.DataError, OSError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    except KeyboardInterrupt:
        print("\nInterrupted; what was measured so far is recorded.", file=sys.stderr)
        return ladder.EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
