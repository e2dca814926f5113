"""Steps: small patches that lead from one level's kernel to the next one's. Each leaves a kernel that is right, and has
one reason.

A step is a file levelNN_name/steps/smXX/K_NAME.patch, K from 1; the first starts at the kernel of level NN - 1 and only
renames (namespace, comments), the last ends at that of level NN, byte for byte. The comment at the head of a kernel
describes the level from the first step on, but the barriers in it are the kernel's own. Before the patch stand the
fields of its header, which may continue in indented lines:

  Why:    the reason, in one sentence
  Seen:   what shows that it works: a counter, a part of the account, a verdict
  Hint:   what a reader is told whose own attempt fails
  Claims: (optional) names of the level's claims (ladder/grader/claims.py) that hold from this step on
  Counts: (optional, repeated), Shows:, Run:, Sim:, Modes: as labs have them (lab.py); all modes are right if nothing is
          said, and counters are compared with the kernel before the step
"""
from __future__ import annotations

import functools
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import UsageError
from ladder.levels import around, compare, lab, names
from ladder.levels.lab import Build, Count, Lab, LabError

FIELDS = ("Why", "Seen", "Hint", "Claims", "Counts", "Shows", "Run", "Sim", "Modes")
RIGHT = "default=right latest=right seeds=right check=right"


@dataclass(frozen=True)
class Step(Lab):
    number: int = 0
    hint: str = ""
    claims: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """As it is written on command lines: 6.2."""
        return f"{names.number_of(self.level)}.{self.number}"

    @property
    def words(self) -> str:
        """The name in words: own loops."""
        return self.name.partition("_")[2].replace("_", " ")

    @property
    def kernel_name(self) -> str:
        return f"kernel_sm{self.arch}.cuh"

    @property
    def comparison(self) -> compare.Comparison:
        """What it changes; white space does not count."""
        named = f"{self.level}/{self.kernel_name}"
        return compare.Comparison(f"{named} before step {self.title}", f"{named} after it",
                                  compare.compare_texts(kernel_before(self), kernel_after(self)))

    def write(self, folder: Path) -> None:
        own = names.folder(self.level, folder)
        write_kernel(self, own / self.kernel_name)
        if last(self):
            described = around.description_of(files.ROOT / self.level / self.kernel_name)
            if described:
                files.replace(own / described.name, described.read_text(encoding="utf-8"))
        files.replace(own / "main.cu", around.source_of({self.title: own / self.kernel_name}, self.level))

    def unchanged(self, build: Build, folder: Path, real: bool) -> Path:
        """The program of the kernel before."""
        before = next((one for one in series(self.level, self.arch) if one.number == self.number - 1), None)
        if before is None:
            program = names.executable(level_before(self.level), self.arch, build.folder)
            if not program.exists():
                raise LabError(f"{program.name} is not built. Run scripts/build.sh first.")
            return program
        made, said = lab.compile_lab(before, build, folder / "before", real)
        if made is None:
            raise LabError(f"{before.title} does not compile:\n{said}")
        return made


def parse_step(path: Path) -> Step:
    """Reads a step; raises LabError if it is not one."""
    values, changed = lab.parse_header(path, FIELDS, ("Why", "Seen", "Hint"))
    match = re.fullmatch(r"(\d+)_\w+", path.stem)
    level, arch = path.parents[2].name, names.parse_arch(path.parent.name)
    if not match or changed != [f"{level}/kernel_sm{arch}.cuh"]:
        raise LabError(f"{path}: a step is named like 2_own_loops.patch, and changes {level}/kernel_sm{arch}.cuh only.")

    def one(name: str, default: str = "") -> str:
        return values.get(name, [default])[0]

    return Step(level, path.stem, path, one("Why"), one("Seen"), lab.parse_modes(path, one("Modes", RIGHT)),
                one("Run", lab.DEFAULT_RUN).split(), one("Sim", lab.DEFAULT_SIM).split(), values.get("Shows", []),
                [Count.parse(text) for text in values.get("Counts", [])], arch, changed, number=int(match[1]),
                hint=one("Hint"), claims=tuple(one("Claims").split()))


@functools.cache
def series(level: str, arch: int, root: Path = files.ROOT) -> tuple[Step, ...]:
    """The steps to a level, in order. Raises LabError if one is missing."""
    folder = root / level / lab.STEPS / f"sm{arch}"
    found = sorted(map(parse_step, folder.glob("*.patch")), key=lambda one: one.number)
    if [one.number for one in found] != list(range(1, len(found) + 1)):
        raise LabError(f"{folder.relative_to(root)}: the steps are not numbered 1, 2, 3 ...: "
                       f"{', '.join(one.name for one in found)}.")
    return tuple(found)


def all_steps(arches: Sequence[int] = tuple(names.ARCH_NAMES), root: Path = files.ROOT) -> list[Step]:
    return [one for level in names.all_levels(root) for arch in arches for one in series(level, arch, root)]


def find_step(text: str, arch: int) -> Step:
    """The one that is written 6.2. Raises UsageError."""
    level_text, _, number = text.partition(".")
    level = names.find_level(level_text, names.all_levels())
    there = series(level, arch)
    for one in there:
        if str(one.number) == number:
            return one
    known = ", ".join(one.title for one in there) or "none"
    raise UsageError(f"level {names.number_of(level)} has no step '{text}' on {names.ARCH_NAMES[arch]}; it has: "
                     f"{known}.")


def last(one: Step) -> bool:
    return one == series(one.level, one.arch)[-1]


def level_before(level: str) -> str:
    """Raises UsageError if there is none."""
    earlier = [name for name in names.all_levels() if name < level]
    if not earlier:
        raise UsageError(f"no steps lead to {level}: it is the first level.")
    return earlier[-1]


# --- kernels ----------------------------------------------------------------------------------------------------------


@functools.cache
def kernels(level: str, arch: int, before: Optional[str] = None) -> tuple[str, ...]:
    """The kernel of the level before, or this text, then the kernel after each step. Raises LabError if a patch does
    not apply."""
    found = [before or names.kernel_path(files.ROOT, level_before(level), arch).read_text(encoding="utf-8")]
    with tempfile.TemporaryDirectory(prefix="ladder-steps-") as folder:
        file = Path(folder) / level / f"kernel_sm{arch}.cuh"
        files.replace(file, found[0])
        for one in series(level, arch):
            lab.apply_patch(one.path, one.title, Path(folder))
            found.append(file.read_text(encoding="utf-8"))
    return tuple(found)


def kernel_before(one: Step) -> str:
    return kernels(one.level, one.arch)[one.number - 1]


def kernel_after(one: Step) -> str:
    return kernels(one.level, one.arch)[one.number]


def write_kernel(one: Step, path: Path, namespace: Optional[str] = None) -> None:
    text = kernel_after(one)
    files.replace(path, re.sub(rf"\b{names.short(one.level)}\b", namespace, text) if namespace else text)


def config_of(one: Step) -> str:
    """How its kernel is named in the program of several: the first configuration, if it has some."""
    return one.title + next((name for name, _ in around.arguments_of(kernel_after(one))), "")


def compile_together(chosen: Sequence[Step], build: Build, folder: Path, real: bool = False) -> Path:
    """One program of the kernels after these steps, all of one architecture, whose configurations are named like the
    steps: it compiles in a fraction of the time that a program for each would take. `real`: with machine code. Raises
    LabError."""
    found = {}
    for one in chosen:
        found[one.title] = folder / f"step_{one.title.replace('.', '_')}.cuh"
        write_kernel(one, found[one.title], found[one.title].stem)
    files.replace(folder / "together" / "main.cu", around.source_of(found, chosen[0].level))
    arch = chosen[0].arch
    code = f"[sm_{arch}a,compute_{arch}a]" if real else f"compute_{arch}a"
    program, said = lab.compile_copy("together", arch, code, build, folder)
    if program is None:
        raise LabError(f"the steps do not compile:\n{said}")
    return program


def together(level: str, arch: int, build: Build) -> Path:
    """The program of all kernels of a series that has been built for a GPU."""
    return build.folder / lab.STEPS / names.target(level, arch)


def build(levels: Sequence[str], arch: int, made: Build) -> None:
    """Machine code of each series. Raises LabError."""
    for level in levels:
        with lab.scratch() as folder:
            program = compile_together(series(level, arch), made, folder, real=True)
            target = together(level, arch, made)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(program, target)
