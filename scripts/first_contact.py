#!/usr/bin/env python3
"""Asks a GPU what the simulated device only assumes of it: on a B200 or GB200, where this course has never run, or on
an H100 or H200. Without such a GPU the simulated device answers.

Each question is a small kernel in a process of its own, with a limit. Its answer is compared with the simulated
device's, which is recorded in docs/results/sim_first_contact.csv. Then the kernels of all levels, their times, and
kernels without a fence or a wait, as far as these cannot hang the GPU. Whatever differs names the place that assumes
it. At the end there is one archive, first_contact-GPU-DATE.tar.gz, to attach to an issue: docs/first_contact.md says
what is in it.

An interrupted run goes on where it was; --fresh begins anew. With --limit the most valuable questions come first.

Exit codes: 0 all as simulated; 1 something differs or failed; 2 it could not run.
"""
from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Optional

from ladder import command, files
from ladder.contact import catalogue, importing, report, visit
from ladder.contact.machine import Machine
from ladder.contact.state import FORMAT, NAME, State
from ladder.levels import gpus, names
from ladder.results import data, measure


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("--limit", type=command.seconds, metavar="S", help="seconds for the whole run")
    parser.add_argument("--output", type=Path, default=files.BUILD / "first_contact", metavar="FOLDER",
                        help="for the state of the run, the page and the archive (default: build/first_contact)")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run found")
    parser.add_argument("--simulate", action="store_true", help="ask the simulated device, though there is a GPU")
    parser.add_argument("--arch", type=names.parse_arch, metavar="sm90|sm100",
                        help="of the simulated device (default: sm100)")
    parser.add_argument("--parts", default=",".join(report.PARTS), metavar="LIST", help="default: %(default)s")
    parser.add_argument("--import", dest="archive", type=Path, metavar="ARCHIVE",
                        help="add what a reader has sent to docs/results, and do nothing else")
    parser.add_argument("--by", default="a reader", metavar="NAME", help="with --import: whose GPU it was")
    parser.add_argument("--record", action="store_true",
                        help="record the simulated device's answers of both architectures, after a change of probes")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--build", type=Path, default=files.BUILD, metavar="FOLDER", help="default: build")
    parser.add_argument("--probe", metavar="NAME",
                        help="ask this question alone, and print the answer; every: all that are no errors")
    return parser.parse_args()


def ask(name: str, arch: int, build: Optional[Path]) -> int:
    """In this process."""
    machine = Machine(build, arch)
    known = catalogue.probes(arch)
    if name == "machine":
        print(json.dumps({"machine": machine.describe()}))
    elif name == "every":
        for probe in known.values():
            if not probe.faults:
                print(json.dumps({"name": probe.name, "answer": machine.answer(probe)}), flush=True)
    elif name in known:
        print(json.dumps({"answer": machine.answer(known[name])}))
    else:
        raise command.UsageError(f"--probe {name}: there is no such probe of sm{arch}.")
    return 0


def build(run: visit.Run, parts: list[str]) -> None:
    """What the parts need."""
    levels = [level for level in names.all_names() if names.has_kernel(level, run.arch)]
    targets = ["cudart", "cuda"] * run.simulated
    if "kernels" in parts or "times" in parts:
        targets += [names.target(level, run.arch) for level in levels]
    if not run.simulated and "removals" in parts:
        targets += [f"without_{names.target(level, run.arch)}" for level in levels]
    if not run.simulated and "times" in parts:
        targets += [f"{kind}_{names.target(level, run.arch)}" for kind in ("cycles", "plain")
                    for level in filter(names.number_of, levels)]
        targets += ["calibrate_sm90"] * (run.arch == 90)
    if targets:
        measure.build(targets, "programs")


def record(build_folder: Path) -> int:
    rows = []
    for arch in names.ARCHES:
        run = visit.Run(build_folder.resolve(), arch, True)
        answers = visit.simulated_facts(run)
        for step in run.steps():
            if step.part == "kernels":
                answers[step.name] = visit.perform(step)["answer"]
        rows += [{"name": name, "arch": str(arch), "answer": answer} for name, answer in answers.items()]
        print(f"sm{arch}: {len(answers)} answers", flush=True)
    data.write_rows(files.ROOT / catalogue.ANSWERS, catalogue.COLUMNS, rows)
    return 0


def open_state(folder: Path, gpu: str, arch: int, simulated: bool, fresh: bool) -> State:
    """A new one, or that of an interrupted run on the same GPU, of the same sources."""
    if fresh and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    state = State(folder / NAME)
    begin = {"name": "begin", "format": FORMAT, "gpu": gpu, "arch": arch, "simulated": simulated,
             "commit": files.commit_id(), "date": files.now()}
    if not state.records:
        state.add(begin)
    for what in ("gpu", "arch", "commit"):
        if state.begin[what] != begin[what]:
            raise command.UsageError(f"{state.path} is of another {what}, {state.begin[what]} and not {begin[what]}: "
                                     "--fresh begins anew.")
    return state


def perform(todo: list[visit.Step], state: State, end: float) -> int:
    """Returns how many steps were left out: for want of time, or of a program."""
    left = 0
    for number, step in enumerate(todo, start=1):
        if step.name in state.done():
            continue
        if time.monotonic() + step.usual_s > end or (step.program and not step.program.exists()):
            left += 1
            continue
        found = visit.perform(step)
        if step.name == "machine" and "machine" not in found:
            raise command.Failure(f"the GPU does not answer: {found.get('said', '').strip()}")
        state.add(found)
        verdict = found.get("answer") or ("done" if found["exit_code"] == 0 else "failed")
        if "answer" in found:
            verdict += f": {catalogue.verdict(state.begin['arch'], step.name, verdict)}"
        print(f"[{number}/{len(todo)}] {step.name}: {verdict}", flush=True)
        if found["exit_code"] is None and todo[0].name == "machine" and "machine" not in visit.perform(todo[0]):
            raise command.Failure(f"the GPU does not answer any more, after {step.name}. Once it does, the same "
                                  "command goes on with what follows.")
    return left


def main() -> int:
    begun = time.monotonic()
    options = parse()
    if options.archive:
        print(importing.import_archive(options.archive, options.by, files.ROOT))
        return 0
    if options.probe:
        return ask(options.probe, options.arch or 100, options.build.resolve() if options.simulate else None)
    if options.record:
        return record(options.build)
    command.heed_sigterm("the same command goes on where it was")
    parts = options.parts.split(",")
    if unknown := set(parts) - set(report.PARTS):
        raise command.UsageError(f"--parts: there is no {unknown.pop()}, only {', '.join(report.PARTS)}.")
    try:
        gpu = None if options.simulate else measure.find_gpu()
    except gpus.NoGpu as none:
        if gpus.find_gpus():
            raise command.UsageError(f"{none} --simulate asks the simulated device.") from None
        print("There is no GPU for the levels here: the simulated device answers.", flush=True)
        gpu = None
    run = visit.Run(options.build.resolve(), gpu.arch if gpu else options.arch or 100, gpu is None)
    if not options.no_build:
        build(run, parts)
    name = gpu.name if gpu else f"simulated {'H100' if run.arch == 90 else 'B200'}"
    state = open_state(options.output, name, run.arch, run.simulated, options.fresh)
    todo = [step for step in run.steps() if step.part in parts]
    left = perform(todo, state, begun + options.limit if options.limit else float("inf"))
    archive = report.pack(state, left, options.output)
    wrong = [*report.differences(state.records), *report.failures(state.records)]
    print(f"{len(state.done())} steps done, {left} left out, {len(wrong)} differ or failed: "
          f"{', '.join(each['name'] for each in wrong) or 'none'}.\n{archive}")
    return 1 if wrong else 0


if __name__ == "__main__":
    command.run(main)
