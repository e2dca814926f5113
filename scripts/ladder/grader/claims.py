"""What each level claims, as something that can be measured: on the simulated device's counters, or in a trace.

A claim is measured on a program and either holds or does not; the level itself holds its claims, the level before does
not (a test sees to that). Thresholds lie well between the two, for there is more than one way to be right.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ladder import files
from ladder.grader.running import CannotObserve, Timeline, configs, counters, predicted_cycles, stores
from ladder.levels import lab, names, patches
from ladder.levels.lab import Build, Count, LabError
from ladder.levels.patches import Step

TILES = (1024, 256, 512)  # enough tiles for each CTA of a GPU of two SMs
WAVE = (1024, 2048, 64)  # 8 x 16 tiles of 128 x 128
PREDICTED = (2048, 2048, 2048)  # whose cycles are compared
WHOLE_TILES = (256, 2816, 256)  # a multiple of 128 x 176, and of 128 x 256
SCATTER = (128, 376, 64)  # D has a pitch of 384: its rows begin on cache lines, and two tiles of three are whole


@dataclass(frozen=True)
class Found:
    """Whether a claim holds, and what was measured."""

    holds: bool
    words: str


@dataclass(frozen=True)
class Claim:
    name: str  # a short one, for programs
    sentence: str  # what is claimed
    read: str  # where to read about it: a part of the level's page
    measure: Callable[[Path], Found]


def _loop_barriers(program: Path) -> Found:
    few, many = (counters(program, (128, 128, k)) for k in (64, 640))
    grown = {name: many[name] - few[name] for name in ("cluster_barriers", "cta_barriers")}
    return Found(not any(grown.values()),
                 f"from 1 to 10 K blocks {grown['cluster_barriers']} more cluster barriers, {grown['cta_barriers']} "
                 "more barriers of the CTA")


def _loads_run_ahead(program: Path) -> Found:
    share = Timeline(program, TILES, 2).loads_beside_mmas()
    return Found(share >= 0.3, f"while the tensor core works, loads are in flight for {share:.0%} of the time")


def _roles(together: int) -> Callable[[Path], Found]:
    def measure(program: Path) -> Found:
        timeline = Timeline(program, TILES, 2)
        both = timeline.warps_that(timeline.loads, together) & timeline.warps_that(timeline.mmas, together)
        what = "warpgroups" if together > 1 else "warps"
        return Found(not both and bool(timeline.loads), f"{len(both)} {what} issue both loads and MMAs")
    return measure


def _coalesced(program: Path) -> Found:
    lines = stores(counters(program, SCATTER), "global", "lines")
    if lines is None:
        return Found(True, "no warp stores to global memory: TMA does")
    return Found(lines <= 4, f"a store of a warp touches {lines:.1f} cache lines")


def _persistent(program: Path) -> Found:
    timeline = Timeline(program, TILES, 2)
    ctas = len(timeline.launch.ctas())
    return Found(ctas <= 4, f"{ctas} CTAs on a GPU of 2 SMs")


def _stored_by_tma(program: Path) -> Found:
    counted = counters(program, (256, 256, 64))
    return Found(counted["global_store_bytes"] == 0 and counted["tma_store_bytes"] > 0,
                 f"{counted['global_store_bytes']:,} bytes are stored by threads, "
                 f"{counted['tma_store_bytes']:,} by TMA")


def _reuse(sms: int, least: float) -> Callable[[Path], Found]:
    def measure(program: Path) -> Found:
        reuse = Timeline(program, WAVE, sms).reuse_in_first_wave()
        return Found(reuse >= least, f"what the first 16 tiles need from memory is loaded {reuse:.1f} times on average")
    return measure


def _stored_beside_mmas(least: float) -> Callable[[Path], Found]:
    def measure(program: Path) -> Found:
        share = Timeline(program, TILES, 2).stored_beside_mmas()
        return Found(share >= least,
                     f"while a result waits and is read, the tensor core works for {share:.0%} of the time")
    return measure


def _useful_flops(program: Path) -> Found:
    counted = counters(program, (512, 256, 192))
    executed = counted["tensor_flops"] / counted["useful_tensor_flops"]
    return Found(executed <= 1.05, f"{executed:.2f} tensor FLOPs are executed per useful one")


def _fetched(most: float) -> Callable[[Path], Found]:
    def share_with(program: Path, config: str) -> float:
        counted = counters(program, (1024, 1024, 256), sms=8, config=config)
        return float(counted["tma_fetch_bytes"] / counted["tma_load_bytes"])

    def measure(program: Path) -> Found:
        """In the configuration that shares most: others may be there for products that want small clusters."""
        share = min(share_with(program, config) for config in configs(program))
        return Found(share <= most,
                     f"{share:.2f} bytes are fetched from L2 for each byte that arrives in shared memory")
    return measure


def _products_per_byte(least: float) -> Callable[[Path], Found]:
    def measure(program: Path) -> Found:
        counted = counters(program, WHOLE_TILES)
        products = counted["tensor_flops"] / counted["tma_fetch_bytes"]
        return Found(products >= least, f"{products:.0f} tensor FLOPs are executed per byte that is fetched from L2")
    return measure


def _store_warps(program: Path) -> Found:
    timeline = Timeline(program, TILES, 2)
    stored = timeline.named("TMA store")
    both = timeline.warps_that(stored, 4) & timeline.warps_that(timeline.mmas, 4)
    return Found(not both and bool(stored), f"{len(both)} warpgroups issue both MMAs and TMA stores")


def _halves(program: Path) -> Found:
    timeline = Timeline(program, TILES, 2)
    sharing, (buffer, tile) = timeline.warpgroups_of_a_stage(), timeline.staged()
    return Found(sharing > 1 and 0 < 2 * buffer <= tile,
                 f"{sharing} warpgroups multiply a K block; {tile:,} bytes of D per tile leave through {buffer:,}")


def _conflicts(program: Path) -> Found:
    wavefronts = stores(counters(program, (256, 128, 64)), "shared", "wavefronts")
    if wavefronts is None:
        return Found(False, "no warp stores to shared memory")
    return Found(wavefronts <= 8, f"a store of a warp to shared memory takes {wavefronts:.0f} wavefronts")


def _predicted(number: int, arch: int) -> Claim:
    def measure(program: Path) -> Found:
        before = names.executable(names.find_level(str(number - 1), names.all_levels()), arch, files.BUILD)
        mine, others = predicted_cycles(program, PREDICTED), predicted_cycles(before, PREDICTED)
        return Found(mine <= 0.975 * others, f"{mine:,} cycles for M = N = K = {PREDICTED[0]}, and {others:,} there")
    return Claim("predicted_cycles", "the timing model predicts fewer cycles than for the level before",
                 "what-it-brought", measure)


LOOP = Claim("no_barrier_in_the_loop", "no barrier of all threads stands in the loop over K", "the-idea",
             _loop_barriers)
AHEAD = Claim("loads_run_ahead", "loads run while MMAs execute", "the-idea", _loads_run_ahead)
COALESCED = Claim("coalesced_stores", "a store of a warp touches few cache lines", "where-the-time-goes", _coalesced)
PERSISTENT = Claim("persistent", "CTAs stay: there are no more of them than fit on the GPU at once", "the-idea",
                   _persistent)
TMA_STORES = Claim("stored_by_tma", "TMA stores D", "the-idea", _stored_by_tma)
FLOPS = Claim("useful_flops", "nothing is computed twice", "where-the-time-goes", _useful_flops)
CONFLICTS = Claim("no_bank_conflicts", "stores to shared memory hit different banks", "the-idea", _conflicts)


SHARED_TILE = Claim("shared_tile", "a byte that is fetched serves more products than in the level before",
                    "the-idea", _products_per_byte(115))
STORE_WARPS = Claim("store_warps", "those who multiply hand nothing to TMA: warps of their own store D",
                    "the-idea", _store_warps)
HALVES = Claim("halves", "both consumers share a tile, whose D leaves through a buffer of at most half its size",
               "the-idea", _halves)


def _loaded_once(most: float) -> Claim:
    return Claim("loaded_once", "CTAs of a cluster share what they load", "the-idea", _fetched(most))


def _order(sms: int, least: float) -> Claim:
    """The least reuse: the CTAs of a Blackwell cluster work on one tile, and load its A twice."""
    return Claim("tile_order", "tiles that run at the same time share rows of A and columns of B", "the-idea",
                 _reuse(sms, least))


def _overlap(least: float) -> Claim:
    """Hopper's consumers drift apart by themselves, so that level 05 overlaps a little there."""
    return Claim("epilogue_overlaps", "the epilogue of one tile overlaps the MMAs of the next", "the-idea",
                 _stored_beside_mmas(least))


def _separate(together: int) -> Claim:
    return Claim("roles", "those who load do not multiply", "the-idea", _roles(together))


# By level and architecture: what the level adds to the one before.
_ADDED: dict[tuple[int, int], Sequence[Claim]] = {
    (2, 100): (LOOP, AHEAD), (2, 90): (LOOP, AHEAD),
    (3, 100): (_separate(1),), (3, 90): (_separate(4),),
    (4, 100): (COALESCED,), (4, 90): (COALESCED,),
    (5, 100): (PERSISTENT, TMA_STORES, _order(32, 3.6)), (5, 90): (PERSISTENT, TMA_STORES, _order(16, 2.4)),
    (6, 100): (_overlap(0.4),), (6, 90): (_overlap(0.75),),
    (7, 100): (FLOPS,), (7, 90): (_loaded_once(0.8),),
    (8, 100): (CONFLICTS,), (8, 90): (SHARED_TILE, STORE_WARPS, HALVES),
}
# Where the model sees no gain at this size: level 05 is for large matrices, Hopper's level 06 for more than two tiles
# per SM, its level 07 for the power limit.
_NOT_FASTER = {(5, 90), (5, 100), (6, 90), (7, 90)}
CLAIMS: dict[tuple[int, int], Sequence[Claim]] = {
    key: (*added, *(() if key in _NOT_FASTER else (_predicted(*key),))) for key, added in _ADDED.items()}


# --- steps ------------------------------------------------------------------------------------------------------------


def of_step(step: Step, build: Build) -> list[Claim]:
    """What holds after a step: those of the level's claims that it or a step before it names, and its counters."""
    named = {name for one in patches.series(step.level, step.arch) if one.number <= step.number for name in one.claims}
    return [*(claim for claim in CLAIMS[names.number_of(step.level), step.arch] if claim.name in named),
            *(_counted(step, item, build) for item in step.counts if item.before != item.after)]


def adds_a_claim(step: Step) -> bool:
    """Whether something is judged that the kernel before need not fulfil."""
    earlier = {name for one in patches.series(step.level, step.arch) if one.number < step.number for name in one.claims}
    return bool(set(step.claims) - earlier) or any(item.before != item.after for item in step.counts)


def _counted(step: Step, item: Count, build: Build) -> Claim:
    def measure(program: Path) -> Found:
        with lab.scratch() as folder:
            try:
                found = item.measure(lab.count(step, build, program, folder))
            except (LabError, OSError) as error:
                raise CannotObserve(str(error)) from None
        return Found(_distance(found, item.after) < _distance(found, item.before),
                     f"{found:g}; before the step it was {item.before:g}, after it {item.after:g} is expected")
    return Claim("counted", f"what the step promises is counted: {item.what}", "step-by-step", measure)


def _distance(one: float, other: float) -> float:
    """As a ratio: there is more than one way to be right."""
    return abs(math.log(max(one, 0.01) / max(other, 0.01)))
