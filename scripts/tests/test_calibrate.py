from __future__ import annotations

import subprocess
import sys
import unittest

from ladder import files
from ladder.model import calibration, derivation
from ladder.results import data
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
quantity = {"load": "bytes per SM", "sync": "round trip"}.get(experiment, "latency")
for size in (1, 2):
    print(f"{experiment},size={size},{quantity},{10 * size},9,11,3,cycles" + (",x" if behaviour == "chatty" else ""))
    print(f"{experiment},size={size},curiosity,1980,1980,1980,1,MHz" + (",x" if behaviour == "chatty" else ""))
sys.exit(3 if behaviour == "cuda" else 0)
"""

class Calibrate(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.program("build/bin/calibrate_sm90", FAKE_PROGRAM)
        self.output = self.root / "docs" / "results" / "h200_calibration.csv"

    def calibrate(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_with_gpus("maintain/calibrate.py", H200, "--no-build", *arguments, **environment)

    def rows(self) -> list[data.Fields]:
        return data.read_rows(self.output)[1]

    def test_every_experiment_is_recorded(self) -> None:
        answer = self.calibrate(LADDER_COMMIT="abc1234")
        self.assert_exit(0, answer)
        self.assertEqual(self.calls(), list(calibration.EXPERIMENTS))
        two = [r for r in self.rows() if r["experiment"] in ("latency", "sync")]
        self.assertEqual([(r["experiment"], r["quantity"]) for r in two],
                         [("latency", "latency"), ("latency", "curiosity")] * 2
                         + [("sync", "round trip"), ("sync", "curiosity")] * 2)
        first = next(r for r in self.rows() if r["experiment"] == "latency")
        self.assertEqual([first[c] for c in ("setting", "value", "unit", "kind", "gpu", "commit")],
                         ["size=1", "10", "cycles", "measured", "NVIDIA H200", "abc1234"])

    def test_all_that_constants_are_derived_from_is_kept_and_nothing_else(self) -> None:
        rows = data.read_rows(files.ROOT / files.RESULTS / "h200_calibration.csv")[1]
        self.assertEqual(derivation.needed(rows), rows)
        one = next(row for row in rows if row["experiment"] == "load")
        more = [*rows, {**one, "setting": "source=nowhere"}, {**one, "experiment": "taste", "setting": "of no rule"}]
        self.assertEqual(derivation.needed(more), [*rows, more[-1]])
        missing = [row for row in more if row is not one]
        self.assertEqual(derivation.needed(missing), missing, "constants cannot be derived: all is kept")

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
        self.assert_exit(77, self.run_with_gpus("maintain/calibrate.py", [], "--no-build"), "measuring needs a GPU")

    def test_building_comes_first(self) -> None:
        self.program("scripts/build.sh", "#!/bin/sh\necho building $*\nexit 8\n")
        answer = self.run_with_gpus("maintain/calibrate.py", H200)
        self.assert_exit(2, answer, "could not be built")
        self.assertIn("building calibrate_sm90", answer.stdout)


if __name__ == "__main__":
    unittest.main()
