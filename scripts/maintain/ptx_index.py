#!/usr/bin/env python3
"""Which PTX instruction is taught where: prints the wrappers of common/ptx and the level that introduces each, on
either architecture.

    ptx_index.py              all wrappers
    ptx_index.py --level 5    those that level 05 is the first to call

Exit codes: 0 printed; 2 wrong command line, or a doc block that is not as common/ptx/README.md says.
"""
from __future__ import annotations

from ladder import command
from ladder.levels import instructions, names
from ladder.results.numbers import NOTHING


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("--level", metavar="LEVEL", help="only what this level introduces: 5 or level05")
    options = parser.parse_args()
    only = names.find_level(options.level, names.all_levels()) if options.level is not None else None
    for wrapper, levels in instructions.introductions().items():
        if only is None or only in levels.values():
            where = "  ".join(f"{arch_name} {names.number_of(levels[arch]) if arch in levels else NOTHING:>2}"
                              for arch, arch_name in names.ARCH_NAMES.items())
            print(f"{where}  {wrapper.name:40}  {wrapper.ptx}")
    return 0


if __name__ == "__main__":
    command.run(main)
