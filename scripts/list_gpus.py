#!/usr/bin/env python3
"""Lists the GPUs of this machine, one on each line: its compute capability times ten, a tab, and its name. Prints
nothing if there is none."""
from __future__ import annotations

from ladder import command
from ladder.levels import gpus


def main() -> int:
    command.Parser(__doc__).parse_args()
    for gpu in gpus.ask_driver():
        print(f"{gpu.arch}\t{gpu.name}")
    return 0


if __name__ == "__main__":
    command.run(main)
