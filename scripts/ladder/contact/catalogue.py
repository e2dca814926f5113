"""All probes of an architecture, the answers of the simulated device, and the places that assume them."""
from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from ladder.contact import blackwell, both, hopper
from ladder.contact.probe import Probe
from ladder.files import RESULTS, ROOT
from ladder.levels import names, shapes
from ladder.results import data

ANSWERS = RESULTS / "sim_first_contact.csv"
COLUMNS = ("name", "arch", "answer")
KERNEL_SHAPES = ("256x256x256", "72x136x200", "384x520x1000")
KERNEL_INPUTS = ("int", "normal")
_KERNEL_PLACE = {"int": "common/mma/smem_descriptor.h: descriptor",
                 "normal": "common/sim/exec/tensor/kernels.cpp: const int unit = top - how.fraction_bits;"}


@lru_cache
def probes(arch: int) -> dict[str, Probe]:
    """By name. Those that end in an error come last."""
    own = hopper.probes() if arch == 90 else blackwell.probes()
    found = sorted([*own, *both.probes()], key=lambda probe: probe.faults)
    by_name = {probe.name: probe for probe in found}
    assert len(by_name) == len(found), "two probes have one name"
    return by_name


@lru_cache
def kernel_runs(arch: int) -> dict[str, tuple[str, shapes.Shape, str]]:
    """Level, shape and input, by name: what a whole kernel computes is a fact, too."""
    return {f"kernel.{names.short(level)}.{shape}.{given}": (level, shapes.parse_sizes(shape)[0], given)
            for level in names.all_names() if names.has_kernel(level, arch)
            for shape in KERNEL_SHAPES for given in KERNEL_INPUTS}


def asks(arch: int, name: str) -> str:
    if name in probes(arch):
        return probes(arch)[name].asks
    level, shape, given = kernel_runs(arch)[name]
    return f"the digest of D of {names.title(level)} at {shapes.shape_text(shape)}, input {given}"


def place(arch: int, name: str) -> str:
    """FILE:LINE (TEXT) of what assumes the answer."""
    probe = probes(arch).get(name)
    where = probe.place if probe else _KERNEL_PLACE[name.rpartition(".")[2]]
    line = line_of(where)
    file, _, text = where.partition(": ")
    return f"{file}:{line}: `{text}`"


def line_of(where: str, root: Path = ROOT) -> int:
    """0: the file has no such text."""
    file, _, text = where.partition(": ")
    lines = (root / file).read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, start=1) if text in line), 0)


@lru_cache
def answers(arch: int) -> dict[str, str]:
    """Of the simulated device, as recorded."""
    path = ROOT / ANSWERS
    rows = data.read_rows(path)[1] if path.exists() else []
    return {row["name"]: row["answer"] for row in rows if row["arch"] == str(arch)}


def verdict(arch: int, name: str, answer: str) -> str:
    """"differs, as known": another GPU has answered so, and it is known why."""
    if answer == answers(arch).get(name):
        return "as simulated"
    return "differs, as known" if fnmatchcase(answer, known(arch, name)[0]) else "differs"


def known(arch: int, name: str) -> tuple[str, str]:
    return probes(arch)[name].known if name in probes(arch) else ("", "")

