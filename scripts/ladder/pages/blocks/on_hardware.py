"""What an H200 did without a fence, a barrier or a wait of a kernel, and what NVIDIA's tools said."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names, shapes
from ladder.mutants.sites import key_of
from ladder.pages.blocks.options import Options, take_level
from ladder.results import data
from ladder.results.data import Fields
from ladder.results.numbers import NOTHING

WITHOUT = RESULTS / "h200_without.csv"
WITHOUT_TOOLS = RESULTS / "h200_without_tools.csv"
NEEDED = RESULTS / "needed.csv"

Key = tuple[str, ...]  # level, architecture, configuration, line, instruction

def read(context: Context, path: Path) -> list[Fields]:
    def load(context: Context) -> list[Fields]:
        file = context.root / path
        return data.read_rows(file)[1] if file.exists() else []
    return context.once(str(path), load)


def today(then: Iterable[Fields], now: Iterable[Fields]) -> dict[Key, Key]:
    """Of each site that was measured, which it is of those that there are now: the lines may have moved since. The same
    instruction in the same words, in the same order; where there are more of these now, for some cannot be removed on a
    GPU, those that have moved least."""
    found: dict[Key, Key] = {}
    there = _alike(now)
    for words, keys in _alike(then).items():
        candidates = there.get(words, [])
        if len(keys) <= len(candidates):
            chosen = min(itertools.combinations(candidates, len(keys)),
                         key=lambda some: sum(abs(int(one[3]) - int(key[3])) for one, key in zip(some, keys)))
            found.update(zip(keys, chosen))
    return found


def _alike(rows: Iterable[Fields]) -> dict[tuple[str, ...], list[Key]]:
    """The sites by all but their line."""
    found: dict[tuple[str, ...], list[Key]] = {}
    for key, source in sorted({(key_of(row), row["source"]) for row in rows if row["line"]},
                              key=lambda item: (item[0][:3], int(item[0][3]), item[0][4])):
        found.setdefault((*key[:3], key[4], source), []).append(key)
    return found


# --- on hardware ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnHardware:
    """What launches of a kernel without one site came to."""

    runs: Sequence[int]
    wrong: Sequence[int]

    @property
    def word(self) -> str:
        if not any(self.wrong):
            return "never here"
        return "always" if list(self.wrong) == list(self.runs) else "sometimes"


def measured_on(context: Context) -> dict[Key, OnHardware]:
    """By the sites as they were when it was measured."""
    found: dict[Key, list[Fields]] = {}
    for row in read(context, WITHOUT):
        if row["line"] and row["runs"]:
            found.setdefault(key_of(row), []).append(row)
    return {key: OnHardware([int(row["runs"]) for row in some], [int(row["wrong"]) for row in some])
            for key, some in found.items()}


def measured_today(context: Context) -> dict[Key, OnHardware]:
    """By the sites of docs/results/needed.csv."""
    now = today(read(context, WITHOUT), read(context, NEEDED))
    return {now[key]: found for key, found in measured_on(context).items() if key in now}


def without(context: Context, options: Options) -> str:
    """[level=N]: wrong launches of the kernels that were ever wrong, size by size; how many others never were."""
    rows = read(context, WITHOUT)
    if "level" in options:
        level = take_level(context, options)
        rows = [row for row in rows if row["level"] == level]
    if not rows:
        raise ValueError("nothing was removed from this level")
    sizes = list(dict.fromkeys(_size(row) for row in rows))
    wrong: dict[Key, dict[shapes.Shape, Fields]] = {}
    now = today(rows, read(context, NEEDED))
    for row in rows:
        if row["line"]:
            wrong.setdefault(now.get(key_of(row), key_of(row)), {})[_size(row)] = row
    configs = {level: {row["config"] for row in rows if row["level"] == level} for level in {r["level"] for r in rows}}
    table = []
    for (level, _, config, line, instruction), found in wrong.items():
        if any(row["wrong"] not in ("", "0") for row in found.values()):
            title = f"{names.number_of(level):02}{', ' + config if len(configs[level]) > 1 else ''}"
            source = next(iter(found.values()))["source"]
            table.append([title, line, f"`{_call(source, instruction)}`",
                          *(found[size]["wrong"] if size in found else NOTHING for size in sizes)])
    heads = ["level", "line", "without", *(shapes.size_text(size) for size in sizes)]
    never = len(wrong) - len(table)
    first = rows[0]
    commits, dates = (", ".join(sorted(set(values))) for values in
                      ((row["commit"] for row in rows), (row["date"][:10] for row in rows)))
    return (markdown.table(heads, table, "lrl" + "r" * len(sizes))
            + f"\nWrong launches of {first['runs']}; measured: {first['gpu']}, D compared bit for bit; commit "
              f"{commits}, {dates}. {never} other fences, barriers and waits were removed in the "
              "same way, one at a time, and no launch was wrong.\n")


def _size(row: Fields) -> shapes.Shape:
    return int(row["m"]), int(row["n"]), int(row["k"])


def _call(source: str, instruction: str) -> str:
    """"fence_proxy_async_shared" of "ptx::fence_proxy_async_shared();", or the instruction."""
    call = source.partition("ptx::")[2].partition("(")[0].partition("<")[0]
    return call if call else "__syncthreads" if "__syncthreads" in source else (
        "__syncwarp" if "__syncwarp" in source else instruction)
