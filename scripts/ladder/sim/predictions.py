"""Levels on a GPU that need not be there: scripts/sim.sh --timing, for many points at a time."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

from ladder import files
from ladder.command import UsageError
from ladder.files import RESULTS
from ladder.levels import names
from ladder.results.data import Fields

ARCHS = {"h200": 90, "b200": 100}
SIZES = "4096,6144,8192,10240,12288"
RECORDED_SIZES = "4096"  # in docs/results
RECORD = RESULTS / "modelled.csv"
# By the ways in which levels are timed: at work all the time, and for a moment.
MODES = {"": "cap", "burst_": "burst"}
OF_MODE = {"tflops": "tflops", "cycles": "cycles", "mhz": "mhz", "watts": "watts", "us": "us"}
COMMON = {"tensor_share": "tensor_share", "l2_gb": "l2_gb", "dram_read_gb": "dram_read_gb",
          "dram_written_gb": "dram_written_gb", "limit": "limit", "executed": "executed", "clusters": "clusters"}
COLUMNS = ("level", "arch", "m", "n", "k", "config", *(mode + name for mode in MODES for name in OF_MODE), *COMMON,
           "kind", "gpu")
TIMEOUT_S = 600


@dataclass(frozen=True)
class Point:
    level: str
    gpu: str
    size: str  # "4096", or "4096x14336x4096"
    config: str = ""

    @property
    def arguments(self) -> list[str]:
        edges = self.size.split("x") * (3 if "x" not in self.size else 1)
        if len(edges) != 3 or not all(edge.isdigit() for edge in edges):
            raise UsageError(f"'{self.size}' is neither a size nor MxNxK.")
        chosen = ["--config", self.config] if self.config else []
        return ["--m", edges[0], "--n", edges[1], "--k", edges[2], *chosen]


def one(point: Point, power: str, program: Path) -> tuple[Optional[dict[str, Any]], str]:
    """What is predicted, or why nothing is; and the configuration."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "predictions"
        done = subprocess.run(
            [str(files.ROOT / "scripts" / "sim.sh"), "--timing", "--threads", "1", "--gpu", point.gpu, "--power", power,
             "--predictions", str(output), str(program), *point.arguments],
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0 or not output.exists():
            return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        return found[-1], done.stdout.split()[-1]


def predict(points: Sequence[Point], build: Path, say: Callable[[str], None]) -> tuple[list[Fields], list[str]]:
    """A row per point, in their order, and what went wrong. Raises UsageError if a program is not built."""
    for point in points:
        program = names.executable(point.level, ARCHS[point.gpu], build)
        if not program.exists():
            raise UsageError(f"{program} is not built: run scripts/build.sh.")

    def row(point: Point) -> tuple[Optional[Fields], str]:
        program = names.executable(point.level, ARCHS[point.gpu], build)
        fields: Fields = dict(zip(("level", "arch"), (point.level, str(ARCHS[point.gpu]))))
        fields.update(zip("mnk", point.arguments[1:6:2]))
        for mode, power in MODES.items():
            found, text = one(point, power, program)
            if found is None:
                return None, f"{point.level} {point.size} on {point.gpu}: {text}"
            fields["config"] = text
            fields.update({mode + name: f"{found[key]:g}" if isinstance(found[key], float) else str(found[key])
                           for name, key in OF_MODE.items()})
            if not mode:
                fields.update({name: f"{found[key]:.6g}" if isinstance(found[key], float) else str(found[key])
                               for name, key in COMMON.items()})
        fields.update(kind="modelled", gpu=point.gpu)
        return fields, ""

    rows: list[Fields] = []
    failures: list[str] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for fields, failure in pool.map(row, points):
            if fields is None:
                failures.append(failure)
                continue
            rows.append(fields)
            say(f"{fields['gpu']} {fields['level']:<26} {'x'.join(fields[axis] for axis in 'mnk'):<18} "
                f"{fields['tflops']:>8} TFLOPS at {fields['mhz']} MHz, {fields['cycles']:>9} cycles, {fields['limit']}")
    return rows, failures


def by_point(rows: Iterable[Fields]) -> dict[tuple[str, str, str], Fields]:
    """Rows by level, GPU and edge."""
    return {(row["level"], row["gpu"], row["m"]): row for row in rows}
