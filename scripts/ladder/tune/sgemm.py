"""The steps that lead from SGEMM's kernel 9 to the speed of cuBLAS.

They are patches of scripts/autotune/sgemm_kernel9.cuh, one upon the other, as the steps between two levels are
(ladder/levels/patches.py): scripts/autotune/steps/KK_NAME.patch, with the fields Why, Seen and Hint, and

  Cta:  threads and bytes of shared memory of a CTA: 256 16384

Three of them are longer than a step of a level is. `base` gives names to all parts at once. `producer` moves the copies
to threads of their own, which need tensor maps and both barriers of a ring from the first line on. Half of `stream_k`
would leave parts of tiles that no CTA adds.
"""
from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ladder import files
from ladder.command import UsageError
from ladder.levels import compare, lab

KERNEL = "scripts/autotune/sgemm_kernel9.cuh"
FOLDER = Path("scripts") / "autotune" / lab.STEPS
FIELDS = ("Why", "Seen", "Hint", "Cta")
ARCH = 90  # its last kernels load by TMA


@dataclass(frozen=True)
class Step:
    name: str
    path: str  # from the repository's root
    threads: int
    smem_bytes: int
    number: int
    question: str
    expect: str
    arch: int = ARCH

    @property
    def title(self) -> str:
        return f"sgemm.{self.number}"

    @property
    def words(self) -> str:
        return self.name.replace("_", " ")

    @property
    def comparison(self) -> compare.Comparison:
        before = kernels()[self.number - 2] if self.number > 1 else (files.ROOT / KERNEL).read_text(encoding="utf-8")
        return compare.Comparison(f"{KERNEL} before step {self.title}", f"{KERNEL} after it",
                                  compare.compare_texts(before, kernels()[self.number - 1]))


def find_step(text: str) -> Step:
    """The one that is written sgemm.3. Raises UsageError."""
    for one in series():
        if one.title == text:
            return one
    raise UsageError(f"SGEMM has no step '{text}'; it has sgemm.1 to sgemm.{len(series())}.")


@functools.cache
def series() -> tuple[Step, ...]:
    """In order. Raises LabError."""
    found: list[Step] = []
    for path in sorted((files.ROOT / FOLDER).glob("*.patch")):
        values, changed = lab.parse_header(path, FIELDS, FIELDS)
        threads, smem_bytes = map(int, values["Cta"][0].split())
        if changed != [KERNEL]:
            raise lab.LabError(f"{path.name}: a step changes {KERNEL} only.")
        found.append(Step(path.stem.partition("_")[2], path.relative_to(files.ROOT).as_posix(), threads, smem_bytes,
                          len(found) + 1, values["Why"][0], values["Seen"][0]))
    return tuple(found)


@functools.cache
def kernels() -> tuple[str, ...]:
    """The kernel's file after each step. Raises LabError if a patch does not apply."""
    found = []
    with tempfile.TemporaryDirectory(prefix="ladder-steps-") as folder:
        file = Path(folder) / KERNEL
        files.replace(file, (files.ROOT / KERNEL).read_text(encoding="utf-8"))
        for step in series():
            lab.apply_patch(files.ROOT / step.path, step.name, Path(folder))
            found.append(file.read_text(encoding="utf-8"))
    return tuple(found)
