"""Addresses outside the repository: all of them stand in docs/references.md, in good form, and what is listed there as
a source is cited where it is used."""
from __future__ import annotations

import re
import unittest
from collections.abc import Iterator
from pathlib import Path

from ladder.pages import marked
from ladder.results import data
from tests import support

REFERENCES = support.ROOT / "docs" / "references.md"
FIELD_BUGS = support.ROOT / "docs" / "field_bugs.md"  # its addresses are reports of bugs, in a table of their own
ADDRESS = re.compile(r"\]\(\s*<?((?:[a-z]+:)?//[^)\s>]+)", re.IGNORECASE)
BARE = re.compile(r"(?<![(<\w\"'])https?://", re.IGNORECASE)
FENCED = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FORM = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[\w.+~%&=@-]+)*/?(#[\w.-]+)?")


def pages() -> Iterator[tuple[Path, str]]:
    for path in marked.markdown_files(support.ROOT):
        yield path, FENCED.sub("", path.read_text(encoding="utf-8"))


def addresses(text: str) -> list[str]:
    return ADDRESS.findall(text)


class Addresses(unittest.TestCase):
    def test_all_stand_on_one_page(self) -> None:
        listed = set(addresses(REFERENCES.read_text(encoding="utf-8")))
        self.assertGreater(len(listed), 25)
        for path, text in pages():
            if path != FIELD_BUGS:
                for address in addresses(text):
                    self.assertIn(address, listed, path)
            self.assertIsNone(BARE.search(text), f"{path}: an address that is no link")

    def test_their_form(self) -> None:
        """No page is fetched: this finds what cannot be an address, not what has moved."""
        found = addresses(REFERENCES.read_text(encoding="utf-8"))
        for address in found:
            self.assertRegex(address, f"^{FORM.pattern}$")
            self.assertNotRegex(address, r"[.,;:]$|//[^/]*//|localhost|example\.")
        self.assertEqual(len(found), len(set(found)), "listed twice")

    def test_bad_forms_are_seen(self) -> None:
        for bad in ("http://docs.nvidia.com/", "https://localhost/x", "https://a b.com/", "https://a.com/x y",
                    "https://a.com//", "https://.com/"):
            self.assertNotRegex(bad, f"^{FORM.pattern}$")


class Citations(unittest.TestCase):
    def test_every_source_is_cited(self) -> None:
        """By another page, by a table of the page itself, or by a figure that others have published."""
        text = REFERENCES.read_text(encoding="utf-8")
        names = re.findall(r'<a id="([^"]+)">', text)
        self.assertEqual(len(names), len(set(names)))
        elsewhere = "".join(content for path, content in pages() if path != REFERENCES)
        published = {row["source"] for row in data.read_rows(support.ROOT / "docs" / "results" / "published.csv")[1]}
        self.assertLessEqual(published, set(names))
        courses = text.partition("## Other courses")[2]  # from here on they stand for themselves
        for name in names:
            if f'<a id="{name}">' not in courses:
                self.assertTrue(f"references.md#{name})" in elsewhere or name in published, f"{name} is cited nowhere")


if __name__ == "__main__":
    unittest.main()
