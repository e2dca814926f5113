"""Mutants have numbers, and what becomes of them is told."""
from __future__ import annotations

import io
import json
import random
import struct
import unittest
from pathlib import Path

from ladder.fuzzing import differences, fatbins, mutations, seeds, trial
from ladder.fuzzing.judges import Verdict

LINES = ["add.s32 %r1, %r2, 5;", "@p mov.u32 a,b;", "ld.global.v2.u32 {a,b}, [x+8];", "bar.sync 0;", "ret;"]


class Mutants(unittest.TestCase):
    def test_a_seed_and_a_number_name_a_mutant(self) -> None:
        for line in LINES:
            twice = [mutations.instruction(random.Random("line/1/7"), line) for _ in range(2)]
            self.assertEqual(twice[0], twice[1])

    def test_they_differ(self) -> None:
        mutants = {mutations.instruction(random.Random(f"line/1/{i}"), LINES[0]) for i in range(200)}
        self.assertGreater(len(mutants), 100)

    def test_instructions_are_taken_apart_and_put_together(self) -> None:
        line = mutations.take_apart(LINES[2])
        assert line is not None
        self.assertEqual((line.words, line.operands), (["ld", "global", "v2", "u32"], ["{a,b}", "[x+8]"]))
        self.assertEqual(str(line), LINES[2])

    def test_every_kind_of_text_mutant_ends(self) -> None:
        whole = seeds.whole(LINES[0], "sm_100a")
        for i in range(300):
            self.assertIsInstance(mutations.text(random.Random(i), whole), str)

    def test_a_text_is_cut_behind_a_kernel(self) -> None:
        kernel = ".entry {}() {{\n{{ .reg .b32 a;\n}}\nret;\n}}\n"
        text = seeds.shorten(".version 9.0\n" + "".join(kernel.format(name) for name in "abc") + "// end\n")
        self.assertEqual((text.count(".entry"), text.count("{"), text.count("}")), (2, 4, 4))


class Records(unittest.TestCase):
    def test_a_line_for_every_mutant(self) -> None:
        file = io.StringIO()
        record = trial.Record("run", file)
        record.add(3, "right")
        record.add(4, "failed", "it hangs")
        self.assertEqual([json.loads(line) for line in file.getvalue().splitlines()],
                         [{"kind": "run", "mutant": 3, "outcome": "right"},
                          {"kind": "run", "mutant": 4, "outcome": "failed", "wrong": "it hangs"}])
        self.assertEqual((record.total, record.wrong), (2, ["run 4: it hangs"]))

    def test_every_known_difference_has_a_reason(self) -> None:
        known = differences.known()
        self.assertEqual(len({each.name for each in known}), len(known))
        for each in known:
            self.assertTrue(each.reason.endswith("."), each.name)
            self.assertIn(each.we, ("accept", "refuse"))

    def test_a_difference_that_is_not_known(self) -> None:
        known = [differences.Known("quirk", "It is one.", "refuse", "too many")]
        refused, accepted = Verdict({1: "too many operands"}), Verdict()
        difference = differences.compare("add a;", refused, accepted)
        assert difference is not None
        self.assertEqual(differences.name_of(difference, known), "quirk")
        opposite = differences.compare("add a;", accepted, refused)
        assert opposite is not None
        self.assertIsNone(differences.name_of(opposite, known))
        self.assertIsNone(differences.compare("add a;", accepted, Verdict()))


class FatBinaries(unittest.TestCase):
    def test_only_the_container_is_damaged(self) -> None:
        entry = struct.pack("<HHIQ", 1, 0, 80, 32) + bytes(64) + b"x" * 32
        container = fatbins.CONTAINER + struct.pack("<Q", len(entry)) + entry
        data = b"a" * 50 + container + b"b" * 50
        program = fatbins.Program(Path("p"), data, [range(50, 50 + len(container))])
        for i in range(300):
            damaged = fatbins.damage(random.Random(i), program)
            self.assertEqual((len(damaged), damaged[:50], damaged[-50:]), (len(data), b"a" * 50, b"b" * 50))


if __name__ == "__main__":
    unittest.main()
