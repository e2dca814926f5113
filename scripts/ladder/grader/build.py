"""Builds a program from a reader's kernel, in place of a level's."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.levels.around import source_of
from ladder.levels.lab import Build

SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass
class Built:
    """A program, or what the compiler says instead; and how many bytes its kernels keep in local memory."""

    program: Optional[Path]
    said: str
    spilled: int = 0


def compile_answer(file: Path, level: str, arch: int, folder: Path, build: Build) -> Built:
    """Machine code, for what ptxas has to say of registers, and PTX, for the simulated device."""
    source = folder / "answer.cu"
    source.write_text(source_of({"answer": file}, level), encoding="utf-8")
    program = folder / "answer"
    flags = [f"-DLADDER_ARCH={arch}", "-I", str(file.resolve().parent), "-I", str(files.ROOT), "--resource-usage",
             "-gencode", f"arch=compute_{arch}a,code=[sm_{arch}a,compute_{arch}a]"]
    said = ""
    for command in build.commands(flags, source, program):
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        said += answer.stdout + answer.stderr
        if answer.returncode != 0:
            return Built(None, _messages(said))
    spilled = sum(int(stack) + int(stores) + int(loads) for stack, stores, loads in SPILLS.findall(said))
    return Built(program, _messages(said), spilled)


def _messages(said: str) -> str:
    """Without what ptxas reports of each kernel."""
    lines = [line for line in said.splitlines() if not line.startswith("ptxas info") and not SPILLS.search(line)]
    return "\n".join(lines).strip()
