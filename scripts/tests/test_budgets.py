"""The budgets of the tests' labels, and the program that compares them with what the tests take."""
from __future__ import annotations

import csv
import json
import subprocess
import sys
import unittest

from tests import support

BUDGETS = support.ROOT / "common" / "tests" / "budgets.py"


class Labels(unittest.TestCase):
    def test_all_of_them_fit_into_a_run(self) -> None:
        """Ten minutes on two cores, and three for the build. A fresh clone has no site and nothing for the web."""
        with BUDGETS.with_name("labels.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        minutes = sum(float(row["cpu_minutes"]) for row in rows if row["label"] not in ("web", "site"))
        self.assertLessEqual(round(minutes, 1), 20.6)
        self.assertEqual([row["label"] for row in rows if not row["what"]], [])
        self.assertEqual(len({row["label"] for row in rows}), len(rows))


class Budgets(support.Scratch):
    def setUp(self) -> None:
        super().setUp()
        (self.root / "Testing").mkdir()
        self.log = self.root / "Testing" / "cpu_time.log"
        self.labels = self.root / "labels.csv"
        self.labels.write_text("label,cpu_minutes,what\nsim,2,a\nlevels,3,b\nfuzz,1,c\n")

    def run_it(self, *options: str, **tests: list[str]) -> subprocess.CompletedProcess[str]:
        """`tests`: the commands of each label."""
        listed = [{"name": f"{label}.{i}", "command": ["/x/metered.sh", "log", *command.split()],
                   "properties": [{"name": "LABELS", "value": [label]}]}
                  for label, commands in tests.items() for i, command in enumerate(commands)]
        ctest = self.root / "ctest"
        ctest.write_text(f"#!{sys.executable}\nprint({json.dumps({'tests': listed})!r})\n")
        ctest.chmod(0o755)
        return subprocess.run([sys.executable, "-B", BUDGETS, "--build", self.root, "--ctest", ctest, "--labels",
                               self.labels, *options], capture_output=True, text=True, check=False)

    def test_the_last_time_of_each_test_counts(self) -> None:
        self.log.write_text("9999999 old one\n60000 a b\n6000 a b\n3000 c\n12000 d\n12")
        answer = self.run_it(sim=["a b", "c"], levels=["d", "e"])
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertEqual([line.split() for line in answer.stdout.splitlines()],
                         [["label", "tests", "CPU", "minutes", "budget"], ["sim", "2", "1.50", "2"],
                          ["levels", "2", "2.00", "3", "of", "1", "tests"], ["4", "3.50", "5"]])

    def test_a_label_that_takes_more(self) -> None:
        self.log.write_text("24400 a\n6000 b\n26000 d\n")
        answer = self.run_it("--quiet", sim=["a", "b"], levels=["d"])
        self.assertEqual((answer.returncode, answer.stdout), (1, ""))
        self.assertIn("the tests with the label 'sim' take 5.07 CPU minutes, and their budget is 2.", answer.stderr)
        self.assertNotIn("levels", answer.stderr)

    def test_before_any_test_has_run(self) -> None:
        self.assertEqual(self.run_it("--quiet", sim=["a"]).returncode, 0)

    def test_the_log_does_not_grow_for_ever(self) -> None:
        self.log.write_text("".join(f"{i} a {'x' * 100}\n" for i in range(20_000)))
        self.run_it(sim=["a"])
        self.assertEqual(self.log.read_text(), f"19999 a {'x' * 100}\n")

    def test_every_test_is_metered(self) -> None:
        """As it is built here: metered.sh notes what a command and its children take, and gives their exit code."""
        metered = support.ROOT / "common" / "cmake" / "metered.sh"
        work = "x=0; while [ $x -lt 300000 ]; do x=$((x + 1)); done; exit 77"
        answer = subprocess.run([metered, self.log, "sh", "-c", f"sh -c '{work}'"], check=False)
        self.assertEqual(answer.returncode, 77)
        ticks, _, command = self.log.read_text().partition(" ")
        self.assertGreater(int(ticks), 1)
        self.assertEqual(command, f"sh -c sh -c '{work}'\n")


if __name__ == "__main__":
    unittest.main()
