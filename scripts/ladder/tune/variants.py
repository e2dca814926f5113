"""Compiles points into variants: shared libraries, kept in a cache, with what the compiler said about them."""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import Failure, UsageError
from ladder.levels import programs
from ladder.tune import space

FOLDER = files.SCRIPTS / "autotune"
COMMON = ("common/ptx/*.cuh", "common/mma/*.h", "common/harness/level.h", "scripts/autotune/variant.h")


class CompileError(Exception):
    """A variant that does not compile; the message is the compiler's first complaint."""


class DiskFull(Failure):
    """Nothing can be written any more; the message says where."""


class Stopped(Exception):
    """The work was given up before it was done."""


@dataclass(frozen=True)
class Variant:
    library: str
    registers: int
    spill_bytes: int  # stored and loaded, as ptxas counts them


def find_nvcc() -> str:
    """Raises UsageError."""
    script = f'source "{files.SCRIPTS}/toolchain.sh"; find_nvcc; printf %s "$NVCC"'
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    if not answer.stdout:
        raise UsageError("variants are compiled by nvcc, and there is none: scripts/setup.sh installs one.")
    return answer.stdout


class Compiler:
    """For one kernel. Safe to use from many threads."""

    def __init__(self, kernel: space.Kernel, cache: Path, timeout: float, stop: threading.Event,
                 nvcc: Optional[str] = None):
        self.kernel = kernel
        self.cache = cache
        self.timeout = timeout
        self.stop = stop
        self.nvcc = nvcc or find_nvcc()
        arch = kernel.arch
        self.flags = ["-std=c++20", "-O3", f"-I{files.ROOT}", f"-DLADDER_ARCH={arch}",
                      "-gencode", f"arch=compute_{arch}a,code=[sm_{arch}a,compute_{arch}a]", "--no-compress",
                      "--resource-usage", "-Xcompiler", "-fPIC", "-shared", "-cudart", "shared"]
        self.common_key = self._hash_sources()

    def _hash_sources(self) -> str:
        """Of everything that a variant is made of, except its definitions."""
        digest = hashlib.sha256()
        version = subprocess.run([self.nvcc, "--version"], capture_output=True, text=True, check=False).stdout
        digest.update("\0".join([version, *(f for f in self.flags if not f.startswith("-I"))]).encode())
        paths = [files.ROOT / name for name in (f"scripts/autotune/{self.kernel.source}", *self.kernel.depends)]
        for pattern in COMMON:
            paths += sorted(files.ROOT.glob(pattern))
        for path in paths:
            code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))  # comments do not change a kernel
            digest.update(" ".join(code.split()).encode())
        return digest.hexdigest()

    def key(self, point: space.Point) -> str:
        """The same for the same code: what is in the cache, and whose results can be taken over."""
        text = " ".join([self.common_key, *self.kernel.definitions(point)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def compile(self, point: space.Point) -> Variant:
        """Raises CompileError, DiskFull, Stopped."""
        library = self.cache / f"{self.kernel.name}_sm{self.kernel.arch}_{self.key(point)}.so"
        report = library.with_suffix(".json")
        if library.exists() and report.exists():
            return Variant(**json.loads(report.read_text(encoding="utf-8")))
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            # In a folder of its own, and moved when it is complete: an interrupted compilation leaves nothing.
            with tempfile.TemporaryDirectory(dir=self.cache) as folder:
                built = Path(folder) / "variant.so"
                text = self._run_nvcc(point, built)
                registers, spills = self._resources(text)
                os.replace(built, library)
            variant = Variant(str(library), registers, spills)
            files.replace(report, json.dumps(asdict(variant)))
            return variant
        except OSError as error:
            raise DiskFull(f"{self.cache}: {error.strerror}") from None

    def _run_nvcc(self, point: space.Point, output: Path) -> str:
        source = FOLDER / self.kernel.source
        for name, text in self.kernel.instead(point).items():
            files.replace(output.parent / name, text)  # found first
        command = [self.nvcc, f"-I{output.parent}", *self.flags, *self.kernel.definitions(point), str(source), "-o",
                   str(output)]
        environment = dict(os.environ, TMPDIR=str(output.parent))
        with tempfile.TemporaryFile() as said:
            # A session of its own: Ctrl-C reaches this program, which ends the compiler.
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            deadline = time.monotonic() + self.timeout
            while process.poll() is None:
                if self.stop.is_set() or time.monotonic() > deadline:
                    programs.end_program(process)
                    if self.stop.is_set():
                        raise Stopped
                    raise CompileError(f"nvcc was ended after {self.timeout:g} s")
                self.stop.wait(0.05)
            said.seek(0)
            text = said.read().decode(errors="replace")
        if process.returncode == 0:
            return text
        if "No space left" in text:
            raise DiskFull(f"{self.cache}: No space left on device")
        complaints = re.findall(r"error\s*:?\s*(.*)", text) or text.strip().splitlines() or ["nvcc said nothing"]
        raise CompileError(" ".join(complaints[0].split())[:300])

    def _resources(self, text: str) -> tuple[int, int]:
        """Registers and spilled bytes of the kernel that counts, out of ptxas's report."""
        for part in text.split("Compiling entry function")[1:]:
            if not re.search(self.kernel.entry, part.splitlines()[0]):
                continue
            used = re.search(r"Used (\d+) registers", part)
            spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
            if used and spills:
                return int(used[1]), int(spills[1]) + int(spills[2])
        raise CompileError("nvcc did not report the kernel's registers")
