"""Calibrating the timing model on the GPU of this machine: an experiment at a time, each recorded at once.

The programs of scripts/maintain/calibrate/ print facts about their device as "# name: value", then CSV with
MEASURED_COLUMNS.
"""
from __future__ import annotations

import csv
import io
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ladder import files
from ladder.command import EXIT_RIGHT, UsageError
from ladder.levels import programs, simulated
from ladder.model.derivation import needed
from ladder.results import data, measure
from ladder.results.data import Fields

# A program's spread (low, high, samples) is printed, not kept.
COLUMNS = ("experiment", "setting", "quantity", "value", "unit", "kind", "gpu", "date", "commit")
MEASURED_COLUMNS = (*COLUMNS[:4], "low", "high", "samples", "unit")

# Seconds after which an experiment is ended as hung; most take a few.
EXPERIMENTS = {"topology": 60, "clocks": 30, "latency": 60, "sync": 60, "stores": 60, "launch": 60, "load": 120,
               "residency": 120, "halves": 60, "power": 240}


class ExperimentFailed(Exception):
    """An experiment that has no rows; the message says what happened to it."""


def choose_experiments(text: str) -> list[str]:
    """Those of a list such as "load,power", in their order. Raises UsageError."""
    chosen = [name.strip() for name in text.split(",")]
    for name in chosen:
        if name not in EXPERIMENTS:
            raise UsageError(f"--experiments: there is no experiment '{name}', only {', '.join(EXPERIMENTS)}.")
    return [name for name in EXPERIMENTS if name in chosen]


@dataclass
class Calibration(measure.Run):
    """Which programs say what goes where."""

    build: Path
    arch: int
    output: Path
    simulated_sms: int = 0  # of the simulated device, which does a little of everything; 0: a GPU

    @property
    def program(self) -> Path:
        return self.build / "bin" / f"calibrate_sm{self.arch}"

    def command(self, *arguments: str) -> list[str]:
        if not self.simulated_sms:
            return [str(self.program), *arguments]
        sim = [str(files.SCRIPTS / "sim.sh"), "--gpu", simulated.DEFAULT[self.arch], "--sms",
               str(self.simulated_sms)]
        return [*sim, str(self.program), "--quick", *arguments]

    def measure(self, experiment: str) -> list[Fields]:
        """Its rows. Raises ExperimentFailed."""
        return self.rows(run(self.command(experiment), EXPERIMENTS[experiment]))

    def rows(self, printed: str) -> list[Fields]:
        return read_printed(printed, MEASURED_COLUMNS, self.date, self.commit)

    def record(self, experiment: str, rows: Sequence[Fields]) -> None:
        """In the place of what the file holds of the same GPU and experiment; what constants are derived from."""
        order = list(EXPERIMENTS)
        with files.locked(self.output):
            old = data.read_rows(self.output)[1]
            gpu = rows[0]["gpu"]
            others = [row for row in old if row["gpu"] != gpu]
            mine = [row for row in old if row["gpu"] == gpu and row["experiment"] != experiment]
            merged = sorted([*others, *needed([*mine, *rows])],
                            key=lambda row: (row["gpu"], order.index(row["experiment"])))
            data.write_rows(self.output, COLUMNS, merged)


def run(command: Sequence[str], timeout: float) -> str:
    """What the command prints. Raises ExperimentFailed."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaints:
        try:
            code = programs.run_program(command, timeout, output=printed, errors=complaints)
        except OSError as error:
            raise ExperimentFailed(f"DOES NOT START: {error.strerror}") from None
        if code != EXIT_RIGHT:
            complaints.seek(0)
            last = complaints.read().decode(errors="replace").strip().splitlines()[-1:]
            raise ExperimentFailed(": ".join([programs.describe_failure(code, timeout), *last]))
        printed.seek(0)
        return printed.read().decode(errors="replace")


def read_printed(printed: str, columns: Sequence[str], date: str, commit: str) -> list[Fields]:
    """The rows of a program that prints facts, then CSV with these columns. Raises ExperimentFailed."""
    lines = printed.splitlines()
    facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    found = [dict(row) for row in csv.DictReader(line for line in lines if not line.startswith("#"))]
    if not found or not facts.get("gpu"):
        raise ExperimentFailed("NO RESULT: it printed no rows")
    for row in found:
        if set(row) != set(columns):
            raise ExperimentFailed(f"NO RESULT: a row has the columns {', '.join(map(str, row))}")
        row.update(kind="modelled" if facts["gpu"].startswith("Simulated") else "measured", date=date, commit=commit,
                   **{c: facts.get(c, "") for c in ("gpu", "driver", "cuda", "power_cap_w")})
    return found


def profiled(profiler: str, kernel: str, metrics: Sequence[str], log: Path, command: Sequence[str]) -> list[str]:
    """The command, with Nsight Compute counting in launches of kernels of that name. Clocks are left alone, and so is
    what L2 holds."""
    return [profiler, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--print-units",
            "base", "--print-fp", "--kernel-name", f"regex:{kernel}", "--metrics", ",".join(metrics), "--log-file",
            str(log), *command]


def read_profile(text: str, metrics: Sequence[str], more: Sequence[str] = ()) -> list[dict[str, str]]:
    """The metrics and `more` columns of each launch, of ncu's CSV page "raw": a header, a row of units, a row for each
    launch. Raises ExperimentFailed."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    launches = [row for row in csv.DictReader(io.StringIO("\n".join(lines))) if row.get("ID", "").isdigit()]
    missing = [m for m in metrics if launches and m not in launches[0]]
    if not launches or missing:
        raise ExperimentFailed(f"NO RESULT: ncu counted nothing ({', '.join(missing) or 'no launches'})")
    return [{m: row.get(m, "").replace(",", "") for m in (*metrics, *more)} for row in launches]


def perform(calibration: Calibration, experiments: Sequence[str]) -> int:
    """All of them; what fails leaves no rows. Returns the exit code that says so."""
    def one(experiment: str) -> None:
        begin = time.monotonic()
        rows = calibration.measure(experiment)
        calibration.record(experiment, rows)
        print(f"      {len(rows)} rows in {measure.duration_text(time.monotonic() - begin)}", flush=True)

    return perform_each(calibration, experiments, "experiments", one, calibration.output)


def perform_each(run: measure.Run, titles: Sequence[str], what: str, one: Callable[[str], None], output: Path) -> int:
    """One after the other, as far as they do not raise ExperimentFailed. Returns the exit code."""
    start = time.monotonic()
    for number, title in enumerate(titles, start=1):
        print(f"[{number}/{len(titles)}] {title}", flush=True)
        try:
            one(title)
        except ExperimentFailed as failure:
            print(f"{title}: {failure}; it leaves no rows.", flush=True)
            run.failures.append(f"{title}: {failure}")
    return run.end(f"\n{len(titles) - len(run.failures)} of {len(titles)} {what} done in "
                   f"{measure.duration_text(time.monotonic() - start)}, recorded in {output}.")
