#!/usr/bin/env python3
"""What the levels' pages say of their kernels and the grader does not ask (Blackwell). Both measure in the same way."""
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder import files
from ladder.explorer.events import Launch
from ladder.grader import running
from ladder.grader.running import Run, Timeline, stores
from ladder.levels import lab, names
from ladder.levels.shapes import Shape

BIN = Path(os.environ["LADDER_BIN"])
LEVELS = {names.number_of(level): level for level in names.all_levels()}


def program(level: int) -> Path:
    return BIN / f"{LEVELS[level]}_sm100"


@contextlib.contextmanager
def ablated(name: str) -> Iterator[Path]:
    """The program of one of level 08's ablations."""
    with lab.scratch() as folder:
        made, said = lab.compile_lab(lab.find_lab(lab.all_labs(), "8", name), lab.Build(BIN.parent), folder, real=False)
        assert made, said
        yield made


def counters(level: int, shape: Shape, config: str = "") -> dict[str, Any]:
    return running.counters(program(level), shape, config=config)


def store_lines(level: int, columns: int) -> tuple[float, float]:
    """Of one row of tiles: 128-byte lines per store of a warp to global memory, and in all."""
    chosen = [access for access in counters(level, (128, columns, 64))["global"]
              if access["instruction"].startswith("st.global")]
    lines = sum(access["lines"] for access in chosen)
    return lines / sum(access["warp_accesses"] for access in chosen), lines


class Pages(unittest.TestCase):
    def test_what_a_level_says_on_the_front_page(self) -> None:
        page = (files.ROOT / "README.md").read_text(encoding="utf-8")
        done = subprocess.run([files.SCRIPTS / "sim.sh", program(1), "--sizes", "512"], capture_output=True, text=True,
                              check=True)
        self.assertIn(f"```\n{done.stdout}```\n", page)

    def test_the_pair_computes_everything_twice_until_level_07(self) -> None:
        for level in LEVELS:
            launch = counters(level, (512, 256, 192))  # whole tiles for everybody, so that padding plays no part
            self.assertEqual(launch["useful_tensor_flops"], 2 * 512 * 256 * 192)
            executed = launch["tensor_flops"] / launch["useful_tensor_flops"]
            self.assertEqual(executed, 2 if level <= 6 else 1, LEVELS[level])

    def test_both_CTAs_store_the_same_tile_until_level_05(self) -> None:
        for level in LEVELS:
            launch = counters(level, (256, 256, 128))
            self.assertEqual(launch["redundant_store_bytes"], 256 * 256 * 2 if level <= 5 else 0, LEVELS[level])
            self.assertEqual(launch["overwritten_bytes"], 0)

    def test_level_01_has_a_cluster_barrier_per_K_block(self) -> None:
        long, short = (counters(1, (128, 128, k))["cluster_barriers"] for k in (640, 64))
        self.assertEqual(long - short, 9)

    def test_level_02_gives_the_same_D_with_every_swizzle(self) -> None:
        outputs = set()
        for swizzle, slabs in (("swizzle128", 1), ("swizzle64", 2), ("swizzle32", 4), ("swizzle_none", 8)):
            answer = running.run(program(2), Run(("--arith", "exact"), (300, 264, 200), config=swizzle,
                                                 more=("--digest",)))
            outputs.add(answer.verdict.said.split("digest ")[1].split()[0])
            # Two TMA instructions (A and B) per slab, K block and CTA.
            self.assertEqual(counters(2, (128, 128, 128), swizzle)["tma_instructions"], 2 * slabs * 2 * 2)
        self.assertEqual(len(outputs), 1)

    def test_level_04_coalesces_what_level_03_scatters(self) -> None:
        # Verification stores D with a pitch of n + 8: with n = 376 a row starts on a cache line, and two of the three
        # tiles in a row are whole.
        self.assertEqual(store_lines(3, 376)[0], 32)
        self.assertEqual(store_lines(4, 376)[0], 2)
        # Per tile and CTA: every one of 128 rows in 32 pieces of 8 bytes, of which 30 hold the 120 columns, against 2
        # lines a row.
        self.assertEqual(store_lines(3, 120)[1] / 2, 128 * 30)
        self.assertEqual(store_lines(4, 120)[1] / 2, 256)

    def test_staging_costs_32_wavefronts_a_store_until_level_08_swizzles(self) -> None:
        for level in range(4, 9):
            self.assertEqual(stores(counters(level, (256, 128, 64)), "shared", "wavefronts"), 4 if level == 8 else 32)
        with ablated("plain_cd_sm100") as plain:
            self.assertEqual(stores(running.counters(plain, (256, 128, 64)), "shared", "wavefronts"), 32)

    def test_level_08_issues_four_MMAs_per_K_block(self) -> None:
        self.assertEqual(counters(8, (256, 128, 64 * 5))["tensor_instructions"], 4 * 5)
        self.assertEqual(counters(7, (512, 128, 64 * 5))["tensor_instructions"], 8 * 5)

    def test_whoever_comes_after_level_06_overlaps_the_epilogue_as_well(self) -> None:
        for level in (7, 8):
            self.assertGreaterEqual(Timeline(program(level), (1024, 256, 512), 2).stored_beside_mmas(), 0.4)

    def early_release(self, of: Path) -> bool:
        """Is tmem_empty signalled before the store that follows it in the program is issued?"""
        launch = Timeline(of, (1024, 128, 64), 2, kinds=()).launch
        operations = [event for event in launch.events if event.kind == "operation" and event.cta == 1]
        tmem_empty = {8 * (8 + 8 + 2 + buffer) for buffer in (0, 1)}
        signals = sorted(event.begin for event in operations if event.name.startswith("signal")
                         and self.barrier_of(launch, event.number) in tmem_empty)
        written = sorted(event.begin for event in operations if event.name.startswith("TMA store: read"))
        # Two stores per tile: the second one is the one that the signal may overtake.
        return signals[0] < written[1]

    @staticmethod
    def barrier_of(launch: Launch, operation: int) -> int:
        """Where the barrier is, in dynamic shared memory, that a signal arrives at."""
        return next((event.barrier for event in launch.events
                     if event.barrier is not None and event.operation == operation), -1)

    def test_level_08_frees_the_accumulator_before_it_stores(self) -> None:
        self.assertTrue(self.early_release(program(8)))
        with ablated("late_tmem_empty_sm100") as late:
            self.assertFalse(self.early_release(late))


if __name__ == "__main__":
    unittest.main()
