"""Which PTX instruction is taught where: read out of the doc blocks in common/ptx and the kernels of the levels.

A wrapper is a function of common/ptx whose doc block begins with its PTX line in backticks. The level that introduces
it on an architecture is the first whose kernel calls it there, itself or in a header of common/mma that it includes.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ladder import files
from ladder.command import Failure
from ladder.levels import names
from ladder.levels.names import ARCH_NAMES, kernel_path
from ladder.levels.source import body, split, without_comments

FOLDER = Path("common") / "ptx"


class DocError(Failure):
    """A doc block that is not as common/ptx/README.md says; the message names file and line."""


@dataclass(frozen=True)
class Wrapper:
    """A function of common/ptx that is one PTX instruction."""

    name: str          # "tcgen05_alloc"; "wgmma_m64nNk16_bf16" for all shapes of one macro
    ptx: str           # "tcgen05.alloc.cta_group::G.sync.aligned.shared::cta.b32 [result], columns;"
    header: str        # from the repository's root: "common/ptx/tcgen05.cuh"
    line: int          # where in the header
    is_template: bool
    section: str       # of the PTX ISA: "9.7.16.7.1"; empty, like the next three, where the PTX is plain arithmetic
    instruction: str   # what that section is about: "tcgen05.alloc"
    since: str         # first PTX version: "8.6"
    target: str        # first architecture: "sm_100a"; empty if all have it
    parameters: int = 1
    shares_name: bool = False  # with another wrapper, that differs in template arguments or in how many parameters

    def is_called(self, code: str) -> bool:
        """Whether a kernel calls it. `code`: without comments."""
        name = r"wgmma_m64(?:n\d+)?k16_bf16" if self.name == "wgmma_m64nNk16_bf16" else re.escape(self.name)
        opening = "[<(]" if not self.shares_name else "<" if self.is_template else r"\("
        calls = re.finditer(rf"\bptx::{name}\s*{opening}", code)
        return any(not self.shares_name or self.is_template
                   or len(split(body(code, call.end() - 1))) == self.parameters for call in calls)


# --- the doc blocks ---------------------------------------------------------------------------------------------------

ISA = re.compile(r"\bISA (?P<section>\d[\d.]*) \((?P<instruction>[^)]+)\), "
                 r"PTX (?P<since>\d+\.\d+)(?:, (?P<target>sm_\w+))?\.")
FUNCTION = re.compile(r"__device__ __forceinline__ [\w ]+?(?P<name>\w+)\(")
SHAPES = re.compile(r"LADDER_WGMMA\(")


def _parse(text: str, header: str) -> Iterator[Wrapper]:
    block: list[str] = []
    is_template = False
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith("///"):
            block.append(line[3:].strip())
            continue
        if block and line.startswith("template"):
            is_template = True
            continue
        function = FUNCTION.match(line)
        name = function["name"] if function else "wgmma_m64nNk16_bf16" if SHAPES.match(line) else ""
        if block and not name:
            raise DocError(f"{header}:{number}: a doc block must stand right before its function.")
        if block and block[0].startswith("`"):
            doc = " ".join(block)
            isa = ISA.search(doc)
            fields: dict[str, Any] = isa.groupdict(default="") if isa else dict.fromkeys(ISA.groupindex, "")
            rest = "\n".join(lines[number - 1:])
            parameters = len(split(body(rest, rest.index("("))))
            yield Wrapper(name, doc[1:doc.index("`", 1)], header, number, is_template, **fields, parameters=parameters)
        block, is_template = [], False


def families(root: Path = files.ROOT) -> dict[str, str]:
    """The files and what their instructions are about, as the folder's readme lists them."""
    readme = (root / FOLDER / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+\.cuh)` \| (.+) \|$", readme, re.MULTILINE))


def wrappers(root: Path = files.ROOT) -> list[Wrapper]:
    """All wrappers, in the order of the files and the functions in them."""
    found: list[Wrapper] = []
    for file in families(root):
        header = (FOLDER / file).as_posix()
        found += _parse((root / header).read_text(encoding="utf-8"), header)
    names = [w.name for w in found]
    return [replace(w, shares_name=names.count(w.name) > 1) for w in found]


# --- the kernels ------------------------------------------------------------------------------------------------------


def called(source: str, candidates: Sequence[Wrapper]) -> list[Wrapper]:
    """Those that a kernel calls. Comments call nothing."""
    code = without_comments(source)
    return [w for w in candidates if w.is_called(code)]


INCLUDED = re.compile(r'^#include "(common/mma/\w+\.cuh)"$', re.MULTILINE)


def _kernel(root: Path, level: str, arch: int) -> str:
    """The kernel's file, and what it has on the device from common/mma."""
    text = "\n".join(names.kernel_source(kernel_path(root, level, arch)))
    return "\n".join([text, *((root / header).read_text(encoding="utf-8") for header in INCLUDED.findall(text))])


def introductions(root: Path = files.ROOT) -> dict[Wrapper, dict[int, str]]:
    """For every wrapper: the first level to call it, by architecture; nothing for those without it."""
    known = wrappers(root)
    first: dict[Wrapper, dict[int, str]] = {w: {} for w in known}
    for level in names.all_levels(root):
        for arch in ARCH_NAMES:
            if names.has_kernel(level, arch, root):
                for wrapper in called(_kernel(root, level, arch), known):
                    first[wrapper].setdefault(arch, level)
    return first
