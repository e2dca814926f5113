"""Synchronisation that is there, but less than it should be: narrower scopes, relaxed instead of releasing, the wrong
parity, count, bytes, group or kind of fence. Each instruction of a kernel is weakened in turn, in the PTX, in each way
that fits it; then the kernel runs with --check.

Where nothing is said, less was enough, and the row says why: the site is redundant altogether; or what is relaxed
passes on only that something has happened. The latter is not by decree: what a thread has stored and another reads has
to be visible, and is reported if it is not; --check=strict asks for a release and an acquire elsewhere, too. Phases
count bytes and tensor work themselves, for every waiting thread. What is neither is open.
"""
from __future__ import annotations

import concurrent.futures
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from ladder import files
from ladder.mutants import study
from ladder.mutants.judge import Case, Verdict
from ladder.mutants.sites import CLUSTER_BARRIER, Site, key_of
from ladder.mutants.study import Kernel, Study
from ladder.results import data
from ladder.results.data import Fields

COLUMNS = ("level", "arch", "config", "site", "instruction", "way", "orders", "found_by", "verdict", "case")
OUTPUT = files.ROOT / files.RESULTS / "weakened.csv"
REPORTED, ENOUGH, OPEN = "reported", "enough", "open"
RELAXED, STRICT = "relaxed", "--check=strict"
# Why relaxed synchronisation is enough where no thread reads what another has stored.
NO_DATA = {"mbarrier.try_wait": "the phase counts bytes or tensor work itself, or hands back what was only read",
           "mbarrier.arrive": "hands back what was only read",
           "barrier.cluster.arrive": "passes on what has happened, and mbarriers, which have their own fence"}
_DATA = re.compile(r"(?<!bulk )store :\d+ before (?:load|bulk store|wgmma|MMA)")  # a pair for which it would not do

# How, what of an instruction's text, and what comes in its place. Where two ways fit, both are tried.
Replacement = Union[str, Callable[[re.Match[str]], str]]
WAYS: tuple[tuple[str, str, Replacement], ...] = (
    ("the other parity", r"(mbarrier\.try_wait\S* +)([^;]*), (%\w+);", r"{ .reg .b32 t; xor.b32 t, \3, 1; \1\2, t; }"),
    (RELAXED, r"mbarrier\.arrive\.(shared::\w+\.b64)", r"mbarrier.arrive.relaxed.cluster.\1"),
    (RELAXED, r"barrier\.cluster\.arrive\.release", r"barrier.cluster.arrive.relaxed"),
    (RELAXED, r"mbarrier\.try_wait\.parity\.(shared::\w+\.b64)", r"mbarrier.try_wait.parity.relaxed.cluster.\1"),
    ("scope of the CTA", r"^((?!.*mbarrier_init).*\.(?:release|acquire|acq_rel))\.(?:cluster|gpu)\b", r"\1.cta"),
    ("one arrival more", r"(mbarrier\.init\S* +\[[^\]]*\], )(%?\w+);", r"{ .reg .b32 t; add.u32 t, \2, 1; \1t; }"),
    ("one arrival less", r"(mbarrier\.init\S* +\[[^\]]*\], )(%?\w+);", r"{ .reg .b32 t; sub.u32 t, \2, 1; \1t; }"),
    ("16 bytes more", r"(mbarrier\.arrive\.expect_tx[^;]*), (%?\w+);", r"{ .reg .b32 t; add.u32 t, \2, 16; \1, t; }"),
    ("16 bytes less", r"(mbarrier\.arrive\.expect_tx[^;]*), (%?\w+);", r"{ .reg .b32 t; sub.u32 t, \2, 16; \1, t; }"),
    ("one group too few", r"(wait_group\S* +)(\d+);", lambda match: f"{match[1]}{int(match[2]) + 1};"),
    ("of global memory", r"fence\.proxy\.async\.shared::cta", r"fence.proxy.async.global"),
    ("after, not before", r"fence::before_thread_sync", r"fence::after_thread_sync"),
    ("before, not after", r"fence::after_thread_sync", r"fence::before_thread_sync"),
    ("for stores", r"tcgen05\.wait::ld", r"tcgen05.wait::st"),
    ("without waiting", r"bar\.sync ([^,;]+), ([^;]+);", r"bar.arrive \1, \2;"),
    ("lane 0 only", r"bar\.warp\.sync -1", r"bar.warp.sync 1"),
)


@dataclass(frozen=True)
class Weakened:
    """What became of one site, in one way; nothing is said of it if the verdict is empty."""

    kernel: Kernel
    site: Site
    way: str
    verdict: Verdict
    case: Case
    strict: bool = False  # that something is said by --check=strict only

    def row(self, proven: Mapping[tuple[str, ...], Fields]) -> Fields:
        """`proven`: what is recorded of the kernels without the sites."""
        title = study.title_of(self.kernel, self.site)
        return {**title, "way": self.way, "orders": self.kernel.labels.named(self.verdict.orders),
                "found_by": self.verdict.found_by + (" (strict)" if self.strict else ""),
                "verdict": self._words(proven.get(key_of(title), {})), "case": str(self.case)}

    def _words(self, without: Mapping[str, str]) -> str:
        """`without`: what is recorded of the kernel without the site."""
        if self.verdict.kind and not self.strict:
            return REPORTED
        found = without.get("verdict", study.UNPROVEN)
        if not found.startswith((study.REQUIRED, study.UNPROVEN)):
            return f"{ENOUGH}: {found}"
        if self.way == RELAXED and self.site.instruction in NO_DATA and not _DATA.search(without.get("orders", "")):
            return f"{ENOUGH}: {NO_DATA[self.site.instruction]}"
        return OPEN

    def __str__(self) -> str:
        said = self.verdict.found_by or "nothing is said"
        orders = f": {self.verdict.orders}" if self.verdict.orders else ""
        return f"{self.kernel.title} :{self.site.line} {self.site.instruction}, {self.way}: {said}{orders}"


def variants(kernel: Kernel, site: Site) -> Iterator[tuple[str, str]]:
    """The ways that fit, and the kernel's PTX with them."""
    lines = kernel.embedded.lines
    for way, pattern, replacement in WAYS:
        changed = {place: re.sub(pattern, replacement, lines[place]) for place in site.places}
        if all(changed[place] != lines[place] for place in site.places):
            yield way, "\n".join(changed.get(index, line) for index, line in enumerate(lines))


def weaken(of: Study, site: Site) -> Iterator[Weakened]:
    """Each way, at the kernel's problems until something is said; then with --check=strict."""
    if site.instruction == CLUSTER_BARRIER:
        return
    for way, ptx in variants(of.kernel, site):
        tried = ((case, options) for options in ((), (STRICT,)) for case in of.cases(site))
        for case, options in tried:
            verdict = of.judge_text(ptx, case, *options)
            if verdict.kind:
                break
        yield Weakened(of.kernel, site, way, verdict, case, bool(verdict.kind and options))


def look_at(pairs: Sequence[tuple[Kernel, Site]], jobs: int) -> Iterator[Weakened]:
    """All ways of all sites, in their order. Raises JudgeError."""
    with tempfile.TemporaryDirectory(prefix="ladder-weaken-") as name:
        studies = {kernel: Study(kernel, Path(name)) for kernel, _ in pairs}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for found in pool.map(lambda pair: list(weaken(studies[pair[0]], pair[1])), pairs):
                yield from found


# --- what is recorded -------------------------------------------------------------------------------------------------


def way_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Which weakened site a row is about."""
    return *key_of(row), row["way"]


def record(rows: Sequence[Fields], path: Path, current: Collection[Kernel] = ()) -> None:
    """Puts rows in the place of those of the same sites and ways; of `current` kernels no other sites are kept."""
    with files.locked(path):
        found = study.renewed(rows, path, COLUMNS, way_of, current, "needed.py --weaken")
        data.write_rows(path, COLUMNS, sorted(found, key=lambda row: (*study.order_of(row), row["way"])))


def differences(rows: Sequence[Fields], path: Path) -> list[str]:
    """What is recorded otherwise, or not at all, of the kernels and configurations that are on record."""
    known = {way_of(row): row for row in study.recorded(path)}
    kernels = {key[:3] for key in known}
    found = []
    for row in rows:
        old = known.get(way_of(row))
        same = old and all(old[column] == row[column] for column in ("verdict", "found_by"))
        if not same and key_of(row)[:3] in kernels:
            found.append(f"{' '.join(way_of(row))}: {row['verdict']} ({row['found_by']}), but recorded is "
                         + (f"{old['verdict']} ({old['found_by']})" if old else "nothing"))
    return found
