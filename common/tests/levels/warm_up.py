#!/usr/bin/env python3
"""The warm-up programs on the simulated device: short, right in every schedule, and what their pages say they print and
do, the answers to the exercises included."""
from __future__ import annotations

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SIM = os.environ["LADDER_SIM"]
BIN = Path(os.environ["LADDER_BIN"])
NVCC = os.environ["LADDER_NVCC"]
ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "level01_baseline" / "warm_up"
LINES = {"one_mma": 99, "tma_load": 99, "k_loop": 130, "pair": 130}  # each has at most
PROGRAMS = [(name, arch) for name in LINES for arch in (100, 90)]


def simulate(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SIM, *options, program, *arguments], capture_output=True, text=True, check=False)


def executable(name: str, arch: int) -> Path:
    return BIN / f"warm_up_{name}_sm{arch}"


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def printed(text: str) -> str:
    """Without the addresses of the operands, which are the compiler's choice."""
    return re.sub(r"(?<=[0-9a-f]{12})[0-9a-f]{4}\b", "....", text)


class Programs(unittest.TestCase):
    def test_they_are_short(self) -> None:
        for name, arch in PROGRAMS:
            lines = (FOLDER / f"{name}_sm{arch}.cu").read_text(encoding="utf-8").count("\n")
            self.assertLessEqual(lines, LINES[name], f"{name}_sm{arch}.cu")

    def test_they_are_right_in_every_schedule(self) -> None:
        for name, arch in PROGRAMS:
            for options in ([], ["--latest"], *(["--seed", str(seed)] for seed in range(1, 5)), ["--check=strict"]):
                with self.subTest(name, arch=arch, options=options):
                    ran = simulate(executable(name, arch), *options)
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                    self.assertIn("right: 0 of", ran.stdout)
                    self.assertNotIn("check:", ran.stderr)

    def test_any_size_is_right(self) -> None:
        for size in (("1", "1", "8"), ("129", "65", "72"), ("128", "128", "64")):
            for arch in (100, 90):
                ran = simulate(executable("k_loop", arch), "--check", arguments=size)
                self.assertEqual((ran.returncode, "check:" in ran.stderr), (0, False), ran.stdout + ran.stderr)
                self.assertIn(f"right: 0 of {int(size[0]) * int(size[1])} elements", ran.stdout)

    def test_they_print_what_their_pages_show(self) -> None:
        for name, arch in PROGRAMS:
            if (name, arch) != ("tma_load", 90):  # prints one barrier's phases instead of two
                self.assertIn(f"```\n{printed(simulate(executable(name, arch)).stdout)}```\n", printed(page(name)))

    def test_the_wrong_gpu_is_told_what_is_needed(self) -> None:
        for name, arch in PROGRAMS:
            ran = simulate(executable(name, arch), "--gpu", "h200" if arch == 100 else "b200")
            self.assertEqual(ran.returncode, 77, ran.stdout + ran.stderr)
            self.assertIn(f"scripts/sim.sh build/bin/warm_up_{name}_sm{arch}", ran.stdout)


class Exercises(unittest.TestCase):
    def run_changed(self, name: str, arch: int, before: str, after: str, *options: str,
                    on_host: bool = False) -> subprocess.CompletedProcess[str]:
        """The program with a piece of its source replaced: compiled to PTX, which runs in the place of what is in it;
        the whole program, which takes longer, only if the piece is `on_host`."""
        source = (FOLDER / f"{name}_sm{arch}.cu").read_text(encoding="utf-8")
        self.assertIn(before, source)
        with tempfile.TemporaryDirectory(prefix="ladder-test-") as folder:
            changed, made = Path(folder) / "changed.cu", Path(folder) / "changed"
            changed.write_text(source.replace(before, after), encoding="utf-8")
            subprocess.run([NVCC, "-std=c++20", "-O3", f"-gencode=arch=compute_{arch}a,code=compute_{arch}a",
                            *(["--no-compress", "-cudart", "shared"] if on_host else ["-ptx"]), f"-I{ROOT}", changed,
                            "-o", made], check=True)
            program, ptx = (made, []) if on_host else (executable(name, arch), ["--ptx", str(made)])
            return simulate(program, *ptx, *options)

    def test_a_wrong_distance(self) -> None:
        """(row, k) comes from row + 32 for k = 8 to 15: D as the program computes it, with A's rows moved."""
        ran = self.run_changed("one_mma", 100, "ptx::smem_address(smem_a), lbo(M)", "ptx::smem_address(smem_a), lbo(N)")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        a = [[(row * 16 + k) * 7 % 11 - 5 for k in range(16)] for row in range(128)]
        b = [[(row * 16 + k) * 5 % 13 - 6 for k in range(16)] for row in range(2)]
        moved = a[37][:8] + a[69][:8]
        begins = [sum(x * y for x, y in zip(moved, row)) for row in b]
        self.assertIn(f"begins with {begins[0]} {begins[1]}\n", ran.stdout)
        wrong = re.search(r"wrong: (\d+) of 4096", ran.stdout)
        assert wrong, ran.stdout
        self.assertGreater(int(wrong[1]), 0.9 * 4096)

    def test_add_to_nothing(self) -> None:
        for arch, elements in ((100, 4096), (90, 2048)):
            ran = self.run_changed("one_mma", arch, "encode(), false)", "encode(), true)")
            self.assertIn(f"wrong: {elements} of {elements} elements", ran.stdout)
            self.assertIn("nan", ran.stdout)

    def test_find_an_element(self) -> None:
        thread, register = 106, 9
        row = thread // 32 * 16 + thread % 32 // 4 + register // 2 % 2 * 8
        column = register // 4 * 8 + thread % 4 * 2 + register % 2
        self.assertEqual((row, column), (50, 21))
        self.assertIn(f"thread {thread}, and register {register}.", " ".join(page("one_mma").split()))

    def test_expect_too_much_or_too_little(self) -> None:
        before = "sizeof smem_a + sizeof smem_b)"
        for after, words in (("2 * sizeof smem_a)", "phase 0 still needs 3,072 bytes"),
                             ("sizeof smem_a)", "delivered beyond what it expects")):
            ran = self.run_changed("tma_load", 100, before, after)
            self.assertEqual(ran.returncode, 3)
            self.assertIn(words, ran.stderr)
            self.assertIn(words, " ".join(page("tma_load").split()))

    def test_wait_for_the_last_phase(self) -> None:
        line = re.search(r"  __syncthreads\(\); +// thread 0 has seen.*", (FOLDER / "tma_load_sm100.cu").read_text())
        assert line
        ran = self.run_changed("tma_load", 100, line[0], "  ptx::mbarrier_wait(done, (K / BLOCK_K - 1) % 2);")
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)

    def test_beyond_the_edge(self) -> None:
        for arch, rows in ((100, 100), (90, 50)):
            ran = self.run_changed("tma_load", arch, "&map_a, a, M, K, K", f"&map_a, a, {rows}, K, K", on_host=True)
            tile = 128 if arch == 100 else 64
            self.assertIn(f"wrong: {(tile - rows) * 32} of {tile * 32} elements", ran.stdout)

    def test_only_one_of_them_swizzles(self) -> None:
        for arch in (100, 90):
            ran = self.run_changed("k_loop", arch, "BLOCK_M, BLOCK_K, mma::Swizzle::B128",
                                   "BLOCK_M, BLOCK_K, mma::Swizzle::None", on_host=True)
            self.assertEqual(ran.returncode, 3)
            self.assertIn("the tensor map and the descriptor must agree", ran.stderr)

    def test_forget_the_columns(self) -> None:
        ran = self.run_changed("k_loop", 90, "row < m && col < n", "row < m", "--check")
        self.assertIn("(write after write)", ran.stderr)
        self.assertIn("0 bytes past the end of cudaMallocManaged #3", ran.stderr)

    def test_less_than_a_block(self) -> None:
        for arch, rows in ((100, 192), (90, 128)):
            self.assertEqual(simulate(executable("k_loop", arch), arguments=("200", "72", "40")).returncode, 0)
            self.assertIn(f"{48 * rows:,} of {128 * rows:,}", " ".join(page("k_loop").split()))

    def test_commit_to_the_leader_only(self) -> None:
        ran = self.run_changed("pair", 100, "0b11", "0b01")
        self.assertEqual(ran.returncode, 3)
        self.assertRegex(ran.stderr, r"(?s)CTA \(1\).*\(lane 0\) waits for the mbarrier .*phase 0 still needs 1 arr")

    def test_the_same_rows_of_a(self) -> None:
        ran = self.run_changed("pair", 100, "k, rank * OWN_M", "k, 0")
        self.assertRegex(ran.stdout, r"CTA 0: .* 0 elements wrong\nCTA 1: .* 8132 elements wrong")

    def test_four_arrivals(self) -> None:
        change = "pair", 90, "smem_empty, THREADS / 32", "smem_empty, THREADS / 64"
        self.assertIn("right: 0 of 8192", self.run_changed(*change).stdout)
        ran = self.run_changed(*change, "--check")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("a waiter for an earlier one has been lapped", ran.stderr)
        self.assertIn("(phase known)", ran.stderr)


if __name__ == "__main__":
    unittest.main()
