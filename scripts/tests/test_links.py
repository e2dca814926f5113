"""Every link of every Markdown file leads somewhere: files, folders, images, headings, lines of sources."""
from __future__ import annotations

import re
import subprocess
import unittest
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Optional
from urllib.parse import unquote

from ladder.site import pages
from tests import support

ROOT = support.ROOT
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINKS = (re.compile(r"\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?(?:\s+[\"'(][^)]*)?\)"),  # [text](target "title")
         re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE),  # [reference]: target
         re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=[\"']([^\"']+)[\"']"))
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$", re.MULTILINE)
ANCHOR = re.compile(r"<\w+\b[^>]*?\b(?:id|name)=[\"']([^\"']+)[\"']")


@cache
def files(root: Path) -> frozenset[Path]:
    """What is in the repository, or would be with the next commit; without git, what is there."""
    try:
        return frozenset(root / name for name in pages.tracked(root))
    except (OSError, subprocess.CalledProcessError):
        hidden = {".git", "build", ".venv", ".cuda"}
        return frozenset(path for path in root.rglob("*")
                         if path.is_file() and not hidden & set(path.relative_to(root).parts))


@cache
def folders(root: Path) -> frozenset[Path]:
    return frozenset(folder for path in files(root) for folder in path.parents)


def links(text: str) -> Iterator[str]:
    """The targets of links and images. In code there are none."""
    text = COMMENT.sub("", pages.remove_code(text))
    for pattern in LINKS:
        yield from pattern.findall(text)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Where one can jump to in a page, with the names that GitHub gives to headings."""
    text = COMMENT.sub("", pages.FENCE.sub("", page.read_text(encoding="utf-8")))
    found: dict[str, int] = {}
    for heading in HEADING.findall(text):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # of a link, its text
        name = pages.slug(shown)
        found[name] = found.get(name, -1) + 1
    names = {f"{name}-{i}" if i else name for name, count in found.items() for i in range(count + 1)}
    return frozenset(names | set(ANCHOR.findall(text)))


def broken(root: Path, page: Path, target: str) -> Optional[str]:
    """Why a link leads nowhere; None if it leads somewhere, or out of the repository."""
    if pages.EXTERNAL.match(target):
        return None
    name, _, anchor = unquote(target).partition("#")
    path = (page.parent / name).resolve() if name else page
    if path not in files(root) and path not in folders(root):
        return "is not in the repository" if path.exists() else "does not exist"
    if not anchor:
        return None
    if path.suffix == ".md":
        return None if anchor in anchors(path) else "has no such heading"
    lines = re.fullmatch(r"L(\d+)(?:-L(\d+))?", anchor)
    if not lines or not path.is_file():
        return "has no anchors but lines (#L12)"
    count = len(path.read_text(encoding="utf-8").splitlines())
    return None if all(1 <= int(line) <= count for line in lines.groups() if line) else f"has {count} lines only"


def all_broken(root: Path) -> list[str]:
    return [f"{page.relative_to(root)}: {target} {reason}"
            for page in sorted(path for path in files(root) if path.suffix == ".md")
            for target in links(page.read_text(encoding="utf-8")) if (reason := broken(root, page, target))]


class ThisRepository(unittest.TestCase):
    def test_every_link_leads_somewhere(self) -> None:
        self.assertEqual("\n".join(all_broken(ROOT)), "")

    def test_there_are_links(self) -> None:
        self.assertTrue(any(True for page in files(ROOT) if page.suffix == ".md"
                            for _ in links(page.read_text(encoding="utf-8"))))


class Rules(support.Scratch):
    """The checker itself finds what is broken, and nothing else."""

    def setUp(self) -> None:
        super().setUp()
        (self.root / "docs").mkdir()
        (self.root / "docs" / "other.md").write_text("# A *heading*: `x_y`\n## Twice\n## Twice\n<a id=\"here\"></a>\n")
        (self.root / "kernel.cuh").write_text("1\n2\n3\n")

    def broken(self, text: str) -> list[str]:
        (self.root / "page.md").write_text(text)
        files.cache_clear()
        folders.cache_clear()
        return [line.removeprefix("page.md: ") for line in all_broken(self.root)]

    def test_good(self) -> None:
        self.assertEqual(self.broken(
            "# Top\n[a](docs/other.md) [b](docs/other.md#a-heading-x_y 'title') [c](docs/other.md#twice-1) [d](#top)\n"
            "[e](docs) [f](docs/) [g](kernel.cuh#L3) [h](kernel.cuh#L1-L2) [i](https://example.org/x#y)\n"
            "[k](docs/other.md#here) `[code](nowhere.md)` <!-- [comment](nowhere.md) -->\n"
            "```\n[fence](nowhere.md)\n```\n[ref]: kernel.cuh\n[![l](kernel.cuh)](docs/other.md)\n"), [])

    def test_bad(self) -> None:
        for text, reason in (("[a](nowhere.md)", "nowhere.md does not exist"),
                             ("![a](docs/x.svg)", "docs/x.svg does not exist"),
                             ("[![a](kernel.cuh)](gone.md)", "gone.md does not exist"),
                             ("[a](docs/other.md#nothing)", "docs/other.md#nothing has no such heading"),
                             ("[a](docs/other.md#twice-2)", "docs/other.md#twice-2 has no such heading"),
                             ("[a](#below)", "#below has no such heading"),
                             ("[a](kernel.cuh#L4)", "kernel.cuh#L4 has 3 lines only"),
                             ("[a](kernel.cuh#top)", "kernel.cuh#top has no anchors but lines (#L12)"),
                             ("[a](../out.md)", "../out.md does not exist"),
                             ("<img src='x.png'>", "x.png does not exist"),
                             ("[ref]: x.md", "x.md does not exist")):
            with self.subTest(text):
                self.assertEqual(self.broken(text), [reason])


if __name__ == "__main__":
    unittest.main()
