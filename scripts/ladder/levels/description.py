"""What a kernel says of itself: its configurations, as `--explain --json` prints them (common/harness/README.md has the
form)."""
from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Optional

from ladder.command import Failure
from ladder.files import read_json
from ladder.levels import names

SMEM_LIMIT = 232_448  # bytes of shared memory that a CTA can have, on Hopper and Blackwell
TMEM_COLUMNS = 512


@dataclass(frozen=True)
class Part:
    name: str
    offset: int  # from the beginning of what it is a part of
    bytes: int


@dataclass(frozen=True)
class Region:
    """A piece of shared memory: `count` equal ones of `bytes` each, one after the other."""

    name: str  # that of the constant in the kernel's Smem, in lower case
    kind: str  # barrier, address or data
    what: str
    offset: int
    bytes: int
    count: int
    pitch: int = 0  # bytes from row to row, where there are rows
    swizzle: str = "None"
    parts: tuple[Part, ...] = ()

    @property
    def total(self) -> int:
        return self.count * self.bytes


@dataclass(frozen=True)
class Barrier:
    name: str
    offset: int
    count: int
    arrivals: int
    bytes: int
    who_arrives: str
    who_waits: str
    first_parity: int


@dataclass(frozen=True)
class NamedBarrier:
    name: str
    number: int
    count: int
    threads: int
    what: str


@dataclass(frozen=True)
class Role:
    threads: str
    work: str


@dataclass(frozen=True)
class TileOrder:
    """The tiles of a grid, row and column, in the order in which they are taken; those of a cluster are neighbours."""

    m_blocks: int
    n_blocks: int
    tiles: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Description:
    """One configuration of a level's kernel."""

    level: str
    arch: int
    idea: str
    config: str
    cluster: int
    cluster_n: int
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
    constants: Mapping[str, int]  # of the kernel's Config
    smem: tuple[Region, ...]
    barriers: tuple[Barrier, ...]
    named_barriers: tuple[NamedBarrier, ...]
    roles: tuple[Role, ...]
    tile_order: Optional[TileOrder]  # of CTAs that stay and take one tile after the other
    swizzles: Mapping[str, tuple[int, ...]]  # by name: where each 16-byte chunk of a pattern lies

    def same_tables(self, other: Description) -> bool:
        """Whether nothing differs that the tables of a page show: the swizzles of level 02 do in shared memory only."""
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(self)
                   if f.name not in ("config", "smem")) and \
            [(r.offset, r.total, r.what) for r in self.smem] == [(r.offset, r.total, r.what) for r in other.smem]

    @property
    def title(self) -> str:
        return f"{names.title(self.level).capitalize()}, {names.ARCH_NAMES[self.arch]}"

    @property
    def outline(self) -> list[Region]:
        """Shared memory in a few lines: the barriers, with what else is small, as one, then the data."""
        data = [region for region in self.smem if region.kind == "data"]
        return [Region("barriers", "barrier", "barriers", 0, data[0].offset, 1), *data]

    def region(self, name: str) -> Region:
        """By its name; raises KeyError."""
        return {region.name: region for region in self.smem}[name]

    @property
    def cluster_m(self) -> int:
        """CTAs of a cluster one above the other, which share columns of D."""
        return self.cluster // self.cluster_n


# What tells the mechanisms of a kernel apart, of those constants that it has.
MECHANISMS = ("SPLITS_K", "WHOLE_CLUSTERS", "SWAPS_AB", "CUTS_LAST_WAVE", "NUM_CONSUMERS", "M_SUBTILES", "D_STAGES")


def one_per_mechanism(described: Sequence[Description]) -> list[Description]:
    """So few configurations of one kernel that each cluster, and each value of each of MECHANISMS, occurs in one."""
    def traits(d: Description) -> set[tuple[str, int]]:
        return {("cluster", 10 * d.cluster_m + d.cluster_n),
                *((name, d.constants[name]) for name in MECHANISMS if name in d.constants)}

    missing = set().union(*map(traits, described))
    chosen: list[Description] = []
    while missing:
        best = max(described, key=lambda d: len(missing & traits(d)))
        missing -= traits(best)
        chosen.append(best)
    return sorted(chosen, key=described.index)


class ExplainError(Failure):
    """A program that does not say what a level's executable says of itself."""


def ask(program: Path, *arguments: str) -> dict[str, Any]:
    """What a level's executable says of its configurations, with more arguments (a shape, for the order of its tiles);
    no device is needed. Raises ExplainError."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "explain.json"
        try:
            answer = subprocess.run([program, "--explain", "--json", file, *arguments], capture_output=True, text=True,
                                    timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ExplainError(f"{program} cannot be asked about its kernel: {error}") from None
        if answer.returncode != 0 or not file.exists():
            words = (answer.stderr.strip() or "no word").splitlines()[-1]
            raise ExplainError(f"{program} says nothing of its kernel: exit code {answer.returncode}: {words}")
        said: dict[str, Any] = read_json(file)
        return said


def describe(item: Mapping[str, Any]) -> list[Description]:
    """The configurations that one executable prints. Raises TypeError, KeyError, ValueError for what is none of its
    output."""
    common = {name: item[name] for name in ("level", "arch", "idea")}
    swizzles = {name: tuple(chunks) for name, chunks in item["swizzles"].items()}
    return [_of_config({**common, "swizzles": swizzles, **config}) for config in item["configs"]]


def _of_config(item: Mapping[str, Any]) -> Description:
    order = item.get("tile_order")
    made = {
        "smem": tuple(Region(**{**r, "parts": tuple(Part(**p) for p in r.get("parts", []))}) for r in item["smem"]),
        "barriers": tuple(Barrier(**b) for b in item["barriers"]),
        "named_barriers": tuple(NamedBarrier(**b) for b in item["named_barriers"]),
        "roles": tuple(Role(**r) for r in item["roles"]),
        "tile_order": order and TileOrder(order["m_blocks"], order["n_blocks"],
                                          tuple((m, n) for m, n in order["tiles"])),
    }
    return Description(**{**item, **made})
