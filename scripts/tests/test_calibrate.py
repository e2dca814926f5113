from __future__ import annotations

import subprocess
import sys
import unittest

from ladder.results import calibration, data
from tests import support

H200 = [("NVIDIA H200", 90)]

# What calibrate_sm90 looks like from outside; the file `behaviour` beside it says what each experiment does.
FAKE_PROGRAM = f"#!{sys.executable} -ES" + r"""
import os, sys
experiment = sys.argv[-1]
folder = os.path.dirname(sys.argv[0])
with open(os.path.join(folder, "calls"), "a") as file:
    print(*sys.argv[1:], file=file)
with open(os.path.join(folder, "behaviour")) as file:
    behaviour = dict(line.split() for line in file).get(experiment, "right")
if behaviour == "silent":
    sys.exit(0)
print("# gpu: " + os.environ["FAKE_GPU"] + "\n# driver: 580.1\n# cuda: 13.0\n# power_cap_w: 700")
print("experiment,setting,quantity,value,low,high,samples,unit" + (",more" if behaviour == "chatty" else ""))
quantity = {"load": "bytes per SM", "drift": "cycles per stage"}.get(experiment, "latency")
for size in (1, 2):
    print(f"{experiment},size={size},{quantity},{10 * size},9,11,3,cycles" + (",x" if behaviour == "chatty" else ""))
    print(f"{experiment},size={size},clock,1980,1980,1980,1,MHz" + (",x" if behaviour == "chatty" else ""))
sys.exit(3 if behaviour == "cuda" else 0)
"""

# Nsight Compute, as far as it matters: runs the program and writes a row per launch.
FAKE_PROFILER = f"#!{sys.executable} -ES" + r"""
import os, subprocess, sys
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
log = sys.argv[sys.argv.index("--log-file") + 1]
command = sys.argv[sys.argv.index("--log-file") + 2:]
if os.environ.get("OLD_PROFILER") and len(metrics) > 4:
    sys.exit(1)
code = subprocess.run(command).returncode
with open(log, "w") as file:
    print("==PROF== Connected", file=file)
    print(",".join(f'"{c}"' for c in ["ID", "Kernel Name", *metrics]), file=file)
    print(",".join('""' for c in ["ID", "Kernel Name", *metrics]), file=file)
    for launch in range(int(os.environ.get("LAUNCHES", "2"))):
        print(",".join(f'"{c}"' for c in [launch, "load_kernel", *(f"{launch + 1},000" for _ in metrics)]), file=file)
sys.exit(code)
"""


class Calibrate(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.program("build/bin/calibrate_sm90", FAKE_PROGRAM)
        self.output = self.root / "docs" / "results" / "h200_calibration.csv"

    def calibrate(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_with_gpus("calibrate.py", H200, "--no-build", *arguments, **environment)

    def rows(self) -> list[data.Fields]:
        return data.read_rows(self.output)[1]

    def test_every_experiment_is_recorded(self) -> None:
        answer = self.calibrate(LADDER_COMMIT="abc1234")
        self.assert_exit(0, answer)
        names = [name for name in calibration.EXPERIMENTS if name != "counters"]
        self.assertEqual(self.calls(), names)
        self.assertEqual([r["experiment"] for r in self.rows()], [name for name in names for _ in range(4)])
        first = self.rows()[0]
        self.assertEqual([first[c] for c in ("kind", "gpu", "driver", "cuda", "power_cap_w", "commit")],
                         ["measured", "NVIDIA H200", "580.1", "13.0", "700", "abc1234"])
        self.assertEqual((first["setting"], first["value"], first["low"], first["high"]), ("size=1", "10", "9", "11"))
        self.assertIn("There is no ncu here", answer.stdout)

    def test_an_experiment_is_replaced_and_the_others_are_kept(self) -> None:
        self.assert_exit(0, self.calibrate("--experiments", "latency,sync", LADDER_COMMIT="old"))
        self.assert_exit(0, self.calibrate("--experiments", "sync", LADDER_COMMIT="new"))
        self.assertEqual([(r["experiment"], r["commit"]) for r in self.rows()],
                         [("latency", "old")] * 4 + [("sync", "new")] * 4)

    def test_what_fails_leaves_no_rows_and_the_rest_goes_on(self) -> None:
        for behaviour, words in (("cuda", "CUDA ERROR"), ("silent", "it printed no rows"),
                                 ("chatty", "a row has the columns")):
            with self.subTest(behaviour):
                self.output.unlink(missing_ok=True)
                self.behave(latency=behaviour)
                answer = self.calibrate("--experiments", "latency,sync")
                self.assert_exit(1, answer)
                self.assertIn(words, answer.stdout)
                self.assertIn("1 of 2 experiments done", answer.stdout)
                self.assertEqual({r["experiment"] for r in self.rows()}, {"sync"})

    def test_what_the_profiler_counts(self) -> None:
        self.program("tools/ncu", FAKE_PROFILER)
        path = f"{self.root / 'tools'}:/usr/bin:/bin"
        for environment, metrics in (({}, calibration.METRICS), ({"OLD_PROFILER": "1"}, calibration.FEW_METRICS)):
            with self.subTest(environment):
                self.output.unlink(missing_ok=True)
                self.assert_exit(0, self.calibrate("--experiments", "counters", PATH=path, **environment))
                self.assertEqual([(r["setting"], r["quantity"], r["value"]) for r in self.rows()],
                                 [(f"experiment={e} size={n}", m, f"{n}000")
                                  for e in ("load", "drift") for n in (1, 2) for m in metrics])
                self.assertEqual({r["experiment"] for r in self.rows()}, {"counters"})
        answer = self.calibrate("--experiments", "counters", PATH=path, LAUNCHES="3")
        self.assert_exit(1, answer)
        self.assertIn("2 launches of load, but 3 counted", answer.stdout)

    def test_bad_command_lines(self) -> None:
        self.write("other.csv", "colour,flavour\nred,sweet\n")
        for arguments, sentence in ((("--experiments", "latency,taste"), "no experiment 'taste'"),
                                    (("--output", "docs"), "is a folder"),
                                    (("--output", "other.csv"), "something else"),
                                    (("--simulate", "0"), "--simulate"), (("--simulate", "6"), "needs --output"),
                                    (("--colour",), "--colour")):
            with self.subTest(arguments):
                self.assert_exit(2, self.calibrate(*arguments), sentence)
        self.assertEqual(self.calls(), [])

    def test_without_a_gpu(self) -> None:
        self.assert_exit(77, self.run_with_gpus("calibrate.py", [], "--no-build"), "measuring needs a GPU")

    def test_building_comes_first(self) -> None:
        self.program("scripts/build.sh", "#!/bin/sh\necho building $*\nexit 8\n")
        answer = self.run_with_gpus("calibrate.py", H200)
        self.assert_exit(2, answer, "could not be built")
        self.assertIn("building calibrate_sm90", answer.stdout)


if __name__ == "__main__":
    unittest.main()
