"""Files that are replaced in one step, and the commit of the sources."""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import unittest
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ladder import files
from ladder.results import data, measure
from ladder.tune import record, space
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

    def test_who_cannot_write_hears_of_the_file_that_was_named(self) -> None:
        path = Path("/proc/there_is_no_such_file")
        with self.assertRaises(OSError) as raised:
            files.replace(path, "words")
        self.assertEqual(raised.exception.filename, str(path))

    def test_links_stay_links(self) -> None:
        path, link = self.write("file", "one"), self.root / "link"
        link.symlink_to(path)
        files.replace(link, "two")
        self.assertTrue(link.is_symlink())
        self.assertEqual(path.read_text(encoding="ascii"), "two")


class Locking(support.Sandbox):
    def test_many_processes_add_at_a_time(self) -> None:
        path = self.root / "sum"
        code = ("import sys; from pathlib import Path; from ladder import files\n"
                "path = Path(sys.argv[1])\n"
                "for _ in range(30):\n"
                "    with files.locked(path):\n"
                "        files.replace(path, path.read_text() + 'x')\n")
        environment = {**os.environ, "PYTHONPATH": str(support.SCRIPTS)}
        adding = [subprocess.Popen([sys.executable, "-B", "-c", code, path], env=environment) for _ in range(6)]
        self.assertEqual([process.wait() for process in adding], [0] * 6)
        self.assertEqual(path.read_text(encoding="ascii"), "x" * 180)

    def test_what_was_made_for_the_lock_alone_goes_again(self) -> None:
        path = self.root / "file"
        with contextlib.suppress(KeyError), files.locked(path):
            raise KeyError
        self.assertFalse(path.exists())
        with files.locked(path):
            files.replace(path, "one")
        self.assertEqual(path.read_text(encoding="ascii"), "one")

    def test_merges_at_a_time_lose_no_rows(self) -> None:
        path = self.root / "results.csv"
        rows = [{"m": str(m), "tflops": "1"} for m in range(1, 101)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda row: measure.merge(path, ["m", "tflops"], row, ["m"]), rows))
        self.assertEqual(data.read_rows(path), (["m", "tflops"], rows))

    def test_two_sweeps_fill_one_file(self) -> None:
        path = self.root / "sweep.csv"
        kernel = space.KERNELS["sgemm", 90]
        sweeps = [record.Record(path, kernel) for _ in range(2)]
        for number, sweep in enumerate([*sweeps, *sweeps], start=1):
            point = kernel.fields(kernel.complete({"bm": 16 << number}))
            sweep.put([{**point, "size": "4096", "status": "ok", "tflops": str(number)}])
            sweep.save()
        saved = record.Record(path, kernel)
        self.assertEqual([row["tflops"] for row in saved.measured("4096")], ["4", "3", "2", "1"])
        sweeps[0].put([{**kernel.fields(kernel.complete({"bm": 64})), "size": "4096", "status": "ok", "tflops": "9"}])
        sweeps[0].save()
        self.assertEqual(record.Record(path, kernel).measured("4096")[0]["tflops"], "9")


class Commands(unittest.TestCase):
    def test_they_can_be_executed(self) -> None:
        """Whatever begins with #! is meant to be, also in a checkout that somebody else makes."""
        listed = subprocess.run(["git", "ls-files", "--stage"], cwd=files.ROOT, capture_output=True, text=True,
                                check=False)
        if listed.returncode != 0:
            self.skipTest("this is no git repository")
        for line in listed.stdout.splitlines():
            mode, _, _, name = line.split(None, 3)
            path = files.ROOT / name
            if mode == "120000" or not path.is_file():
                continue
            with self.subTest(name), open(path, "rb") as file:
                if file.read(3) == b"#!/":
                    self.assertEqual(mode, "100755")


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
