from __future__ import annotations

import subprocess
import unittest

from tests import support

FAKE_SIM = """#!/bin/sh
echo "simulating $*"
exec "$@"
"""
H200 = [("NVIDIA H200", 90)]


class RunLevels(support.Sandbox):
    """The second half of run.sh: fakes run in the place of the levels and of the simulated device."""

    def setUp(self) -> None:
        super().setUp()
        self.program("scripts/sim.sh", FAKE_SIM)
        self.write("docs/results/a.csv", (support.ROOT / "docs/results/gb200_reported.csv").read_text(encoding="utf-8"))

    def test_without_a_gpu_both_architectures_are_simulated(self) -> None:
        answer = self.run_with_gpus("run_levels.py", [])
        self.assert_exit(0, answer)
        self.assertEqual([call.split()[:3] for call in self.calls()],
                         [[f"{level}_sm{arch}", "--sizes", "512"] for level in self.LEVELS for arch in (90, 100)])
        self.assertFalse(any("--bench" in call for call in self.calls()))
        self.assertEqual(answer.stdout.count("simulating"), 4)
        self.assertRegex(answer.stdout, r"this run: simulated device, 512 +reported: GB200 \(sm100\)\n")
        self.assertRegex(answer.stdout, r"level01_baseline +right +right +91\.5 +0\.054\*\n")
        self.assertRegex(answer.stdout, r"level08_deep_pipeline +- +- +1290 +0\.868\n")

    def test_a_gpu_is_measured(self) -> None:
        answer = self.run_with_gpus("run_levels.py", H200, "--rounds", "12")
        self.assert_exit(0, answer)
        self.assertRegex(self.calls()[0], "level01_baseline_sm90 --sizes 8192 --csv .* --bench --rounds 12")
        self.assertEqual(len(self.calls()), 2)
        self.assertIn("measured in this run: NVIDIA H200 (sm90), 8192", answer.stdout)
        self.assertRegex(answer.stdout, r"level01_baseline +right +700 +0\.986 +0\.973 +91\.5")
        self.assertIn("measured in this run: 1500 MHz (NVML); 650 W of 700 W", answer.stdout)

    def test_simulated_in_spite_of_a_gpu(self) -> None:
        for arguments in (["--sim", "--arch", "sm90"], ["--arch", "sm100"]):
            answer = self.run_with_gpus("run_levels.py", H200, "--levels", "1", "--size", "64", *arguments)
            self.assertIn("simulating", answer.stdout)
        programs = [call.split()[0] for call in self.calls()]
        self.assertEqual(programs, ["level01_baseline_sm90", "level01_baseline_sm100"])

    def test_a_failing_level(self) -> None:
        self.behave(level01_baseline_sm90="wrong", level01_baseline_sm100="crash", level02_tma_swizzle_sm90="hang",
                    level02_tma_swizzle_sm100="silent")
        answer = self.run_with_gpus("run_levels.py", [], "--timeout", "5")
        self.assert_exit(1, answer, "level02_tma_swizzle_sm90: HUNG: ended after 5 s")
        self.assertRegex(answer.stdout, r"level01_baseline +WRONG +CRASHED ")
        self.assertRegex(answer.stdout, r"level02_tma_swizzle +HUNG +NO RESULT ")

    def test_a_failing_level_on_a_gpu_has_no_speed(self) -> None:
        self.behave(level01_baseline_sm90="wrong")
        answer = self.run_with_gpus("run_levels.py", H200)
        self.assert_exit(1, answer)
        self.assertRegex(answer.stdout, r"level01_baseline +WRONG +- +- +- ")

    def test_what_has_to_be_built(self) -> None:
        answer = self.run_with_gpus("run_levels.py", [], "--targets", "--levels", "level02")
        self.assertEqual(answer.stdout.split(),
                         ["level02_tma_swizzle_sm90", "level02_tma_swizzle_sm100", "cudart", "cuda"])
        answer = self.run_with_gpus("run_levels.py", H200, "--targets", "--levels", "2")
        self.assertEqual(answer.stdout.split(), ["level02_tma_swizzle_sm90"])
        (self.root / "level02_tma_swizzle" / "kernel_sm90.cuh").unlink()
        answer = self.run_with_gpus("run_levels.py", [], "--targets", "--levels", "2")
        self.assertEqual(answer.stdout.split(), ["level02_tma_swizzle_sm100", "cudart", "cuda"])
        self.assert_exit(2, self.run_with_gpus("run_levels.py", H200, "--levels", "2"), "there is no kernel for sm90")


class RunSh(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.program("scripts/build.sh", "#!/bin/sh\necho building $*\n")
        self.program("scripts/sim.sh", FAKE_SIM)

    def run_sh(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_command(self.scripts / "run.sh", *arguments, CUDA_VISIBLE_DEVICES="", **environment)

    def test_ends_with_the_table(self) -> None:
        answer = self.run_sh("--levels", "1", "--sim")
        self.assert_exit(0, answer)
        self.assertIn("building level01_baseline_sm90 level01_baseline_sm100 cudart cuda\n", answer.stdout)
        self.assertRegex(answer.stdout, r"level02_tma_swizzle +- +-\n[^\n]+\n$")

    def test_a_failing_level_and_a_failing_build(self) -> None:
        self.behave(level01_baseline_sm90="wrong")
        self.assert_exit(1, self.run_sh("--sim", "--levels", "1", "--arch", "sm90"))
        self.program("scripts/build.sh", "#!/bin/sh\nexit 8\n")
        answer = self.run_sh("--sim")
        self.assert_exit(8, answer)
        self.assertNotIn("level", answer.stdout)

    def test_bad_flags_build_nothing(self) -> None:
        for arguments, sentence in ((("--colour",), "--colour"), (("--levels", "9"), "there is no level 9, only 1, 2."),
                                    (("--size",), "expected one argument"), (("level01",), "unrecognized"),
                                    (("--levels", "eight"), "no level 'eight'"), (("--arch", "sm80"), "--arch must be"),
                                    (("--size", "100"), "multiples of 8"), (("--size", "8x16x24"), "one edge"),
                                    (("--rounds", "0"), "at least 1"), (("--timeout", "soon"), "at least 1"),
                                    (("--lev", "1"), "unrecognized")):
            with self.subTest(arguments):
                answer = self.run_sh("--sim", *arguments)
                self.assert_exit(2, answer, sentence)
                self.assertTrue(answer.stderr.startswith("run.sh: "), answer.stderr)
                self.assertEqual(answer.stdout, "")

    def test_help(self) -> None:
        answer = self.run_sh("--help")
        self.assert_exit(0, answer)
        self.assertIn("scripts/run.sh", answer.stdout)
        self.assertNotIn("building", answer.stdout)


if __name__ == "__main__":
    unittest.main()
