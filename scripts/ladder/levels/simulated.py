"""The GPUs that the simulated device knows: a file each, with what describes it and the timing model's constants."""
from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ladder import files

FOLDER = Path("common/sim/machine/gpus")
DESCRIBES = "gpu_"  # begins the names of facts that are no constants


@dataclass(frozen=True)
class Gpu:
    key: str
    arch: int
    is_default: bool  # of its architecture


def path_of(key: str, root: Path = files.ROOT) -> Path:
    return root / FOLDER / f"{key}.csv"


def is_constant(fact: Mapping[str, str]) -> bool:
    return not fact["name"].startswith(DESCRIBES)


def _read(path: Path) -> Gpu:
    with open(path, newline="", encoding="utf-8") as file:
        facts = {row["name"].removeprefix(DESCRIBES): row["value"] for row in csv.DictReader(file)}
    return Gpu(path.stem, 10 * int(facts["major"]) + int(facts["minor"]), facts["is_default"] == "1")


KNOWN = {path.stem: _read(path) for path in sorted((files.ROOT / FOLDER).glob("*.csv"))}
DEFAULT = {gpu.arch: gpu.key for gpu in KNOWN.values() if gpu.is_default}  # by architecture
