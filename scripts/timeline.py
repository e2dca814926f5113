#!/usr/bin/env python3
"""Draws the timeline of a kernel: TMA, tensor core, stores of D and the warps with their waits, CTA by CTA.

    scripts/sim.sh --sms 2 --trace trace.json build/bin/level05_persistent_sm100 --m 384 --n 128 --k 512 --verify off
    python3 scripts/timeline.py trace.json -o timeline.svg
    python3 scripts/timeline.py 5 --arch sm90 -o level05.svg        the recorded run of a level, from docs/results/

Times are modelled by the simulated device, with its simple costs, in cycles. A trace may also come from timers in a
kernel (scripts/maintain/profile_levels.py --trace); then times are those of a GPU.

Exit codes: 0 drawn; 2 wrong command line, no such level, or a file that is no trace.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path

from ladder import command, files
from ladder.context import Context
from ladder.draw import timelines
from ladder.draw.svg import Drawing
from ladder.levels import names
from ladder.sim import traces


def from_trace(path: Path) -> Drawing:
    try:
        reduced = traces.reduce(json.loads(path.read_text(encoding="utf-8")))
    except (traces.TraceError, ValueError) as error:
        raise command.UsageError(f"{path} is no trace: {error}.") from None
    return timelines.timeline({"": reduced}, f"{path.name}: timeline")


def from_recording(level: str, arch: int) -> Drawing:
    drawing = timelines.recorded_timeline(Context(files.ROOT, []), level, arch)
    if drawing is None:
        raise command.UsageError(f"nothing was recorded of {level} on sm{arch}: run scripts/maintain/observe.py.")
    return drawing


def draw(source: str, arch: int) -> Drawing:
    path = Path(source)
    if path.is_file():
        return from_trace(path)
    if not names.looks_like_a_level(source):
        raise command.UsageError(f"{source} is neither a file that sim.sh --trace wrote nor a level.")
    return from_recording(names.find_level(source, names.all_names()), arch)


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("source", metavar="TRACE|LEVEL",
                        help="a file that sim.sh --trace wrote, or a level: 5, level05")
    parser.add_argument("--arch", default="sm100", metavar="sm90|sm100", help="of the level (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="the SVG file (default: standard output, unless that is a terminal)")
    options = parser.parse_args()
    if options.output:
        files.require_file_name("-o", options.output)
    drawing = draw(options.source, names.parse_arch(options.arch))
    if options.output:
        files.replace(options.output, drawing.svg())
        print(f"{options.output}: {drawing.title}")
    elif sys.stdout.isatty():
        raise command.UsageError("a picture is no text for a terminal: name a file for it, -o timeline.svg.")
    else:
        print(drawing.svg(), end="")
    return 0


if __name__ == "__main__":
    command.run(main)
