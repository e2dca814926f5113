#!/usr/bin/env python3
"""Shows a run on the simulated device, event by event, on one page for a browser. It has what each warp and unit does,
why warps wait and what releases them, the state of every barrier and stage at any moment, and the line of CUDA behind
each event.

    explore.py 6                                level 06, with level 05 beside it
    explore.py 5 --arch sm90 --beside 6         any two levels
    explore.py --sms 2 PROGRAM ARGUMENT...      any program that sim.sh runs; options stand before it
    explore.py trace.json                       what sim.sh --trace has recorded
    explore.py --all FOLDER                     a page per level and architecture, and an index, for any web server;
                                                --site: the folder is one of the course's site, and links lead there

A page needs no network and no server. Times are the simulated device's: modelled, in cycles; with --timing those of its
timing model, which computes nothing. With --check, the order checker's findings are shown where they
happen.

Exit codes: 0 written; 1 the kernel fails, and the page shows how far it came, or there is nothing to show; 2 wrong
command line, a file that is no trace, or a level that is not built.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Optional

from ladder import command, files
from ladder.explorer import record
from ladder.explorer.page import Page, render, render_index
from ladder.explorer.record import Choice, Recording
from ladder.levels import names
from ladder.levels.shapes import parse_size

OUTPUT = files.BUILD / "explorer"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--arch", default="sm100", metavar="sm90|sm100", help="of a level (default: %(default)s)")
    parser.add_argument("--beside", metavar="LEVEL|TRACE|none",
                        help="another level or trace on the same axis (default: the level before)")
    parser.add_argument("--size", metavar="MxNxK", help="of a level's product (default: three tiles for each CTA)")
    parser.add_argument("--config", metavar="NAME", help="of a level")
    parser.add_argument("--sms", type=command.whole_number, metavar="N", help="of the simulated GPU (of a level: 2)")
    for check in ("--check", "--check=strict"):
        parser.add_argument(check, action="append_const", const=check, dest="sim", help=f"what sim.sh {check} finds")
    parser.add_argument("--timing", action="append_const", const="--timing", dest="sim",
                        help="in the cycles of the timing model")
    parser.add_argument("--latest", action="append_const", const="--latest", dest="sim",
                        help="the schedule that delays every effect")
    parser.add_argument("--ctas", metavar="LIST",
                        help="whose events are shown, such as 0,1 (default: the first cluster)")
    parser.add_argument("--launch", type=int, default=0, metavar="N", help="which launch, counted from 0")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: build/explorer/NAME.html")


def parse() -> argparse.Namespace:
    """Options of a level or trace may follow it; what follows a program is the program's."""
    parser = command.Parser(__doc__)
    parser.add_argument("source", nargs="?", metavar="LEVEL|PROGRAM|TRACE", help="the run to show")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="of the program")
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="write the pages of all levels there")
    parser.add_argument("--site", action="store_true", help="with --all: link to the course's site around the folder")
    add_options(parser)
    options = parser.parse_args()
    if (options.source is None) == (options.all is None):
        raise command.UsageError("name a level, a program or a trace, or --all FOLDER (scripts/explore.py --help).")
    options.is_program = options.source is not None and is_program(options.source)
    if not options.is_program and options.arguments:
        more = command.Parser(__doc__)
        add_options(more)
        more.parse_args(options.arguments, options)
    return options


def is_program(source: str) -> bool:
    path = Path(source)
    if path.is_file():
        return not record.looks_like_a_trace(path)
    if names.looks_like_a_level(source):
        return False
    raise command.UsageError(f"{source} is neither a level nor a file: neither a program nor a trace.")


def choice_of(options: argparse.Namespace) -> Choice:
    try:
        ctas = tuple(int(text) for text in options.ctas.split(",")) if options.ctas else None
    except ValueError:
        raise command.UsageError(
            f"--ctas: numbers with commas between them are needed, not '{options.ctas}'.") from None
    shape = parse_size(options.size) if options.size else None
    sim = tuple(options.sim or ())
    if "--timing" in sim and len(sim) > 1:
        raise command.UsageError("--timing computes nothing in one schedule: it goes without --check and --latest.")
    return Choice(options.sms, shape, options.config, options.launch, ctas, sim)


def recording_of(source: str, arch: int, choice: Choice) -> Recording:
    """Of a level or a trace."""
    if record.looks_like_a_trace(Path(source)):
        return record.of_trace(Path(source), choice)
    level = names.find_level(source, names.all_names())
    if not names.has_kernel(level, arch):
        raise command.UsageError(f"{level} has no kernel for sm{arch}.")
    return record.of_level(level, arch, choice)


def beside(first: Recording, wanted: Optional[str], arch: int, choice: Choice) -> Optional[Recording]:
    if wanted == "none":
        return None
    if wanted is None:
        before = record.level_before(first.description.level, arch) if first.description else None
        return record.of_level(before, arch, record.same_problem(first, choice)) if before else None
    return recording_of(wanted, arch, record.same_problem(first, choice))


COURSE = ("Course", "../index.html")


def page_of(first: Recording, second: Optional[Recording], arch: int, links: Sequence[tuple[str, str]] = ()) -> Page:
    runs = [{**each.data, "title": each.title, "subtitle": each.subtitle}
            for each in (first, second) if each is not None]
    idea = first.description.idea if first.description else first.subtitle
    return Page(first.title, idea, runs, record.labs_of(first, arch), links, second.title if second else None)


def write_all(folder: Path, in_site: bool) -> None:
    """A page per kernel, and the index when they are all there."""
    kernels = names.all_kernels(files.ROOT)
    file_of = {key: f"{names.short(key[0])}_sm{key[1]}.html" for key in kernels}

    def make(key: tuple[str, int]) -> tuple[Recording, str]:
        level, arch = key
        first = record.of_level(level, arch, Choice())
        links = [("All", "index.html"), *((names.ARCH_NAMES[other], file_of[level, other])
                                          for other in names.ARCH_NAMES if other != arch and (level, other) in file_of)]
        if in_site:
            links += [COURSE, ("Lesson", f"../{level}/index.html"), ("Playground", f"../playground/{file_of[key]}")]
        return first, render(page_of(first, beside(first, None, arch, Choice()), arch, links))

    with ThreadPoolExecutor() as pool:
        made = dict(zip(kernels, pool.map(make, kernels)))
    for key, (_, text) in made.items():
        files.replace(folder / file_of[key], text)
    rows = []
    for level in names.all_levels():
        links = [(names.ARCH_NAMES[arch], file_of[level, arch]) for arch in names.ARCH_NAMES if (level, arch) in made]
        first = made[next(key for key in made if key[0] == level)][0]
        rows.append((f"Level {names.number_of(level):02}", first.description.idea if first.description else "", links))
    files.replace(folder / "index.html", render_index(rows, [COURSE] if in_site else []))
    size = sum(len(text.encode()) for _, text in made.values())
    print(f"{folder / 'index.html'}: {len(made)} pages, {size / 1e6:.1f} MB")


def main() -> int:
    options = parse()
    if options.all is not None:
        if options.all.exists() and not options.all.is_dir():
            raise command.UsageError(f"--all {options.all}: a folder is needed.")
        write_all(options.all, options.site)
        return command.EXIT_RIGHT
    if options.output:
        files.require_file_name("-o", options.output)
    arch, choice = names.parse_arch(options.arch), choice_of(options)
    if options.is_program:
        first = record.of_program(Path(options.source), options.arguments, choice)
    else:
        first = recording_of(options.source, arch, choice)
    second = beside(first, options.beside, arch, choice)
    output = options.output or OUTPUT / f"{name_of(first, options.source)}.html"
    files.replace(output, render(page_of(first, second, arch)))
    print(f"{output}: {first.title}, {len(first.data['trace']['traceEvents']):,} events")
    if first.failed:
        print(f"{command.program}: {first.subtitle}.", file=sys.stderr)
    return command.EXIT_WRONG if first.failed else command.EXIT_RIGHT


def name_of(recording: Recording, source: str) -> str:
    if recording.description is None:
        return Path(source).stem
    return f"{names.short(recording.description.level)}_sm{recording.description.arch}"


if __name__ == "__main__":
    command.run(main)
