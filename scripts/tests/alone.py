"""The line with which the page of level 01 builds it. It compiles the whole harness, in a minute: a test of its own."""
from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests import support, test_readmes


class Alone(unittest.TestCase):
    def test_level_01_builds_and_runs(self) -> None:
        # One of its two lines: the other differs in the architecture alone, and takes as long.
        level, arch = test_readmes.LEVELS[0], 100
        find = f"source {shlex.quote(str(support.SCRIPTS / 'toolchain.sh'))}; find_nvcc; printf %s \"$NVCC\""
        nvcc = subprocess.run(["bash", "-c", find], capture_output=True, text=True, check=True).stdout
        if not nvcc:
            self.skipTest("there is no nvcc of CUDA 13: run scripts/setup.sh")
        with tempfile.TemporaryDirectory(prefix="ladder-test-") as name:
            folder = Path(name)
            for source in ("common", level):
                (folder / source).symlink_to(support.ROOT / source)
            line, path = test_readmes.build_line(level, arch), f"{Path(nvcc).parent}:{os.environ['PATH']}"
            built = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True,
                                   env={**os.environ, "PATH": path}, check=False)
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
            for option, words in (("--help", "Exit codes"), ("--explain", f"(sm_{arch}a)")):
                said = subprocess.run([folder / f"{level}_sm{arch}", option], capture_output=True, text=True,
                                      check=False)
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertIn(words, said.stdout)


if __name__ == "__main__":
    unittest.main()
