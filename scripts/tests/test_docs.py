"""Statements of the pages in docs/ that follow from the sources, and the block that only they have."""
from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from ladder.context import Context
from ladder.levels import description, names
from ladder.mutants.sites import Embedded
from ladder.pages.blocks import BLOCKS, attempts
from ladder.results import data, numbers
from tests import support

DOCS = support.ROOT / "docs"


class Statements(unittest.TestCase):
    CONTEXT = Context(support.ROOT, [])

    def test_a_K_block_is_128_bytes_of_a_row(self) -> None:
        self.assertIn("64 elements, which are 128 bytes per row", support.words("docs/glossary.md"))
        for described in self.CONTEXT.descriptions:
            self.assertEqual(described.tile_k, 64, described)

    def test_tensor_memory(self) -> None:
        self.assertIn(f"128 lanes by {description.TMEM_COLUMNS} columns", support.words("docs/glossary.md"))

    def test_bursts(self) -> None:
        self.assertIn("the levels keep their order", support.words("docs/measuring.md"))
        self.assertIn("Most of them, though, fall back against cuBLAS's default, by more than their intervals allow",
                      support.words("docs/measuring.md"))
        self.assertIn("Levels 02 to 04, which wait most, lose most, 05 to 07 less, and the production kernel nothing",
                      support.words("docs/measuring.md"))
        timed = [r for r in data.load_results() if r.shape == (8192, 8192, 8192) and r.number("burst_tflops")]
        for column in ("tflops", "burst_tflops"):
            self.assertEqual(sorted(timed, key=lambda r: float(r.fields[column])), sorted(timed, key=lambda r: r.level))
        kept = {}
        for result in timed:
            burst = numbers.burst_ratio(result, "ratio_cublas") or 0
            ratio, low = (result.number(column) or 0 for column in ("ratio_cublas", "ratio_cublas_low"))
            self.assertGreater(result.number("burst_tflops") or 0, result.number("tflops") or 0, result.level)
            level = names.number_of(result.level)  # 0: the production kernel
            kept[level] = burst / ratio
            if 2 <= level <= 7:
                self.assertLess(burst, low, result.level)
        self.assertLess(max(kept[2], kept[3], kept[4]), min(kept[5], kept[6], kept[7]))
        self.assertGreater(min(kept[5], kept[6], kept[7]), 0.95)
        self.assertGreater(min(kept[1], kept[0]), 1)

    def measured(self, results: Sequence[data.Result], level: str) -> dict[int, data.Fields]:
        """The rows of a level by size, of all five sizes."""
        rows = {r.shape[0]: r.fields for r in results if r.level == level and r.series.kind == "measured"}
        self.assertEqual(len(rows), 5)
        return rows

    def test_level_08_beside_cublas(self) -> None:
        self.assertIn("matches or beats both cuBLAS's default and the best algorithm of cublasLt at all five sizes",
                      support.words("README.md"))
        for size, row in self.measured(data.of_record(data.load_results()), "level08_deep_pipeline").items():
            self.assertGreaterEqual(float(row["ratio_cublas"]), 1, size)
            self.assertGreaterEqual(float(row["ratio_cublaslt"]), 1, size)

    def test_the_production_kernel_beside_cublas(self) -> None:
        text = support.words("docs/tuning_h200.md")
        self.assertIn("ahead of the best algorithm of cublasLt at all five headline sizes", text)
        self.assertIn("by more than the interval of its rounds", text)
        self.assertIn("The aim was three percent at 4096 and 12288. In this record 12288 has them and 4096 nearly",
                      text)
        self.assertIn("at the median both sizes have three percent", text)
        self.assertIn("Its intervals lie above 1 from 6144 on, beside cuBLAS's default and beside cublasLt's best; at "
                      "4096 they include 1",
                      support.words("level08_deep_pipeline/production/README.md"))
        h200 = [r for r in data.load_results() if r.series.gpu == "NVIDIA H200"]
        for results in (h200, data.of_record(data.load_results())):
            last = self.measured(results, names.PRODUCTION)
            for size, row in last.items():
                is_above = results is h200 or size > 4096
                self.assertEqual(float(row["ratio_cublas_low"]) > 1, is_above, size)
                self.assertEqual(float(row["ratio_cublaslt_low"]) > 1, is_above, size)
        last = self.measured(h200, names.PRODUCTION)
        for size, row in last.items():
            self.assertEqual(float(row["ratio_cublaslt"]) > 1.03, size in (8192, 12288), size)
        log = {row["nr"]: float(row["ratio_cublaslt"])
               for row in data.read_rows(self.CONTEXT.root / attempts.LOG)[1] if row["ratio_cublaslt"]}
        for size, others in (4096, "253 254 299 341 343"), (12288, "255 256 342 344"):
            chips = [float(last[size]["ratio_cublaslt"]), *(log[nr] for nr in others.split())]
            self.assertGreater(statistics.median(chips), 1.03, size)
            self.assertEqual((sum(chip > 1.03 for chip in chips), len(chips)), (3, 6) if size == 4096 else (4, 5))

    def test_the_lessons_of_tuning(self) -> None:
        """What paid is faster by more than the error, in a row of the same size; what did not is not."""
        rows = {row["nr"]: row for row in data.read_rows(self.CONTEXT.root / attempts.LOG)[1]}
        lessons = data.read_rows(self.CONTEXT.root / attempts.LESSONS)[1]
        for lesson in lessons:
            row, beside = rows[lesson["row"]], rows[lesson["beside"]]
            self.assertEqual([row[edge] for edge in "mnk"], [beside[edge] for edge in "mnk"], lesson)
            ratio, error = attempts.faster(row, beside)
            self.assertEqual(ratio - error > 1, lesson["paid"] == "yes", (lesson, ratio, error))
        self.assertEqual({lesson["paid"] for lesson in lessons}, {"yes", "no"})

    def test_every_speed_says_what_kind_it_is(self) -> None:
        self.assertIn("that says how fast a kernel is says which it is", support.words("docs/measuring.md"))
        files = sorted((DOCS / "results").glob("*.csv"))
        speeds = 0
        for path in files:
            for row in data.read_rows(path)[1]:
                if any(row.get(column) for column in ("tflops", "cycles", "us", "ratio_cublas")):
                    self.assertIn(row.get("kind"), ("measured", "reported", "modelled"), (path.name, row))
                    speeds += 1
        self.assertGreater(speeds, 1000)

    def test_exit_codes(self) -> None:
        harness = (support.ROOT / "common" / "harness" / "failure.h").read_text(encoding="utf-8")
        self.assertIn("ends with exit code 77", support.words("docs/gpus.md"))
        self.assertRegex(harness, r"\b77\b")
        self.assertIn("86 if a kernel failed", support.words("docs/simulator.md"))
        self.assertIn("86 if a kernel failed", (support.SCRIPTS / "sim.sh").read_text(encoding="utf-8"))

    def test_the_options_of_the_simulated_device(self) -> None:
        """The page has all of them, and no others."""
        script = (support.SCRIPTS / "sim.sh").read_text(encoding="utf-8")
        usage = script.partition("usage() {")[2].partition("END\n}")[0]
        there = set(re.findall(r"^  (--[a-z]+)", usage, re.MULTILINE)) - {"--help"}
        rows = re.findall(r"^\| (`--.*?) \|", (DOCS / "simulator.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(set(re.findall(r"--[a-z]+", " ".join(rows))), there)

    def test_the_report_that_the_guide_shows(self) -> None:
        """Level 05 on Hopper without its proxy fence, run as the page says. Dots stand for what is left out."""
        text = (DOCS / "simulator.md").read_text(encoding="utf-8").partition("\n## Is it in order?\n")[2]
        command, shown = re.findall(r"^```(?:bash)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
        program = names.executable("level05_persistent", 90, support.BUILD)
        script, check, path, *arguments = command.split()
        self.assertEqual((script, check, path), ("scripts/sim.sh", "--check", f"build/bin/{program.name}"))
        if not program.exists():
            self.skipTest(f"{program} is not built")
        embedded = Embedded.find(program, 90)
        fence, = (site for site in embedded.sites() if site.instruction.startswith("fence.proxy.async"))
        with tempfile.TemporaryDirectory() as folder:
            mutant = Path(folder) / program.name
            embedded.write(embedded.without(fence.places), mutant)
            environment = {**os.environ, "LADDER_SIM_DIR": str(support.BUILD / "sim")}
            answer = subprocess.run([support.ROOT / script, check, mutant, *arguments], env=environment,
                                    capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 86)
        found = " ".join((answer.stdout + answer.stderr).split())
        self.assertRegex(found, re.escape(" ".join(shown.split())).replace(r"\.\.\.", ".*"))

    def test_every_page_is_listed(self) -> None:
        text = (DOCS / "README.md").read_text(encoding="utf-8")
        for page in DOCS.glob("*.md"):
            if page.name != "README.md":
                self.assertIn(f"]({page.name})", text)

    def test_every_command_and_every_block_is_listed(self) -> None:
        for folder in (support.SCRIPTS, support.SCRIPTS / "maintain"):
            text = (folder / "README.md").read_text(encoding="utf-8")
            commands = {path.name for pattern in ("*.py", "*.sh") for path in folder.glob(pattern)}
            for name in commands - {"toolchain.sh", "run_levels.py"}:  # parts of others
                self.assertIn(f"\n| `{name}", text)
        listed = set(re.findall(r"`(\w+)[ `]", text.partition("\n## Blocks\n")[2]))
        self.assertEqual(set(BLOCKS) - listed, set())


if __name__ == "__main__":
    unittest.main()
