"""The account of a launch: to which cause every cycle of every SM's tensor core belongs, and how much of the time the
power limit takes by lowering the clock. Modelled, and measured on a GPU."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder.files import RESULTS
from ladder.results import data
from ladder.results.data import Fields

RECORD = RESULTS / "modelled_account.csv"
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
    """Shares by level, GPU and size. A measured file has a row for each part, which it calls so."""
    found: Accounts = {}
    for row in rows:
        shares = found.setdefault((row["level"], row["gpu"], row["size"]), {})
        shares[row["config"] if "config" in row else row["part"]] = float(row["share"])
    return found


def recorded(root: Path) -> Accounts:
    return by_point(data.read_rows(root / RECORD)[1]) if (root / RECORD).exists() else {}


def measured(root: Path) -> Accounts:
    return by_point(row for path in data.measured(root / RESULTS, "account") for row in data.read_rows(path)[1])
