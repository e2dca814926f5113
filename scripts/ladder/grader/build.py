"""Builds a program from a reader's kernel, in place of a level's."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import UsageError
from ladder.levels import names
from ladder.levels.lab import Build

TEMPLATES = {"mma::Swizzle": "2"}  # the level whose launch has such a parameter: its main.cu has the arguments

LAUNCH = re.compile(r"(?:template\s*<\s*([\w:]+)\s+\w+\s*>[^\n]*\n)?\s*(?:inline\s+)?cudaError_t\s+launch\s*\("
                    r"\s*const\s+harness::Problem\s*&\s*\w*\s*,\s*cudaStream_t\s*\w*\s*\)")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")

PROGRAM = """\
#include "common/harness/level.h"
{includes}
int main(int argc, char** argv) {{
  static constexpr harness::Config configs[] = {{{configs}}};
  return harness::run(argc, argv, {{.name = "{level}", .arch = LADDER_ARCH, .idea = "an answer", .configs = configs}});
}}
"""


@dataclass
class Built:
    """A program, or what the compiler says instead; and how many bytes its kernels keep in local memory."""

    program: Optional[Path]
    said: str
    spilled: int = 0


def source_of(file: Path, level: str) -> str:
    """A program around the kernel in this file. Raises UsageError if it has not the form of a level's kernel."""
    text = file.read_text(encoding="utf-8", errors="replace")
    space = re.search(r"^namespace (\w+) \{", text, re.MULTILINE)
    launch = LAUNCH.search(text)
    if space is None or launch is None:
        raise UsageError(f"{file} has not the form of a level's kernel: inside a namespace of its own it has to define "
                         "`inline cudaError_t launch(const harness::Problem&, cudaStream_t)` (--start writes such a "
                         "file).")
    name, arguments = space[1], [""]
    description = description_of(file)
    if launch[1]:
        if launch[1] not in TEMPLATES:
            raise UsageError(f"{file}: `launch` is a template of {launch[1]} with unknown arguments.")
        arguments = template_arguments(launch[1], name)
    describe = f"{name}::describe{{}}" if description else "[] {{ return harness::Description{{}}; }}"
    configs = ", ".join(f'{{"answer{i}", {name}::launch{each}, {describe.format(each)}}}'
                        for i, each in enumerate(arguments))
    includes = "\n".join(f'#include "{each.name}"' for each in (file, description) if each)
    return PROGRAM.format(includes=includes, configs=configs, level=level)


def description_of(file: Path) -> Optional[Path]:
    """The file beside a kernel that says what it is in numbers: describe_sm90.h beside kernel_sm90.cuh."""
    beside = file.with_name(file.name.replace("kernel", "describe", 1)).with_suffix(".h")
    return beside if beside.exists() else None


def template_arguments(kind: str, space: str) -> list[str]:
    """As the level has them that introduces the template, with this namespace instead of its own."""
    level = names.find_level(TEMPLATES[kind], names.all_levels())
    text = (files.ROOT / level / "main.cu").read_text(encoding="utf-8").partition("int main(")[2]
    found = re.findall(r"::launch(<[\w:]+>)", text)
    return [each.replace(f"{names.short(level)}::", f"{space}::") for each in found]


def compile_answer(file: Path, level: str, arch: int, folder: Path, build: Build) -> Built:
    """Machine code, for what ptxas has to say of registers, and PTX, for the simulated device."""
    source = folder / "answer.cu"
    source.write_text(source_of(file, level), encoding="utf-8")
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
