"""What the timing model predicts, compared with what is measured of an H200 and reported of a GB200."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Optional

from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names
from ladder.model import ablations, account, predictions
from ladder.results import data
from ladder.results.data import Fields

Known = dict[tuple[str, str, str], Fields]  # by level, GPU and edge
# Points that were looked at while constants were fitted, or to find out what parts CTAs; all others are held out.
FITTED = {(level, edge) for level in ("level01_baseline", "level03_warp_specialize", "level05_persistent")
          for edge in ("4096", "12288")} | {
    (level, edge) for level in ("level02_tma_swizzle", "level03_warp_specialize", "level04_smem_epilogue",
                                "level05_persistent", "level06_tmem_double_buffer") for edge in ("8192", "12288")} | {
    (level, edge) for level in ("level06_tmem_double_buffer", "level07_dual_tile", names.PRODUCTION)
    for edge in ("10240", "12288")} | {
    ("level02_tma_swizzle", "10240"), ("level03_warp_specialize", "10240"), ("level04_smem_epilogue", "10240"),
    ("level07_dual_tile", "8192")}
FITTED_BLACKWELL = {("level03_warp_specialize", "4096"), ("level04_smem_epilogue", "4096")}
REFERENCE = "level08_deep_pipeline"  # on Blackwell, for the factor of a host


@cache
def _rows(path: Path, _changed_ns: int) -> tuple[Fields, ...]:
    return tuple(data.read_rows(path)[1])


def _recorded_rows(path: Path) -> tuple[Fields, ...]:
    """Nothing where nothing is recorded. Read once, until the file changes."""
    return _rows(path, path.stat().st_mtime_ns) if path.exists() else ()


def recorded(context: Context) -> Known:
    return predictions.by_point(_recorded_rows(context.root / predictions.RECORD))


# --- Hopper


@dataclass(frozen=True)
class Compared:
    """A row of the H200's figures beside the model's: errors are shares of what was measured."""
    measured: Fields
    model: Fields
    error: float  # of TFLOPS under load; of cycles
    other: Optional[float]  # of TFLOPS in bursts; of bytes read from DRAM

    @property
    def fitted(self) -> bool:
        return (self.measured["level"], self.measured["m"]) in FITTED


@dataclass(frozen=True)
class Tried:
    """A configuration of the production kernel that was timed on an H200, and handed to the model."""
    point: tuple[str, ...]  # as POINT names them
    size: str
    modelled: float  # TFLOPS
    measured: float


TUNER = RESULTS / "h200_autotune_production.csv"
POINT = ("block_m", "block_n", "stages", "cluster_m", "cluster_n", "group", "split")
TUNER_MODELLED = RESULTS / "modelled_ranking_production_sm90.csv"


def tried(context: Context) -> list[Tried]:
    """Those of which both are known, the fastest first."""
    def of(row: Fields) -> tuple[tuple[str, ...], str]:
        return tuple(row[name] for name in POINT), row["size"]
    path, found = context.root / TUNER, []
    timed = {of(row): row for row in data.read_rows(path)[1] if row["status"] == "ok"} if path.exists() else {}
    for row in _recorded_rows(context.root / TUNER_MODELLED):
        if row["status"] == "ok" and of(row) in timed:
            found.append(Tried(*of(row), float(row["tflops"]), float(timed[of(row)]["tflops"])))
    return sorted(found, key=lambda each: (int(each.size), -each.measured))


def tiles(context: Context) -> list[Tried]:
    """All configurations of the production kernel at shapes that none was chosen for; nothing was fitted to them."""
    def of(row: Fields) -> tuple[tuple[str, ...], str]:
        return (row["config"],), "x".join(row[axis] for axis in "mnk")
    path = context.root / predictions.TIMED_TILES
    timed = {of(row): float(row["tflops"]) for row in (data.read_rows(path)[1] if path.exists() else [])
             if row["verdict"] == "right"}
    return [Tried(*of(row), float(row["tflops"]), timed[of(row)])
            for row in _recorded_rows(context.root / predictions.TILES) if of(row) in timed]


def orders(context: Context) -> list[tuple[float, bool]]:
    """Of each two configurations that were tried at one size: how far apart the model has them, as a share of the
    faster one's TFLOPS, and whether the one that it finds faster was."""
    found = []
    for one, other in combinations(tried(context), 2):
        if one.size == other.size:
            slow, fast = sorted((one, other), key=lambda each: each.modelled)
            found.append((1 - slow.modelled / fast.modelled, fast.measured > slow.measured))
    return found


@dataclass(frozen=True)
class Change:
    """What one change to a kernel is worth, as a share of the level's TFLOPS."""
    row: Fields
    modelled: float
    measured: Optional[float]  # on an H200; none of Blackwell, nor before a GPU has run it
    same_rounds: bool  # as the level it is compared with


def changes(context: Context) -> list[Change]:
    """Nothing where nothing is recorded."""
    path = context.root / ablations.RECORD
    if not path.exists():
        return []
    measured = {(row["level"], row["optimisation"], row["m"]): row
                for row in data.read_rows(context.root / ablations.MEASURED)[1]}
    found = []
    for row in data.read_rows(path)[1]:
        modelled = float(row["ratio_level"])
        mine = measured.get((row["level"], row["optimisation"], row["m"])) if row["gpu"] == "h200" else None
        base = measured.get((row["level"], ablations.BASE, row["m"]))
        if mine is None or mine["option"] != row["option"]:
            found.append(Change(row, modelled, None, False))
        elif mine["ratio_level"]:
            found.append(Change(row, modelled, float(mine["ratio_level"]), True))
        elif base is not None:
            found.append(Change(row, modelled, float(mine["tflops"]) / float(base["tflops"]), False))
    return found


def _error(modelled: str, measured: str) -> Optional[float]:
    """None where nothing was measured."""
    return float(modelled) / float(measured) - 1 if measured else None


def speeds(context: Context) -> list[Compared]:
    known = recorded(context)
    rows = []
    for row in data.read_rows(context.root / RESULTS / "h200.csv")[1]:
        model = known.get((row["level"], "h200", row["m"])) if row["m"] == row["n"] == row["k"] else None
        if model is not None:
            rows.append(Compared(row, model, float(model["tflops"]) / float(row["tflops"]) - 1,
                                 _error(model["burst_tflops"], row["burst_tflops"])))
    return rows


def ranked(context: Context) -> list[tuple[Compared, Compared]]:
    """Pairs of levels at one size, the slower one first, of which measurement leaves no doubt: neither the intervals of
    their ratios to cuBLAS overlap, nor those of their ratios to the best of cublasLt."""
    rows = speeds(context)
    return [(slow, fast) for slow in rows for fast in rows if slow.measured["m"] == fast.measured["m"]
            and all(float(slow.measured[f"{ratio}_high"]) < float(fast.measured[f"{ratio}_low"])
                    for ratio in ("ratio_cublas", "ratio_cublaslt"))]


def in_order(pair: tuple[Compared, Compared]) -> bool:
    """Does the model say so, too?"""
    slow, fast = pair
    return float(slow.model["tflops"]) < float(fast.model["tflops"])


def swapped(pairs: Iterable[tuple[Compared, Compared]]) -> list[str]:
    """Of such pairs those that the model has the other way round, in words."""
    return [f"{names.short(fast.measured['level'])} before {names.short(slow.measured['level'])} at "
            f"{fast.measured['m']}" for slow, fast in pairs if not in_order((slow, fast))]


def cycles_of(row: Fields) -> float:
    """From the start of a call to the start of the next, in a burst: measured, or modelled."""
    if row["kind"] == "modelled":
        return float(row["burst_us"]) * float(row["burst_sm_mhz"])
    return float(row["plain_us"]) * float(row["mhz"])


def cycles_and_bytes(context: Context) -> list[Compared]:
    known, beside = recorded(context), _others(context, "h200")
    rows = []
    for row in data.read_rows(context.root / predictions.CYCLES)[1]:
        model = known.get((row["level"], "h200", row["m"])) or beside.get(_shape(row))
        if model is None or model["config"] != row["config"]:
            continue  # today's kernel takes another tile than the one whose cycles were measured
        if row["mode"] == "burst" and row["plain_us"]:
            rows.append(Compared(row, model, cycles_of(model) / cycles_of(row) - 1,
                                 1e9 * float(model["dram_read_gb"]) / float(row["dram_read_bytes"]) - 1))
    return rows


def _shape(row: Fields) -> tuple[str, ...]:
    return row["level"], row["m"], row["n"], row["k"]


def _others(context: Context, gpu: str) -> dict[tuple[str, ...], Fields]:
    """By level and shape."""
    return {_shape(row): row for row in _recorded_rows(context.root / predictions.OTHERS) if row["gpu"] == gpu}


def shapes(context: Context) -> list[Compared]:
    """Shapes and sizes beside those of the ladder, with the tile that was predicted; nothing was fitted to them."""
    known, path = _others(context, "h200"), context.root / predictions.SHAPES
    return [Compared(row, model, float(model["tflops"]) / float(row["tflops"]) - 1,
                     _error(model["burst_tflops"], row["burst_tflops"]))
            for row in (data.read_rows(path)[1] if path.exists() else [])
            if (model := known.get(_shape(row))) and model["config"] == row["config"]]


def other_chip(context: Context) -> list[Compared]:
    """The ladder on an H100; nothing where it is not measured."""
    known, path = recorded(context), context.root / RESULTS / "h100_ladder.csv"
    rows = [(row, known[row["level"], "h100", row["m"]]) for row in (data.read_rows(path)[1] if path.exists() else [])]
    return [Compared(row, model, float(model["tflops"]) / float(row["tflops"]) - 1, None) for row, model in rows]


@dataclass(frozen=True)
class Profiled:
    """A launch at free clocks that a profiler counted, beside the prediction at its clock."""
    model: Fields
    counted: dict[str, float]  # by quantity

    @property
    def cycles(self) -> float:
        """The error, as a share of what was counted."""
        return float(self.model["cycles"]) / self.counted["cycles"] - 1

    @property
    def tensor(self) -> float:
        """The error of the cycles in which tensor cores are busy, in points."""
        return 100 * float(self.model["tensor_share"]) - self.counted["tensor core, cycles active %"]

    @property
    def busiest(self) -> list[str]:
        """What is above 90 % of its peak. The link's counter stands at half when it carries all it can."""
        shares = {"tensor cores": self.counted["tensor core, cycles active %"],
                  "link between L2's halves": 2 * self.counted["L2, link between its halves %"],
                  "DRAM": self.counted["DRAM, cycles active %"]}
        return [name for name, share in sorted(shares.items(), key=lambda each: -each[1]) if share > 90]


def profiled(context: Context) -> list[Profiled]:
    """By size and level; nothing where it is not measured."""
    counted = account.counters(context)
    rows = {(row["level"], row["size"]): row for row in _recorded_rows(context.root / account.PROFILED)}
    return [Profiled(rows[point], counted[point])
            for point in sorted(rows, key=lambda point: (int(point[1]), point[0])) if point in counted]


def held_out_error(context: Context) -> float:
    """Of the TFLOPS of an H200: the mean of the rows that nothing was fitted to."""
    return mean(abs(each.error) for each in speeds(context) if not each.fitted)


# --- Blackwell


def reported(context: Context) -> dict[tuple[str, str], float]:
    """TFLOPS of a GB200 by level and edge; the mean where a level is reported twice."""
    found: dict[tuple[str, str], list[float]] = {}
    path = context.root / RESULTS / "gb200_reported.csv"
    for row in data.read_rows(path)[1] if path.exists() else []:
        if row["m"] == row["n"] == row["k"]:
            found.setdefault((row["level"], row["m"]), []).append(float(row["tflops"]))
    known = recorded(context)
    return {(level, edge): mean(values) for (level, edge), values in found.items() if (level, "b200", edge) in known}


def host_factor(context: Context) -> float:
    """What the host of the reported figures makes of the model's, by its reference kernel."""
    known = recorded(context)
    return mean(value / float(known[level, "b200", edge]["tflops"])
                for (level, edge), value in reported(context).items() if level == REFERENCE)


def is_held_out(level: str, edge: str) -> bool:
    return level != REFERENCE and (level, edge) not in FITTED_BLACKWELL


def blackwell_error(context: Context) -> float:
    """Of the TFLOPS of a GB200, after the factor: the mean of the rows that nothing was fitted to."""
    known, factor = recorded(context), host_factor(context)
    return mean(abs(factor * float(known[level, "b200", edge]["tflops"]) / value - 1)
                for (level, edge), value in reported(context).items() if is_held_out(level, edge))


@dataclass(frozen=True)
class Public:
    """A row of somebody else's kernel that is like one of ours."""
    row: Fields
    model: Fields
    factor: float  # of its host, over all its rows

    @property
    def tflops(self) -> float:
        return self.factor * float(self.model["tflops"])

    @property
    def error(self) -> float:
        return self.tflops / float(self.row["tflops"]) - 1


def public(context: Context) -> list[Public]:
    """In the table's order."""
    known, path = _others(context, "b200"), context.root / predictions.PUBLIC
    found = [(row, known[_shape(row)]) for row in (data.read_rows(path)[1] if path.exists() else [])
             if _shape(row) in known]
    factors = {host: mean(float(row["tflops"]) / float(model["tflops"]) for row, model in found if row["host"] == host)
               for host in {row["host"] for row, _ in found}}
    return [Public(row, model, factors[row["host"]]) for row, model in found]
