"""Files that are replaced in one step, and the commit of the sources."""
from __future__ import annotations

import contextlib
import os
import shutil
import unittest
from collections.abc import Iterator

from ladder import files
from tests import support


class Replacing(support.Sandbox):
    def test_files_are_replaced_whole(self) -> None:
        path = self.root / "new" / "file"
        files.replace(path, "one")
        path.chmod(0o640)
        files.replace(path, "two")
        self.assertEqual(path.read_text(encoding="ascii"), "two")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(list(path.parent.iterdir()), [path])

    def test_devices_stay_devices(self) -> None:
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        files.replace(pipe, "words")
        self.assertTrue(pipe.is_fifo())
        self.assertEqual(os.read(reader, 100), b"words")

    def test_links_stay_links(self) -> None:
        path, link = self.write("file", "one"), self.root / "link"
        link.symlink_to(path)
        files.replace(link, "two")
        self.assertTrue(link.is_symlink())
        self.assertEqual(path.read_text(encoding="ascii"), "two")


class Commit(support.Sandbox):
    def test_without_a_repository(self) -> None:
        with without("LADDER_COMMIT"):
            self.assertEqual(files.commit_id(self.root), "")

    def test_environment_wins(self) -> None:
        with without("LADDER_COMMIT"):
            os.environ["LADDER_COMMIT"] = "abc"
            self.assertEqual(files.commit_id(self.root), "abc")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_results_do_not_make_sources_dirty(self) -> None:
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
        self.write("docs/results/h200.csv", "a\n")
        for arguments in (["init", "-q"], ["add", "CMakeLists.txt", "docs"], ["commit", "-q", "-m", "x"]):
            self.assert_exit(0, self.run_command(*git, *arguments))
        with without("LADDER_COMMIT"):
            clean = files.commit_id(self.root)
            self.assertRegex(clean, r"^[0-9a-f]{7,}$")
            self.write("docs/results/h200.csv", "b\n")
            self.assertEqual(files.commit_id(self.root), clean)
            self.write("CMakeLists.txt", "")
            self.assertEqual(files.commit_id(self.root), clean + "-dirty")


@contextlib.contextmanager
def without(variable: str) -> Iterator[None]:
    before = os.environ.pop(variable, None)
    try:
        yield
    finally:
        os.environ.pop(variable, None)
        if before is not None:
            os.environ[variable] = before


if __name__ == "__main__":
    unittest.main()
