import contextlib
import os
import shutil
import time
import unittest
from pathlib import Path

import support

import ladder


class Levels(unittest.TestCase):
    LEVELS = ["level01_baseline", "level03_warp_specialize", "level08_deep_pipeline"]

    def test_lists_and_ranges(self) -> None:
        self.assertEqual(ladder.choose_levels("1-8", self.LEVELS), self.LEVELS)
        self.assertEqual(ladder.choose_levels("8,1", self.LEVELS), [self.LEVELS[0], self.LEVELS[2]])
        self.assertEqual(ladder.choose_levels("3,3-5", self.LEVELS), [self.LEVELS[1]])

    def test_what_names_no_level(self) -> None:
        for text in ("", "0", "2", "4-7", "8-1", "1,", "a", "-1", "1-", "1.5", "100", "level01_baseline", "¹"):
            with self.subTest(text), self.assertRaises(ladder.UsageError):
                ladder.choose_levels(text, self.LEVELS)

    def test_levels_are_those_that_cmake_builds(self) -> None:
        built = ladder.all_levels()
        self.assertIn("level01_baseline", built)
        for level in built:
            self.assertTrue((support.ROOT / level / "main.cu").exists(), level)


class Sizes(unittest.TestCase):
    def test_cubes_and_shapes(self) -> None:
        self.assertEqual(ladder.parse_sizes("4096,1000x520x264"), [(4096, 4096, 4096), (1000, 520, 264)])

    def test_what_is_no_size(self) -> None:
        for text in ("", "0", "-8", "8x8", "8x8x8x8", "12", "16x12x16", "16x16x12", "1e3", "8,", "9999999999", "0x8x8"):
            with self.subTest(text), self.assertRaises(ladder.UsageError):
                ladder.parse_sizes(text)

    def test_text(self) -> None:
        self.assertEqual(ladder.size_text((8, 8, 8)), "8")
        self.assertEqual(ladder.size_text((1, 8, 8)), "1x8x8")

    def test_architectures(self) -> None:
        self.assertEqual([ladder.parse_arch(t) for t in ("sm90", "90", "sm_100a", "sm100")], [90, 90, 100, 100])
        for text in ("", "sm80", "hopper", "sm"):
            with self.subTest(text), self.assertRaises(ladder.UsageError):
                ladder.parse_arch(text)


class Running(support.Sandbox):
    def test_exit_codes(self) -> None:
        self.assertEqual(ladder.run_program(["true"], 10), 0)
        self.assertEqual(ladder.run_program(["sh", "-c", "exit 3"], 10), 3)
        self.assertEqual(ladder.run_program(["sh", "-c", "kill -SEGV $$"], 10), -11)

    def test_a_program_that_hangs_is_ended_with_all_it_started(self) -> None:
        pid_file = self.root / "pid"
        start = time.monotonic()
        code = ladder.run_program(["sh", "-c", f"sleep 60 & echo $! > {pid_file}; wait"], 0.3)
        self.assertIsNone(code)
        self.assertLess(time.monotonic() - start, 5)
        pid = int(pid_file.read_text(encoding="ascii"))
        for _ in range(50):
            if not alive(pid):
                return
            time.sleep(0.05)
        self.fail("what the program started is still running")

    def test_descriptions(self) -> None:
        self.assertIn("HUNG", ladder.describe_failure(None, 5))
        self.assertIn("SIGSEGV", ladder.describe_failure(-11, 5))
        self.assertIn("WRONG", ladder.describe_failure(1, 5))
        self.assertIn("99", ladder.describe_failure(99, 5))

    def test_files_are_replaced_whole(self) -> None:
        path = self.root / "new" / "file"
        ladder.replace_file(path, "one")
        path.chmod(0o640)
        ladder.replace_file(path, "two")
        self.assertEqual(path.read_text(encoding="ascii"), "two")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(list(path.parent.iterdir()), [path])


class Commit(support.Sandbox):
    def test_without_a_repository(self) -> None:
        with without("LADDER_COMMIT"):
            self.assertEqual(ladder.commit_id(self.root), "")

    def test_environment_wins(self) -> None:
        with without("LADDER_COMMIT"):
            os.environ["LADDER_COMMIT"] = "abc"
            self.assertEqual(ladder.commit_id(self.root), "abc")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_results_do_not_make_sources_dirty(self) -> None:
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
        self.write("docs/results/h200.csv", "a\n")
        for arguments in (["init", "-q"], ["add", "CMakeLists.txt", "docs"], ["commit", "-q", "-m", "x"]):
            self.assert_exit(0, self.run_command(*git, *arguments))
        with without("LADDER_COMMIT"):
            clean = ladder.commit_id(self.root)
            self.assertRegex(clean, r"^[0-9a-f]{7,}$")
            self.write("docs/results/h200.csv", "b\n")
            self.assertEqual(ladder.commit_id(self.root), clean)
            self.write("CMakeLists.txt", "")
            self.assertEqual(ladder.commit_id(self.root), clean + "-dirty")


def alive(pid: int) -> bool:
    """Not even a zombie counts: whoever should collect it may be slow."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextlib.contextmanager
def without(variable: str):  # type: ignore[no-untyped-def]
    before = os.environ.pop(variable, None)
    try:
        yield
    finally:
        os.environ.pop(variable, None)
        if before is not None:
            os.environ[variable] = before


if __name__ == "__main__":
    unittest.main()
