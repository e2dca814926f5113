"""Parameter spaces: which kernels can be tuned, what their parameters mean, and which points of a space can exist.

A space is a text file (spaces/*.space). A line names a parameter and its values; the space is their product. Lines that
begin with `point` add single points, each with a name. What is not mentioned has its default:

    kernel sgemm
    bm 64 128 256
    bn 64 128 256
    point padded  bm=128 bn=128 pad=4
"""
from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from ladder.command import Failure
from ladder.files import ROOT
from ladder.levels import names
from ladder.tune import sgemm

SPACES = Path("scripts") / "autotune" / "spaces"  # from the root of the repository

SMEM_LIMIT = 232_448  # bytes that a CTA can ask for on Hopper and Blackwell; without asking it has STATIC_SMEM
STATIC_SMEM = 49_152
REGISTERS = 65_536    # per SM

Point = Mapping[str, int]  # a value for every parameter of the kernel


class SpaceError(Failure):
    """A space that says something impossible; the message names file and line."""


@dataclass(frozen=True)
class Parameter:
    name: str
    macro: str
    default: int
    allowed: Sequence[int]
    words: Sequence[str] = ()  # names of the values, if they are not numbers: of allowed[0], allowed[1], ...

    def parse(self, text: str) -> int:
        """Raises ValueError."""
        if self.words:
            if text in self.words:
                return self.allowed[self.words.index(text)]
        elif text.isascii() and text.isdigit() and int(text) in self.allowed:
            return int(text)
        raise ValueError(f"{self.name} can be {self.allowed_text()}, and '{text}' is none of these")

    def text(self, value: int) -> str:
        return self.words[self.allowed.index(value)] if self.words else str(value)

    def allowed_text(self) -> str:
        if self.words:
            return ", ".join(self.words)
        if isinstance(self.allowed, range):
            step = f", multiples of {self.allowed.step}" if self.allowed.step > 1 else ""
            return f"{self.allowed[0]} to {self.allowed[-1]}{step}"
        return ", ".join(map(str, self.allowed))


@dataclass(frozen=True)
class Kernel:
    """Something that can be tuned."""

    name: str
    arch: int
    element: str                         # "fp32" or "bf16", as autotune_measure says
    source: str                          # in scripts/autotune: becomes a variant
    parameters: Sequence[Parameter]
    headline: Sequence[str]              # the parameters that come first in the CSV file
    reason: Callable[[Point, int], str]  # why a point cannot exist with so much shared memory per CTA; empty if it can
    resources: Callable[[Point], tuple[int, int]]  # threads and bytes of shared memory per CTA
    entry: str                           # a regular expression: which kernel's registers count
    depends: Sequence[str]               # further sources, from the repository's root
    instead: Callable[[Point], Mapping[str, str]] = lambda point: {}  # sources that a point has instead of these

    def parameter(self, name: str) -> Parameter:
        """Raises ValueError."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise ValueError(f"{self.name} has no parameter '{name}', only {', '.join(p.name for p in self.parameters)}")

    def complete(self, values: Mapping[str, int]) -> dict[str, int]:
        return {p.name: values.get(p.name, p.default) for p in self.parameters}

    def definitions(self, point: Point) -> list[str]:
        return [f"-D{p.macro}={point[p.name]}" for p in self.parameters]

    def fields(self, point: Point) -> dict[str, str]:
        """As they stand in a CSV file, headline first."""
        names = [*self.headline, *(p.name for p in self.parameters if p.name not in self.headline)]
        return {name: self.parameter(name).text(point[name]) for name in names}

    def describe(self, point: Point) -> str:
        """The headline, and what differs from the defaults."""
        rest = (p for p in self.parameters if p.name not in self.headline and point[p.name] != p.default)
        shown = [self.parameter(name) for name in self.headline] + list(rest)
        return " ".join(f"{p.name}={p.text(point[p.name])}" for p in shown)


# --- SGEMM ------------------------------------------------------------------------------------------------------------


KERNEL9_PARAMETERS = (
    Parameter("bm", "K9_BM", 128, range(8, 513, 8)), Parameter("bn", "K9_BN", 128, range(4, 513, 4)),
    Parameter("bk", "K9_BK", 16, (4, 8, 16, 32, 64)),
    Parameter("tm", "K9_TM", 8, range(1, 65)), Parameter("tn", "K9_TN", 8, range(1, 65)),
)


KERNEL9_THREADS, KERNEL9_GRID = 256, 16  # GRID x GRID threads


def kernel9_reason(p: Point, smem_limit: int) -> str:
    """The rules of sgemm_kernel9.cuh, whose static_asserts would stop the compiler, and what no GPU could launch."""
    if p["tm"] % 4 or p["tn"] % 4:
        return "vector width: TM and TN must be multiples of 4, because shared memory is read by float4"
    for letter, block, step in (("M", p["bm"], KERNEL9_GRID * p["tm"]), ("N", p["bn"], KERNEL9_GRID * p["tn"])):
        if block % step:
            return f"divisibility: B{letter} = {block} is not a multiple of {step}, what one step of all threads covers"
    at_once = 4 * KERNEL9_THREADS  # floats that all copy with one float4 each
    for letter, block in (("M", p["bm"]), ("N", p["bn"])):
        if block * p["bk"] % at_once:
            return (f"divisibility: B{letter} * BK = {block * p['bk']} is not a multiple of {at_once}, one copy of "
                    "all threads")
    if at_once % p["bk"] or at_once % p["bn"]:
        return f"divisibility: {at_once} floats, one copy of all threads, are not whole rows of BK or BN"
    if (accumulators := p["bm"] * p["bn"] // KERNEL9_THREADS) > (registers := REGISTERS // KERNEL9_THREADS):
        return f"registers: {accumulators} accumulators per thread, and a thread can have {registers}"
    if (smem := kernel9_smem(p)) > smem_limit:
        return f"SMEM: {smem} bytes per CTA, and {smem_limit} are there"
    return ""


def kernel9_smem(p: Point) -> int:
    """Bytes per CTA, as Config::SMEM_BYTES of sgemm_kernel9.cuh."""
    return 4 * p["bk"] * (p["bm"] + p["bn"])


# --- production -------------------------------------------------------------------------------------------------------

SM100_PARAMETERS = (
    Parameter("block_m", "TUNED_BLOCK_M", 128, (128, 256)),
    Parameter("block_n", "TUNED_BLOCK_N", 128, range(64, 257, 64)),
    Parameter("stages", "TUNED_NUM_STAGES", 8, range(2, 33)),
    Parameter("group", "TUNED_SWIZZLE_GROUP_SIZE", 8, range(2, 129, 2)),
    Parameter("store_stages", "TUNED_NUM_STORE_STAGES", 2, range(1, 9)),
    Parameter("swizzled_cd", "TUNED_SWIZZLED_CD", 1, (0, 1)), Parameter("asap", "TUNED_ASAP_TMEM_EMPTY", 1, (0, 1)),
    Parameter("clc", "TUNED_CLC", 0, (0, 1)),
)


def sm100_smem(p: Point) -> int:
    """Bytes per CTA, as Smem::BYTES of kernel_sm100.cuh: barriers, pieces of D, stages of A and of half of B."""
    return 1024 + p["store_stages"] * 128 * 128 + p["stages"] * (p["block_m"] + p["block_n"] // 2) * 128


def sm100_reason(p: Point, smem_limit: int) -> str:
    if (smem := sm100_smem(p)) > smem_limit:
        return f"SMEM: {smem} bytes per CTA, and {smem_limit} are there"
    return ""


SM90_PARAMETERS = (
    Parameter("block_m", "TUNED_BLOCK_M", 256, range(128, 513, 128)),
    Parameter("block_n", "TUNED_BLOCK_N", 192, range(64, 257, 64)),
    Parameter("stages", "TUNED_STAGES", 4, range(2, 17)),
    Parameter("cluster_m", "TUNED_CLUSTER_M", 2, (1, 2, 4)), Parameter("cluster_n", "TUNED_CLUSTER_N", 1, (1, 2, 4)),
    Parameter("group", "TUNED_GROUP", 8, range(1, 129)), Parameter("split", "TUNED_SPLIT", 0, (0, 1)),
)
CD_PIECE = 64 * 64 * 2  # bytes: 64 rows and columns of D on their way out


def _sm90_pieces(p: Point) -> tuple[int, int]:
    """Of D, per consumer: those with a buffer of their own, and those in stages of the ring."""
    beside_ring = SMEM_LIMIT - 1024 - p["stages"] * (p["block_m"] + p["block_n"]) * 128
    pieces = p["block_m"] // 128 * (p["block_n"] // 64)
    own = min(pieces, max(beside_ring, 0) // 2 // CD_PIECE)
    return own, pieces - own


def sm90_smem(p: Point) -> int:
    """Bytes per CTA, as SmemOf::BYTES of kernel_sm90.cuh."""
    return 1024 + 2 * _sm90_pieces(p)[0] * CD_PIECE + p["stages"] * (p["block_m"] + p["block_n"]) * 128


def sm90_reason(p: Point, smem_limit: int) -> str:
    """The rules of kernel_sm90.cuh."""
    bands = p["block_m"] // 128
    if (accumulators := bands * p["block_n"] // 2) > 192:
        return f"registers: {accumulators} accumulators per thread, and with more than 192 they spill"
    if p["split"] and bands % 2:
        return "divisibility: half a tile is half of each consumer's M sub-tiles, and there is only one"
    if (smem := sm90_smem(p)) > smem_limit:
        return f"SMEM: {smem} bytes per CTA, and {smem_limit} are there"
    if 2 * smem <= 233_472:
        return f"SMEM: {smem} bytes per CTA, of which two would run on an SM, and the kernel wants it for itself"
    stage_bytes, ring_bytes = (p["block_m"] + p["block_n"]) * 128, _sm90_pieces(p)[1] * CD_PIECE
    d_stages = 0 if ring_bytes == 0 else 1 if 2 * ring_bytes <= stage_bytes else 2
    if d_stages >= p["stages"] or ring_bytes > stage_bytes:
        return "stages: D uses some of them, and would need all"
    return ""


def _production_sources(arch: int) -> tuple[str, ...]:
    kernel = names.kernel_path(ROOT, names.PRODUCTION, arch)
    return tuple(path.relative_to(ROOT).as_posix() for path in (kernel, *sorted(kernel.parent.glob(f"sm{arch}/*"))))


KERNELS = {
    ("sgemm", 90): Kernel(
        name="sgemm", arch=90, element="fp32", source="sgemm_variant.cu", parameters=KERNEL9_PARAMETERS,
        headline=("bm", "bn", "bk", "tm", "tn"), reason=kernel9_reason,
        resources=lambda p: (KERNEL9_THREADS, kernel9_smem(p)), entry=r"sgemmILb1E", depends=(sgemm.KERNEL,)),
    ("sgemm_ladder", 90): Kernel(
        name="sgemm_ladder", arch=90, element="fp32", source="sgemm_variant.cu",
        parameters=(Parameter("step", "SGEMM_STEP", 0, range(len(sgemm.series())),
                              [step.name for step in sgemm.series()]),),
        headline=("step",), reason=lambda p, smem_limit: "",
        resources=lambda p: (sgemm.series()[p["step"]].threads, sgemm.series()[p["step"]].smem_bytes),
        entry=r"sgemmILb1E", depends=(sgemm.KERNEL, *(step.path for step in sgemm.series())),
        instead=lambda p: {sgemm.KERNEL: sgemm.kernels()[p["step"]]}),
    ("production", 100): Kernel(
        name="production", arch=100, element="bf16", source="production_variant.cu", parameters=SM100_PARAMETERS,
        headline=("block_m", "block_n", "stages", "group"), reason=sm100_reason,
        resources=lambda p: (256, sm100_smem(p)), entry="gemm_sm100",
        depends=_production_sources(100)),
    ("production", 90): Kernel(
        name="production", arch=90, element="bf16", source="production_variant.cu", parameters=SM90_PARAMETERS,
        headline=("block_m", "block_n", "stages", "cluster_m", "cluster_n", "group"), reason=sm90_reason,
        resources=lambda p: (384, sm90_smem(p)), entry="gemm_sm90",
        depends=_production_sources(90)),
}


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A point of a space: with a name if it was listed, and with a reason if it cannot exist."""

    point: Point
    name: str = ""
    reason: str = ""


@dataclass
class Space:
    kernel: str
    product: dict[str, list[int]] = field(default_factory=dict)
    listed: list[tuple[str, dict[str, int]]] = field(default_factory=list)

    def candidates(self, kernel: Kernel, smem_limit: int = SMEM_LIMIT) -> Iterator[Candidate]:
        """Every point once, the listed ones first."""
        seen: set[tuple[int, ...]] = set()
        product = itertools.product(*self.product.values()) if self.product else ()
        named = [*self.listed, *(("", dict(zip(self.product, values))) for values in product)]
        for name, values in named:
            point = kernel.complete(values)
            key = tuple(point.values())
            if key not in seen:
                seen.add(key)
                yield Candidate(point, name, kernel.reason(point, smem_limit))


def find_kernel(name: str, arch: int) -> Kernel:
    """By its name. Raises SpaceError."""
    if (name, arch) not in KERNELS:
        known = ", ".join(f"{n} for sm{a}" for n, a in KERNELS)
        raise SpaceError(f"there is nothing to tune in {name} for sm{arch}, only in {known}")
    return KERNELS[name, arch]


def parse(text: str, kernel: Kernel, where: str) -> Space:
    """Raises SpaceError."""
    space = Space("")
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            _parse_line(words, kernel, space)
        except ValueError as error:
            raise SpaceError(f"{where}:{number}: {error}.") from None
    if not space.kernel:
        raise SpaceError(f"{where}:1: a space begins with a line such as: kernel {kernel.name}.")
    if not space.product and not space.listed:
        raise SpaceError(f"{where}: the space is empty: it needs lines such as '{kernel.headline[0]} 64 128', or "
                         "points.")
    return space


def _parse_line(words: Sequence[str], kernel: Kernel, space: Space) -> None:
    head, values = words[0], words[1:]
    if head == "kernel":
        if list(values) != [kernel.name]:
            raise ValueError(f"this space is for kernel '{' '.join(values)}', not for {kernel.name}")
        space.kernel = kernel.name
    elif head == "point":
        if not values or "=" in values[0]:
            raise ValueError("a point needs a name before its parameters: point NAME parameter=value ...")
        if any(values[0] == name for name, _ in space.listed):
            raise ValueError(f"there is a point '{values[0]}' already")
        space.listed.append((values[0], parse_assignments(values[1:], kernel)))
    else:
        parameter = kernel.parameter(head)
        if head in space.product:
            raise ValueError(f"{head} was given already")
        if not values:
            raise ValueError(f"{head} has no values")
        parsed = [parameter.parse(text) for text in values]
        if len(set(parsed)) < len(parsed):
            raise ValueError(f"{head} has a value twice")
        space.product[head] = parsed


def parse_assignments(words: Sequence[str], kernel: Kernel) -> dict[str, int]:
    """Raises ValueError."""
    values: dict[str, int] = {}
    for word in words:
        match = re.fullmatch(r"(\w+)=(\S+)", word)
        if not match:
            raise ValueError(f"parameter=value is needed, not '{word}'")
        if match[1] in values:
            raise ValueError(f"{match[1]} was given already")
        values[match[1]] = kernel.parameter(match[1]).parse(match[2])
    return values


def kernel_of(path: Path) -> str:
    """The kernel that a space is for. Raises SpaceError for a file that cannot be read or names none."""
    match = re.search(r"^kernel (\S+)", _read(path), re.MULTILINE)
    if not match:
        raise SpaceError(f"{path}: a space begins with a line such as: kernel sgemm.")
    return match[1]


def load(path: Path, kernel: Kernel) -> Space:
    """Raises SpaceError, also for a file that cannot be read."""
    return parse(_read(path), kernel, str(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        there = ", ".join(sorted(p.stem for p in (ROOT / SPACES).glob("*.space")))
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SpaceError(f"{path} cannot be read: {reason}. There are: {there}.") from None


# --- what an SM can hold ----------------------------------------------------------------------------------------------


def ctas_per_sm(registers: int, threads: int, smem: int) -> int:
    """CTAs that run on an SM of compute capability 9.0 or 10.0 at the same time."""
    warps = math.ceil(threads / 32)
    registers_per_warp = math.ceil(registers * 32 / 256) * 256
    warps_by_registers = REGISTERS // 4 // registers_per_warp * 4  # each quarter of an SM has a quarter of them
    return min(warps_by_registers // warps, 64 // warps, 32, 233_472 // (smem + 1024))
