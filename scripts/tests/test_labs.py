from __future__ import annotations

import collections
import re
import subprocess
import sys
import unittest

from ladder.levels import lab, names, source
from ladder.results import data
from tests import support

# A kernel that is a shell script, and a compiler that copies it: what a lab does to it shows at once.
KERNEL = "#!/bin/sh\n# the kernel\necho level01 is right\nexit 0\n"
NVCC = f"""#!{sys.executable} -ES
import os, re, shutil, sys
out = sys.argv[sys.argv.index("-o") + 1]
source = next(a for a in sys.argv if a.endswith("main.cu"))
kernel = os.path.join(os.path.dirname(source), "kernel_sm100.cuh")
if "not_cuda" in open(kernel).read():
    sys.exit("Arguments mismatch")
shutil.copy(kernel, out)
os.chmod(out, 0o755)
"""
SIM = """#!/bin/sh
while [ ! -x "$1" ]; do
  case $1 in --latest) latest=1 ;; --reports) reports=$2 ;; esac
  [ "$1" = --counters ] && echo '{"launches": [{"waits": 3, "shared": [
    {"instruction": "st.shared.u32", "warp_accesses": 2, "wavefronts": 64}]}]}' > "$2"
  shift
done
LATEST=$latest REPORTS=$reports exec "$@"
"""


def lab_text(change: str, modes: str = "default=wrong", more: str = "") -> str:
    return (f"Question: what\n  happens?\nExpect: this.\nModes: {modes}\n{more}\n"
            f"--- a/level01_baseline/kernel_sm100.cuh\n+++ b/level01_baseline/kernel_sm100.cuh\n"
            f"@@ -1,4 +1,4 @@\n #!/bin/sh\n # the kernel\n echo level01 is right\n-exit 0\n+{change}\n")


class Fakes(support.Sandbox):
    """labs.py on levels that are shell scripts."""

    def setUp(self) -> None:
        super().setUp()
        for path in (self.root / "level01_baseline").iterdir():
            path.unlink()
        self.program("level01_baseline/kernel_sm100.cuh", KERNEL)
        self.program("build/bin/level01_baseline_sm100", KERNEL)
        self.program("scripts/sim.sh", SIM)
        self.write("level01_baseline/main.cu", "")
        self.write("common/mma/a.h", "")
        self.write("common/ptx/b.cuh", "")
        nvcc = self.program("nvcc", NVCC)
        for name in ("harness", "base"):
            self.write(f"build/common/{name}/lib{name}.a", "")
        cudart = self.write("cuda/libcudart.so.13", "")
        linker = self.program("linker", '#!/bin/bash\ncp "$1" "${@: -1}"\n')
        self.write("build/CMakeCache.txt", f"CMAKE_CUDA_COMPILER:FILEPATH={nvcc}\nLADDER_CUDART:FILEPATH={cudart}\n"
                                           f"CMAKE_CXX_COMPILER:STRING={linker}\n")

    def lab(self, name: str, *arguments: str, **more: str) -> None:
        self.write(f"level01_baseline/labs/{name}.patch", lab_text(*arguments, **more))

    def labs(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run_command(sys.executable, "-B", self.scripts / "labs.py", *arguments)

    def test_a_lab_that_does_what_it_predicts(self) -> None:
        self.lab("broken", "echo D is WRONG; exit 1")
        answer = self.labs("run", "1", "bro")
        self.assert_exit(0, answer)
        for words in ("Question  what happens?", "-exit 0", "D is WRONG", "default: wrong, as predicted",
                      "Expected  this."):
            self.assertIn(words, answer.stdout)

    def test_every_way_to_write_a_level(self) -> None:
        self.lab("broken", "echo D is WRONG; exit 1")
        for level in ("1", "01", "level01", "level01_baseline"):
            self.assert_exit(0, self.labs("run", level, "bro"))
            self.assertEqual(self.labs("list", level).stdout, self.labs().stdout)

    def test_a_prediction_that_fails(self) -> None:
        self.lab("harmless", "exit 0 # nothing")
        self.lab("silent", "exit 1", more="Shows: something\n")
        self.lab("counted", "exit 0 #", "default=right", more="Counts: waits 3 -> 4\n")
        self.assertIn("default: right, but wrong was predicted", self.labs("--check", "level01/harmless").stdout)
        answer = self.labs("--check")
        self.assert_exit(1, answer)
        self.assertIn("nothing says 'something', which was predicted", answer.stdout)
        self.assertIn("waits: 3 -> 3, but 3 -> 4 was predicted", answer.stdout)
        self.assertIn("0 of 3 labs", answer.stdout)
        self.assert_exit(1, self.labs("run", "level01_baseline", "harmless"))

    def test_a_patch_as_git_prints_it(self) -> None:
        header, _, patch = lab_text("echo D is WRONG; exit 1").partition("\n--- a/")
        name = "level01_baseline/kernel_sm100.cuh"
        self.write("level01_baseline/labs/broken.patch",
                   f"{header}diff --git a/{name} b/{name}\nindex 12345678..9abcdef0 100755\n--- a/{patch}")
        self.assert_exit(0, self.labs("run", "1", "broken"))

    def test_all_outcomes(self) -> None:
        self.lab("fault", f"echo '{support.finding('fault')}' >$REPORTS; exit 3", "default=fault")
        self.lab("deadlock", f"echo '{support.finding('deadlock')}' >$REPORTS; exit 3", "default=deadlock|fault")
        self.lab("late", "exit ${LATEST:-0}", "default=right latest=wrong seeds=right")
        self.lab("refused", "not_cuda", "compile=refused", more="Shows: Arguments mismatch\n")
        self.lab("counted", "exit 0 #", "default=right",
                 more="Counts: waits 3 -> 3\nCounts: shared st.shared wavefronts 32 -> 32\n")
        answer = self.labs("--check", "--jobs", "1")
        self.assert_exit(0, answer)
        self.assertIn("All 5 labs do what they predict.", answer.stdout)
        self.assertEqual([line.split("/")[1].split()[0] for line in self.labs().stdout.splitlines()],
                         ["counted", "deadlock", "fault", "late", "refused"])

    def test_broken_labs(self) -> None:
        self.lab("stale", "exit 1")
        self.write("level01_baseline/kernel_sm100.cuh", KERNEL.replace("exit 0", "exit  0"))
        self.assert_exit(4, self.labs("run", "1", "stale"), "level01/stale does not apply to the kernel any more")
        self.assert_exit(1, self.labs("--check"))
        for text, sentence in ((lab_text("exit 1", "later=wrong"), "'Modes: later=wrong'"),
                               (lab_text("exit 1", more="Colour: red\n"), "no field 'Colour'"),
                               (lab_text("exit 1", more="Counts: waits\n"), "'waits' is not like"),
                               (lab_text("exit 1", more="Arch: sm90\n"), "one architecture"),
                               (lab_text("exit 1").replace("Expect", "Shows"), "'Expect' is missing"),
                               (lab_text("exit 1").partition("---")[0], "no patch below the header")):
            with self.subTest(sentence):
                self.write("level01_baseline/labs/stale.patch", text)
                self.assert_exit(4, self.labs(), sentence)

    def test_wrong_command_lines(self) -> None:
        self.lab("one", "exit 1")
        for arguments, sentence in ((["run"], "run needs a level and the name"),
                                    (["run", "x", "one"], "there is no level 'x'"),
                                    (["run", "1", "two"], "Level 1 has no lab 'two'; it has: one."),
                                    (["list", "level02"], "no labs of level 2"),
                                    (["list", "1", "one"], "list takes a level only"),
                                    (["walk"], "invalid choice"), (["--check", "1/x"], "no lab 'x'"),
                                    (["--check", "--device", "gpu"], "--check runs on the simulated device")):
            with self.subTest(arguments):
                self.assert_exit(2, self.labs(*arguments), sentence)

    def test_nothing_is_built(self) -> None:
        self.lab("one", "exit 1")
        (self.root / "build" / "CMakeCache.txt").unlink()
        self.assert_exit(4, self.labs("run", "1", "one"), "Run scripts/build.sh first")

    def test_no_gpu(self) -> None:
        self.lab("one", "exit 1")
        self.assert_exit(77, self.run_with_gpus("labs.py", [("NVIDIA H200", 90)], "run", "1", "one", "--device", "gpu"),
                         "needs a GPU such as B200, GB200")

    def test_on_a_gpu(self) -> None:
        self.lab("one", "exit 1")
        self.lab("two", "echo with $*; exit 0", "default=right")
        answer = self.run_with_gpus("labs.py", [("NVIDIA B200", 100)], "run", "1", "one", "--device", "gpu")
        self.assert_exit(0, answer)
        self.assertIn("WRONG", answer.stdout)
        answer = self.run_with_gpus("labs.py", [("NVIDIA B200", 100)], "run", "1", "two", "--device", "gpu")
        self.assertIn("with --bench --sizes 4096", answer.stdout)


class HostPart(unittest.TestCase):
    KERNEL = """struct Config { static constexpr int STAGES = 4; };  // four
    __device__ inline void load(int a) { if (a) { asm volatile("{ mov; }" :: "r"(a)); } /* } */ }
    __host__ __device__ constexpr int tile(int a) { return a + 1; }
    template <int N> __global__ void __launch_bounds__(128, 1) gemm(int m) { load(N); }
    inline int launch() { gemm<2><<<1, 128, Config::STAGES>>>(3); return tile(7); }
    """

    def test_what_only_the_device_has(self) -> None:
        for old, new, same in (("mov", "add", True), ("if (a) {", "{", True), ("load(N)", "load(N + 1)", True),
                               ("// four", "// ring", True), ("load(N);", "}} void other() {", False),
                               ("STAGES = 4", "STAGES = 3", False), ("a + 1", "a + 2", False),
                               ("128, 1", "256, 1", False), ("(3)", "(4)", False),
                               ("int a) { if", "long a) { if", False)):
            with self.subTest(old):
                changed = self.KERNEL.replace(old, new)
                self.assertNotEqual(changed, self.KERNEL)
                self.assertEqual(source.host_part(changed) == source.host_part(self.KERNEL), same)


class TheLabs(unittest.TestCase):
    """The labs of the course."""

    LABS = lab.all_labs()

    def test_every_level_has_some(self) -> None:
        number = collections.Counter(one.level for one in self.LABS if not one.is_ablation)
        for level in names.all_levels():
            self.assertGreaterEqual(number[level], 2, level)

    def test_what_the_notes_tried_has_an_ablation_on_both_architectures(self) -> None:
        reported = data.read_rows(support.ROOT / "docs" / "results" / data.REPORTED_ABLATIONS)[1]
        for row in reported:
            arches = {one.arch for one in self.LABS if one.notes.removesuffix(" (undone)") == row["optimisation"]}
            self.assertEqual(arches, {90, 100}, row["optimisation"])

    def test_ablations_say_what_they_are_worth(self) -> None:
        for one in self.LABS:
            if one.is_ablation:
                self.assertEqual(set(one.all_modes.values()), {"right"}, one.title)
                self.assertTrue(one.worth[1], one.title)

    def test_every_patch_applies(self) -> None:
        for one in self.LABS:
            with self.subTest(one.title):
                lab.apply(one, support.ROOT, dry=True)
                self.assertTrue(all(name.startswith((f"{one.level}/", "common/")) for name in one.files), one.files)

    def test_modes_that_are_not_named(self) -> None:
        one = lab.find_lab(self.LABS, "5", "no_read_wait")
        self.assertEqual(one.modes, {"default": "right", "latest": "fault", "seeds": "right", "check": "race"})
        self.assertEqual(one.all_modes, {**one.modes, "strict": "race"})
        one = lab.find_lab(self.LABS, "2", "own_barrier")
        self.assertEqual({one.all_modes[mode] for mode in ("latest", "seeds", "strict")}, {"deadlock"})
        self.assertEqual(lab.find_lab(self.LABS, "1", "missing_predicate").all_modes, {"compile": "refused"})

    def test_the_debugging_page_quotes_them(self) -> None:
        """What docs/debugging.md says that a lab shows is what the lab is checked for, or a sentence of report/."""
        sources = "".join(file.read_text(encoding="utf-8")
                          for file in (support.ROOT / "common/sim/report").iterdir())
        sentences = re.sub(r'"\s*"', "", sources) + "wait at barrier "
        parameters = re.compile(r"(?:lanes? )?\d+(?: to \d+)?|arrivals?|\bA\b|\bha(?:s|ve)\b")
        page = (support.ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
        linked = set()
        for row in page.splitlines():
            cells = row.strip("|").split("|")
            found = [one for one in self.LABS if f"](../{one.level}/labs/{one.name}.patch)" in row]
            linked |= {one.title for one in found}
            for words in re.findall(r"`([^`]+)`", cells[0]) if row.startswith("| ") and found else []:
                is_reported = all(part in sentences for part in parameters.split(words))
                for one in found:
                    self.assertTrue(is_reported or words.removeprefix("habit ") in one.finds or
                                    any(words in shown or shown in words for shown in one.shows), (one.title, words))
        self.assertGreater(len(linked), 30)

    def test_a_spread_has_something_of_everything(self) -> None:
        """What every run of the tests has; `labs.py --check` without --spread runs all."""
        some = lab.spread(self.LABS)
        self.assertLessEqual(len(some), 12)
        for what in ("level", "arch", "is_ablation"):
            self.assertEqual({getattr(one, what) for one in some}, {getattr(one, what) for one in self.LABS}, what)
        outcomes = {outcome for one in some for mode in one.modes.values() for outcome in mode.split("|")}
        self.assertEqual(outcomes, {outcome for one in self.LABS for mode in one.modes.values()
                                    for outcome in mode.split("|")})
        self.assertTrue(any(one.counts for one in some))
        self.assertTrue(any(set(one.modes.values()) == {"right", "race"} for one in some), "only --check tells")


if __name__ == "__main__":
    unittest.main()
