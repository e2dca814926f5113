"""The word list of scripts/maintain/lint.py: what it finds in pages, comments and messages, and what it lets pass."""
from __future__ import annotations

import unittest
from pathlib import Path

from ladder import files, words
from tests import support

LONG = "A kernel " + "waits and " * 25 + "ends."


def found(name: str, text: str) -> list[tuple[int, str]]:
    return sorted((each.line, each.what.partition(":")[0]) for each in words.check(Path(name), text))


class Findings(unittest.TestCase):
    def test_pages(self) -> None:
        text = ("# Who is there\n\nA reader who waits.\nWhoever waits, waits.\n\n```\nnobody\n```\n`nobody` is it.\n"
                "| a | Nobody |\n<!-- render:x -->\nnobody\n<!-- /render -->\n- It takes turns.\nWho waits?\n")
        self.assertEqual(found("a.md", text), [(1, "'Who'"), (4, "'Whoever'"), (10, "'Nobody'"), (14, "'takes turns'")])

    def test_sentences(self) -> None:
        self.assertEqual(found("a.md", f"Short.\n{LONG} Short again."), [(2, "a sentence of 53 words; at most 40")])
        self.assertEqual(found("a.md", f"- {LONG[:100]}\n- {LONG[:100]}\n"), [])
        table = "|" + LONG[:-5] + "|" + LONG[:100] + "|\n"
        self.assertEqual(len(found("a.md", table)), 1)
        self.assertEqual(found("a.md", "[x](https://" + "a/who/" * 60 + ")\n"), [])

    def test_cpp(self) -> None:
        text = ('// Each turn\n// of the ring.\nint turn = 1;  // in turn\nfail("nobody can say how");\nx = "who";\n'
                f"/// {'x' * 117}\nint y;{' ' * 110}  // y\n")
        self.assertEqual(found("a.cuh", text), [
            (1, "'Each turn'"), (4, "'nobody'"), (6, "a comment of 121 columns; at most 120"),
            (7, "a comment of 122 columns; at most 120")])

    def test_python(self) -> None:
        text = ('"""What nobody knows,\n\n    nobody.py   and a table\n"""\n# one\n# who waits\nX = f"a {nobody} b c"\n'
                'DATA = """\nnobody says this\n"""\nprint("nobody says that, either")\n')
        self.assertEqual(found("a.py", text), [(1, "'nobody'"), (3, "'nobody'"), (6, "'who'"), (11, "'nobody'")])

    def test_shell(self) -> None:
        self.assertEqual(found("a.sh", '#!/bin/who\n# who waits\nfail 1 "there is nobody here"\nnobody=1\n'),
                         [(2, "'who'"), (3, "'nobody'")])


class Exceptions(support.Sandbox):
    def test_exceptions_by_line(self) -> None:
        self.write("a.md", "Nobody waits\nfor this. Nobody else.\n")
        self.assertEqual(len(words.check_all(self.root, [Path("a.md")])), 2)
        self.write("scripts/maintain/word_exceptions.txt", "# why\na.md: Nobody waits for\nb.md: else\na.md: stale\n")
        wrong = words.check_all(self.root, [Path("a.md")])
        self.assertEqual([line.partition(" ")[0] for line in wrong],
                         ["a.md:2:", "scripts/maintain/word_exceptions.txt:4:"])

    def test_this_repository_has_no_stale_exceptions(self) -> None:
        listed = {Path(file) for file, _ in words.read_exceptions(files.ROOT)}
        self.assertTrue(listed)
        wrong = words.check_all(files.ROOT, sorted(listed))
        self.assertEqual([line for line in wrong if line.startswith(str(words.EXCEPTIONS))], [])


if __name__ == "__main__":
    unittest.main()
