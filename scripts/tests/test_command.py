"""What all commands share: failures become sentences with an exit code, the reader of the output may exit."""
from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from tests import support

COMMANDS = sorted(path for folder in (".", "autotune", "maintain") for path in (support.SCRIPTS / folder).glob("*.py"))
MODULES = sorted((support.SCRIPTS / "ladder").rglob("*.py"))


class Run(unittest.TestCase):
    def run_main(self, body: str, output: str = "") -> subprocess.CompletedProcess[str]:
        """A command whose main is this; its standard output goes into a file, or is returned."""
        code = f"from ladder import command\ncommand.program = 'x.py'\ndef main():\n    {body}\ncommand.run(main)\n"
        arguments = [sys.executable, "-B", "-c", code]
        if not output:
            return subprocess.run(arguments, cwd=support.SCRIPTS, capture_output=True, text=True, check=False)
        with open(output, "w", encoding="ascii") as file:
            return subprocess.run(arguments, cwd=support.SCRIPTS, stdout=file, stderr=subprocess.PIPE, text=True,
                                  check=False)

    def test_exit_codes_and_sentences(self) -> None:
        for body, code, words in (
                ("return 3", 3, ""), ("raise command.UsageError('this is wrong.')", 2, "x.py: this is wrong.\n"),
                ("raise command.Failure('this too')", 2, "x.py: this too.\n"),
                ("open('nowhere/file')", 2, "x.py: nowhere/file: No such file or directory.\n"),
                ("raise KeyboardInterrupt", 130, "x.py: interrupted.\n"),
                ("command.heed_sigterm('some is there'); raise KeyboardInterrupt", 130,
                 "x.py: interrupted; some is there.\n"),
                ("command.give_up(5, 'no.')", 5, "x.py: no.\n")):
            with self.subTest(body):
                answer = self.run_main(body)
                self.assertEqual((answer.returncode, answer.stderr), (code, words))

    def test_a_failure_may_have_a_code_of_its_own(self) -> None:
        answer = self.run_main("from ladder.levels.gpus import NoGpu; raise NoGpu('none here')")
        self.assertEqual((answer.returncode, answer.stderr), (77, "x.py: none here.\n"))

    @unittest.skipUnless(Path("/dev/full").exists(), "there is no /dev/full")
    def test_a_full_disk(self) -> None:
        for body in ("print('x'); return 0", "print('x' * 100_000); return 0"):
            answer = self.run_main(body, "/dev/full")
            self.assertEqual(answer.returncode, 2)
            self.assertRegex(answer.stderr, r"^x\.py: .*No space left on device\.\n$")

    def test_a_reader_who_has_seen_enough(self) -> None:
        for script, *arguments in (("labs.py", "list"), ("tables.py",), ("diff_levels.py", "1", "8"),
                                   ("maintain/ptx_index.py",), ("autotune/autotune.py", "--kernel", "sgemm", "--list")):
            line = " ".join([sys.executable, "-B", script, *arguments])
            answer = subprocess.run(["bash", "-c", f"{line} | true; exit ${{PIPESTATUS[0]}}"], cwd=support.SCRIPTS,
                                    capture_output=True, text=True, check=False)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""), script)


class Layout(unittest.TestCase):
    """Commands are thin, and what stands behind them is one package."""

    def test_no_module_is_both(self) -> None:
        for path in COMMANDS:
            text = path.read_text(encoding="utf-8")
            self.assertTrue(text.startswith("#!/usr/bin/env python3\n"), path)
            self.assertTrue(text.endswith('\n\nif __name__ == "__main__":\n    command.run(main)\n'), path)
        for path in MODULES:
            text = path.read_text(encoding="utf-8")
            self.assertFalse("__main__" in text or text.startswith("#!"), path)

    def test_no_two_things_of_one_name(self) -> None:
        names = [path.stem for path in COMMANDS]
        modules = {path.stem for path in MODULES} | {path.parent.name for path in MODULES}
        self.assertEqual(sorted(set(names) & modules), ["site"])  # the command, and the package behind it
        self.assertEqual(len(set(names)), len(names))

    def test_no_path_is_edited(self) -> None:
        """But by what mkdocs loads, in its own environment: in PYTHONPATH site.py would hide Python's own site."""
        editing = [path for path in [*COMMANDS, *MODULES] if "sys.path" in path.read_text(encoding="utf-8")]
        self.assertEqual(editing, [support.SCRIPTS / "ladder" / "site" / "hooks.py"])

    def test_every_command_explains_itself(self) -> None:
        """And says, as its folder and that folder's page do, whether a reader of the course has a use for it."""
        for path in COMMANDS:
            answer = subprocess.run([sys.executable, "-B", path, "--help"], capture_output=True, text=True, check=False)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""), path)
            self.assertIn("usage: ", answer.stdout)
            maintains = path.parent.name == "maintain"
            self.assertEqual("For changes to the course" in answer.stdout, maintains, path)
            answer = subprocess.run([sys.executable, "-B", path, "--colour"], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(answer.returncode, 2, path)
            self.assertRegex(answer.stderr, r"^\w+\.(py|sh): [^\n]+\n$")
            for called in re.findall(r"\((\S+) --help\)", answer.stderr):
                self.assertTrue((support.ROOT / called).is_file(), answer.stderr)


if __name__ == "__main__":
    unittest.main()
