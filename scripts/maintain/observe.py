#!/usr/bin/env python3
"""Records the levels' descriptions of themselves and their runs on the simulated device, from which pages are rendered:

    docs/results/explain.json          tile, shared-memory map, barriers and roles of every configuration
    docs/results/sim_counters.csv      what each kernel does at one small shape, counted
    docs/results/sim_timeline_*.json   timelines, for a tile or a few of them
    docs/results/*_choice.csv          of configurations that were timed side by side, which one the level chooses

It runs the built executables, always on the simulated device, with or without a GPU; the same sources give the same
files on every machine. scripts/maintain/render.py reads the files and needs no build. The record of a kernel that
cannot run is kept.

Exit codes: 0 recorded; 1 a kernel could not run, or with --check: a file is out of date; 2 wrong command line, or not
built.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command, files
from ladder.sim import observations


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if anything would")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    options = parser.parse_args()
    contents, failures = observations.observe(observations.Levels(files.ROOT, options.build.resolve()))
    changed = observations.stale(files.ROOT, contents)
    if options.check and changed and not failures:
        command.give_up(1, f"out of date: {', '.join(map(str, changed))}. Run scripts/maintain/observe.py, then "
                        "scripts/maintain/render.py.")
    if not options.check:
        observations.write(files.ROOT, changed, contents)
    if failures:
        command.give_up(1, "\n".join(failures))
    return 0


if __name__ == "__main__":
    command.run(main)
