"""Records of the simulated device: what a run came to, and what reports.py makes of them."""
from __future__ import annotations

import json
import sys
import unittest
from xml.etree import ElementTree

from ladder.levels.verdict import Finding, Verdict
from tests import support

RACE = support.finding("race", rule="exit", text="sim: check: error (exit)\n", sides=[
    support.place("store", "a/copy.cuh:3", "a/kernel.cuh:7"), support.place("load", "a/kernel.cuh:9", who="warp 1")])
END = json.dumps({"record": "end"})
HABIT = support.finding("habit", rule="init-fence", tolerated=True, text="sim: check: habit init-fence\n")


class Kinds(unittest.TestCase):
    def test_a_run_is_what_is_worst_of_it(self) -> None:
        habit, race = Finding("habit", tolerated=True), Finding("race")
        for findings, code, kind in (((), 0, "right"), ((), 1, "wrong"), ((), 2, "refused"), ((), -11, "fault"),
                                     ((habit,), 0, "habit"), ((habit,), 1, "wrong"), ((habit,), 134, "fault"),
                                     ((habit, race), 86, "race"), ((race,), 1, "race"),
                                     ((Finding("deadlock"),), 3, "deadlock"), ((Finding("refused"),), 3, "refused")):
            with self.subTest(findings=findings, code=code):
                self.assertEqual(Verdict(findings, code).kind, kind)


class Reports(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.good, self.bad = (self.write(f"{name}.jsonl", f"{found}\n{END}\n")
                               for name, found in (("good", HABIT), ("bad", RACE)))

    def reports(self, *arguments: object, code: int = 1) -> str:
        answer = self.run_command(sys.executable, "-B", self.scripts / "reports.py", *arguments)
        self.assert_exit(code, answer)
        return answer.stdout + answer.stderr

    def test_lines_and_exit_codes(self) -> None:
        self.assertEqual(self.reports(self.good, self.bad),
                         "good.jsonl: habit (init-fence)\nbad.jsonl: race (exit) at kernel.cuh:9\n")
        self.reports(self.good, code=0)
        self.assertIn("fault", self.reports(self.write("killed.jsonl", HABIT + "\n")))
        self.assertIn("no records", self.reports(self.write("x", "sim: check: error\n"), code=2))

    def test_sarif(self) -> None:
        self.write("here/a/kernel.cuh", "")
        self.reports(self.good, self.bad, "--sarif", self.root / "out.sarif", "--root", self.root)
        run, = json.loads((self.root / "out.sarif").read_text())["runs"]
        self.assertEqual([rule["id"] for rule in run["tool"]["driver"]["rules"]], ["habit (init-fence)", "race (exit)"])
        habit, race = run["results"]
        self.assertEqual((habit["level"], habit["locations"], race["level"]), ("warning", [], "error"))
        at = [place["physicalLocation"] for place in (*race["locations"], *race["relatedLocations"])]
        self.assertEqual([(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in at],
                         [("here/a/kernel.cuh", 9), ("a/copy.cuh", 3)])

    def test_junit(self) -> None:
        self.reports(self.good, self.bad, "--junit", self.root / "out.xml")
        suite = ElementTree.parse(self.root / "out.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
        failure, = suite.iter("failure")
        self.assertEqual((failure.get("message"), failure.text), ("race (exit)", "sim: check: error (exit)\n"))


if __name__ == "__main__":
    unittest.main()
