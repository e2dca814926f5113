from __future__ import annotations

import subprocess
import sys
import unittest

from ladder.model import calibration, ground_truth
from ladder.results import data
from tests import support

H200 = [("NVIDIA H200", 90)]

# What cycles_LEVEL_sm90 and plain_LEVEL_sm90 look like from outside.
FAKE_PROGRAM = f"#!{sys.executable} -ES" + r"""
import os, sys
name = os.path.basename(sys.argv[0])
folder = os.path.dirname(sys.argv[0])
with open(os.path.join(folder, "calls"), "a") as file:
    print(name, *sys.argv[1:], file=file)
with open(os.path.join(folder, "behaviour")) as file:
    behaviour = dict(line.split() for line in file).get(name, "right")
print("# gpu: " + os.environ["FAKE_GPU"] + "\n# driver: 580.1\n# cuda: 13.0\n# power_cap_w: 700")
print("COLUMNS")
level = name.split("_", 1)[1].rsplit("_", 1)[0]
for size in sys.argv[-1].split(","):
    for mode in ["sustained", "burst"] if name.startswith("cycles") else ["burst"]:
        print(f"{level},90,128x128x64,{size.replace('x', ',')},{mode},{10 if mode == 'burst' else 20}" + "," * 17)
sys.exit(3 if behaviour == "cuda" else 0)
""".replace("COLUMNS", ",".join(ground_truth.NOTED))


class Cycles(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        for level in ("level01_baseline", "level02_tma_swizzle"):
            for kind in ("cycles", "plain"):
                self.program(f"build/bin/{kind}_{level}_sm90", FAKE_PROGRAM)
        self.output = self.root / "docs" / "results" / "h200_cycles.csv"

    def record(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_with_gpus("maintain/cycles.py", H200, "--no-build", "--sizes", "4096,512x1024x256", *arguments,
                                  **environment)

    def rows(self) -> list[data.Fields]:
        return data.read_rows(self.output)[1]

    def test_every_level_size_and_mode_is_recorded(self) -> None:
        self.assert_exit(0, self.record("--levels", "1,2", LADDER_COMMIT="abc1234"))
        self.assertEqual([(r["level"], r["m"], r["k"], r["mode"], r["period_us"], r["plain_us"]) for r in self.rows()],
                         [(level, m, k, mode, us, plain) for level in ("level01_baseline", "level02_tma_swizzle")
                          for m, k in (("512", "256"), ("4096", "4096"))
                          for mode, us, plain in (("burst", "10", "10"), ("sustained", "20", ""))])
        first = self.rows()[0]
        self.assertEqual((first["kind"], first["gpu"], first["commit"], first["dram_read_bytes"]),
                         ("measured", "NVIDIA H200", "abc1234", ""))

    def test_a_level_that_fails_leaves_no_rows_and_the_others_go_on(self) -> None:
        self.behave(cycles_level01_baseline_sm90="cuda")
        answer = self.record("--levels", "1,2")
        self.assert_exit(1, answer)
        self.assertIn("level01_baseline: CUDA ERROR", answer.stdout)
        self.assertEqual({r["level"] for r in self.rows()}, {"level02_tma_swizzle"})

    def test_other_files_are_not_written_into(self) -> None:
        self.write("docs/results/h200.csv", "level,arch\n")
        self.assert_exit(2, self.record("--output", self.root / "docs/results/h200.csv"), "something else")


class Waits(unittest.TestCase):
    def test_warps_that_wait_at_the_same_lines_are_a_role(self) -> None:
        level = "level05_persistent"
        sites = {text: number for number, (_, text) in ground_truth.wait_sites(level, 90).items()}
        full, empty = (next(n for text, n in sites.items() if name in text) for name in ("smem_full", "smem_empty"))
        common = {"level": level, "arch": "90", "config": "", "m": "512", "n": "512", "k": "512", "mode": "burst",
                  "gpu": "NVIDIA H100", "period_us": "10", "mhz": "1000"}
        rows = [{**common, "warp": warp, "site": str(site), "count": "8", "cycles": cycles}
                for warp, site, cycles in (("0", empty, "900"), ("4", full, "1000"), ("5", full, "3000"))]
        plain = {ground_truth.row_key(rows[0]): 8.0}
        found = ground_truth.by_role(rows, ground_truth.wait_sites(level, 90), plain)
        self.assertEqual([(r["warps"], r["wait"], r["count"], r["cycles"], r["share"], r["cost"]) for r in found],
                         [("0", "mbarrier_wait", "8.0", "900", "0.0900", "0.2500"),
                          ("4 5", "mbarrier_wait", "8.0", "2000", "0.2000", "0.2500")])

    def test_a_wait_that_the_sources_do_not_have_is_an_error(self) -> None:
        row = {**dict.fromkeys(ground_truth.WAITED, "1"), "gpu": "NVIDIA H100"}
        with self.assertRaisesRegex(calibration.ExperimentFailed, "do not have"):
            ground_truth.by_role([row], {}, {})


class Products(unittest.TestCase):
    def launches(self, text: str) -> list[dict[str, str]]:
        metrics = ground_truth.COUNTED.values()
        return [{"Kernel Name": name, "Grid Size": "(1, 1, 1)", **dict.fromkeys(metrics, str(number))}
                for number, name in enumerate(text)]

    def sums(self, text: str, sizes: int) -> list[str]:
        return [product["dram_read_bytes"] for product in ground_truth.second_products(self.launches(text), sizes)]

    def test_the_second_product_of_each_size_counts(self) -> None:
        self.assertEqual(self.sums("aabb", 2), ["1", "3"])
        self.assertEqual(self.sums("ababcc", 2), ["5", "5"])  # two launches a product: 2 + 3

    def test_launches_that_do_not_pair_are_refused(self) -> None:
        for text, sizes in (("aab", 2), ("aabb", 1), ("ab", 1)):
            with self.subTest(text), self.assertRaises(ValueError):
                self.sums(text, sizes)


if __name__ == "__main__":
    unittest.main()
