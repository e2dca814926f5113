"""Which levels there are, how they are written, and what belongs to each.

Beside the levels stands the production kernel, which is none of them. Commands that run one kernel or several take its
name where they take a level's.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from ladder.command import UsageError
from ladder.files import ROOT

ARCHES = (90, 100)
ARCH_NAMES = {100: "Blackwell", 90: "Hopper"}  # Blackwell first, as in the pages
PRODUCTION = "production"
PRODUCTION_FOLDER = Path("level08_deep_pipeline") / PRODUCTION
SPELLING = re.compile(r"(?:level)?0*(\d{1,2})(_\w+)?/?", re.ASCII)


def number_of(level: str) -> int:
    """1 of "level01_baseline"; 0 if it is no level's name."""
    match = re.fullmatch(r"level(\d\d)_\w+", level)
    return int(match[1]) if match else 0


def is_kernel(text: str) -> bool:
    """Whether it is a name as a level has one, or that of the production kernel."""
    return number_of(text) > 0 or text == PRODUCTION


def short(level: str) -> str:
    """"level01" of "level01_baseline", "production" of "production"."""
    return level if level == PRODUCTION else level[:len("level01")]


def title(level: str) -> str:
    """"level 01" of "level01_baseline", "production" of "production"."""
    return f"level {number_of(level):02}" if number_of(level) else level


def head(level: str) -> str:
    """The same for a narrow column: "01" of "level01_baseline"."""
    return f"{number_of(level):02}" if number_of(level) else level


def all_levels(root: Path = ROOT) -> list[str]:
    """The names of the levels that are built, which are the names of their folders, in order."""
    named = re.findall(r"^add_level\((\w+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(name for name in named if number_of(name))


def all_names(root: Path = ROOT) -> list[str]:
    """All levels, in order, and the production kernel."""
    return [*all_levels(root), *([PRODUCTION] if (root / PRODUCTION_FOLDER).exists() else [])]


def _spelt(text: str) -> Optional[tuple[int, str]]:
    """Number and rest of a level's name that is written 5, 05, level05 or level05_persistent; the rest may be empty."""
    match = SPELLING.fullmatch(text.strip())
    return (int(match[1]), match[2] or "") if match else None


def looks_like_a_level(text: str) -> bool:
    """Whether it is written as a level may be; there need not be one of this name."""
    return _spelt(text) is not None


def find_level(text: str, levels: Sequence[str]) -> str:
    """The one of `levels` that is written 5, 05, level05, level05_persistent or production. Raises UsageError."""
    if text.strip().rstrip("/") in levels:
        return text.strip().rstrip("/")
    if spelt := _spelt(text):
        number, rest = spelt
        for level in levels:
            if number_of(level) == number > 0 and rest in ("", level[len(short(level)):]):
                return level
    raise _no_level(text, levels)


def _no_level(text: str, levels: Sequence[str]) -> UsageError:
    there = ", ".join(str(number_of(level) or level) for level in levels) or "none"
    named = f"level {text if _spelt(text) else repr(text)}".replace("level level", "level")
    return UsageError(f"there is no {named}, only {there}. A level is written 5, 05, level05 or level05_persistent.")


def choose_levels(text: str, levels: Sequence[str]) -> list[str]:
    """Those of `levels` that a list such as "1-8,production" or "1,level03-5" names. A range may reach beyond what
    there is, but an item that names nothing is an error. Raises UsageError."""
    chosen: set[str] = set()
    for item in text.split(","):
        first, _, last = map(_spelt, item.partition("-"))
        if "-" not in item:
            chosen.add(find_level(item, levels))
            continue
        if first is None or last is None:
            raise UsageError(f"'{item}' is no range of levels such as 1-8 or level03-level05.")
        named = {level for level in levels if max(first[0], 1) <= number_of(level) <= last[0]}
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


def folder(level: str, root: Path = ROOT) -> Path:
    return root / (PRODUCTION_FOLDER if level == PRODUCTION else level)


def kernel_path(root: Path, level: str, arch: int) -> Path:
    return folder(level, root) / f"kernel_sm{arch}.cuh"


def kernel_parts(kernel: Path) -> list[Path]:
    """The files of a kernel: its own, then those that it is cut into, in a folder of the architecture's name."""
    return [kernel, *sorted((kernel.parent / kernel.stem.removeprefix("kernel_")).glob("*.cuh"))]


def kernel_source(kernel: Path) -> list[str]:
    """The lines of all files of a kernel, one file after the other. Where a line of a kernel is named by a number, this
    is what it counts."""
    return [line for path in kernel_parts(kernel) for line in path.read_text(encoding="utf-8").splitlines()]


def has_kernel(level: str, arch: int, root: Path = ROOT) -> bool:
    """Whether there is an executable of this level for this architecture."""
    return kernel_path(root, level, arch).exists()


def kernels_of(levels: Sequence[str], root: Path) -> list[tuple[str, int]]:
    """Level and architecture of their kernels, level by level, Blackwell first."""
    return [(level, arch) for level in levels for arch in ARCH_NAMES if has_kernel(level, arch, root)]


def all_kernels(root: Path) -> list[tuple[str, int]]:
    """Those of all levels."""
    return kernels_of(all_levels(root), root)


def target(level: str, arch: int) -> str:
    return f"{level}_sm{arch}"


def executable(level: str, arch: int, build: Path) -> Path:
    return build / "bin" / target(level, arch)
