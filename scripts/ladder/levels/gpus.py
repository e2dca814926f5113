"""Which GPUs are in this machine."""
from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ladder.command import EXIT_SKIPPED, Failure
from ladder.files import SCRIPTS

EXAMPLES = {90: "H100, H200", 100: "B200, GB200"}  # of an architecture


class NoGpu(Failure):
    """There is no GPU for this."""

    code = EXIT_SKIPPED


@dataclass(frozen=True)
class Gpu:
    name: str
    arch: int  # 10 * major + minor of its compute capability


def ask_driver() -> Iterator[Gpu]:
    """Asks the driver, without which there is no GPU, rather than nvidia-smi, which containers often lack."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return
    for index in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), index)
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        if not name.value.startswith(b"Simulated"):
            yield Gpu(name.value.decode(errors="replace"), 10 * major.value + minor.value)


def find_gpus(timeout: float = 60) -> list[Gpu]:
    """In a process of its own: a driver in trouble may hang, and a GPU should not stay open while levels run on it."""
    command = [sys.executable, "-B", str(SCRIPTS / "list_gpus.py")]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        print(f"The CUDA driver did not answer within {timeout:.0f} s: going on without a GPU.", file=sys.stderr)
        return []
    found = []
    for line in answer.stdout.splitlines():
        arch, _, name = line.partition("\t")
        found.append(Gpu(name, int(arch)))
    return found
