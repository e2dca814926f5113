"""The site: which pages it has, where their links lead, and the link checker."""
from __future__ import annotations

import json
import shutil
import site as _site_of_python  # noqa: F401  scripts/site.py has the name of a standard module: it must not shadow it
import subprocess
import unittest

from ladder import files
from ladder.site import links, pages
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

    def test_style_sheets(self) -> None:
        text = "a { background: url(https://a.org/x.png) } @import 'gone.css';"
        self.assertEqual(len(self.problems("", style_css=text)), 2)


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
