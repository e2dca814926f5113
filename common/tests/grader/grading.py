#!/usr/bin/env python3
"""The grader on the levels: each task's solution is the level itself, and its start the level before."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder import files
from ladder.grader import start
from ladder.grader.claims import CLAIMS, of_step
from ladder.levels import names, patches
from ladder.levels.lab import Build
from tests.support import Scratch

GRADE = files.SCRIPTS / "grade.py"


def level_of(number: int) -> str:
    return names.find_level(str(number), names.all_levels())


class Claims(unittest.TestCase):
    """What is measured on programs as they are built: nothing is compiled."""

    def test_every_task_is_there(self) -> None:
        tasks = [(names.number_of(level), arch) for level, arch in names.all_kernels(files.ROOT)
                 if names.number_of(level) > 1]
        self.assertEqual(sorted(CLAIMS), sorted(tasks))
        for number, arch in tasks:
            text = start.task_of(level_of(number), arch)
            page = (files.ROOT / level_of(number) / "README.md").read_text(encoding="utf-8").lower()
            for claim in CLAIMS[number, arch]:
                self.assertIn(claim.sentence, text)
                self.assertIn("\n## " + claim.read.replace("-", " ") + "\n", page)

    def test_levels_hold_their_claims_and_those_before_them_do_not(self) -> None:
        def measure(key: tuple[int, int]) -> tuple[list[bool], list[bool]]:
            number, arch = key
            solution, begun = (names.executable(level_of(n), arch, files.BUILD) for n in (number, number - 1))
            return ([claim.measure(solution).holds for claim in CLAIMS[key]],
                    [claim.measure(begun).holds for claim in CLAIMS[key]])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for key, (held, before) in zip(CLAIMS, pool.map(measure, CLAIMS)):
                with self.subTest(level=key[0], arch=key[1]):
                    self.assertEqual(held, [True] * len(held))
                    self.assertEqual(before, [False] * len(before))


class Steps(unittest.TestCase):
    def test_steps_name_the_claims_of_their_level(self) -> None:
        """And the last of a series all of them."""
        for one in patches.all_steps():
            level = {claim.name for claim in CLAIMS[names.number_of(one.level), one.arch]}
            named = {claim.name for claim in of_step(one, Build(files.BUILD))} - {"counted"}
            with self.subTest(one.title, arch=one.arch):
                self.assertLessEqual(set(one.claims), level)
                self.assertEqual(level - named if patches.last(one) else set(), set())


class Answers(Scratch):
    """Whole grades."""

    def grade(self, level: int | str, arch: int, file: Path) -> tuple[int, dict[str, Any]]:
        """The exit code, and the claims by their names."""
        answer = subprocess.run([sys.executable, "-B", GRADE, str(level), str(file), "--arch", f"sm{arch}", "--json"],
                                capture_output=True, text=True, check=False)
        self.assertIn(answer.returncode, (0, 1), answer.stderr)
        return answer.returncode, {claim["name"]: claim for claim in json.loads(answer.stdout)["claims"]}

    def changed(self, level: int, arch: int, old: str, new: str) -> Path:
        text = names.kernel_path(files.ROOT, level_of(level), arch).read_text(encoding="utf-8")
        self.assertIn(old, text)
        file = self.root / f"my kernel {arch}.cuh"
        file.write_text(text.replace(old, new), encoding="utf-8")
        return file

    def test_a_solution_passes(self) -> None:
        code, claims = self.grade(6, 90, names.kernel_path(files.ROOT, level_of(6), 90))
        self.assertEqual((code, [name for name, claim in claims.items() if not claim["holds"]]), (0, []))

    def test_a_start_fails_at_the_new_claims_as_the_guide_shows(self) -> None:
        guide = (files.ROOT / "docs" / "grader.md").read_text(encoding="utf-8")
        commands, transcript = re.findall(r"^```(?:bash)?\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)[:2]
        begin, grade = (line.partition("  #")[0].split() for line in commands.splitlines()[:2])
        for command, code in ((begin, 0), (grade, 1)):
            answer = subprocess.run([sys.executable, "-B", files.ROOT / command[0], *command[1:]], cwd=self.root,
                                    capture_output=True, text=True, check=False)
            self.assertEqual(answer.returncode, code, answer.stderr)
        self.assertEqual(answer.stdout, transcript)
        task = (self.root / "mine" / "TASK.md").read_text(encoding="utf-8")
        self.assertIn(CLAIMS[6, 100][-1].sentence, task)

    def test_the_start_of_a_step_is_right_and_fails_at_its_counter_with_a_hint(self) -> None:
        step = patches.find_step("6.3", 100)
        kernel = start.begin_step(step, self.root / "mine")[0]
        code, claims = self.grade("6.3", 100, kernel)
        self.assertEqual((code, [name for name, claim in claims.items() if not claim["holds"]]), (1, ["counted"]))
        self.assertIn("524288; before the step it was 524288, after it 262144", claims["counted"]["found"])
        self.assertEqual(claims["counted"]["hint"], step.hint)

    def test_a_hang_is_told_with_the_command_that_shows_it(self) -> None:
        file = self.changed(3, 90, "mbarrier_init(smem_full(stage), 1);", "mbarrier_init(smem_full(stage), 2);")
        code, claims = self.grade(3, 90, file)
        self.assertEqual((code, claims["compiles"]["holds"], claims["right"]["holds"]), (1, True, False))
        self.assertIn("deadlock at M, N, K", claims["right"]["found"])
        self.assertIn("deadlock", claims["right"]["found"])
        self.assertTrue(claims["right"]["repeat"].startswith("scripts/sim.sh "))
        self.assertIsNone(claims["roles"]["holds"])

    def test_what_does_not_compile_is_the_compilers_to_tell(self) -> None:
        file = self.changed(3, 90, "return cudaGetLastError();", "return cudaGetLastEror();")
        code, claims = self.grade(3, 90, file)
        self.assertEqual((code, claims["compiles"]["holds"]), (1, False))
        self.assertIn("error", claims["compiles"]["found"])
        self.assertEqual({claim["holds"] for name, claim in claims.items() if name != "compiles"}, {None})

    def test_a_launch_with_other_parameters_is_none(self) -> None:
        file = self.changed(3, 90, "launch(const harness::Problem& problem, cudaStream_t stream) {",
                            "launch(const harness::Problem& problem) { const cudaStream_t stream = 0;")
        answer = subprocess.run([sys.executable, "-B", GRADE, "3", file, "--arch", "sm90"], capture_output=True,
                                text=True, check=False)
        self.assertEqual((answer.returncode, answer.stdout), (2, ""))
        self.assertIn("it has to define `inline cudaError_t launch(const harness::Problem&, cudaStream_t)`",
                      answer.stderr)


if __name__ == "__main__":
    unittest.main()
