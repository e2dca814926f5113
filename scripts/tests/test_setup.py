from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import support

# A Python environment whose pip installs fakes, and writes down what it was asked for.
FAKE_VENV_PYTHON = f"""#!/bin/bash
case "$1 $2 $3" in
  '-m pip --version') exit 0 ;;
  '-m pip install') ;;
  *) exec {sys.executable} "$@" ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
echo "$*" >> "$root/pip.log"
[ ! -e "$root/offline" ] || {{ echo 'no network here'; exit 1; }}
while [ $# -gt 1 ]; do
  [ "$1" != --target ] || folder=$2
  shift
done
[ -n "${{folder-}}" ] || exit 0
mkdir -p "$folder"/nvidia/cu13/{{bin,include,lib,nvvm}} "$folder/some-1.0.dist-info"
touch "$folder"/nvidia/cu13/lib/libcudart.so.13
printf '#!/bin/sh\\necho "Cuda compilation tools, release 13.0, V13.0.88"\\n' > "$folder/nvidia/cu13/bin/nvcc"
chmod +x "$folder/nvidia/cu13/bin/nvcc"
"""

JOBS = int(subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout) + 1


class Setup(support.Sandbox):
    def tools(self) -> Path:
        """A folder to be the whole PATH: what a bare system has, CMake and Ninja, but neither compiler nor apt-get."""
        folder = self.root / "tools"
        folder.mkdir()
        for name in ("basename bash cat cmake dirname env flock grep head ldconfig mktemp ninja readlink rm sed seq sh "
                     "sleep sort tail uname").split():
            found = shutil.which(name)
            if found:
                (folder / name).symlink_to(found)
        (folder / "python3").symlink_to(sys.executable)
        return folder

    def setup_sh(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_command(self.scripts / "setup.sh", *arguments, **environment)

    def toolchain(self, code: str, **environment: str) -> str:
        """What a few lines of bash print that use toolchain.sh."""
        code = f"set -euo pipefail; source scripts/toolchain.sh; {code}"
        answer = self.run_command("bash", "-c", code, **environment)
        self.assert_exit(0, answer)
        return answer.stdout.strip()

    def nvcc(self, name: str, version: str) -> Path:
        return self.program(name, f"#!/bin/sh\necho 'Cuda compilation tools, release {version}, V{version}.1'\n")

    # --- what is there ---

    def test_versions(self) -> None:
        for have, wanted, enough in (("3.25", "3.25", True), ("3.25.1", "3.25", True), ("3.9", "3.25", False),
                                     ("4.0", "3.25", True), ("", "3.25", False), ("13.0", "13.0", True),
                                     ("12.9", "13.0", False), ("100.1", "13.0", True)):
            with self.subTest(have=have, wanted=wanted):
                answer = self.toolchain(f"version_at_least '{have}' '{wanted}' && echo yes || echo no")
                self.assertEqual(answer, "yes" if enough else "no")

    def test_first_good_nvcc_wins(self) -> None:
        old, new = self.nvcc("old/nvcc", "12.8"), self.nvcc("new/nvcc", "13.2")
        code = f"nvcc_candidates() {{ printf '%s\\n' {old} '' /nowhere/nvcc {new}; }}; find_nvcc; "
        answer = self.toolchain(code + 'echo "$NVCC|$NVCC_VERSION|$NVCC_REJECTED"')
        self.assertEqual(answer, f"{new}|13.2|{old} (CUDA 12.8),")

    def test_where_nvcc_is_looked_for(self) -> None:
        names = self.toolchain("nvcc_candidates", CUDACXX="/mine/nvcc", CUDA_HOME="/home/cuda").splitlines()
        self.assertEqual(names[:2], ["/mine/nvcc", str(self.root / ".cuda/bin/nvcc")])
        self.assertIn("/home/cuda/bin/nvcc", names)
        self.assertIn("/usr/local/cuda/bin/nvcc", names)
        names = self.toolchain("nvcc_candidates", CUDACXX="/mine/nvcc", LADDER_IGNORE_SYSTEM_CUDA="1").splitlines()
        self.assertEqual(names, [str(self.root / ".cuda/bin/nvcc")])

    def test_a_suitable_gxx(self) -> None:
        for name, version in (("g++", "9.4.0"), ("g++-14", "14.1.0"), ("g++-12", "12.2.0")):
            self.program(f"bin/{name}", f"#!/bin/sh\necho {version}\n")
        path = f"{self.root}/bin:{os.environ['PATH']}"
        self.assertIn("14.1.0", self.toolchain("find_gxx; echo $GXX_VERSION $GXX", PATH=path))
        self.program("bin/g++", "#!/bin/sh\necho 12.3.0\n")
        self.assertIn("12.3.0", self.toolchain("find_gxx; echo $GXX_VERSION $GXX", PATH=path))
        self.program("bin/mine", "#!/bin/sh\necho 13.0.0\n")
        self.assertIn("bin/mine", self.toolchain("find_gxx; echo $GXX", PATH=path, CXX="mine"))

    def test_an_old_cmake_does_not_count(self) -> None:
        self.program("bin/cmake", "#!/bin/sh\necho cmake version 3.22.1\n")
        path = f"{self.root}/bin:{os.environ['PATH']}"
        self.assertEqual(self.toolchain("find_cmake; echo $CMAKE", PATH=path), "")
        self.program(".venv/bin/cmake", "#!/bin/sh\necho cmake version 3.31.0\n")
        self.assertEqual(self.toolchain("find_cmake; echo $CMAKE", PATH=path), str(self.root / ".venv/bin/cmake"))

    def test_programs_that_do_not_run_do_not_count(self) -> None:
        for name in ("cmake", "g++", "python3"):
            self.program(f"bin/{name}", "#!/nowhere/interpreter\n")
        for name in ("cmake", "python3"):
            self.program(f".venv/bin/{name}", "#!/nowhere/interpreter\n")
        nvcc = self.program("bin/nvcc", "#!/nowhere/interpreter\n")
        code = "find_cmake; find_python; find_gxx; find_nvcc; echo \"$CMAKE|$PYTHON|$NVCC|$NVCC_REJECTED\""
        code = f"nvcc_candidates() {{ echo {nvcc}; }}; {code}"
        answer = self.toolchain(code, PATH=f"{self.root}/bin:/usr/bin:/bin")
        self.assertEqual(answer, f"|||{nvcc} (does not run),")

    # --- what is said and done ---

    def test_bad_options(self) -> None:
        self.assert_exit(2, self.setup_sh("--colour"), "there is no option '--colour'")
        answer = self.setup_sh("--help")
        self.assert_exit(0, answer)
        self.assertIn("Exit codes:", answer.stdout)

    def test_dry_run_changes_nothing(self) -> None:
        before = sorted(self.root.rglob("*"))
        answer = self.setup_sh("--dry-run", LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(0, answer)
        self.assertIn("Would install from PyPI into .cuda: CUDA 13.0", answer.stdout)
        self.assertEqual(sorted(self.root.rglob("*")), before)

    def test_no_compiler_and_no_way_to_get_one(self) -> None:
        tools = self.tools()
        answer = self.setup_sh(PATH=str(tools), LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(4, answer, "this system has no apt-get. Install with its own tools what Debian calls g++")

    def test_apt_get_fails(self) -> None:
        tools = self.tools()
        self.program("tools/apt-get", '#!/bin/sh\necho "apt-get $*" >> apt.log\necho no network here\nexit 100\n')
        self.program("tools/sudo", '#!/bin/sh\nshift\nexec "$@"\n')
        answer = self.setup_sh(PATH=str(tools), LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(4, answer, "apt-get could not install g++")
        self.assertIn("no network here", answer.stderr)
        self.assertRegex((self.root / "apt.log").read_text(), r" update\napt-get .*\binstall\b.* g\+\+")

    def test_what_can_be_done_without(self) -> None:
        code = "eval \"$(sed -n '/^indispensable()/,/^}/p' scripts/setup.sh)\"; NVCC=x CMAKE=x NINJA=%s; "
        packages = "indispensable cmake ninja-build libopenblas-dev python3-venv g++ libgtest-dev | xargs"
        self.assertEqual(self.toolchain(code % "x" + packages), "g++ libgtest-dev")
        self.assertEqual(self.toolchain(code % "" + packages), "python3-venv g++ libgtest-dev")

    def test_a_toolkit_from_wheels(self) -> None:
        self.program(".venv/bin/python3", FAKE_VENV_PYTHON)
        answer = self.setup_sh("--no-tests", LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(0, answer)
        self.assertRegex(answer.stdout, r"Installing CUDA 13.0 \(about 270 MB\) from PyPI into .cuda: done in \d+ s\n")
        self.assertRegex(answer.stdout, r"Ready: .*CUDA 13.0 \(.cuda/bin/nvcc\)")
        cuda = self.root / ".cuda"
        self.assertTrue((cuda / "lib64" / "libcudart.so").samefile(cuda / "lib" / "libcudart.so.13"))
        self.assertTrue((cuda / "licences" / "some-1.0.dist-info").exists())
        self.assertFalse((cuda / "nvidia").exists() or (self.root / ".cuda.new").exists())
        self.assertIn("nvidia-cuda-nvcc==13.0.*", (self.root / "pip.log").read_text(encoding="utf-8"))

        # It may be moved with the repository, and a second run has nothing to do.
        links = [os.readlink(path) for path in cuda.rglob("*") if path.is_symlink()]
        self.assertEqual([link for link in links if os.path.isabs(link)], [])
        again = self.setup_sh("--no-tests", LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assertNotIn("CUDA 13.0 (about", again.stdout)

    def test_a_path_with_a_space(self) -> None:
        moved = self.root / "my repository"
        shutil.copytree(self.scripts, moved / "scripts")
        answer = self.run_command(moved / "scripts" / "setup.sh", "--dry-run", LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(5, answer, "whose path has a space")

    def test_no_network(self) -> None:
        self.program(".venv/bin/python3", FAKE_VENV_PYTHON)
        self.write("offline", "")
        answer = self.setup_sh("--no-tests", LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(5, answer, "no CUDA toolkit could be installed from PyPI")
        self.assertIn("no network here", answer.stderr)
        self.assertFalse((self.root / ".cuda").exists())

    def test_charts_are_optional(self) -> None:
        self.program(".venv/bin/python3", FAKE_VENV_PYTHON.replace("*) exec", "-c*matplotlib*) exit 1 ;;\n  *) exec"))
        self.write("offline", "")
        self.nvcc(".cuda/bin/nvcc", "13.0")
        for name in ("clang-format", "mypy", "pytest", "ruff", "shellcheck"):
            self.program(f".venv/bin/{name}", "#!/bin/sh\n")
        for name in ("cuobjdump", "nvdisasm"):
            self.program(f".cuda/bin/{name}", "#!/bin/sh\n")
        # A user who only builds and runs gets none, without a message.
        answer = self.setup_sh("--no-tests")
        self.assert_exit(0, answer)
        self.assertNotIn("matplotlib", answer.stdout)
        self.program("bin/chromium", "#!/bin/sh\n")
        answer = self.setup_sh(GTest_DIR="/here", PATH=f"{self.root}/bin:{os.environ['PATH']}")
        self.assert_exit(0, answer)
        self.assertIn("without matplotlib", answer.stdout)

    def test_an_old_toolkit_is_named(self) -> None:
        self.program(".venv/bin/python3", FAKE_VENV_PYTHON)
        old = self.nvcc("old/nvcc", "12.4")
        with (self.scripts / "toolchain.sh").open("a", encoding="utf-8") as file:
            file.write(f"\nnvcc_candidates() {{ printf '%s\\n' {old} \"$LOCAL_CUDA/bin/nvcc\"; }}\n")
        answer = self.setup_sh("--no-tests")
        self.assert_exit(0, answer)
        self.assertIn("Not used, because CUDA 13.0 is the first that compiles for sm_100a: "
                      f"{old} (CUDA 12.4).", answer.stdout)


class Build(support.Sandbox):
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

    def build(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (self.root / "cmake.log").unlink(missing_ok=True)
        environment.setdefault("LADDER_IGNORE_SYSTEM_CUDA", "1")
        return self.run_command(self.scripts / "build.sh", *arguments,
                                PATH=f"{self.root}/bin:{os.environ['PATH']}", **environment)

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
            answer = self.run_command(*command, PATH=f"{self.root}/bin:{os.environ['PATH']}",
                                      LADDER_IGNORE_SYSTEM_CUDA="1")
            self.assertEqual(answer.returncode, 8)
            expected = ["ctest", "--preset", "default", "--parallel", str(JOBS), *command[1:]]
            self.assertEqual(answer.stdout.splitlines()[-1].split(), expected)

    def test_test_sh_does_not_build_for_an_option_that_nobody_knows(self) -> None:
        self.program("bin/ctest", "#!/bin/sh\necho '  --verbose, -V   = tell more'\n")
        path = f"{self.root}/bin:{os.environ['PATH']}"
        self.assert_exit(2, self.run_command(self.scripts / "test.sh", "--colour", PATH=path), "an option '--colour'")
        self.assertFalse((self.root / "cmake.log").exists())
        self.write("common/tests/budgets.py", "")
        self.assert_exit(0, self.run_command(self.scripts / "test.sh", "--verbose", PATH=path,
                                             LADDER_IGNORE_SYSTEM_CUDA="1"))

    def test_test_sh_fails_when_a_label_takes_too_long(self) -> None:
        self.configured()
        self.program("bin/ctest", "#!/bin/sh\n")
        self.write("common/tests/budgets.py", "import sys\nprint(*sys.argv[1:])\nsys.exit(1)\n")
        for options, quiet in (([], ""), (["-R", "sim"], " --quiet")):
            answer = self.run_command(self.scripts / "test.sh", *options, PATH=f"{self.root}/bin:{os.environ['PATH']}",
                                      LADDER_IGNORE_SYSTEM_CUDA="1")
            self.assert_exit(9, answer)
            self.assertTrue(answer.stdout.endswith(f"--ctest {self.root}/bin/ctest{quiet}\n"), answer.stdout)

    def test_the_long_tests_have_no_budget(self) -> None:
        self.configured()
        self.program("bin/ctest", "#!/bin/sh\necho ctest $*\n")
        self.write("common/tests/budgets.py", "import sys\nsys.exit(1)\n")
        answer = self.run_command(self.scripts / "test.sh", "--all", "-R", "sim",
                                  PATH=f"{self.root}/bin:{os.environ['PATH']}", LADDER_IGNORE_SYSTEM_CUDA="1")
        self.assert_exit(0, answer)
        self.assertTrue(answer.stdout.endswith("--build-config all -R sim\n"), answer.stdout)


class Style(unittest.TestCase):
    def test_shellcheck(self) -> None:
        shellcheck = shutil.which("shellcheck")
        if not shellcheck:
            self.skipTest("shellcheck is not installed")
        mine = ["setup.sh", "build.sh", "run.sh", "test.sh", "toolchain.sh"]
        answer = subprocess.run([shellcheck, "-x", "-P", str(support.ROOT), *mine], cwd=support.SCRIPTS,
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)


if __name__ == "__main__":
    unittest.main()
