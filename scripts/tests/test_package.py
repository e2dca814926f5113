"""The wheel, and every command of docs/in_your_project.md: in an empty folder, a new virtual environment, and without
this repository. LADDER_FOREIGN_PYTHON names an interpreter of the same version that has the packages of other projects;
a section is left out if it lacks one of them."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from tests import support

PAGE = support.ROOT / "docs/in_your_project.md"
PYTHON = os.environ.get("LADDER_FOREIGN_PYTHON", sys.executable)
FENCE = re.compile(r"(?:`([\w.]+)`:\n\n)?```(\w+)\n(.*?)```\n", re.S)
NEEDS = {"pytest and CuPy": ["cupy", "pytest"], "Triton and PyTorch": ["torch", "triton", "pytest"],
         "TileLang": ["tilelang", "torch"], "CuTe DSL": ["cutlass.cute", "cuda.bindings"], "cuda-python": ["cuda.core"]}
SAYS = {  # of a section: what its commands print
    "Install": [r"tensor-core-ladder-sim 0\.\d"], "A program of nvcc": ["^126$"],
    "Find what is not ordered": [r"error \(read after write\) in kernel reverse", r"race\.cu:4", r"race\.cu:3",
                                 "exit codes by schedule: default 86, latest 86, 1 86"],
    "Predict times": [r"modelled: h100, 132 SMs", r" us  "],
    "pytest and CuPy": ["FAILED test_kernels.py::test_reverse", "error .read after write. in kernel reverse",
                        "1 failed, 3 passed"],
    "Triton and PyTorch": ["1 passed"],
    "CTest": [r"race\.cu:4"],
}

TESTS = '''
import ctypes
import os
import subprocess
import sys

import pytest

PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry reverse() {
  .reg .u32 %r<5>;
  .shared .align 4 .b8 s[256];
  mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 %r2, s;
  add.u32 %r3, %r2, %r1; st.shared.u32 [%r3], %r1;
  xor.b32 %r1, %r1, 128; add.u32 %r3, %r2, %r1; ld.shared.u32 %r4, [%r3];
  ret;
}"""

def reverse():
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, kernel = (ctypes.c_void_p() for _ in range(3))
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"reverse") == 0
    assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, None, None) == 0

def test_race(): reverse()
def test_same_race(): reverse()
def test_child(): subprocess.run([sys.executable, "-c", "import test_driver; test_driver.reverse()"], check=True)
@pytest.mark.sim_finding("race")
def test_expected(): reverse()
@pytest.mark.sim_finding("deadlock")
def test_not_found(): pass
def test_nothing(): pass
'''


def sections() -> dict[str, list[tuple[str, str, str]]]:
    """File, language and text of each block, by section."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    return {title: FENCE.findall(text) for title, text in zip(parts[::2], parts[1::2])}


class Outside(unittest.TestCase):
    """Sections are tried in the order of the page: one uses the files of those before it."""

    folder: Path
    archive: Path
    environment: dict[str, str]

    @classmethod
    def setUpClass(cls) -> None:
        if not (support.BUILD / "sim/libcudart.so.13").exists():
            raise unittest.SkipTest("the simulated device is not built")
        temporary = tempfile.TemporaryDirectory(prefix="ladder-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name) / "project"
        made = subprocess.run([sys.executable, str(support.SCRIPTS / "package.py"), "--build", str(support.BUILD), "-o",
                               temporary.name], capture_output=True, text=True, check=True).stdout.split()
        cls.folder.mkdir()
        wheel, cls.archive = map(Path, made)
        wheel.rename(cls.folder / wheel.name)
        kept = {name: os.environ[name] for name in ("LANG", "LD_LIBRARY_PATH", "PIP_CONFIG_FILE") if name in os.environ}
        nvcc = os.environ.get("LADDER_NVCC") or shutil.which("nvcc")
        if not nvcc:
            raise unittest.SkipTest("there is no nvcc")
        cls.environment = {**kept, "HOME": temporary.name, "TMPDIR": temporary.name, "VIRTUAL_ENV": "venv",
                           "CUDA_PATH": str(Path(nvcc).parents[1]),
                           "PATH": f"{cls.folder / 'venv/bin'}:{Path(nvcc).parent}:{os.environ['PATH']}"}

    def run_section(self, title: str) -> str:
        """What its commands print. Each must end with the exit code that the page says."""
        said = ""
        for file, language, text in sections()[title]:
            if file:
                (self.folder / file).write_text(text, encoding="utf-8")
            if file or language != "bash":
                continue
            exports = [line for line in text.splitlines() if line.startswith("export ")]
            for line in text.splitlines():
                code = re.search(r"# exit code (\d+)$", line)
                done = subprocess.run(["bash", "-c", "\n".join([*(exports if line not in exports else []), line])],
                                      cwd=self.folder, env=self.environment, text=True, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, int(code[1]) if code else 0, f"{line}\n{done.stdout}")
                said += done.stdout
        for pattern in SAYS.get(title, []):
            self.assertRegex(said, re.compile(pattern, re.M))
        return said

    @staticmethod
    def missing(names: Sequence[str], python: str = PYTHON) -> list[str]:
        found = "import importlib.util as u, sys; sys.exit(any(u.find_spec('.'.join(p[:i + 1])) is None for p in " \
                "[sys.argv[1].split('.')] for i in range(len(p))))"
        return [name for name in names
                if subprocess.run([python, "-c", found, name], capture_output=True, check=False).returncode != 0]

    def test_the_page(self) -> None:
        titles = [title for title, blocks in sections().items() if any(language == "bash" for _, language, _ in blocks)]
        self.assertLessEqual({*NEEDS, *SAYS}, set(titles))
        left_out = []
        for title in titles:
            if missing := self.missing(NEEDS.get(title, [])):
                left_out.append(f"{title}: {PYTHON} lacks {', '.join(missing)}")
                continue
            with self.subTest(title=title):
                self.run_section(title)
            if title == "Install":
                self.lend_packages()
            if title == "Find what is not ordered":
                self.check_record()
        if left_out:
            self.skipTest("left out were " + "; ".join(left_out))

    def lend_packages(self) -> None:
        """The packages of other projects are gigabytes: the environment sees those of the other interpreter."""
        paths = subprocess.run([PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                               capture_output=True, text=True, check=True).stdout
        for site in (self.folder / "venv/lib").glob("python*/site-packages"):
            (site / "others.pth").write_text(f"import site; site.addsitedir({paths.strip()!r})\n", encoding="utf-8")

    def check_record(self) -> None:
        records = [json.loads(line) for line in (self.folder / "race.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([each.get("rule") for each in records], ["write after read", "read after write", None])
        lines = {(frame["file"].split("/")[-1], frame["line"])
                 for side in records[0]["sides"] for frame in side["frames"]}
        self.assertEqual(lines, {("race.cu", 3), ("race.cu", 4)})

    def unpack(self) -> Path:
        with tarfile.open(self.archive) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
            archive.extractall(self.folder.parent)
        self.assertLessEqual({"LICENSE", "CONTENTS.md", "HELP.md", "VERSION", "pytest_plugin.py"}, names)
        return next(self.folder.parent.glob("tensor-core-ladder-sim-*/"))

    def test_the_archive(self) -> None:
        command = self.unpack() / "bin/tensor-core-ladder-sim"
        done = subprocess.run([command, "--gpu", "none", "true"], capture_output=True, text=True, check=False,
                              env=self.environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn("tensor-core-ladder-sim: --gpu: there is no description of a GPU 'none'", done.stderr)

    def test_findings_belong_to_tests(self) -> None:
        """The plugin of pytest, with the driver alone."""
        pythons = [python for python in (PYTHON, str(support.ROOT / ".venv/bin/python3"))
                   if Path(python).exists() and not self.missing(["pytest"], python)]
        if not pythons:
            self.skipTest(f"{PYTHON} lacks pytest: scripts/setup.sh installs it into .venv")
        root = self.unpack()
        (self.folder / "test_driver.py").write_text(TESTS, encoding="utf-8")
        for chosen, code, failed in (("", 1, {"test_race", "test_same_race", "test_not_found", "test_child"}),
                                     ("expected or nothing", 0, set())):
            done = subprocess.run(
                [root / "bin/tensor-core-ladder-sim", "--gpu", "h200", "--check", pythons[0], "-m", "pytest", "-p",
                 "pytest_plugin", "-k", chosen, "test_driver.py"], capture_output=True, text=True, check=False,
                cwd=self.folder, env={**self.environment, "PYTHONPATH": str(root)})
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual(set(re.findall(r"^FAILED test_driver.py::(\w+)", done.stdout, re.M)), failed, done.stdout)
        self.assertNotIn("outside of tests", done.stdout)


if __name__ == "__main__":
    unittest.main()
