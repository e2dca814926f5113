"""Programs that the tests record, and what a run of them says."""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder.levels import verdict
from ladder.levels.verdict import Verdict

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

    verdict: Verdict
    counters: Any


def record(program: Program, folder: Path) -> Path:
    file = folder / f"{program.name}.rec"
    done = subprocess.run([SIM, *program.options, "--record", str(file), str(program.path), *program.arguments],
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return file


def run(command: Sequence[str], counters: Path, *options: str) -> Said:
    found = verdict.simulate(command, ["--counters", str(counters), *options])
    said = json.loads(counters.read_text(encoding="utf-8")) if counters.exists() else None
    counters.unlink(missing_ok=True)
    return Said(found, said)
