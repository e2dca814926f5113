from __future__ import annotations

import re
import shutil
import unittest
from typing import Any

import grade

from ladder.command import UsageError
from ladder.grader import running, start
from ladder.grader.claims import CLAIMS
from ladder.grader.running import Result, Run
from ladder.grader.verdicts import Verdict
from ladder.levels import around, names, patches, verdict
from ladder.levels.verdict import Finding, Place
from tests import support

KERNEL = """\
namespace mine {
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) { return cudaSuccess; }
}  // namespace mine
"""


class Command(support.Sandbox):
    LEVELS = ("level01_baseline", "level02_tma_swizzle")

    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(start.TASKS, self.scripts / "ladder" / "grader" / "tasks", dirs_exist_ok=True)

    def grade(self, *arguments: object) -> Any:
        return self.run_command("python3", "-B", self.scripts / "grade.py", *arguments)

    def test_bad_input(self) -> None:
        self.write("kernel.cuh", KERNEL)
        self.write("other.cuh", "int main() {}\n")
        self.write("odd.cuh", KERNEL.replace("inline cuda", "template <int N>\ninline cuda"))
        for code, sentence, arguments in (
                (2, "name a level and a file, or --start", ()),
                (2, "name a level and a file, or --start", (2,)),
                (2, "there is no level 9", (9, "kernel.cuh")),
                (2, "there is no file nowhere.cuh", (2, "nowhere.cuh")),
                (2, "other.cuh has not the form of a level's kernel", (2, "other.cuh")),
                (2, "`launch` is a template of int", (2, "odd.cuh")),
                (2, "--arch must be sm90", (2, "kernel.cuh", "--arch", "sm80")),
                (4, "the levels are not built", (2, "kernel.cuh"))):
            with self.subTest(sentence):
                answer = self.grade(*arguments)
                self.assert_exit(code, answer, sentence)
                self.assertEqual((answer.stdout, len(answer.stderr.strip().splitlines())), ("", 1))

    def test_a_start(self) -> None:
        self.write("level01_baseline/kernel_sm90.cuh", "// level 01\n")
        self.write("level01_baseline/describe_sm90.h", '#include "level01_baseline/kernel_sm90.cuh"\n')
        answer = self.grade("--start", 2, "my answer", "--arch", "sm90")
        self.assert_exit(0, answer)
        self.assertEqual((self.root / "my answer" / "kernel_sm90.cuh").read_text(encoding="utf-8"), "// level 01\n")
        self.assertEqual((self.root / "my answer" / "describe_sm90.h").read_text(encoding="utf-8"),
                         '#include "kernel_sm90.cuh"\n')
        task = (self.root / "my answer" / "TASK.md").read_text(encoding="utf-8")
        self.assertIn("scripts/grade.py 2 'my answer'/kernel_sm90.cuh --arch sm90", task)
        self.assertIn("wgmma", task)
        self.assertNotIn("tcgen05", task)
        links = re.findall(r"\]\((\S+)\)", task)
        self.assertIn("../level02_tma_swizzle/README.md", links)
        self.assertEqual(len(links), task.count("]("), "a link with a space in it is none")
        # No work is lost.
        self.write("my answer/kernel_sm90.cuh", "// changed\n")
        (self.root / "my answer" / "TASK.md").unlink()
        self.assert_exit(2, self.grade("--start", 2, "my answer", "--arch", "sm90"), "may hold your work")
        self.assertFalse((self.root / "my answer" / "TASK.md").exists())
        self.assertEqual((self.root / "my answer" / "kernel_sm90.cuh").read_text(encoding="utf-8"), "// changed\n")
        self.assert_exit(2, self.grade("--start", 1, "first"), "there is no task for level01_baseline")
        self.write("file", "")
        self.assert_exit(2, self.grade("--start", 2, "file"), "a folder is needed")


class Sources(support.Scratch):
    def source(self, text: str) -> str:
        file = self.root / "kernel.cuh"
        file.write_text(text, encoding="utf-8")
        return around.source_of({"answer": file}, "level02_tma_swizzle")

    def test_every_level_can_be_an_answer(self) -> None:
        for level, arch in names.all_kernels(support.ROOT):
            source = self.source(names.kernel_path(support.ROOT, level, arch).read_text(encoding="utf-8"))
            self.assertIn(f"{names.short(level)}::launch", source)

    def test_templates_of_the_course_get_their_arguments(self) -> None:
        source = self.source("namespace n {\ntemplate <mma::Swizzle S>\ninline cudaError_t launch("
                             "const harness::Problem& p, cudaStream_t s); }")
        self.assertEqual(source.count("n::launch<mma::Swizzle::"), 4)

    def test_a_description_beside_the_kernel_is_used(self) -> None:
        file = self.root / "kernel_sm90.cuh"
        file.write_text(KERNEL, encoding="utf-8")
        self.assertIn("harness::Description{}", around.source_of({"answer": file}, "level02_tma_swizzle"))
        (self.root / "describe_sm90.h").write_text("", encoding="utf-8")
        source = around.source_of({"answer": file}, "level02_tma_swizzle")
        self.assertIn('#include "describe_sm90.h"', source)
        self.assertIn("mine::describe", source)

    def test_what_is_no_kernel(self) -> None:
        with self.assertRaisesRegex(UsageError, "has not the form"):
            self.source("inline cudaError_t launch(")


class Measures(unittest.TestCase):
    def test_shares_of_intervals(self) -> None:
        self.assertEqual(running.intervals([(5, 7), (0, 2), (1, 3), (4, 4)]), [(0, 3), (5, 7)])
        self.assertEqual(running.covered([(0, 10), (20, 30)], [(5, 25)]), 0.5)
        self.assertEqual(running.covered([(0, 10)], [(1, 2), (3, 4), (9, 20)]), 0.3)
        self.assertEqual(running.covered([], [(0, 1)]), 0)

    def test_a_report_is_told_in_its_first_words(self) -> None:
        deadlock = Finding("deadlock", text="sim: deadlock in kernel k\n  CTA 0:\n    warp 0\n")
        habit = Finding("habit", tolerated=True, text="sim: habit")
        self.assertEqual(verdict.Verdict((habit, deadlock), 86, "x WRONG").first_words,
                         "sim: deadlock in kernel k CTA 0: warp 0")
        self.assertEqual(verdict.Verdict((), 1, "a\nb is wrong").first_words, "b is wrong")

    def test_what_the_order_checker_says(self) -> None:
        habit = Finding("habit", "tcgen05-fence", tolerated=True, sides=(Place("bar", frames=(("a/ptx.cuh", 7),
                                                                                             ("a/my file.cuh", 9))),))
        race = Finding("race", "exit", sides=habit.sides)
        checked = Result(Run((), (1, 8, 8)), verdict.Verdict((habit, race), 86))
        self.assertEqual(checked.habits, {"tcgen05-fence (my file.cuh:9)"})
        self.assertEqual((verdict.Verdict((habit,)).passes, verdict.Verdict((habit, race), 86).passes), (True, False))


class Lines(unittest.TestCase):
    """A verdict as the terminal shows it."""

    def test_what_was_found_stands_behind_the_claim(self) -> None:
        for holds, shown in ((True, "holds  D is right: 22 runs"),
                             (False, "FAILS  D is right: 22 runs\n       read: page\n       again: command")):
            self.assertEqual(grade.text_of(Verdict("right", "D is right", holds, "22 runs", "page", "command")), shown)
        self.assertEqual(grade.text_of(Verdict("right", "D is right", None, "")), "-      D is right")

    def test_of_what_the_compiler_says_the_first_lines(self) -> None:
        said = [f"line {number}" for number in range(grade.MOST_LINES + 3)]
        shown = grade.text_of(Verdict("compiles", "it compiles", False, "\n".join(said)))
        self.assertEqual(shown.splitlines(), ["FAILS  it compiles", *said[:grade.MOST_LINES], "... and 3 lines more"])
        self.assertEqual(grade.text_of(Verdict("compiles", "it compiles", True, "\n".join(said))), "holds  it compiles")


class Tasks(unittest.TestCase):
    def test_a_task_for_every_level_but_the_first(self) -> None:
        for number, arch in CLAIMS:
            text = start.task_of(names.find_level(str(number), names.all_levels()), arch)
            self.assertTrue(text.startswith("# Task: "))
            self.assertNotIn("## Hopper", text)
            self.assertNotIn("## Blackwell", text)

    def test_a_step_says_whether_the_grader_sees_it(self) -> None:
        for title, arch, unseen, later in (("6.1", 90, True, False), ("6.2", 90, False, True), ("6.4", 90, True, True)):
            text = start.task_of_step(patches.find_step(title, arch))
            with self.subTest(title):
                self.assertEqual((start.UNSEEN in text, start.HEAD in text), (unseen, later))


if __name__ == "__main__":
    unittest.main()
