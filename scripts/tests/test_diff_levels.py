from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import unittest
from html.parser import HTMLParser

from ladder.levels import compare, names
from tests import support

BEFORE = """\
// ----------- kernel
// Step 1: who am I, and which tile is mine?
int tile = blockIdx.x;
int same = 1;
  int  spaced = 2;
// Step 2: set up. And more.
wait(full, 0);
one();
two();
three();
four();
five();
six();
seven();
old();
"""
AFTER = BEFORE.replace("blockIdx.x", "first_tile").replace("  int  spaced", "int spaced").replace("old();\n", "")


class Comparing(unittest.TestCase):
    def setUp(self) -> None:
        self.lines = compare.compare_texts(BEFORE, AFTER)

    def test_white_space_does_not_count(self) -> None:
        self.assertEqual([(line.mark, line.text) for line in self.lines if line.mark != " "],
                         [("-", "int tile = blockIdx.x;"), ("+", "int tile = first_tile;"), ("-", "old();")])

    def test_both_files_can_be_had_back(self) -> None:
        old = [line.text for line in self.lines if line.mark == "-" or line.mark == " "]
        new = [line.text for line in self.lines if line.mark != "-"]
        self.assertEqual(["".join(t.split()) for t in old], ["".join(t.split()) for t in BEFORE.splitlines()])
        self.assertEqual(new, AFTER.splitlines())

    def test_hunks_name_the_step(self) -> None:
        found = list(compare.hunks(self.lines, context=2))
        self.assertEqual([heading for heading, _ in found], ["", "Step 2: set up"])
        self.assertEqual([line.text for line in found[1][1]], ["six();", "seven();", "old();"])

    def test_changed_words(self) -> None:
        removed = next(line for line in self.lines if line.mark == "-")
        self.assertEqual(compare.words(removed), [("int tile = ", False), ("blockIdx.x", True), (";", False)])
        alone = self.lines[-1]
        self.assertEqual(compare.words(alone), [("old();", False)])

    def test_nothing_changed(self) -> None:
        self.assertEqual([line.mark for line in compare.compare_texts(AFTER, AFTER)], [" "] * 14)

    @unittest.skipUnless(shutil.which("diff"), "there is no diff here")
    def test_differences_are_hardly_longer_than_those_of_diff(self) -> None:
        levels = names.all_levels()
        for before, after in zip(levels, levels[1:]):
            for arch in (90, 100):
                with self.subTest(after, arch=arch):
                    paths = [names.kernel_path(support.ROOT, name, arch) for name in (before, after)]
                    answer = subprocess.run(["diff", "-dw", *paths], capture_output=True, text=True, check=False)
                    marks = [line[0] for line in answer.stdout.splitlines()]
                    found = compare.compare(support.ROOT, before, after, arch)
                    shortest = marks.count(">") + marks.count("<")
                    self.assertEqual(found.added - found.removed, marks.count(">") - marks.count("<"))
                    self.assertTrue(shortest <= found.added + found.removed <= 1.2 * shortest)


class Links(HTMLParser):
    """Collects what is open and never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


class Program(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write("level01_baseline/kernel_sm100.cuh", BEFORE)
        self.write("level02_tma_swizzle/kernel_sm100.cuh", AFTER)
        (self.root / "level02_tma_swizzle/kernel_sm90.cuh").unlink()
        self.script = self.scripts / "diff_levels.py"

    def test_text(self) -> None:
        answer = self.run_command(self.script, 1, 2)
        self.assert_exit(0, answer)
        self.assertNotIn("\033", answer.stdout)
        self.assertTrue(answer.stdout.startswith("--- level01_baseline/kernel_sm100.cuh\n"
                                                 "+++ level02_tma_swizzle/kernel_sm100.cuh\n"))
        self.assertIn("\n-int tile = blockIdx.x;\n+int tile = first_tile;\n", answer.stdout)
        self.assertTrue(answer.stdout.endswith("1 lines added, 2 removed\n"))

    def on_terminal(self, **environment: str) -> str:
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb") as terminal:
            inherited = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
            process = subprocess.Popen([sys.executable, "-B", self.script, "1", "2"], stdout=theirs,
                                       env={**inherited, "TERM": "xterm", **environment})
            os.close(theirs)
            output = b""
            try:
                while block := terminal.read1():
                    output += block
            except OSError:  # how a terminal says that it was closed
                pass
            self.assertEqual(process.wait(), 0)
        return output.decode()

    def test_colours_are_for_terminals(self) -> None:
        self.assertIn("\033[32m+\033[0m\033[32mint tile = \033[0m\033[1;4;32mfirst_tile", self.on_terminal())
        self.assertNotIn("\033", self.on_terminal(NO_COLOR="1"))
        self.assertNotIn("\033", self.on_terminal(TERM="dumb"))

    def test_every_way_to_write_a_level(self) -> None:
        expected = self.run_command(self.script, 1, 2).stdout
        for before, after in (("01", "level02"), ("level01_baseline", "level02_tma_swizzle")):
            self.assertEqual(self.run_command(self.script, before, after).stdout, expected)

    def test_page(self) -> None:
        answer = self.run_command(self.script, 1, 2, "--html", self.root / "diff.html")
        self.assert_exit(0, answer)
        page = (self.root / "diff.html").read_text(encoding="utf-8")
        self.assertIn("int tile = <ins>first_tile</ins>;", page)
        self.assertIn('<tr class="removed"><td class="number">15</td><td class="number"></td>', page)
        checker = Links()
        checker.feed(page)
        self.assertEqual(checker.open, [])

    def test_wrong_command_lines(self) -> None:
        for arguments, sentence in (((1, 3), "there is no level 3, only 1, 2."), ((1, 1), "two different levels"),
                                    ((1,), "required"), (("x", 2), "no level 'x'"), ((0, 2), "no level 0"),
                                    ((1, 2, "--arch", "sm80"), "--arch must be sm90"),
                                    ((1, 2, "--arch", "sm90"), "level02_tma_swizzle has no kernel for sm90"),
                                    ((1, 2, "--html", self.root), "existing folder"),
                                    ((1, 2, "--html", self.root / "no/diff.html"), "existing folder")):
            with self.subTest(arguments):
                self.assert_exit(2, self.run_command(self.script, *arguments), sentence)

    def test_a_reader_who_has_seen_enough(self) -> None:
        answer = self.run_command("sh", "-c", f"{sys.executable} -B {self.script} 1 2 | true")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
