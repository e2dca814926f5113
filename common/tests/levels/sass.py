#!/usr/bin/env python3
"""The machine code of the levels: no instruction touches an accumulator on Hopper before the MMAs that write it are
waited for, and docs/profilers.md shows what the compiler makes.

wgmma is asynchronous: between an MMA (HGMMA) and the wait for all groups (WARPGROUP.DEPBAR.LE gsb0, 0x0) its
accumulators must be left alone. The source says so; the assembler does not always listen. ptxas 13.0 has moved
conversions of a plain __float2bfloat16 epilogue above that wait, without a warning. D was then wrong in other places in
every run.

LADDER_BIN names the folder of the executables. Exit code 77 without a disassembler.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Optional

FUNCTION = re.compile(r"Function : (\S+)")
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,6})\*/\s+(.*?)\s*;")
MMA = re.compile(r"HGMMA\.64x(\d+)x16\S* R(\d+),")
WAIT = "WARPGROUP.DEPBAR.LE gsb0, 0x0"
REGISTER = re.compile(r"\bR(\d+)((?:\.64|\.128)?)")


def registers(text: str) -> set[int]:
    """All that an instruction names; R8.64 is R8 and R9."""
    found: set[int] = set()
    for number, width in REGISTER.findall(text):
        found |= set(range(int(number), int(number) + {"": 1, ".64": 2, ".128": 4}[width]))
    return found


def early_accesses(sass: Iterable[str]) -> dict[str, list[str]]:
    """Per kernel that has MMAs: what names an accumulator while MMAs may still write it, in the order of the code."""
    kernels: dict[str, list[str]] = {}
    name = ""
    accumulators: set[int] = set()
    for line in sass:
        if match := FUNCTION.search(line):
            name, accumulators = match[1], set()
        match = INSTRUCTION.search(line)
        if not match:
            continue
        if mma := MMA.search(match[2]):
            kernels.setdefault(name, [])
            accumulators |= set(range(int(mma[2]), int(mma[2]) + int(mma[1]) // 2))
        elif WAIT in match[2]:
            accumulators = set()
        elif accumulators & registers(match[2]):
            kernels[name].append(f"{match[1]}: {match[2]}")
    return kernels


def disassembler() -> Optional[Path]:
    """cuobjdump: of CUDA, or of the wheel that scripts/setup.sh installs; nvdisasm, which it calls, is beside it."""
    folders = list(Path(__file__).resolve().parents[3].glob(".venv/lib/python3*/site-packages/nvidia/cu13/bin"))
    if nvcc := shutil.which("nvcc"):
        folders.append(Path(nvcc).resolve().parent)
    folders.append(Path("/usr/local/cuda/bin"))
    return next((f / "cuobjdump" for f in folders if (f / "cuobjdump").exists() and (f / "nvdisasm").exists()), None)


@lru_cache
def sass_of(program: Path) -> list[str]:
    tool = disassembler()
    assert tool
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    done = subprocess.run([tool, "-sass", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def mma_counts(sass: Iterable[str]) -> dict[str, int]:
    """MMAs of each kernel that says it waits for some, without the one of eight columns that the assembler puts in the
    place of those that it leaves out."""
    counts: dict[str, int] = {}
    name = ""
    for line in sass:
        if match := FUNCTION.search(line):
            name = match[1]
        elif "WARPGROUP.DEPBAR" in line:
            counts.setdefault(name, 0)
        elif (mma := MMA.search(line)) and int(mma[1]) > 8:
            counts[name] = counts.get(name, 0) + 1
    return counts


def mnemonics(program: Path) -> list[str]:
    """All instructions of a program, without predicates and operands."""
    found = (INSTRUCTION.search(line) for line in sass_of(program))
    return [mnemonic(match[2]) for match in found if match]


def mnemonic(instruction: str) -> str:
    return re.sub(r"^@\S+\s+", "", instruction).split()[0]


class Sass(unittest.TestCase):
    def test_levels_wait_before_they_read(self) -> None:
        folder = Path(os.environ["LADDER_BIN"])
        programs = [*sorted(folder.glob("level0[1-8]_*_sm90")), folder / "production_sm90"]
        self.assertTrue(programs)
        for program in programs:
            with self.subTest(program.name):
                kernels = early_accesses(sass_of(program))
                self.assertTrue(kernels, "no kernel with MMAs was found")
                for kernel, accesses in kernels.items():
                    self.assertEqual(accesses, [], kernel)

    def test_micro_benchmarks_multiply(self) -> None:
        """Unread results are not computed, and an absent MMA takes no time."""
        program = Path(os.environ["LADDER_BIN"]) / "calibrate_sm90"
        if not program.exists():
            self.skipTest("scripts/test.sh --all builds them")
        for kernel, mmas in mma_counts(sass_of(program)).items():
            self.assertGreaterEqual(mmas, 16, kernel)

    def test_an_access_before_the_wait_is_found(self) -> None:
        code = ["Function : kernel", "/*0010*/ HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;", "/*0020*/ {} ;",
                "/*0030*/ WARPGROUP.DEPBAR.LE gsb0, 0x0 ;", "/*0040*/ F2FP.BF16.F32.PACK_AB R0, R25, R24 ;"]
        for between, found in (("IADD3 R2, R3, R4", False), ("F2FP.BF16.F32.PACK_AB R2, RZ, R87", True),
                               ("MOV R88, R2", False), ("STG.E.64 desc[UR4][R2.64], R86", True),
                               ("WARPGROUP.DEPBAR.LE gsb0, 0x1", False)):
            with self.subTest(between):
                self.assertEqual(bool(early_accesses([line.format(between) for line in code])["kernel"]), found)


class Page(unittest.TestCase):
    """docs/profilers.md, against the programs that it names."""

    page = (Path(__file__).resolve().parents[3] / "docs" / "profilers.md").read_text(encoding="utf-8")

    def test_the_loop_is_what_the_compiler_makes(self) -> None:
        match = re.search(r"<!-- sass of: (\S+) -->\n```\n(.*?)```", self.page, re.DOTALL)
        assert match
        shown = [mnemonic(line) for line in match[2].splitlines()]
        self.assertGreater(len(shown), 10)
        families = {name.partition(".")[0] for name in shown}
        made = [name for name in mnemonics(Path(os.environ["LADDER_BIN"]) / match[1])
                if name.partition(".")[0] in families]
        loops = [made[i:i + len(shown)] for i in range(len(made))]
        self.assertIn(shown, loops)

    def test_each_name_occurs_where_the_table_says(self) -> None:
        table = self.page.partition("<!-- sass table -->\n")[2].partition("\n\n")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        self.assertGreater(len(rows), 10)
        for names, _, levels in rows:
            made = [name for level, arch in (words.split() for words in levels.split(", "))
                    for path in Path(os.environ["LADDER_BIN"]).glob(f"{level}_*_{arch}") for name in mnemonics(path)]
            for name in re.findall(r"`(\S+?)[` ]", names):
                with self.subTest(name):
                    matches = str.__contains__ if name.startswith(".") else str.startswith
                    self.assertTrue(any(matches(f"{m}.", f"{name}.") for m in made), f"not in {levels}")

    def test_a_predicate_is_no_mnemonic(self) -> None:
        self.assertEqual(mnemonic("@!P0 SYNCS.ARRIVE.TRANS64 RZ, [UR17], R2"), "SYNCS.ARRIVE.TRANS64")


if __name__ == "__main__":
    if not disassembler():
        print("There is no cuobjdump with nvdisasm. scripts/setup.sh installs them, or a whole CUDA toolkit has them.")
        sys.exit(77)
    unittest.main()
