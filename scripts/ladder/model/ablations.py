"""What one change to a kernel is worth in the timing model: beside what it was worth on a GPU, as it is recorded.

The changes are the ablations (levels/lab.py), and those that were measured without a patch.
"""
from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ladder.command import Failure
from ladder.files import RESULTS
from ladder.levels import lab, names, simulated
from ladder.model.predictions import Point, ask, text_of
from ladder.results import ablations
from ladder.results.data import Fields

MEASURED = RESULTS / "h200_ablations.csv"
RECORD = RESULTS / "modelled_ablations.csv"
COLUMNS = ("level", "arch", "optimisation", "option", "m", "n", "k", "tflops", "cycles", "sm_mhz", "dram_gb",
           "level_tflops", "ratio_level", "kind", "gpu")
BASE = ablations.BASELINE

# Changes that are neither a definition nor a constant: what of the kernel's text becomes what.
EDITS = {"Smem::BYTES in launch": (r"(?<!2 \* )Smem::PINNED_BYTES(?=[,)])", "Smem::BYTES"),
         "st.global.b16, twice": (r"if \(row < m && col < n\) \*reinterpret_cast<uint32_t\*>\((.*?)\) = pair;",
                                  r"if (row < m && col < n) { auto* to = reinterpret_cast<volatile uint16_t*>(\1); "
                                  r"to[0] = static_cast<uint16_t>(pair); to[1] = static_cast<uint16_t>(pair >> 16); }")}


@dataclass(frozen=True)
class Change:
    """One of a kernel's, as the tables of results name it."""
    level: str
    gpu: str
    optimisation: str
    option: str

    @property
    def arch(self) -> int:
        return simulated.KNOWN[self.gpu].arch

    @property
    def arguments(self) -> list[str]:
        return self.option.split() if self.option.startswith("--config") else []

    @property
    def definitions(self) -> list[str]:
        return self.option.split() if self.option.startswith("-D") else []

    def edited(self, kernel: str) -> str:
        """The kernel's text with the change. Raises Failure where the option says nothing that can be done to it."""
        if self.option in EDITS:
            pattern, to = EDITS[self.option]
        elif constant := re.fullmatch(r"(\w+) = (.+)", self.option):
            pattern, to = rf"(constexpr int {constant[1]} = )[^;]+;", rf"\g<1>{constant[2]};"
        else:
            raise Failure(f"{self.option} is no change that is made to the text.")
        text, count = re.subn(pattern, to, kernel)
        if count == 0:
            raise Failure(f"{self.option} finds nothing to change in {self.level}.")
        return re.sub(r"static_assert\([^;]*;", "", text)  # they hold the kernel's own numbers

    @property
    def program_of(self) -> str:
        """Another level, if that is what the change is."""
        named = re.fullmatch(r"level (\d\d)", self.optimisation)
        return names.choose_levels(named[1], names.all_levels())[0] if named else self.level


def changes(rows: Iterable[Fields]) -> list[tuple[Change, str]]:
    """With the edges at which each was measured, in the table's order; then the ablations at theirs."""
    found = [(Change(row["level"], "h200", row["optimisation"], row["option"]), row["m"]) for row in rows
             if not row["option"].startswith(lab.ABLATIONS)]
    return found + [(Change(one.level, simulated.DEFAULT[one.arch], one.words, one.option), str(edge))
                    for one in lab.all_labs(kinds=(lab.ABLATIONS,)) for edge in ablations.EDGES]


def build(change: Change, build_folder: Path, folder: Path) -> Path:
    """The level's program with the change. Its machine code tells how many CTAs fit an SM. Raises Failure."""
    level = change.program_of
    if change.arguments or level != change.level or change.optimisation == BASE:
        return names.executable(level, change.arch, build_folder)
    if change.option.startswith(lab.ABLATIONS):
        one = lab.find_lab(lab.all_labs(kinds=(lab.ABLATIONS,)), level, Path(change.option).name)
        patched, said = lab.compile_lab(one, lab.Build(build_folder), folder, real=True)
        if patched is None:
            raise Failure(said)
        return patched
    lab.copy_sources(level, folder)
    if not change.definitions:
        kernel = names.kernel_path(folder, level, change.arch)
        kernel.write_text(change.edited(kernel.read_text(encoding="utf-8")), encoding="utf-8")
    code = f"[sm_{change.arch}a,compute_{change.arch}a]"
    program, said = lab.compile_copy(level, change.arch, code, lab.Build(build_folder), folder, change.definitions)
    if program is None:
        complaint = re.search(r"error\s*:?\s*(.*)", said)
        raise Failure(complaint[1] if complaint else said)
    return program


def predict(wanted: Sequence[tuple[Change, str]], build_folder: Path, say: Callable[[str], None]) -> list[Fields]:
    """A row for each change and edge that the model can be asked about; why the others cannot is said."""
    def ask_one(change: Change, edges: Sequence[str]) -> dict[str, Fields]:
        with tempfile.TemporaryDirectory() as name:
            program = build(change, build_folder, Path(name))
            return {edge: {key: text_of(value) for key, value in
                           ask(program, [*Point(change.level, change.gpu, edge).arguments, *change.arguments],
                               change.gpu, build=build_folder)[0][-1].items()} for edge in edges}

    edges: dict[Change, list[str]] = {}
    for change, edge in wanted:
        edges.setdefault(change, []).append(edge)
    for change in list(edges):
        base = edges.setdefault(Change(change.level, change.gpu, BASE, ""), [])
        base += [edge for edge in edges[change] if edge not in base]
    answers: dict[Change, dict[str, Fields]] = {}
    with ThreadPoolExecutor(2) as pool:
        for change, future in [(change, pool.submit(ask_one, change, edges[change])) for change in edges]:
            try:
                answers[change] = future.result()
            except Failure as failure:
                say(f"{names.short(change.level)}, {change.optimisation}: {failure}")
    rows = []
    for change, edge in wanted:
        if change not in answers or change.optimisation == BASE:
            continue
        mine, base_row = answers[change][edge], answers[Change(change.level, change.gpu, BASE, "")][edge]
        ratio = float(base_row["us"]) / float(mine["us"])
        rows.append({"level": change.level, "arch": str(change.arch), "optimisation": change.optimisation,
                     "option": change.option, "m": edge, "n": edge, "k": edge, "tflops": mine["tflops"],
                     "cycles": mine["cycles"], "sm_mhz": mine["mhz"],
                     "dram_gb": text_of(float(mine["dram_read_gb"]) + float(mine["dram_written_gb"])),
                     "level_tflops": base_row["tflops"], "ratio_level": text_of(ratio), "kind": "modelled",
                     "gpu": change.gpu})
        say(f"{change.gpu} {names.short(change.level)} at {edge}, {change.optimisation}: {ratio:.3f} of the level")
    return rows
