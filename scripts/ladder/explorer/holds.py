"""Who holds what: from operations and what they touch to the states of each stage of a ring and each accumulator."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

from ladder.explorer.events import Event, Place
from ladder.levels.description import Description

FOR_EVER = 1 << 60  # as long as the run lasts


@dataclass(frozen=True)
class Hold:
    """A state, from `begin` to `end`; `cause` is the number of the event that began it."""

    state: str
    begin: int
    end: int
    cause: int


@dataclass(frozen=True)
class Buffer:
    """A piece of shared memory that is filled and emptied as a whole."""

    name: str
    cta: int
    first: int
    end: int


@dataclass(frozen=True)
class Use:
    """Someone works on a buffer or an accumulator."""

    how: str
    begin: int
    end: int
    number: int


def buffers(ctas: Iterable[int], description: Optional[Description], operations: Sequence[Event]) -> list[Buffer]:
    """Those that the kernel names; of one that says nothing of itself, whatever its TMA instructions name."""
    found: list[Buffer] = []
    for cta in ctas:
        if description is not None:
            for region in description.smem:
                if region.kind == "data":
                    found += [Buffer(f"{region.name}[{i}]" if region.count > 1 else region.name, cta,
                                     region.offset + i * region.bytes, region.offset + (i + 1) * region.bytes)
                              for i in range(region.count)]
            continue
        moved = {(p.first, p.count) for o in operations if o.coordinates for p in o.places if p.cta == cta}
        found += [Buffer(f"shared +{first:,}", cta, first, first + count) for first, count in sorted(moved)]
    return found


def is_used(buffer: Buffer, operations: Sequence[Event]) -> bool:
    return any(_is_in(place, buffer) for operation in operations for place in operation.places)


def _is_in(place: Place, buffer: Buffer) -> bool:
    return place.space == "shared" and place.cta == buffer.cta and buffer.first <= place.first < buffer.end


def part_of(description: Optional[Description], place: Place) -> str:
    """"A" or "B" of a stage; empty if the kernel does not say."""
    for region in description.smem if description is not None else ():
        inside = place.first - region.offset
        if region.kind == "data" and 0 <= inside < region.total:
            for part in region.parts:
                if part.offset <= inside % region.bytes < part.offset + part.bytes:
                    return part.name
    return ""


def _use_of(operation: Event, place: Place) -> Use:
    if place.written:
        return Use("TMA fills it", operation.issued, operation.seen, operation.number)
    if operation.name.startswith("TMA store") or operation.name.startswith("bulk store"):
        return Use("TMA stores it", operation.begin, operation.seen, operation.number)
    return Use("MMAs read it", operation.begin, operation.seen, operation.number)


BETWEEN = {("TMA fills it", "MMAs read it"): "full", ("TMA fills it", ""): "full",
           ("MMAs read it", "TMA stores it"): "left to the warps",
           ("TMA stores it", "TMA stores it"): "left to the warps"}


def of_buffer(buffer: Buffer, operations: Sequence[Event]) -> list[Hold]:
    """Filled, full, read, free, and so on; what warps do to it with loads and stores of their own is not known."""
    uses = [_use_of(o, p) for o in operations for p in o.places if _is_in(p, buffer)]
    return _fill(_merged(uses), BETWEEN, "free")


def _merged(uses: Sequence[Use]) -> list[Use]:
    """Equal uses that follow one another are one; stores, if they overlap: warps write between them."""
    merged: list[Use] = []
    for use in sorted(uses, key=lambda u: (u.begin, u.end)):
        if merged and merged[-1].how == use.how and (use.how != "TMA stores it" or use.begin <= merged[-1].end):
            last = merged[-1]
            merged[-1] = Use(last.how, last.begin, max(last.end, use.end), last.number)
        else:
            merged.append(use)
    return merged


def _fill(uses: Sequence[Use], between: dict[tuple[str, str], str], otherwise: str) -> list[Hold]:
    """The uses, and what lies between them."""
    holds: list[Hold] = []
    before, now = "", 0
    number = uses[0].number if uses else 0
    for use in uses:
        begin = max(now, use.begin)
        if begin > now:
            holds.append(Hold(between.get((before, use.how), otherwise), now, begin, number))
        if use.end > begin:
            holds.append(Hold(use.how, begin, use.end, use.number))
        before, now, number = use.how, max(begin, use.end), use.number
    if uses:
        holds.append(Hold(between.get((before, ""), otherwise), now, FOR_EVER, number))
    return holds


# --- accumulators -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Accumulator:
    name: str
    cta: int
    space: str  # tensor or registers
    first: int
    count: int


def accumulators(ctas: Sequence[int], operations: Sequence[Event]) -> list[Accumulator]:
    """Those that MMAs write."""
    found = sorted({(p.cta, p.space, p.first, p.count) for o in operations for p in o.places
                    if p.written and p.space != "shared" and not o.name.startswith("tcgen05.st") and p.cta in ctas})
    return [Accumulator(f"TMEM {first}..{first + count - 1}" if space == "tensor" else
                        f"registers, warps {first}..{first + count - 1}", cta, space, first, count)
            for cta, space, first, count in found]


READ_LATER = {("MMAs add to it", "epilogue reads it"): "complete", ("MMAs add to it", ""): "complete",
              ("MMAs add to it", "MMAs add to it"): "complete"}


def of_accumulator(accumulator: Accumulator, operations: Sequence[Event]) -> list[Hold]:
    """Added to, complete, read, free. Of registers, nobody can see when they are read for the last time."""
    uses: list[Use] = []
    all_added = 0  # when the last MMA so far ends
    for operation in operations:
        for place in operation.places:
            if (place.cta, place.space) != (accumulator.cta, accumulator.space) or \
                    not accumulator.first <= place.first < accumulator.first + accumulator.count:
                continue
            if operation.name.startswith("tcgen05.ld"):
                uses.append(Use("epilogue reads it", operation.issued, operation.seen, operation.number))
            elif place.written:
                # A tile begins where an MMA that overwrites is issued after all earlier ones have ended.
                if operation.overwrites and operation.issued >= all_added:
                    uses.append(Use("", operation.begin, operation.begin, operation.number))
                uses.append(Use("MMAs add to it", operation.begin, operation.seen, operation.number))
                all_added = max(all_added, operation.seen)
    return _fill(_tiles(uses), READ_LATER, "free")


def _tiles(uses: Sequence[Use]) -> list[Use]:
    """Merged uses, but not across the marks that part one tile from the next."""
    parts: list[list[Use]] = [[]]
    for use in uses:
        if use.how:
            parts[-1].append(use)
        else:
            parts.append([])
    return [use for part in parts for use in _merged(part)]
