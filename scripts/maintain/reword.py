#!/usr/bin/env python3
"""Shows that no verdict depends on the wording of a report: doubles a letter in every sentence of common/sim/report/,
builds the simulated device and runs tests. Only tests of sentences may fail. The sources are restored afterwards.

    reword.py -R '^(levels|mutants)\\.'    with tests of these names, as ctest -R takes them

Words of records are left as they are: they are names, the first member of a row, or have no space.

Exit codes: 0 it was built, and tests were run, whatever they say; 1 it cannot be built; 2 wrong command line.
"""
from __future__ import annotations

import re
import subprocess

from ladder import command, files

REPORT = files.ROOT / "common" / "sim" / "report"
LITERAL = re.compile(r'(?P<before>[{]?)"(?P<text>(?:[^"\\\n]|\\.)*)"')
WORD = re.compile(r"(?<![\w{\\%-])[a-z]{3,}(?![\w}])")  # no parameter, no name


def reworded(source: str) -> str:
    def literal(match: re.Match[str]) -> str:
        text = match["text"]
        is_sentence = " " in text and not match["before"]
        return f'{match["before"]}"{WORD.sub(lambda word: word[0] + word[0][-1], text, 1) if is_sentence else text}"'

    lines = source.split("\n")
    return "\n".join(line if line.lstrip().startswith(("#", "//")) else LITERAL.sub(literal, line) for line in lines)


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("-R", dest="tests", required=True, help="which tests")
    parser.add_argument("--build", default=files.ROOT / "build", help="the build directory (default: build)")
    options = parser.parse_args()
    before = {path: path.read_text(encoding="utf-8") for path in sorted(REPORT.glob("*.cpp"))}
    build = ["cmake", "--build", options.build, "-j2", "--target"]
    try:
        for path, text in before.items():
            path.write_text(reworded(text), encoding="utf-8")
        built = subprocess.run([*build, "cudart", "cuda"], check=False).returncode == 0
        if built:
            subprocess.run(["ctest", "--test-dir", options.build, "-R", options.tests], check=False)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    return command.EXIT_RIGHT if built else command.EXIT_WRONG


if __name__ == "__main__":
    command.run(main)
