#!/usr/bin/env python3
"""Compares D, bit for bit, of a real H100 or H200 (docs/results/*_digests.csv) and a simulated one in exact arithmetic.

    digests.py --sim scripts/sim.sh --bin build/bin --results docs/results [--all]

Every recorded level runs at every recorded shape that takes a moment, and at one that takes longer; but not integers,
which suite.py compares with exact sums. With --all also integers and larger shapes, of the largest only one run of each
configuration; what would take minutes is left out in any case. Exit codes: 0 all equal, 1 some differ,
or nothing is recorded.
"""
from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RECORD = ("gpu", "date", "commit")  # columns that say where a digest is from
QUICK, SMALL, LARGE = 2**28, 2**30, 2**31  # multiply-adds; about 2^29 a second on one core


def multiply_adds(row: dict[str, str]) -> int:
    return int(row["m"]) * int(row["n"]) * int(row["k"])


def selection(rows: list[dict[str, str]], everything: bool) -> list[dict[str, str]]:
    """The longest first. What two GPUs gave alike is there once."""
    rows = list({tuple(value for name, value in row.items() if name not in RECORD): row for row in rows}.values())
    small = [row for row in rows if multiply_adds(row) <= SMALL]
    large = {(row["m"], row["n"], row["k"], row["config"]): row for row in rows if SMALL < multiply_adds(row) < LARGE}
    if not everything:
        small = [row for row in small if multiply_adds(row) <= QUICK and row["init"] != "int"]
        large = dict([*large.items()][:1])
    return sorted([*large.values(), *small], key=multiply_adds, reverse=True)


def compare(sim: str, folder: Path, row: dict[str, str]) -> str:
    """"" if the simulated device gives the recorded D, else what it gives."""
    program = folder / f"{row['level']}_sm{row['arch']}"
    command = [sim, "--gpu", "h200", "--arith", "exact", "--threads", "1", str(program), "--verify", "off", "--digest"]
    for option in ("m", "n", "k", "init", "seed", "config"):
        if row.get(option):
            command += [f"--{option}", row[option]]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"digest ([0-9a-f]{16})", done.stdout)
    if done.returncode == 0 and found and found[1] == row["digest"]:
        return ""
    said = f"digest {found[1]}" if found else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return f"{' '.join(command)}\n  an {row['gpu']} gave {row['digest']}, the simulated one: {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, str]] = []
    for path in sorted(options.results.glob("*_digests.csv")):
        with path.open(newline="") as file:
            rows += [row for row in csv.DictReader(file) if row["arch"] == "90"]
    chosen = selection(rows, options.all)
    if not chosen:
        print(f"{options.results} has no digest that the simulated device could repeat. scripts/bench.py --digests "
              "records them.")
        return 1
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        differences = [text for text in pool.map(lambda row: compare(options.sim, options.bin, row), chosen) if text]
    for text in differences:
        print(text)
    print(f"{len(chosen) - len(differences)} of {len(chosen)} runs give the GPUs' D, bit for bit.")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
