"""The pages of the course: their sections, their exercises; no figure, sum, link or command in them is wrong."""
from __future__ import annotations

import re
import unittest

from ladder.context import Context
from ladder.draw import gallery
from ladder.levels import names
from ladder.pages.blocks import figures
from ladder.results import ablations, data
from tests import support

SECTIONS = ["Where the time goes", "The idea", "What changed", "Step by step", "Run it", "What it brought", "Break it",
            "Exercises", "What is still slow", "Reference"]
LEVELS = sorted(path.parent.name for path in support.ROOT.glob("level0*_*/main.cu"))
LOOKED_UP = ("shape", "roles", "barriers", "budget", "instructions", "counters", "limits", "needed")
SIMULATED_SMS = {100: 148, 90: 132}  # of the whole GPUs
MOST_LINES = 420  # of a level's page
PAGES = ["README.md", *(f"{level}/README.md" for level in LEVELS)]

BLOCK = re.compile(r"<!-- render:.*?<!-- /render -->", re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
# Speeds, rates, times, shares: they are measured, reported or modelled, so they come out of a file.
FIGURE = re.compile(r"\d[\d,.]*\s*(?:[TG]FLOPS|%|percent\b|[num]s\b|[GT]i?B/s|[MG]Hz|W\b)")
# `1,024 + 9 x 24,576 <= 232,448`: a statement that can be checked.
ARITHMETIC = re.compile(r"[\d\s,.x+*/%()<>=-]*(?:==|<=|>=|<|>)[\d\s,.x+*/%()<>=-]*")


def ablation_rows() -> list[data.Fields]:
    return data.read_rows(support.ROOT / "docs" / "results" / "h200_ablations.csv")[1]


def page(name: str) -> str:
    return (support.ROOT / name).read_text(encoding="utf-8")


def written(name: str) -> str:
    """What somebody wrote: without what was rendered, and without code."""
    return FENCED.sub("", BLOCK.sub("", page(name)))


def arithmetic(name: str) -> list[str]:
    spans = re.findall(r"`([^`\n]+)`", written(name))
    return [span for span in spans if ARITHMETIC.fullmatch(span) and re.search(r"\d", span)]


def build_line(level: str, arch: int) -> str:
    return (f"nvcc -std=c++20 -O3 -DLADDER_ARCH={arch} "
            f'-gencode "arch=compute_{arch}a,code=[sm_{arch}a,compute_{arch}a]" '
            f"--no-compress -lineinfo -cudart shared -I. {level}/main.cu common/harness/*.cpp common/base/*.cpp "
            f"-o {level}_sm{arch}")


class Pages(unittest.TestCase):
    def test_every_level_has_the_same_sections(self) -> None:
        for level in LEVELS:
            headings = re.findall(r"^## (.+)$", written(f"{level}/README.md"), re.MULTILINE)
            self.assertEqual(headings, SECTIONS, level)

    def test_reference_is_a_page_of_its_own(self) -> None:
        """What a reader looks up is folded there: no table of it is on the way through the page."""
        for level in LEVELS:
            text, reference = page(f"{level}/README.md"), page(f"{level}/reference.md")
            self.assertRegex(text.partition("\n## The idea\n")[2].partition("\n## ")[0], r"!\[|```", level)
            for block in LOOKED_UP:
                self.assertNotIn(f"<!-- render:{block} ", text, level)
            self.assertIn("](reference.md)", text.partition("\n## Reference\n")[2], level)
            self.assertRegex(reference, r"\n<!-- render:reference level=\d -->\n", level)
            unfolded = re.sub(r"<details>.*?</details>", "", reference, flags=re.DOTALL)
            self.assertNotIn("\n|", unfolded, level)

    def test_a_level_begins_with_where_the_time_goes(self) -> None:
        """The level before, profiled; a question what can be gained at most, with a folded answer."""
        for level in LEVELS[1:]:
            begins = page(f"{level}/README.md").partition("\n## The idea\n")[0]
            self.assertIn(f"<!-- render:profile level={names.number_of(level) - 1} alone=yes -->", begins, level)
            self.assertRegex(begins, r"(?s)\?\*\*\n\n<details><summary>Answer</summary>|\?\n\n<details>", level)

    def test_no_page_is_long(self) -> None:
        """Its blocks included."""
        for level in LEVELS:
            self.assertLessEqual(page(f"{level}/README.md").count("\n"), MOST_LINES, level)

    def test_every_page_ends_with_what_to_read_next(self) -> None:
        for level, following in zip(LEVELS, [*LEVELS[1:], None]):
            last = page(f"{level}/README.md").partition("\n## Reference\n")[0].strip().rsplit("\n\n", 1)[-1]
            self.assertIn(f"../{following}/README.md" if following else "../README.md", last, level)

    def test_at_least_three_exercises_with_answers(self) -> None:
        for level in LEVELS:
            text = page(f"{level}/README.md")
            exercises = text.split("\n## Exercises\n")[1].split("\n## ")[0]
            self.assertGreaterEqual(exercises.count("<details><summary>Answer</summary>\n\n"), 3, level)
            self.assertEqual(exercises.count("<details>"), exercises.count("</details>"), level)
            numbered = re.findall(r"^\*\*\d+\. ", exercises, re.MULTILINE)
            self.assertEqual(exercises.count("<details>"), len(numbered), level)

    def test_figures_stand_in_rendered_blocks_only(self) -> None:
        for name in PAGES:
            text = written(name)
            for span in arithmetic(name):
                text = text.replace(f"`{span}`", "")
            self.assertEqual([match[0] for match in FIGURE.finditer(text)], [], name)

    def test_arithmetic_is_right(self) -> None:
        statements = [(name, span) for name in (*PAGES, "docs/how_fast.md") for span in arithmetic(name)]
        self.assertGreater(len(statements), 10)
        for name, span in statements:
            expression = re.sub(r"(?<=\d),(?=\d{3})", "", span).replace("x", "*")
            self.assertTrue(eval(expression, {"__builtins__": {}}), f"{name}: {span}")  # digits and operators alone


class Simulated(unittest.TestCase):
    """What the pages say of the kernels and of their runs on the simulated device."""

    CONTEXT = Context(support.ROOT, [])

    def busy(self, number: int, arch: int) -> int:
        """Percent of the time that the tensor core works in the timeline of a level."""
        drawn = gallery.draw(self.CONTEXT, f"level{number:02}_timeline_sm{arch}")
        found = re.findall(r"tensor core works (\d+)% of the time", drawn.description if drawn else "")
        return int(found[-1])  # under the level before it

    def test_a_persistent_kernel_has_more_tiles_than_clusters_where_it_is_run(self) -> None:
        commands = [command for name in (*PAGES, "docs/README.md")
                    for command in re.findall(r"scripts/sim\.sh .*build/bin/level0[5-8].*", page(name))]
        self.assertGreater(len(commands), 5)
        for command in commands:
            level, arch = re.findall(r"(level\d\d_\w+)_sm(\d+)", command)[0]
            m, n = (int(re.findall(rf"--{axis} (\d+)", command)[0]) for axis in "mn")
            sms = int((re.findall(r"--sms (\d+)", command) or [SIMULATED_SMS[int(arch)]])[0])
            kernel = self.CONTEXT.configs(level, int(arch))[0]
            tiles = -(-m // kernel.tile_m) * -(-n // kernel.tile_n)
            workers = sms // (kernel.cluster if kernel.tile_owner == "cluster" else 1)
            self.assertGreater(tiles, workers, command)

    def test_what_level_06_changes_beside_the_accumulator(self) -> None:
        self.assertIn("Level 06 has two accumulators, an epilogue with warps of its own, and taller tiles",
                      support.words("README.md"))
        before, after = (self.CONTEXT.configs(level, 100)[0] for level in LEVELS[4:6])
        self.assertGreater(after.tile_m, before.tile_m)
        self.assertGreater(after.threads, before.threads)
        self.assertTrue(any("epilogue" in role.work and "MMA" not in role.work for role in after.roles))

    def test_the_timelines_of_levels_05_and_06(self) -> None:
        text = support.words("level06_tmem_double_buffer/README.md")
        self.assertIn("On Blackwell the MMAs of the next tile now begin while the epilogue runs", text)
        self.assertIn("so three tiles show little of the gain", text)
        self.assertGreater(self.busy(6, 100), 1.3 * self.busy(5, 100))
        self.assertLess(abs(self.busy(6, 90) - self.busy(5, 90)), 15)

    def test_clocks_and_watts_say_their_kind(self) -> None:
        """A modelled clock and a measured one stand on the same page."""
        for level in LEVELS:
            heads = [head for line in page(f"{level}/README.md").splitlines() if line.startswith("|")
                     for head in line.strip("| ").split(" | ") if re.match(r"(modelled )?(MHz|W)\b", head)]
            self.assertTrue(heads, level)
            for head in heads:
                self.assertRegex(head, "modelled|measured", level)


class Measured(unittest.TestCase):
    """What the pages say in words about figures that this project measured on Hopper."""

    def test_level_07_beside_the_production_kernel(self) -> None:
        text = support.words("level08_deep_pipeline/production/README.md")
        self.assertIn("this kernel does more TFLOPS than level 07 at all sizes", text)
        self.assertIn("Its intervals lie above 1 from 6144 on, beside cuBLAS's default and beside cublasLt's", text)
        found = {(names.head(r.level), r.shape[0]): r.fields for r in data.load_results()
                 if r.fields["kind"] == "measured"}
        for size in (4096, 6144, 8192, 10240, 12288):
            self.assertLess(float(found["07", size]["tflops"]), float(found[names.PRODUCTION, size]["tflops"]), size)
            if size > 4096:
                self.assertGreater(float(found[names.PRODUCTION, size]["ratio_cublas_low"]), 1, size)
                self.assertGreater(float(found[names.PRODUCTION, size]["ratio_cublaslt_low"]), 1, size)

    def test_what_clusters_are_worth(self) -> None:
        text = support.words("level08_deep_pipeline/production/figures.md")
        self.assertIn("What weighs most are the clusters: four to six percent", text)
        tuner = support.words("scripts/autotune/README.md")
        self.assertIn("CLUSTER M and CLUSTER N explain nothing here", tuner)
        for parameter in ("CLUSTER M", "CLUSTER N"):
            self.assertIn(f"| {parameter} | 0 % |", page("scripts/autotune/README.md"))
        found = {a.option: a.ratios for a in ablations.load(support.ROOT / "docs" / "results")
                 if a.level == names.PRODUCTION and a.series.title().startswith("measured")}
        for shape, ratio in found["-DCLUSTER_CTAS=1"].items():
            self.assertAlmostEqual(ratio, 0.95, delta=0.015)
            self.assertEqual(ratio, min(ratios[shape] for ratios in found.values()))

    def test_the_rival_of_the_reported_rows(self) -> None:
        self.assertIn("At this size cuBLAS was more than a tenth slower in level 08's run than in level 07's.",
                      support.words("README.md"))
        beside = {names.number_of(r.level): figure for r in data.load_results()
                  if r.series.kind == "reported" and r.shape == (8192, 8192, 8192)
                  and (figure := r.number("cublas_tflops"))}
        self.assertLess(beside[8], 0.9 * beside[7])

    def test_the_first_stage_of_the_capstone_beside_level_07(self) -> None:
        self.assertIn("does without pairs, and is still within a few percent of level 07, which has them",
                      support.words("level08_deep_pipeline/production/README.md"))
        text = figures.capstone(Context(support.ROOT, data.load_results()), {})
        before, first = ([float(x) for x in re.findall(r"\| ([\d.]+)(?: \[.*?\])? (?=\|)", line)]
                         for line in text.splitlines()[2:4])
        self.assertEqual(len(before), 2)
        for level_07, stage in zip(before, first):
            self.assertLess(abs(stage / level_07 - 1), 0.05)

    def test_what_level_05_owes_to_the_order_of_its_tiles(self) -> None:
        text = support.words("level05_persistent/README.md")
        self.assertIn("ten lines are nearly the whole step", text)
        self.assertIn("what level 03 brings comes out, nine in a hundred, and level 04 brings seven more", text)
        grouped = {(names.number_of(a.level), result.shape[0]): result.number("tflops") or 0
                   for a in ablations.load(support.ROOT / "docs" / "results") if a.option == figures.GROUPED
                   for result in a.results}
        level_05 = {r.shape[0]: r.number("tflops") or 0 for r in data.of_record(data.load_results())
                    if names.head(r.level) == "05" and r.series.kind == "measured"}
        self.assertGreater(grouped[4, 8192], 0.95 * level_05[8192])
        self.assertAlmostEqual(grouped[3, 8192] / grouped[2, 8192], 1.09, delta=0.02)
        self.assertAlmostEqual(grouped[4, 8192] / grouped[3, 8192], 1.07, delta=0.02)

    def test_steps_that_bring_little_say_so(self) -> None:
        """At sizes where something else limits; an H100's figures."""
        speed = {(names.head(r.level), r.shape[0]): r.number("tflops") or 0 for r in data.of_record(data.load_results())
                 if r.series.kind == "measured"}
        for level, words, sizes in (("03", "from 6144 up it brings next to nothing", (6144, 8192, 12288)),
                                    ("04", "where no unit is at its peak the step helps", (8192, 12288)),
                                    ("06", "this step brings next to nothing at these sizes", (6144, 8192, 12288))):
            self.assertIn(words, support.words(f"{names.find_level(level, LEVELS)}/README.md"))
            before = f"{int(level) - 1:02}"
            for size in sizes:
                self.assertLess(speed[level, size], 1.04 * speed[before, size], (level, size))

    def test_what_pairs_are_worth_in_level_07(self) -> None:
        text = support.words("level07_dual_tile/README.md")
        self.assertIn("at 8192 they read nearly three times as much from memory", text)
        self.assertIn("costs more than a third of the speed", text)
        found = {(row["optimisation"], row["m"]): row for row in ablation_rows()
                 if names.number_of(row["level"]) == 7}
        apart, together = (float(found[name, "8192"]["dram_bytes"]) for name in ("no pairs", "as it is"))
        self.assertTrue(2.5 < apart / together < 3, apart / together)
        for size in ("4096", "8192"):
            self.assertLess(float(found["release at cluster scope", size]["ratio_level_high"]), 2 / 3, size)

    def test_what_stores_of_two_elements_are_worth(self) -> None:
        text = support.words("level03_warp_specialize/README.md")
        self.assertIn("more than half of this level's gain on Hopper", text)
        ratios = {(row["optimisation"], row["m"]): float(row["ratio_level"]) for row in ablation_rows()
                  if row["ratio_level"]}
        for size in ("4096", "8192"):
            self.assertGreater(1 - ratios["stores of one element", size], 0.5 * (1 - ratios["level 02", size]), size)

    def test_level_01_unpinned_is_twice_as_fast(self) -> None:
        self.assertIn("and this level is twice as fast", support.words("level01_baseline/README.md"))
        ratios = [float(row["ratio_level"]) for row in ablation_rows() if row["optimisation"] == "three CTAs per SM"]
        self.assertEqual(len(ratios), 2)
        for ratio in ratios:
            self.assertAlmostEqual(ratio, 2, delta=0.1)


class Alone(unittest.TestCase):
    """A level can be built with one line, which the page of level 01 gives; the others differ in their name. That the
    line works: alone.py."""

    def test_the_line_of_level_01(self) -> None:
        for arch in (100, 90):
            self.assertIn("\n" + build_line(LEVELS[0], arch) + "\n", page(f"{LEVELS[0]}/README.md"))


if __name__ == "__main__":
    unittest.main()
