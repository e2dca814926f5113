#!/usr/bin/env python3
"""Heat-maps of a sweep: two parameters across and up, a third from panel to panel, the best of all others in each cell.

    heatmap.py docs/results/h200_autotune_sgemm.csv [--output FOLDER]

The best point is marked. A cell without a number says why: what dropped its points, or what went wrong with them. A
sweep on the simulated device has no speeds: its maps show what is right.

Exit codes: 0; 2 wrong command line, no such sweep, or no matplotlib.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command, files
from ladder.draw import heat_maps, plots


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("sweep", type=Path, help="the CSV file of autotune.py")
    parser.add_argument("--output", type=Path, default=files.ROOT / files.CHARTS, metavar="FOLDER",
                        help="default: docs/charts")
    options = parser.parse_args()
    if not plots.can_draw():
        raise command.UsageError("heat-maps are drawn by matplotlib, and this Python has none: scripts/setup.sh "
                                 "installs it.")
    made = heat_maps.make_all(options.sweep)
    if not made:
        raise command.UsageError(f"{options.sweep} holds no two points of a space, which a map would compare.")
    for name, chart in made.items():
        path = options.output / f"{name}.svg"
        files.replace(path, heat_maps.draw(chart))
        print(f"drew {path}")
    return 0


if __name__ == "__main__":
    command.run(main)
