"""build.sh with short names and switches, and sim.sh's word about programs that are older than their sources."""
from __future__ import annotations

import os
import subprocess
import unittest

from tests import support


class Switches(support.Sandbox):
    """With a CMake that only writes down how it was called."""

    LEVELS = ("level01_baseline", "level08_deep_pipeline")

    def setUp(self) -> None:
        super().setUp()
        self.program("scripts/setup.sh", "#!/bin/sh\n")
        self.program("bin/cmake", """#!/bin/sh
            [ "$1" != --version ] || { echo cmake version 3.30.0; exit; }
            echo "$*" >> cmake.log
        """)
        nvcc = self.program(".cuda/bin/nvcc", "#!/bin/sh\necho release 13.0, V13\n")
        self.write("build/CMakeCache.txt", f"CMAKE_HOME_DIRECTORY:PATH={self.root}\nCMAKE_CUDA_COMPILER:PATH={nvcc}\n"
                   "CMAKE_COMMAND:PATH=/bin/true\nCMAKE_MAKE_PROGRAM:PATH=/bin/true\n")
        self.write("build/build.ninja", "")
        self.write("level08_deep_pipeline/kernel_sm100.cuh", "#ifndef BLOCK_M  // rows\n#define BLOCK_M 128\n#endif\n"
                   "#ifndef EARLY\n#define EARLY 1\n#endif\n#if LADDER_ARCH == 100\n#endif\n")
        self.write("level08_deep_pipeline/plan_sm90.h", "#ifndef EARLY\n#define EARLY 1\n#endif\n")

    def build(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        (self.root / "cmake.log").unlink(missing_ok=True)
        return self.run_command(self.scripts / "build.sh", *arguments, LADDER_IGNORE_SYSTEM_CUDA="1",
                                PATH=f"{self.root}/bin:{os.environ['PATH']}")

    def built(self) -> list[str]:
        """The targets, and whether CMake was told to look again."""
        log = (self.root / "cmake.log").read_text(encoding="utf-8").splitlines()
        targets = log[-1].partition(" --target ")[2].split()
        return (["configured"] if "--preset default" in log[0] and "--build" not in log[0] else []) + targets

    def test_short_names_bring_the_simulated_device(self) -> None:
        for name, programs in (("level01", ["level01_baseline_sm100", "level01_baseline_sm90"]),
                               ("level01_sm90", ["level01_baseline_sm90"]),
                               ("level01_baseline", ["level01_baseline_sm100", "level01_baseline_sm90"]),
                               ("1", ["level01_baseline_sm100", "level01_baseline_sm90"]),
                               ("08_sm100", ["level08_deep_pipeline_sm100"]),
                               ("warm_up", ["warm_up"])):
            self.assert_exit(0, self.build(name))
            self.assertEqual(self.built(), [*programs, "cudart", "cuda"], name)

    def test_names_of_targets_are_left_alone(self) -> None:
        for names in (["level01_baseline_sm90"], ["harness", "cudart"], []):
            self.assert_exit(0, self.build(*names))
            self.assertEqual(self.built(), names)

    def test_a_switch_makes_a_program_of_its_own(self) -> None:
        answer = self.build("level08", "-DEARLY=0")
        self.assert_exit(0, answer)
        programs = [f"level08_deep_pipeline_sm{arch}-EARLY" for arch in (100, 90)]
        self.assertEqual(self.built(), ["configured", *(f"{p}.0" for p in programs), "cudart", "cuda"])
        self.assertTrue(answer.stdout.endswith("".join(f"Built build/bin/{p}=0\n" for p in programs)), answer.stdout)
        calls = (self.root / "build" / "variants.cmake").read_text(encoding="utf-8")
        self.assertEqual(calls, "add_level_variant(level08_deep_pipeline 100 EARLY=0)\n"
                         "add_level_variant(level08_deep_pipeline 90 EARLY=0)\n")
        self.assert_exit(0, self.build("-DEARLY=0", "level08"))
        self.assertNotIn("configured", self.built())
        self.assertEqual(calls, (self.root / "build" / "variants.cmake").read_text(encoding="utf-8"))

    def test_several_switches_in_any_order_are_one_program(self) -> None:
        for switches in (["-DEARLY=0", "-DBLOCK_M=256"], ["-DBLOCK_M=256", "-DEARLY=0", "-DEARLY=0"]):
            self.assert_exit(0, self.build("level08_deep_pipeline_sm100", *switches))
            self.assertIn("level08_deep_pipeline_sm100-BLOCK_M.256-EARLY.0", self.built())

    def test_a_switch_of_one_architecture_builds_that(self) -> None:
        self.assert_exit(0, self.build("level08", "-DBLOCK_M=256"))
        self.assertEqual(self.built()[1:], ["level08_deep_pipeline_sm100-BLOCK_M.256", "cudart", "cuda"])

    def test_every_level_can_be_told_not_to_wait_for_ever(self) -> None:
        self.assert_exit(0, self.build("level01_sm90", "-DLADDER_SPIN_LIMIT=100"))
        self.assertIn("level01_baseline_sm90-LADDER_SPIN_LIMIT.100", self.built())

    def test_what_is_no_switch_is_refused_with_a_sentence(self) -> None:
        for arguments, sentence in (
                (["level08", "-DOTHER=1"],
                 "level08 has no kernel with OTHER; its switches are BLOCK_M, EARLY, LADDER_SPIN_LIMIT."),
                (["level08_sm90", "-DBLOCK_M=256"], "its switches are EARLY, LADDER_SPIN_LIMIT."),
                (["level08", "-DLADDER_ARCH=90"], "level08 has no kernel with LADDER_ARCH"),
                (["level01", "-DEARLY=0"], "level01 has no switch but LADDER_SPIN_LIMIT; level 08 has others."),
                (["-DEARLY=0"], "name the level that the switch is for: scripts/build.sh level08 -DEARLY=0"),
                (["harness", "-DEARLY=0"], "switches are for levels, as in level08, and 'harness' is none."),
                (["level08", "-DEARLY"], "a name and a value, and '-DEARLY' does not."),
                (["level08", "-DEARLY=0;touch x"], "a name and a value"),
                (["level08", "-D", "EARLY=0"], "-DSWITCH=VALUE is one word")):
            with self.subTest(arguments):
                self.assert_exit(2, self.build(*arguments), sentence)
                self.assertFalse((self.root / "build" / "variants.cmake").exists())
                self.assertFalse((self.root / "cmake.log").exists())


class OldPrograms(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        for library in ("libcudart.so.13", "libcuda.so.1"):
            self.write(f"build/sim/{library}", "")
        self.write("common/ptx/barrier.cuh", "")
        (self.root / "common" / "mma").mkdir()
        for name in ("level01_baseline_sm90", "level01_baseline_sm90-EARLY=0", "level01_baseline_sm100"):
            self.program(f"build/bin/{name}", "#!/bin/sh\necho it ran\n")
        for path in self.root.rglob("*"):
            os.utime(path, (1000, 1000))

    def simulate(self, name: str) -> subprocess.CompletedProcess[str]:
        answer = self.run_command(self.scripts / "sim.sh", f"build/bin/{name}")
        self.assert_exit(0, answer)
        self.assertEqual(answer.stdout, "it ran\n")
        return answer

    def test_a_program_as_new_as_its_sources(self) -> None:
        self.assertEqual(self.simulate("level01_baseline_sm90").stderr, "")

    def test_a_kernel_that_was_changed_since(self) -> None:
        os.utime(self.root / "level01_baseline" / "kernel_sm90.cuh", (2000, 2000))
        said = self.simulate("level01_baseline_sm90").stderr
        self.assertIn("level01_baseline/kernel_sm90.cuh is newer than level01_baseline_sm90. To build it again: "
                      "scripts/build.sh level01_baseline_sm90\n", said)
        self.assertIn("scripts/build.sh level01_baseline_sm90 -DEARLY=0\n",
                      self.simulate("level01_baseline_sm90-EARLY=0").stderr)
        self.assertEqual(self.simulate("level01_baseline_sm100").stderr, "")

    def test_a_wrapper_that_was_changed_since(self) -> None:
        os.utime(self.root / "common" / "ptx" / "barrier.cuh", (2000, 2000))
        self.assertIn("common/ptx/barrier.cuh is newer", self.simulate("level01_baseline_sm100").stderr)

    def test_a_program_in_this_folder(self) -> None:
        self.program("mine", "#!/bin/sh\necho it ran\n")
        answer = self.run_command(self.scripts / "sim.sh", "mine")
        self.assertEqual(answer.stdout, "it ran\n", answer.stderr)
        self.assert_exit(2, self.run_command(self.scripts / "sim.sh", "build"), "build is not an executable file.")


if __name__ == "__main__":
    unittest.main()
