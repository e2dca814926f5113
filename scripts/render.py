#!/usr/bin/env python3
"""Fills the marked blocks of the Markdown files from docs/results/, so that no figure in them is typed by hand:

    <!-- render:progression size=8192 -->
    (whatever stands here is replaced)
    <!-- /render -->

    python3 scripts/render.py            rewrites the blocks that are out of date
    python3 scripts/render.py --check    changes nothing; prints what would change, and exits with 1 if anything would
"""
from __future__ import annotations

import difflib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence

import ladder
import tables

Options = dict[str, str]


class RenderError(Exception):
    """A block that cannot be rendered; the message names file and line."""


@dataclass
class Context:
    """What blocks are made of."""

    root: Path
    results: list[tables.Result]

    def levels(self) -> list[str]:
        return tables.all_levels(self.results, self.root)

    def markdown(self, table: tables.Table) -> str:
        return table.markdown() if table.groups else "No figures yet.\n"


# --- blocks -----------------------------------------------------------------------------------------------------------
# Each takes its options out of the dictionary; options that nobody took are an error.


def progression(context: Context, options: Options) -> str:
    """size=EDGE arch=sm90|sm100: the whole ladder at one size, every series in columns of its own."""
    edge = int(options.pop("size", str(tables.DEFAULT_EDGE)))
    archs = [ladder.parse_arch(options.pop("arch"))] if "arch" in options else ladder.ARCHES
    return context.markdown(tables.progression(context.results, context.levels(), edge, archs=archs))


def level(context: Context, options: Options) -> str:
    """level=N: one level at all sizes."""
    number = int(options.pop("level", "0"))
    named = [name for name in context.levels() if ladder.level_number(name) == number]
    if not named:
        raise ValueError("level=N must name a level")
    return context.markdown(tables.by_size(context.results, named[0]))


def ablations(context: Context, _: Options) -> str:
    """What the author of the notes tried on GB200, and what came of it."""
    path = context.root / "docs" / "results" / "gb200_ablations_reported.csv"
    kinds = {(row["kind"], row["gpu"]) for row in tables.read_rows(path)[1]}
    titles = ", ".join(f"{kind}: {gpu}" for kind, gpu in sorted(kinds))
    return tables.table_from_file(path, ("optimisation", "expected", "observed", "reason")) + f"\n{titles}.\n"


BLOCKS: dict[str, Callable[[Context, Options], str]] = {
    "progression": progression, "level": level, "ablations": ablations,
}

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
            except (ValueError, OSError, ladder.UsageError, tables.DataError) as error:
                raise RenderError(f"{where}:{number}: {error}.") from None
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


def render_files(files: Sequence[Path], context: Context, check: bool) -> int:
    """Returns how many files are, or were, out of date. Nothing is written if any block is wrong."""
    changed: list[tuple[Path, str]] = []
    for path in files:
        where = str(path.relative_to(context.root)) if path.is_relative_to(context.root) else str(path)
        before = path.read_text(encoding="utf-8")
        after = render_text(before, context, where)
        if after != before:
            changed.append((path, after))
            sys.stdout.writelines(difference(before, after, where) if check else [f"rendered {where}\n"])
    if not check:
        for path, content in changed:
            ladder.replace_file(path, content)
    return len(changed)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = ladder.Parser(description="Fills the marked blocks of the Markdown files from docs/results/.",
                           allow_abbrev=False)
    parser.add_argument("files", nargs="*", type=Path, help="default: every Markdown file of the repository")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if anything would")
    parser.add_argument("--root", type=Path, default=ladder.ROOT, help="of the repository (default: this one)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    try:
        context = Context(root, tables.load_results(root / "docs" / "results"))
        files = [path.resolve() for path in options.files] or list(markdown_files(root))
        changed = render_files(files, context, options.check)
    except (RenderError, tables.DataError, OSError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    if options.check and changed:
        are = "files are" if changed > 1 else "file is"
        ladder.give_up(1, f"{changed} {are} out of date: run python3 scripts/render.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
