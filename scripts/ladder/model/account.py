"""The account of a launch: to which cause every cycle of every SM's tensor core belongs, and how much of the time the
power limit takes by lowering the clock. Modelled, and as far as it can be measured on a GPU."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from ladder.context import Context
from ladder.files import RESULTS
from ladder.model.machine import GPUS, NAMES, machine
from ladder.results import data
from ladder.results.data import Fields

RECORD = RESULTS / "modelled_account.csv"  # under load
PROFILED = RESULTS / "modelled_profile.csv"  # at the clocks at which COUNTED was counted
COUNTED, CLOCKS, WAITED = (RESULTS / f"h100_{what}.csv" for what in ("profile", "cycles", "waits"))
COLUMNS = ("level", "arch", "size", "kind", "gpu", "share of *")
POWER = "power_limit"  # of the time, not of the cycles


@dataclass(frozen=True)
class Part:
    key: str
    title: str
    fill: str  # a colour of draw/svg.py, shared by the parts of a group


# In the order of common/sim/timing/account.h.
PARTS = (
    Part("useful", "useful", "green"), Part("wasted", "wasted", "grey"), Part("issue", "issue", "yellow"),
    Part("not_asked", "operands: not asked for", "blue"), Part("latency", "operands: latency", "blue"),
    Part("tma", "operands: TMA", "orange"), Part("port", "operands: port to L2", "orange"),
    Part("l2", "operands: L2", "orange"), Part("link", "operands: link between L2's halves", "orange"),
    Part("dram", "operands: DRAM", "orange"),
    Part("registers", "accumulator: tensor memory, registers", "purple"),
    Part("shared", "accumulator: shared memory", "purple"),
    Part("conflicts", "accumulator: bank conflicts", "purple"), Part("stores", "accumulator: stores", "purple"),
    Part("peer", "pair and cluster", "pink"), Part("begin", "begin", "teal"), Part("end", "end", "teal"),
    Part("idle", "idle SM", "none"), Part("unexplained", "unexplained", "red"))


LEGEND = {"green": "useful", "grey": "wasted", "yellow": "issue", "blue": "operands: not asked for, latency",
          "orange": "operands: a resource's queue", "purple": "accumulator", "pink": "pair and cluster",
          "teal": "begin, end", "none": "idle SM", "red": "unexplained"}


def shares_of(prediction: Mapping[str, Any]) -> dict[str, float]:
    """By part, in the order of PARTS, with POWER last; empty if the kernel has no MMAs. Raises KeyError for a part that
    the simulated device does not know."""
    account = prediction["account"]
    if not account:
        return {}
    if set(account) != {part.key for part in PARTS}:
        raise KeyError(f"the parts of an account are {', '.join(account)}")
    return {**{part.key: account[part.key] for part in PARTS}, POWER: prediction["power_share"]}


def rows_of(row: Fields, shares: Mapping[str, float]) -> list[Fields]:
    """What RECORD has of a prediction's row."""
    fixed = {name: row[name] for name in ("level", "arch", "kind", "gpu")}
    return [{**fixed, "size": row["m"], "config": part, "share": f"{share:.5f}"} for part, share in shares.items()]


Accounts = dict[tuple[str, str, str], dict[str, float]]


def by_point(rows: Iterable[Fields]) -> Accounts:
    """Shares by level, GPU and size."""
    found: Accounts = {}
    for row in rows:
        found.setdefault((row["level"], row["gpu"], row["size"]), {})[row["config"]] = float(row["share"])
    return found


def recorded(root: Path, file: Path = RECORD) -> Accounts:
    return by_point(data.read_rows(root / file)[1]) if (root / file).exists() else {}


# --- measured


ACTIVE, REST, IDLE = "active", "waits", "idle"
COARSE = (Part(ACTIVE, "tensor cores active", "green"), Part(REST, "waits, not told apart", "blue"),
          Part(IDLE, "idle SM", "none"))


def coarse(shares: Mapping[str, float]) -> dict[str, float]:
    """The parts of a modelled account that a measurement has, too."""
    active = shares["useful"] + shares["wasted"]
    return {ACTIVE: active, REST: 1 - active - shares["idle"], IDLE: shares["idle"]}


def measured(context: Context) -> Accounts:
    """Of launches at free clocks: the tensor cores' share is counted, that of idle SMs follows from the number of
    tiles. What the tensor cores wait for meanwhile no counter tells."""
    found: Accounts = {}
    gpu, path = GPUS[90], context.root / CLOCKS
    ctas = {(row["level"], row["m"]): int(row["ctas"]) for row in (data.read_rows(path)[1] if path.exists() else [])}
    for (level, size), counted in counters(context).items():
        if (level, size) not in ctas:
            continue
        config, sms = context.configs(level, 90)[0], machine(context, 90).sms
        tiles = ceil(int(size) / config.tile_m) * ceil(int(size) / config.tile_n)
        idle = 1 - tiles / sms / ceil(tiles / min(ctas[level, size], sms))
        active = counted["tensor core, cycles active %"] / 100
        found[level, gpu, size] = {ACTIVE: active, REST: 1 - active - idle, IDLE: idle}
    return found


def counters(context: Context) -> dict[tuple[str, str], dict[str, float]]:
    """What a profiler counted, by level and size."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in _rows(context, COUNTED):
        found.setdefault((row["level"], row["m"]), {})[row["quantity"]] = float(row["value"])
    return found


# What a warp waits for, by the wrapper and the statement.
WAITS = (("operands", r"smem_full"), ("a free stage", r"smem_empty"), ("a turn", r"TURN_BARRIER"),
         ("MMAs", r"wgmma_wait"), ("barriers and TMA's reads", r"bar_sync|bulk_wait"))


@dataclass(frozen=True)
class Waits:
    """Of the warps that multiply and of those that only load: shares of their time, by WAITS. They overlap what the
    tensor cores do meanwhile. `cost`: how much longer the kernel takes that notes them."""
    multiply: dict[str, float]
    load: dict[str, float]
    cost: float


def waits(context: Context, level: str, size: str) -> Waits:
    """In a burst, when the clock is free."""
    roles: dict[str, dict[str, float]] = {}
    cost = 0.0
    for row in _rows(context, WAITED):
        if (row["level"], row["m"], row["mode"]) == (level, size, "burst"):
            what = next((name for name, site in WAITS if re.search(site, row["site"])), None)
            mine = roles.setdefault(row["warps"], {})
            if what:
                mine[what] = mine.get(what, 0) + float(row["share"])
            cost = float(row["cost"])
    multiply = {warps: shares for warps, shares in roles.items() if "operands" in shares}
    count = sum(len(warps.split()) for warps in multiply)
    mean = {name: sum(shares.get(name, 0) * len(warps.split()) for warps, shares in multiply.items()) / count
            for name, _ in WAITS} if count else {}
    load = next((shares for warps, shares in roles.items() if warps not in multiply and "a free stage" in shares), {})
    return Waits(mean, load, cost)


def _rows(context: Context, file: Path) -> list[Fields]:
    path = context.root / file
    rows = context.once(file.name, lambda _: data.read_rows(path)[1] if path.exists() else [])
    return [row for row in rows if row["gpu"] == NAMES[GPUS[90]]]
