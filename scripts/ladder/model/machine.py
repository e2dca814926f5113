"""What a GPU can do per cycle, and what a level's tile asks of it: the arithmetic of docs/how_fast.md, from the timing
model's constants and from what the kernels say of themselves."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from ladder.context import Context
from ladder.files import DataError
from ladder.levels.description import Description
from ladder.results import data

GPUS = {90: "h100", 100: "b200"}  # of the pages, by architecture
NAMES = {"h100": "NVIDIA H100 80GB HBM3", "b200": "B200"}  # as docs/results/gpus.csv has them
BYTES = 2  # of a BF16 number
CONSTANTS = "common/sim/*/*/{}.csv"


@dataclass(frozen=True)
class Rate:
    """Bytes per cycle and SM, and where the figure is from."""

    bytes: float
    kind: str


@dataclass(frozen=True)
class Machine:
    arch: int
    sms: int
    constants: Mapping[str, data.Fields]

    def value(self, name: str) -> float:
        return float(self.constants[name]["value"])

    @property
    def clock(self) -> float:
        """The highest, in Hz."""
        return 1e9 * self.value("clock_max")

    @property
    def flops(self) -> float:
        """Of one SM's tensor core, per cycle."""
        return self.value("mma_flops_per_cycle")

    def peak(self, clock: float) -> float:
        """TFLOPS of the whole GPU at a clock in Hz."""
        return self.sms * self.flops * clock / 1e12

    def per_cycle(self, name: str, sms: float = 0) -> Rate:
        """A constant in bytes per second, shared by so many SMs (0: by all), at the highest clock."""
        return Rate(self.value(name) / self.clock / (sms or self.sms), self.constants[name]["kind"])

    @cached_property
    def rates(self) -> dict[str, Rate]:
        """By the arrow of the picture."""
        return {
            "DRAM": self.per_cycle("dram_bytes_per_second"),
            "link": self.per_cycle("l2_link_bytes_per_second"),
            "L2": self.per_cycle("l2_bytes_per_second"),
            "port": self.per_cycle("gpc_bytes_per_second", 18),
            "TMA": Rate(128 / self.value("tma_row"), self.constants["tma_row"]["kind"]),
            "shared": Rate(self.value("mma_bytes_per_cycle"), self.constants["mma_bytes_per_cycle"]["kind"]),
            "store": Rate(self.value("store_bytes_per_cycle"), self.constants["store_bytes_per_cycle"]["kind"]),
        }

    def latency(self, from_dram: bool) -> float:
        """Of a load, in cycles of the highest clock, beside its bytes."""
        nanoseconds = self.value("l2_latency") + (self.value("dram_latency") if from_dram else 0)
        return nanoseconds * 1e-9 * self.clock


def machine(context: Context, arch: int) -> Machine:
    key = GPUS[arch]
    paths = sorted(context.root.glob(CONSTANTS.format(key)))
    known = next((row for row in context.gpus if row["gpu"] == NAMES[key]), None)
    if not paths or known is None:
        raise DataError(f"there are no constants of {key}: they are in {CONSTANTS.format(key)} and in "
                        "docs/results/gpus.csv.")
    return Machine(arch, int(known["sms"]), {row["name"]: row for row in data.read_rows(paths[0])[1]})


@dataclass(frozen=True)
class Need:
    """What a level's tile asks of one SM, while its tensor core never waits."""

    machine: Machine
    level: Description

    @property
    def wasted(self) -> bool:
        """Whether both CTAs of a pair compute one tile."""
        return self.level.arch == 100 and self.level.tile_owner == "cluster"

    @property
    def key(self) -> tuple[object, ...]:
        """Levels with the same one need the same."""
        return self.cycles, self.loaded, self.read, self.level.stages, self.wasted

    @property
    def cycles(self) -> float:
        """Of the MMAs of a K block."""
        return 2 * self.level.tile_m * self.level.tile_n * self.level.tile_k / self.machine.flops

    @property
    def loaded(self) -> int:
        """Bytes that one CTA asks for in a K block; what a peer loads for it is not among them."""
        rows = self.level.tile_m + self.level.tile_n // (self.level.cluster if self.level.cluster > 1 else 1)
        return rows * self.level.tile_k * BYTES

    @property
    def asked(self) -> float:
        """Bytes per cycle from L2."""
        return self.loaded / self.cycles

    @property
    def read(self) -> float:
        """Bytes per cycle that the tensor core reads from shared memory. Two CTAs of a Blackwell pair read half of B
        each; a wgmma reads A's 64 rows and all of B."""
        constants = self.level.constants
        if self.level.arch == 100:
            m, n = constants["UMMA_M"] // self.level.cluster, constants["UMMA_N"]
            rows = m + n // self.level.cluster
        else:
            m, n = constants["WGMMA_M"], constants["WGMMA_N"]
            rows = m + n
        return rows * BYTES * self.machine.flops / (2 * m * n)

    @property
    def stages(self) -> int:
        """That cover the latency of a load from DRAM, plus the one that is being multiplied."""
        return ceil(self.machine.latency(True) / self.cycles) + 1

    @property
    def ring(self) -> float:
        """Cycles of MMAs that the level's ring holds."""
        return self.level.stages * self.cycles
