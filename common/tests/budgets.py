#!/usr/bin/env python3
"""Compares the CPU time that the tests of each label took, when they last ran, with the label's budget in labels.csv.

Budgets are those of an idle machine. Where others use its processors and caches, too, the same tests take up to twice
the CPU time, so that only more than that is outgrown. metered.sh notes it for every test; CTest says which there are.
Exit codes: 0 within all budgets; 1 a label has outgrown its budget.
"""
from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELS = Path(__file__).resolve().with_name("labels.csv")
METERED = "metered.sh"
TICKS_PER_MINUTE = 60 * 100
BUSY = 2.5  # what a busy machine may take of an idle one's


@dataclass
class Label:
    name: str
    budget: float  # minutes
    tests: int = 0
    timed: int = 0  # of them, those that have run
    minutes: float = 0

    @property
    def outgrown(self) -> bool:
        return self.minutes > BUSY * self.budget


def labels(file: Path) -> dict[str, Label]:
    with file.open(encoding="utf-8", newline="") as rows:
        return {row["label"]: Label(row["label"], float(row["cpu_minutes"])) for row in csv.DictReader(rows)}


def last_times(log: Path) -> dict[str, int]:
    """Of every command in the log, what it took the last time."""
    times: dict[str, int] = {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []:
        ticks, _, command = line.partition(" ")
        if ticks.isdigit():  # a line that is cut short belongs to a test that was ended
            times[command] = int(ticks)
    return times


def forget_the_old(log: Path, times: dict[str, int]) -> None:
    """The log grows with every run; only the last is needed."""
    if log.exists() and log.stat().st_size > 1_000_000:
        log.write_text("".join(f"{ticks} {command}\n" for command, ticks in times.items()), encoding="utf-8")


def measure(tests: list[dict[str, Any]], times: dict[str, int], found: dict[str, Label]) -> None:
    """Adds each test to its label."""
    for test in tests:
        properties = {entry["name"]: entry["value"] for entry in test["properties"]}
        if "LABELS" not in properties:  # the cases of an executable that is not built
            continue
        label = found[properties["LABELS"][0]]
        label.tests += 1
        command = test.get("command", [])  # none if it is not built
        if len(command) > 2 and command[0].endswith(METERED):
            ticks = times.get(" ".join(command[2:]))
            if ticks is not None:
                label.timed += 1
                label.minutes += ticks / TICKS_PER_MINUTE


def table(found: list[Label]) -> str:
    lines = [f"{'label':<12}{'tests':>7}{'CPU minutes':>13}{'budget':>8}"]
    for label in found:
        note = "" if label.timed == label.tests else f"   of {label.timed} tests"
        lines.append(f"{label.name:<12}{label.tests:>7}{label.minutes:>13.2f}{label.budget:>8g}{note}")
    total = sum(label.minutes for label in found)
    tests, budget = sum(label.tests for label in found), sum(label.budget for label in found)
    lines.append(f"{'':<12}{tests:>7}{total:>13.2f}{budget:>8g}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--build", type=Path, default=Path("build"), metavar="FOLDER")
    parser.add_argument("--ctest", default="ctest", metavar="PROGRAM")
    parser.add_argument("--labels", type=Path, default=LABELS, metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help="say only what is outgrown")
    options = parser.parse_args()

    answer = subprocess.run([options.ctest, "--test-dir", options.build, "--show-only=json-v1"], capture_output=True,
                            text=True, check=True)
    log = options.build / "Testing" / "cpu_time.log"
    times = last_times(log)
    found = labels(options.labels)
    measure(json.loads(answer.stdout)["tests"], times, found)
    forget_the_old(log, times)
    used = [label for label in found.values() if label.tests]
    if not options.quiet:
        print(table(used))
    for label in used:
        if label.outgrown:
            print(f"budgets.py: the tests with the label '{label.name}' take {label.minutes:.2f} CPU minutes, and "
                  f"their budget is {label.budget:g}. Make them faster, or move what takes long into a command of its "
                  "own (docs/contributing.md).", file=sys.stderr)
    return 1 if any(label.outgrown for label in used) else 0


if __name__ == "__main__":
    sys.exit(main())
