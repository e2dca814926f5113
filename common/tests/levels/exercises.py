#!/usr/bin/env python3
"""The exercises of the levels' pages: each change is made to a copy of the kernel, and does what the answer says. What
the simulated device cannot say (a GPU's speed) is left out; warm_up.py has the programs before level 01."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder import files
from ladder.levels import lab, names

BUILD = lab.Build(Path(os.environ["LADDER_BUILD"]))
SIM = os.environ["LADDER_SIM"]
Edit = tuple[str, str]  # a regular expression, and what replaces it

# The sum that a kernel is checked against; an exercise that changes it changes this line as well.
SUM = (r"static_assert\(Smem::BYTES == [^;]*;", "")
RIGHT, WRONG, FAILED = 0, 1, 3


@dataclass
class Ran:
    code: int
    said: str
    launches: list[dict[str, Any]] = field(default_factory=list)

    def wavefronts(self, instruction: str) -> set[float]:
        """Per access, of each line that executes such an instruction."""
        return {access["wavefronts"] / access["warp_accesses"] for access in self.launches[0]["shared"]
                if access["instruction"].startswith(instruction)}


class Exercise(unittest.TestCase):
    level = 0

    def page(self) -> str:
        level = names.find_level(str(self.level), names.all_levels())
        text = (files.ROOT / level / "README.md").read_text(encoding="utf-8")
        return " ".join(text.partition("\n## Exercises\n")[2].split())

    def assert_says(self, words: str) -> None:
        self.assertIn(words, self.page())

    def simulate(self, program: Path, arguments: str, sim: str) -> Ran:
        counters = program.parent / "counters.json"
        done = subprocess.run([SIM, *sim.split(), "--counters", counters, program, *arguments.split()],
                              capture_output=True, text=True, check=False)
        launches = json.loads(counters.read_text())["launches"] if counters.exists() else []
        return Ran(done.returncode, done.stdout + done.stderr, launches)

    def unchanged(self, arguments: str, arch: int = 100, sim: str = "") -> Ran:
        level = names.find_level(str(self.level), names.all_levels())
        with lab.scratch() as folder:
            program = folder / "program"
            program.symlink_to(names.executable(level, arch, BUILD.folder))
            return self.simulate(program, arguments, sim)

    def changed(self, *edits: Edit, arguments: str = "--m 256 --n 256 --k 256", arch: int = 100, sim: str = "") -> Ran:
        """The level with its kernel edited."""
        return self.all_changed(*edits, runs=[(arguments, sim)], arch=arch)[0]

    def all_changed(self, *edits: Edit, runs: list[tuple[str, str]], arch: int = 100) -> list[Ran]:
        """The same, run several times: the program's arguments, and the simulated device's."""
        level = names.find_level(str(self.level), names.all_levels())
        with lab.scratch() as folder:
            lab.copy_sources(level, folder)
            kernel = folder / level / f"kernel_sm{arch}.cuh"
            source = kernel.read_text(encoding="utf-8")
            for pattern, replacement in edits:
                source, count = re.subn(pattern, replacement, source)
                self.assertGreater(count, 0, pattern)
            kernel.write_text(source, encoding="utf-8")
            program, said = lab.compile_copy(level, arch, f"compute_{arch}a", BUILD, folder)
            return [self.simulate(program, *run) for run in runs] if program else [Ran(-1, said)]

    def assert_right(self, ran: Ran) -> None:
        self.assertEqual(ran.code, RIGHT, ran.said)

    def assert_ends(self, ran: Ran, code: int, words: str, in_answer: Optional[str] = None) -> None:
        self.assertEqual(ran.code, code, ran.said)
        self.assertIn(words, " ".join(ran.said.split()))
        if in_answer is not None:
            self.assert_says(in_answer)


class Level01(Exercise):
    level = 1

    def test_1_count(self) -> None:
        launch = self.unchanged("--m 256 --n 128 --k 64").launches[0]
        self.assertEqual(launch["tma_load_bytes"], 4 * 24_576)
        self.assertEqual(launch["tma_instructions"], 8)
        self.assertEqual(launch["tensor_flops"], 2 * 4 * 2 * 256 * 128 * 16)
        self.assertEqual(launch["redundant_store_bytes"], 256 * 128 * 2)

    def test_2_take_the_parity_trick_away(self) -> None:
        ran = self.changed((r"phase \^ 1\);  // MMAs of", "phase);  // MMAs of"))
        self.assert_ends(ran, FAILED, "deadlock", "the mbarrier at offset 8 (`smem_empty`)")
        waits = r"warp 0 \(lane 0\) waits for the mbarrier at smem_empty(\[0\])? \(dynamic shared memory \+8\)"
        self.assertEqual(len(re.findall(waits, ran.said)), 2, ran.said)
        self.assertIn("no thread has arrived in this phase", ran.said)

    def test_3_forget_to_accumulate(self) -> None:
        words = "only k = 48 and up was accumulated"
        self.assert_ends(self.changed((r"k_block > 0 \|\| kk > 0", "k_block > 0")), WRONG, words, words)


class Level02(Exercise):
    level = 2

    def test_1_how_deep_must_the_ring_be(self) -> None:
        for stages in (2, 8):
            self.assert_right(self.changed((r"NUM_STAGES = 4", f"NUM_STAGES = {stages}"), SUM,
                                           arguments="--m 128 --n 128 --k 2048"))

    def test_2_one_stage(self) -> None:
        ran = self.changed((r"NUM_STAGES = 4", "NUM_STAGES = 1"), SUM)
        words = "phase 1 still needs 1 arrival (of 2 arrivals)"
        self.assert_ends(ran, FAILED, words, words)

    def test_3_count_the_loads(self) -> None:
        found = [self.unchanged(f"--m 256 --n 256 --k 256 --config swizzle{span}").launches[0]
                 for span in ("128", "64", "32", "_none")]
        self.assertEqual(len({launch["tma_load_bytes"] for launch in found}), 1)
        counts = [launch["tma_instructions"] for launch in found]
        self.assertEqual(counts, [counts[0] * 2**i for i in range(4)])

    def test_4_refill_the_wrong_stage(self) -> None:
        ran = self.changed((r"k_block > 0 && next_k_block", "next_k_block"),
                           (r"const int done_stage = [^;]*;", "const int done_stage = stage;"),
                           (r"(const int next_k_block = )[^;]*;", r"\1k_block + Config::NUM_STAGES;"),
                           (r"mbarrier_wait\(smem_empty\(done_stage\), [^;]*;",
                            "mbarrier_wait(smem_empty(done_stage), phase);"), arguments="--m 256 --n 256 --k 1024")
        self.assert_right(ran)


class Level03(Exercise):
    level = 3

    def test_1_how_many_stages_fit(self) -> None:
        for stages, code in ((9, RIGHT), (10, FAILED)):
            ran = self.changed((r"NUM_STAGES = 8", f"NUM_STAGES = {stages}"), SUM)
            self.assertEqual(ran.code, code, ran.said)
        self.assert_ends(ran, FAILED, "cudaFuncSetAttribute", "`cudaFuncSetAttribute` refuses")

    def test_3_the_producers_registers(self) -> None:
        more = (r"PRODUCER_REGISTERS = 24", "PRODUCER_REGISTERS = 40")
        self.assertIn("static assertion failed", self.changed(more, arch=90).said)
        self.assert_right(self.changed(more, (r"CONSUMER_REGISTERS = 240", "CONSUMER_REGISTERS = 232"), arch=90))


class Level04(Exercise):
    level = 4
    PITCH = r"CD_PITCH = BLOCK_N \* 2;"

    def test_1_and_2_pad_the_rows(self) -> None:
        self.assertEqual(self.unchanged("--m 256 --n 256 --k 256").wavefronts("st.shared"), {32})
        for padding, wavefronts in ((16, 4), (8, 2)):
            ran = self.changed((self.PITCH, f"CD_PITCH = BLOCK_N * 2 + {padding};"), SUM)
            self.assert_right(ran)
            self.assertEqual(ran.wavefronts("st.shared"), {wavefronts})
        self.assert_says("From 32 to 4.")

    def test_4_where_did_the_gain_go(self) -> None:
        ran = self.changed((r"CD_PITCH = BLOCK_N \* 2 \+ 16;", "CD_PITCH = BLOCK_N * 2;"), SUM, arch=90)
        self.assert_right(ran)
        self.assertEqual(ran.wavefronts("stmatrix"), {32})
        self.assertEqual(self.unchanged("--m 256 --n 256 --k 256", 90).wavefronts("stmatrix"), {4})
        self.assert_says("From 4 per instruction back to 32")


class Level05(Exercise):
    level = 5

    def test_1_count_the_barriers(self) -> None:
        for sms, barriers in ((2, 2 + 8 + 1), (4, 2 * (2 + 4 + 1))):
            launch = self.unchanged("--m 512 --n 256 --k 128", sim=f"--sms {sms}").launches[0]
            self.assertEqual(launch["cluster_barriers"], barriers)
            self.assert_says(f"== {barriers}`")

    def test_3_another_group_size(self) -> None:
        self.assert_right(self.changed((r"SWIZZLE_GROUP_SIZE = 8", "SWIZZLE_GROUP_SIZE = 1"), sim="--sms 4",
                                       arguments="--m 640 --n 256 --k 128"))

    def test_4_is_it_needed(self) -> None:
        fence = r"    ptx::tcgen05_fence_before_thread_sync\(\);  // orders this thread's TMEM loads .*\n"
        barrier = r"    __syncwarp\(\);\n    ptx::barrier_cluster_arrive\(\);\n    ptx::barrier_cluster_wait\(\);\n"
        complete = r"(    __syncthreads\(\);  +// \[L04\] the tile is complete\n)"
        orders = ("", "--latest", "--seed 1", "--seed 2", "--check --tolerate equal-stores")
        runs = [("--m 512 --n 384 --k 192", f"--sms 4 {order}") for order in orders]
        for ran in self.all_changed((fence + barrier, "    __syncwarp();\n"),
                                    (complete, r"    ptx::tcgen05_fence_before_thread_sync();\n\1"), runs=runs):
            self.assert_right(ran)
            self.assertNotIn("sim: check:", ran.said)


class Level06(Exercise):
    level = 6

    def test_1_one_accumulator_again(self) -> None:
        self.assert_right(self.changed((r"NUM_ACCUMULATORS = 2", "NUM_ACCUMULATORS = 1"), sim="--sms 2",
                                       arguments="--m 512 --n 384 --k 512"))

    def test_2_five_stages(self) -> None:
        self.assert_ends(self.changed((r"NUM_STAGES = 4", "NUM_STAGES = 5"), SUM), FAILED, "cudaFuncSetAttribute",
                         "the launch is refused")

    def test_5_without_turns(self) -> None:
        runs = [("--m 1024 --n 256 --k 64", "--sms 1"), ("--m 1024 --n 256 --k 512", "--sms 1")]
        short, long = self.all_changed((r"\n[^\n]*ptx::bar_sync\(Config::TURN_BARRIER[^\n]*", ""),
                                       (r"\n[^\n]*bool is_last = [^\n]*\n[^\n]*bar_arrive[^\n]*", ""),
                                       runs=runs, arch=90)
        self.assert_right(short)
        words = "more arrivals than the phase still waits for"
        self.assert_ends(long, FAILED, words, words)


class Level07(Exercise):
    level = 7
    PADDED = (r"(constexpr int padded_m_blocks\(int m\) \{\n)[^}]*\}",
              r"\1  return (m + Config::BLOCK_M - 1) / Config::BLOCK_M;\n}")

    def test_1_the_price_of_padding(self) -> None:
        for m, share in ((768, 4 / 3), (256, 2)):
            launch = self.unchanged(f"--m {m} --n 256 --k 256").launches[0]
            self.assertAlmostEqual(launch["tensor_flops"] / (2 * m * 256 * 256), share)

    def test_2_do_not_pad(self) -> None:
        words = "columns n and n ^ 128 are swapped"
        self.assert_ends(self.changed(self.PADDED, arguments="--m 256 --n 256 --k 128"), WRONG, words, words)

    def test_3_groups_of_seven(self) -> None:
        self.assertIn("static assertion failed",
                      self.changed((r"SWIZZLE_GROUP_SIZE = 8", "SWIZZLE_GROUP_SIZE = 7")).said)


class Level08(Exercise):
    level = 8

    def test_1_what_is_the_swizzle_worth(self) -> None:
        self.assertEqual(self.unchanged("--m 256 --n 256 --k 256").wavefronts("st.shared.v4"), {4})
        ran = self.changed((r"chunk = i \^ \(thread % 8\);", "chunk = i;"),
                           (r"(STORE_BLOCK_N, mma::Swizzle::)B128", r"\1None"))
        self.assert_right(ran)
        self.assertEqual(ran.wavefronts("st.shared.v4"), {32})
        self.assert_says("32 without, 4 with.")

    def test_2_wider_tiles(self) -> None:
        ran = self.changed((r"BLOCK_N = 128", "BLOCK_N = 256"), (r"UMMA_N = 128", "UMMA_N = 256"),
                           (r"NUM_STAGES = 8", "NUM_STAGES = 6"), SUM)
        self.assert_right(ran)
        self.assert_says("`(232,448 - 1,024 - 32,768) // 32,768 == 6` stages fit")

    def test_3_the_trap(self) -> None:
        words = "have completed, so a waiter for an earlier one has been lapped"
        edit = (r"Config::TMEM_EMPTY_ARRIVALS\);  // \[L07\]", "2);  // [L07]")
        ran = self.changed(edit, arguments="--m 2048 --n 256 --k 64", sim="--sms 2 --seed 1")
        self.assert_ends(ran, FAILED, words, words)

    def test_5_bytes(self) -> None:
        one = lab.find_lab(lab.all_labs(), "8", "block_m_256_sm100")
        counted, = one.counts
        self.assertEqual(counted.before * 5, counted.after * 6)

    def test_6_why_halves(self) -> None:
        ran = self.changed((r"CD_N = BLOCK_N / 2;", "CD_N = BLOCK_N;"), (r"half < 2", "half < 1"),
                           (r"NUM_STAGES = 4", "NUM_STAGES = 3"), (r"230'400", "214'016"), arch=90, sim="--sms 2")
        self.assert_right(ran)
        self.assert_says("`1,024 + 65,536 + 3 x 49,152 == 214,016`")

    def test_7_which_arrival_comes_first(self) -> None:
        arrive = r"( *ptx::bar_arrive\(Config::D_EMPTY_BARRIER[^\n]*\n)"
        ran = self.changed((arrive + r"((?s:.*?)not elected wait here\n)", r"\2\1"), arch=90)
        words = "waits at barrier 3: 128 of 160 threads have arrived"
        self.assert_ends(ran, FAILED, "deadlock")
        self.assertRegex(ran.said, "at barrier 3: 128 of 160 threads have arrived")
        self.assert_says(words)


if __name__ == "__main__":
    unittest.main()
