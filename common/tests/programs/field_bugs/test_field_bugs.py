#!/usr/bin/env python3
"""Bugs of public trackers on the simulated device: every program's good twin must be right and silent, and the bad one
must come out as docs/results/sim_field_bugs.csv says, in every mode.

usage: test_field_bugs.py [-v]          compares
       test_field_bugs.py --record      writes the file anew, from LADDER_BIN (default: build/bin)
"""
from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
BIN = Path(os.environ.get("LADDER_BIN", ROOT / "build/bin"))
SIM = os.environ.get("LADDER_SIM", str(ROOT / "scripts/sim.sh"))
RECORD = ROOT / "docs/results/sim_field_bugs.csv"
COLUMNS = ("bug", "program", "reported", "arch", "default", "latest", "seeds", "check", "strict", "says")

SEEDS = 3
MODES = {"default": (), "latest": ("--latest",), **{f"seed {i}": ("--seed", str(i)) for i in range(1, SEEDS + 1)},
         "check": ("--check",), "strict": ("--check=strict",)}
GOOD_MODES = ("default", "latest", "seed 1", "strict")  # strict asks for all that --check asks for
ERRORS = {"cudaErrorLaunchTimeout": "hang", "cudaErrorIllegalInstruction": "illegal instruction",
          "cudaErrorMisalignedAddress": "misaligned address", "cudaErrorIllegalAddress": "illegal address",
          "cudaErrorLaunchFailure": "launch failure"}
REPORT = re.compile(r"([\w.-]+)/([\w.-]+) (issue|PR) (\d+)")
SECONDS = 120

Row = dict[str, str]


def sources() -> list[Path]:
    return sorted(FOLDER.glob("*.cu"))


def head(source: Path) -> str:
    """The comment at its beginning, in one line."""
    lines = source.read_text(encoding="utf-8").splitlines()
    comment = lines[:next(i for i, line in enumerate(lines) if not line.startswith("//"))]
    return " ".join(line[2:].strip() for line in comment)


def reports(source: Path) -> str:
    """Links to the trackers that its comment names."""
    place = {"issue": "issues", "PR": "pull"}
    return ", ".join(f"[{name} {number}](https://github.com/{owner}/{name}/{place[kind]}/{number})"
                     for owner, name, kind, number in REPORT.findall(head(source)))


def run(source: Path, twin: str, mode: str) -> tuple[str, str]:
    """What the program came to, in a word or two, and what the simulated device said."""
    command = [SIM, "--threads", "1", *MODES[mode], str(BIN / f"field_bug_{source.stem}"), twin]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    first = (done.stdout.splitlines() or [f"exit code {done.returncode}"])[0]
    said = done.stderr.replace(str(ROOT) + "/", "")
    return ERRORS.get(first.removeprefix("error: "), first.partition(":")[0]), said


def finding(outcome: str, said: str) -> str:
    """The first finding of --check, or how the kernel was stopped."""
    found = re.search(r"^sim: check: (?:error \((.*?)\)|(habit \S+))", said, re.MULTILINE)
    if found:
        return found[1] or found[2]
    return outcome if outcome in ERRORS.values() else "nothing"


def sentence(said: str) -> str:
    """What is missing, or what went wrong, by the first report."""
    missing = re.search(r"^  Missing: (.*)", said, re.MULTILINE)
    if missing:
        return missing[1]
    stopped = re.search(r"^sim: (deadlock in kernel .*|error in kernel .*\n  .*)", said, re.MULTILINE)
    return stopped[1].split("\n  ")[-1] if stopped else ""


def observe(source: Path) -> Row:
    return summary(source, {mode: run(source, "bad", mode) for mode in MODES})


def summary(source: Path, results: dict[str, tuple[str, str]]) -> Row:
    """The row of a program, from what each mode came to, and what was said."""
    seeds = [results[mode][0] for mode in MODES if mode.startswith("seed")]
    failed = len(seeds) - seeds.count("right")
    says = sentence(results["check"][1]) or sentence(results["strict"][1])
    return {"bug": source.stem.replace("_", " "), "program": source.stem, "reported": reports(source),
            "arch": "100" if head(source).endswith("Blackwell.") else "90", "default": results["default"][0],
            "latest": results["latest"][0], "seeds": f"{failed} of {SEEDS} fail" if failed else "right",
            "check": finding(*results["check"]), "strict": finding(*results["strict"]), "says": says}


def observe_all() -> list[Row]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(observe, sources()))


def as_text(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


class FieldBugs(unittest.TestCase):
    def test_good_twins_are_right_and_silent(self) -> None:
        jobs = [(source, mode) for source in sources() for mode in GOOD_MODES]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda job: run(job[0], "good", job[1]), jobs))
        for (source, mode), (outcome, said) in zip(jobs, results):
            with self.subTest(program=source.stem, mode=mode):
                self.assertEqual(outcome, "right", said)
                self.assertNotRegex(said, r"warning|sim: check")

    def test_bad_twins_come_out_as_recorded(self) -> None:
        with open(RECORD, encoding="utf-8", newline="") as file:
            recorded = {row["program"]: row for row in csv.DictReader(file)}
        advice = f"If that is right, record it: {Path(__file__).relative_to(ROOT)} --record, then " \
                 "scripts/maintain/render.py."
        for row in observe_all():
            with self.subTest(program=row["program"]):
                self.assertEqual(row, recorded.get(row["program"]), advice)
        self.assertEqual(sorted(recorded), [source.stem for source in sources()])

    def test_programs_are_small_and_name_their_report(self) -> None:
        for source in sources():
            with self.subTest(program=source.stem):
                self.assertTrue(reports(source))
                self.assertLessEqual(len(source.read_text(encoding="utf-8").splitlines()), 60)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(as_text(observe_all()), encoding="utf-8")
    else:
        unittest.main()
