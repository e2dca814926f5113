#!/usr/bin/env python3
"""Shows what changed in the kernel between two levels, as `diff -w` would: white space does not count.

    python3 scripts/diff_levels.py 4 5                   Blackwell, on the terminal
    python3 scripts/diff_levels.py 4 5 --arch sm90       Hopper
    python3 scripts/diff_levels.py 4 5 --html diff.html  as a page, with both line numbers

Colours appear on terminals, unless NO_COLOR is set. Within lines that were changed, the changed words stand out.

Exit codes: 0 shown; 2 wrong command line, no such level or kernel, or the page cannot be written.
"""
from __future__ import annotations

from pathlib import Path

from ladder import command, files
from ladder.levels import compare, names


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("before", metavar="LEVEL", help="the one level: 4 or level04")
    parser.add_argument("after", metavar="LEVEL", help="and the other")
    parser.add_argument("--arch", default=f"sm{compare.DEFAULT_ARCH}", metavar="sm90|sm100",
                        help="default: %(default)s")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page instead")
    options = parser.parse_args()
    arch = names.parse_arch(options.arch)
    before, after = (compare.choose(text, arch, files.ROOT) for text in (options.before, options.after))
    if before == after:
        raise command.UsageError("two different levels are needed.")
    comparison = compare.compare(files.ROOT, before, after, arch)
    if options.html:
        files.require_file_name("--html", options.html)
        files.replace(options.html, compare.html_page(comparison))
        print(f"{options.html}: {comparison.summary()}")
    else:
        print(compare.text_page(comparison, compare.wants_colour()), end="")
    return 0


if __name__ == "__main__":
    command.run(main)
