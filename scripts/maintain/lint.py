#!/usr/bin/env python3
"""Checks format and types of everything: clang-format, ruff, mypy and shellcheck, as the root's dotfiles say; and the
layers of the simulated device and of scripts/ladder: none uses one above it, and no two classes have one name.

    lint.py          what does not agree with the rules
    lint.py --fix    changes what the tools can change by themselves

Files that git ignores are left out. scripts/setup.sh installs the tools, in versions of their own, into .venv/.

Exit codes: 0 everything agrees; 1 something does not; 2 wrong command line; 77 the tools are not installed, or
this is no clone.
"""
from __future__ import annotations

import subprocess
from pathlib import Path

from ladder import command, files, layers, words

TOOLS = files.ROOT / ".venv" / "bin"
CXX = (".cpp", ".h", ".cu", ".cuh")
AT_A_TIME = 40  # files: long command lines take long to complain


def all_files() -> list[str]:
    """Of the repository, from its root: what is recorded, and what might be."""
    answer = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
                            cwd=files.ROOT, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        command.give_up(command.EXIT_SKIPPED, "this is no clone: git cannot say which files belong to the repository ("
                        f"{answer.stderr.strip()}).")
    return sorted(name for name in answer.stdout.split("\0") if name and (files.ROOT / name).is_file())


def is_shell(name: str) -> bool:
    if Path(name).suffix:
        return name.endswith(".sh")
    with (files.ROOT / name).open("rb") as file:
        return file.readline(80).startswith((b"#!/usr/bin/env bash", b"#!/bin/bash", b"#!/bin/sh"))


def agrees(tool: str, *arguments: str) -> bool:
    return subprocess.run([TOOLS / tool, *arguments], cwd=files.ROOT, check=False).returncode == 0


def cxx_agrees(names: list[str], fix: bool) -> bool:
    how = ["-i"] if fix else ["--dry-run", "--Werror", "--ferror-limit=3"]
    batches = [names[i:i + AT_A_TIME] for i in range(0, len(names), AT_A_TIME)]
    right = [agrees("clang-format", *how, *batch) for batch in batches]
    return all(right)


def layers_agree(names: list[str]) -> bool:
    texts = {name: (files.ROOT / name).read_text(encoding="utf-8") for name in names
             if (name.startswith(layers.SIM) and name.endswith(CXX)) or name.startswith(layers.LADDER)}
    wrong = layers.complaints(texts)
    for sentence in wrong:
        print(sentence)
    return not wrong


def words_agree(names: list[str]) -> bool:
    wrong = words.check_all(files.ROOT, [Path(name) for name in names if words.reads(Path(name))])
    for line in wrong:
        print(line)
    return not wrong


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("--fix", action="store_true", help="change what can be changed without thinking")
    options = parser.parse_args()
    missing = [tool for tool in ("clang-format", "ruff", "mypy", "shellcheck") if not (TOOLS / tool).exists()]
    if missing:
        command.give_up(command.EXIT_SKIPPED, f"not installed: {', '.join(missing)}. scripts/setup.sh gets them from "
                        "PyPI if it may.")
    names = all_files()
    right = [
        cxx_agrees([name for name in names if name.endswith(CXX)], options.fix),
        layers_agree(names),
        agrees("ruff", "check", "--quiet", *(["--fix"] if options.fix else [])),
        agrees("mypy", "--no-error-summary"),
        agrees("shellcheck", *filter(is_shell, names)),
        words_agree(names)]
    return command.EXIT_RIGHT if all(right) else command.EXIT_WRONG


if __name__ == "__main__":
    command.run(main)
