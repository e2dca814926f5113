"""Programs whose fat binaries are damaged, and how they end on the simulated device."""
from __future__ import annotations

import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ladder import files
from ladder.fuzzing.judges import Missing

CONTAINER = struct.pack("<IHH", 0xBA55ED50, 1, 16)
SECONDS = 10
# Of common/tests/runtime: one and the same program, its code stored in every way that nvcc has.
PROGRAM = re.compile(r"runtime_program_(plain|zstd|lz4|relocatable|per_thread)")


@dataclass
class Program:
    path: Path
    data: bytes
    containers: list[range]  # where they lie, headers included


def programs(build: Path) -> list[Program]:
    found = []
    for path in sorted((build / "bin").glob("runtime_program_*")):
        if PROGRAM.fullmatch(path.name):
            data = path.read_bytes()
            starts = [hit.start() for hit in re.finditer(re.escape(CONTAINER), data)]
            sizes = [16 + struct.unpack_from("<Q", data, start + 8)[0] for start in starts]
            found.append(Program(path, data, [range(at, at + size) for at, size in zip(starts, sizes)]))
    if not found:
        raise Missing(f"{files.name_of(build / 'bin', files.ROOT)} holds no runtime_program_*: "
                      "scripts/build.sh --tests.")
    return found


def _entries(data: bytes, container: range) -> list[int]:
    """Where each entry of a container begins."""
    at, entries = container.start + 16, []
    while at + 64 <= container.stop:
        entries.append(at)
        at += struct.unpack_from("<I", data, at + 4)[0] + struct.unpack_from("<Q", data, at + 8)[0]
    return entries


def damage(dice: random.Random, program: Program) -> bytes:
    """One to three fields of a container's header, of an entry's, or bytes of what an entry holds, are others."""
    data = bytearray(program.data)
    container = dice.choice(program.containers)
    entry = dice.choice(_entries(program.data, container))
    for _ in range(dice.choice((1, 1, 2, 3))):
        kind = dice.randrange(4)
        if kind == 3:  # what it holds
            header, size = struct.unpack_from("<I", data, entry + 4)[0], struct.unpack_from("<Q", data, entry + 8)[0]
            first = min(entry + header, container.stop - 1)
            at, width = dice.randrange(first, min(max(first + size, first + 1), container.stop)), 1
        elif kind == 2:  # any byte
            at, width = dice.choice(container), 1
        else:
            base, fields = ((container.start, ((0, 4), (4, 2), (6, 2), (8, 8))) if kind == 0 else
                            (entry, ((0, 2), (4, 4), (8, 8), (16, 4), (24, 4), (28, 4), (40, 8), (56, 8))))
            offset, width = dice.choice(fields)
            at = base + offset
        old = int.from_bytes(data[at:at + width], "little")
        new = dice.choice((0, 1, old - 1, old + 1, old * 2, old ^ 1 << dice.randrange(8 * width), (1 << 8 * width) - 1,
                           1 << 8 * width - 1, dice.getrandbits(8 * width)))
        data[at:at + width] = (new % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(data)


@dataclass
class End:
    """How a damaged program ended: "right", "told" (a sentence of the simulated device), "told by the program", or what
    is wrong with it."""

    outcome: str
    wrong: str = ""


def run(build: Path, program: Program, data: bytes) -> End:
    with tempfile.TemporaryDirectory(prefix="ladder-fuzz-") as folder:
        path = Path(folder) / program.path.name
        path.write_bytes(data)
        path.chmod(0o755)
        environment = {**os.environ, "LADDER_SIM_DIR": str(build / "sim")}
        with subprocess.Popen([files.ROOT / "scripts" / "sim.sh", path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                              start_new_session=True) as process:
            began = time.monotonic()
            try:
                output, errors = process.communicate(timeout=60 * SECONDS)  # a busy machine may be slow
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return End("failed", "it hangs")
            seconds = time.monotonic() - began
    said = errors.decode(errors="replace")
    if process.returncode < 0 or "Sanitizer" in said or "runtime error:" in said:
        return End("failed", f"it ends with {process.returncode} after {seconds:.1f} s: {said[-300:]}")
    if process.returncode == 0:
        return End("right")
    if re.search(r"^sim: (?!Simulated )", said, re.MULTILINE):
        return End("told")
    if output:
        return End("told by the program")
    return End("failed", f"it ends with {process.returncode} and says nothing")
