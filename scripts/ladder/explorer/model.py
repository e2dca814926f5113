"""From a launch to what the page is drawn from: tables of numbers, and the words that they refer to.

An event of the page is a row of columns: `kind` (an index of KINDS), `track`, `begin`, `length`, `name`, `line`,
`cause` (the event that ended a wait, started an operation or changed a barrier; -1 if none is known), and a to e, whose
meaning the kind decides (web/run.js reads them by name):

  run     a: its last line
  wait    a: barrier, b: parity, c: 1 if it never ended
  op      a: issued, b: seen, c: bytes, d: the track of the warp that issued it, e: detail
  change  a: barrier, b: amount, c: phase, d: pending, e: tx; length 1 if it completed the phase
  report  a: detail, b: the event that it is about, c: the one that this conflicts with, which is also its cause
  hold    a: barrier of a phase, or -1

Rows are in the order of `begin`, which is written as the difference from the row before.
"""
from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ladder.explorer import holds
from ladder.explorer.events import Actor, BarrierKey, Event, Launch, Place, chosen_ctas
from ladder.explorer.holds import FOR_EVER, Hold
from ladder.levels.description import Description

KINDS = ("run", "wait", "op", "change", "report", "hold")
UNITS = {1: "TMA load", 2: "tensor core", 3: "TMEM load", 4: "TMA store", 5: "signals", 7: "reports"}
FIRST_WARP = 16
SAME_INSTRUCTION = 64  # cycles between an access and the issue of its operation, at most
NONE = -1


class Words:
    """Strings, each once, by number."""

    def __init__(self) -> None:
        self.list: list[Any] = []
        self._number: dict[Any, int] = {}

    def __call__(self, word: Any) -> int:
        if word not in self._number:
            self._number[word] = len(self.list)
            self.list.append(word)
        return self._number[word]


@dataclass
class Row:
    kind: str
    track: int
    begin: int
    length: int
    name: str
    line: int = NONE
    cause: Optional[int] = None  # an event's number in the trace
    a: int = NONE
    b: int = NONE
    c: int = NONE
    d: int = NONE
    e: int = NONE
    number: int = NONE  # in the trace
    sides: Sequence[Optional[int]] = ()  # of a report: events' numbers in the trace


@dataclass
class Model:
    """Builds the page's data of one launch."""

    launch: Launch
    description: Optional[Description]
    ctas: list[int]
    tracks: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    lines: Words = field(default_factory=Words)  # (file, line)
    files: Words = field(default_factory=Words)
    details: Words = field(default_factory=Words)

    def __post_init__(self) -> None:
        shown = set(self.ctas)
        self.events = [e for e in self.launch.events
                       if e.cta in shown or (e.barrier is not None and e.barrier.kind == "cluster")]
        self.operations = {e.number: e for e in self.events if e.kind == "operation"}
        self.end = max(max(e.end, e.seen) for e in self.events)
        self._track: dict[Any, int] = {}
        self._barriers: dict[BarrierKey, int] = {}
        self._runs: dict[tuple[int, int], list[Event]] = {}
        self._completions: dict[tuple[BarrierKey, Actor], int] = {}
        for event in self.events:
            if event.kind == "run":
                self._runs.setdefault((event.cta, event.track - FIRST_WARP), []).append(event)
            if event.kind == "barrier" and event.completes and event.barrier and event.actor:
                self._completions[event.barrier, event.actor] = event.number
        self._starts = {warp: [run.begin for run in runs] for warp, runs in self._runs.items()}
        self._changed: dict[int, list[Event]] = {}  # by operation: what it did to barriers
        for event in self.events:
            if event.kind == "barrier" and event.actor and event.actor.operation is not None:
                self._changed.setdefault(event.actor.operation, []).append(event)

    # --- names ----------------------------------------------------------------------------------------------------

    def barrier_name(self, key: BarrierKey) -> str:
        if key.kind == "cluster":
            return "cluster barrier"
        known = self.description
        if key.kind == "named":
            for named in known.named_barriers if known else ():
                if named.number <= key.place < named.number + named.count:
                    return named.name + (f"[{key.place - named.number}]" if named.count > 1 else "")
            return "__syncthreads" if key.place == 0 else f"named barrier {key.place}"
        for barrier in known.barriers if known else ():
            index = (key.place - barrier.offset) // 8
            if 0 <= index < barrier.count:
                return barrier.name + (f"[{index}]" if barrier.count > 1 else "")
        return f"mbarrier +{key.place:,}"

    def barrier_table(self) -> list[dict[str, Any]]:
        table = []
        for key in self._barriers:
            entry: dict[str, Any] = {"name": self.barrier_name(key), "cta": key.cta, "kind": key.kind}
            for barrier in self.description.barriers if self.description and key.kind == "mbarrier" else ():
                if 0 <= key.place - barrier.offset < 8 * barrier.count:
                    entry |= {"arrives": barrier.who_arrives, "waits": barrier.who_waits, "arrivals": barrier.arrivals,
                              "bytes": barrier.bytes}
            table.append(entry)
        return table

    def line(self, source: str) -> int:
        """Of "kernel.cuh:12"."""
        name, _, number = source.rpartition(":")
        return self.lines((self.files(name), int(number))) if name and number.isdigit() else NONE

    def place_text(self, place: Place) -> str:
        if place.space == "tensor":
            return f"TMEM columns {place.first}..{place.first + place.count - 1} of CTA {place.cta}"
        if place.space == "registers":
            return f"registers of warps {place.first}..{place.first + place.count - 1} of CTA {place.cta}"
        for region in self.description.smem if self.description else ():
            inside = place.first - region.offset
            if region.kind == "data" and 0 <= inside < region.total:
                name = region.name + (f"[{inside // region.bytes}]" if region.count > 1 else "")
                part = holds.part_of(self.description, place)
                return f"{name}{'.' + part if part else ''} of CTA {place.cta} (shared +{place.first:,})"
        return f"shared +{place.first:,} of CTA {place.cta}"

    def operation_name(self, operation: Event) -> str:
        name = operation.name.partition(" of ")[0]
        if name.startswith("signal"):
            return "signal"
        part = holds.part_of(self.description, operation.places[0]) if operation.places else ""
        return f"{name} {part}" if name == "TMA load" and part else name

    def detail_of(self, operation: Event) -> int:
        """What it moved, and the descriptors of an MMA."""
        said = []
        if operation.coordinates:
            spans = [f"{at}..{at + extent - 1}" for at, extent in zip(operation.coordinates, operation.extent)]
            said.append("columns " + spans[0] + (", rows " + spans[1] if len(spans) > 1 else "")
                        + "".join(f", {span}" for span in spans[2:]))
        for wrote in (False, True):
            places = [self.place_text(p) for p in operation.places if p.written == wrote]
            if places:
                said.append(("into " if wrote else "from ") + ", ".join(places))
        if operation.overwrites:
            said.append("overwrites: the first MMA of a tile")
        for change in self._changed.get(operation.number, []):
            if change.barrier:
                said.append(f"{change.name} at {self.barrier_name(change.barrier)} of CTA {change.barrier.cta}"
                            + (", which completes its phase" if change.completes else ""))
        return self.details(("; ".join(said), *operation.descriptors))

    # --- tracks ---------------------------------------------------------------------------------------------------

    def roles(self) -> dict[tuple[int, int], str]:
        """What each warp does, as far as its operations tell."""
        does: dict[tuple[int, int], list[str]] = {}
        for operation in self.operations.values():
            name = operation.name
            what = ("loads" if name.startswith("TMA load") else "MMAs" if name.startswith(("MMA", "wgmma m")) else
                    "epilogue" if name.startswith("tcgen05.ld") else
                    "stores" if name.startswith("TMA store") else "")
            # A wgmma is issued by the four warps of a warpgroup, and noted for one of them.
            first = operation.warp // 4 * 4
            warps = range(first, first + 4) if name.startswith("wgmma m") else [operation.warp]
            for warp in warps if what else ():
                known = does.setdefault((operation.cta, warp), [])
                if what not in known:
                    known.append(what)
        return {warp: ", ".join(what) for warp, what in does.items()}

    def add_track(self, key: Any, cta: int, kind: str, name: str, note: str = "") -> None:
        self._track[key] = len(self.tracks)
        self.tracks.append({"cta": cta, "kind": kind, "name": name, "note": note})

    def make_tracks(self) -> tuple[list[holds.Buffer], list[holds.Accumulator]]:
        """Of each CTA units, warps, buffers, accumulators, barriers."""
        roles = self.roles()
        used = {(e.cta, e.track) for e in self.events}
        operations = list(self.operations.values())
        buffers = [b for b in holds.buffers(self.ctas, self.description, operations) if holds.is_used(b, operations)]
        accumulators = holds.accumulators(self.ctas, operations)
        keys = sorted({e.barrier for e in self.events if e.barrier is not None},
                      key=lambda k: (k.kind == "cluster", k.kind, k.cta, k.place))
        for cta in self.ctas:
            for unit, name in UNITS.items():
                if (cta, unit) in used:
                    self.add_track((cta, unit), cta, "report" if name == "reports" else "unit", name)
            for track in sorted(track for number, track in used if number == cta and track >= FIRST_WARP):
                warp = track - FIRST_WARP
                self.add_track((cta, track), cta, "warp", f"warp {warp}", roles.get((cta, warp), ""))
            for buffer in buffers:
                if buffer.cta == cta:
                    self.add_track(buffer, cta, "buffer", buffer.name)
            for accumulator in accumulators:
                if accumulator.cta == cta:
                    self.add_track(accumulator, cta, "accumulator", accumulator.name)
            for key in keys:
                if key.cta == cta or (key.cta < 0 and cta == self.ctas[-1]):
                    self._barriers[key] = len(self._barriers)
                    self.add_track(key, key.cta, "barrier", self.barrier_name(key))
        return buffers, accumulators

    # --- rows -----------------------------------------------------------------------------------------------------

    def run_at(self, cta: int, warp: int, time: int) -> Optional[int]:
        """The number of the event in which this warp runs then."""
        at = bisect.bisect_right(self._starts.get((cta, warp), []), time) - 1
        return self._runs[cta, warp][at].number if at >= 0 else None

    def cause_of(self, event: Event) -> Optional[int]:
        if event.kind == "operation":
            return event.after if event.after is not None else self.run_at(event.cta, event.warp, event.issued)
        who = event.actor
        if who is None:
            return None
        if event.kind == "wait" and event.barrier is not None and (event.barrier, who) in self._completions:
            return self._completions[event.barrier, who]
        return who.operation if who.operation is not None else self.run_at(who.cta, who.warp, who.at)

    def event_of(self, side: Actor) -> Optional[int]:
        """The number of the operation that a side of a report issues, or of the event in which its warp runs."""
        issued = [o for o in self.operations.values() if o.source == side.source and o.cta == side.cta
                  and (o.warp == side.warp or (o.name.startswith("wgmma") and o.warp // 4 == side.warp // 4))]
        nearest = min(issued, key=lambda o: abs(o.issued - side.at), default=None)
        if nearest is not None and abs(nearest.issued - side.at) <= SAME_INSTRUCTION:
            return nearest.number
        return self.run_at(side.cta, side.warp, side.at)

    def make_rows(self, buffers: Sequence[holds.Buffer], accumulators: Sequence[holds.Accumulator]) -> None:
        for event in self.events:
            row = self.row_of(event)
            if row is not None:
                self.rows.append(row)
        operations = sorted(self.operations.values(), key=lambda o: (o.begin, o.number))
        for buffer in buffers:
            self.hold_rows(self._track[buffer], holds.of_buffer(buffer, operations))
        for accumulator in accumulators:
            self.hold_rows(self._track[accumulator], holds.of_accumulator(accumulator, operations))
        self.phase_rows()
        self.rows.sort(key=lambda row: row.begin)

    def row_of(self, event: Event) -> Optional[Row]:
        track = self._track.get(event.barrier if event.kind == "barrier" else (event.cta, event.track))
        if track is None:
            return None
        row = Row(event.kind, track, event.begin, event.end - event.begin, event.name, self.line(event.source),
                  self.cause_of(event), number=event.number)
        if event.kind == "run":
            row.a = self.line(event.last_source)
        elif event.kind == "wait":
            row.name = event.name.removeprefix("wait: ")
            row.a = self._barriers.get(event.barrier, NONE) if event.barrier else NONE
            row.b, row.c = event.parity, int(event.is_open)
        elif event.kind == "operation":
            row.kind, row.name = "op", self.operation_name(event)
            row.a, row.b, row.c = event.issued, event.seen, event.bytes
            row.d = self._track.get((event.cta, FIRST_WARP + event.warp), NONE)
            row.e = self.detail_of(event)
        elif event.kind == "barrier" and event.barrier is not None:
            row.kind, row.length = "change", int(event.completes)
            row.a, row.b, row.c = self._barriers[event.barrier], event.amount, event.phase
            row.d, row.e = event.pending, event.tx
        else:
            row.name, row.a = "report", self.details((event.name,))
            row.sides = [self.event_of(side) for side in reversed(event.sides)]
            row.cause = row.sides[-1] if row.sides else self.run_at(event.cta, event.warp, event.begin)
        return row

    def hold_rows(self, track: int, found: Sequence[Hold]) -> None:
        for hold in found:
            end = self.end if hold.end == FOR_EVER else hold.end
            if end > hold.begin:
                self.rows.append(Row("hold", track, hold.begin, end - hold.begin, hold.state, cause=hold.cause))

    def phase_rows(self) -> None:
        """A hold per phase of each barrier."""
        begun: dict[BarrierKey, tuple[int, int]] = {}
        for event in self.events:
            if event.kind != "barrier" or event.barrier is None or event.barrier not in self._barriers:
                continue
            begin, phase = begun.setdefault(event.barrier, (event.begin, 0))
            if event.completes:
                self.phase_row(event.barrier, phase, begin, event.begin, event.number)
                begun[event.barrier] = (event.begin, phase + 1)
        for key, (begin, phase) in begun.items():
            if key.kind == "mbarrier":
                self.phase_row(key, phase, begin, self.end, None)

    def phase_row(self, key: BarrierKey, phase: int, begin: int, end: int, completed_by: Optional[int]) -> None:
        if end > begin:
            self.rows.append(Row("hold", self._track[key], begin, end - begin, f"phase {phase}", cause=completed_by,
                                 a=self._barriers[key]))

    # --- all of it ------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        self.make_rows(*self.make_tracks())
        index = {row.number: i for i, row in enumerate(self.rows) if row.number != NONE}
        for row in self.rows:
            if row.kind == "report":
                row.b, row.c = ([index.get(side, NONE) if side is not None else NONE for side in row.sides]
                                + [NONE, NONE])[:2]
        names = Words()
        columns: dict[str, list[int]] = {
            "kind": [KINDS.index(row.kind) for row in self.rows],
            "track": [row.track for row in self.rows],
            "begin": [row.begin - before for row, before in zip(self.rows, [0, *(r.begin for r in self.rows)])],
            "length": [row.length for row in self.rows],
            "name": [names(row.name) for row in self.rows],
            "line": [row.line for row in self.rows],
            "cause": [NONE if row.cause is None else index.get(row.cause, NONE) for row in self.rows],
        }
        for member in "abcde":
            columns[member] = [getattr(row, member) for row in self.rows]
        return {"kernel": self.launch.kernel, "grid": self.launch.grid, "cluster": self.launch.cluster,
                "ctas": self.ctas, "end": self.end, "tracks": self.tracks, "barriers": self.barrier_table(),
                "names": names.list, "lines": self.lines.list, "details": self.details.list, "events": columns}


def build(launch: Launch, description: Optional[Description], wanted: Optional[Sequence[int]],
          sources: dict[str, str]) -> dict[str, Any]:
    """What the page knows of a launch. `sources` are texts of files by their names. Raises TraceError."""
    model = Model(launch, description, chosen_ctas(launch, wanted))
    data = model.data()
    data["files"] = [{"name": name, "text": sources.get(name, "")} for name in model.files.list]
    return data


def sources_of(launch: Launch, known: Sequence[Path]) -> dict[str, str]:
    """The source files that a launch names, as far as they are here: those that are known first."""
    texts: dict[str, str] = {}
    for path in [*known, *map(Path, launch.files)]:
        if path.name not in texts and path.is_file():
            texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    return texts
