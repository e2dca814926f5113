#!/usr/bin/env python3
"""Removes each synchronisation of a kernel in turn and reports what is no longer ordered without it.

Each fence, wait, arrival and barrier is an instruction on a line of a kernel's source. It is removed from the PTX of
the level's program, which then runs on the simulated device with --check, at small problems until something is
reported. A site whose removal no run reports is redundant only by proof: another one orders the same, and a run without
both is reported. The outcomes are recorded in docs/results/needed.csv; scripts/maintain/render.py shows them in the
levels' pages.

Without LEVEL it looks at all kernels, which is the checker's score. On several machines: --shard 1/4 on the first, and
so on, each with its own --output; then --merge FILE... puts them together (of files named X.KofN.csv, all N).

Exit codes: 0 every site is required, or redundant by proof; 1 a site is neither, or --check finds another verdict than
is recorded, or it is unknown why a weakened site was enough; 2 wrong command line, or not built; 3 of the parts to
merge one is missing, or present twice.
"""
from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ladder import command, files, shards
from ladder.levels import names
from ladder.mutants import study, weaken
from ladder.mutants.sites import Site, key_of
from ladder.mutants.study import Kernel
from ladder.results.data import Fields


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("levels", nargs="*", metavar="LEVEL", help="e.g. 5 or level05 (default: all)")
    parser.add_argument("--arch", type=names.parse_arch, metavar="sm90|sm100", help="default: both")
    parser.add_argument("--config", default="", metavar="NAME",
                        help="of the level (default: all; of level 02 swizzle128)")
    parser.add_argument("--line", type=command.whole_number, action="append", metavar="N",
                        help="only the sites on this line of the kernel; several times for several lines")
    parser.add_argument("--spread", type=command.whole_number, default=0, metavar="N",
                        help="only N sites, of all kinds of instruction, of outcomes on record, and of kernels")
    shards.add_argument(parser)
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/needed.csv; rows of the same sites are replaced, others kept")
    parser.add_argument("--merge", type=Path, nargs="+", metavar="FILE",
                        help="merge these files' rows into the output, and run nothing")
    parser.add_argument("--check", action="store_true",
                        help="record nothing: compare with what is recorded, and see that all sites are there")
    parser.add_argument("--open", action="store_true", help="only sites without a record or without a proof")
    parser.add_argument("--weaken", action="store_true",
                        help="keep the sites, but weaken them (wrong parity, count, scope, ...), "
                             "in each way in turn; recorded in docs/results/weakened.csv")
    parser.add_argument("--unchecked", action="store_true",
                        help="run without the order checker, in several schedules, and compare: what then hangs, fails "
                             "or is wrong is recorded as required, and the other way round")
    parser.add_argument("--no-proofs", action="store_true",
                        help="do not try to prove that silent sites are redundant: their recorded verdicts stay")
    parser.add_argument("--jobs", type=command.whole_number, default=os.cpu_count() or 1, metavar="N",
                        help="runs at a time (default: one per processor)")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    return parser.parse_args()


def merge(output: Path, parts: Sequence[Path]) -> int:
    shards.check_complete(parts)
    for part in parts:
        study.record(study.recorded(part), output)
    print(f"{output} holds {len(study.recorded(output))} sites.")
    return 0


def say(number: int, of: int, kernel: Kernel, row: Fields) -> None:
    what = row["found_by"] + (f": {kernel.labels.located(row['orders'])}" if row["orders"] else "")
    print(f"[{number}/{of}] {kernel.title} :{kernel.labels.line(row['site'])} {row['instruction']}: {row['verdict']}"
          f"{f' ({what})' if what else ''}", flush=True)


def with_old_proof(row: Fields, old: Fields) -> Fields:
    """Of a site that is silent now, or was before: what was proven then."""
    if row["verdict"] != study.UNPROVEN or old["verdict"].startswith(study.REQUIRED):
        return row
    return old


def is_open(row: Fields) -> bool:
    return row["verdict"] in (study.UNPROVEN, study.NOT_EXECUTED)


def agrees(row: Fields, old: Fields) -> bool:
    """Whether a verdict is the one on record. Without proofs, silence agrees with all but a report."""
    if row["verdict"] in (study.UNPROVEN, study.NOT_EXECUTED):
        return not old["verdict"].startswith(study.REQUIRED)
    return all(row[column] == old[column] for column in ("verdict", "found_by"))


def differences(output: Path, rows: Sequence[Fields], kernels: Sequence[Kernel]) -> list[str]:
    """What is recorded otherwise, or not at all, or of sites that there are no more."""
    known = {key_of(row): row for row in study.recorded(output)}
    found = []
    for row in rows:
        old = known.get(key_of(row), row)
        if not agrees(row, old):
            found.append(f"{' '.join(key_of(row))}: {row['verdict']} ({row['found_by']}), but recorded is "
                         f"{old['verdict']} ({old['found_by']})")
    there = {key_of(study.title_of(kernel, site)) for kernel in kernels for site in kernel.sites}
    looked_at = {key[:3] for key in there}
    found += [f"{' '.join(key)}: not recorded" for key in sorted(there - set(known))]
    found += [f"{' '.join(key)}: recorded, but no longer there" for key in sorted(set(known) - there)
              if key[:3] in looked_at]
    return found


def compare_unchecked(pairs: Sequence[tuple[Kernel, Site]], output: Path, jobs: int) -> int:
    """What the machine notices by itself is required, and what is recorded as its hang, fault or wrong D it notices."""
    known = {key_of(row): row for row in study.recorded(output)}
    problems = []
    noticed = 0
    for number, ((kernel, _), row) in enumerate(zip(pairs, study.look_at(pairs, jobs, checks=False)), start=1):
        say(number, len(pairs), kernel, row)
        site, old = " ".join(key_of(row)), known.get(key_of(row))
        noticed += bool(row["found_by"])
        if old is None:
            problems.append(f"{site}: not recorded")
        elif row["found_by"] and not old["verdict"].startswith(study.REQUIRED):
            problems.append(f"{site}: {row['found_by']} without --check, but recorded is {old['verdict']}")
        elif old["found_by"] in study.NOTICED and not row["found_by"]:
            problems.append(f"{site}: no schedule notices it, but recorded is {old['found_by']}")
    print(f"{len(pairs)} sites: {noticed} noticed without --check.")
    print("".join(f"needed.py: {problem}\n" for problem in problems), end="")
    return 1 if problems else 0


def weaken_all(pairs: Sequence[tuple[Kernel, Site]], kernels: Sequence[Kernel], options: argparse.Namespace) -> int:
    """Records or compares what is said of each; last how many of how many."""
    output = options.output or weaken.OUTPUT
    proven = {key_of(row): row for row in study.recorded(study.OUTPUT)}
    rows: list[Fields] = []
    for one in weaken.look_at(pairs, options.jobs):
        rows.append(one.row(proven))
        print(f"{one} ({rows[-1]['verdict']})", flush=True)
        if not options.check:
            weaken.record(rows[-1:], output)
    if not options.check:
        weaken.record([], output, kernels)
    words = Counter(row["verdict"].partition(":")[0] for row in rows)
    print(f"{len(rows)} weakened: " + ", ".join(f"{count} {word}" for word, count in words.most_common()) + ".")
    problems = weaken.differences(rows, output) if options.check else []
    print("".join(f"needed.py: {problem}\n" for problem in problems), end="")
    if problems:
        print("A kernel that has changed is looked at again with needed.py LEVEL, then with --weaken, too.")
    return 1 if problems or words[weaken.OPEN] else 0


def main() -> int:
    options = parse()
    command.heed_sigterm()
    output = study.OUTPUT if options.weaken else options.output or study.OUTPUT
    if options.merge:
        return merge(output, options.merge)
    levels = sorted({names.find_level(text, names.all_names()) for text in options.levels}) or names.all_names()
    kernels = study.kernels(levels, [options.arch] if options.arch else list(names.ARCH_NAMES), options.config,
                            options.build.resolve())
    pairs = study.chosen(kernels, options.shard, options.line or ())
    if options.spread:
        pairs = study.spread(pairs, study.recorded(output), options.spread)
    if options.open:
        settled = {key_of(row) for row in study.recorded(output) if not is_open(row)}
        pairs = [pair for pair in pairs if key_of(study.title_of(*pair)) not in settled]
    if not pairs:
        raise command.UsageError("there is no such site.")
    if options.weaken:
        return weaken_all(pairs, kernels, options)
    if options.unchecked:
        return compare_unchecked(pairs, output, options.jobs)
    rows: list[Fields] = []
    known = {key_of(row): row for row in study.recorded(output)}
    found = study.look_at(pairs, options.jobs, not options.no_proofs)
    for number, ((kernel, _), row) in enumerate(zip(pairs, found), start=1):
        if options.no_proofs and not options.check:
            row = with_old_proof(row, known.get(key_of(row), row))
        rows.append(row)
        say(number, len(pairs), kernel, row)
        if not options.check:
            study.record([row], output)
    if not options.check:
        study.record([], output, kernels)
    words = Counter(row["verdict"].partition(":")[0].partition(",")[0] for row in rows)
    print(f"{len(rows)} sites: " + ", ".join(f"{count} {word}" for word, count in words.most_common()) + ".")
    problems = differences(output, rows, kernels) if options.check else []
    print("".join(f"needed.py: {problem}\n" for problem in problems), end="")
    if problems:
        print("A kernel that has changed is looked at again with needed.py LEVEL, which takes minutes.")
    return 1 if problems or (any(map(is_open, rows)) and not options.check) else 0


if __name__ == "__main__":
    command.run(main)
