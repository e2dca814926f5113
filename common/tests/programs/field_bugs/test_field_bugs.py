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
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "scripts"))

from ladder.levels import verdict
from ladder.levels.verdict import Finding, Verdict

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
BIN = Path(os.environ.get("LADDER_BIN", ROOT / "build/bin"))
RECORD = ROOT / "docs/results/sim_field_bugs.csv"
COLUMNS = ("bug", "program", "reported", "arch", "default", "latest", "seeds", "check", "strict",
           "missing", "instruction", "first", "second", "count", "fault")

SEEDS = 3
MODES = {"default": (), "latest": ("--latest",), **{f"seed {i}": ("--seed", str(i)) for i in range(1, SEEDS + 1)},
         "check": ("--check",), "strict": ("--check=strict",)}
GOOD_MODES = ("default", "latest", "seed 1", "strict")  # strict asks for all that --check asks for
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


def run(source: Path, twin: str, mode: str) -> Verdict:
    return verdict.simulate([str(BIN / f"field_bug_{source.stem}"), twin], ["--threads", "1", *MODES[mode]], SECONDS)


def worst(found: Verdict) -> Finding:
    """The first finding of the worst kind, or one that says only how the program ended."""
    return found.worst or Finding(found.kind)


def observe(source: Path) -> Row:
    return summary(source, {mode: run(source, "bad", mode) for mode in MODES})


def summary(source: Path, results: dict[str, Verdict]) -> Row:
    """The row of a program, from what came of it in each mode."""
    seeds = [results[mode].kind for mode in MODES if mode.startswith("seed")]
    failed = len(seeds) - seeds.count(verdict.RIGHT)
    check, strict = worst(results["check"]), worst(results["strict"])
    told = check if results["check"].findings else strict
    first, second = ([*(f"{place.noun} {place.source}".strip() for place in told.waits or told.sides), "", ""])[:2]
    return {"bug": source.stem.replace("_", " "), "program": source.stem, "reported": reports(source),
            "arch": "100" if head(source).endswith("Blackwell.") else "90", "default": results["default"].kind,
            "latest": results["latest"].kind, "seeds": f"{failed} of {SEEDS} fail" if failed else verdict.RIGHT,
            "check": check.title, "strict": strict.title, "missing": told.missing.what,
            "instruction": told.missing.instruction, "first": first, "second": second, "count": str(told.count),
            "fault": told.fault}


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
        for (source, mode), found in zip(jobs, results):
            with self.subTest(program=source.stem, mode=mode):
                self.assertEqual((found.kind, found.findings), (verdict.RIGHT, ()), found.said)

    def test_bad_twins_come_out_as_recorded(self) -> None:
        with open(RECORD, encoding="utf-8", newline="") as file:
            recorded = {row["program"]: row for row in csv.DictReader(file)}
        advice = f"If that is right, record it: {Path(__file__).relative_to(ROOT)} --record, then " \
                 "scripts/maintain/render.py."
        for row in observe_all():
            with self.subTest(program=row["program"]):
                known = recorded.get(row["program"], {})
                self.assertEqual(row, known, advice)
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
