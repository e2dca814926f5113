from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from ladder import files
from ladder.context import Context
from ladder.levels import description, names
from ladder.pages import marked
from ladder.results import data
from tests import support
from tests.test_tables import SAMPLE, TIMED

ABLATIONS = """\
level,arch,optimisation,option,expected,reason,m,n,k,tflops,ratio_cublas,kind,gpu,dram_bytes,l2_bytes,cycles
level01_baseline,90,as it is,,,,4096,4096,4096,600,0.9,measured,NVIDIA H200,,,
level01_baseline,90,as it is,,,,8192,8192,8192,520,0.8,measured,NVIDIA H200,4500000000,,2100000
level01_baseline,90,6 stages,6,faster,L2,4096,4096,4096,612,0.918,measured,NVIDIA H200,,,
level01_baseline,90,6 stages,6,faster,L2,8192,8192,8192,470,0.731,measured,NVIDIA H200,8100000000,,
level02_tma_swizzle,90,as it is,,,,8192,8192,8192,500,0.7,measured,NVIDIA H200,,,
level02_tma_swizzle,90,shallow,,slower,,8192,8192,8192,450,0.63,measured,NVIDIA H200,,,
"""


class Render(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write("docs/results/a.csv", SAMPLE)
        self.write("docs/results/gb200_ablations_reported.csv",
                   "level,optimisation,expected,observed,reason,kind,gpu\n"
                   "level02_tma_swizzle,early,faster,slower,a|b,reported,GB200\n")
        self.context = Context(self.root, data.load_results(self.root / "docs" / "results"))

    def render(self, text: str) -> str:
        return marked.render_text(text, self.context, "README.md")

    def test_blocks_are_filled(self) -> None:
        text = self.render("before\n<!-- render:progression -->\nstale\n<!-- /render -->\nafter\n")
        self.assertTrue(text.startswith("before\n<!-- render:progression -->\n| level |"))
        self.assertTrue(text.endswith("\n<!-- /render -->\nafter\n"))
        self.assertNotIn("stale", text)
        self.assertEqual(self.render(text), text)

    def test_options(self) -> None:
        text = self.render("<!-- render:progression size=512 arch=sm90 -->\n<!-- /render -->")
        self.assertIn("12.3", text)
        self.assertNotIn("GB200", text)
        text = self.render("<!-- render:level level=1 -->\n<!-- /render -->")
        self.assertIn("\n| 8192 | 250 | 0.357 | 0.348 | 1700 | 500 | 91.5 |", text)

    def test_bursts(self) -> None:
        block = "<!-- render:table of=bursts -->\n<!-- /render -->\n"
        self.assertEqual(self.render(block).splitlines()[1:-1], ["Not measured yet."])
        self.context.results = data.load_results(self.write("docs/results/a.csv", TIMED).parent)
        self.assertIn("\n| level01_baseline | 700 | 600 | 0.875 | 0.800 | 0.800 | 0.750 |\n", self.render(block))

    def test_ablations_say_what_kind_they_are(self) -> None:
        text = self.render("<!-- render:ablations level=2 -->\n<!-- /render -->\n")
        self.assertIn(r"| early | faster | slower | a\|b |", text)
        self.assertIn("reported: GB200", text)

    def test_ablations_of_one_level_at_a_time(self) -> None:
        self.write("docs/results/h200_ablations.csv", ABLATIONS)
        text = self.render("<!-- render:ablations level=1 -->\n<!-- /render -->\n")
        self.assertIn("| 6 stages | `6` | faster | 1.020 | 0.914 | 8.1 GB | - | L2 |\n", text)
        self.assertNotIn("early", text)
        text = self.render("<!-- render:ablations level=2 -->\n<!-- /render -->\n")
        self.assertIn("| early |", text)
        self.assertIn("| shallow |  | slower | 0.900 |  |\n", text)
        self.assertNotIn("6 stages", text)
        self.assertNotIn("from DRAM", text)  # not counted

    def test_ablations_that_nobody_has_measured(self) -> None:
        text = self.render("<!-- render:ablations level=1 -->\n<!-- /render -->\n")
        self.assertEqual(text.splitlines()[1:-1], ["Not measured yet."])

    def test_traffic_of_ablations_stands_beside_the_level_as_it_is(self) -> None:
        self.write("docs/results/h200_ablations.csv", ABLATIONS)
        text = self.render("<!-- render:ablations level=1 -->\n<!-- /render -->\n")
        self.assertIn("| 4096 | 8192 | from DRAM, 8192 | cycles, 8192 | reason |\n|---|---|---|--:|--:|--:|--:|---|\n"
                      "| as it is |  |  | 1 | 1 | 4.5 GB | 2,100,000 |  |\n", text)
        self.assertRegex(text, r"\n\| 6 stages \| `6` \| faster \| 1.020 \| 0.9\d\d \| 8.1 GB \| - \| L2 \|\n")

    def test_no_figures(self) -> None:
        text = self.render("<!-- render:progression size=64 -->\n<!-- /render -->\n")
        self.assertIn("No figures yet.", text)

    def table(self, options: str) -> str:
        return self.render(f"<!-- render:table {options} -->\n<!-- /render -->\n")

    def test_rows_of_a_file(self) -> None:
        self.write("docs/results/h200_x.csv", "m,n,k,us,cycles,tool,note,kind,gpu,driver,commit\n"
                   "8,8,8,2.25,12000,a,fine,measured,NVIDIA H200,580,abc\n"
                   "8,16,8,1,7,b,bad,measured,NVIDIA H200,580,abc\n"
                   "8,16,8,1,7,c,bad,measured,NVIDIA H200,580,abc\n")
        text = self.table('of=h200_x columns="M x N x K=size; us; cycles; tool,note" sort=us first=2')
        self.assertIn("| M x N x K | us | cycles | tool,note |\n|---|--:|--:|---|\n"
                      "| 8x16x8 | 1.0 | 7 | b, bad |\n| 8x16x8 | 1.0 | 7 | c, bad |\n\n"
                      "measured: NVIDIA H200; driver 580; commit abc.\n", text)
        joined = self.table('of=*_x join=tool columns="size; tools=tool; note" where=us:1')
        self.assertIn("| 8x16x8 | b, c | bad |\n\nmeasured", joined)
        by_gpu = self.table('of=h200_x columns="us; measured on=gpu+commit" sort=-us')
        self.assertIn("| 2.2 | NVIDIA H200 commit abc |\n", by_gpu)
        self.assertNotIn("measured:", by_gpu)

    def test_every_table_of_figures_says_what_kind_they_are(self) -> None:
        """Without a column of the kind or of the card, the label below has them."""
        self.write("docs/results/sim_x.csv", "level,us\nlevel01_baseline,5\n")
        self.assertIn("\nmodelled.\n", self.table("of=sim_x"))
        self.write("docs/results/h200_y.json", '[{"us": "5", "kind": "measured", "gpu": "NVIDIA H200"}]')
        self.assertIn("\nmeasured: NVIDIA H200.\n", self.table("of=h200_y columns=us"))

    def test_tables_of_nothing(self) -> None:
        self.write("docs/results/h200_x.csv", "us,kind,gpu\n5,measured,NVIDIA H200\n")
        self.assertIn("Not measured yet.", self.table("of=*_nowhere"))
        for options, words in (("of=nowhere", "no file of docs/results"), ("of=h200_x where=us:6", "leaves no row"),
                               ("of=h200_x where=colour:red", "no column 'colour'"),
                               ("of=h200_x columns=colour", "no column 'colour'"),
                               ("of=h200_x first=few", "first=few"), ("of=h200_x sort=colour", "no column 'colour'")):
            with self.subTest(options), self.assertRaisesRegex(marked.RenderError, words):
                self.table(options)

    def test_figures_in_sentences(self) -> None:
        self.write("docs/results/h200_x.csv", "level,m,tflops,kind,gpu\nlevel01_baseline,512,200,measured,NVIDIA H200\n"
                   "level02_tma_swizzle,512,250.4,measured,NVIDIA H200\n")
        figure = "<!-- render:figure of=h200_x where=m:512,level:{} show=tflops{} -->{}<!-- /render -->"
        wanted = [figure.format("level02_tma_swizzle", "", "250 TFLOPS"),
                  figure.format("level02_tma_swizzle", " over=level:level01_baseline", "+25.2 %")]
        text = f"It does {wanted[0]}, {wanted[1]} more.\n"
        self.assertEqual(self.render(re.sub(r"-->[^<]+<!-- /", "-->?<!-- /", text)), text)
        self.context.results = data.load_results(self.root / "docs" / "results")
        gain = self.render("Of <!-- render:gain level=2 size=8192 -->?<!-- /render -->.\n")
        self.assertEqual(gain, "Of <!-- render:gain level=2 size=8192 -->+83.7 %<!-- /render -->.\n")
        for wrong in (figure.format("level03", "", "?"), figure.format("level01_baseline", " over=m:1", "?"),
                      "<!-- render:progression -->?<!-- /render -->"):
            with self.subTest(wrong), self.assertRaisesRegex(marked.RenderError, "README.md:1: "):
                self.render(wrong)

    def test_examples_in_fenced_code_stay(self) -> None:
        text = "```\n<!-- render:nonsense -->\n```\n~~~md\n```\n<!-- /render -->\n~~~\n"
        self.assertEqual(self.render(text), text)

    def test_line_is_named(self) -> None:
        for text in ("<!-- render:nonsense -->\n<!-- /render -->", "<!-- render:progression -->\ntext",
                     "<!-- /render -->", "<!-- render:progression -->\n<!-- render:level level=1 -->\n<!-- /render -->",
                     "<!-- render: progression -->", "<!--render:progression-->", "<!-- render:level level=9 -->\n",
                     "<!-- render:level -->\n", "<!-- render:ablations -->\n",
                     "<!-- render:progression colour=red -->\n<!-- /render -->",
                     "<!-- render:progression size=big -->\n<!-- /render -->",
                     "<!-- render:table of=bursts level=1 -->\n<!-- /render -->",
                     "<!-- render:progression arch=sm80 -->\n<!-- /render -->"):
            with self.subTest(text), self.assertRaisesRegex(marked.RenderError, r"README.md:[23]: "):
                self.render("\n" + text)

    def test_check_and_write(self) -> None:
        (self.root / "docs/results/a.csv").unlink()  # no figures, so that there are no charts
        path = self.write("level01_baseline/README.md", "<!-- render:progression -->\nstale\n<!-- /render -->\n")
        self.write("build/CMakeCache.txt", "")
        self.write("build/README.md", "<!-- render:nonsense -->\n")
        self.write(".venv/README.md", "<!-- render:nonsense -->\n")
        script = self.maintain / "render.py"

        answer = self.run_command(script, "--check")
        self.assert_exit(1, answer, "1 file is out of date")
        self.assertIn("-stale", answer.stdout)
        self.assertIn("+No figures yet.", answer.stdout)
        self.assertIn("stale", path.read_text(encoding="utf-8"))

        self.assertEqual(self.run_command(script).stdout, "rendered level01_baseline/README.md\n")
        self.assert_exit(0, self.run_command(script, "--check"))
        self.assertIn("No figures yet.", path.read_text(encoding="utf-8"))

    def test_single_pages(self) -> None:
        page = self.write("docs/guide.md", "<!-- render:progression -->\nstale\n<!-- /render -->\n")
        self.write("README.md", "<!-- render:nonsense -->\n")
        answer = self.run_command(self.maintain / "render.py", page)
        self.assertEqual((answer.returncode, answer.stdout), (0, "rendered docs/guide.md\n"))

    def test_nothing_is_written_if_anything_is_wrong(self) -> None:
        path = self.write("README.md", "<!-- render:progression -->\nstale\n<!-- /render -->\n")
        self.write("docs/guide.md", "<!-- render:nonsense -->\n")
        self.assert_exit(2, self.run_command(self.maintain / "render.py"), "docs/guide.md:1")
        self.assertIn("stale", path.read_text(encoding="utf-8"))

    def test_images_on_no_page_go(self) -> None:
        (self.root / "docs/results/a.csv").unlink()
        self.write("README.md", "![made by hand](docs/charts/shown.svg)\n")
        shown, lost = (self.write(f"docs/charts/{name}.svg", "<svg/>") for name in ("shown", "lost"))
        answer = self.run_command(self.maintain / "render.py", "--check")
        self.assert_exit(1, answer, "1 file is out of date")
        self.assertEqual(answer.stdout, "docs/charts/lost.svg is on no page\n")
        self.assertEqual(self.run_command(self.maintain / "render.py").stdout, "removed docs/charts/lost.svg\n")
        self.assertTrue(shown.exists() and not lost.exists())

    def test_a_folder_that_is_no_repository(self) -> None:
        for name in ("nowhere", "docs"):
            answer = self.run_command(self.maintain / "render.py", "--root", name)
            self.assert_exit(2, answer, f"--root {name}: there is no repository")

    def test_a_page_that_is_not_there(self) -> None:
        self.assert_exit(2, self.run_command(self.maintain / "render.py", "nowhere.md"), "nowhere.md: No such file")

    def test_bad_results_are_a_sentence(self) -> None:
        self.write("docs/results/a.csv", SAMPLE.replace("measured", "guessed"))
        self.assert_exit(2, self.run_command(self.maintain / "render.py"), "kind must be")


class OfTheKernels(unittest.TestCase):
    """Blocks that are made of the levels themselves: here on the real ones."""

    def setUp(self) -> None:
        self.context = Context(support.ROOT, data.load_results(support.ROOT / files.RESULTS))
        self.context.page = Path("level05_persistent/README.md")

    def render(self, block: str) -> str:
        text = marked.render_text(f"<!-- render:{block} -->\n<!-- /render -->\n", self.context, "README.md")
        return "\n".join(text.splitlines()[1:-1])

    def test_every_block_of_every_level(self) -> None:
        for level in names.all_levels():
            number = names.number_of(level)
            for name in ("shape", "instructions", "counters", "changes", "timeline"):
                self.assertTrue(self.render(f"{name} level={number}"))
            for arch in (90, 100):
                for name in ("barriers", "budget", "roles", "timeline"):
                    self.assertTrue(self.render(f"{name} level={number} arch=sm{arch}"))

    def test_shape(self) -> None:
        text = self.render("shape level=5")
        self.assertIn("| tile of D | 128 x 128 per cluster | 128 x 128 per CTA |", text)
        self.assertIn("| shared memory | 230,400 bytes | 164,864 bytes |", text)
        self.assertIn("requested", self.render("shape level=1"))
        self.assertNotIn("requested", text)

    def test_budget_adds_up(self) -> None:
        for level in names.all_levels():
            for arch in (90, 100):
                for d in self.context.described(level, arch):
                    with self.subTest(level, arch=arch, config=d.config):
                        self.assertEqual(sum(r.total for r in d.outline), d.smem_bytes)
                        self.assertLessEqual(d.smem_bytes, description.SMEM_LIMIT)
        self.assertIn("| | **230,400** |".replace("| |", "|  |"), self.render("budget level=5 arch=sm100"))

    def test_barriers(self) -> None:
        self.assertIn("| `smem_full` [8] | 2, plus 49,152 bytes |", self.render("barriers level=5 arch=sm100"))

    def test_instructions_link_to_their_source(self) -> None:
        text = self.render("instructions level=5")
        self.assertIn("../common/ptx/tma.cuh#L", text)
        self.assertIn("`fence.proxy.async.shared::cta;`", text)

    def test_counters_stand_beside_the_level_before(self) -> None:
        text = self.render("counters level=4 arch=sm100")
        self.assertIn("Blackwell<br>level 03 | Blackwell<br>level 04", text)
        self.assertIn("| cache lines per global store of a warp | 32 | 2 |", text)
        self.assertIn("Modelled:", text)

    def test_changes(self) -> None:
        self.assertIn("diff_levels.py 4 5 --arch sm90", self.render("changes level=5"))
        self.assertIn("first level", self.render("changes level=1"))

    def test_images_have_words_and_a_file(self) -> None:
        for block in ("picture name=swizzles", "timeline level=5 arch=sm90", "chart name=smem_budget"):
            with self.subTest(block):
                text = self.render(block)
                self.assertRegex(text, r"^!\[[^]]{40,}\]\(\.\./docs/charts/\w+\.svg\)$")
        self.assertIn("Nothing has been measured", self.render("chart name=autotune_nothing_heatmap"))

    def test_wrong_options_name_what_there_is(self) -> None:
        for block, words in (("picture name=nonsense", "level01_tiles_sm100"), ("chart name=nonsense", "roofline"),
                             ("shape", "level=N"), ("shape level=9", "no level 9"),
                             ("barriers level=1 config=x", "no configuration x"),
                             ("budget level=1 arch=sm80", "sm80"), ("shape level=1 colour=red", "colour")):
            with self.subTest(block), self.assertRaisesRegex(marked.RenderError, words):
                self.render(block)


class UpToDate(unittest.TestCase):
    def test_every_page_picture_and_chart_of_this_repository(self) -> None:
        answer = subprocess.run([sys.executable, "-B", support.SCRIPTS / "maintain" / "render.py", "--check"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)


if __name__ == "__main__":
    unittest.main()
