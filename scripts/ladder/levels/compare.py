"""What changed in the kernel from one level to another, as `diff -w` would say: white space does not count."""
from __future__ import annotations

import difflib
import html
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder.command import UsageError
from ladder.levels import names

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


def compare_texts(before: str, after: str) -> list[Line]:
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, ["".join(text.split()) for text in old],
                                      ["".join(text.split()) for text in new], autojunk=False)
    lines: list[Line] = []
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind == "equal":
            lines += [Line(new[j + n], i + n + 1, j + n + 1) for n in range(i_end - i)]
            continue
        removed, added = old[i:i_end], new[j:j_end]
        lines += [Line(text, i + n + 1, None, added[n] if n < len(added) else "") for n, text in enumerate(removed)]
        lines += [Line(text, None, j + n + 1, removed[n] if n < len(removed) else "") for n, text in enumerate(added)]
    return lines


def compare(root: Path, before: str, after: str, arch: int) -> Comparison:
    """The kernels of two levels. Raises OSError if one of them has none for this architecture."""
    paths = [names.kernel_path(root, level, arch) for level in (before, after)]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    shown = [path.relative_to(root).as_posix() for path in paths]
    return Comparison(shown[0], shown[1], compare_texts(*texts))


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


def choose(text: str, arch: int, root: Path) -> str:
    """The name of a level that has a kernel for this architecture. Raises UsageError."""
    level = names.find_level(text, names.all_levels(root))
    if not names.has_kernel(level, arch, root):
        raise UsageError(f"{level} has no kernel for sm{arch}.")
    return level
