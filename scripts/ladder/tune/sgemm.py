"""The steps that lead from SGEMM's kernel 9 to the speed of cuBLAS.

They are patches of scripts/autotune/sgemm_kernel9.cuh, one upon the other, as the steps between two levels are
(ladder/levels/patches.py): scripts/autotune/steps/KK_NAME.patch, with the fields Why, Seen and Hint, and

  Cta:  threads and bytes of shared memory of a CTA: 256 16384
"""
from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ladder import files
from ladder.levels import lab

KERNEL = "scripts/autotune/sgemm_kernel9.cuh"
FOLDER = Path("scripts") / "autotune" / lab.STEPS
FIELDS = ("Why", "Seen", "Hint", "Cta")


@dataclass(frozen=True)
class Step:
    name: str
    path: str  # from the repository's root
    threads: int
    smem_bytes: int


@functools.cache
def series() -> tuple[Step, ...]:
    """In order. Raises LabError."""
    found = []
    for path in sorted((files.ROOT / FOLDER).glob("*.patch")):
        values, changed = lab.parse_header(path, FIELDS, FIELDS)
        threads, smem_bytes = map(int, values["Cta"][0].split())
        if changed != [KERNEL]:
            raise lab.LabError(f"{path.name}: a step changes {KERNEL} only.")
        found.append(Step(path.stem.partition("_")[2], path.relative_to(files.ROOT).as_posix(), threads, smem_bytes))
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
