#!/usr/bin/env python3
"""Removes each synchronisation of a kernel in turn and reports what is no longer ordered without it.

Each fence, wait, arrival and barrier is an instruction on a line of a kernel's source. It is removed from the PTX of
the level's program, which then runs on the simulated device with --check, at small problems until something is
reported. A site whose removal no run reports is redundant only by proof: another one orders the same, and a run without
both is reported. The outcomes are recorded in docs/results/needed.csv; scripts/maintain/render.py shows them in the
levels' pages. With --weaken each site is kept, but weakened.

With --device gpu, the kernels run on the GPU of this machine, and their wrong results are counted. Only sites whose
removal or weakening cannot hang the GPU are tried. Before each launch D is filled with NaN; afterwards it is compared
on the GPU, bit for bit, with the exact product of whole numbers. As a control, a kernel without any store of D must be
wrong, and the unchanged kernel right. Then compute-sanitizer's racecheck and synccheck run on the same kernels at a
small size. Rows of the same GPU, level, configuration and way are replaced, all others are kept.

Without LEVEL it looks at all kernels, which is the checker's score. On several machines: --shard 1/4 on the first, and
so on, each with its own --output; then --merge FILE... puts them together (of files named X.KofN.csv, all N).

Exit codes: 0 every site is required, or redundant by proof; on a GPU, all is counted. 1 a site is neither, or --check
finds another verdict than is recorded, or it is unknown why a weakened site was enough; on a GPU, the unchanged kernel
is wrong, or a kernel left no rows. 2 wrong command line, not built, or changed PTX does not run; 3 of the parts to
merge one is missing, or present twice; 77 no GPU that the kernels run on.
"""
from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ladder import command, files, shards
from ladder.levels import names, shapes
from ladder.mutants import hardware, sentences, study, weaken
from ladder.mutants.sites import Site, key_of
from ladder.mutants.study import Kernel
from ladder.results import measure
from ladder.results.data import Fields

# Options that are about one device only.
SIMULATED, ON_A_GPU = ("merge", "check", "open", "unchecked", "no_proofs", "arch"), ("sizes", "simulate", "no_build")


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
    parser.add_argument("--weaken", action="store_true",
                        help="keep the sites, but weaken them (wrong parity, count, scope, ...), "
                             "in each way in turn; recorded in docs/results/weakened.csv")
    parser.add_argument("--device", choices=("sim", "gpu"), default="sim", help="default: %(default)s")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: docs/results/needed.csv, where rows of the same sites are replaced and others "
                             "kept; of a GPU GPU_without.csv, e.g. h200_without.csv, and what the tools say beside it, "
                             "in GPU_without_tools.csv")
    parser.add_argument("--jobs", type=command.whole_number, metavar="N",
                        help="runs at a time (default: one per processor; on a GPU, where they alternate, 2)")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    sim = parser.add_argument_group("on the simulated device")
    sim.add_argument("--merge", type=Path, nargs="+", metavar="FILE",
                     help="merge these files' rows into the output, and run nothing")
    sim.add_argument("--check", action="store_true",
                     help="record nothing: compare with what is recorded, and see that all sites are there")
    sim.add_argument("--open", action="store_true", help="only sites without a record or without a proof")
    sim.add_argument("--unchecked", action="store_true",
                     help="run without the order checker, in several schedules, and compare: what then hangs, fails "
                          "or is wrong is recorded as required, and the other way round")
    sim.add_argument("--no-proofs", action="store_true",
                     help="do not try to prove that silent sites are redundant: their recorded verdicts stay")
    gpu = parser.add_argument_group("with --device gpu")
    gpu.add_argument("--sizes", metavar="LIST",
                     help=f"cubes and MxNxK (default: {hardware.SIZES.count(',') + 1}, large, flat and ragged)")
    gpu.add_argument("--launches", type=command.whole_number, default=hardware.LAUNCHES, metavar="N",
                     help="of each kernel at each size (default: %(default)s)")
    gpu.add_argument("--tools", type=float, metavar="S", default=100.0,
                     help="start no compute-sanitizer run after this time; 0: none (default: %(default)g)")
    gpu.add_argument("--no-build", action="store_true", help="take the programs as they are")
    gpu.add_argument("--simulate", type=command.whole_number, default=0, metavar="SMS",
                     help="on the simulated H200 with so many SMs, one launch at a small size: a test of this; needs "
                          "--output")
    return parser.parse_args()


def merge(output: Path, parts: Sequence[Path]) -> int:
    shards.check_complete(parts)
    for part in parts:
        study.record(study.recorded(part), output)
    print(f"{output} holds {len(study.recorded(output))} sites.")
    return 0


def say(title: str, kernel: Kernel, row: Fields) -> None:
    orders = sentences.orders(row, kernel.labels) if row["found_by"] else ""
    what = sentences.found(row) + (f": {orders}" if orders else "")
    way = f", {row['way']}" if "way" in row else ""
    print(f"{title} {kernel.title} :{kernel.labels.line(row['site'])} {row['instruction']}{way}: "
          f"{sentences.outcome(row, kernel.labels)}"
          f"{f' ({what})' if what else ''}", flush=True)


def with_old_proof(row: Fields, old: Fields) -> Fields:
    """Of a site that is silent now, or was before: what was proven then."""
    if row["verdict"] != study.UNPROVEN or old["verdict"] == study.REQUIRED:
        return row
    return old


def compare_unchecked(pairs: Sequence[tuple[Kernel, Site]], output: Path, jobs: int) -> int:
    """What the machine notices by itself is required; and it notices what is recorded as its deadlock, fault or wrong
    result."""
    known = {key_of(row): row for row in study.recorded(output)}
    problems = []
    noticed = 0
    found = study.look_at(pairs, jobs, lambda of, site: [of.run_unchecked(site)])
    for number, (kernel, row) in enumerate(found, start=1):
        say(f"[{number}/{len(pairs)}]", kernel, row)
        site, old = " ".join(key_of(row)), known.get(key_of(row))
        noticed += bool(row["found_by"])
        if old is None:
            problems.append(f"{site}: not recorded")
        elif row["found_by"] and old["verdict"] != study.REQUIRED:
            problems.append(f"{site}: {row['found_by']} without --check, but recorded is {old['verdict']}")
        elif old["found_by"] in study.NOTICED and not row["found_by"]:
            problems.append(f"{site}: no schedule notices it, but recorded is {old['found_by']}")
    print(f"{len(pairs)} sites: {noticed} noticed without --check.")
    print("".join(f"needed.py: {problem}\n" for problem in problems), end="")
    return 1 if problems else 0


def simulate(kernels: Sequence[Kernel], pairs: Sequence[tuple[Kernel, Site]], output: Path,
             options: argparse.Namespace) -> int:
    """Records or compares what is said of each site, removed or weakened; last how many of how many."""
    columns = weaken.COLUMNS if options.weaken else study.COLUMNS
    known = {study.row_key(row): row for row in study.recorded(study.OUTPUT if options.weaken else output)}
    rows: list[Fields] = []
    look = (partial(weaken.look, proven=known) if options.weaken else
            lambda of, site: [of.look(site, not options.no_proofs)])
    for kernel, row in study.look_at(pairs, options.jobs or os.cpu_count() or 1, look):
        if options.no_proofs and not options.check and not options.weaken:
            row = with_old_proof(row, known.get(study.row_key(row), row))
        rows.append(row)
        say(f"[{len(rows)}]" if options.weaken else f"[{len(rows)}/{len(pairs)}]", kernel, row)
        if not options.check:
            study.record([row], output, columns)
    if not options.check:
        study.record([], output, columns, kernels)
    words = Counter(row["verdict"] for row in rows)
    print(f"{len(rows)} {'weakened' if options.weaken else 'sites'}: "
          + ", ".join(f"{count} {word}" for word, count in words.most_common()) + ".")
    problems = (study.differences(rows, output, pairs, () if options.weaken else kernels)
                if options.check else [])
    print("".join(f"needed.py: {problem}\n" for problem in problems), end="")
    if problems:
        print("A kernel that has changed is looked at again with needed.py LEVEL, which takes minutes, then with "
              "--weaken, too.")
    is_open = words[weaken.OPEN] > 0 if options.weaken else any(map(study.is_open, rows)) and not options.check
    return 1 if problems or is_open else 0


def count(levels: Sequence[str], options: argparse.Namespace) -> int:
    """On a GPU."""
    if not options.tools >= 0:
        raise command.UsageError(f"--tools {options.tools:g}: a number of seconds of at least 0 is required.")
    arch, output = measure.device_and_output(options.simulate, options.output, "without.csv")
    tool_output = output.with_name(f"{output.stem}_tools.csv")
    measure.check_columns(output, hardware.COLUMNS, "needed.py --device gpu")
    measure.check_columns(tool_output, hardware.TOOL_COLUMNS, "needed.py --device gpu")
    sizes = shapes.parse_sizes(options.sizes or (hardware.QUICK_SIZES if options.simulate else hardware.SIZES))
    targets = [names.target(level, arch) for level in levels if names.has_kernel(level, arch)]
    if not options.no_build:
        measure.build([*targets, *(f"without_{target}" for target in targets)])
    experiment = hardware.Experiment(output, tool_output, sizes, 1 if options.simulate else options.launches,
                                     options.simulate, options.jobs or 2, options.weaken)
    command.heed_sigterm("what was counted so far is recorded")
    return hardware.perform(experiment, choose(levels, [arch], study.OUTPUT, options)[1], options.tools)


def choose(levels: Sequence[str], arches: Sequence[int], needed: Path, options: argparse.Namespace
           ) -> tuple[list[Kernel], Sequence[tuple[Kernel, Site]]]:
    """The kernels, and the sites that are asked for; `needed`: what is recorded of these when they are removed. Raises
    UsageError if there are none."""
    kernels = study.kernels(levels, arches, options.config, options.build.resolve())
    pairs = study.chosen(kernels, options.shard, options.line or ())
    if options.spread:
        pairs = study.spread(pairs, study.recorded(needed), options.spread)
    if options.open:
        settled = {key_of(row) for row in study.recorded(needed) if not study.is_open(row)}
        pairs = [pair for pair in pairs if key_of(study.title_of(*pair)) not in settled]
    if not pairs:
        raise command.UsageError("there is no such site.")
    return kernels, pairs


def main() -> int:
    options = parse()
    command.heed_sigterm()
    for name in SIMULATED if options.device == "gpu" else ON_A_GPU:
        if getattr(options, name):
            raise command.UsageError(f"--{name.replace('_', '-')} is not for --device {options.device}.")
    levels = sorted({names.find_level(text, names.all_names()) for text in options.levels}) or names.all_names()
    if options.device == "gpu":
        return count(levels, options)
    output = options.output or (weaken.OUTPUT if options.weaken else study.OUTPUT)
    if options.merge:
        return merge(output, options.merge)
    kernels, pairs = choose(levels, [options.arch] if options.arch else list(names.ARCH_NAMES),
                            study.OUTPUT if options.weaken else output, options)
    if options.unchecked:
        return compare_unchecked(pairs, output, options.jobs or os.cpu_count() or 1)
    return simulate(kernels, pairs, output, options)


if __name__ == "__main__":
    command.run(main)
