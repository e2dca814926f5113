"""When an accumulator is added to, complete, and read: from the operations of a trace."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ladder.explorer.events import Event

END_OF_RUN = 1 << 60
ADDED, COMPLETE, READ = "MMAs add to it", "complete", "epilogue reads it"


@dataclass(frozen=True)
class Accumulator:
    cta: int
    space: str  # tensor or registers
    first: int
    count: int


@dataclass
class Hold:
    """A state, from `begin` to `end`."""

    state: str
    begin: int
    end: int


def accumulators(cta: int, operations: Sequence[Event]) -> list[Accumulator]:
    """Those of a CTA that MMAs write."""
    found = {(p.space, p.first, p.count) for o in operations for p in o.places
             if p.written and p.space != "shared" and not o.name.startswith("tcgen05.st") and p.cta == cta}
    return [Accumulator(cta, *place) for place in sorted(found)]


def full_or_read(accumulator: Accumulator, operations: Sequence[Event]) -> list[Hold]:
    """When it is complete or being read. No operation says when registers are read for the last time: they are complete
    until the next tile begins."""
    tiles: list[list[Hold]] = [[]]
    all_added = 0  # when the last MMA so far ends
    for operation in operations:
        for place in operation.places:
            if (place.cta, place.space) != (accumulator.cta, accumulator.space) or \
                    not accumulator.first <= place.first < accumulator.first + accumulator.count:
                continue
            if operation.name.startswith("tcgen05.ld"):
                tiles[-1].append(Hold(READ, operation.issued, operation.seen))
            elif place.written:
                # A tile begins where an MMA that overwrites is issued after all earlier ones have ended.
                if operation.overwrites and operation.issued >= all_added:
                    tiles.append([])
                tiles[-1].append(Hold(ADDED, operation.begin, operation.seen))
                all_added = max(all_added, operation.seen)
    uses = [use for tile in tiles for use in _merged(tile)]
    found = []
    now = 0
    for before, use in zip([None, *uses], [*uses, None]):
        begin = max(now, use.begin) if use else END_OF_RUN
        if before is not None and before.state == ADDED and begin > now:
            found.append(Hold(COMPLETE, now, begin))
        if use is not None:
            if use.state == READ and use.end > begin:
                found.append(Hold(READ, begin, use.end))
            now = max(begin, use.end)
    return found


def _merged(uses: Sequence[Hold]) -> list[Hold]:
    """Equal uses that follow one another are one."""
    merged: list[Hold] = []
    for use in sorted(uses, key=lambda u: (u.begin, u.end)):
        if merged and merged[-1].state == use.state:
            merged[-1].end = max(merged[-1].end, use.end)
        else:
            merged.append(use)
    return merged
