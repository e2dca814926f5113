#!/usr/bin/env python3
"""Python's ways to a GPU on the simulated device. A package that is not installed is a test that is skipped.

LADDER_FOREIGN_PYTHON names the interpreter that has the packages; without it, this one is asked."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BIN = Path(os.environ["LADDER_BIN"])
SIM = os.environ["LADDER_SIM"]
PYTHON = os.environ.get("LADDER_FOREIGN_PYTHON", sys.executable)
GPUS = ("h200", "b200")


def has(module: str) -> bool:
    found = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    return subprocess.run([PYTHON, "-c", found], capture_output=True).returncode == 0


def needs(module: str, package: str) -> None:
    """Skips the test if that cannot be imported."""
    top = module.partition(".")[0]
    if not has(top) or not has(module):
        raise unittest.SkipTest(f"{module} is not there: {PYTHON} -m pip install {package}")


def run(script: str, *arguments: str, sim: tuple[str, ...] = (), **environment: str
        ) -> subprocess.CompletedProcess[str]:
    command = [SIM, *sim, PYTHON, str(FOLDER / "python" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


class Python(unittest.TestCase):
    def passes(self, script: str, *arguments: str, **environment: str) -> None:
        for gpu in GPUS:
            with self.subTest(gpu=gpu):
                done = run(script, *arguments, sim=("--gpu", gpu), **environment)
                self.assertEqual((done.returncode, done.stdout), (0, "PASSED\n"), done.stderr)

    def test_cuda_bindings_driver(self) -> None:
        needs("cuda.bindings.driver", "cuda-python numpy")
        needs("numpy", "numpy")
        self.passes("cuda_driver.py")

    def test_cuda_bindings_runtime(self) -> None:
        needs("cuda.bindings.runtime", "cuda-python")
        done = run("cuda_runtime.py")
        self.assertNotIn("cudaSuccess", done.stdout)
        self.assertIn("calls the device through the static CUDA runtime inside it", done.stderr)
        self.assertIn("cuda.bindings.driver", done.stderr)

    def test_cuda_core(self) -> None:
        needs("cuda.core", "cuda-python")
        self.passes("cuda_core.py", "ptx")
        done = run("cuda_core.py", "cubin")
        self.assertIn("refused:", done.stdout)
        self.assertIn("is machine code without PTX", done.stderr)
        self.assertIn('cuda.core with compile("ptx")', done.stderr)

    def test_numba(self) -> None:
        needs("numba_cuda", "numba-cuda")
        self.passes("numba_ptx.py")

    def test_cupy(self) -> None:
        needs("cupy", "cupy-cuda13x")
        self.passes("cupy_ptx.py", CUPY_COMPILE_WITH_PTX="1", CUPY_ACCELERATORS="")

    def test_triton(self) -> None:
        needs("triton", "triton")
        for gpu, arch in zip(GPUS, ("90", "100")):
            with self.subTest(gpu=gpu), tempfile.TemporaryDirectory() as folder:
                ptx = Path(folder) / "copy.ptx"
                subprocess.run([PYTHON, str(FOLDER / "python/triton_ptx.py"), arch, str(ptx)], check=True,
                               capture_output=True)
                done = subprocess.run([SIM, "--gpu", gpu, str(BIN / "program_triton"), str(ptx)], capture_output=True,
                                      text=True)
                self.assertEqual((done.returncode, done.stdout), (0, "PASSED\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
