"""A program around any kernel that has the form of a level's: an answer to a task, or a step between two levels."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import UsageError
from ladder.levels import names

TEMPLATES = {"mma::Swizzle": "2"}  # the level whose launch has such a parameter: its main.cu has the arguments

LAUNCH = re.compile(r"(?:template\s*<\s*([\w:]+)\s+\w+\s*>[^\n]*\n)?\s*(?:inline\s+)?cudaError_t\s+launch\s*\("
                    r"\s*const\s+harness::Problem\s*&\s*\w*\s*,\s*cudaStream_t\s*\w*\s*\)")

PROGRAM = """\
#include "common/harness/level.h"
{includes}
int main(int argc, char** argv) {{
  static constexpr harness::Config configs[] = {{{configs}}};
  return harness::run(argc, argv, {{.name = "{level}", .arch = LADDER_ARCH, .idea = "an answer", .configs = configs}});
}}
"""


def source_of(kernels: Mapping[str, Path], level: str) -> str:
    """A program around kernels, whose configurations have these names. Raises UsageError if a file has not the form of
    a level's kernel."""
    includes, configs = [], []
    for name, file in kernels.items():
        described = description_of(file)
        includes += [each.name for each in (file, described) if each]
        configs += configs_of(name, file, described is not None)
    return PROGRAM.format(includes="\n".join(f'#include "{each}"' for each in includes), configs=", ".join(configs),
                          level=level)


def configs_of(name: str, file: Path, described: bool) -> list[str]:
    text = file.read_text(encoding="utf-8", errors="replace")
    space = re.search(r"^namespace (\w+) \{", text, re.MULTILINE)
    launch = LAUNCH.search(text)
    if space is None or launch is None:
        raise UsageError(f"{file} has not the form of a level's kernel: inside a namespace of its own it has to define "
                         "`inline cudaError_t launch(const harness::Problem&, cudaStream_t)` (--start writes such a "
                         "file).")
    if launch[1] and launch[1] not in TEMPLATES:
        raise UsageError(f"{file}: `launch` is a template of {launch[1]} with unknown arguments.")
    describe = f"{space[1]}::describe{{}}" if described else "[] {{ return harness::Description{{}}; }}"
    return [f'{{"{name}{suffix}", {space[1]}::launch{each}, {describe.format(each)}}}'
            for suffix, each in arguments_of(text) or [("", "")]]


def arguments_of(text: str) -> list[tuple[str, str]]:
    """Names and values of the arguments of a kernel's `launch`; none if it is no template."""
    space, launch = re.search(r"^namespace (\w+) \{", text, re.MULTILINE), LAUNCH.search(text)
    return template_arguments(launch[1], space[1]) if space and launch and launch[1] else []


def description_of(file: Path) -> Optional[Path]:
    """The file beside a kernel that says what it is in numbers: describe_sm90.h beside kernel_sm90.cuh."""
    beside = file.with_name(file.name.replace("kernel", "describe", 1)).with_suffix(".h")
    return beside if beside.exists() else None


def template_arguments(kind: str, space: str) -> list[tuple[str, str]]:
    """Names and values as the level has them that introduces the template, with this namespace instead of its own."""
    level = names.find_level(TEMPLATES[kind], names.all_levels())
    text = (files.ROOT / level / "main.cu").read_text(encoding="utf-8").partition("int main(")[2]
    found = re.findall(r'\{"(\w+)", \w+::launch(<[\w:]+>)', text)
    return [(f"-{name}", each.replace(f"{names.short(level)}::", f"{space}::")) for name, each in found]
