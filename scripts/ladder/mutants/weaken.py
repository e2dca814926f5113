"""Synchronisation that is there, but less than it should be: narrower scopes, relaxed instead of releasing, the wrong
parity, count, bytes, group or kind of fence. Each instruction of a kernel is weakened in turn, in the PTX, in each way
that fits it; then the kernel runs with --check.

Where nothing is said, less was enough, and the row says why: the site is redundant altogether; or what is relaxed
passes on only that something has happened. The latter is not by decree: what a thread has stored and another reads has
to be visible, and is reported if it is not; --check=strict asks for a release and an acquire elsewhere, too. Phases
count bytes and tensor work themselves, for every waiting thread. What is neither is open.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Union

from ladder import files
from ladder.levels.verdict import RIGHT
from ladder.mutants import sentences, study
from ladder.mutants.sites import CLUSTER_BARRIER, KEY, Site
from ladder.mutants.study import Kernel, Study
from ladder.results.data import Fields

COLUMNS = (*KEY, "way", "verdict", "proof", "other", *study.FOUND)
OUTPUT = files.ROOT / files.RESULTS / "weakened.csv"
REPORTED, ENOUGH, OPEN = "reported", "enough", "open"
RELAXED, NARROW, STRICT = "relaxed", "scope of the CTA", "--check=strict"
# With these a thread waits for something else, or others wait for it in vain.
MAY_HANG = ("the other parity", "one arrival more", "one arrival less", "16 bytes more", "16 bytes less",
            "without waiting", "lane 0 only")
# Why relaxed synchronisation is enough where no thread reads what another has stored.
NO_DATA = {"mbarrier.try_wait": "counted", "mbarrier.arrive": "only read", "barrier.cluster.arrive": "happened"}
READS = ("load", "bulk store", "wgmma", "MMA")  # what passes on data that a thread has stored

# How, what of an instruction's text, and what comes in its place. Where two ways fit, both are tried.
Replacement = Union[str, Callable[[re.Match[str]], str]]
WAYS: tuple[tuple[str, str, Replacement], ...] = (
    ("the other parity", r"(mbarrier\.try_wait\S* +)([^;]*), (%\w+);", r"{ .reg .b32 t; xor.b32 t, \3, 1; \1\2, t; }"),
    (RELAXED, r"mbarrier\.arrive\.(shared::\w+\.b64)", r"mbarrier.arrive.relaxed.cluster.\1"),
    (RELAXED, r"barrier\.cluster\.arrive\.release", r"barrier.cluster.arrive.relaxed"),
    (RELAXED, r"mbarrier\.try_wait\.parity\.(shared::\w+\.b64)", r"mbarrier.try_wait.parity.relaxed.cluster.\1"),
    (NARROW, r"^((?!.*mbarrier_init).*\.(?:release|acquire|acq_rel))\.(?:cluster|gpu)\b", r"\1.cta"),
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


def variants(kernel: Kernel, site: Site) -> Iterator[tuple[str, str]]:
    """The ways that fit, and the kernel's PTX with them; none of a cluster barrier, whose halves are sites, too."""
    lines = kernel.embedded.lines
    for way, pattern, replacement in WAYS if site.instruction != CLUSTER_BARRIER else ():
        changed = {place: re.sub(pattern, replacement, lines[place]) for place in site.places}
        if all(changed[place] != lines[place] for place in site.places):
            yield way, "\n".join(changed.get(index, line) for index, line in enumerate(lines))


def look(of: Study, site: Site, proven: Mapping[tuple[str, ...], Fields]) -> Iterator[Fields]:
    """A row for each way, at the kernel's problems until something is said; then with --check=strict. `proven`: what is
    recorded of the kernels without the sites."""
    without = proven.get(study.row_key(study.title_of(of.kernel, site)), {})
    for way, ptx in variants(of.kernel, site):
        tried = ((case, options) for options in ((), (STRICT,)) for case in of.cases(site))
        for case, options in tried:
            found = of.judge_text(ptx, case, *options)
            if found.kind != RIGHT:
                break
        proof = why_enough(site, way, without) if found.kind == RIGHT or options else {"verdict": REPORTED}
        yield {**study.title_of(of.kernel, site), "way": way, "proof": "", "other": "", **proof,
               **study.fields_of(found, of.kernel.labels), "case": str(case),
               "options": " ".join(options) if found.kind != RIGHT else ""}


def why_enough(site: Site, way: str, without: Fields) -> Fields:
    """Of a site of which nothing is said although it is weakened. `without`: what is recorded of the kernel without
    it."""
    if without.get("verdict", study.UNPROVEN) not in (study.REQUIRED, study.UNPROVEN):
        return {"verdict": ENOUGH, "proof": without["proof"] or without["verdict"], "other": without["other"]}
    passes_data = without and any(first == "store" and second.startswith(READS)
                                  for (first, _), (second, _) in sentences.pairs(without))
    if way == RELAXED and site.instruction in NO_DATA and not passes_data:
        return {"verdict": ENOUGH, "proof": NO_DATA[site.instruction]}
    return {"verdict": OPEN}
