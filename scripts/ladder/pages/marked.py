"""The marked blocks of the Markdown files, and what lies in docs/charts/: what is out of date, and bringing it up to
date.

    <!-- render:progression size=8192 -->
    (whatever stands here is replaced)
    <!-- /render -->

A figure within a sentence has both marks on its line: <!-- render:figure of=h100 ... -->627 TFLOPS<!-- /render -->.
"""
from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Callable

from ladder import files
from ladder.command import Failure, sentence_of
from ladder.context import Context
from ladder.draw import charts, gallery, plots
from ladder.files import CHARTS, name_of
from ladder.pages.blocks import BLOCKS, INLINE


class RenderError(Failure):
    """A block that cannot be rendered; the message names file and line."""


Block = Callable[[Context, dict[str, str]], str]


# --- files ------------------------------------------------------------------------------------------------------------

OPENING = r'<!-- render:(?P<name>[\w-]+)(?P<options>(?: +[\w-]+=(?:"[^"]*"|[^\s>"]+))*) +-->'
BEGIN = re.compile(rf"\s*{OPENING}\s*")
WITHIN = re.compile(rf"(?P<opening>{OPENING})(?P<content>[^<\n]*)(?P<closing><!-- /render -->)")
OPTION = re.compile(r'([\w-]+)=("[^"]*"|[^\s>"]+)')
END = re.compile(r"\s*<!-- /render -->\s*")
MARK = re.compile(r"\s*<!--\s*/?\s*render\b")
FENCE = re.compile(r"\s*(```+|~~~+)")


def render_block(match: re.Match[str], context: Context, blocks: Mapping[str, Block] = BLOCKS) -> str:
    name = match["name"]
    if name not in blocks:
        raise ValueError(f"there is no block '{name}' here, only {', '.join(blocks)}")
    options = {name: value.strip('"') for name, value in OPTION.findall(match["options"])}
    content = blocks[name](context, options)
    if options:
        raise ValueError(f"block '{name}' has no option '{next(iter(options))}'")
    return content


def render_line(line: str, context: Context) -> str:
    """A line of prose, with the figures in it."""
    return WITHIN.sub(lambda match: f"{match['opening']}{render_block(match, context, INLINE)}{match['closing']}", line)


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
            except (ValueError, OSError, Failure) as error:
                raise RenderError(f"{where}:{number}: {sentence_of(error)}") from None
        elif end and open_line:
            open_line = 0
            output.append(line)
        elif not open_line and WITHIN.search(line):
            try:
                output.append(render_line(line, context))
            except (ValueError, OSError, Failure) as error:
                raise RenderError(f"{where}:{number}: {sentence_of(error)}") from None
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


def render_pages(pages: Sequence[Path], context: Context) -> dict[Path, str]:
    """What the pages should be. Raises RenderError."""
    texts = {}
    for path in pages:
        context.page = name_of(path, context.root)
        texts[path] = render_text(path.read_text(encoding="utf-8"), context, str(context.page))
    return texts


def stale_pages(texts: Mapping[Path, str]) -> dict[Path, str]:
    return {path: text for path, text in texts.items() if path.read_text(encoding="utf-8") != text}


# --- images -----------------------------------------------------------------------------------------------------------


def shown_images(texts: Iterable[str]) -> set[str]:
    """The names of the images in docs/charts/ that pages show."""
    return {name for text in texts for name in re.findall(rf"\b{CHARTS.name}/(\w+)\.svg\b", text)}


def stale_images(context: Context, shown: set[str]) -> dict[Path, Callable[[], str]]:
    """The pictures and charts of pages that are out of date, with what draws them. Pictures are compared by drawing
    them; charts by their seals, since drawing them takes matplotlib."""
    found: dict[Path, Callable[[], str]] = {}
    for name in sorted(shown):
        path = context.root / CHARTS / f"{name}.svg"
        drawing, chart = gallery.draw(context, name), charts.all_charts(context).get(name)
        if drawing and not (path.exists() and path.read_text(encoding="utf-8") == drawing.svg()):
            found[path] = drawing.svg
        if chart and not plots.is_current(chart, path):
            found[path] = partial(charts.draw, chart)
    return found


def left_over_images(context: Context, shown: set[str]) -> list[Path]:
    """Images that no page shows."""
    return [path for path in sorted((context.root / CHARTS).glob("*.svg")) if path.stem not in shown]


# --- all of it --------------------------------------------------------------------------------------------------------


def check(context: Context, pages: Sequence[Path], with_images: bool) -> int:
    """Prints what would change: pages line by line, images by name. Returns how many files would."""
    texts = render_pages(pages, context)
    changed = stale_pages(texts)
    for path, after in changed.items():
        sys.stdout.writelines(difference(path.read_text(encoding="utf-8"), after, str(name_of(path, context.root))))
    if not with_images:
        return len(changed)
    shown = shown_images(texts.values())
    stale, left_over = stale_images(context, shown), left_over_images(context, shown)
    sys.stdout.writelines(f"{name_of(path, context.root)} is out of date\n" for path in stale)
    sys.stdout.writelines(f"{name_of(path, context.root)} is on no page\n" for path in left_over)
    return len(changed) + len(stale) + len(left_over)


def render(context: Context, pages: Sequence[Path], with_images: bool) -> list[str]:
    """Writes what is out of date, and removes images that no page shows. Returns the charts that it could not draw. If
    a block is wrong, nothing is written. Raises RenderError."""
    texts = render_pages(pages, context)
    undrawn = []
    for path, text in stale_pages(texts).items():
        write(path, text, context.root)
    if with_images:
        shown = shown_images(texts.values())
        for path, draw in stale_images(context, shown).items():
            if path.stem in charts.all_charts(context) and not plots.can_draw():
                undrawn.append(path.stem)
            else:
                write(path, draw(), context.root)
        for path in left_over_images(context, shown):
            path.unlink()
            print(f"removed {name_of(path, context.root)}")
    return undrawn


def write(path: Path, content: str, root: Path) -> None:
    files.replace(path, content)
    print(f"rendered {name_of(path, root)}")
