"""What the timing model takes from micro-benchmarks: its measured constants, derived from the rows that
scripts/maintain/calibrate.py has recorded. A constant's value is rounded to three digits, so that it is the same on
every machine; all others (reported, fitted, assumed) stay as they are in the file."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from statistics import median
from typing import Callable, Optional

from ladder.levels.simulated import is_constant
from ladder.results.data import Fields

COLUMNS = ("name", "value", "unit", "kind", "source")
CLOCK_STEP = 0.05  # of the exponents that are tried
# What the energy of FLOPs and bytes is fitted to. What is shared by all SMs merges to an unknown degree; a multicast to
# four loses its way.
ENERGY_CASES = ("waiting", "mma", "l2_stages", "l2_sms66", "l2_multicast2", "dram_", "l2_pace", "multicast2_pace")
BURST_CASES = tuple(f"case=l2_pace{pace}_mma{n}" for pace in (0, 600) for n in (128, 256))
CAPPED_W = 675.0  # a case that draws more is held back by the limit


Key = tuple[str, str, str]


def key_of(row: Fields) -> Key:
    return row["experiment"], row["setting"], row["quantity"]


class Rows:
    """Measurements by experiment, setting and quantity; notes which of them are read."""

    def __init__(self, rows: Iterable[Fields]) -> None:
        self.values: dict[Key, float] = {}
        for row in rows:
            self.values.setdefault(key_of(row), float(row["value"]))
        self.read: set[Key] = set()

    def __call__(self, experiment: str, setting: str, quantity: str, default: Optional[float] = None) -> float:
        """Raises KeyError for what was not measured, unless there is a default."""
        key = experiment, setting, quantity
        self.read.add(key)
        return self.values[key] if default is None else self.values.get(key, default)

    def settings(self, experiment: str, quantity: str) -> list[str]:
        return [key[1] for key in self.values if key[0] == experiment and key[2] == quantity]


@dataclass(frozen=True)
class Energy:
    """Watts while waiting; joules per FLOP and byte at a clock, which grow with it to a power."""
    idle: float
    flop: float
    l2_byte: float
    sm_byte: float
    dram_byte: float
    exponent: float


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Least squares, by the normal equations."""
    size = len(matrix[0])
    table = [[sum(row[i] * row[j] for row in matrix) for j in range(size)]
             + [sum(row[i] * value for row, value in zip(matrix, right))] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(table[k][i]))
        table[i], table[pivot] = table[pivot], table[i]
        for k in range(size):
            if k != i:
                factor = table[k][i] / table[i][i]
                table[k] = [a - factor * b for a, b in zip(table[k], table[i])]
    return [table[i][size] / table[i][i] for i in range(size)]


def _case(rows: Rows, setting: str, clock: float) -> tuple[float, list[float], float]:
    """Of a measurement of power: the clock beside the one at which energies are given; FLOP/s, bytes/s from L2, to SMs
    and from DRAM; watts."""
    def of(quantity: str) -> float:
        return rows("power", setting, quantity, 0.0)
    hertz = of("sustained clock") * 1e6
    received = of("bytes received per cycle by all SMs") * hertz
    from_l2 = received / 2 if "multicast2" in setting else received
    return (hertz / 1e9 / clock, [of("FLOP per cycle of all SMs") * hertz, from_l2, received,
                                  received if "dram" in setting else 0.0], of("power by energy"))


@cache
def energy(rows: Rows, clock: float) -> Energy:
    """Fitted to all measurements of power, at `clock` GHz."""
    names = [s for s in rows.settings("power", "power by energy")
             if s.removeprefix("case=").startswith(ENERGY_CASES)]
    idle = rows("power", "case=waiting", "power by energy")
    cases = [_case(rows, name, clock) for name in names if name != "case=waiting"]
    best: tuple[float, float, list[float]] = (float("inf"), 0, [])
    for step in range(10, 61):
        exponent = step * CLOCK_STEP
        matrix = [[1e-12 * demand * (ghz ** exponent if i < 3 else 1) for i, demand in enumerate(demands)]
                  for ghz, demands, _ in cases]
        right = [watts - idle for _, _, watts in cases]
        found = _solve(matrix, right)
        error = sum((sum(a * b for a, b in zip(row, found)) - value) ** 2 for row, value in zip(matrix, right))
        best = min(best, (error, exponent, found))
    flop, l2_byte, sm_byte, dram_byte = (1e-12 * value for value in best[2])
    return Energy(idle, flop, l2_byte, sm_byte, dram_byte, best[1])


def burst_cap(rows: Rows, clock: float) -> float:
    """What MMAs beside loads from L2 draw in their first 60 ms, at the clock that they have then. (Alone, they draw
    less: their highest clock is what limits them.)"""
    fitted = energy(rows, clock)
    found = []
    for case in BURST_CASES:
        hertz = median(rows("power", f"{case} ms={ms}", "clock") for ms in range(20, 60, 2)) * 1e6
        flops = rows("power", case, "FLOP per cycle of all SMs") * hertz
        received = rows("power", case, "bytes received per cycle by all SMs") * hertz
        rise: float = (hertz / 1e9 / clock) ** fitted.exponent
        found.append(fitted.idle
                     + rise * (flops * fitted.flop + received * (fitted.l2_byte + fitted.sm_byte)))
    return median(found)


def clock_exponent(rows: Rows, slow: str, fast: str) -> float:
    """Of the bytes that come in a second, as the clock of the SMs goes down: between two cases of the power experiment,
    both of which ask for more than there is."""
    def of(case: str) -> tuple[float, float]:
        ghz = rows("power", case, "sustained clock")
        return ghz, ghz * rows("power", case, "bytes received per cycle by all SMs")
    (slow_clock, slow_bytes), (fast_clock, fast_bytes) = of(f"case={slow}"), of(f"case={fast}")
    return log(slow_bytes / fast_bytes) / log(slow_clock / fast_clock)


@dataclass(frozen=True)
class Rule:
    value: Callable[[Rows, dict[str, float]], float]  # from the rows, and the constants that were not measured
    source: str  # begins with the experiment's name

    @property
    def experiment(self) -> str:
        return self.source.split(":")[0]


def _latency(rows: Rows, size: int, source: str) -> float:
    return rows("latency", f"bytes={size} boxes=1 row=128 pitch=16384 source={source}", "latency")


def _row(rows: Rows, _: dict[str, float]) -> float:
    return (_latency(rows, 32768, "hit") - _latency(rows, 16384, "hit")) / (16384 / 128)


def _clock(rows: Rows) -> float:
    return rows("topology", "load=none", "clock") / 1000


def _sms(rows: Rows) -> float:
    return rows("topology", "", "multiprocessors")


def _loaded(rows: Rows, setting: str, sms: float) -> float:
    """Bytes per second."""
    return rows("load", setting, "bytes per SM") * sms * rows("load", setting, "clock") * 1e6


def _store(rows: Rows, size: str, sms: int = 1) -> float:
    return rows("stores", f"{size} swizzled=0 sms={sms}", "TMA store: source read")


def kept_bytes(rows: Rows) -> float:
    """So much may be read after a line that all SMs have read, until half of such lines are gone: a line that SMs of
    both halves of L2 read is in both."""
    latency = {int(s.split("between=")[1].split()[0]): rows("residency", s, "latency of a line")
               for s in rows.settings("residency", "latency of a line")
               if s.startswith("readers=132 between=") and s.endswith("touched=once")}
    half = (min(latency.values()) + max(latency.values())) / 2
    low = max(between for between, cycles in latency.items() if cycles < half)
    high = min(between for between, cycles in latency.items() if cycles >= half)
    return low + (high - low) * (half - latency[low]) / (latency[high] - latency[low])


def request_bytes(rows: Rows) -> float:
    """What a request costs on its way beside the bytes that it brings, in bytes: the mean over rows that are less than
    a line, beside rows of a line, all SMs loading as much as they can."""
    def cycles(row: int, tall: int, boxes: int) -> float:  # of a request
        return row / rows("load", f"sms=132 row={row} rows={tall} boxes={boxes} stages=4", "bytes per SM")
    line = cycles(128, 192, 2)
    found = []
    for row, boxes in ((64, 4), (32, 8), (16, 16)):
        share = cycles(row, 128, boxes) / line  # = (row + x) / (128 + x)
        found.append((128 * share - row) / (1 - share))
    return sum(found) / len(found)


def far_latency(rows: Rows) -> float:
    """Nanoseconds. Of the lines that one SM has read and another reads, a quarter comes from the other half of L2:
    where the two are in different halves, and the line's home is in the first one's."""
    prefix = "readers=1 between=0 touched=once from="
    bins = sorted((float(s.removeprefix(prefix).split()[0]) + 25, rows("residency", s, "share of lines"))
                  for s in rows.settings("residency", "share of lines") if s.startswith(prefix))
    left, far, near = 0.25, 0.0, 0.0
    for cycles, share in reversed(bins):
        taken = min(share, left)
        left -= taken
        far += taken * cycles
        near += (share - taken) * cycles
    return (far / 0.25 - near / 0.75) / _clock(rows)


def link_rate(rows: Rows) -> float:
    """At most so many bytes per second cross to a half of L2 while as many cross back, at the highest clock: half of
    what reaches it. Both halves read the same from DRAM, so that this is not the limit, and so do one or two SMs of a
    half."""
    exponent = RULES["l2_clock_exponent"].value(rows, {})
    found = []
    for sharers in (1, 2):
        setting = f"source=dram other=same sharers={sharers} mma=0"
        rate = sum(rows("halves", f"{setting} half={half}", "bytes of a half") for half in (0, 1)) / 4 / sharers
        found.append(rate / (rows("halves", setting, "clock") / 1000 / _clock(rows)) ** exponent)
    return float(max(found))


def clock_spread(rows: Rows) -> float:
    clocks = [rows("clocks", s, "clock") for s in rows.settings("clocks", "clock") if s.startswith("load=sustained")]
    return (max(clocks) - min(clocks)) / (sum(clocks) / len(clocks))


GPC = "source=l2 subset=one_gpc sms=18"
ALL = "source=l2 subset=of_each_gpc sms=132"
RULES = {
    "mbarrier_wait": Rule(lambda r, _: r("sync", "signal=mbarrier ctas=1", "round trip") / 2
                          - r("sync", "instruction=mbarrier_arrive warps=1", "one of a row"),
                          "sync: a signal through an mbarrier and back, half of it, less the arrival"),
    "mbarrier_arrive": Rule(lambda r, _: r("sync", "instruction=mbarrier_arrive warps=1", "one of a row"),
                            "sync: mbarrier_arrive of one warp"),
    "remote_arrive": Rule(lambda r, _: r("sync", "signal=mbarrier_cluster ctas=2", "round trip") / 2,
                          "sync: a signal to another CTA's mbarrier and back, half of it"),
    "cta_barrier": Rule(lambda r, _: r("sync", "instruction=bar_sync warps=4", "one of a row"),
                        "sync: bar_sync of 4 warps"),
    "cluster_barrier": Rule(lambda r, _: r("sync", "signal=cluster_barrier ctas=2", "round trip") / 2,
                            "sync: a signal through the cluster's barrier and back, half of it"),
    "mma_flops_per_cycle": Rule(lambda r, _: r("power", "case=mma256", "FLOP per cycle of all SMs") / _sms(r),
                                "power: wgmma of 256 columns, per SM"),
    "tma_issue": Rule(lambda r, _: (r("latency", "bytes=65536 boxes=4 row=128 pitch=16384 source=hit", "issue")
                                    - r("latency", "bytes=16384 boxes=1 row=128 pitch=16384 source=hit", "issue")) / 3,
                      "latency: issue of 4 boxes less that of 1"),
    "tma_row": Rule(_row, "latency: 32 KiB less 16 KiB, per row of 128 bytes"),
    "l2_latency": Rule(lambda r, _: (_latency(r, 16384, "hit") - 128 * _row(r, {})) / _clock(r),
                       "latency: 16 KiB from L2, less its rows"),
    "dram_latency": Rule(lambda r, _: (_latency(r, 16384, "miss") - _latency(r, 16384, "hit")) / _clock(r),
                         "latency: 16 KiB, miss less hit"),
    "gpc_bytes_per_second": Rule(lambda r, _: _loaded(r, GPC, 18), "load: all SMs of a GPC; it has a clock of its own"),
    "l2_bytes_per_second": Rule(lambda r, _: _loaded(r, ALL, 132), "load: all SMs; L2 has a clock of its own"),
    "l2_request_bytes": Rule(lambda r, _: request_bytes(r),
                             "load: rows of 16 to 64 bytes, beside rows of 128; what a request costs beside its bytes"),
    "l2_useful_bytes": Rule(lambda r, _: kept_bytes(r), "residency: what all SMs have read once and is kept"),
    "l2_link_bytes_per_second": Rule(lambda r, _: link_rate(r), "halves: both halves of L2 read the same from DRAM; "
                                     "what crosses to one"),
    "l2_far_latency": Rule(lambda r, _: far_latency(r), "residency: lines from the other half of L2, beside near ones"),
    "dram_bytes_per_second": Rule(lambda r, _: _loaded(r, "source=dram sms=132 flight=131072 box=16384", 132),
                                  "load: all SMs from DRAM, 128 KiB each in flight"),
    "l2_clock_exponent": Rule(lambda r, _: clock_exponent(r, "l2_pace0_mma256", "l2_stages6"),
                              "power: bytes from L2 in a second, beside MMAs and alone, by the clock"),
    "dram_clock_exponent": Rule(lambda r, _: clock_exponent(r, "dram_pace0_mma256", "dram_stages4"),
                                "power: bytes from DRAM in a second, beside MMAs and alone, by the clock"),
    "store_latency": Rule(lambda r, _: 2 * _store(r, "rows=64 cols=128") - _store(r, "rows=128 cols=128"),
        "stores: TMA store of 16 KiB, read of its source, less the bytes"),
    "store_bytes_per_cycle": Rule(lambda r, _: 16384 / (_store(r, "rows=128 cols=128")
                                                        - _store(r, "rows=64 cols=128")),
                                  "stores: TMA store of 32 KiB less one of 16 KiB"),
    "store_line": Rule(lambda r, _: r("stores", "pattern=elements threads=128 sms=1 tiles=16",
                                      "later tile of 128x128") / (128 * 128 / 4),
                       "stores: elements, per 128-byte line that a warp's store touches"),
    "gpc_store_bytes_per_second": Rule(lambda r, _: 18 * 65536 / _store(r, "rows=128 cols=256", 132) * _clock(r) * 1e9,
                                       "stores: TMA stores of 64 KiB by all SMs, for the 18 of a GPC"),
    "cta_start": Rule(lambda r, _: r("launch", "ctas=792 threads=384 smem=204800 cluster=1 cycles=20000 spread=5000 "
                                     "stores=0", "gap between CTAs on an SM"), "launch: gap between CTAs on an SM"),
    "launch_gap": Rule(lambda r, _: r("launch", "ctas=132 threads=384 smem=204800 cluster=1 early=0 cycles=20000",
                                      "gap between launches") * 1e-9, "launch: gap between launches"),
    "power_idle": Rule(lambda r, c: energy(r, c["power_clock"]).idle, "power: all SMs wait"),
    "power_flop": Rule(lambda r, c: energy(r, c["power_clock"]).flop,
                       "power: least squares over MMAs, streams, and both together, at power_clock; normal inputs"),
    "power_l2_byte": Rule(lambda r, c: energy(r, c["power_clock"]).l2_byte, "power: the same"),
    "power_sm_byte": Rule(lambda r, c: energy(r, c["power_clock"]).sm_byte,
                          "power: the same; multicasts tell it apart"),
    "power_dram_byte": Rule(lambda r, c: energy(r, c["power_clock"]).dram_byte, "power: the same"),
    "power_exponent": Rule(lambda r, c: energy(r, c["power_clock"]).exponent,
                           "power: the same; of the energy of FLOPs and L2 with the clock"),
    "power_cap": Rule(lambda r, _: median(watts for s in r.settings("power", "power by energy")
                                          if (watts := r("power", s, "power by energy")) > CAPPED_W),
                      "power: median of what is held back"),
    "power_burst_cap": Rule(lambda r, c: burst_cap(r, c["power_clock"]),
                            "power: MMAs beside loads from L2 in their first 60 ms, by their clock"),
    "clock_max": Rule(lambda r, _: _clock(r), "power: all SMs wait"),
    "gpc_clock_spread": Rule(lambda r, _: clock_spread(r),
                             "clocks: all SMs multiply and load; the fastest GPC beside the slowest"),
    "clock_max_mma": Rule(lambda r, _: r("power", f"case=mma256_sms{_sms(r) / 2:.0f}", "sustained clock") / 1000,
                          "power: half of the SMs multiply, far below the limit"),
}


def needed(rows: Sequence[Fields]) -> list[Fields]:
    """The rows of one GPU that constants are derived from. Of an experiment that has no rule, or whose rules miss a
    measurement (another GPU has other settings), all."""
    measured = Rows(rows)
    complete = {rule.experiment for rule in RULES.values()}
    for rule in RULES.values():
        try:
            rule.value(measured, defaultdict(lambda: 1.0))  # the other constants do not change what is read
        except (LookupError, ValueError, ArithmeticError):
            complete.discard(rule.experiment)
    return [row for row in rows if row["experiment"] not in complete or key_of(row) in measured.read]


def text_of(value: float) -> str:
    """Three digits; four where they are those of a whole number."""
    return f"{value:.4g}" if value >= 1000 and value < 1e5 else f"{value:.3g}"


def derived(constants: Iterable[Fields], rows: Iterable[Fields],
            experiments: Optional[Container[str]] = None) -> list[Fields]:
    """The constants, those with a rule of one of these experiments (default: of any) as the rows have them. Raises
    KeyError for a measurement that is missing."""
    known = [dict(row) for row in constants]
    measured = Rows(rows)
    values = {row["name"]: float(row["value"]) for row in known if is_constant(row)}
    for row in known:
        rule = RULES.get(row["name"])
        if rule is not None and (experiments is None or rule.experiment in experiments):
            row.update(value=text_of(rule.value(measured, values)), kind="measured",
                       source=f"calibrate.py {rule.source}")
    return known
