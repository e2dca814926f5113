"""Running programs, and ending them."""
from __future__ import annotations

import time
import unittest
from pathlib import Path

from ladder.levels import programs
from tests import support


class Running(support.Sandbox):
    def test_exit_codes(self) -> None:
        self.assertEqual(programs.run_program(["true"], 10), 0)
        self.assertEqual(programs.run_program(["sh", "-c", "exit 3"], 10), 3)
        self.assertEqual(programs.run_program(["sh", "-c", "kill -SEGV $$"], 10), -11)

    def test_a_program_that_hangs_is_ended_with_all_it_started(self) -> None:
        pid_file = self.root / "pid"
        code = programs.run_program(["sh", "-c", f"sleep 3600 & echo $! > {pid_file}; wait"], 3)
        self.assertIsNone(code)
        pid = int(pid_file.read_text(encoding="ascii"))
        for _ in range(1000):  # the system may take its time
            if not alive(pid):
                return
            time.sleep(0.05)
        self.fail("what the program started is still running")

    def test_descriptions(self) -> None:
        self.assertIn("HUNG", programs.describe_failure(None, 5))
        self.assertIn("SIGSEGV", programs.describe_failure(-11, 5))
        self.assertIn("WRONG", programs.describe_failure(1, 5))
        self.assertIn("99", programs.describe_failure(99, 5))


def alive(pid: int) -> bool:
    """Not even a zombie counts: the process that should collect it may be slow."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


if __name__ == "__main__":
    unittest.main()
