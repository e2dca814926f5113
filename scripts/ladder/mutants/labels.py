"""Lines of a kernel's source by their code. Results name a line by its label, so that a comment, or a line of
code elsewhere in the file, changes no result; pages show the lines of today.

A label is the line's code; of a call of a PTX wrapper it is the call alone: "mbarrier_wait(smem_full(stage), phase)".
Where several lines have the same code, the second in the file is "... #2". A list of places in a column of results has
them in backquotes.
"""
from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from ladder.levels import names

_ITEM = re.compile(r"([^`;]*?) ?(?:`([^`]+)`)?(?:; |$)")
_CALL = re.compile(r"\b(?!(?:if|for|while|switch)\b)([A-Za-z_]\w*)\s*(?:<[^()]*>)?\(")
NONE = "-"  # an item of a list that is not there

Item = tuple[str, str]  # what an instruction does, and its label; either may be empty


def code_of(line: str) -> str:
    """A line of source without its comment."""
    return line.partition("//")[0].strip()


def _short(code: str) -> str:
    """The call of a PTX wrapper, if there is one, with its arguments."""
    start = code.find("ptx::")
    if start < 0:
        return code
    depth = 0
    for index, letter in enumerate(code[start:], start):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return code[start + len("ptx::"):index + 1]
    return code[start + len("ptx::"):]


def call_of(code: str) -> str:
    """The function that a line of code calls, a PTX wrapper if there is one; empty if there is none."""
    found = _CALL.search(_short(code))
    return found[1] if found else ""


class Labels:
    """Of one source. Lines are counted from 1."""

    def __init__(self, source: Sequence[str]) -> None:
        self._labels: dict[int, str] = {}
        seen: Counter[str] = Counter()
        for number, line in enumerate(source, start=1):
            code = _short(code_of(line))
            seen[code] += 1
            self._labels[number] = code if seen[code] == 1 else f"{code} #{seen[code]}"
        self._lines = {label: number for number, label in self._labels.items()}

    def label(self, line: int) -> str:
        return self._labels.get(line, "")

    def line(self, label: str) -> Optional[int]:
        """None if the source no longer has it."""
        return self._lines.get(label)

    def place(self, item: Item) -> str:
        """"store :198", with the line of today; "?" if there is none."""
        what, label = item
        return f"{what} :{self.line(label) or '?'}".strip() if label else what


def cell(items: Iterable[Item]) -> str:
    """A list in a column of results: "store `stmatrix_x4(...)`; its end"."""
    return "; ".join(f"{what} `{label}`".strip() if label else what or NONE for what, label in items)


def items(text: str) -> list[Item]:
    """What `cell` has made a text of."""
    return [("", "") if what == NONE else (what, label) for what, label in _ITEM.findall(text) if what or label]


@functools.cache
def _of_kernel(kernel: Path, _: float) -> Labels:
    return Labels(names.kernel_source(kernel))


def of_kernel(root: Path, level: str, arch: int) -> Labels:
    kernel = names.kernel_path(root, level, arch)
    return _of_kernel(kernel, max(path.stat().st_mtime for path in names.kernel_parts(kernel)))
