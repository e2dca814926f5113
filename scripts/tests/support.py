"""A small repository with the real scripts and fake programs, for tests that run nothing heavy."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
BUILD = Path(os.environ.get("LADDER_BUILD", ROOT / "build"))  # for the few tests that run what is built
sys.dont_write_bytecode = True
# This very Python also where a script asks for python3: what stands on the PATH may be a slow wrapper.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def words(page: str) -> str:
    """The text of a page of this repository, without its line breaks."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def finding(kind: str, **more: Any) -> str:
    """A line of what sim.sh --reports writes."""
    return json.dumps({"record": "finding", "kind": kind, **more})


def place(noun: str, *frames: str, **more: Any) -> dict[str, Any]:
    """A side of a finding; `frames` are like kernel.cuh:7, the innermost first."""
    lines = [(file, int(line)) for file, _, line in (frame.rpartition(":") for frame in frames)]
    return {"noun": noun, "frames": [{"file": file, "line": line} for file, line in lines], **more}


# A level's executable, as far as the scripts can tell. The file `behaviour` beside it says what it does.
FAKE_LEVEL = f"#!{sys.executable} -ES" + r"""
import csv, os, signal, sys, time
name = os.path.basename(sys.argv[0])
level, _, arch = name.rpartition("_sm")
arguments = sys.argv[1:]
with open(os.path.join(os.path.dirname(sys.argv[0]), "calls"), "a") as file:
    print(name, *arguments, "commit=" + os.environ.get("LADDER_COMMIT", "-"), file=file)
behaviours = {}
with open(os.path.join(os.path.dirname(sys.argv[0]), "behaviour")) as file:
    for line in file:
        behaviours.update([line.split()])
behaviour = behaviours.get(name, "right")
def value(flag, default=""):
    return arguments[arguments.index(flag) + 1] if flag in arguments else default
if behaviour == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)
if behaviour == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if behaviour == "cuda":
    sys.exit(3)
if behaviour == "silent":
    sys.exit(0)
if "--list-choices" in arguments:
    if behaviour == "mute":
        sys.exit(2)
    for size in value("--sizes").split(","):
        print(size, "128x64")
    sys.exit(0)
m, n, k = (value("--sizes").split("x") * 3)[:3]
gpu = os.environ.get("FAKE_GPU", "")
row = dict(level=level, arch=arch, m=m, n=n, k=k, tflops="", cublas_tflops="", cublaslt_tflops="", ratio_cublas="",
           ratio_cublaslt="", kind="measured" if gpu else "", gpu=gpu or "Simulated B200", seed="1",
           init=value("--init", "normal"),
           verdict="wrong" if behaviour == "wrong" else "right", digest="", sm_mhz="1500", power_w="650",
           power_cap_w="700", date="1999-12-31T00:00:00Z", commit="of-the-program")
if "--bench" in arguments and behaviour in ("right", "mute"):
    row.update(tflops="700.5", cublas_tflops="710", cublaslt_tflops="720", ratio_cublas="0.986", ratio_cublaslt="0.973")
if "--digest" in arguments:
    row["digest"] = "0123456789abcdef"
if behaviour == "liar":
    row["level"] = "level99_other"
rows = [row]
if value("--config") == "all":
    rows = [dict(row, config="256x128"), dict(row, config="128x64", tflops="650.5")]
with open(value("--csv"), "w", newline="") as file:
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
print(name, "says", row["verdict"])
sys.exit(1 if behaviour == "wrong" else 0)
"""


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    with process:
        try:
            output, errors = process.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


class Scratch(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ladder-test-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def replace(self, *things: tuple[object, str, object]) -> None:
        """Attributes of modules, until the test ends: module, name, what takes its place."""
        for target, name, thing in things:
            patch = mock.patch.object(target, name, thing)
            patch.start()
            self.addCleanup(patch.stop)


class Sandbox(Scratch):
    """Tests in a copy of the scripts, whose levels are fakes."""

    LEVELS = ("level01_baseline", "level02_tma_swizzle")

    def setUp(self) -> None:
        super().setUp()
        self.scripts = self.root / "scripts"
        self.maintain = self.scripts / "maintain"
        self.scripts.mkdir()
        for path in [*SCRIPTS.glob("*.py"), *SCRIPTS.glob("*.sh")]:
            shutil.copy(path, self.scripts)
        for name in ("ladder", "autotune", "maintain"):
            shutil.copytree(SCRIPTS / name, self.scripts / name, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__", "*.md", "*.cu*", "*.cpp"))
        self.write("CMakeLists.txt", "".join(f"add_level({level})\n" for level in self.LEVELS))
        self.write("CMakePresets.json", "{}")
        (self.root / "docs" / "results").mkdir(parents=True)
        self.behave()
        for level in self.LEVELS:
            for arch in (90, 100):
                self.write(f"{level}/kernel_sm{arch}.cuh", "")
                self.program(f"build/bin/{level}_sm{arch}", FAKE_LEVEL)

    def write(self, name: str, content: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content), encoding="utf-8")
        return path

    def program(self, name: str, content: str) -> Path:
        path = self.write(name, content)
        path.chmod(0o755)
        return path

    def behave(self, **behaviours: str) -> None:
        """What the fake levels do from now on, by their names; the others are right."""
        self.write("build/bin/behaviour", "".join(f"{name} {what}\n" for name, what in behaviours.items()))

    def calls(self) -> list[str]:
        """How the fake levels were called."""
        file = self.root / "build" / "bin" / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def start(self, *command: object, **environment: str) -> subprocess.Popen[str]:
        """Starts a command in the sandbox."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("LADDER_")}
        return subprocess.Popen([str(c) for c in command], cwd=self.root, env={**inherited, **environment}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_command(self, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return finish(self.start(*command, **environment))

    def run_with_gpus(self, script: str, gpus: Sequence[tuple[str, int]], *arguments: object,
                      **environment: str) -> subprocess.CompletedProcess[str]:
        return finish(self.start_with_gpus(script, gpus, *arguments, **environment))

    def start_with_gpus(self, script: str, gpus: Sequence[tuple[str, int]], *arguments: object,
                        **environment: str) -> subprocess.Popen[str]:
        """Starts one of the commands, such as "bench.py", as if these GPUs were there: name and compute capability."""
        lines = "".join(f"{arch}\t{name}\n" for name, arch in gpus)
        self.program("scripts/list_gpus.py", f"print({lines!r}, end='')\n")
        return self.start(sys.executable, "-B", self.scripts / script, *arguments,
                          FAKE_GPU=gpus[-1][0] if gpus else "", **environment)

    def assert_exit(self, code: int, answer: subprocess.CompletedProcess[str], sentence: Optional[str] = None) -> None:
        """The exit code, and that the last words hold this."""
        self.assertEqual(answer.returncode, code, answer.stdout + answer.stderr)
        if sentence is not None:
            self.assertIn(sentence, answer.stderr)
        self.assertNotIn("Traceback", answer.stderr)
