"""Measuring levels on the GPU of this machine, beside cuBLAS: a task at a time, each result recorded at once."""
from __future__ import annotations

import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure, UsageError
from ladder.levels import gpus, lab, names, patches, programs
from ladder.levels.shapes import Shape, cube, shape_text, size_text
from ladder.results import ablations, choice, data, table
from ladder.results.data import Fields

RESULT_KEY = ("gpu", "level", "arch", "m", "n", "k")
DIGEST_KEY = (*RESULT_KEY, "init", "seed")
DIGEST_COLUMNS = ("level", "arch", "m", "n", "k", "init", "seed", "digest", "config", "gpu", "date", "commit")
# Small enough for the simulated device to repeat, square and ragged, less than one tile and many.
DIGEST_SIZES = "256,512,72x136x200,384x520x1000"
DIGEST_INITS = ("normal", "uniform", "int")


# --- what to do -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One process: a level at one size, timed, or hashed for one kind of input."""

    level: str
    shape: Shape
    init: str = ""  # for a digest
    ablation: Optional[lab.Lab] = None

    def title(self) -> str:
        return (f"{self.level} {size_text(self.shape)}" + (f" digest, {self.init}" if self.init else "")
                + (f", {self.ablation.words}" if self.ablation else ""))


def find_gpu() -> gpus.Gpu:
    """The first that the levels run on. Raises gpus.NoGpu."""
    found = gpus.find_gpus()
    for gpu in found:
        if gpu.arch in names.ARCHES:
            return gpu
    others = ", ".join(f"{gpu.name} ({gpu.arch / 10:.1f})" for gpu in found)
    raise gpus.NoGpu("measuring needs a GPU of compute capability 9.0 (H100, H200) or 10.0 (B200, GB200), and here is "
                     f"{f'only {others}' if others else 'none'}. scripts/run.sh verifies the levels without one.")


def default_output(gpu: gpus.Gpu) -> Path:
    """docs/results/h200.csv for an "NVIDIA H200"."""
    match = re.search(r"\b(?:G?[BH]\d{3})\b", gpu.name)
    name = match[0] if match else re.sub(r"\W+", "_", gpu.name)
    return data.FOLDER / f"{name.lower()}.csv"


def output_beside(gpu: gpus.Gpu, rest: str) -> Path:
    """docs/results/h200_cycles.csv for an "NVIDIA H200" and "cycles.csv"."""
    results = default_output(gpu)
    return results.with_name(f"{results.stem}_{rest}")


def device_and_output(simulates: bool, output: Optional[Path], rest: str) -> tuple[int, Path]:
    """The architecture of what is measured, and where to record it: this machine's GPU, or with --simulate an H200,
    which is recorded only where `output` says. Raises UsageError, gpus.NoGpu."""
    if not simulates:
        gpu = find_gpu()
        return gpu.arch, output or output_beside(gpu, rest)
    if output is None:
        raise UsageError("--simulate needs --output: what is simulated is not recorded among results.")
    return 90, output


def check_file_name(path: Path) -> None:
    """Before any measuring: neither a folder nor somewhere that files cannot be made. Raises UsageError."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder.")
    if not os.access(path.resolve().parent if path.resolve().parent.exists() else files.ROOT, os.W_OK):
        raise UsageError(f"{path} cannot be written.")


def check_columns(path: Path, columns: Sequence[str], command: str) -> None:
    """The same, and it holds what the command records, if anything."""
    check_file_name(path)
    if path.exists() and data.read_rows(path)[0] != list(columns):
        raise UsageError(f"{path} holds something else than what {command} records.")


def check_writable(path: Path) -> None:
    """A name for a file, and it holds results if anything."""
    check_file_name(path)
    if path.exists():
        columns, _ = data.read_rows(path)
        if columns and not {"level", "arch", "m", "n", "k", "gpu"} <= set(columns):
            raise UsageError(f"{path} holds something else than results: its columns are {', '.join(columns)}.")


def check_outputs(output: Path, digests: Optional[Path]) -> None:
    check_writable(output)
    if digests:
        check_writable(digests)
        if digests.resolve() == output.resolve():
            raise UsageError("--output and --digests are the same file.")


def build(targets: Iterable[str], what: str = "levels") -> None:
    """Raises Failure."""
    if subprocess.run([files.SCRIPTS / "build.sh", *targets], check=False).returncode != 0:
        raise Failure(f"the {what} could not be built.")


def make_tasks(levels: Sequence[str], timed: Sequence[Shape], hashed: Sequence[Shape]) -> list[Task]:
    return [*(Task(level, shape) for level in levels for shape in timed),
            *(Task(level, shape, init) for level in levels for shape in hashed for init in DIGEST_INITS)]


def ablation_tasks(levels: Sequence[str], arch: int, timed: Sequence[Shape]) -> list[Task]:
    """Per level and size the level as it is, then each of its ablations."""
    found = [one for one in lab.all_labs(kinds=(lab.ABLATIONS,)) if one.arch == arch]
    return [Task(level, shape, ablation=one) for level in levels for shape in timed
            for one in (None, *(one for one in found if one.level == level))
            if any(other.level == level for other in found)]


# --- doing it ---------------------------------------------------------------------------------------------------------


class TaskFailed(Exception):
    """A level that has no result; the message says what happened to it."""


@dataclass(frozen=True)
class Settings:
    """How levels are run."""

    build: Path = files.BUILD
    rounds: int = 10
    budget_s: Optional[float] = None  # of timing per size; None: the level's own
    burst: bool = False
    apart: bool = False
    timeout_s: float = 300  # after which a level counts as hung
    all_configs: bool = False  # in the same rounds, a row for each
    ablations: bool = False  # rows say which one they are of
    steps: bool = False  # the kernels between two levels, which are the configurations of one program


@dataclass
class Run:
    """What all rows of one run have in common, and what has failed in it."""

    date: str = field(init=False, default_factory=files.now)
    commit: str = field(init=False, default_factory=files.commit_id)
    failures: list[str] = field(init=False, default_factory=list)

    def end(self, words: str) -> int:
        """Says what was done and what failed; returns the exit code that says so."""
        print(words)
        for failure in self.failures:
            print(f"  {failure}")
        return EXIT_WRONG if self.failures else EXIT_RIGHT


@dataclass
class Measurement(Run):
    """The levels beside cuBLAS, at their sizes."""

    settings: Settings
    gpu: gpus.Gpu
    output: Path
    digests: Optional[Path] = None

    def command_of(self, task: Task, file: Path) -> list[str]:
        build = lab.Build(self.settings.build)
        program = (lab.ablated(task.ablation, build) if task.ablation else
                   patches.together(task.level, self.gpu.arch, build) if self.settings.steps else
                   names.executable(task.level, self.gpu.arch, self.settings.build))
        command = [str(program), "--sizes", shape_text(task.shape), "--csv", str(file)]
        if task.init:
            return [*command, "--init", task.init, "--digest"]
        command += ["--bench", "--rounds", str(self.settings.rounds)]
        if self.settings.budget_s:
            command += ["--budget", f"{self.settings.budget_s:g}"]
        command += ["--config", "all"] * self.settings.all_configs
        return command + ["--burst"] * self.settings.burst + ["--apart"] * self.settings.apart

    def run(self, task: Task) -> list[Fields]:
        """The row of a task, or one for each configuration. Raises TaskFailed."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.csv"
            environment = dict(os.environ, LADDER_COMMIT=self.commit)
            try:
                code = programs.run_program(self.command_of(task, file), self.settings.timeout_s, environment)
            except OSError as error:
                raise TaskFailed(f"DOES NOT START: {error.strerror}") from None
            if code != EXIT_RIGHT:
                raise TaskFailed(programs.describe_failure(code, self.settings.timeout_s))
            try:
                _, rows = data.read_rows(file) if file.exists() else ([], [])
                problem = self.what_is_wrong(task, rows)
            except files.DataError as error:
                raise TaskFailed(f"NO RESULT: {error}") from None
        if problem:
            raise TaskFailed(f"NO RESULT: {problem}")
        return [dict(row, date=self.date, commit=self.commit) for row in rows]

    def take(self, task: Task) -> list[Fields]:
        """The same, and they are in the file before anything else is done with them."""
        rows = self.run(task)
        for row in rows:
            self.record(task, row)
        return rows

    def what_is_wrong(self, task: Task, rows: Sequence[Fields]) -> str:
        """An exit code of 0 is not proof enough that the rows are what was asked for."""
        if not rows or (len(rows) > 1 and not self.settings.all_configs):
            return f"there are {len(rows)} rows instead of one"
        return next(filter(None, (self.what_is_wrong_with(row, task) for row in rows)), "")

    def what_is_wrong_with(self, row: Fields, task: Task) -> str:
        result = data.to_result(row)
        if (result.level, result.shape, result.series.arch) != (task.level, task.shape, self.gpu.arch):
            return f"the row is of {result.level} (sm{result.series.arch}) at {shape_text(result.shape)}"
        if result.series.kind != "measured" or result.fields.get("verdict") != "right":
            return f"it is {result.series.kind} and {result.fields.get('verdict') or 'unverified'}"
        if result.series.gpu != self.gpu.name:
            return f"it is of an {result.series.gpu}"
        if task.init:
            return "" if result.fields.get("digest") else "there is no digest"
        return "" if (result.number("tflops") or 0) > 0 else "there is no speed"

    def record(self, task: Task, row: Fields) -> None:
        if self.settings.steps:
            merge(self.output, list(row), row, (*RESULT_KEY, "config"))
        elif self.settings.all_configs:
            merge(self.output, choice.COLUMNS, row, (*RESULT_KEY, "config"))
        elif self.settings.ablations:
            merge(self.output, ablations.COLUMNS, ablations.row_of(task.ablation, row), (*RESULT_KEY, "optimisation"))
        elif task.init and self.digests:
            merge(self.digests, DIGEST_COLUMNS, {c: row.get(c, "") for c in DIGEST_COLUMNS}, DIGEST_KEY)
        else:
            merge(self.output, list(row), row, RESULT_KEY)


def merge(path: Path, columns: Sequence[str], row: Fields, key: Sequence[str]) -> None:
    """Puts a row into a file in the place of those with the same key. Columns that one of the two lacks are empty."""
    replace_rows(path, columns, [row], key)


def replace_rows(path: Path, columns: Sequence[str], rows: Sequence[Fields], key: Sequence[str]) -> None:
    """The same for several rows, which may share a key; these keep their order."""
    with files.locked(path):
        old_columns, old_rows = data.read_rows(path)
        all_columns = [*columns, *(c for c in old_columns if c not in columns)]
        new = {tuple(row[c] for c in key) for row in rows}
        kept = [old for old in old_rows if tuple(old.get(c, "") for c in key) not in new]
        data.write_rows(path, all_columns, sorted([*kept, *rows], key=lambda r: sort_key(r, key)))


def sort_key(row: Fields, key: Sequence[str]) -> list[tuple[int, str]]:
    """Numbers by value: 10240 comes after 4096."""
    return [(int(row[c]), "") if row.get(c, "").isdigit() else (-1, row.get(c, "")) for c in key]


def duration_text(duration: float) -> str:
    return f"{duration:.0f} s" if duration < 90 else f"{duration / 60:.0f} min"


def is_recorded(measurement: Measurement, task: Task) -> bool:
    """Whether a run of the same commit has left what this task would."""
    path = measurement.digests if task.init else measurement.output
    wanted = [measurement.gpu.name, task.level, str(measurement.gpu.arch), *map(str, task.shape), measurement.commit]
    rows = data.read_rows(path)[1] if path and path.exists() else []
    return any([row.get(column) for column in (*RESULT_KEY, "commit")] == wanted and
               (not task.init or row.get("init") == task.init) and
               (not measurement.settings.ablations or row.get("optimisation") == ablations.name_of(task.ablation))
               for row in rows)


@dataclass
class Clock:
    """Shares out the seconds that a run may take. Each task has its part of those that are left, so that one which took
    longer than its part costs the others a little and the run nothing."""

    limit_s: float
    start: float = field(default_factory=time.monotonic)
    beside_s: Optional[float] = None  # timing: the most that a task has taken so far, to start and to verify
    SHORTEST_S, LONGEST_S = 1.0, 60.0  # of timing. Rather than have less, the last ones are left out; more says no more
    FIRST_BESIDE_S, FIRST_BURST_S = 3.0, 8.0  # what the first task is expected to take beside timing
    SPARE_S = 1.0  # for the last, which may take a little longer than expected

    def settings(self, settings: Settings, tasks: Sequence[Task]) -> Settings:
        """For the first of the tasks that are left: at most what `settings` say. Raises TaskFailed: no time is left."""
        left = self.limit_s - (time.monotonic() - self.start)
        to_share = left - self.SPARE_S
        beside_s = self.beside_s
        if beside_s is None:
            beside_s = self.FIRST_BESIDE_S + (self.FIRST_BURST_S if settings.burst else 0)
        timed = sum(not task.init for task in tasks)
        ways = 2 if settings.apart else 1
        share = (to_share - beside_s * len(tasks)) / max(1, timed) / ways
        budget_s = settings.budget_s or self.LONGEST_S
        budget_s = min(budget_s, max(self.SHORTEST_S, math.floor(10 * share) / 10))
        expected_s = beside_s + (0 if tasks[0].init else ways * budget_s)
        if to_share < expected_s:
            raise TaskFailed("LEFT OUT: there is no time left for it")
        return replace(settings, budget_s=budget_s, timeout_s=min(settings.timeout_s, left, 10 + 3 * expected_s))

    def observe(self, settings: Settings, task: Task, took_s: float) -> None:
        timing_s = 0 if task.init else (settings.budget_s or 0) * (2 if settings.apart else 1)
        self.beside_s = max(self.beside_s or 0, took_s - timing_s)


def perform(measurement: Measurement, tasks: Sequence[Task], limit_s: Optional[float] = None) -> None:
    """With a limit, all of them together take no more than so many seconds."""
    start, settings = time.monotonic(), measurement.settings
    clock = Clock(limit_s) if limit_s else None
    for done, task in enumerate(tasks):
        left = ""
        if done:
            left = f", about {duration_text((time.monotonic() - start) / done * (len(tasks) - done))} left"
        print(f"[{done + 1}/{len(tasks)}] {task.title()}{left}", flush=True)
        try:
            begin = time.monotonic()
            if clock:
                measurement.settings = clock.settings(settings, tasks[done:])
            measurement.take(task)
            if clock:
                clock.observe(measurement.settings, task, time.monotonic() - begin)
        except TaskFailed as failure:
            print(f"{task.title()}: {failure}; it leaves no row.", flush=True)
            measurement.failures.append(f"{task.title()}: {failure}")


def summarise(measurement: Measurement, tasks: Sequence[Task]) -> int:
    """Prints what came of it; returns the exit code that says so."""
    written = " and ".join(str(path) for path in (measurement.output, measurement.digests) if path)
    done = len(tasks) - len(measurement.failures)
    code = measurement.end(f"\n{done} of {len(tasks)} done on {measurement.gpu.name}, recorded in {written}.")
    if measurement.failures:
        print("Older rows of what failed are kept, with their own dates and commits.")
    return code


def print_table(measurement: Measurement, tasks: Sequence[Task]) -> None:
    """The ladder at one of the sizes, the usual one if it is among them."""
    results = data.load_results(measurement.output.resolve().parent)
    edges = sorted({t.shape[0] for t in tasks if t.shape == cube(t.shape[0]) and not t.init})
    if edges:
        edge = data.DEFAULT_EDGE if data.DEFAULT_EDGE in edges else edges[-1]
        print("\n" + table.progression(results, data.all_levels(results), edge).text(), end="")


def print_shapes(measurement: Measurement, levels: Sequence[str]) -> None:
    """What is recorded of each level at SHAPES."""
    rows = data.load_file(measurement.output) if measurement.output.exists() else []
    for level in levels:
        print("\n" + table.at_shapes(rows, level).text(), end="")
