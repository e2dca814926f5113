import subprocess
import sys
import unittest

import support
from test_tables import SAMPLE

import render
import tables


class Render(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write("docs/results/a.csv", SAMPLE)
        self.write("docs/results/gb200_ablations_reported.csv",
                   "optimisation,expected,observed,reason,kind,gpu\nearly,faster,slower,a|b,reported,GB200\n")
        self.context = render.Context(self.root, tables.load_results(self.root / "docs" / "results"))

    def render(self, text: str) -> str:
        return render.render_text(text, self.context, "README.md")

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

    def test_ablations_say_what_kind_they_are(self) -> None:
        text = self.render("<!-- render:ablations -->\n<!-- /render -->\n")
        self.assertIn(r"| early | faster | slower | a\|b |", text)
        self.assertIn("reported: GB200", text)

    def test_no_figures(self) -> None:
        text = self.render("<!-- render:progression size=64 -->\n<!-- /render -->\n")
        self.assertIn("No figures yet.", text)

    def test_examples_in_fenced_code_stay(self) -> None:
        text = "```\n<!-- render:nonsense -->\n```\n~~~md\n```\n<!-- /render -->\n~~~\n"
        self.assertEqual(self.render(text), text)

    def test_line_is_named(self) -> None:
        for text in ("<!-- render:nonsense -->\n<!-- /render -->", "<!-- render:progression -->\ntext",
                     "<!-- /render -->", "<!-- render:progression -->\n<!-- render:level level=1 -->\n<!-- /render -->",
                     "<!-- render: progression -->", "<!--render:progression-->", "<!-- render:level level=9 -->\n",
                     "<!-- render:level -->\n", "<!-- render:progression colour=red -->\n<!-- /render -->",
                     "<!-- render:progression size=big -->\n<!-- /render -->",
                     "<!-- render:progression arch=sm80 -->\n<!-- /render -->"):
            with self.subTest(text), self.assertRaisesRegex(render.RenderError, r"README.md:[23]: "):
                self.render("\n" + text)

    def test_check_and_write(self) -> None:
        path = self.write("level01_baseline/README.md", "<!-- render:progression -->\nstale\n<!-- /render -->\n")
        self.write("build/CMakeCache.txt", "")
        self.write("build/README.md", "<!-- render:nonsense -->\n")
        self.write(".venv/README.md", "<!-- render:nonsense -->\n")
        script = self.scripts / "render.py"

        answer = self.run_command(script, "--check")
        self.assert_exit(1, answer, "1 file is out of date")
        self.assertIn("-stale", answer.stdout)
        self.assertIn("+| level |", answer.stdout)
        self.assertIn("stale", path.read_text(encoding="utf-8"))

        self.assertEqual(self.run_command(script).stdout, "rendered level01_baseline/README.md\n")
        self.assert_exit(0, self.run_command(script, "--check"))
        self.assertIn("| level |", path.read_text(encoding="utf-8"))

    def test_nothing_is_written_if_anything_is_wrong(self) -> None:
        path = self.write("README.md", "<!-- render:progression -->\nstale\n<!-- /render -->\n")
        self.write("docs/guide.md", "<!-- render:nonsense -->\n")
        self.assert_exit(2, self.run_command(self.scripts / "render.py"), "docs/guide.md:1")
        self.assertIn("stale", path.read_text(encoding="utf-8"))

    def test_bad_results_are_a_sentence(self) -> None:
        self.write("docs/results/a.csv", SAMPLE.replace("measured", "guessed"))
        self.assert_exit(2, self.run_command(self.scripts / "render.py"), "kind must be")


class UpToDate(unittest.TestCase):
    def test_every_page_of_this_repository(self) -> None:
        answer = subprocess.run([sys.executable, "-B", support.SCRIPTS / "render.py", "--check"],
                                        capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)


if __name__ == "__main__":
    unittest.main()
