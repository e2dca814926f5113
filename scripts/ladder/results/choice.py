"""docs/results/*_choice.csv: all configurations of a level in the same rounds, at random shapes.
The level's own choice is judged by it."""
from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from ladder.command import Failure, UsageError
from ladder.levels.shapes import Shape, shape_text
from ladder.results import data
from ladder.results.data import Fields

WHAT = "choice"
FILE = f"{WHAT}.csv"
TIMEOUT_S = 60  # for a program's answer, which it gives at once
# A line for all configurations that were timed in the same rounds; `chosen` is the one that the level chooses.
COLUMNS = ("level", "arch", "m", "n", "k", "kind", "gpu", "chosen", "verdict", "rounds", "budget_s", "cublaslt_tflops",
           "cublaslt_algorithm", *(name for name in data.CIRCUMSTANCES if name != "power_cap_w"), "tflops of *",
           "ratio_cublaslt of *")


def load(folder: Path = data.FOLDER) -> list[data.Result]:
    return [result for path in data.measured(folder, WHAT) for result in data.results_of(path, data.read_rows(path)[1])]


def shapes(folder: Path = data.FOLDER) -> list[Shape]:
    """All that have been measured, on whatever GPU. Raises UsageError if there are none."""
    found = sorted({result.shape for result in load(folder)}, key=lambda s: (s[0] * s[1] * s[2], s))
    if not found:
        raise UsageError(f"{folder} has no *_{FILE} to say at which shapes: --sizes can.")
    return found


def with_choices(rows: Sequence[Fields], ask_level: Callable[[str, int, Sequence[Shape]], Mapping[Shape, str]]
                 ) -> list[Fields]:
    """The rows of a file, each saying what its level chooses at its shape. `ask_level` says what a level of one
    architecture chooses at some shapes."""
    shapes_of: dict[tuple[str, int], dict[Shape, None]] = {}
    results = list(map(data.to_result, rows))
    for result in results:
        shapes_of.setdefault((result.level, result.series.arch), {})[result.shape] = None
    choices = {program: ask_level(*program, list(asked)) for program, asked in shapes_of.items()}
    return [{**row, "chosen": choices[result.level, result.series.arch][result.shape]}
            for row, result in zip(rows, results)]


def ask(command: Sequence[str], asked: Sequence[Shape], environment: Optional[Mapping[str, str]] = None
        ) -> dict[Shape, str]:
    """What a level chooses at these shapes: `command` starts its program. Raises Failure."""
    try:
        answer = subprocess.run([*command, "--list-choices", "--sizes", ",".join(map(shape_text, asked))],
                                capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[-1]} does not say within {TIMEOUT_S} s what it chooses.") from None
    words = [line.split() for line in answer.stdout.splitlines()]
    if answer.returncode != 0 or [line[:-1] for line in words] != [[shape_text(shape)] for shape in asked]:
        raise Failure(f"{command[-1]} does not say what it chooses: {answer.stderr.strip() or 'no word'}")
    return {shape: line[-1] for shape, line in zip(asked, words)}


def refresh(path: Path, program_of: Callable[[str, int], Path]) -> None:
    """Records anew what each level chooses on this GPU. Raises Failure."""
    columns, rows = data.read_rows(path)
    data.write_rows(path, columns, with_choices(
        rows, lambda level, arch, asked: ask([str(program_of(level, arch))], asked)))


@dataclass(frozen=True)
class Judged:
    """One shape: what the level chooses, and what it should have chosen."""

    chosen: data.Result
    best: data.Result
    timed: int  # configurations

    @property
    def loss(self) -> float:
        """Of the chosen one's time against the best one's: 0.1 is a tenth longer."""
        return speed(self.best) / speed(self.chosen) - 1

    @property
    def ratio_cublaslt(self) -> Optional[float]:
        return self.chosen.number("ratio_cublaslt")


def speed(result: data.Result) -> float:
    return result.number("tflops") or 0


def judge(results: Iterable[data.Result]) -> dict[data.Series, list[Judged]]:
    """GPU by GPU, the shapes at which the level's choice has been timed."""
    groups: dict[tuple[data.Series, Shape], list[data.Result]] = {}
    for result in results:
        groups.setdefault((result.series, result.shape), []).append(result)
    judged: dict[data.Series, list[Judged]] = {}
    for (series, _), group in groups.items():
        for chosen in (result for result in group if result.fields["chosen"] == result.fields["config"]):
            judged.setdefault(series, []).append(Judged(chosen, max(group, key=speed), len(group)))
    return judged


def quantile(values: Iterable[float], share: float) -> float:
    """So many of the values are no greater."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
