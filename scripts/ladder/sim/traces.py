"""From a trace, of the simulated device or of timers in a kernel, to what a picture of it needs, CTA by CTA."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

# A trace has thousands of events; the picture shows what an eye can follow. Loads that bring one K block are one bar,
# as are MMAs that follow each other without a pause, and a whole epilogue. What the trace does not say is inferred from
# it: which warps share a role, which warp issues what, which epilogue belongs to which tile.

Bar = list[Any]  # [begin, end, state]: cycles; the state is a tile's number, or one of STATES, or empty

STATES = {
    "run": "issues, computes addresses",
    "mbarrier": "waits for a barrier in shared memory",
    "barrier": "waits for a barrier of the CTA or cluster",
    "mma": "waits for MMAs",
    "store": "waits for a store to read shared memory",
    "epilogue": "epilogue",
}
WAIT_STATES = {"mbarrier": "mbarrier", "CTA barrier": "barrier", "cluster barrier": "barrier", "wgmma": "mma",
               "bulk stores": "store"}
VERSION = 2  # of the form that common/sim/timing/trace.cpp writes
TENSOR = ("MMA", "wgmma m")
PAIR = "MMA 256"  # rows: those of two CTAs


class TraceError(Exception):
    """What is no trace of the simulated device; the message says why."""


@dataclass(frozen=True)
class Event:
    name: str
    begin: int
    end: int
    line: int = 0  # of the source
    seen: int = 0  # when an operation's effect could be seen
    warp: int = -1  # that issued an operation; -1: the trace does not say


@dataclass
class Cta:
    """The events of one CTA, by unit and by warp."""

    number: int
    operations: list[Event] = field(default_factory=list)
    warps: dict[int, list[Event]] = field(default_factory=dict)

    def of(self, *prefixes: str) -> list[Event]:
        return sorted((o for o in self.operations if o.name.startswith(prefixes)), key=lambda o: (o.begin, o.end))


def require_version(trace: Any) -> None:
    """Raises TraceError unless this is a trace in the form that is read here."""
    head = trace.get("otherData") if isinstance(trace, dict) else None
    if not isinstance(head, dict) or "traceEvents" not in trace:
        raise TraceError("it has no traceEvents and otherData")
    if head.get("version") != VERSION:
        raise TraceError(f"its form is version {head.get('version', 1)}, and this reads version {VERSION}: "
                         "record it again")


def to_cycles(launch: Mapping[str, Any]) -> Callable[[float], int]:
    """From microseconds, as a trace has them: cycles of the launch's predicted clock, or of 1 GHz, so that a cycle is
    shown as a nanosecond."""
    ghz = float(launch.get("ghz", 1))
    return lambda microseconds: round(microseconds * 1000 * ghz)


def read_trace(trace: Any) -> list[Cta]:
    """The CTAs of the first launch that run at the same time as the first: those of its cluster, or of a small GPU."""
    require_version(trace)
    try:
        cycles = to_cycles(next(iter(trace["otherData"].get("launches", ())), {}))
        ctas: dict[int, Cta] = {}
        for item in trace["traceEvents"]:
            if item["ph"] != "X" or item["pid"] >= 1_000_000:  # from there on: later launches
                continue
            if item["cat"] == "residence":  # of all SMs
                continue
            cta = ctas.setdefault(item["pid"], Cta(item["pid"]))
            arguments = item.get("args", {})
            line = arguments.get("source", "").rpartition(":")[2]
            event = Event(item["name"], cycles(item["ts"]), cycles(item["ts"] + item["dur"]),
                          int(line) if line.isdigit() else 0, cycles(arguments.get("seen", 0)),
                          int(arguments.get("warp", -1)))
            if item["cat"] == "operation":
                cta.operations.append(event)
            else:
                cta.warps.setdefault(item["tid"] - 16, []).append(event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TraceError(f"its events are not those of the simulated device ({error!r})") from None
    if not ctas:
        raise TraceError("it has no events")
    for cta in ctas.values():
        for events in cta.warps.values():
            events.sort(key=lambda e: (e.begin, e.end))
    pair = any(o.name.startswith(PAIR) for o in ctas[min(ctas)].operations)
    multicast = any("CTA 1" in o.name for o in ctas[min(ctas)].operations)
    return [ctas[n] for n in sorted(ctas)[:2 if pair or multicast else 1]]


def _runs(events: Sequence[Event], gap: int = 0) -> list[list[int]]:
    """Events that follow each other without more than `gap` cycles between them, as one interval each."""
    runs: list[list[int]] = []
    for event in sorted(events, key=lambda e: e.begin):
        if runs and event.begin <= runs[-1][1] + gap:
            runs[-1][1] = max(runs[-1][1], event.end)
        else:
            runs.append([event.begin, event.end])
    return runs


def _wait_of(event: Event) -> str:
    return event.name[len("wait: "):] if event.name.startswith("wait: ") else ""


def _waits(events: Sequence[Event], kind: str) -> list[Event]:
    return [e for e in events if _wait_of(e) == kind]


def _final_waits(events: Sequence[Event]) -> list[Event]:
    """Where a Hopper warp waits for the last MMAs of a tile: at the last such line of the program. If it has only one,
    which waits for all MMAs of each K block, it is the last of these."""
    waits = _waits(events, "wgmma")
    last = [e for e in waits if e.line == max(w.line for w in waits)]
    return last if len({w.line for w in waits}) > 1 else last[-1:]


@dataclass(frozen=True)
class Work:
    """How much there is to do, as far as the trace tells."""

    tiles: int  # of each CTA
    k_blocks: int  # of all its tiles

    @staticmethod
    def of(leader: Cta) -> Work:
        """Blackwell: a commit follows each K block, another each tile, further down in the program. Hopper: warpgroups
        close a group per K block. Two of them share each tile, unless one begins when the other has issued its MMAs."""
        commits = leader.of("tcgen05.commit")
        if commits:
            last = max(c.line for c in commits)
            tiles = sum(c.line == last for c in commits)
            return Work(tiles, len(commits) - tiles)
        consumers = [events for warp, events in leader.warps.items() if warp % 4 == 0 and _waits(events, "wgmma")]
        tensor = leader.of(*TENSOR)
        if not consumers or not tensor:
            return Work(0, 0)
        first_ends = min(_final_waits(events)[0].begin for events in consumers)
        in_turns = any(_waits(events, "wgmma")[0].begin >= first_ends for events in consumers[1:])
        share = 1 if in_turns else len(consumers)
        return Work(sum(len(_final_waits(events)) for events in consumers) // share,
                    len(leader.of("wgmma.commit_group")) // share)


def _in_parts(items: Sequence[Any], parts: int) -> list[Sequence[Any]]:
    """Equally many for each part; all in one where that does not come out even."""
    if parts < 1 or len(items) % parts:
        return [items]
    share = len(items) // parts
    return [items[i * share:(i + 1) * share] for i in range(parts)]


def _epilogues(events: Sequence[Event], work: Work, tensor: Sequence[Event]) -> list[list[int]]:
    """Where a warp is in its epilogue, tile by tile. On Blackwell: around the reads of tensor memory, from a wait for a
    barrier, or the end of an MMA, to the next wait. On Hopper: from the last wait for MMAs until the program jumps
    back."""
    reads = _waits(events, "tcgen05.ld")
    found: list[list[int]] = []
    if reads:
        stops = [e for e in events if _wait_of(e) in ("mbarrier", "cluster barrier")]
        for part in _in_parts(reads, work.tiles):
            begin = max((s.end for s in [*stops, *tensor] if s.end <= part[0].begin), default=0)
            end = min((s.begin for s in stops if s.begin >= part[-1].end), default=events[-1].end)
            if found:  # without a wait between two tiles
                found[-1][1] = min(found[-1][1], part[0].begin)
                begin = max(begin, found[-1][1])
            found.append([begin, end])
        return found
    if not _waits(events, "wgmma"):
        return []
    for final in _final_waits(events):
        after = [e for e in events if e.begin >= final.end and _wait_of(e)]
        back = (e.begin for e in after if e.line < final.line or _wait_of(e) == "cluster barrier")
        found.append([final.end, min(back, default=events[-1].end)])
    return found


def _states(events: Sequence[Event], epilogues: Sequence[Sequence[int]]) -> list[Bar]:
    """A warp's time, cut into states."""
    bars: list[Bar] = []
    for event in events:
        tile = next((i for i, (begin, end) in enumerate(epilogues) if begin <= event.begin < end), None)
        state = WAIT_STATES.get(_wait_of(event), "run" if tile is None else "epilogue")
        if event.end == event.begin:
            continue
        if bars and bars[-1][2] == state and bars[-1][1] == event.begin:
            bars[-1][1] = event.end
        else:
            bars.append([event.begin, event.end, state])
    return bars


def _signature(events: Sequence[Event]) -> frozenset[tuple[str, int]]:
    """What a warp waits for: warps with the same role agree in this. (Of warps that share an epilogue, one alone waits
    for the stores: that tells roles apart only where a warp does nothing else.)"""
    waits = frozenset((_wait_of(e), e.line) for e in events if _wait_of(e) in ("mbarrier", "wgmma", "tcgen05.ld"))
    return waits or frozenset((_wait_of(e), e.line) for e in _waits(events, "bulk stores"))


def _groups(ctas: Sequence[Cta]) -> list[list[int]]:
    """Warps that belong together, in whichever CTA they have something to do."""
    numbers = sorted({w for c in ctas for w in c.warps})
    signatures = {w: frozenset[Any]().union(*(_signature(c.warps.get(w, [])) for c in ctas)) for w in numbers}
    groups: list[list[int]] = []
    for warp, signature in signatures.items():
        if not signature:
            continue
        if groups and groups[-1][-1] == warp - 1 and signatures[warp - 1] == signature and warp % 4 != 0:
            groups[-1].append(warp)
        else:
            groups.append([warp])
    return groups


def _issuer(cta: Cta, operations: Sequence[Event]) -> Optional[int]:
    """The warp that issued a unit's first operation. Where the trace does not say, one that runs when the unit starts
    on it; if several do, the one that waits for barriers in shared memory most often: as issuing warps do."""
    if not operations:
        return None
    if operations[0].warp >= 0:
        return operations[0].warp
    time = operations[0].begin
    running = [w for w, events in cta.warps.items()
               if any(e.name == "run" and e.begin <= time <= e.end for e in events)]
    return max(running, key=lambda w: len(_waits(cta.warps[w], "mbarrier")), default=None)


def _role(group: Sequence[int], cta: Cta, is_pair: bool) -> str:
    """What a group of warps does in this CTA, as far as the trace tells."""
    events = [e for w in group for e in cta.warps.get(w, [])]
    may_issue = cta.number == 0 or not is_pair
    issues_mmas = _waits(events, "wgmma") or (may_issue and _issuer(cta, cta.of(*TENSOR)) in group)
    stores = _waits(events, "tcgen05.ld") or _waits(events, "wgmma")
    does = {"TMA": _issuer(cta, cta.of("TMA load")) in group, "MMA": issues_mmas, "epilogue": stores,
            "store": not stores and _waits(events, "bulk stores")}
    return ", ".join(name for name, yes in does.items() if yes) or "idle"


def _load_bars(loads: Sequence[Event], work: Work) -> list[Bar]:
    """From issue to arrival, a bar per K block."""
    blocks = [[part[0].begin, max(load.seen for load in part)] for part in _in_parts(loads, work.k_blocks)]
    if work.k_blocks < 1 or len(loads) % work.k_blocks:
        blocks = [[load.begin, load.seen] for load in loads]
    return [[*block, tile] for tile, part in enumerate(_in_parts(blocks, work.tiles)) for block in part]


def _mma_bars(operations: Sequence[Event], work: Work) -> list[Bar]:
    """MMAs without a pause between them, but never across the border of a tile."""
    return [[*run, tile] for tile, part in enumerate(_in_parts(operations, work.tiles)) for run in _runs(part, gap=2)]


def reduce(trace: Any) -> dict[str, Any]:
    """What the picture shows, as docs/results/sim_timeline_*.json keeps it. Raises TraceError."""
    ctas = read_trace(trace)
    leader, groups, work = ctas[0], _groups(ctas), Work.of(ctas[0])
    tensor = leader.of(*TENSOR)
    is_pair = bool(tensor) and tensor[0].name.startswith(PAIR)
    about = trace.get("otherData", {})
    result: dict[str, Any] = {"kind": about.get("kind", "modelled"), "gpu": about.get("gpu", ""), "tiles": work.tiles,
                              "ctas": []}
    for cta in ctas:
        mma = tensor if is_pair else cta.of(*TENSOR)  # the leader's MMAs work in both CTAs of a pair
        epilogues = {w: _epilogues(events, work, mma) for w, events in cta.warps.items()}
        tracks = [{"name": "TMA loads", "kind": "loads", "bars": _load_bars(cta.of("TMA load"), work)},
                  {"name": "tensor core", "kind": "mma", "bars": _mma_bars(mma, work)}]
        if any(c.of("TMA store") for c in ctas):
            stores = [[*run, ""] for run in _runs(cta.of("TMA store"), gap=64)]
            tracks.append({"name": "TMA stores", "kind": "stores", "bars": stores})
        for group in groups:
            name = f"warp {group[0]}" if len(group) == 1 else f"warps {group[0]}-{group[-1]}"
            tracks.append({"name": name, "kind": "warps", "role": _role(group, cta, is_pair),
                           "bars": _states(cta.warps.get(group[0], []), epilogues.get(group[0], [])),
                           "epilogues": epilogues.get(group[0], [])})
        result["ctas"].append({"cta": cta.number, "tracks": tracks})
    return result
