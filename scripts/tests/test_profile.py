from __future__ import annotations

import json
import subprocess
import sys
import unittest

from ladder.context import Context
from ladder.levels import description, names
from ladder.model import profiling
from ladder.pages.blocks import profiled
from ladder.results import data
from ladder.sim import observations
from tests import support

H200 = [("NVIDIA H200", 90)]
LEVEL = f"#!{sys.executable} -ES\n" + "import sys\nsys.exit('--fail' in open(sys.argv[0] + '.how').read())\n"

# Nsight Compute, as far as it matters: lists its metrics, or runs the program and writes a row per launch.
PROFILER = f"#!{sys.executable} -ES" + r"""
import os, subprocess, sys
if "--version" in sys.argv:
    sys.exit(print("NVIDIA Nsight Compute\nVersion 2025.3.1.0 (build 1)"))
if "--query-metrics" in sys.argv:
    sys.exit(print("Metric   Unit\n" + "\n".join(f"{m}   of something" for m in os.environ["METRICS"].split())))
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
log = sys.argv[sys.argv.index("--log-file") + 1]
code = subprocess.run(sys.argv[sys.argv.index("--log-file") + 2:]).returncode
with open(log, "w") as file:
    for cells in (["ID", *metrics], ["", *metrics], *([i, *("1,500" for _ in metrics)] for i in range(2))):
        print(",".join(f'"{c}"' for c in cells), file=file)
sys.exit(code)
"""
METRICS = " ".join(("sm__cycles_elapsed", "dram__bytes_read", "lts__t_sectors_op_read",
                    "lts__t_sectors_op_read_lookup_hit", "sm__warps_active"))


class Counters(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        for level in self.LEVELS:
            self.program(f"build/bin/{level}_sm90", LEVEL)
            self.behave_level(level, "")
        self.program("tools/ncu", PROFILER)
        self.path = f"{self.root / 'tools'}:/usr/bin:/bin"
        self.output = self.root / "docs" / "results" / "h200_profile.csv"

    def behave_level(self, level: str, how: str) -> None:
        self.write(f"build/bin/{level}_sm90.how", how)

    def profile(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_with_gpus("maintain/profile_levels.py", H200, "--no-build", "--only", "counters", "--sizes",
                                  "4096", *arguments,
                                  **{"PATH": self.path, "METRICS": METRICS, "LADDER_COMMIT": "abc1234", **environment})

    def rows(self) -> list[data.Fields]:
        return data.read_rows(self.output)[1]

    def test_what_the_profiler_knows_is_counted(self) -> None:
        answer = self.profile()
        self.assert_exit(0, answer)
        self.assertIn("has no metric here for: tensor core, cycles active %,", answer.stdout)
        self.assertEqual([(r["level"], r["quantity"]) for r in self.rows()],
                         [(level, q) for level in self.LEVELS
                          for q in ("cycles", "DRAM, bytes read", "L2, sectors read", "L2, sectors read that hit",
                                    "warps on an SM")])
        first, last = self.rows()[0], self.rows()[-1]
        self.assertEqual((first["metric"], first["value"], first["launches"], first["gpu"], first["profiler"]),
                         ("sm__cycles_elapsed.max", "3000", "2", "NVIDIA H200", "ncu 2025.3.1.0"))  # together
        self.assertEqual(last["value"], "1500")  # a mean

    def test_own_rows_are_replaced_and_others_kept(self) -> None:
        self.assert_exit(0, self.profile(LADDER_COMMIT="old"))
        self.assert_exit(0, self.profile("--levels", "2"))
        self.assertEqual({(r["level"], r["commit"]) for r in self.rows()},
                         {("level01_baseline", "old"), ("level02_tma_swizzle", "abc1234")})

    def test_what_fails_leaves_no_rows_and_the_rest_goes_on(self) -> None:
        self.behave_level("level01_baseline", "--fail")
        answer = self.profile()
        self.assert_exit(1, answer)
        self.assertIn("FAILED: level01_baseline 4096: ", answer.stdout)
        self.assertEqual({r["level"] for r in self.rows()}, {"level02_tma_swizzle"})

    def test_bad_command_lines(self) -> None:
        for arguments, sentence in ((("--levels", "9"), "no level 9"), (("--sizes", "big"), "big"),
                                    (("--output", "docs"), "--output docs"), (("--simulate",), "needs --timers")):
            with self.subTest(arguments):
                self.assert_exit(2, self.profile(*arguments), sentence)

    def test_without_a_gpu_or_a_profiler(self) -> None:
        answer = self.run_with_gpus("maintain/profile_levels.py", [], "--no-build")
        self.assert_exit(77, answer, "measuring needs a GPU")
        answer = self.profile(PATH="/usr/bin:/bin")
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("there is no ncu on the PATH", answer.stderr)

    def test_the_table(self) -> None:
        self.assert_exit(0, self.profile())
        context = Context(self.root, [])
        table = profiled.counters(context)
        self.assertNotIn("| cycles |", table)
        self.assertIn("| of which L2 had, % | 100 | 100 |", table)
        self.assertNotIn("tensor core", table)
        self.assertIn("Level 01, 02 is more than one launch", table)
        for path in (self.root / "docs/results").glob("*_profile.csv"):
            path.unlink()
        self.assertIn("Not profiled yet", profiled.counters(context))


class Timers(unittest.TestCase):
    """On the simulated device, which knows the truth: the trace of the kernel without timers, at the same clock."""

    def test_timers_say_what_the_simulated_device_says(self) -> None:
        output = support.BUILD / "timers_of_the_test.json"
        self.addCleanup(output.unlink, missing_ok=True)
        done = subprocess.run([sys.executable, "-B", support.SCRIPTS / "maintain" / "profile_levels.py", "--simulate",
                               "--timers", output, "--build", support.BUILD], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        timed = json.loads(output.read_text(encoding="utf-8"))
        levels = observations.Levels(support.ROOT, support.BUILD)
        level = names.find_level(str(profiling.TIMED_LEVEL), names.all_levels())
        described = description.describe(description.ask(levels.program(level, profiling.TIMED_ARCH)))[0]
        true = json.loads(observations.observe_timeline(levels, described, timed=False))
        self.assertEqual(timed["kind"], "modelled")  # not to be mixed up with what a GPU says
        self.assertEqual(timed["tiles"], true["tiles"])
        self.assertEqual(timed["shape"], true["shape"])
        tracks, true_tracks = ({t["name"]: t["bars"] for t in trace["ctas"][0]["tracks"]} for trace in (timed, true))
        self.assertEqual(list(tracks), list(true_tracks))
        for name, bars in tracks.items():
            with self.subTest(name):
                self.assertEqual({bar[2] for bar in bars}, {bar[2] for bar in true_tracks[name]})
                for edge in (min, max):  # when the first begins, and when the last ends
                    ours, theirs = (edge(t for bar in said for t in bar[:2]) for said in (bars, true_tracks[name]))
                    self.assertAlmostEqual(ours, theirs, delta=0.1 * max(bar[1] for bar in true_tracks[name]))
        self.assertEqual(len(tracks["TMA loads"]), len(true_tracks["TMA loads"]))


if __name__ == "__main__":
    unittest.main()
