#!/usr/bin/env python3
"""A recording, replayed natively, says what the program's run says: reports, counters, results."""
from __future__ import annotations

import gzip
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from recorded import BIN, LEVELS, OTHERS, ROOT, SIM, WARM_UPS, Program, record, run

from ladder.levels import lab, verdict
from ladder.levels.verdict import Finding, Verdict
from ladder.mutants.sites import Embedded
from ladder.site import programs
from tests.support import Scratch

SCHEDULES = ((), ("--check",), ("--latest",), ("--seed", "3"))


def of_launches(found: Verdict) -> tuple[Finding, ...]:
    """Without calls that were refused: a recording holds only what the device was asked for."""
    return tuple(finding for finding in found.findings if not (finding.kind == verdict.REFUSED and finding.tolerated))


class Native(Scratch):
    def replay(self, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([SIM, *options, "--replay", str(file)], capture_output=True, text=True, timeout=600,
                              check=False)

    def assert_same(self, program: Program, schedules: tuple[tuple[str, ...], ...]) -> None:
        file = record(program, self.root)
        for schedule in schedules:
            with self.subTest(program=program.name, schedule=schedule):
                there = run([str(program.path), *program.arguments], self.root / "counters.json", *program.options,
                            *schedule)
                again = run(["--replay", str(file)], self.root / "counters.json", *schedule)
                self.assertEqual(again.verdict.code, there.verdict.code, again.verdict.said)
                self.assertEqual(again.verdict.findings, of_launches(there.verdict))
                self.assertEqual(again.counters, there.counters)
                self.assertIn("as recorded", again.verdict.said)

    def test_levels(self) -> None:
        for program in LEVELS:
            self.assert_same(program, SCHEDULES[1:2])

    def test_schedules(self) -> None:
        for program in LEVELS[8:10]:
            self.assert_same(program, SCHEDULES)

    def test_warm_ups(self) -> None:
        for program in WARM_UPS:
            self.assert_same(program, SCHEDULES)

    def test_programs_of_others(self) -> None:
        for program in OTHERS:
            self.assert_same(program, SCHEDULES[:2])

    def test_inputs_are_kept_as_seeds(self) -> None:
        large = Program(LEVELS[0].name, ("--m", "1024", "--n", "256", "--k", "2048"), ("--sms", "8"))
        inputs = 2 * 2048 * (1024 + 256)
        self.assertLess(record(large, self.root).stat().st_size, inputs // 8)

    def test_changed_ptx(self) -> None:
        """Without an instruction a replay says what the program says, and shows which tiles are wrong."""
        level = next(program for program in LEVELS if program.name == "level01_baseline_sm100")
        file = record(level, self.root)
        embedded = Embedded.find(level.path, 100)
        first = {site.instruction: site for site in reversed(embedded.sites())}
        codes = set()
        for name in ("mbarrier.try_wait", "mbarrier.arrive.expect_tx", "tcgen05.commit", "mbarrier.init"):
            ptx = self.root / "changed.ptx"
            ptx.write_text(embedded.without(first[name].places).rstrip("\0"), encoding="utf-8")
            options = ("--latest", "--ptx", str(ptx))
            there = run([str(level.path), *level.arguments], self.root / "counters.json", *level.options, *options)
            again = run(["--replay", str(file)], self.root / "counters.json", *options).verdict
            with self.subTest(name):
                self.assertEqual(again.findings, there.verdict.findings)
                self.assertEqual(again.code, {3: 86}.get(there.verdict.code, there.verdict.code), again.said)
                self.assertEqual("tiles of 16 x 16" in again.said, again.code == 1, again.said)
            codes.add(again.code)
        self.assertEqual(codes, {1, 86})

    def test_bad_recordings(self) -> None:
        file = record(WARM_UPS[0], self.root)
        data = file.read_bytes()
        bad = self.root / "bad.rec"
        for content, code, words in (
                (data[:-7], 3, "incomplete"), (data[:40], 3, "not a recording"), (b"", 3, "the file is empty"),
                (data[:500] + bytes([data[500] ^ 1]) + data[501:], 3, "changed"), (b"\x1f\x8b\x08", 3, "gunzip"),
                (data.replace(b"version 1\n", b"version 999\n", 1), 4, "version 999")):
            with self.subTest(words):
                bad.write_bytes(content)
                done = self.replay(bad)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_bad_ptx(self) -> None:
        file = record(WARM_UPS[0], self.root)
        ptx = self.root / "bad.ptx"
        ptx.write_text(".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() { nonsense; }\n", encoding="utf-8")
        done = self.replay(file, "--ptx", str(ptx))
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn(":4: ", done.stderr)

    def test_bad_command_lines(self) -> None:
        for options, words in ((["--replay", "nowhere.rec"], "no readable file"),
                               (["--replay", str(SIM), "program"], "needs no PROGRAM"),
                               (["--record", "/nowhere/x.rec", "true"], "no directory"),
                               (["--timing", "--record", str(self.root / "x"), "true"], "--record")):
            done = subprocess.run([SIM, *options], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


class Pages(Scratch):
    """The data of the playground's pages."""

    def replay(self, recording: str) -> subprocess.CompletedProcess[str]:
        plain = self.root / "plain.rec"
        plain.write_bytes(gzip.decompress((self.root / recording).read_bytes()))
        return subprocess.run([SIM, "--check", "--replay", str(plain)], capture_output=True, text=True, check=False)

    def assert_data(self, recordings: int) -> None:
        program = json.loads((self.root / "program.json").read_text(encoding="utf-8"))
        lines = gzip.decompress((self.root / program["ptx"]).read_bytes()).decode().split("\n")
        for shape in program["shapes"]:
            done = self.replay(shape["recording"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("as recorded", done.stdout)
            self.assertLess((self.root / shape["recording"]).stat().st_size, 64 << 10)
        self.assertEqual(len(program["shapes"]), recordings)
        source = (ROOT / program["source"]).read_text(encoding="utf-8").split("\n")
        sites = json.loads((self.root / "sites.json").read_text(encoding="utf-8"))
        self.assertGreater(len(sites), 3)
        self.assertEqual(len({site["id"] for site in sites}), len(sites))
        for site in sites:
            self.assertIn(site["source"], source[site["line"] - 1])
            for edit in site["removed"]["edits"]:
                self.assertIn(site["instruction"], lines[edit["line"] - 1])
                self.assertNotIn(site["instruction"], edit["text"])
            self.assertTrue(site["removed"]["edits"])

    def test_a_level(self) -> None:
        programs.write_level("level01_baseline", 100, self.root, BIN.parent, with_labs=False)
        self.assert_data(5)
        sites = json.loads((self.root / "sites.json").read_text(encoding="utf-8"))
        self.assertTrue(all(site["verdict"] for site in sites))
        self.assertTrue(any(site["ways"] for site in sites))

    def test_a_warm_up(self) -> None:
        programs.write_warm_up("one_mma", 100, self.root, BIN.parent)
        self.assert_data(1)

    def test_a_lab(self) -> None:
        first = next(each for each in lab.all_labs() if each.modes.get("default") == "wrong")
        self.assertEqual(programs.write_lab(first, self.root, BIN.parent)["id"], first.name)
        done = self.replay(f"labs/{first.name}.rec.gz")
        self.assertIn("differs", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
