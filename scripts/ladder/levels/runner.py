"""Runs labs, ablations and steps for a reader: what is asked, what happens, what was expected."""
from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ladder.levels import lab
from ladder.levels.lab import Build, Lab, Report


def paragraph(label: str, text: str) -> str:
    return textwrap.fill(text, 100, initial_indent=f"{label:<10}", subsequent_indent=" " * 10)


def print_answer(report: Report, most: int = 16) -> None:
    """What happened, and what was expected."""
    shown = None
    for mode, output in report.outputs:
        print(f"What happens ({mode})")
        lines = ["the same"] if output == shown else output.splitlines() or ["nothing is said"]
        print("\n".join(f"  {line}" for line in lines[:most if len(lines) > most + 1 else None]))
        if len(lines) > most + 1:
            print(f"  ... and {len(lines) - most} lines more")
        print()
        shown = output
    print("\n".join(report.lines))


def check(labs: Sequence[Lab], build: Build, jobs: int, kind: str = "labs") -> int:
    """Prints a line for each."""
    failed = 0
    width = max((len(one.title) for one in labs), default=0)
    for report in lab.run_all(labs, build, jobs):
        failed += not report.right
        print(f"{report.lab.title:<{width}}  {'; '.join(report.lines)}", flush=True)
    print(f"{len(labs) - failed} of {len(labs)} {kind} do what they predict." if failed else
          f"All {len(labs)} {kind} do what they predict.")
    return 1 if failed else 0


def run(chosen: Lab, build: Build, device: str) -> int:
    """What happens, and what was expected."""
    report = Report(chosen)
    if device == "gpu":
        lab.run_on_gpu(chosen, build)
    else:
        report = lab.run_simulated(chosen, build)
        print_answer(report)
    print("\n" + paragraph("Expected", chosen.expect))
    return 0 if report.right else 1
