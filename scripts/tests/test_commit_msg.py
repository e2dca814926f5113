"""The commit-msg hook, and the option of setup.sh that installs it."""
from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

from tests import support

HOOK = support.SCRIPTS / "maintain" / "commit_msg.sh"


class Subjects(support.Sandbox):
    def answer(self, message: str) -> subprocess.CompletedProcess[str]:
        path = self.write("message", message)
        return subprocess.run([HOOK, path], capture_output=True, text=True, check=False)

    def test_right_subjects(self) -> None:
        for subject in ("level08: drop dead clamp in choose_tile", "sim/web: add the worker", "pages: process tables",
                        "sim, runtime: split launch", "Merge branch 'x'", 'Revert "level01: add a lab"',
                        "a: " + "x" * 69):
            self.assertEqual(self.answer(f"# a comment\n{subject}\n\nWhy.\n").returncode, 0, subject)

    def test_wrong_subjects(self) -> None:
        for subject, words in (("a: " + "x" * 70, "73 characters"), ("drop dead clamp", "names no area"),
                               ("level08: dropped a clamp", "'dropped' is no imperative"),
                               ("level08: Adds a lab", "'adds' is no imperative"),
                               ("level08: fixing a lab", "'fixing' is no imperative"),
                               ("level08: add a lab.", "full stop"), ("", "names no area")):
            answer = self.answer(subject + "\n")
            self.assertEqual(answer.returncode, 1, subject)
            self.assertIn(words, answer.stderr)

    def test_setup_installs_it(self) -> None:
        """The hook of a clone leads to the script; a hook that is there stays."""
        text = (support.SCRIPTS / "setup.sh").read_text(encoding="utf-8")
        function = "install_hook() {" + text.partition("install_hook() {")[2].partition("\n}\n")[0] + "\n}\n"
        subprocess.run(["git", "init", "-q", self.root], check=True)
        run = ["bash", "-c", f"set -eu; LADDER_ROOT={self.root}\n{function}install_hook"]
        hook = Path(self.root) / ".git" / "hooks" / "commit-msg"
        self.assertIn("commit-msg", subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(Path(hook.readlink()), self.root / "scripts" / "maintain" / "commit_msg.sh")
        hook.unlink()
        hook.write_text("mine", encoding="utf-8")
        self.assertIn("stays", subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(hook.read_text(encoding="utf-8"), "mine")


if __name__ == "__main__":
    unittest.main()
