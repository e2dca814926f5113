from __future__ import annotations

import re
import subprocess
import sys
import unittest

from ladder.levels import lab, names, patches
from ladder.pages.blocks import stepwise
from ladder.tune import sgemm
from tests import support

MOST_LINES = 50  # that a step adds or removes
FEWEST, MOST = 3, 7  # steps to a level
SERIES = {(level, arch): patches.series(level, arch) for level in names.all_levels() for arch in names.ARCHES
          if (names.folder(level) / lab.STEPS / f"sm{arch}").exists()}


class TheSteps(unittest.TestCase):
    """The steps of the course. What their kernels do is tested where the levels' kernels are."""

    def test_each_series_ends_at_the_kernel_of_its_level(self) -> None:
        for (level, arch), found in SERIES.items():
            with self.subTest(level=level, arch=arch):
                self.assertTrue(FEWEST <= len(found) <= MOST, len(found))
                kernel = names.kernel_path(support.ROOT, level, arch).read_text(encoding="utf-8")
                self.assertEqual(patches.kernel_after(found[-1]), kernel, "scripts/maintain/step_patches.py refit "
                                 "carries changes of the levels' kernels into the steps")

    def test_each_step_is_small(self) -> None:
        for found in SERIES.values():
            for one in found:
                changed = one.comparison
                with self.subTest(one.title, arch=one.arch, changed=changed.summary()):
                    self.assertLessEqual(max(changed.added, changed.removed), MOST_LINES)
                    self.assertGreater(changed.added + changed.removed, 0)

    def test_the_first_step_only_renames(self) -> None:
        for (level, arch), found in SERIES.items():
            with self.subTest(level=level, arch=arch):
                before, after = (re.sub(r"//.*|\blevel\d\d\b", "", text).split()
                                 for text in (patches.kernel_before(found[0]), patches.kernel_after(found[0])))
                self.assertEqual(before, after)


    def test_the_head_of_a_kernel_names_its_own_barriers(self) -> None:
        for found in SERIES.values():
            for one in found:
                head, _, code = patches.kernel_after(one).partition("#pragma once")
                code = re.sub(r"//.*", "", code)
                with self.subTest(one.title, arch=one.arch):
                    for name in re.findall(r"--- (\w+) --->", head):
                        self.assertTrue(re.search(rf"\b{name}(_BARRIER)?\b", code), name)
                    for name, index in re.findall(r"^//   (\w+_(?:full|empty))(\[\w\])? +\d", head, re.MULTILINE):
                        initialised = rf"mbarrier_init\({name}" + (r"\(\w+\)," if index else ",")
                        self.assertTrue(re.search(initialised, code), name)


class Block(unittest.TestCase):
    def test_what_a_step_brings(self) -> None:
        """Against the kernel before it; of several configurations the first counts."""
        rows = [{"step": step, "m": edge, "tflops": speed, "kind": "measured", "gpu": "NVIDIA H100 80GB HBM3"}
                for step, edge, speed in (("2.1", "8192", "100"), ("2.1", "4096", "50"), ("2.2", "8192", "150"),
                                          ("2.2", "4096", "55"), ("2.3-a", "8192", "300"), ("2.3-b", "8192", "1"))]
        gains = [stepwise.gains(rows, patches.find_step(f"2.{number}", 100)) for number in (1, 2, 3)]
        self.assertEqual(gains, ["-, -", "1.10, 1.50", "-, 2.00"])
        self.assertEqual(stepwise.heading(rows), "times as fast, at 4096 and 8192 (measured, H100)")


class Commands(unittest.TestCase):
    def steps(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-B", str(support.SCRIPTS / "steps.py"), *arguments], text=True,
                              capture_output=True, check=False)

    def test_what_is_shown(self) -> None:
        listed = self.steps("4", "--arch", "sm100")
        self.assertEqual([line.split()[0] for line in listed.stdout.splitlines()], ["4.1", "4.2", "4.3", "4.4"])
        shown = self.steps("show", "4.4").stdout
        for words in ("Step 4.4, Blackwell: whole rows", "Why  ", "Seen  ", "\n+  const uint32_t lane_idx"):
            self.assertIn(words, shown)

    def test_sgemm(self) -> None:
        self.assertEqual([line.split()[0] for line in self.steps("sgemm").stdout.splitlines()],
                         [one.title for one in sgemm.series()])
        self.assertIn("\n+", self.steps("show", "sgemm.2").stdout)
        longer = [one.name for one in sgemm.series() if max(one.comparison.added, one.comparison.removed) > MOST_LINES]
        for name in longer:
            self.assertIn(f"`{name}`", str(sgemm.__doc__), "a longer step needs a reason")

    def test_wrong_command_lines(self) -> None:
        for arguments, sentence in ((["show"], "show needs one step"), (["4", "5"], "takes one level"),
                                    (["show", "4.9"], "has no step '4.9' on Blackwell; it has: 4.1, 4.2"),
                                    (["run", "9.1"], "there is no level 9"),
                                    (["show", "4.1", "--check"], "takes steps such as 6.2"),
                                    (["show", "sgemm.99"], "has sgemm.1 to"), (["run", "sgemm.2"], "sgemm_ladder")):
            with self.subTest(arguments):
                answer = self.steps(*arguments)
                self.assertEqual(answer.returncode, 2, answer.stderr)
                self.assertIn(sentence, answer.stderr)


class Headers(support.Scratch):
    PATCH = "--- a/level02_x/kernel_sm90.cuh\n+++ b/level02_x/kernel_sm90.cuh\n@@ -1 +1 @@\n-a\n+b\n"

    def parse(self, text: str, name: str = "1_one") -> patches.Step:
        path = self.root / "level02_x" / "steps" / "sm90" / f"{name}.patch"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return patches.parse_step(path)

    def test_a_header(self) -> None:
        one = self.parse("Why: since\n  so\nSeen: this\nHint: look\nClaims: roles persistent\n"
                         f"Counts: waits 3 -> 4\n\n{self.PATCH}", "2_two_words")
        self.assertEqual((one.title, one.words, one.question, one.expect, one.hint, one.claims, one.arch),
                         ("2.2", "two words", "since so", "this", "look", ("roles", "persistent"), 90))
        self.assertEqual(set(one.all_modes.values()), {"right"})

    def test_broken_ones(self) -> None:
        whole = f"Why: a\nSeen: b\nHint: c\n\n{self.PATCH}"
        for text, name, sentence in ((whole.replace("Hint: c\n", ""), "1_one", "'Hint' is missing"),
                                     (whole, "one", "named like 2_own_loops"),
                                     (whole.replace("kernel_sm90", "main"), "1_one", "kernel_sm90.cuh only"),
                                     (whole.replace("Seen", "Saw"), "1_one", "no field 'Saw'")):
            with self.subTest(sentence), self.assertRaisesRegex(lab.LabError, sentence):
                self.parse(text, name)


if __name__ == "__main__":
    unittest.main()
