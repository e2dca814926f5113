"""The simulated device of Tensor Core Ladder: `tensor-core-ladder-sim PROGRAM` runs a CUDA program on the CPU."""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

COMMAND = Path(__file__).resolve().parent / "bin" / "tensor-core-ladder-sim"


def main() -> None:
    """The wheel's command: the shell script of that name, which scripts/sim.sh is here."""
    shell = shutil.which("bash")
    if shell is None:
        sys.exit(f"{COMMAND.name}: there is no bash, which this command needs.")
    os.execv(shell, [shell, str(COMMAND), *sys.argv[1:]])
