"""The site: which pages it has, where their links lead, and the link checker."""
from __future__ import annotations

import json
import re
import shutil
import site as _site_of_python  # noqa: F401  scripts/site.py has the name of a standard module: it must not shadow it
import subprocess
import unittest

from ladder import files
from ladder.results import data
from ladder.site import links, pages, programs, tries
from tests import support


class Rules(support.Scratch):
    """On a small repository."""

    def setUp(self) -> None:
        super().setUp()
        self.names = ["README.md", "docs/README.md", "docs/other.md", "level01_x/README.md", "level01_x/kernel.cuh",
                      "docs/picture.svg", "common/a.h", "common/b.h", "docs/code.py"]
        for name in self.names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        (self.root / "README.md").write_text(
            "[k](level01_x/kernel.cuh#L3) ![p](docs/picture.svg) [c](common) `[no](docs/code.py)` [o](docs/other.md)\n"
            "```\n[no](common/b.h)\n```\n<a href='level01_x/kernel.cuh'>k</a>")
        self.site = pages.Site(self.root, frozenset(self.names))

    def test_what_is_linked_is_a_page(self) -> None:
        self.assertEqual((self.site.sources, self.site.listings, self.site.copies),
                         ({"level01_x/kernel.cuh"}, {"common"}, {"docs/picture.svg"}))

    def test_links(self) -> None:
        for page, target, wanted in (("README.md", "level01_x/kernel.cuh#L3", "level01_x/kernel.cuh.html#L-3"),
                                     ("README.md", "level01_x/kernel.cuh#L3-L9", "level01_x/kernel.cuh.html#L-3"),
                                     ("docs/other.md", "../level01_x/", "../level01_x/index.html"),
                                     ("docs/other.md", "../common", "../common/files.html"),
                                     ("docs/other.md", "../docs", "index.html"),
                                     ("docs/other.md", "picture.svg", "picture.svg"),
                                     ("docs/other.md", "..", "../index.html"),
                                     ("README.md", "#here", "#here"), ("README.md", "https://a.org/b", "https://a.org/b")):
            with self.subTest(target):
                self.assertEqual(self.site.link(page, target), wanted)
        with self.assertRaises(KeyError):
            self.site.link("README.md", "docs/code.py")

    def test_markdown_as_github_reads_it(self) -> None:
        text = pages.markdown("Text:\n- one\n- two\n<!-- render:x -->\n| a |\n<!-- /render -->\n"
                              "<details>\n\n*x*\n</details>\n```\nText:\n- <details>\n```\n")
        self.assertIn("Text:\n\n- one\n- two\n", text)
        self.assertIn('<details markdown="1">', text)
        self.assertIn("```\nText:\n- <details>\n```", text)
        self.assertNotIn("render", text)

    def test_anchors_are_those_of_github(self) -> None:
        self.assertEqual(pages.slug("Is it *in order*? `a_b`-c"), "is-it-in-order-a_b-c")


class Checker(support.Scratch):
    """The link checker finds what is broken, and nothing else."""

    def problems(self, text: str, **more: str) -> list[str]:
        for name, content in {"page_html": text, "other_html": '<h2 id="here">x</h2>', **more}.items():
            (self.root / name.replace("_", ".")).write_text(content)
        return links.problems(self.root)

    def test_good(self) -> None:
        text = ('<a href="other.html#here">x</a><a href="https://a.org">y</a><a href="#top">z</a><p id="top">'
                '<img src="data:,"><link rel="canonical" href="https://a.org">')
        self.assertEqual(self.problems(text), [])

    def test_bad(self) -> None:
        for text, why in (('<a href="none.html">', "no such file"), ('<a href="other.html#gone">', "no such anchor"),
                          ('<a href="/other.html">', "not a relative address"), ("<a href='#gone'>", "no such anchor"),
                          ('<script src="https://a.org/x.js">', "another host"),
                          ('<img src="none.svg">', "no such file"),
                          ('<link rel="stylesheet" href="//a.org/x.css">', "another host")):
            with self.subTest(text):
                found = self.problems(text)
                self.assertEqual([problem.rpartition(": ")[2] for problem in found], [why])

    def test_settings_of_the_playground(self) -> None:
        data = self.root / "playground" / "data" / "level05_sm100"
        data.mkdir(parents=True)
        (data / "sites.json").write_text('[{"name": "bar_sync.2", "line": 7}]')
        (data / "program.json").write_text('{"labs": [{"id": "pitch"}], "shapes": [{"id": "one"}]}')
        (data.parent.parent / "level05_sm100.html").write_text("")
        page = "playground/level05_sm100.html"
        for anchor, why in (("without=bar_sync.2,L7&schedule=latest", ""), ("lab=pitch&shape=one", ""),
                            ("line=L8", "the page has no line 'L8'"), ("lab=none", "the page has no lab 'none'")):
            with self.subTest(anchor):
                found = self.problems(f'<a href="{page}#{anchor}">')
                self.assertEqual([problem.rpartition(": ")[2] for problem in found], [why] if why else [])

    def test_style_sheets(self) -> None:
        text = "a { background: url(https://a.org/x.png) } @import 'gone.css';"
        self.assertEqual(len(self.problems("", style_css=text)), 2)


class Workflow(unittest.TestCase):
    def test_each_label_is_in_a_job(self) -> None:
        jobs = re.findall(r"^ *labels: (.*)$", (support.ROOT / ".github/workflows/tests.yml").read_text("utf-8"), re.M)
        labels = [row["label"] for row in data.read_rows(support.ROOT / "common" / "tests" / "labels.csv")[1]]
        self.assertEqual(sorted("|".join([*jobs, "lint"]).split("|")), sorted(labels))


class Tries(unittest.TestCase):
    """Links from the lesson into the playground."""

    def targets(self, row: str) -> list[str]:
        page = tries.add(f"<h1>x</h1><table><tr>{row}</tr></table>", "level05_persistent", "p/")
        self.assertIn("level05_sm90.html", page)
        return re.findall(r'class="try" href="p/([^"]+)"', page)

    def test_rows(self) -> None:
        kernel = (support.ROOT / "level05_persistent" / "kernel_sm100.cuh").read_text(encoding="utf-8").splitlines()
        fence = 1 + next(i for i, line in enumerate(kernel) if "fence_proxy_async_shared" in line)
        for row, wanted in (
                ("<td><code>fence_proxy_async_shared</code></td>", [f"level05_sm100.html#line=L{fence}"]),
                ('<td><a href="labs/no_read_wait.patch">x</a></td>', ["level05_sm100.html#lab=no_read_wait"]),
                ("<td>05</td><td>208</td><td><code>f</code></td>", ["level05_sm90.html#without=L208"]),
                ("<td><code>cudaMalloc</code></td>", [])):
            with self.subTest(row):
                self.assertEqual(self.targets(row), wanted)

    def test_names_survive_other_lines(self) -> None:
        sites = [{"line": line, "source": source, "instruction": "x"} for line, source in (
            (3, "ptx::bar_sync(1, 2);"), *[(5, "if (a) ptx::bar_sync(1, 2);")] * 2, (9, "y = 1;"))]
        self.assertEqual([one["name"] for one in programs.with_names(sites)],
                         ["bar_sync", "bar_sync.2", "bar_sync.2", "x"])

    def test_a_steps_neighbours(self) -> None:
        page = tries.stepper("level06_tmem_double_buffer/steps/sm100/2_epilogue_warps.patch", True)
        self.assertEqual(re.findall(r'href="([^"]+)"', page)[:3],
                         ["1_renaming.patch.html", "../../index.html#step-by-step", "3_stored_once.patch.html"])


PYTHON = files.BUILD / "site" / "venv" / "bin" / "python3"


@unittest.skipUnless(PYTHON.exists(), "the generator is not installed: scripts/site.py installs it")
class Generated(support.Sandbox):
    """A small repository through the generator."""

    def test_pages_and_links(self) -> None:
        shutil.copytree(support.SCRIPTS / "ladder" / "site", self.scripts / "ladder" / "site", dirs_exist_ok=True)
        self.write("README.md", "# Top\n\n[k](level01_x/kernel_sm100.cuh#L2), [o](docs/other.md#a-b), [d](docs/)\n"
                                "<details><summary>More</summary>\n\n| a |\n|---|\n| **x** |\n\n</details>\n")
        self.write("docs/other.md", "# Other\n\nText\n- list\n\n## A: b\n\n[up](../README.md) `<script>`\n")
        self.write("level01_x/README.md", "# Level 01\n")
        self.write("level01_x/kernel_sm100.cuh", "// <b>\nint x;\n")
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        output = self.root / "out"
        answer = self.run_command(PYTHON, "-m", "mkdocs", "build", "--quiet", "-f",
                                  self.root / "scripts/ladder/site/mkdocs.yml", "-d", output,
                                  LADDER_SITE_ROOT=str(self.root), LADDER_SITE_PARTS="")
        self.assert_exit(0, answer)
        (output / "404.html").unlink()
        self.assertEqual(links.problems(output), [])
        top = (output / "index.html").read_text(encoding="utf-8")
        self.assertIn("<strong>x</strong>", top)
        self.assertIn('href="level01_x/kernel_sm100.cuh.html#L-2"', top)
        self.assertIn("<li>list</li>", (output / "docs" / "other.html").read_text(encoding="utf-8"))
        source = (output / "level01_x" / "kernel_sm100.cuh.html").read_text(encoding="utf-8")
        self.assertIn("&lt;b&gt;", source)
        index = json.loads((output / "search" / "search_index.json").read_text(encoding="utf-8"))
        self.assertIn("docs/other.html", [entry["location"] for entry in index["docs"]])


if __name__ == "__main__":
    unittest.main()
