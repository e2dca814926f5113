"""Programs that the tests record, and what a run of them says."""
from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BIN = Path(os.environ["LADDER_BIN"])
SIM = os.environ["LADDER_SIM"]
ROOT = Path(__file__).resolve().parents[3]
SMALL = ("--m", "200", "--n", "136", "--k", "264", "--init", "int")


@dataclass(frozen=True)
class Program:
    name: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # of sim.sh

    @property
    def path(self) -> Path:
        return BIN / self.name


LEVELS = [Program(f"{folder.name}_sm{arch}", SMALL, ("--sms", "4"))
          for folder in sorted(ROOT.glob("level0*_*")) for arch in (100, 90)]
WARM_UPS = [Program(f"warm_up_{name}_sm{arch}")
            for name in ("one_mma", "tma_load", "k_loop", "pair") for arch in (100, 90)]
OTHERS = [Program(f"program_{name}", (), ("--gpu", "h200"))
          for name in ("samples", "clusters_and_mma", "graphs", "graph_nodes", "calls", "units")]
OTHERS.append(Program("program_hand_over", ("grid_sync",), ("--gpu", "h200")))


@dataclass(frozen=True)
class Said:
    """What a run has said of the device, and its counters."""

    code: int
    reports: str
    counters: Any
    output: str


def run(command: Sequence[str], counters: Path, *options: str) -> Said:
    done = subprocess.run([SIM, "--counters", str(counters), *options, *command], capture_output=True, text=True,
                          timeout=600, check=False)
    said = json.loads(counters.read_text(encoding="utf-8")) if counters.exists() else None
    counters.unlink(missing_ok=True)
    return Said(done.returncode, reports_in(done.stderr), said, done.stdout + done.stderr)


def reports_in(text: str) -> str:
    """What is said of launches: paragraphs, without those that are about a run as a whole, such as which GPU it has."""
    found, inside = [], False
    for line in text.split("\n"):
        if not line.startswith("  "):
            inside = re.match(r"sim: (check: |deadlock |error |warning |kernel )", line) is not None
        if inside:
            found.append(line)
    return "\n".join(found)
