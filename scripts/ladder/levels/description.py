"""What a kernel says of itself: one configuration, as `--explain --json` prints it (see common/harness/level.h)."""
from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ladder.levels import names

SMEM_LIMIT = 232_448  # bytes of shared memory that a CTA can have, on Hopper and Blackwell
TMEM_COLUMNS = 512


@dataclass(frozen=True)
class Region:
    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Barrier:
    name: str
    copies: int
    arrivals: int
    bytes: int
    who_arrives: str
    who_waits: str
    first_parity: int


@dataclass(frozen=True)
class Role:
    threads: str
    work: str


@dataclass(frozen=True)
class Description:
    """What `--explain --json` says of one configuration; see common/harness/level.h."""

    level: str
    arch: int
    idea: str
    config: str
    cluster: int
    tile_m: int
    tile_n: int
    tile_k: int
    tile_owner: str
    stages: int
    stage_bytes: int
    threads: int
    smem_bytes: int
    request_bytes: int
    tmem_columns: int
    accumulators: int
    smem: list[Region] = field(default_factory=list)
    barriers: list[Barrier] = field(default_factory=list)
    roles: list[Role] = field(default_factory=list)

    @staticmethod
    def of(item: dict[str, Any]) -> Description:
        parts = {"smem": [Region(**r) for r in item["smem"]], "barriers": [Barrier(**b) for b in item["barriers"]],
                 "roles": [Role(**r) for r in item["roles"]]}
        return Description(**{**item, **parts})

    def same_kernel(self, other: Description) -> bool:
        """Nothing but the configuration's name differs."""
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(self) if f.name != "config")

    @property
    def title(self) -> str:
        return f"Level {names.number_of(self.level):02}, {names.ARCH_NAMES[self.arch]}"
