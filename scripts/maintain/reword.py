#!/usr/bin/env python3
"""Shows that no verdict depends on the wording of a report: doubles a letter in every sentence of common/sim/report/,
builds the simulated device and runs tests. Only tests of sentences may fail. The sources are restored afterwards.

    reword.py -R '^(levels|mutants)\\.'    with tests of these names, as ctest -R takes them

What the grader says of a level's kernel, whole and without some of its waits and fences, is compared before and after.

Words of records are left as they are: they are names, the first member of a row, or have no space.

Exit codes: 0 it was built, and tests were run, whatever they say; 1 it cannot be built, or the grader says something
else; 2 wrong command line.
"""
from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from ladder import command, files
from ladder.grader import verdicts
from ladder.grader.build import Built
from ladder.grader.verdicts import Answer
from ladder.levels.lab import Build
from ladder.mutants import study

REPORT = files.ROOT / "common" / "sim" / "report"
LITERAL = re.compile(r'(?P<before>[{]?)"(?P<text>(?:[^"\\\n]|\\.)*)"')
WORD = re.compile(r"(?<![\w{\\%-])[a-z]{3,}(?![\w}])")  # no parameter, no name
# Without these the kernel has races, wrong results, deadlocks and faults.
GRADED, WITHOUT = "level03_warp_specialize", ("bar.sync", "wgmma.fence", "wgmma.wait_group", "mbarrier.arrive",
                                              "mbarrier.init")


def reworded(source: str) -> str:
    def literal(match: re.Match[str]) -> str:
        text = match["text"]
        is_sentence = " " in text and not match["before"]
        return f'{match["before"]}"{WORD.sub(lambda word: word[0] + word[0][-1], text, 1) if is_sentence else text}"'

    lines = source.split("\n")
    return "\n".join(line if line.lstrip().startswith(("#", "//")) else LITERAL.sub(literal, line) for line in lines)


def answers(build: Path) -> list[str]:
    """What the grader says of the kernel and of its mutants, but for the device's sentences."""
    kernel, = study.kernels([GRADED], [90], "", build)
    said = []
    with tempfile.TemporaryDirectory() as folder:
        for removed in ("nothing", *WITHOUT):
            places = () if removed == "nothing" else next(
                site.places for site in kernel.sites if site.instruction == removed)
            answer = Answer(Path(folder) / removed, kernel.level, kernel.arch)
            kernel.embedded.write(kernel.embedded.without(places), answer.file)
            for claim in verdicts.judge(answer, Built(answer.file, ""), verdicts.own_claims(answer, Build(build))):
                said.append(f"without {removed}: {claim.name} {claim.holds} {claim.found.partition(': ')[0]}")
    return said


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("-R", dest="tests", required=True, help="which tests")
    parser.add_argument("--build", type=Path, default=files.BUILD, help="the build directory (default: build)")
    options = parser.parse_args()
    before = {path: path.read_text(encoding="utf-8") for path in sorted(REPORT.glob("*.cpp"))}
    os.environ["LADDER_SIM_DIR"] = str(options.build.resolve() / "sim")

    def builds() -> bool:
        command_line = ["cmake", "--build", options.build, "-j2", "--target", "cudart", "cuda"]
        return subprocess.run(command_line, check=False).returncode == 0

    if not builds():
        return command.EXIT_WRONG
    expected, found = answers(options.build), []
    try:
        for path, text in before.items():
            path.write_text(reworded(text), encoding="utf-8")
        if builds():
            found = answers(options.build)
            subprocess.run(["ctest", "--test-dir", options.build, "-R", options.tests], check=False)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    for old, new in zip(expected, found):
        if old != new:
            print(f"reword.py: the grader said: {old}\nand says:                 {new}")
    return command.EXIT_RIGHT if found == expected else command.EXIT_WRONG


if __name__ == "__main__":
    command.run(main)
