"""Sweeps in parts, and one file out of theirs."""
from __future__ import annotations

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

from ladder import shards
from tests import support


class Shards(unittest.TestCase):
    def test_every_piece_is_in_one_part(self) -> None:
        for count in (1, 2, 3, 7, 12):
            parts = [shards.Shard(index, count).of(range(10)) for index in range(1, count + 1)]
            self.assertEqual(sorted(piece for part in parts for piece in part), list(range(10)))
            self.assertLessEqual(max(map(len, parts)) - min(map(len, parts)), 1)

    def test_spelling(self) -> None:
        self.assertEqual(str(shards.parse("2/8")), "2/8")
        for text in ("", "2", "0/8", "9/8", "2/8/1", "-1/2", "1/0", "a/b", "1 /2"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=text):
                shards.parse(text)

    def test_a_file_of_its_own(self) -> None:
        path = Path("results") / "sweep.csv"
        self.assertEqual(shards.parse("2/8").beside(path), Path("results") / "sweep.2of8.csv")
        self.assertEqual(shards.parse("1/1").beside(path), path)


class Merging(support.Sandbox):
    def merge(self, *names: str) -> subprocess.CompletedProcess[str]:
        return self.run_command(sys.executable, "-B", self.maintain / "merge.py", *names)

    def test_tables(self) -> None:
        self.write("1.csv", "m,tflops\n1,2.5\n3,\n")
        self.write("2.csv", 'm,tflops,note\n2,2,"a, b"\n3,,\n')
        self.write("3.csv", "")
        self.assert_exit(0, self.merge("1.csv", "2.csv", "3.csv", "--output", "all.csv"))
        self.assertEqual((self.root / "all.csv").read_text(encoding="utf-8"),
                         'm,tflops,note\n1,2.5,\n3,,\n2,2,"a, b"\n')

    def test_tables_of_many_configurations(self) -> None:
        self.write("1.csv", "m,tflops of a,tflops of b\n1,2,3\n")
        self.write("2.csv", "m,tflops of c\n1,4\n2,5\n")
        self.assert_exit(0, self.merge("1.csv", "2.csv", "--output", "all.csv"))
        self.assertEqual((self.root / "all.csv").read_text(encoding="utf-8"),
                         "m,tflops of a,tflops of b,tflops of c\n1,2,3,4\n2,,,5\n")

    def test_lines(self) -> None:
        self.write("1.jsonl", '{"a": 1}\n{"a": 2}\n')
        self.write("2.jsonl", '{"a": 2}\n{"a": 3}')
        self.assert_exit(0, self.merge("1.jsonl", "2.jsonl", "--output", "1.jsonl"))
        self.assertEqual((self.root / "1.jsonl").read_text(encoding="utf-8"), '{"a": 1}\n{"a": 2}\n{"a": 3}\n')

    def test_what_cannot_be_merged(self) -> None:
        self.write("1.csv", "m,tflops\n1,2.5\n")
        self.write("cut.csv", "m,tflops\n1,2.5\n3\n")
        self.write("other.csv", "name,colour\nx,red\n")
        self.write("1.jsonl", '{"a": 1}\n{"a"')
        for names, sentence in ((("cut.csv",), "cut.csv:3: "), (("other.csv",), "no column in common"),
                                (("1.jsonl",), "several kinds"), (("none.csv",), "none.csv: No such file")):
            self.assert_exit(2, self.merge("1.csv", *names, "--output", "all.csv"), sentence)
        self.assert_exit(2, self.merge("1.jsonl", "--output", "all.csv"), "1.jsonl:2: this is not JSON")
        self.assertFalse((self.root / "all.csv").exists())

    def test_all_parts_are_there_once(self) -> None:
        names = [f"sweep.{k}of12.csv" for k in range(1, 13)]
        for k, name in enumerate(names, start=1):
            self.write(name, f"m,tflops\n{k},1\n")
        for name in ("copies/sweep.2of12.csv", "sweep.13of12.csv", "sweep.0of12.csv", "sweep.1of2.csv", "more.csv"):
            self.write(name, "m,tflops\n1,1\n")
        self.write("all.csv", "what stood here\n")
        for parts, sentence in (
                (names[:4] + names[5:], "merge.py: part 5/12 of the sweep is missing."),
                (names[1:3] + names[5:], "merge.py: parts 1/12, 4/12, 5/12 of the sweep are missing."),
                ([*names, names[3]], "merge.py: sweep.4of12.csv is named twice."),
                ([*names, f"../{self.root.name}/{names[3]}"], f"{names[3]} is named twice."),
                ([*names, "copies/sweep.2of12.csv"], "sweep.2of12.csv and copies/sweep.2of12.csv are both part 2/12."),
                ([*names, "sweep.13of12.csv"], "sweep.13of12.csv is no part of a sweep in 12 parts"),
                (["sweep.0of12.csv", *names], "sweep.0of12.csv is no part of a sweep in 12 parts"),
                ([*names, "sweep.1of2.csv"], "sweep.1of2.csv is no part of a sweep in 12 parts"),
                ([*names, "more.csv"], "the name of more.csv does not say which of the 12 parts it is."),
                (["more.csv", "more.csv"], "more.csv is named twice.")):
            self.assert_exit(3, self.merge(*parts, "--output", "all.csv"), sentence)
            self.assertEqual((self.root / "all.csv").read_text(encoding="utf-8"), "what stood here\n")
        merged = self.merge(*reversed(names), "--output", "all.csv")
        self.assert_exit(0, merged)
        self.assertEqual(merged.stderr, "")
        self.assertEqual(len((self.root / "all.csv").read_text(encoding="utf-8").splitlines()), 13)
        self.write("others.csv", "m,tflops\n2,1\n")
        self.assert_exit(0, self.merge("more.csv", "others.csv", "--output", "2.csv"),
                         "whether one is missing is not known.")


if __name__ == "__main__":
    unittest.main()
