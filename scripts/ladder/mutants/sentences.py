"""Rows of docs/results/needed.csv and weakened.csv in words."""
from __future__ import annotations

from ladder.levels import verdict
from ladder.mutants.labels import Item, Labels, items
from ladder.results.data import Fields

# Why nothing is reported; {} stands for other sites.
REDUNDANCY = {"same": "{} does the same", "too": "{} orders it, too", "in time": "{} collects the lanes in time",
              "together": "the lanes are together here"}
NO_ORDER = {"registers": "registers, not order", "speed": "speed, not order",
            "allocation": "frees the right to allocate, no order", "unused": "a barrier that no thread uses here"}
NO_DATA = {"counted": "the phase counts bytes or tensor work itself, or hands back what was only read",
           "only read": "hands back what was only read",
           "happened": "passes on what has happened, and mbarriers, which have their own fence"}
PROOFS = {**REDUNDANCY, **NO_ORDER, **NO_DATA}


def others(row: Fields, now: Labels) -> str:
    """"bar.sync (line 7)", "bar.sync (lines 7, 9)", "bar.sync (line 7, called from 20)", or configurations."""
    found = items(row["other"])
    if not any(label for _, label in found):
        return ", ".join(what for what, _ in found)
    lines = [str(now.line(label) or "?") for _, label in found]
    if len({what for what, _ in found}) > 1:
        return f"{found[0][0]} (line {lines[0]}, {found[1][0]} {lines[1]})"
    return f"{found[0][0]} (line{'s' * (len(found) > 1)} {', '.join(lines)})"


def outcome(row: Fields, now: Labels) -> str:
    """The verdict, with its proof: "redundant: bar.sync (line 7) does the same"."""
    if row["options"]:
        return f"{row['verdict']}, found with {row['options']} only"
    if not row["proof"]:
        return f"{row['verdict']} here: see {others(row, now)}" if row["other"] else row["verdict"]
    sentence = PROOFS[row["proof"]].format(others(row, now))
    return f"{row['verdict']}: {sentence.replace('orders', 'order') if len(items(row['other'])) > 1 else sentence}"


def found(row: Fields) -> str:
    """"race (exit, read after write)"."""
    rules = row["rules"].split("; ") if row["rules"] else []
    return f"{row['found_by']} ({', '.join(rules)})" if rules else row["found_by"]


def pairs(row: Fields) -> list[tuple[Item, Item]]:
    first, second = items(row["first"]), items(row["second"])
    return list(zip(first, second or [("", "")] * len(first)))


def pair(sides: tuple[Item, Item], now: Labels) -> str:
    """"store :198 before load :206"."""
    return " before ".join(now.place(side) for side in sides if any(side))


def orders(row: Fields, now: Labels) -> str:
    """What is no longer ordered, or which fault there is."""
    shown = [pair(sides, now) for sides in pairs(row)]
    if row["found_by"] == verdict.FAULT:
        return row["fault"] + (f" ({shown[0]})" if shown else "")
    if row["found_by"] == verdict.DEADLOCK:
        return "what is waited for" + (f" at {', '.join(shown)}" if shown else "")
    more = int(row["findings"] or 0) - len(shown)
    return "; ".join(shown) + (f" and {more} more" if more > 0 else "")
