"""The synchronisation of a kernel, site by site, and the kernel without some of it.

A site is an instruction on a line of the kernel's source, with all its copies: unrolled, inlined at several places, or
in several instantiations of a template. It is removed from the PTX inside a program, not from the source, so a mutant
costs no compilation, and the simulated device and a GPU run the same one.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ladder.command import Failure
from ladder.levels import names

# Longest first where one begins like another.
INSTRUCTIONS = (
    "mbarrier.init", "mbarrier.try_wait", "mbarrier.test_wait", "mbarrier.arrive.expect_tx", "mbarrier.arrive",
    "fence.mbarrier_init", "fence.proxy.async", "fence.acq_rel", "fence.sc",
    "bar.warp.sync", "bar.sync", "bar.arrive", "barrier.cluster.arrive", "barrier.cluster.wait",
    "cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read", "cp.async.bulk.wait_group",
    "cp.async.commit_group", "cp.async.wait_group",
    "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
    "tcgen05.alloc", "tcgen05.relinquish_alloc_permit", "tcgen05.dealloc", "tcgen05.commit",
    "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync", "tcgen05.wait::ld", "tcgen05.wait::st",
    "griddepcontrol.launch_dependents", "griddepcontrol.wait", "setmaxnreg.dec", "setmaxnreg.inc",
)
KEY = ("level", "arch", "config", "site", "instruction")  # columns of results that are about a site
CLUSTER_BARRIER = "barrier.cluster"  # both halves, removed together
FENCES = ("fence.mbarrier_init", "fence.proxy.async", "fence.acq_rel", "fence.sc", "wgmma.fence",
          "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync")


_INSTRUCTION = re.compile(r"\s*(?:@!?%?\w+\s+)?((?:" + "|".join(map(re.escape, INSTRUCTIONS)) + r")(?![a-z_]))")
_TRY_WAIT = re.compile(r"(\s*)mbarrier\.t\w+_wait\S*\s+(%?\w+)\s*,")
_ENTRY = re.compile(r"(?:\.visible |\.weak )?\.entry (\w+)")


class NoPtx(Failure):
    """A program without the PTX of a level's kernel."""


@dataclass(frozen=True)
class Site:
    """One instruction on one line of a kernel's source."""

    line: int
    instruction: str          # one of INSTRUCTIONS, or CLUSTER_BARRIER
    places: tuple[int, ...]   # lines of the PTX, counted from 0
    entries: frozenset[str]   # kernels in which it occurs, by their mangled names

    @property
    def title(self) -> str:
        return f"{self.instruction} (line {self.line})"


@dataclass(frozen=True)
class Embedded:
    """A kernel's PTX inside a program, which is there as it is, without compression."""

    program: Path
    offset: int
    text: str
    source: str  # the name of the kernel's file

    @staticmethod
    def find(program: Path, arch: int, source: str = "") -> Embedded:
        """`source`: the name of the kernel's file; usually kernel_smNN.cuh. Raises NoPtx."""
        source = source or f"kernel_sm{arch}.cuh"
        data = program.read_bytes()
        for match in re.finditer(rb"\n\.version ", data):
            start = match.start() + 1
            text = data[start:data.index(b"\0", start)].decode()
            if _file_number(text, source):
                return Embedded(program, start, text, source)
        raise NoPtx(f"{program} holds no PTX of a {source}, or none that says the lines of its source.")

    @functools.cached_property
    def lines(self) -> list[str]:
        """With locations in a kernel's other files as if these stood behind its own: names.kernel_source counts so."""
        lines = self.text.split("\n")
        opened = {Path(match[2]): match[1] for line in lines
                  if (match := re.match(r'\.file\s+(\d+) "([^"]+)"', line))}
        kernel = next((path for path in opened if re.fullmatch(r"kernel_sm\d+\.cuh", path.name)), None)
        parts = names.kernel_parts(kernel) if kernel else []
        if kernel is None or len(parts) < 2:
            return lines
        counts = [len(path.read_text(encoding="utf-8").splitlines()) for path in parts]
        begins = {opened[path]: sum(counts[:i]) for i, path in enumerate(parts) if path in opened}
        return [_located(line, opened[kernel], begins) if ".loc" in line else line for line in lines]

    def sites(self) -> list[Site]:
        """In the order of the PTX. Removing both halves of a cluster barrier is one more site than each of them."""
        found: dict[tuple[int, str], list[int]] = {}
        entry_of: dict[int, str] = {}
        arrived: list[int] = []  # halves of cluster barriers that are not waited for yet
        for index, entry, line, instruction in self._instructions():
            entry_of[index] = entry
            found.setdefault((line, instruction), []).append(index)
            if instruction == "barrier.cluster.arrive":
                arrived = [index]
            elif instruction == "barrier.cluster.wait" and arrived:
                found.setdefault((line, CLUSTER_BARRIER), []).extend([*arrived, index])
                arrived = []
        return [Site(line, instruction, tuple(places), frozenset(entry_of[place] for place in places))
                for (line, instruction), places in found.items()]

    def _instructions(self) -> Iterator[tuple[int, str, int, str]]:
        """Line of the PTX, kernel, line of the source, instruction."""
        number = _file_number(self.text, self.source)
        location = re.compile(rf"\s*\.loc\s+(?:{number} (\d+) \d+\s*$|.* inlined_at {number} (\d+) )")
        entry, source = "", 0
        for index, line in enumerate(self.lines):
            if opening := _ENTRY.match(line):
                entry = opening[1]
            elif at := location.match(line):
                source = int(at[1] or at[2])
            elif instruction := _INSTRUCTION.match(line):
                yield index, entry, source, instruction[1]

    @functools.cached_property
    def call_lines(self) -> list[int]:
        """Of each line of the PTX, the line of the kernel's source from which it was inlined: the outermost one."""
        position = re.compile(r"\s*\.loc\s+(\d+ \d+ \d+)(?:.* inlined_at (\d+ \d+ \d+))?")
        callers: dict[str, str] = {}
        found, outermost = [], 0
        for line in self.lines:
            if at := position.match(line):
                place = at[1]
                callers[place] = at[2] or ""
                while callers.get(place):
                    place = callers[place]
                outermost = int(place.split()[1])
            found.append(outermost)
        return found

    def copies(self, site: Site) -> dict[int, tuple[int, ...]]:
        """A site's places by the line from which they are called, if that is more than one."""
        lines = [self.call_lines[place] for place in site.places]
        return {line: tuple(place for place, of in zip(site.places, lines) if of == line)
                for line in dict.fromkeys(lines)} if len(set(lines)) > 1 else {}

    def announcing(self) -> frozenset[int]:
        """The places of the barriers, one or both halves, after which all threads may rely on new mbarriers."""
        found: list[int] = []
        entry, wanted = "", ""
        for index, line in enumerate(self.lines):
            if opening := _ENTRY.match(line):
                entry = opening[1]
            elif match := _INSTRUCTION.match(line):
                if match[1] == "mbarrier.init":
                    wanted = entry
                elif wanted == entry and match[1] in ("bar.sync", "barrier.cluster.arrive", "barrier.cluster.wait"):
                    found.append(index)
                    wanted = entry if match[1] == "barrier.cluster.arrive" else ""
        return frozenset(found)

    def counted_by_others(self) -> frozenset[int]:
        """The places of those bar.sync that somebody else's wait may count on: others arrive without waiting at
        barriers for as many threads."""
        threads = {index: self._last_operand(index) for index, line in enumerate(self.lines)
                   if re.match(r"\s*bar\.(?:sync|arrive) \S+,", line)}
        arriving = {number for index, number in threads.items() if "bar.arrive" in self.lines[index]}
        return frozenset(index for index, number in threads.items()
                         if number in arriving and "bar.sync" in self.lines[index])

    def _last_operand(self, place: int) -> str:
        """Of an instruction; a register's value if it was set to a constant just before."""
        operand = re.split(r"[\s,]+", self.lines[place].strip().rstrip(";"))[-1]
        constant = re.compile(rf"\s*mov\.\S+ {re.escape(operand)}, (\d+);")
        found = (constant.match(line) for line in reversed(self.lines[:place]))
        return next((match[1] for match in found if match), operand)

    def matching(self, pattern: str) -> tuple[int, ...]:
        """The places of the instructions that begin like this."""
        wanted = re.compile(rf"\s*(?:@!?%?\w+\s+)?{pattern}")
        return tuple(index for index, line in enumerate(self.lines) if wanted.match(line))

    def without(self, places: Collection[int], demoted: Collection[int] = ()) -> str:
        """The PTX without the instructions on these lines, byte for byte as long as it was. `demoted`: those of cluster
        barriers that become barriers of the CTA."""
        def left(index: int, line: str) -> str:
            if index in demoted and "barrier.cluster.wait" in line:
                return "bar.sync 0;".ljust(len(line))
            return _nothing(line) if index in places or index in demoted else line

        return "\n".join(left(index, line) for index, line in enumerate(self.lines))

    def write(self, text: str, program: Path) -> None:
        """The program with other PTX of as many lines. Where these are longer, its locations make room for them.
        Machine code, if there is any, stays as it was."""
        data, length = bytearray(self.program.read_bytes()), len(self.text.encode())
        new = "\n".join(old if ".loc" in old else line
                        for old, line in zip(self.text.split("\n"), text.split("\n"))).encode()
        if len(new) > length:
            new = re.sub(rb"\n[ \t]*\.loc[^\n]*", b"", new)
        if len(new) > length:
            raise ValueError("there is no room for the new PTX")
        new = new.ljust(length)
        data[self.offset:self.offset + len(new)] = new
        program.write_bytes(data)
        program.chmod(0o755)


def _file_number(text: str, source: str) -> str:
    """By which PTX calls a file of source; empty if it names none such."""
    match = re.search(rf'^\.file\s+(\d+) ".*/{re.escape(source)}"', text, re.MULTILINE)
    return match[1] if match else ""


def _located(line: str, kernel: str, begins: Mapping[str, int]) -> str:
    """A location in another file of a kernel as one in its own file, which begins so many lines earlier."""
    own = re.match(r"(\s*\.loc\s+)(\d+) (\d+) (\d+)", line)
    if own and own[2] in begins and own[2] != kernel:
        return f"{own[1]}{kernel} {begins[own[2]] + int(own[3])} {own[4]}"
    return re.sub(r"inlined_at (\d+) (\d+)", lambda at: f"inlined_at {kernel} {begins[at[1]] + int(at[2])}"
                  if at[1] in begins else at[0], line)


def _nothing(line: str) -> str:
    """What is left of an instruction when it does nothing: blanks, or a wait that always says yes."""
    wait = _TRY_WAIT.match(line)
    return (f"{wait[1]}setp.eq.u32 {wait[2]}, 0, 0;" if wait else "").ljust(len(line))


def key_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Which site of which kernel a row of results is about."""
    return tuple(row[column] for column in KEY)
