"""The events of a trace, as common/sim/timing/trace.cpp writes them: what claims are measured by. The page's own
reader, with all members, is assets/trace.js."""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from ladder.sim.traces import TraceError, require_version, to_cycles

CTAS_PER_LAUNCH = 1_000_000  # a process of the trace is a launch and a CTA


@dataclass(frozen=True)
class Place:
    """What an operation touches: bytes of shared memory, columns of tensor memory, or registers of warps."""

    cta: int
    space: str  # shared, tensor or registers
    first: int
    count: int
    written: bool


@dataclass
class Event:
    """Of any kind; members that a kind does not have keep their defaults. Times are cycles."""

    number: int
    kind: str  # run, wait, operation, barrier or report
    name: str
    cta: int
    begin: int
    end: int
    barrier: Optional[int] = None  # an mbarrier's offset in dynamic shared memory, or a named barrier's number
    operation: Optional[int] = None  # that ended a wait, or changed a barrier
    warp: int = -1  # that issued an operation, or that a report is about
    issued: int = 0
    seen: int = 0
    bytes: int = 0
    overwrites: bool = False
    tensor: int = 0  # where in global memory it begins
    coordinates: tuple[int, ...] = ()
    extent: tuple[int, ...] = ()
    places: tuple[Place, ...] = ()


@dataclass
class Launch:
    """A launch, and the events of its CTAs in the order of their beginning."""

    number: int
    kernel: str
    grid: tuple[int, ...]
    cluster: tuple[int, ...]
    dynamic_smem: int  # where dynamic shared memory begins
    files: tuple[str, ...]
    events: list[Event] = field(default_factory=list)

    @property
    def cluster_size(self) -> int:
        size = 1
        for extent in self.cluster:
            size *= extent
        return size

    def ctas(self) -> list[int]:
        return sorted({event.cta for event in self.events})


def read(trace: Any, kinds: Collection[str] = ()) -> tuple[str, list[Launch]]:
    """The GPU's name and the launches, with events of these kinds; none named: of all. Raises TraceError for what is no
    trace, has no events or another version."""
    require_version(trace)
    try:
        head = trace["otherData"]
        launches = {item["launch"]: Launch(item["launch"], item["kernel"], tuple(item["grid"]), tuple(item["cluster"]),
                                           item["dynamic_smem"], tuple(item["files"])) for item in head["launches"]}
        clocks = {item["launch"]: to_cycles(item) for item in head["launches"]}
        for item in trace["traceEvents"]:
            # Not names of tracks, counters, and the SMs on which CTAs are.
            if item["ph"] not in ("M", "C") and item["cat"] != "residence" and (not kinds or item["cat"] in kinds):
                number = item["pid"] // CTAS_PER_LAUNCH
                launches[number].events.append(_event(item, clocks[number]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TraceError(f"its events are not those of the simulated device ({error!r})") from None
    found = [launch for launch in launches.values() if launch.events]
    if not found:
        raise TraceError("it has no events")
    for launch in found:
        launch.events.sort(key=lambda event: (event.begin, event.number))
    return str(head.get("gpu", "")), found


def _event(item: Mapping[str, Any], cycles: Callable[[float], int]) -> Event:
    more = item["args"]
    begin = cycles(item["ts"])
    barrier = more.get("barrier", {})
    event = Event(item["id"], item["cat"], item["name"], item["pid"] % CTAS_PER_LAUNCH, begin,
                  begin + cycles(item.get("dur", 0)), barrier.get("offset", barrier.get("number")),
                  (more.get("released_by") or more.get("by") or {}).get("operation"))
    for name in {"warp", "bytes", "overwrites", "tensor"} & more.keys():
        setattr(event, name, more[name])
    if event.kind == "operation":
        event.issued, event.seen = cycles(more["issued"]), cycles(more["seen"])
        event.coordinates, event.extent = tuple(more.get("coordinates", ())), tuple(more.get("extent", ()))
        event.places = tuple(_place(place) for place in more.get("places", ()))
    return event


SPACES = {"offset": "shared", "column": "tensor", "warp": "registers"}


def _place(item: Mapping[str, Any]) -> Place:
    member = next(name for name in SPACES if name in item)
    return Place(item["cta"], SPACES[member], item[member], item["count"], item.get("written", False))


def chosen_ctas(launch: Launch, wanted: Optional[Sequence[int]] = None) -> list[int]:
    """Those whose events are shown: the wanted ones, or a cluster, or two of a grid without clusters. Raises TraceError
    if one is not in the trace."""
    there = launch.ctas()
    if wanted is None:
        return there[:max(2, launch.cluster_size)]
    for cta in wanted:
        if cta not in there:
            raise TraceError(f"it has no events of CTA {cta}; it has those of {_ranges(there)}")
    return sorted(set(wanted))


def _ranges(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
