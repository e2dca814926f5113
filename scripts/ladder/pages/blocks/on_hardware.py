"""What a GPU did without a fence, a barrier or a wait of a kernel, and what NVIDIA's tools said."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names, shapes
from ladder.mutants import labels
from ladder.mutants.sites import key_of
from ladder.pages.blocks.options import Options, take_level
from ladder.results import data
from ladder.results.data import Fields
from ladder.results.numbers import NOTHING

WITHOUT_TOOLS = RESULTS / "h200_without_tools.csv"
NEEDED = RESULTS / "needed.csv"

Key = tuple[str, ...]  # level, architecture, configuration, site, instruction


def read(context: Context, path: Path) -> list[Fields]:
    def load(context: Context) -> list[Fields]:
        file = context.root / path
        return data.read_rows(file)[1] if file.exists() else []
    return context.once(str(path), load)


def read_all(context: Context) -> list[Fields]:
    """The rows of all files GPU_without.csv that are of kernels without a site, or of kernels as they are."""
    return [row for path in data.measured(context.root / RESULTS, "without")
            for row in read(context, path.relative_to(context.root)) if not row["way"]]


def read_without(context: Context) -> list[Fields]:
    """What was measured last of each kernel, on one GPU each."""
    rows = read_all(context)
    last: dict[tuple[str, str], tuple[str, str]] = {}  # by kernel: date and GPU
    for row in rows:
        kernel = row["level"], row["arch"]
        last[kernel] = max(last.get(kernel, ("", "")), (row["date"], row["gpu"]))
    return [row for row in rows if row["gpu"] == last[row["level"], row["arch"]][1]]


# --- on hardware ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnHardware:
    """What launches of a kernel without one site came to."""

    gpu: str
    runs: Sequence[int]
    wrong: Sequence[int]

    @property
    def word(self) -> str:
        if not any(self.wrong):
            return "never here"
        return "always" if list(self.wrong) == list(self.runs) else "sometimes"


def by_site(rows: Sequence[Fields]) -> dict[Key, OnHardware]:
    """Of one GPU for each kernel."""
    found: dict[Key, list[Fields]] = {}
    for row in rows:
        if row["site"] and row["runs"]:
            found.setdefault(key_of(row), []).append(row)
    return {key: OnHardware(some[0]["gpu"], [int(row["runs"]) for row in some], [int(row["wrong"]) for row in some])
            for key, some in found.items()}


def without(context: Context, options: Options) -> str:
    """[level=N]: wrong launches of the kernels that were ever wrong, size by size; how many others never were."""
    rows = read_without(context)
    if "level" in options:
        level = take_level(context, options)
        rows = [row for row in rows if row["level"] == level]
    if not rows:
        raise ValueError("nothing was removed from this level")
    gpus = dict.fromkeys(row["gpu"] for row in rows)
    return "\n".join(_of_one_gpu(context, [row for row in rows if row["gpu"] == gpu]) for gpu in gpus)


def _of_one_gpu(context: Context, rows: Sequence[Fields]) -> str:
    sizes = list(dict.fromkeys(_size(row) for row in rows))
    wrong: dict[Key, dict[shapes.Shape, Fields]] = {}
    for row in rows:
        if row["site"]:
            wrong.setdefault(key_of(row), {})[_size(row)] = row
    configs = {level: {row["config"] for row in rows if row["level"] == level} for level in {r["level"] for r in rows}}
    table = []
    for (level, arch, config, site, instruction), found in wrong.items():
        if any(row["wrong"] not in ("", "0") for row in found.values()):
            title = f"{names.head(level)}{', ' + config if len(configs[level]) > 1 else ''}"
            line = labels.of_kernel(context.root, level, int(arch)).line(site)
            table.append([title, str(line or NOTHING), f"`{_call(site, instruction)}`",
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


def _call(label: str, instruction: str) -> str:
    """"fence_proxy_async_shared" of "fence_proxy_async_shared()"; the instruction where the line is no call."""
    call = re.match(r"(\w+)[<(]", label)
    return call[1] if call else instruction
