from __future__ import annotations

import json
import unittest
from typing import Any

from ladder import files
from ladder.context import Context
from ladder.levels import names
from ladder.sim import observations
from tests import support

BROKEN = "#!/bin/sh\necho it broke >&2\nexit 3\n"


def explained(level: str, arch: int) -> dict[str, Any]:
    """What an executable says of itself, without configurations."""
    return {"level": level, "arch": arch, "idea": "", "configs": [], "swizzles": {}}


class Parts(unittest.TestCase):
    def test_only_stores_are_counted(self) -> None:
        launch = {"global": [{"instruction": "st.global.b32", "warp_accesses": 2, "lines": 64},
                             {"instruction": "ld.global.b32", "warp_accesses": 1, "lines": 1},
                             {"instruction": "st.global.v2.b32", "warp_accesses": 1, "lines": 2}]}
        self.assertEqual(observations.accesses([launch], "global", "lines"), (3, 66))
        self.assertEqual(observations.accesses([launch, launch], "global", "lines"), (6, 132))

    def test_a_line_for_what_holds_nothing_more(self) -> None:
        data = [{"a": 1, "b": [{"c": [2, 3]}, {"c": []}], "d": {}}, {"e": None}]
        text = observations.in_lines(data, levels=5)
        self.assertEqual(json.loads(text), data)
        self.assertEqual(text.splitlines(), ["[", " {", '  "a": 1,', '  "b": [', "   {", '    "c": [2, 3]},',
                                             "   {", '    "c": []}],', '  "d": {}},', ' {"e": null}]'])
        self.assertEqual(observations.in_lines(data, levels=2).count("\n"), 5)

    def test_a_track_per_line(self) -> None:
        data = {"level": "x", "ctas": [{"cta": 0, "tracks": [{"name": "a", "bars": [[1, 2, ""]]}, {"name": "b"}]}]}
        text = observations.to_json(data)
        self.assertEqual(json.loads(text), data)
        self.assertEqual(len(text.splitlines()), 4)

    def test_shapes_are_whole_tiles(self) -> None:
        for level, arch in names.all_kernels(support.ROOT):
            for d in Context(support.ROOT, []).described(level, arch):
                m, n, k = observations.timeline_shape(d)
                self.assertEqual((m % d.tile_m, n % d.tile_n, k % d.tile_k), (0, 0, 0))


class WithoutExecutables(support.Sandbox):
    """A kernel that cannot run keeps what was recorded of it."""

    def setUp(self) -> None:
        super().setUp()
        self.levels = observations.Levels(self.root, self.root / "build")
        items = [explained("level01_baseline", arch) for arch in (100, 90)]
        self.write("docs/results/explain.json", observations.in_lines(items, levels=5) + "\n")
        self.write("docs/results/sim_counters.csv", "level,arch,sms\nlevel01_baseline,90,8\n")
        self.write("docs/results/sim_timeline_level01_sm90.json", '{"kept": true}\n')

    def test_earlier_recordings(self) -> None:
        found = observations.earlier(self.root, "level01_baseline", 90)
        self.assertEqual(found.explained, explained("level01_baseline", 90))
        self.assertEqual(found.counters, {"level": "level01_baseline", "arch": "90", "sms": "8"})
        self.assertEqual(found.timeline, '{"kept": true}\n')
        nothing = observations.earlier(self.root, "level02_tma_swizzle", 100)
        self.assertEqual((nothing.explained, nothing.counters, nothing.timeline), (None, None, ""))

    def test_failures_are_told_and_change_nothing(self) -> None:
        for level, arch in names.all_kernels(self.root):
            self.program(f"build/bin/{names.target(level, arch)}", BROKEN)
        self.program("scripts/sim.sh", '#!/bin/sh\nexec "$@"\n')
        contents, failures = observations.observe(self.levels)
        self.assertEqual(len(failures), 4)
        self.assertIn("level01_baseline_sm100 says nothing of its kernel: exit code 3: it broke", failures[0])
        self.assertEqual(observations.stale(self.root, contents), [])

    def test_recordings_of_levels_that_are_gone_are_stale(self) -> None:
        self.write("docs/results/sim_timeline_level09_sm90.json", "{}")
        contents = {files.RESULTS / "sim_timeline_level01_sm90.json": '{"kept": true}\n'}
        self.assertEqual(observations.stale(self.root, contents), [files.RESULTS / "sim_timeline_level09_sm90.json"])

    def test_not_built(self) -> None:
        answer = self.run_command(self.maintain / "observe.py", "--build", self.root / "nowhere")
        self.assert_exit(2, answer, "is not built: run scripts/build.sh.")
        self.assert_exit(2, self.run_command(self.maintain / "observe.py", "--colour"), "--colour")


class UpToDate(unittest.TestCase):
    def test_recordings_are_those_of_the_built_executables(self) -> None:
        missing = [names.target(*key) for key in names.all_kernels(support.ROOT)
                   if not names.executable(*key, support.BUILD).exists()]
        if missing:
            self.skipTest(f"not built in {support.BUILD}: {', '.join(missing)}")
        contents, failures = observations.observe(observations.Levels(support.ROOT, support.BUILD))
        self.assertEqual(failures, [])
        self.assertEqual([str(path) for path in observations.stale(support.ROOT, contents)], [],
                         "run scripts/maintain/observe.py, then scripts/maintain/render.py")


if __name__ == "__main__":
    unittest.main()
