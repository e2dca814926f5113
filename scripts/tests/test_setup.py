from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
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


if __name__ == "__main__":
    unittest.main()
