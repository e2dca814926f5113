#!/usr/bin/env python3
"""Shows what changed in the kernel between two levels, as `diff -w` would: white space does not count.

    python3 scripts/diff_levels.py 4 5                   Blackwell, on the terminal
    python3 scripts/diff_levels.py 4 5 --arch sm90       Hopper
    python3 scripts/diff_levels.py 4 5 --html diff.html  as a page, with both line numbers

Colours appear on terminals, unless NO_COLOR is set. Within lines that were changed, the changed words stand out.

Exit codes: 0 shown; 2 wrong command line, no such level or kernel, or the page cannot be written.
"""
from __future__ import annotations

import argparse
import difflib
import html
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional, Sequence

import kernels
import ladder

DEFAULT_ARCH = 100
CONTEXT_LINES = 3
SIMILAR = 0.5  # share of a line's words that must be equal for its changed words to be marked

# --- comparing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One line of the comparison; `before` and `after` are its numbers, from 1, in the files that have it."""

    text: str
    before: Optional[int]
    after: Optional[int]
    rival: str = ""  # the line that it replaces, or that replaces it

    @property
    def mark(self) -> str:
        return " " if self.before and self.after else "-" if self.before else "+"


@dataclass(frozen=True)
class Comparison:
    before: str  # names of the files
    after: str
    lines: list[Line]

    @property
    def added(self) -> int:
        return sum(line.mark == "+" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.mark == "-" for line in self.lines)

    def summary(self) -> str:
        return f"{self.added} lines added, {self.removed} removed"


def _common(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A longest common subsequence, as pairs of indices."""
    longest = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]  # of before[i:] and after[j:]
    for i in range(len(before) - 1, -1, -1):
        here, below = longest[i], longest[i + 1]
        for j in range(len(after) - 1, -1, -1):
            here[j] = below[j + 1] + 1 if before[i] == after[j] else max(below[j], here[j + 1])
    i = j = 0
    while i < len(before) and j < len(after):
        if before[i] == after[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1


def compare_texts(before: str, after: str) -> list[Line]:
    old, new = before.splitlines(), after.splitlines()
    lines: list[Line] = []
    i = j = 0
    pairs = _common(["".join(text.split()) for text in old], ["".join(text.split()) for text in new])
    for at_old, at_new in [*pairs, (len(old), len(new))]:
        removed, added = old[i:at_old], new[j:at_new]
        for n, text in enumerate(removed):
            lines.append(Line(text, i + n + 1, None, added[n] if n < len(added) else ""))
        for n, text in enumerate(added):
            lines.append(Line(text, None, j + n + 1, removed[n] if n < len(removed) else ""))
        if at_new < len(new):
            lines.append(Line(new[at_new], at_old + 1, at_new + 1))
        i, j = at_old + 1, at_new + 1
    return lines


def compare(root: Path, before: str, after: str, arch: int) -> Comparison:
    """The kernels of two levels. Raises OSError if one of them has none for this architecture."""
    paths = [kernels.kernel_path(root, level, arch) for level in (before, after)]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    names = [path.relative_to(root).as_posix() for path in paths]
    return Comparison(names[0], names[1], compare_texts(*texts))


def hunks(lines: Sequence[Line], context: int = CONTEXT_LINES) -> Iterator[tuple[str, list[Line]]]:
    """What changed, with a few lines around it, and the heading that it stands under."""
    near = [any(other.mark != " " for other in lines[max(0, n - context):n + context + 1]) for n in range(len(lines))]
    heading, n = "", 0
    while n < len(lines):
        if not near[n]:
            heading = _heading(lines[n]) or heading
            n += 1
            continue
        end = n
        while end < len(lines) and near[end]:
            end += 1
        yield heading, list(lines[n:end])
        heading = next((found for line in reversed(lines[n:end]) if (found := _heading(line))), heading)
        n = end


def _heading(line: Line) -> str:
    match = re.match(r"\s*// (Step \d+: [^.]*)|// -{9,} (.+)", line.text)
    return (match[1] or match[2]) if match else ""


def words(line: Line) -> list[tuple[str, bool]]:
    """The line in pieces, and which of them its rival does not have; none if they have too little in common."""
    if not line.rival:
        return [(line.text, False)]
    mine, other = re.findall(r"\w+|\s+|.", line.text), re.findall(r"\w+|\s+|.", line.rival)
    matcher = difflib.SequenceMatcher(None, mine, other, autojunk=False)
    if matcher.ratio() < SIMILAR:
        return [(line.text, False)]
    return [("".join(mine[i:j]), kind != "equal") for kind, i, j, _, _ in matcher.get_opcodes() if j > i]


# --- terminals --------------------------------------------------------------------------------------------------------

COLOURS = {"-": "31", "+": "32", "@": "36", "name": "1"}


def wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_page(comparison: Comparison, colour: bool) -> str:
    def paint(text: str, kind: str, bold: bool = False) -> str:
        return f"\033[{'1;4;' if bold else ''}{COLOURS[kind]}m{text}\033[0m" if colour and kind in COLOURS else text

    output = [paint(f"--- {comparison.before}", "name"), paint(f"+++ {comparison.after}", "name")]
    for heading, lines in hunks(comparison.lines):
        output.append(paint(_position(lines) + (f" {heading}" if heading else ""), "@"))
        for line in lines:
            pieces = words(line) if colour else [(line.text, False)]
            text = "".join(paint(piece, line.mark, changed) for piece, changed in pieces)
            output.append((paint(line.mark, line.mark) + text).rstrip())
    return "\n".join([*output, comparison.summary()]) + "\n"


def _position(lines: Sequence[Line]) -> str:
    old, new = [n.before for n in lines if n.before], [n.after for n in lines if n.after]
    return f"@@ -{old[0] if old else 0},{len(old)} +{new[0] if new else 0},{len(new)} @@"


# --- pages ------------------------------------------------------------------------------------------------------------

STYLE = """\
:root { color-scheme: light dark; --add: #dafbe1; --del: #ffebe9; --ins: #9be9a8; --out: #ffb3ad; --grey: #6e7781; }
@media (prefers-color-scheme: dark) {
  :root { --add: #12261e; --del: #2c1618; --ins: #1f6f3a; --out: #8e2b2b; --grey: #8b949e; }
}
body { font-family: system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; font: 13px/1.45 ui-monospace, monospace; }
td { white-space: pre; padding: 0 .6em; }
td.number { color: var(--grey); text-align: right; user-select: none; }
tr.added { background: var(--add); } tr.removed { background: var(--del); }
tr.heading td { color: var(--grey); padding-top: 1em; }
ins { background: var(--ins); text-decoration: none; } del { background: var(--out); text-decoration: none; }
"""


def html_page(comparison: Comparison) -> str:
    title = html.escape(f"{comparison.before} and {comparison.after}")
    rows = []
    for heading, lines in hunks(comparison.lines):
        rows.append(f'<tr class="heading"><td></td><td></td><td></td><td>{html.escape(heading) or "..."}</td></tr>')
        rows += map(_row, lines)
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n<style>\n'
            f"{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{comparison.summary()}.</p>\n<table>\n"
            + "\n".join(rows) + "\n</table>\n</body>\n</html>\n")


def _row(line: Line) -> str:
    kind = {"+": "added", "-": "removed", " ": "same"}[line.mark]
    tag = {"+": "ins", "-": "del"}.get(line.mark)
    text = "".join(f"<{tag}>{html.escape(piece)}</{tag}>" if changed else html.escape(piece)
                   for piece, changed in words(line))
    return (f'<tr class="{kind}"><td class="number">{line.before or ""}</td><td class="number">{line.after or ""}</td>'
            f"<td>{line.mark}</td><td>{text}</td></tr>")


# --- the program ------------------------------------------------------------------------------------------------------


def choose(number: int, arch: int, root: Path) -> str:
    """The name of a level that has a kernel for this architecture."""
    levels = ladder.all_levels(root)
    named = [name for name in levels if ladder.level_number(name) == number]
    if not named:
        there = ", ".join(str(ladder.level_number(name)) for name in levels)
        raise ladder.UsageError(f"there is no level {number}, only {there}.")
    if not ladder.has_kernel(named[0], arch, root):
        raise ladder.UsageError(f"{named[0]} has no kernel for sm{arch}.")
    return named[0]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = ladder.Parser(description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=ladder.whole_number, metavar="LEVEL", help="number of the one level")
    parser.add_argument("after", type=ladder.whole_number, metavar="LEVEL", help="and of the other")
    parser.add_argument("--arch", default=f"sm{DEFAULT_ARCH}", metavar="sm90|sm100", help="default: %(default)s")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page instead")
    options = parser.parse_args(arguments)
    try:
        arch = ladder.parse_arch(options.arch)
        if options.before == options.after:
            raise ladder.UsageError("two different levels are needed.")
        before, after = (choose(number, arch, ladder.ROOT) for number in (options.before, options.after))
        comparison = compare(ladder.ROOT, before, after, arch)
        if options.html:
            if options.html.is_dir() or not options.html.resolve().parent.is_dir():
                raise ladder.UsageError(f"--html {options.html}: the name of a file in an existing folder is needed.")
            ladder.replace_file(options.html, html_page(comparison))
            print(f"{options.html}: {comparison.summary()}")
        else:
            show(text_page(comparison, wants_colour()))
    except (ladder.UsageError, OSError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    return 0


def show(text: str) -> None:
    """Prints it; a reader who closes the pipe, such as `head`, has seen enough."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
