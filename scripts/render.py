#!/usr/bin/env python3
"""Fills the marked blocks of the Markdown files and draws everything in docs/charts/, from docs/results/ and the
kernels, so that no figure in them is typed by hand:

    <!-- render:progression size=8192 -->
    (whatever stands here is replaced)
    <!-- /render -->

    python3 scripts/render.py            rewrites what is out of date; scripts/README.md lists the blocks
    python3 scripts/render.py --check    changes nothing; prints what would change

Exit codes: 0 all is up to date; 1 something is not: found by --check, or charts that cannot be drawn without
matplotlib; 2 wrong command line, or a block or a file that cannot be right.
"""
from __future__ import annotations

import argparse
import difflib
import re
import sys
from functools import partial
from pathlib import Path
from typing import Callable, Iterator, Mapping, Optional, Sequence

sys.path.append(str(Path(__file__).resolve().parent / "autotune"))  # has the heat-maps

import charts
import heatmap
import kernels
import ladder
import pictures
import ptx_index
import tables
from blocks import BLOCKS
from recorded import CHARTS, RESULTS, Context


class RenderError(Exception):
    """A block that cannot be rendered; the message names file and line."""


# --- files ------------------------------------------------------------------------------------------------------------

BEGIN = re.compile(r"\s*<!-- render:(?P<name>[\w-]+)(?P<options>(?: +[\w-]+=[^\s>]+)*) +-->\s*")
END = re.compile(r"\s*<!-- /render -->\s*")
MARK = re.compile(r"\s*<!--\s*/?\s*render\b")
FENCE = re.compile(r"\s*(```+|~~~+)")


def render_block(match: re.Match[str], context: Context) -> str:
    name = match["name"]
    if name not in BLOCKS:
        raise ValueError(f"there is no block '{name}', only {', '.join(BLOCKS)}")
    options = dict(item.split("=", 1) for item in match["options"].split())
    content = BLOCKS[name](context, options)
    if options:
        raise ValueError(f"block '{name}' has no option '{next(iter(options))}'")
    return content


def render_text(text: str, context: Context, where: str) -> str:
    """The text with all its blocks rendered. Marks inside fenced code are examples."""
    output: list[str] = []
    open_line, fence = 0, ""
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        begin, end = BEGIN.fullmatch(line), END.fullmatch(line)
        if not open_line and (mark := FENCE.match(line)):
            fence = "" if mark[1] == fence else fence or mark[1]
        if fence:
            output.append(line)
        elif begin and not open_line:
            open_line = number
            try:
                output += [line if line.endswith("\n") else line + "\n", render_block(begin, context)]
            except (ValueError, OSError, ladder.UsageError, tables.DataError, kernels.SourceError,
                    ptx_index.DocError) as error:
                raise RenderError(f"{where}:{number}: {str(error).rstrip('.')}.") from None
        elif end and open_line:
            open_line = 0
            output.append(line)
        elif MARK.match(line):
            raise RenderError(f"{where}:{number}: a mark out of place. <!-- render:NAME option=value --> begins a "
                              "block, <!-- /render --> ends it, each on a line of its own.")
        elif not open_line:
            output.append(line)
    if open_line:
        raise RenderError(f"{where}:{open_line}: this block has no end: <!-- /render -->.")
    return "".join(output)


def markdown_files(root: Path) -> Iterator[Path]:
    """All Markdown of the repository: not what was built or installed into it."""
    for entry in sorted(root.iterdir()):
        if entry.is_dir() and not entry.name.startswith(".") and not (entry / "CMakeCache.txt").exists():
            yield from markdown_files(entry)
        elif entry.suffix == ".md" and entry.is_file():
            yield entry


def difference(before: str, after: str, where: str) -> Iterator[str]:
    return difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), where,
                                f"{where} (rendered)")


def name_of(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path


def stale_pages(files: Sequence[Path], context: Context) -> dict[Path, str]:
    """The pages that are out of date, with what they should be. Raises RenderError."""
    changed = {}
    for path in files:
        context.page = name_of(path, context.root)
        before = path.read_text(encoding="utf-8")
        after = render_text(before, context, str(context.page))
        if after != before:
            changed[path] = after
    return changed


def stale_pictures(context: Context) -> dict[Path, str]:
    """The pictures that are out of date, with what they should be."""
    changed = {}
    for name, draw in pictures.gallery(context).items():
        drawing = draw()
        path = context.root / CHARTS / f"{name}.svg"
        if drawing and not (path.exists() and path.read_text(encoding="utf-8") == drawing.svg()):
            changed[path] = drawing.svg()
    return changed


def stale_charts(context: Context) -> dict[str, Callable[[Path], dict[Path, bytes]]]:
    """The charts and heat-maps that are out of date, by name, with what draws them."""
    found: dict[str, Callable[[Path], dict[Path, bytes]]] = {}
    for name, chart in charts.stale(context).items():
        found[name] = partial(charts.draw, chart)
    for sweep in sorted((context.root / RESULTS).glob("*autotune_*.csv")):
        for name, chart in heatmap.make_all(sweep).items():
            if not charts.is_current(chart, context.root / CHARTS / name):
                found[name] = partial(heatmap.draw, chart)
    return found


def check(context: Context, pages: Sequence[Path], with_images: bool) -> int:
    """Prints what would change: pages line by line, pictures and charts by name. Returns how many files would."""
    changed = stale_pages(pages, context)
    for path, after in changed.items():
        sys.stdout.writelines(difference(path.read_text(encoding="utf-8"), after, str(name_of(path, context.root))))
    images = [str(name_of(path, context.root)) for path in stale_pictures(context)] if with_images else []
    images += [str(CHARTS / name) for name in stale_charts(context)] if with_images else []
    sys.stdout.writelines(f"{name} is out of date\n" for name in images)
    return len(changed) + len(images)


def render(context: Context, pages: Sequence[Path], with_images: bool) -> list[str]:
    """Writes what is out of date, images first: pages may show them. Returns the charts that it could not draw."""
    stale = stale_charts(context) if with_images else {}
    changed = stale_pages(pages, context)  # if a block is wrong, nothing is written
    if with_images:
        write(stale_pictures(context), context.root)
    if stale and charts.can_draw():
        for name, draw in stale.items():
            write(draw(context.root / CHARTS / name), context.root)
        stale, changed = {}, stale_pages(pages, context)
    write(changed, context.root)
    return list(stale)


def write(files: Mapping[Path, str | bytes], root: Path) -> None:
    for path, content in files.items():
        ladder.replace_file(path, content)
        print(f"rendered {name_of(path, root)}")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = ladder.Parser(description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="only the blocks of these pages, and no pictures or charts")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if anything would")
    parser.add_argument("--root", type=Path, default=ladder.ROOT, help="of the repository (default: this one)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    pages = [path.resolve() for path in options.files] or list(markdown_files(root))
    try:
        context = Context(root, tables.load_results(root / RESULTS))
        if options.check:
            count = check(context, pages, not options.files)
            if count:
                are = "files are" if count > 1 else "file is"
                ladder.give_up(1, f"{count} {are} out of date: run python3 scripts/render.py")
        elif undrawn := render(context, pages, not options.files):
            ladder.give_up(1, f"out of date, but drawing charts needs matplotlib: {', '.join(undrawn)}. Run "
                           "scripts/setup.sh, then .venv/bin/python3 scripts/render.py.")
    except (RenderError, tables.DataError, kernels.SourceError, ladder.UsageError, OSError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
