"""What pages and pictures are made of: what scripts/observe.py recorded of the levels, their sources, and the results.

Everything is read when it is first asked for. Raises tables.DataError for files that cannot be right.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

import ablations
import kernels
import ladder
import ptx_index
import tables

RESULTS = Path("docs") / "results"
CHARTS = Path("docs") / "charts"
EXPLAIN = RESULTS / "explain.json"
COUNTERS = RESULTS / "sim_counters.csv"
GPUS = RESULTS / "gpus.csv"

SMEM_LIMIT = 232_448  # bytes of shared memory that a CTA can have, on Hopper and Blackwell
TMEM_COLUMNS = 512


def timeline_path(level: str, arch: int) -> Path:
    return RESULTS / f"sim_timeline_{level[:len('level00')]}_sm{arch}.json"


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
        return f"Level {ladder.level_number(self.level):02}, {kernels.ARCH_NAMES[self.arch]}"


def per_access(row: tables.Fields, total: str, accesses: str) -> Optional[float]:
    """What an access of a warp costs on average, from a row of COUNTERS; None if there is no such access."""
    count = int(row[accesses])
    return int(row[total]) / count if count else None


def cluster_shape(context: Context, description: Description) -> tuple[int, int]:
    """CTAs of a cluster one above the other, which share columns of D, and side by side."""
    across = int(context.kernel(description).config.CLUSTER_N) if description.cluster > 2 else 1
    return description.cluster // across, across


def lines_per_store(row: tables.Fields) -> Optional[float]:
    """Cache lines that a warp touches with a store to global memory."""
    return per_access(row, "global_store_lines", "global_stores")


def wavefronts_per_store(row: tables.Fields) -> Optional[float]:
    """Passes through shared memory that a warp's store takes."""
    return per_access(row, "shared_store_wavefronts", "shared_stores")


def executed_share(row: tables.Fields) -> float:
    """Tensor FLOPs that are executed, in units of the useful ones."""
    return int(row["tensor_flops"]) / int(row["useful_flops"])


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise tables.DataError(f"{path}: {error}.") from None


@dataclass
class Context:
    """What blocks and drawings are made of."""

    root: Path
    results: list[tables.Result]
    page: Path = Path("README.md")  # that is being rendered: links are relative to it

    def levels(self) -> list[str]:
        """The levels that are here, and those that only figures exist of."""
        return tables.all_levels(self.results, self.root)

    def level(self, number: int) -> str:
        """Its name. Raises ValueError."""
        named = [name for name in ladder.all_levels(self.root) if ladder.level_number(name) == number]
        if not named:
            raise ValueError(f"level={number} names no level")
        return named[0]

    def markdown(self, table: tables.Table) -> str:
        return table.markdown() if table.groups else "No figures yet.\n"

    def link(self, path: Path) -> str:
        """From the page to `path`, which is relative to the root."""
        page = self.page.parent.parts
        target = path.parts
        common = next((i for i, (a, b) in enumerate(zip(page, target)) if a != b), min(len(page), len(target)))
        return "/".join([".."] * (len(page) - common) + list(target[common:]))

    @cached_property
    def descriptions(self) -> list[Description]:
        """Of every level, architecture and configuration. Configurations whose kernels are alike but for what is not
        described, such as the swizzles of level 02, count once."""
        path = self.root / EXPLAIN
        if not path.exists():
            return []
        try:
            found = [Description.of(item) for item in read_json(path)]
        except (TypeError, KeyError) as error:
            raise tables.DataError(f"{path}: {error}: run python3 scripts/observe.py.") from None
        return [d for i, d in enumerate(found) if not any(d.same_kernel(other) for other in found[:i])]

    def described(self, level: str, arch: int) -> list[Description]:
        return [d for d in self.descriptions if (d.level, d.arch) == (level, arch)]

    def kernel(self, description: Description) -> kernels.Kernel:
        key = (description.level, description.arch, description.config)
        if key not in self._kernels:
            self._kernels[key] = kernels.read_kernel(self.root, *key)
        return self._kernels[key]

    @cached_property
    def _kernels(self) -> dict[tuple[str, int, str], kernels.Kernel]:
        return {}

    @cached_property
    def introductions(self) -> dict[ptx_index.Wrapper, dict[int, str]]:
        return ptx_index.introductions(self.root)

    @cached_property
    def counters(self) -> list[tables.Fields]:
        path = self.root / COUNTERS
        return tables.read_rows(path)[1] if path.exists() else []

    def counted(self, level: str, arch: int) -> Optional[tables.Fields]:
        return next((row for row in self.counters if (row["level"], row["arch"]) == (level, str(arch))), None)

    def timeline(self, level: str, arch: int) -> Optional[dict[str, Any]]:
        path = self.root / timeline_path(level, arch)
        return read_json(path) if path.exists() else None

    @cached_property
    def ablations(self) -> list[ablations.Ablation]:
        return ablations.load(self.root / RESULTS)

    @cached_property
    def gpus(self) -> list[tables.Fields]:
        path = self.root / GPUS
        return tables.read_rows(path)[1] if path.exists() else []
