"""Beginning a task: the kernel of the level before, and what to change in it."""
from __future__ import annotations

import os
import re
import shlex
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from ladder import files
from ladder.command import UsageError
from ladder.grader.claims import CLAIMS, adds_a_claim, of_step
from ladder.levels import around, names, patches
from ladder.levels.lab import Build
from ladder.levels.patches import Step

TASKS = Path(__file__).resolve().with_name("tasks")
TASK = "TASK.md"
HEAD = (" The comment at its head describes the level, as it is after the last step; the barriers that it names are "
        "those of this kernel.")
UNSEEN = ("The start fulfils all of this already: the grader sees whether the change breaks something, not whether it "
          "is made.\n")


def task_of(level: str, arch: int) -> str:
    """What is to be done: of the task's file what is for both architectures and for this one. Raises UsageError."""
    path = TASKS / f"{names.short(level)}.md"
    if not path.exists():
        raise UsageError(f"there is no task for {level}: the first one is level 02's.")
    parts = re.split(r"^## (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = parts[0].rstrip() + "\n\n" + dict(zip(parts[1::2], parts[2::2]))[names.ARCH_NAMES[arch]].strip()
    claims = "\n".join(f"- {claim.sentence}" for claim in CLAIMS[names.number_of(level), arch])
    return (f"{text.rstrip()}\n\n## Graded\n\nD must be right for all shapes and in all schedules, and on small GPUs; "
            f"nothing may spill; and:\n\n{claims}\n\n"
            f"```bash\nscripts/grade.py {names.number_of(level)} FOLDER/kernel_sm{arch}.cuh --arch sm{arch}\n```\n\n"
            f"The page of the level, [{level}]({{page}}), explains the idea\nwithout the code in its first parts: "
            "\"Where the time goes\" and \"The idea\".\nInstructions are functions of [common/ptx]({ptx}). `--keep "
            "program` keeps the graded\nprogram, and `scripts/explore.py --sms 2 program` shows it.\n")


def task_of_step(step: Step) -> str:
    """What is to be done in a step."""
    claims = "".join(f"- {claim.sentence}\n" for claim in of_step(step, Build(files.BUILD)))
    return (f"# Task {step.title}, {names.ARCH_NAMES[step.arch]}: {step.words}\n\n"
            f"The kernel beside this page is {_before(step)}.{HEAD if step.number > 1 else ''}\n\n"
            f"**Why**: {step.question}\n\n**What should be seen**: {step.expect}\n\n## Graded\n\n"
            "D must be right for all shapes and in all schedules, and on small GPUs; nothing may spill"
            + (f"; and:\n\n{claims}" if claims else ".\n") + ("" if adds_a_claim(step) else f"\n{UNSEEN}") +
            f"\n```bash\nscripts/grade.py {step.title} FOLDER/{step.kernel_name} --arch sm{step.arch}\n```\n\n"
            f"A claim that fails is followed by a hint. One solution is `scripts/steps.py show {step.title} "
            f"--arch sm{step.arch}`.\nThe level's page: [{step.level}]({{page}}). Instructions are functions of "
            "[common/ptx]({ptx}).\n")


def _before(step: Step) -> str:
    return (f"level {names.number_of(step.level) - 1:02}'s" if step.number == 1 else
            f"the one after step {names.number_of(step.level)}.{step.number - 1}")


def _link(file: Path, folder: Path) -> str:
    """To a file, in a page that lies in `folder`."""
    return urllib.parse.quote(Path(os.path.relpath(file, folder.resolve())).as_posix())


def begin(level: str, arch: int, folder: Path) -> list[Path]:
    """Writes the files of a task, and returns them. Raises UsageError if one is there already."""
    text = task_of(level, arch)
    before = [name for name in names.all_levels() if name < level][-1]
    kernel = names.kernel_path(files.ROOT, before, arch)
    description = around.description_of(kernel)
    return _write(folder, level, text, {
        kernel.name: kernel.read_text(encoding="utf-8"),
        **({description.name: description.read_text(encoding="utf-8").replace(f'"{before}/', '"')}
           if description else {})})


def begin_step(step: Step, folder: Path) -> list[Path]:
    """The same for a step."""
    return _write(folder, step.level, task_of_step(step), {step.kernel_name: patches.kernel_before(step)})


def _write(folder: Path, level: str, text: str, sources: Mapping[str, str]) -> list[Path]:
    made = {**{folder / name: content for name, content in sources.items()},
            folder / TASK: text.replace("FOLDER", shlex.quote(str(folder)))
                               .replace("{page}", _link(files.ROOT / level / "README.md", folder))
                               .replace("{ptx}", _link(files.ROOT / "common" / "ptx" / "README.md", folder))}
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: a folder is needed.")
    for path in made:
        if path.exists():
            raise UsageError(f"{path} exists already, and may hold your work: choose another folder.")
    for path, content in made.items():
        files.replace(path, content)
    return list(made)
