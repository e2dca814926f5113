#!/usr/bin/env python3
"""Runs one level's executable on the simulated device, over the shapes and schedules of a suite.

    suite.py --sim scripts/sim.sh --program build/bin/level05_persistent_sm100 --suite NAME
    suite.py --sim scripts/sim.sh --program build/bin/production_sm90 --suite NAME --configs mechanisms

Without --configs the program chooses its configuration for each shape. `mechanisms` are so few configurations that each
mechanism of the kernel is in one of them, `all` are all; --part 2/4 takes the second of four equal parts of them.

NAME is shapes, schedules, seeds (more schedules), small_gpus, order, mixed or refused. Only shapes is about sums; the
others are about order, and take fast arithmetic.

Every run must end with exit code 0 (D is right; with --init int, bit for bit), or 2 with the right sentence for shapes
that are refused. Prints what failed, with the command to repeat it.
"""
from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder.levels import description
from ladder.levels.description import Description
from ladder.levels.shapes import Shape, shape_text
from ladder.levels.suites import BUSY, MANY_TILES, SHAPES

# K from which on pairs side by side share rows of A (MIN_SHARED_K of the production kernel).
SHARED_FROM_K = 3072

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
    described: Optional[Description] = None  # the configuration, if it is not the program that chooses
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
    def swaps(self) -> bool:
        return self.described is not None and self.described.constants.get("SWAPS_AB", 0) != 0

    @property
    def least_sms(self) -> int:
        """Of a GPU that runs the configuration: some run whole clusters only."""
        return self.described.cluster if self.described and self.described.constants.get("WHOLE_CLUSTERS") else 1

    @property
    def long_k(self) -> list[Shape]:
        """For pairs that share rows of A where K is long: a shape that ends in the middle of what one of a pair loads,
        and before what the other does."""
        d = self.described
        if d is None or d.cluster != 2 or self.least_sms > 1 or d.cluster_n != (1 if self.swaps else 2):
            return []
        return [self.turned((400, 136, SHARED_FROM_K + 8))]

    def with_gaps(self, sms: int, k: int) -> Optional[Shape]:
        """For clusters of four or eight: a shape for which they do not find room everywhere, or leave columns of tiles
        over, so that smaller clusters run beside them."""
        d = self.described
        assert d
        tile = (d.tile_n, d.tile_m) if self.swaps else (d.tile_m, d.tile_n)
        rows = (d.cluster_n if self.swaps else d.cluster_m) * tile[0]
        shapes = (self.turned((high * rows + 8, wide * tile[1] + 8, k)) for wide in range(5, 12) for high in (2, 3))
        return next((shape for shape in shapes if self.clusters(sms, shape) == {2, d.cluster}), None)

    def turned(self, shape: Shape) -> Shape:
        """A shape that is thought of in rows and columns of the kernel's own tile."""
        m, n, k = shape
        return (n, m, k) if self.swaps else shape

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
    for shape in suite.long_k:
        suite.shapes([], [shape], "--init", "int")
        suite.shapes(["--latest"], [shape], "--init", "int")


def schedules(suite: Suite) -> None:
    for seed in range(1, 5):
        suite.integers(["--seed", str(seed)], BUSY)
    suite.integers(["--latest"], BUSY)
    suite.shapes(["--latest"], BUSY)


def seeds(suite: Suite) -> None:
    for seed in range(5, 21):
        suite.integers(["--seed", str(seed)], BUSY)


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
    for shape in suite.long_k:
        suite.shapes(options, [shape], silent=True)


def mixed(suite: Suite) -> None:
    """Of 20 SMs 18 are in one GPC. With a short K the rings wrap around often, so that CTAs drift far apart."""
    d = suite.described
    if d is None or d.cluster <= 2 or suite.least_sms > 1:
        return
    for sms, k in ((d.cluster, 328), (12, 328), (20, 136), (22, 72)):
        if shape := suite.with_gaps(sms, k):
            suite.integers(["--sms", str(sms), "--latest"], [shape])
            suite.integers(["--sms", str(sms), "--seed", str(sms)], [shape])
        else:
            suite.failures.append(f"{d.config} on {sms} SMs: no shape takes clusters of {d.cluster} and of 2")


def refused(suite: Suite) -> None:
    for arguments, sentence in REFUSED.items():
        suite.run([], list(arguments), expected=2, sentence=sentence)
    # A prediction that cannot be made is an error of the launch, or, of one that waits for the next, of what follows.
    for options, expected in (([], 3), (["--abort"], -signal.SIGABRT)):
        suite.run([*options, "--timing", "--constants", __file__], ["--m", "8", "--n", "8", "--k", "8"],
                  expected=expected, sentence="of a GPU's file: not name,value,unit,kind,source")


SUITES = {suite.__name__: suite for suite in (shapes, schedules, seeds, small_gpus, order, mixed, refused)}


def suites_of(options: argparse.Namespace) -> list[Suite]:
    """One for each configuration that is asked for."""
    command = [options.sim, options.program]
    if not options.configs:
        return [Suite(command)]
    described = description.describe(description.ask(Path(options.program)))
    if options.configs == "mechanisms":
        described = description.one_per_mechanism(described)
    part, parts = map(int, options.part.split("/"))
    return [Suite([*command, "--config", d.config], d) for d in described[part - 1::parts]]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sim", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--configs", choices=("mechanisms", "all"), help="run with these --config of the program")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="of these configurations")
    parser.add_argument("--suite", required=True, choices=SUITES)
    options = parser.parse_args()
    found = suites_of(options)
    for suite in found:
        SUITES[options.suite](suite)
    runs, failures = sum(suite.runs for suite in found), [text for suite in found for text in suite.failures]
    print("\n".join([*failures, f"{runs - len(failures)} of {runs} runs right"]))
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
