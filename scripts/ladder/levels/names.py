"""Which levels there are, how people name them, and what belongs to each."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from ladder.command import UsageError
from ladder.files import ROOT

ARCHES = (90, 100)
ARCH_NAMES = {100: "Blackwell", 90: "Hopper"}  # Blackwell first, as in the pages
SPELLING = re.compile(r"(?:level)?0*(\d{1,2})(_\w+)?/?", re.ASCII)


def number_of(level: str) -> int:
    """1 of "level01_baseline"; 0 if it is no level's name."""
    match = re.fullmatch(r"level(\d\d)_\w+", level)
    return int(match[1]) if match else 0


def short(level: str) -> str:
    """"level01" of "level01_baseline"."""
    return level[:len("level01")]


def all_levels(root: Path = ROOT) -> list[str]:
    """The names of the levels that are built, which are the names of their folders, in order."""
    named = re.findall(r"^add_level\((\w+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(name for name in named if number_of(name))


def _spelt(text: str) -> Optional[tuple[int, str]]:
    """Number and rest of a level's name that is written 5, 05, level05 or level05_persistent; the rest may be empty."""
    match = SPELLING.fullmatch(text.strip())
    return (int(match[1]), match[2] or "") if match else None


def looks_like_a_level(text: str) -> bool:
    """Whether it is written as a level may be; there need not be one of this name."""
    return _spelt(text) is not None


def find_level(text: str, levels: Sequence[str]) -> str:
    """The one of `levels` that is written 5, 05, level05 or level05_persistent. Raises UsageError."""
    if spelt := _spelt(text):
        number, rest = spelt
        for level in levels:
            if number_of(level) == number and rest in ("", level[len(short(level)):]):
                return level
    raise _no_level(text, levels)


def _no_level(text: str, levels: Sequence[str]) -> UsageError:
    there = ", ".join(str(number_of(level)) for level in levels) or "none"
    named = f"level {text if _spelt(text) else repr(text)}".replace("level level", "level")
    return UsageError(f"there is no {named}, only {there}. A level is written 5, 05, level05 or level05_persistent.")


def choose_levels(text: str, levels: Sequence[str]) -> list[str]:
    """Those of `levels` that a list such as "1-8" or "1,level03-5" names. A range may reach beyond what there is, but
    an item that names nothing is an error. Raises UsageError."""
    chosen: set[str] = set()
    for item in text.split(","):
        first, _, last = map(_spelt, item.partition("-"))
        if "-" not in item:
            chosen.add(find_level(item, levels))
            continue
        if first is None or last is None:
            raise UsageError(f"'{item}' is no range of levels such as 1-8 or level03-level05.")
        named = {level for level in levels if first[0] <= number_of(level) <= last[0]}
        if not named:
            raise _no_level(item, levels)
        chosen |= named
    return sorted(chosen)


def parse_arch(text: str) -> int:
    match = re.fullmatch(r"(?:sm_?)?(90|100)a?", text)
    if not match:
        raise UsageError(f"--arch must be sm90 (Hopper) or sm100 (Blackwell), not '{text}'.")
    return int(match[1])


# --- what belongs to a level ------------------------------------------------------------------------------------------


def kernel_path(root: Path, level: str, arch: int) -> Path:
    return root / level / f"kernel_sm{arch}.cuh"


def has_kernel(level: str, arch: int, root: Path = ROOT) -> bool:
    """Whether there is an executable of this level for this architecture."""
    return kernel_path(root, level, arch).exists()


def all_kernels(root: Path) -> list[tuple[str, int]]:
    """Level and architecture of every kernel, level by level, Blackwell first."""
    return [(level, arch) for level in all_levels(root) for arch in ARCH_NAMES if has_kernel(level, arch, root)]


def target(level: str, arch: int) -> str:
    return f"{level}_sm{arch}"


def executable(level: str, arch: int, build: Path) -> Path:
    return build / "bin" / target(level, arch)
