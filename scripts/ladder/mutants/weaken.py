"""Synchronisation that is there, but less than it should be: narrower scopes, relaxed instead of releasing, the wrong
parity, count, bytes, group or kind of fence. Each instruction of a kernel is weakened in turn, in the PTX, in each way
that fits it; then the kernel runs with --check.

Where nothing is said, less was enough. A relaxed wait sees what its phase counts itself, bytes and tensor work; a
relaxed arrival hands back what was only read; and barrier.cluster.arrive may be relaxed after fence.mbarrier_init."""
from __future__ import annotations

import concurrent.futures
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from ladder.mutants.judge import Case, Verdict
from ladder.mutants.sites import CLUSTER_BARRIER, Site
from ladder.mutants.study import Kernel, Study

# How, what of an instruction's text, and what comes in its place. Where two ways fit, both are tried.
Replacement = Union[str, Callable[[re.Match[str]], str]]
WAYS: tuple[tuple[str, str, Replacement], ...] = (
    ("the other parity", r"(mbarrier\.try_wait\S* +)([^;]*), (%\w+);", r"{ .reg .b32 t; xor.b32 t, \3, 1; \1\2, t; }"),
    ("relaxed", r"mbarrier\.arrive\.(shared::\w+\.b64)", r"mbarrier.arrive.relaxed.cluster.\1"),
    ("relaxed", r"barrier\.cluster\.arrive\.release", r"barrier.cluster.arrive.relaxed"),
    ("relaxed", r"mbarrier\.try_wait\.parity\.(shared::\w+\.b64)", r"mbarrier.try_wait.parity.relaxed.cluster.\1"),
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


def weaken(study: Study, site: Site) -> Iterator[Weakened]:
    """Each way, at the kernel's problems until something is said."""
    if site.instruction == CLUSTER_BARRIER:
        return
    for way, ptx in variants(study.kernel, site):
        for case in study.cases(site):
            verdict = study.judge_text(ptx, case)
            if verdict.kind:
                break
        yield Weakened(study.kernel, site, way, verdict, case)


def look_at(pairs: Sequence[tuple[Kernel, Site]], jobs: int) -> Iterator[Weakened]:
    """All ways of all sites, in their order. Raises JudgeError."""
    with tempfile.TemporaryDirectory(prefix="ladder-weaken-") as name:
        studies = {kernel: Study(kernel, Path(name)) for kernel, _ in pairs}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for found in pool.map(lambda pair: list(weaken(studies[pair[0]], pair[1])), pairs):
                yield from found
