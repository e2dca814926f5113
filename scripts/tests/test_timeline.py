from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from typing import Any

from ladder.context import Context
from ladder.levels import names
from ladder.sim import traces
from tests import support

Events = list[dict[str, Any]]


def event(cta: int, warp: int, name: str, begin: int, end: int, line: int = 0, seen: int = 0) -> dict[str, Any]:
    """Of a warp; of a unit if the warp is -1."""
    arguments = {"source": f"kernel.cuh:{line}"} if line else {}
    return {"ph": "X", "pid": cta, "tid": 16 + warp, "cat": "warp" if warp >= 0 else "operation", "name": name,
            "ts": begin / 1000, "dur": (end - begin) / 1000, "args": {**arguments, "seen": seen / 1000}}


def small_trace() -> dict[str, Any]:
    """A Blackwell kernel of two tiles and two K blocks each: warp 0 loads, warp 1 multiplies, warps 4 and 5 store."""
    events: Events = []
    for tile in range(2):
        for block in range(2):
            at = 1000 * tile + 200 * block
            events += [event(0, 0, "wait: mbarrier", at, at + 90, 10), event(0, 0, "run", at + 90, at + 110),
                       event(0, -1, "TMA load A", at + 100, at + 150, 11, at + 290),
                       event(0, -1, "TMA load B", at + 110, at + 160, 12, at + 300),
                       event(0, 1, "wait: mbarrier", at + 110, at + 300, 20),
                       event(0, 1, "run", at + 300, at + 320),
                       event(0, -1, "MMA 256x128x16", at + 315, at + 350, 21),
                       event(0, -1, "MMA 256x128x16", at + 350, at + 385, 21),
                       event(0, -1, "tcgen05.commit", at + 385, at + 385, 22)]
        end = 1000 * tile + 600
        events.append(event(0, -1, "tcgen05.commit", end, end, 30))
        for warp in (4, 5):
            events += [event(0, warp, "wait: mbarrier", 1000 * tile, end, 40), event(0, warp, "run", end, end + 10),
                       event(0, warp, "wait: tcgen05.ld", end + 10, end + 100, 41),
                       event(0, warp, "run", end + 100, end + 200)]
        events.append(event(0, -1, "TMA store: read", end + 200, end + 260))
    return {"otherData": {"gpu": "Simulated B200", "version": traces.VERSION},
            "traceEvents": [*events, {"ph": "M", "pid": 0, "name": "x"}]}


def bars(tracks: list[dict[str, Any]], kind: str) -> list[list[Any]]:
    return [bar for track in tracks if track["kind"] == kind for bar in track["bars"]]


class Reduce(unittest.TestCase):
    def setUp(self) -> None:
        self.reduced = traces.reduce(small_trace())
        self.tracks = self.reduced["ctas"][0]["tracks"]

    def test_loads_of_a_k_block_are_one_bar_from_issue_to_arrival(self) -> None:
        self.assertEqual(bars(self.tracks, "loads"), [[100, 300, 0], [300, 500, 0], [1100, 1300, 1], [1300, 1500, 1]])

    def test_mmas_without_a_pause_are_one_bar(self) -> None:
        self.assertEqual(bars(self.tracks, "mma"), [[315, 385, 0], [515, 585, 0], [1315, 1385, 1], [1515, 1585, 1]])

    def test_roles_are_inferred(self) -> None:
        roles = {track["name"]: track["role"] for track in self.tracks if track["kind"] == "warps"}
        self.assertEqual(roles, {"warp 0": "TMA", "warp 1": "MMA", "warps 4-5": "epilogue"})

    def test_epilogues_belong_to_tiles(self) -> None:
        last = self.tracks[-1]
        self.assertEqual(self.reduced["tiles"], 2)
        self.assertEqual(last["epilogues"], [[600, 1000], [1600, 1800]])
        self.assertEqual(last["bars"][:2], [[0, 600, "mbarrier"], [600, 800, "epilogue"]])

    def test_what_is_no_trace_is_said(self) -> None:
        head = {"otherData": {"version": traces.VERSION}}
        for trace, words in (({}, "traceEvents"), ([], "traceEvents"), ({**head, "traceEvents": []}, "no events"),
                             ({**head, "traceEvents": [{"ph": "X"}]}, "pid"),
                             ({"otherData": {}, "traceEvents": []}, "version 1, and this reads")):
            with self.subTest(trace), self.assertRaisesRegex(traces.TraceError, words):
                traces.reduce(trace)


class Recordings(unittest.TestCase):
    """What the pictures are there to show."""

    def tracks(self, number: int, arch: int = 100, cta: int = 0) -> list[dict[str, Any]]:
        recorded = Context(support.ROOT, [])
        data = recorded.timeline(recorded.level(number), arch)
        assert data, f"no recording of level {number}"
        tracks: list[dict[str, Any]] = data["ctas"][cta]["tracks"]
        return tracks

    def overlaps(self, number: int, arch: int = 100) -> bool:
        """Does the tensor core work during an epilogue?"""
        tracks = self.tracks(number, arch)
        epilogues = [e for track in tracks for e in track.get("epilogues", [])]
        return any(begin < end and start < stop and begin < stop and start < end
                   for begin, end, _ in bars(tracks, "mma") for start, stop in epilogues)

    def test_every_level_is_recorded(self) -> None:
        for level in names.all_levels():
            for arch in (90, 100):
                tracks = self.tracks(names.number_of(level), arch)
                for kind in ("loads", "mma", "warps"):
                    self.assertTrue(bars(tracks, kind), f"{level} {arch} {kind}")
                self.assertTrue(any(track.get("epilogues") for track in tracks), f"{level} {arch}")

    def test_level_01_is_a_staircase(self) -> None:
        loads, mmas = (bars(self.tracks(1), kind) for kind in ("loads", "mma"))
        self.assertEqual(len(loads), len(mmas))
        for load, mma, following in zip(loads, mmas, [*loads[1:], [10**9]]):
            self.assertLessEqual(load[1], mma[0])
            self.assertLessEqual(mma[1], following[0])

    def test_level_03_loads_while_it_multiplies(self) -> None:
        loads, mmas = (bars(self.tracks(3), kind) for kind in ("loads", "mma"))
        self.assertGreater(sum(load[0] < mmas[0][0] for load in loads), 1)

    def test_level_06_closes_the_gap_of_level_05(self) -> None:
        for arch in (90, 100):
            self.assertFalse(self.overlaps(5, 100))
            self.assertTrue(self.overlaps(6, arch))

    def test_level_07_puts_the_second_CTA_to_work(self) -> None:
        stored = {number: any(track.get("epilogues") for track in self.tracks(number, cta=1)) for number in (6, 7)}
        self.assertEqual(stored, {6: False, 7: True})


class Program(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.script = self.scripts / "timeline.py"
        self.trace = self.write("trace.json", json.dumps(small_trace()))

    def test_a_trace_becomes_a_picture(self) -> None:
        answer = self.run_command(self.script, self.trace, "-o", self.root / "out.svg")
        self.assert_exit(0, answer)
        picture = (self.root / "out.svg").read_text(encoding="utf-8")
        xml.etree.ElementTree.fromstring(picture)
        for words in ("trace.json: timeline", "warps 4-5: epilogue", "Modelled"):
            self.assertIn(words, picture)
        self.assertEqual(self.run_command(self.script, self.trace).stdout, picture)

    def test_a_recorded_level_becomes_a_picture(self) -> None:
        data = {**traces.reduce(small_trace()), "shape": [256, 128, 128]}
        self.write("docs/results/sim_timeline_level02_sm90.json", json.dumps(data))
        answer = self.run_command(self.script, 2, "--arch", "sm90")
        self.assert_exit(0, answer)
        self.assertIn("Level 02, Hopper: timeline", answer.stdout)
        self.assertIn("256 x 128 x 128", answer.stdout)

    def test_every_way_to_write_a_level(self) -> None:
        self.write("docs/results/sim_timeline_level02_sm100.json", json.dumps(traces.reduce(small_trace())))
        (self.root / "level02_tma_swizzle").mkdir(exist_ok=True)  # a folder of that name is no trace
        pictures = {self.run_command(self.script, text).stdout
                    for text in ("2", "02", "level02", "level02_tma_swizzle")}
        self.assertEqual(len(pictures), 1)
        self.assertIn("Level 02, Blackwell", pictures.pop())

    def test_what_is_done_is_said(self) -> None:
        answer = self.run_command(self.script, self.trace, "-o", "out.svg")
        self.assertEqual(answer.stdout, "out.svg: trace.json: timeline\n")

    def test_a_terminal_is_spared(self) -> None:
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        answer = subprocess.run([sys.executable, "-B", self.script, self.trace], stdout=theirs, stderr=subprocess.PIPE,
                                text=True, check=False)
        os.close(theirs)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("name a file for it, -o timeline.svg.", answer.stderr)

    def test_wrong_command_lines(self) -> None:
        self.write("no.json", "{}")
        for arguments, sentence in (((), "required"), ((3,), "no level 3, only 1, 2"), ((1,), "observe.py"),
                                    (("no.json",), "is no trace"),
                                    (("none.json",), "none.json is neither a file"),
                                    ((1, "--arch", "sm80"), "--arch must be"), ((self.root,), "neither a file"),
                                    ((self.trace, "-o", self.root), "existing folder")):
            with self.subTest(arguments):
                self.assert_exit(2, self.run_command(self.script, *arguments), sentence)


if __name__ == "__main__":
    unittest.main()
