"""A line more at the top of each kernel, and all pages again: a copy of everything, a test of its own."""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tests import support


class ALineMore(unittest.TestCase):
    """Results name a site by its code, and pages show lines of today: a comment changes neither but for its line."""

    def test_at_the_top_of_each_kernel(self) -> None:
        with tempfile.TemporaryDirectory(prefix="ladder-test-") as name:
            root = Path(name) / "copy"
            shutil.copytree(support.ROOT, root, ignore=shutil.ignore_patterns(
                "build", ".git", ".venv", ".cuda", "node_modules", "__pycache__"), symlinks=True)
            for kernel in root.glob("level*/**/kernel_sm*.cuh"):
                kernel.write_text("// A comment.\n" + kernel.read_text(encoding="utf-8"), encoding="utf-8")
            before = {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}
            answer = subprocess.run([sys.executable, "-B", root / "scripts" / "maintain" / "render.py"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            after = {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}
            self.assertEqual(set(after), set(before))
            changed = {file for file in before if after[file] != before[file]}
            self.assertEqual({file.suffix for file in changed}, {".md"}, changed)
            for file in changed:
                old, new = (one[file].decode().splitlines() for one in (before, after))
                self.assertEqual(len(old), len(new), file)
                for was, now in zip(old, new):
                    self.assertEqual(re.sub(r"\d+", "N", was), re.sub(r"\d+", "N", now), file)
                    moved = {int(b) - int(a) for a, b in zip(re.findall(r"\d+", was), re.findall(r"\d+", now))}
                    self.assertLessEqual(moved, {0, 1}, (was, now))


if __name__ == "__main__":
    unittest.main()
