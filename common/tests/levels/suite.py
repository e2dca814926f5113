#!/usr/bin/env python3
"""Runs one level's executable on the simulated device, over the shapes and schedules of a suite.

    suite.py --sim scripts/sim.sh --program build/bin/level05_persistent_sm100 --suite NAME

NAME is shapes, schedules, small_gpus, order, mixed or refused. Only shapes is about sums; the others are about order,
and take fast arithmetic.

Every run must end with exit code 0 (D is right; with --init int, bit for bit), or 2 with the right sentence for shapes
that are refused. Prints what failed, with the command to repeat it.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder.levels.shapes import Shape, shape_text
from ladder.levels.suites import BUSY, MANY_TILES, SHAPES

# Level 08 on Hopper, by configuration: clusters of four or of eight with pairs beside them (of 20 SMs 18 are in one
# GPC), and columns of tiles left over. The sizes of the clusters that there should be; SMs and shapes. The rings turn
# often, so that CTAs may drift as far apart as they can.
MIXED: dict[str, tuple[set[int], list[tuple[int, Shape]]]] = {
    "256x192": ({2, 4}, [(4, (520, 1656, 392)), (12, (1030, 1160, 328)),
                        (20, (1536, 1928, 136)), (22, (1800, 2080, 72))]),
    "256x192-eights": ({2, 8}, [(8, (1030, 1656, 328)), (12, (1030, 1128, 328)),
                               (20, (1030, 1656, 136)), (22, (1540, 1848, 72))]),
    "256x160": ({2, 8}, [(8, (1030, 840, 328)), (12, (1540, 840, 328)),
                        (20, (1030, 1368, 136)), (22, (1540, 1528, 72))]),
    "256x144": ({2, 8}, [(8, (1030, 744, 328)), (12, (1540, 744, 328)),
                        (20, (1030, 1224, 136)), (22, (1540, 1368, 72))]),
    "192x128": ({2, 4}, [(4, (392, 1104, 392)), (12, (780, 1104, 328)),
                        (20, (1160, 1288, 136)), (22, (1350, 1384, 72))]),
    "128x256": ({2, 8}, [(8, (520, 1320, 328)), (12, (1030, 1320, 328)),
                        (20, (1536, 2200, 136)), (22, (1800, 2376, 72))]),
    "128x224": ({2, 8}, [(8, (520, 1160, 328)), (12, (1030, 1160, 328)),
                        (20, (1536, 1928, 136)), (22, (1800, 2080, 72))]),
    "160x256-swapped": ({2, 8}, [(8, (837, 1032, 328)), (12, (837, 1544, 328)),
                                (20, (1365, 1032, 136)), (22, (1525, 1544, 72))]),
    "224x128-swapped": ({2, 8}, [(8, (1155, 520, 328)), (12, (1155, 1032, 328)),
                                (20, (1925, 1536, 136)), (22, (2077, 1800, 72))]),
    "208x128-swapped": ({2, 8}, [(8, (1072, 520, 328)), (12, (1072, 1032, 328)),
                                (20, (1787, 1536, 136)), (22, (1929, 1800, 72))]),
    "128x192-eights-turns": ({2, 8}, [(8, (520, 1000, 328)), (12, (1030, 1000, 328)),
                                     (20, (1536, 1656, 136)), (22, (1800, 1784, 72))]),
    "192x128-eights-turns-swapped": ({2, 8}, [(8, (997, 520, 328)), (12, (997, 1032, 328)),
                                             (20, (1653, 1536, 136)), (22, (1781, 1800, 72))]),
}

# Of level 08's configurations on Hopper those that share rows of A where K is long (plan_sm90.h): a shape that ends in
# the middle of what one of a pair loads, and before what the other does.
LONG_K: Shape = (400, 136, 3080)
LONG_K_SWAPPED: Shape = (136, 400, 3080)
SHARING = {"128x64": LONG_K, "192x160": LONG_K, "192x112": LONG_K, "128x80": LONG_K,
           "112x128-swapped": LONG_K_SWAPPED, "80x128-swapped": LONG_K_SWAPPED}

REFUSED = {
    ("--m", "64", "--n", "12", "--k", "64"): "multiple of 8",
    ("--m", "64", "--n", "64", "--k", "20"): "multiple of 8",
    ("--m", "0", "--n", "64", "--k", "64"): "",
    ("--m", "-4", "--n", "64", "--k", "64"): "",
}


# Of --init int it gives the same bits: these integers are added up without rounding.
FAST = ["--arith", "fast"]


@dataclass
class Suite:
    program: list[str]
    config: str = ""
    failures: list[str] = field(default_factory=list)
    runs: int = 0

    def run(self, sim_options: list[str], arguments: list[str], expected: int = 0, sentence: str = "",
            silent: bool = False) -> None:
        command = [self.program[0], *sim_options, *self.program[1:], *arguments]
        self.runs += 1
        done = subprocess.run(command, capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if line.startswith("sim: ") and "Simulated" not in line]
        if done.returncode != expected or sentence not in done.stderr + done.stdout or (silent and said):
            self.failures.append(f"{' '.join(command)}\n  exit code {done.returncode}\n{done.stdout}{done.stderr}")

    @property
    def least_sms(self) -> int:
        """Of a GPU that runs the configuration: a name that says the form of a cluster is of whole clusters only."""
        form = re.search(r"-(\d)x(\d)", self.config)
        return int(form[1]) * int(form[2]) if form else 1

    def clusters(self, sms: int, shape: Shape) -> set[int]:
        """The sizes of the clusters that a run launches."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "counters.json"
            self.integers(["--sms", str(sms), "--counters", str(file)], [shape])
            if not file.exists():
                return set()
            return {launch["cluster"][0] for launch in json.loads(file.read_text(encoding="utf-8"))["launches"]}

    def shapes(self, sim_options: list[str], shapes: list[Shape], *extra: str, silent: bool = False) -> None:
        """In one run: loading the program takes longer than most of them."""
        self.run(sim_options, ["--sizes", ",".join(map(shape_text, shapes)), *extra], silent=silent)

    def integers(self, sim_options: list[str], shapes: list[Shape]) -> None:
        self.shapes([*FAST, *sim_options], shapes, "--init", "int")


def shapes(suite: Suite) -> None:
    suite.shapes([], SHAPES, "--init", "int")
    suite.shapes([], SHAPES)
    suite.shapes([], [(300, 264, 520)], "--init", "uniform")
    suite.shapes([], [(300, 264, 520)], "--init", "zeros")
    if suite.config in SHARING:
        suite.shapes([], [SHARING[suite.config]], "--init", "int")
        suite.shapes(["--latest"], [SHARING[suite.config]], "--init", "int")


def schedules(suite: Suite) -> None:
    for seed in range(1, 11):
        suite.integers(["--seed", str(seed)], BUSY)
    suite.integers(["--latest"], BUSY)
    suite.shapes(["--latest"], BUSY)


def small_gpus(suite: Suite) -> None:
    for sms in (2, 4, 5, 6) if suite.least_sms == 1 else (suite.least_sms * n + n // 2 for n in (1, 2, 3)):
        suite.integers(["--sms", str(sms)], MANY_TILES)
        suite.integers(["--sms", str(sms), "--latest"], MANY_TILES)
        suite.integers(["--sms", str(sms), "--seed", str(sms)], MANY_TILES)


def order(suite: Suite) -> None:
    """The order checker has nothing to say, but that both CTAs of a pair store the same tile up to level 05."""
    options = [*FAST, "--check", "--tolerate", "equal-stores"]
    for sms, shape in ((132, BUSY[0]), (8, BUSY[1]), (2, MANY_TILES[1]), (4, (400, 264, 64))):
        suite.shapes([*options, "--sms", str(max(sms, suite.least_sms))], [shape], silent=True)
    if suite.config in SHARING:
        suite.shapes(options, [SHARING[suite.config]], silent=True)


def mixed(suite: Suite) -> None:
    expected, runs = MIXED[suite.config]
    for sms, shape in runs:
        found = suite.clusters(sms, shape)
        if found != expected:
            suite.failures.append(f"{shape} on {sms} SMs: clusters of {sorted(found)} CTAs, not of {sorted(expected)}")
        suite.integers(["--sms", str(sms), "--latest"], [shape])
        suite.integers(["--sms", str(sms), "--seed", str(sms)], [shape])


def refused(suite: Suite) -> None:
    for arguments, sentence in REFUSED.items():
        suite.run([], list(arguments), expected=2, sentence=sentence)
    # A prediction that cannot be made is an error of the launch, or, of one that waits for the next, of what follows.
    for options, expected in (([], 3), (["--abort"], 86)):
        suite.run([*options, "--timing", "--constants", __file__], ["--m", "8", "--n", "8", "--k", "8"],
                  expected=expected, sentence="the timing model's constants")


SUITES = {"shapes": shapes, "schedules": schedules, "small_gpus": small_gpus, "order": order, "mixed": mixed,
          "refused": refused}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sim", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--config", help="run with this --config of the level")
    parser.add_argument("--suite", required=True, choices=SUITES)
    options = parser.parse_args()
    program = [options.sim, options.program]
    if options.config:
        program += ["--config", options.config]
    suite = Suite(program, options.config or "")
    SUITES[options.suite](suite)
    for failure in suite.failures:
        print(failure)
    print(f"{suite.runs - len(suite.failures)} of {suite.runs} runs right")
    return 1 if suite.failures else 0


if __name__ == "__main__":
    sys.exit(main())
