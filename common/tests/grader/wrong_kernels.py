#!/usr/bin/env python3
"""Kernels that are wrong from a CTA's second tile on, or once a ring has wrapped: the grader's claim of order fails for
each of them. One program per level has them all: where a statement is edited, it looks up which kernel it is to be."""
from __future__ import annotations

import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from ladder import files
from ladder.grader import verdicts
from ladder.levels import lab, names

ARCH = 100
CHOICE = "WRONG_KERNEL"  # a variable of the environment, read by launch()
LAUNCH = "inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {\n"
CHOOSE = f"""  static const int chosen = std::atoi(std::getenv("{CHOICE}"));
  cudaMemcpyToSymbolAsync(wrong_kernel, &chosen, sizeof chosen, 0, cudaMemcpyHostToDevice, stream);
"""

# A statement of the kernel, with #N its Nth occurrence, and what stands there instead: {} is the statement itself.
Edit = tuple[str, str]

ONCE = "if (tile == first_tile) {}"
LATER = "if (tile != first_tile) "

PROXY_FENCE = "ptx::fence_proxy_async_shared();"
COMMIT_GROUP = "ptx::cp_async_bulk_commit_group();"
SMEM_EMPTY = "ptx::mbarrier_wait(smem_empty(stage), phase ^ 1);"
SMEM_FULL = "ptx::mbarrier_wait(smem_full(stage), phase);"
NEXT_STAGE = "if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;"
EXPECT = "ptx::mbarrier_arrive_expect_tx_cluster(full, Config::STAGE_BYTES);"
COMMIT = "ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(smem_empty(stage), 0b11);"
TMEM_EMPTY = "ptx::mbarrier_wait(tmem_empty(buffer), tmem_phase ^ 1);"
TMEM_FULL = "ptx::mbarrier_wait(tmem_full(buffer), tmem_phase);"
EPILOGUE = "ptx::bar_sync(Config::EPILOGUE_BARRIER, Config::EPILOGUE_THREADS);"
READ = "if (thread == 0) ptx::cp_async_bulk_wait_group_read<0>();"
READ_08 = "if (thread == 0) ptx::cp_async_bulk_wait_group_read<Config::NUM_STORE_STAGES - 1>();"
RELEASE_06 = "if (thread == 0) ptx::mbarrier_arrive(tmem_empty(buffer));"
RELEASE_07 = "if (thread == 0) ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(tmem_empty(buffer)));"
RELEASE_08 = "if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive_cluster(ptx::pair_leader_address(tmem_empty(buffer)));"

RING: list[list[Edit]] = [  # of the stages, in every level
    [(SMEM_EMPTY, ONCE)],
    [(SMEM_FULL, ONCE)],
    [(SMEM_FULL, "ptx::mbarrier_wait(smem_full(stage), 0);")],
    [(SMEM_FULL, "if (tile == first_tile || k_block > 0) {}")],
    [(NEXT_STAGE, "if (++stage == Config::NUM_STAGES) stage = 0, phase ^= tile == first_tile;")],
    [(EXPECT, "ptx::mbarrier_arrive_expect_tx_cluster(full, Config::STAGE_BYTES / (tile == first_tile ? 1 : 2));")],
    [(COMMIT, COMMIT.replace("0b11", "tile == first_tile ? 0b11 : 0b01"))],
]
STORE: list[list[Edit]] = [  # of a tile through shared memory
    [(PROXY_FENCE, ONCE)],
    [(COMMIT_GROUP, ONCE)],
]


def accumulators(release: str, read: str, in_tile: str) -> list[list[Edit]]:
    """Of two accumulators, whose epilogue has warps of its own. `in_tile`: how far it is, 0 first."""
    return [
        [(TMEM_EMPTY, ONCE)],
        [(TMEM_EMPTY, "ptx::mbarrier_wait(tmem_empty(buffer), 1);")],
        [(TMEM_FULL, ONCE)],
        [(TMEM_FULL, "ptx::mbarrier_wait(tmem_full(buffer), 0);")],
        [(f"{EPILOGUE} #1", ONCE)],
        [(f"{EPILOGUE} #2", ONCE)],
        [(read, ONCE)],
        [(read, read.replace("<0>", "<1>").replace(" - 1", ""))],
        [(PROXY_FENCE, f"if (tile == first_tile || {in_tile} == 0) {{}}")],
        [(release, ONCE), (f"{EPILOGUE} #1", f"{{}} if ({in_tile} == 0) {LATER}{{ {release} }}")],
    ]


TABLE: dict[int, list[list[Edit]]] = {
    5: RING + STORE + [
        [("ptx::mbarrier_wait(tmem_full, tile_phase);", ONCE)],
        [("ptx::mbarrier_wait(tmem_full, tile_phase);", "ptx::mbarrier_wait(tmem_full, 0);")],
        [("__syncthreads();", ONCE)],
        [("ptx::cp_async_bulk_wait_group_read<0>();", ONCE)],
        [("ptx::cp_async_bulk_wait_group_read<0>();", "ptx::cp_async_bulk_wait_group_read<1>();")],
    ],
    6: RING + STORE + accumulators(RELEASE_06, READ, "subtile") + [
        # Thread 0 releases the accumulator before the others have read it.
        [(RELEASE_06, ONCE), (PROXY_FENCE, f"if (subtile == 1) {LATER}{{ {RELEASE_06} }} {{}}")],
    ],
    7: RING + STORE + accumulators(RELEASE_07, READ, "subtile") + [
        # The leader releases it for its peer.
        [(RELEASE_07, f"if (tile == first_tile || is_leader) {{ {{}} }} if (is_leader) {LATER} {{}}")],
    ],
    8: RING + STORE + accumulators(RELEASE_08, READ_08, "first") + [
        [(RELEASE_08, f"if (tile == first_tile || is_leader) {{ {{}} }} if (is_leader) {LATER} {{}}")],
    ],
}


def edited(text: str, kernels: list[list[Edit]]) -> str:
    """The kernel's text, in which each edited statement asks which kernel it is. Kernel 0 is the unchanged one."""
    statements: dict[str, str] = {}
    for number, edits in enumerate(kernels, 1):
        for old, new in edits:
            statement = old.partition(" #")[0]
            otherwise = statements.get(old, f"{{ {statement} }}")
            statements[old] = f"if (wrong_kernel == {number}) {{ {new.replace('{}', statement)} }} else {otherwise}"
    places = []
    for old, new in statements.items():
        statement, _, which = old.partition(" #")
        found = list(re.finditer(r"\s+".join(map(re.escape, statement.split())), text))
        places.append((found[int(which or 1) - 1].span(), new))
    for (begin, end), new in sorted(places, reverse=True):
        text = text[:begin] + new + text[end:]
    return "#include <cstdlib>\n__constant__ int wrong_kernel;\n" + text.replace(LAUNCH, LAUNCH + CHOOSE)


class WrongKernels(unittest.TestCase):
    def judge(self, number: int) -> None:
        level, kernels = names.find_level(str(number), names.all_levels()), TABLE[number]
        self.assertGreaterEqual(len(kernels), 10)
        with tempfile.TemporaryDirectory(prefix="ladder-wrong-") as name:
            folder = Path(name).resolve()
            lab.copy_sources(level, folder)
            kernel = names.kernel_path(folder, level, ARCH)
            kernel.write_text(edited(kernel.read_text(encoding="utf-8"), kernels), encoding="utf-8")
            program, said = lab.compile_copy(level, ARCH, f"compute_{ARCH}a", lab.Build(files.BUILD), folder)
            assert program, said
            for chosen, edits in enumerate([[], *kernels]):
                os.environ[CHOICE] = str(chosen)
                # One run at a time: after the first that is wrong there is none.
                with self.subTest(kernel=edits), mock.patch("os.cpu_count", return_value=1):
                    verdict = verdicts.in_order(program)
                    self.assertEqual(verdict.holds, chosen == 0, verdict.found)

    def test_level05(self) -> None:
        self.judge(5)

    def test_level06(self) -> None:
        self.judge(6)

    def test_level07(self) -> None:
        self.judge(7)

    def test_level08(self) -> None:
        self.judge(8)


if __name__ == "__main__":
    unittest.main()
