"""Lines of a kernel's source by their code. Results name a line by its label, so that a comment, or a line of
code elsewhere in the file, changes no result; pages show the lines of today.

A label is the line's code; of a call of a PTX wrapper it is the call alone: "mbarrier_wait(smem_full(stage), phase)".
Where several lines have the same code, the second in the file is "... #2".
"""
from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from ladder.levels import names

_PLACE = re.compile(r"((?:^|[ (])(?:\S*kernel_sm\d+\.cuh)?:|called from )(\d+)\b")
_LINES = re.compile(r"(\(lines? )(\d+(?:, \d+)*)")
_LABEL = re.compile(r"`([^`]+)`")
GONE = "?"  # the line of a label that the source no longer has


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

    def named(self, text: str) -> str:
        """The text with labels in the place of lines: "store :198" becomes "store :`stmatrix_x4(...)`"."""
        text = _PLACE.sub(lambda match: f"{match[1]}{self._quoted(match[2])}", text)
        return _LINES.sub(lambda match: match[1] + ", ".join(map(self._quoted, match[2].split(", "))), text)

    def located(self, text: str) -> str:
        """The text with the lines of today in the place of labels."""
        return _LABEL.sub(lambda match: str(self.line(match[1]) or GONE), text)

    def _quoted(self, number: str) -> str:
        return f"`{label}`" if (label := self.label(int(number))) else number


@functools.cache
def _of_kernel(kernel: Path, _: float) -> Labels:
    return Labels(names.kernel_source(kernel))


def of_kernel(root: Path, level: str, arch: int) -> Labels:
    kernel = names.kernel_path(root, level, arch)
    return _of_kernel(kernel, max(path.stat().st_mtime for path in names.kernel_parts(kernel)))
