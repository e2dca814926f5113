#!/usr/bin/env python3
"""Fills the marked blocks of the Markdown files and draws everything in docs/charts/, from docs/results/ and the
kernels, so that no figure in them is typed by hand:

    <!-- render:progression size=8192 -->
    (whatever stands here is replaced)
    <!-- /render -->

    render.py            rewrites what is out of date; scripts/maintain/README.md lists the blocks
    render.py --check    changes nothing; prints what would change

Exit codes: 0 all is up to date; 1 something is not: found by --check, or charts that cannot be drawn without
matplotlib; 2 wrong command line, or a block or a file that cannot be right.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command, files
from ladder.context import Context
from ladder.pages import marked
from ladder.results import data


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="only the blocks of these pages, and no pictures or charts")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if anything would")
    parser.add_argument("--root", type=Path, default=files.ROOT, help="of the repository (default: this one)")
    options = parser.parse_args()
    root = options.root.resolve()
    if not (root / "CMakeLists.txt").exists():
        raise command.UsageError(f"--root {options.root}: there is no repository of this kind, since there is no "
                                 "CMakeLists.txt.")
    pages = [path.resolve() for path in options.files] or list(marked.markdown_files(root))
    context = Context(root, data.load_results(root / files.RESULTS))
    if options.check:
        count = marked.check(context, pages, not options.files)
        if count:
            are = "files are" if count > 1 else "file is"
            command.give_up(1, f"{count} {are} out of date: run scripts/maintain/render.py")
    elif undrawn := marked.render(context, pages, not options.files):
        command.give_up(1, f"out of date, but drawing charts needs matplotlib: {', '.join(undrawn)}. Run "
                        "scripts/setup.sh, then .venv/bin/python3 scripts/maintain/render.py.")
    return 0


if __name__ == "__main__":
    command.run(main)
