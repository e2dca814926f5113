#!/usr/bin/env python3
"""What the levels' READMEs claim, checked by the simulated device's counters and traces (Blackwell kernels)."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

BIN = Path(os.environ["LADDER_BIN"])
SIM = os.environ["LADDER_SIM"]
LEVELS = {
    1: "level01_baseline",
    2: "level02_tma_swizzle",
    3: "level03_warp_specialize",
    4: "level04_smem_epilogue",
    5: "level05_persistent",
    6: "level06_tmem_double_buffer",
    7: "level07_dual_tile",
    8: "level08_deep_pipeline",
}


def run(program: Path, *arguments: str, sim: tuple[str, ...] = ()) -> str:
    done = subprocess.run([SIM, *sim, str(program), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{program.name} {' '.join(arguments)}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


def executable(level: int, suffix: str = "sm100") -> Path:
    return BIN / f"{LEVELS[level]}_{suffix}"


def measured(kind: str, level: int, m: int, n: int, k: int, *arguments: str, suffix: str = "sm100",
             sim: tuple[str, ...] = ()) -> Any:
    """The counters of the level's first launch, or its trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        shape = ("--m", str(m), "--n", str(n), "--k", str(k), "--init", "int")
        run(executable(level, suffix), *shape, *arguments, sim=(f"--{kind}", str(path), *sim))
        data = json.loads(path.read_text())
    return data["launches"][0] if kind == "counters" else data


def counters(level: int, m: int, n: int, k: int, *arguments: str, **options: Any) -> Any:
    return measured("counters", level, m, n, k, *arguments, **options)


def accesses(launch: Any, space: str, instruction: str) -> dict[str, int]:
    """Sum over the unrolled copies of one kind of access."""
    total = {"warp_accesses": 0, "lines": 0, "sectors": 0, "wavefronts": 0, "bytes": 0}
    for access in launch[space]:
        if access["instruction"].startswith(instruction):
            for key in total:
                total[key] += access.get(key, 0)
    return total


class Claims(unittest.TestCase):
    def test_what_a_level_says_on_the_front_page(self) -> None:
        page = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")
        self.assertIn(f"```\n{run(executable(1), '--sizes', '512')}```\n", page)

    def test_the_pair_computes_everything_twice_until_level_07(self) -> None:
        for level in LEVELS:
            # Whole tiles for everybody, so that padding plays no part.
            launch = counters(level, 512, 256, 192)
            self.assertEqual(launch["useful_tensor_flops"], 2 * 512 * 256 * 192)
            executed = launch["tensor_flops"] / launch["useful_tensor_flops"]
            self.assertEqual(executed, 2 if level <= 6 else 1, LEVELS[level])

    def test_both_CTAs_store_the_same_tile_until_level_05(self) -> None:
        for level in LEVELS:
            launch = counters(level, 256, 256, 128)
            self.assertEqual(launch["redundant_store_bytes"], 256 * 256 * 2 if level <= 5 else 0, LEVELS[level])
            self.assertEqual(launch["overwritten_bytes"], 0)

    def test_level_02_has_no_cluster_barrier_in_its_loop(self) -> None:
        # 01 has one per K block, and three of its own; 02 does not depend on K.
        long, short = (counters(1, 128, 128, k)["cluster_barriers"] for k in (640, 64))
        self.assertEqual(long - short, 9)
        self.assertEqual(counters(2, 128, 128, 640)["cluster_barriers"], counters(2, 128, 128, 64)["cluster_barriers"])

    def test_level_02_gives_the_same_D_with_every_swizzle(self) -> None:
        outputs = set()
        instructions = {}
        for swizzle, slabs in (("swizzle128", 1), ("swizzle64", 2), ("swizzle32", 4), ("swizzle_none", 8)):
            output = run(executable(2), "--m", "300", "--n", "264", "--k", "200", "--config", swizzle, "--digest",
                         sim=("--arith", "exact"))
            outputs.add(output.split("digest ")[1].split()[0])
            # Two TMA instructions (A and B) per slab, K block and CTA.
            instructions[swizzle] = counters(2, 128, 128, 128, "--config", swizzle)["tma_instructions"]
            self.assertEqual(instructions[swizzle], 2 * slabs * 2 * 2)
        self.assertEqual(len(outputs), 1)

    def test_level_04_coalesces_what_level_03_scatters(self) -> None:
        # Verification stores D with a pitch of n + 8: with n = 376 a row starts on a cache line, and two of the three
        # tiles in a row are whole.
        uncoalesced = accesses(counters(3, 128, 376, 64), "global", "st.global")
        coalesced = accesses(counters(4, 128, 376, 64), "global", "st.global")
        self.assertEqual(uncoalesced["lines"] / uncoalesced["warp_accesses"], 32)
        self.assertEqual(coalesced["lines"] / coalesced["warp_accesses"], 2)
        # Per tile and CTA: every one of 128 rows in 32 pieces of 8 bytes, against 2 lines a row.
        one_tile = counters(3, 128, 120, 64), counters(4, 128, 120, 64)
        self.assertEqual(accesses(one_tile[0], "global", "st.global")["lines"] / 2, 128 * 30)  # 120 of 128 columns
        self.assertEqual(accesses(one_tile[1], "global", "st.global")["lines"] / 2, 256)

    def test_staging_costs_32_wavefronts_a_store_until_level_08_swizzles(self) -> None:
        for level, instruction, wavefronts in (
                (4, "st.shared.v2", 32), (5, "st.shared.v4", 32), (6, "st.shared.v4", 32), (7, "st.shared.v4", 32),
                (8, "st.shared.v4", 4)):
            stores = accesses(counters(level, 256, 128, 64), "shared", instruction)
            self.assertEqual(stores["wavefronts"] / stores["warp_accesses"], wavefronts, LEVELS[level])

    def test_the_ablation_switches_of_level_08(self) -> None:
        plain = accesses(counters(8, 256, 128, 64, suffix="sm100_plain_cd"), "shared", "st.shared.v4")
        self.assertEqual(plain["wavefronts"] / plain["warp_accesses"], 32)

    def test_level_08_issues_four_MMAs_per_K_block(self) -> None:
        self.assertEqual(counters(8, 256, 128, 64 * 5)["tensor_instructions"], 4 * 5)
        self.assertEqual(counters(7, 512, 128, 64 * 5)["tensor_instructions"], 8 * 5)

    def overlap(self, level: int) -> bool:
        """Does the tensor core work while a tile is being read out of tensor memory?"""
        trace = measured("trace", level, 1024, 256, 512, sim=("--sms", "2"))
        events = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "operation"]
        mmas = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"].startswith("MMA")]
        reads = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"].startswith("tcgen05.ld")]
        self.assertTrue(mmas and reads)
        return any(begin < read_end and read_begin < end for begin, end in mmas for read_begin, read_end in reads)

    def test_level_06_overlaps_the_epilogue_with_the_next_tile(self) -> None:
        self.assertFalse(self.overlap(5))
        for level in (6, 7, 8):
            self.assertTrue(self.overlap(level), LEVELS[level])

    def early_release(self, suffix: str) -> bool:
        """Is tmem_empty signalled before the store that follows it in the program is issued?"""
        trace = measured("trace", 8, 1024, 128, 64, suffix=suffix, sim=("--sms", "2"))
        events = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "operation" and e["pid"] == 1]
        # The other signals of CTA 1 announce its loads at smem_full, which is where the barriers begin.
        tmem_empty = {f"+{0x400 + 8 * (8 + 8 + 2 + buffer):#x}" for buffer in (0, 1)}
        signals = sorted(e["ts"] for e in events
                         if e["name"].startswith("signal") and e["name"].split()[-1] in tmem_empty)
        stores = sorted(e["ts"] for e in events if e["name"].startswith("TMA store: read"))
        # Two stores per tile: the second one is the one that the signal may overtake.
        return bool(signals[0] < stores[1])

    def test_level_08_frees_the_accumulator_before_it_stores(self) -> None:
        self.assertTrue(self.early_release("sm100"))
        self.assertFalse(self.early_release("sm100_late_tmem_empty"))


if __name__ == "__main__":
    unittest.main()
