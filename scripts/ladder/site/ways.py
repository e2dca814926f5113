"""Lines of a kernel that do something else than they should, made beforehand for the playground: beside what weaken.py
knows, the order of two neighbouring lines, and rings with another number of stages."""
from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder import files
from ladder.levels import lab, names
from ladder.levels.lab import Lab
from ladder.mutants.sites import CLUSTER_BARRIER, Site
from ladder.mutants.study import Kernel

MOST_BETWEEN = 12  # lines of PTX between two instructions that change places
STAGES = re.compile(r"(static constexpr int NUM_STAGES = )(\d+);")
SIZE = re.compile(r"^static_assert\(Smem::BYTES == .*\n", re.MULTILINE)  # of the level's own number of stages
REGISTER = re.compile(r"%\w+")
DESTINATION = re.compile(r"\s*(?:@!?%\w+\s+)?[\w.:]+\s+(\{[^}]*\}|%\w+)")


def swaps(kernel: Kernel, site: Site, sites: Sequence[Site]) -> Iterator[tuple[str, str]]:
    """The kernel's PTX with the site's instruction behind that of the next marked line, and what that is; nothing if
    they do not stand in one run of instructions, or the other one needs what is computed between them."""
    following = [other for other in sites if other.line > site.line and other.instruction != CLUSTER_BARRIER]
    after = min(following, key=lambda other: other.line, default=None)
    if after is None or site.instruction == CLUSTER_BARRIER or len(after.places) != len(site.places):
        return
    lines = list(kernel.embedded.lines)
    for first, second in zip(site.places, after.places):
        between = lines[first + 1:second]
        needed = set(REGISTER.findall(lines[second]))
        made = {name for line in between if (found := DESTINATION.match(line)) for name in REGISTER.findall(found[1])}
        jumps = any(re.match(r"\s*(?:\$\w+:|(?:@\S+\s+)?bra|[{}])", line) for line in between)
        if not 0 < second - first <= MOST_BETWEEN or jumps or needed & made:
            return
        lines[first], lines[second] = lines[second], lines[first]
    yield f"after line {after.line}, {after.instruction}", "\n".join(lines)


@dataclass(frozen=True)
class Ring(Lab):
    """A level with another number of stages: a lab without a file."""

    stages: int = 0

    def write(self, folder: Path) -> None:
        lab.copy_sources(self.level, folder)
        path = names.kernel_path(folder, self.level, self.arch)
        files.replace(path, self._changed(path.read_text(encoding="utf-8")))

    def _changed(self, text: str) -> str:
        return SIZE.sub("", STAGES.sub(rf"\g<1>{self.stages};", text, count=1))

    @property
    def patch(self) -> str:
        path = names.kernel_path(files.ROOT, self.level, self.arch)
        text = path.read_text(encoding="utf-8")
        name = str(path.relative_to(files.ROOT))
        return "".join(difflib.unified_diff(text.splitlines(True), self._changed(text).splitlines(True), f"a/{name}",
                                            f"b/{name}", n=1))


def rings(level: str, arch: int) -> Iterator[Ring]:
    """With one stage less, and with half of the level's."""
    path = names.kernel_path(files.ROOT, level, arch)
    found = STAGES.search(path.read_text(encoding="utf-8"))
    count = int(found[2]) if found else 0
    for stages in sorted({count // 2, count - 1} if count > 2 else set()):
        yield Ring(level, f"stages_{stages}", path, f"{stages} stages instead of {count}: is D still right, and what "
                   "does it cost?", "D is right; the producer waits for a free stage earlier.", {"default": "right"},
                   lab.DEFAULT_RUN.split(), lab.DEFAULT_SIM.split(), arch=arch, stages=stages)
