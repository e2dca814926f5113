#!/usr/bin/env python3
"""Writes the steps between two levels: the patches of a series from the kernels as they are after each step.

  step_patches.py unpack 6 FOLDER [--arch sm90]
      the kernels of the series, as FOLDER/K_NAME.cuh; 0_before.cuh is the level's before
  step_patches.py pack 6 FOLDER [--arch sm90]
      the series of the kernels in the folder. The last one is the level's own, whatever stands there. Headers of
      patches stay; a new one's is to be written
  step_patches.py refit [LEVEL ...] [--since COMMIT]
      after a change to the levels' kernels: carries what changed since the commit (HEAD) into the kernels between them,
      and packs them

What a step is: scripts/ladder/levels/patches.py.

Exit codes: 0 done; 2 wrong command line; 4 a step does not apply.
"""
from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ladder import command, files
from ladder.levels import names, patches
from ladder.levels.lab import STEPS

EMPTY_HEADER = "Why:\nSeen:\nHint:\n"
BEFORE = "0_before"


def kernels_of(level: str, arch: int) -> dict[str, str]:
    """Of the series as it is, by the steps' names. Raises LabError if it does not apply."""
    return {one.name: patches.kernel_after(one) for one in patches.series(level, arch)}


def unpack(level: str, arch: int, folder: Path) -> None:
    kernels = {BEFORE: own_kernel(patches.level_before(level), arch), **kernels_of(level, arch)}
    for name, text in kernels.items():
        files.replace(folder / f"{name}.cuh", text)


def own_kernel(level: str, arch: int) -> str:
    return names.kernel_path(files.ROOT, level, arch).read_text(encoding="utf-8")


def pack(level: str, arch: int, kernels: Mapping[str, str]) -> None:
    """Replaces the series by the one of these kernels."""
    folder = files.ROOT / level / STEPS / f"sm{arch}"
    headers = {path.stem: path.read_text(encoding="utf-8").partition("\n--- ")[0] for path in folder.glob("*.patch")}
    before = own_kernel(patches.level_before(level), arch)
    for path in folder.glob("*.patch"):
        path.unlink()
    for number, (name, text) in enumerate(kernels.items(), 1):
        after = text if number < len(kernels) else own_kernel(level, arch)
        header = headers.get(name, EMPTY_HEADER).rstrip("\n")
        change = difference(before, after, f"{level}/kernel_sm{arch}.cuh")
        files.replace(folder / f"{name}.patch", f"{header}\n\n{change}")
        before = after


def difference(before: str, after: str, name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for side, text in (("a", before), ("b", after)):
            files.replace(Path(folder) / side, text)
        return subprocess.run(["diff", "-u", "--label", f"a/{name}", "--label", f"b/{name}", "a", "b"], cwd=folder,
                              capture_output=True, text=True, check=False).stdout


def refit(level: str, arch: int, commit: str) -> None:
    """Raises LabError if the series of that commit does not apply to its kernels."""
    def old(name: str) -> str:
        return subprocess.run(["git", "show", f"{commit}:{name}/kernel_sm{arch}.cuh"], cwd=files.ROOT, text=True,
                              capture_output=True, check=True).stdout

    ends = patches.level_before(level), level
    names_of_steps = (one.name for one in patches.series(level, arch))
    kernels = dict(zip(names_of_steps, patches.kernels(level, arch, old(ends[0]))[1:]))
    for end in ends:
        kernels = {name: carried(text, old(end), own_kernel(end, arch), names.short(end), names.short(level))
                   for name, text in kernels.items()}
    pack(level, arch, kernels)


def carried(text: str, old: str, new: str, namespace: str, own: str) -> str:
    """The text with what changed from old to new, where the same lines are in it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("text", text), ("old", old), ("new", new)):
            files.replace(Path(folder) / name, content if name == "text" else content.replace(namespace, own))
        return subprocess.run(["git", "merge-file", "-p", "--ours", "text", "old", "new"], cwd=folder, text=True,
                              capture_output=True, check=False).stdout


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("action", choices=["unpack", "pack", "refit"])
    parser.add_argument("words", nargs="*", metavar="LEVEL [FOLDER]", help="6, 06, level06; the kernels' folder")
    parser.add_argument("--arch", type=names.parse_arch, metavar="sm90|sm100", help="default: sm100; of refit both")
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="of refit: where the series still applies")
    options = parser.parse_args()
    levels = names.all_levels()[1:]
    if options.action == "refit":
        for level in [names.find_level(text, levels) for text in options.words] or levels:
            for arch in [options.arch] if options.arch else names.ARCH_NAMES:
                refit(level, arch, options.since)
        return command.EXIT_RIGHT
    if len(options.words) != 2:
        raise command.UsageError(f"{options.action} needs a level and a folder.")
    level, arch, folder = names.find_level(options.words[0], levels), options.arch or 100, Path(options.words[1])
    if options.action == "unpack":
        unpack(level, arch, folder)
    else:
        found = sorted(folder.glob("[1-9]*.cuh"), key=lambda path: int(path.stem.partition("_")[0]))
        pack(level, arch, {path.stem: path.read_text(encoding="utf-8") for path in found})
    return command.EXIT_RIGHT


if __name__ == "__main__":
    command.run(main)
