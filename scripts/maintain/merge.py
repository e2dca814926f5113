#!/usr/bin/env python3
"""Merges files of results: the parts of a sweep that was spread with --shard.

    merge.py --output sweep.csv sweep.1of2.csv sweep.2of2.csv

Tables (.csv) get the columns of all parts; other files are lines of JSON. A row that several parts have is written
once, in the order of its first appearance. The parts are kept. Names that say which part they are (sweep.KofN.csv, as
--shard has them by default) must be those of all N parts.

Exit codes: 0; 2 wrong command line, or a file that is missing or damaged; 3 a part is missing, or present twice. Then
nothing is written.
"""
from __future__ import annotations

import sys
from pathlib import Path

from ladder import command, files, shards


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("parts", nargs="+", type=Path, metavar="PART")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE")
    options = parser.parse_args()
    is_known = shards.check_complete(options.parts)
    text = shards.merge(options.parts)
    files.replace(options.output, text)
    if not is_known and len(options.parts) > 1:
        print("merge.py: the names do not say which parts these are, as sweep.1of2.csv does: whether one is missing is "
              "not known.", file=sys.stderr)
    return command.EXIT_RIGHT


if __name__ == "__main__":
    command.run(main)
