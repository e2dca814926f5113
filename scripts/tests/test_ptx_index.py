from __future__ import annotations

import re
import shutil
import unittest
from pathlib import Path

from ladder import files
from ladder.context import Context
from ladder.levels import instructions
from ladder.pages.blocks import BLOCKS
from tests import support

HEADER = """\
/// `ld.some.uG [address];`
/// A load.
/// ISA 9.7.9.8 (ld), PTX 1.0.
__device__ __forceinline__ uint4 ld_some(uint32_t address) {

/// `copy.wide
///  [dst], [src];`
/// Executed by: one thread. Done: at once. ISA 9.1
/// (copy), PTX 8.6, sm_100a.
__device__ __forceinline__ void copy(uint32_t dst) {

/// `copy.group::G [dst], [src];`
/// The same. ISA 9.1 (copy), PTX 8.6, sm_100a.
template <int G>
__device__ __forceinline__ void copy(uint32_t dst) {

/// `copy.one [dst], [src];`
/// The same, of some size. ISA 9.1 (copy), PTX 8.6, sm_100a.
__device__ __forceinline__ void copy(uint32_t dst,
                                     uint32_t size) {

/// No instruction at all.
__device__ __forceinline__ void think() {}

/// `add.u32 d, a, b;`
/// In C++.
__device__ __forceinline__ uint32_t add(uint32_t a) { return a; }
"""


class Derivation(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write("common/ptx/README.md", "| `tma.cuh` | copies |\n| `memory.cuh` | memory |\n")
        self.write("common/ptx/tma.cuh", "#pragma once\n")
        self.write("common/ptx/memory.cuh", HEADER)
        self.write("level01_baseline/kernel_sm100.cuh", "ptx::copy(a); // ptx::ld_some(b)\n")
        self.write("level02_tma_swizzle/kernel_sm100.cuh",
                   "ptx::copy(a); ptx::copy<2>(b); ptx::ld_some(b); ptx::copy(f(a, b), c);\n")
        self.write("level01_baseline/kernel_sm90.cuh", "ptx::ld_some(b); ptx::think();\n")

    def test_doc_blocks(self) -> None:
        found = instructions.wrappers(self.root)
        self.assertEqual([w.name for w in found], ["ld_some", "copy", "copy", "copy", "add"])
        load, plain, template, sized, add = found
        self.assertEqual((load.ptx, load.header, load.line), ("ld.some.uG [address];", "common/ptx/memory.cuh", 4))
        self.assertEqual((load.section, load.instruction, load.since, load.target), ("9.7.9.8", "ld", "1.0", ""))
        self.assertEqual((plain.ptx, plain.section, plain.target), ("copy.wide [dst], [src];", "9.1", "sm_100a"))
        self.assertEqual((plain.is_template, template.is_template), (False, True))
        self.assertEqual((plain.parameters, sized.parameters), (1, 2))
        self.assertEqual(template.line, 15)
        self.assertEqual((add.section, add.since), ("", ""))

    def test_first_level_to_call(self) -> None:
        first = instructions.introductions(self.root)

        def names(level: str, arch: int) -> list[str]:
            return [w.ptx.split()[0] for w, levels in first.items() if levels.get(arch) == level]

        self.assertEqual(names("level01_baseline", 100), ["copy.wide"])
        self.assertEqual(names("level02_tma_swizzle", 100), ["ld.some.uG", "copy.group::G", "copy.one"])
        self.assertEqual(names("level01_baseline", 90), ["ld.some.uG"])
        self.assertEqual(names("level02_tma_swizzle", 90), [])

    def test_calls_in_a_header_of_the_kernel(self) -> None:
        self.write("common/mma/sums.cuh", "ptx::copy<2>(b);\n")
        self.write("level01_baseline/kernel_sm90.cuh", '#include "common/mma/sums.cuh"\n')
        first = instructions.introductions(self.root)
        self.assertEqual([w.ptx.split()[0] for w, levels in first.items() if levels.get(90)], ["copy.group::G"])

    def test_markdown(self) -> None:
        text = BLOCKS["ptx_map"](Context(self.root, [], Path("docs/ptx_map.md")), {})
        self.assertIn("| `copy.group::G [dst], [src];` | [`copy`](../common/ptx/memory.cuh#L15) "
                      "| [02](../level02_tma_swizzle/kernel_sm100.cuh) | - | 9.1 copy | PTX 8.6, sm_100a |", text)
        self.assertIn("| `add.u32 d, a, b;` |", text)
        self.assertIn("### Memory\n", text)
        self.assertNotIn("### Copies", text, "a family without wrappers")

    def test_astray_doc_block(self) -> None:
        self.write("common/ptx/tma.cuh", "/// `copy;`\n\n__device__ __forceinline__ void copy() {\n")
        with self.assertRaisesRegex(instructions.DocError, "common/ptx/tma.cuh:2: a doc block must stand"):
            instructions.wrappers(self.root)


class Command(support.Sandbox):
    def test_every_way_to_write_a_level(self) -> None:
        shutil.copytree(support.ROOT / "common" / "ptx", self.root / "common" / "ptx")
        self.write("level02_tma_swizzle/kernel_sm90.cuh", "ptx::elect_sync()")
        script = self.maintain / "ptx_index.py"
        for level in ("2", "02", "level02", "level02_tma_swizzle"):
            answer = self.run_command(script, "--level", level)
            self.assert_exit(0, answer)
            self.assertRegex(answer.stdout, r"^Blackwell  -  Hopper  2  elect_sync .*\n$")
        self.assert_exit(2, self.run_command(script, "--level", 3), "there is no level 3")


class ThisRepository(unittest.TestCase):
    def test_every_wrapper_is_used(self) -> None:
        folders = (support.SCRIPTS / "autotune", support.SCRIPTS / "maintain" / "calibrate",
                   support.ROOT / "level08_deep_pipeline" / "production", support.ROOT / "common" / "mma")
        others = "".join(path.read_text(encoding="utf-8") for folder in folders
                         for pattern in ("*.cu*", "*.patch") for path in folder.rglob(pattern))
        for wrapper, levels in instructions.introductions().items():
            self.assertTrue(levels or wrapper.is_called(others), wrapper.name)

    def test_every_instruction_names_its_section(self) -> None:
        nameless = [w.name for w in instructions.wrappers() if not w.section]
        self.assertEqual(nameless, ["pair_leader_address"], "only plain arithmetic needs none")

    def test_the_line_in_the_doc_block_is_the_one_that_is_assembled(self) -> None:
        for wrapper in instructions.wrappers():
            if not wrapper.section:
                continue
            opcode = re.escape(wrapper.ptx.split()[0].rstrip(";"))
            for variable, value in (("::G", r"::%\d"), (r"\.xN", r"\.x\d"), ("nNk", 'n" #N "k')):
                opcode = opcode.replace(variable, value)
            code = re.sub(r"//.*", "", (files.ROOT / wrapper.header).read_text(encoding="utf-8"))
            self.assertRegex(code, rf'"[^"]*{opcode}', wrapper.name)

    def test_the_readme_lists_every_file(self) -> None:
        there = {path.name for path in (files.ROOT / instructions.FOLDER).glob("*.cuh")}
        self.assertEqual(there, set(instructions.families()))


if __name__ == "__main__":
    unittest.main()
