#!/usr/bin/env python3
"""Prints the ladder as docs/results/*.csv records it: all levels at one size, or one level at all its sizes.

Every column holds one kind of number, of one GPU, and says which: measured (by this project), reported (by the author
of the notes that the course follows) or modelled (computed on the simulated device).

Exit codes: 0 printed; 2 wrong command line, or nothing to print.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command
from ladder.levels import names
from ladder.results import data, table


def main() -> int:
    parser = command.Parser(__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--size", type=command.whole_number, default=data.DEFAULT_EDGE, metavar="EDGE",
                       help="M = N = K (default: %(default)s)")
    which.add_argument("--level", metavar="LEVEL", help="one level at all its sizes instead: 5 or level05")
    parser.add_argument("--markdown", action="store_true", help="for a README instead of a terminal")
    parser.add_argument("--results", type=Path, default=data.FOLDER, metavar="FOLDER", help="default: docs/results")
    options = parser.parse_args()
    results = data.load_results(options.results)
    levels = data.all_levels(results)
    found = (table.progression(results, levels, options.size) if options.level is None else
             table.by_size(results, names.find_level(options.level, levels)))
    if not found.groups:
        edges = sorted({result.shape[0] for result in results if len(set(result.shape)) == 1})
        raise command.UsageError(f"there are no results for this in {options.results}"
                                 + (f": M = N = K is one of {', '.join(map(str, edges))} there." if edges else "."))
    print(found.markdown() if options.markdown else found.text(), end="")
    return 0


if __name__ == "__main__":
    command.run(main)
