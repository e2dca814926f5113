"""build.sh and test.sh, names and switches, and sim.sh's word about programs that are older than their sources."""
from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests import support

JOBS = int(subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout) + 1


class Building(support.Sandbox):
    """build.sh with a CMake that only writes down how it was called."""

    def setUp(self) -> None:
        super().setUp()
        self.program("scripts/setup.sh", "#!/bin/sh\necho setup $*\n")
        self.program("bin/cmake", """#!/bin/sh
            [ "$1" != --version ] || { echo cmake version 3.30.0; exit; }
            echo "cmake $* nvcc=$CUDACXX" >> cmake.log
            [ ! -e "fail$1" ] || exit 1
        """)
        self.nvcc_path = self.program(".cuda/bin/nvcc", "#!/bin/sh\necho release 13.0, V13\n")
        shutil.rmtree(self.root / "build")

    def call(self, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
        environment.setdefault("LADDER_IGNORE_SYSTEM_CUDA", "1")
        return self.run_command(*command, PATH=f"{self.root}/bin:{os.environ['PATH']}", **environment)

    def build(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (self.root / "cmake.log").unlink(missing_ok=True)
        return self.call(self.scripts / "build.sh", *arguments, **environment)

    def ctest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.scripts / "test.sh", *arguments)

    def configured(self, **entries: object) -> None:
        """As CMake leaves build/ behind."""
        true = shutil.which("true")
        cache = dict(CMAKE_HOME_DIRECTORY=self.root, CMAKE_CUDA_COMPILER=self.nvcc_path, CMAKE_COMMAND=true,
                     CMAKE_MAKE_PROGRAM=true, GTest_DIR="/usr/lib/cmake/GTest")
        cache.update(entries)  # type: ignore[arg-type]
        self.write("build/CMakeCache.txt", "".join(f"{key}:PATH={value}\n" for key, value in cache.items()))
        self.write("build/build.ninja", "")

    def steps(self) -> list[str]:
        log = (self.root / "cmake.log").read_text(encoding="utf-8")
        return [line.split(" nvcc=")[0] for line in log.splitlines()]

    CONFIGURE = "cmake --preset default"

    def compile(self, *targets: str) -> str:
        end = f" --target {' '.join(targets)}" if targets else ""
        return f"cmake --build --preset default --parallel {JOBS}{end}"


class Steps(Building):
    def test_first_and_second_time(self) -> None:
        self.assert_exit(0, self.build())
        self.assertEqual(self.steps(), [self.CONFIGURE, self.compile()])
        self.assertIn(f"nvcc={self.nvcc_path}", (self.root / "cmake.log").read_text(encoding="utf-8"))
        self.configured()
        answer = self.build("one", "two")
        self.assert_exit(0, answer)
        self.assertEqual(self.steps(), [self.compile("one", "two")])
        self.assertEqual(answer.stdout, "setup --no-tests\n")

    def test_a_build_that_cannot_go_on_starts_afresh(self) -> None:
        for entries in ({"CMAKE_HOME_DIRECTORY": "/elsewhere"}, {"CMAKE_CUDA_COMPILER": "/gone/nvcc"},
                        {"CMAKE_COMMAND": "/gone/cmake"}, {"CMAKE_CUDA_COMPILER": shutil.which("true")}):
            with self.subTest(entries):
                self.configured(**entries)
                self.assert_exit(0, self.build())
                self.assertEqual(self.steps(), [self.CONFIGURE + " --fresh", self.compile()])
        self.configured()
        (self.root / "build" / "build.ninja").unlink()
        self.build()
        self.assertEqual(self.steps()[0], self.CONFIGURE + " --fresh")

    def test_another_compiler_stays_if_nobody_asked(self) -> None:
        self.configured(CMAKE_CUDA_COMPILER=shutil.which("true"))
        self.assert_exit(0, self.build(LADDER_IGNORE_SYSTEM_CUDA="", CUDACXX=""))
        self.assertEqual(self.steps(), [self.compile()])

    def test_changed_presets_and_a_googletest_that_came_later(self) -> None:
        self.configured()
        os.utime(self.root / "build" / "build.ninja", (1, 1))
        self.build()
        self.assertEqual(self.steps(), [self.CONFIGURE, self.compile()])
        self.configured(GTest_DIR="GTest_DIR-NOTFOUND")
        self.build("--tests", GTest_DIR="/somewhere")
        self.assertEqual(self.steps(), [self.CONFIGURE, self.compile()])

    def test_failures(self) -> None:
        self.write("fail--preset", "")
        self.assert_exit(7, self.build())
        self.configured()
        self.write("fail--build", "")
        self.assert_exit(8, self.build())
        self.program("scripts/setup.sh", "#!/bin/sh\nexit 5\n")
        self.assert_exit(5, self.build())
        self.assert_exit(2, self.build("--colour"), "there is no option '--colour'")

    def test_two_at_a_time_wait_for_one_another(self) -> None:
        self.configured()
        self.program("bin/cmake", """#!/bin/sh
            [ "$1" != --version ] || { echo cmake version 3.30.0; exit; }
            echo begin >> order.log
            sleep 0.5
            echo end >> order.log
        """)
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda _: self.build(), range(3)))
        for answer in answers:
            self.assert_exit(0, answer)
        self.assertEqual((self.root / "order.log").read_text(encoding="utf-8").split(), ["begin", "end"] * 3)
        waited = "build.sh: waiting for another scripts/build.sh to end.\n"
        self.assertEqual(sorted(answer.stderr for answer in answers)[1:], [waited] * 2)

    def test_test_sh_hands_its_options_to_ctest(self) -> None:
        self.configured()
        self.program("bin/ctest", "#!/bin/sh\necho ctest $*\nexit 8\n")
        shutil.copytree(support.ROOT / ".ci", self.root / ".ci")
        for command in ([self.scripts / "test.sh", "-R", "harness"], [self.root / ".ci" / "run"]):
            answer = self.call(*command)
            self.assertEqual(answer.returncode, 8)
            expected = ["ctest", "--preset", "default", "--parallel", str(JOBS), *command[1:]]
            self.assertEqual(answer.stdout.splitlines()[-1].split(), expected)

    def test_test_sh_does_not_build_for_an_option_that_nobody_knows(self) -> None:
        self.program("bin/ctest", "#!/bin/sh\necho '  --verbose, -V   = tell more'\n")
        self.assert_exit(2, self.ctest("--colour"), "an option '--colour'")
        self.assertFalse((self.root / "cmake.log").exists())
        self.write("common/tests/budgets.py", "")
        self.assert_exit(0, self.ctest("--verbose"))

    def test_test_sh_fails_when_a_label_takes_too_long(self) -> None:
        self.configured()
        self.program("bin/ctest", "#!/bin/sh\n")
        self.write("common/tests/budgets.py", "import sys\nprint(*sys.argv[1:])\nsys.exit(1)\n")
        for options, quiet in (([], ""), (["-R", "sim"], " --quiet")):
            answer = self.ctest(*options)
            self.assert_exit(9, answer)
            self.assertTrue(answer.stdout.endswith(f"--ctest {self.root}/bin/ctest{quiet}\n"), answer.stdout)

    def test_the_long_tests_have_no_budget(self) -> None:
        self.configured()
        self.program("bin/ctest", "#!/bin/sh\necho ctest $*\n")
        self.write("common/tests/budgets.py", "import sys\nsys.exit(1)\n")
        answer = self.ctest("--all", "-R", "sim")
        self.assert_exit(0, answer)
        self.assertTrue(answer.stdout.endswith("--build-config all -R sim\n"), answer.stdout)


class Switches(Building):
    LEVELS = ("level01_baseline", "level08_deep_pipeline")

    def setUp(self) -> None:
        super().setUp()
        self.configured()
        self.write("level08_deep_pipeline/kernel_sm100.cuh", "#ifndef BLOCK_M  // rows\n#define BLOCK_M 128\n#endif\n"
                   "#ifndef EARLY\n#define EARLY 1\n#endif\n#if LADDER_ARCH == 100\n#endif\n")
        self.write("level08_deep_pipeline/plan_sm90.h", "#ifndef EARLY\n#define EARLY 1\n#endif\n")

    def built(self) -> list[str]:
        """The targets, and whether CMake was told to look again."""
        steps = self.steps()
        targets = steps[-1].partition(" --target ")[2].split()
        return ["configured"] * steps[0].startswith(self.CONFIGURE) + targets

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
