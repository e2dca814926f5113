"""Beginning a task: the kernel of the level before, and what to change in it."""
from __future__ import annotations

import os
import re
import shlex
import urllib.parse
from pathlib import Path

from ladder import files
from ladder.command import UsageError
from ladder.grader.claims import CLAIMS
from ladder.levels import around, names

TASKS = Path(__file__).resolve().with_name("tasks")
TASK = "TASK.md"


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
            "\"The problem\" and \"The idea\". Instructions are functions of\n[common/ptx]({ptx}). `--keep program` "
            "keeps the graded program, and\n`scripts/explore.py --sms 2 program` shows it.\n")


def _link(file: Path, folder: Path) -> str:
    """To a file, in a page that lies in `folder`."""
    return urllib.parse.quote(Path(os.path.relpath(file, folder.resolve())).as_posix())


def begin(level: str, arch: int, folder: Path) -> list[Path]:
    """Writes the files of a task, and returns them. Raises UsageError if one is there already."""
    text = task_of(level, arch)
    before = [name for name in names.all_levels() if name < level][-1]
    kernel = names.kernel_path(files.ROOT, before, arch)
    description = around.description_of(kernel)
    made = {folder / kernel.name: kernel.read_text(encoding="utf-8"),
            **({folder / description.name: description.read_text(encoding="utf-8").replace(f'"{before}/', '"')}
               if description else {}),
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
