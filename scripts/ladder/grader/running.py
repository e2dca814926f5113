"""What a program does on the simulated device, as far as claims are about it."""
from __future__ import annotations

import functools
import subprocess
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from ladder import files
from ladder.explorer import events
from ladder.explorer.events import Event, Launch
from ladder.grader.accumulators import accumulators, full_or_read
from ladder.levels import verdict
from ladder.levels.description import ExplainError, ask
from ladder.levels.shapes import Shape, shape_text
from ladder.levels.verdict import Finding, Verdict
from ladder.sim.traces import TraceError

TIMEOUT = 600.0  # of a run, in seconds; on a busy machine


class CannotObserve(Exception):
    """A run that gives nothing to look at; the message says why."""


@dataclass(frozen=True)
class Run:
    """How a program is run."""

    sim: tuple[str, ...]
    shape: Shape
    init: str = "int"
    config: str = ""  # of the program; the one that it would choose
    more: tuple[str, ...] = ()  # options of the program

    @property
    def arguments(self) -> list[str]:
        config = ["--config", self.config] if self.config else []
        return ["--sizes", shape_text(self.shape), "--init", self.init, *config, *self.more]

    def command(self, program: Path) -> list[str]:
        return [str(files.SCRIPTS / "sim.sh"), *self.sim, str(program), *self.arguments]


@dataclass(frozen=True)
class Result:
    run: Run
    verdict: Verdict

    @property
    def habits(self) -> set[str]:
        """What the order checker says that hardware forgives, and where."""
        return {f"{finding.rule} ({finding.sides[0].source})" for finding in self.verdict.findings
                if finding.tolerated and finding.sides}


def run(program: Path, how: Run) -> Result:
    """A run that does not end within the time is a deadlock."""
    try:
        return Result(how, verdict.simulate([str(program), *how.arguments], how.sim, TIMEOUT))
    except subprocess.TimeoutExpired:
        sentence = f"it has not come to an end within {TIMEOUT:.0f} s"
        return Result(how, Verdict((Finding(verdict.DEADLOCK, text=sentence),)))


def _recorded(program: Path, how: Run, option: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.json"
        result = run(program, replace(how, sim=(*how.sim, option, str(path))))
        found = result.verdict
        if found.kind != verdict.RIGHT or not path.exists():
            raise CannotObserve(f"{shape_text(how.shape)} is {found.kind}: {found.first_words}")
        return files.read_json(path)


def configs(program: Path) -> list[str]:
    """The names of its configurations."""
    try:
        return [config["config"] for config in ask(program)["configs"]]
    except ExplainError as error:
        raise CannotObserve(str(error)) from None


def counters(program: Path, shape: Shape, sms: Optional[int] = None, config: str = "") -> dict[str, Any]:
    """Of the first launch."""
    how = Run(("--sms", str(sms)) if sms else (), shape, config=config)
    first: dict[str, Any] = _recorded(program, how, "--counters")["launches"][0]
    return first


@functools.cache  # each level's are compared with those of the level before and after
def predicted_cycles(program: Path, shape: Shape) -> int:
    """Of one call, on the whole GPU, by the timing model."""
    return int(_recorded(program, Run(("--timing",), shape), "--predictions")["cycles"])


def stores(counted: dict[str, Any], space: str, cost: str) -> Optional[float]:
    """What a store of a warp costs on average, None if there is none."""
    chosen = [access for access in counted[space] if access["instruction"].startswith(("st.", "stmatrix"))]
    accesses = sum(access["warp_accesses"] for access in chosen)
    return sum(access[cost] for access in chosen) / accesses if accesses else None


class Timeline:
    """A trace of the first launch: operations, or events of these kinds; of none: of all."""

    def __init__(self, program: Path, shape: Shape, sms: int, kinds: Collection[str] = ("operation",)) -> None:
        try:
            launches = events.read(_recorded(program, Run(("--sms", str(sms)), shape), "--trace"), kinds)[1]
        except TraceError as error:
            raise CannotObserve(str(error)) from None
        self.launch: Launch = launches[0]
        self.sms = sms

    @functools.cached_property
    def operations(self) -> list[Event]:
        return [event for event in self.launch.events if event.kind == "operation"]

    def named(self, *prefixes: str, cta: Optional[int] = None) -> list[Event]:
        return [o for o in self.operations if o.name.startswith(prefixes) and cta in (None, o.cta)]

    @property
    def mmas(self) -> list[Event]:
        return self.named("MMA", "wgmma m")

    @property
    def loads(self) -> list[Event]:
        return self.named("TMA load")

    def loads_beside_mmas(self) -> float:
        """The share of the tensor core's time in which loads of the same CTA are in flight."""
        first = self.mmas[0].cta if self.mmas else 0
        return covered(intervals((o.begin, o.end) for o in self.named("MMA", "wgmma m", cta=first)),
                       intervals((o.issued, o.seen) for o in self.named("TMA load", cta=first)))

    def stored_beside_mmas(self) -> float:
        """Of the time in which accumulators are full or being read, the share in which the tensor core works on
        another; but of the last tile, after which there is none."""
        busy = intervals((o.begin, o.end) for o in self.mmas if o.cta == self.mmas[0].cta)
        waiting = []
        for accumulator in accumulators(self.mmas[0].cta, self.operations):
            read = full_or_read(accumulator, self.operations)
            waiting += [(h.begin, min(h.end, busy[-1][1])) for h in read if h.begin < busy[-1][1]]
        return covered(intervals(waiting), busy)

    def warpgroups_of_a_stage(self) -> int:
        """How many warpgroups multiply what the first load of B brings, before the next load into the same bytes."""
        first = min(self.mmas, key=lambda o: o.begin)
        stage = [place.first for place in first.places if place.space == "shared"][1]
        loads = sorted(o.begin for o in self.named("TMA load")
                       if any(place.cta == first.cta and place.first <= stage < place.first + place.count
                              for place in o.places))
        end = next((begin for begin in loads if begin > first.begin), max(o.end for o in self.mmas) + 1)
        return len({o.warp // 4 for o in self.mmas if o.cta == first.cta and o.begin < end
                    and any(place.first == stage and place.space == "shared" for place in o.places)})

    def staged(self) -> tuple[int, int]:
        """Bytes of shared memory from which the first CTA's TMA stores read; bytes of D that they store per tile."""
        stores = self.named("TMA store: read", cta=0)
        buffer = intervals((place.first, place.first + place.count) for o in stores for place in o.places)
        tiles = max(Counter(o.tensor for o in self.named("TMA load", cta=0) if o.coordinates[:1] == (0,)).values(),
                    default=1)
        return sum(end - begin for begin, end in buffer), sum(o.bytes for o in stores) // tiles

    def warps_that(self, issue: Sequence[Event], together: int) -> set[tuple[int, int]]:
        """CTA and warp, or warpgroup if `together` is 4."""
        return {(o.cta, o.warp // together) for o in issue}

    def reuse_in_first_wave(self) -> float:
        """How often the bytes are loaded that the first tiles of as many CTAs as the GPU has SMs bring from memory."""
        boxes: dict[tuple[Any, ...], int] = {}
        total = 0
        seen: dict[int, set[int]] = {}
        for load in self.loads:
            if load.cta >= self.sms or load.tensor in seen.setdefault(load.cta, set()):
                continue
            seen[load.cta].add(load.tensor)  # of each CTA, its first load of either operand
            boxes[load.tensor, load.coordinates, load.extent] = load.bytes
            total += load.bytes
        return total / sum(boxes.values()) if boxes else 0.0


def intervals(pairs: Any) -> list[tuple[int, int]]:
    """Joined where they overlap."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(pairs):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        elif end > begin:
            joined.append((begin, end))
    return joined


def covered(what: list[tuple[int, int]], by: list[tuple[int, int]]) -> float:
    """The share of the intervals `what` that lies in `by`."""
    total = sum(end - begin for begin, end in what)
    inside, i = 0, 0
    for begin, end in what:
        while i < len(by) and by[i][1] <= begin:
            i += 1
        j = i
        while j < len(by) and by[j][0] < end:
            inside += min(end, by[j][1]) - max(begin, by[j][0])
            j += 1
    return inside / total if total else 0.0
