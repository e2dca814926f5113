#!/usr/bin/env python3
"""Runs the levels that have been built on the best device there is, and prints the progression table: the second half
of scripts/run.sh, which sets up and builds first."""
from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence

import ladder
import tables

SIMULATED_EDGE = 512
GPU_EDGE = tables.DEFAULT_EDGE
SIMULATOR = ladder.ROOT / "scripts" / "sim.sh"
SIMULATOR_TARGETS = ("cudart", "cuda")

DESCRIPTION = """Installs what is missing, builds, runs the levels on the best device there is and prints the
progression table. On a GPU of compute capability 9.0 (H100, H200) or 10.0 (B200, GB200) the levels are verified and
timed; without one they are verified on the simulated device."""
EPILOG = "Exit codes: 0 all right; 1 a level is not; 2 wrong command line; 4 to 8 as scripts/build.sh."


@dataclass(frozen=True)
class Plan:
    """What is to be run: levels on one device."""

    levels: list[str]
    archs: list[int]
    edge: int
    gpu: Optional[ladder.Gpu]  # None: the simulated device

    def programs(self) -> list[tuple[str, int]]:
        return [(level, arch) for level in self.levels for arch in self.archs if ladder.has_kernel(level, arch)]

    def device(self) -> str:
        return self.gpu.name if self.gpu else "simulated device"


@dataclass(frozen=True)
class Outcome:
    """What came of one level: `result` only if it is right."""

    verdict: str
    result: Optional[tables.Result] = None

    def right(self) -> bool:
        return self.verdict == "right"


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = ladder.Parser(prog="scripts/run.sh", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", default="1-99", metavar="LIST", help="e.g. 1-8 or 1,3-5 (default: all)")
    parser.add_argument("--arch", metavar="sm90|sm100",
                        help="Hopper's or Blackwell's kernels only (default: the GPU's; both when simulated)")
    parser.add_argument("--size", metavar="N",
                        help=f"M = N = K (default: {GPU_EDGE} on a GPU, {SIMULATED_EDGE} on the simulated device)")
    parser.add_argument("--sim", action="store_true", help="the simulated device even if there is a GPU")
    parser.add_argument("--rounds", type=ladder.whole_number, default=10, metavar="R",
                        help="of timing (default: %(default)s)")
    parser.add_argument("--timeout", type=ladder.whole_number, default=600, metavar="S",
                        help="seconds after which a level counts as hung (default: %(default)s)")
    # For run.sh: what to build before this is run in earnest.
    parser.add_argument("--targets", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, default=ladder.ROOT / "build", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def make_plan(options: argparse.Namespace, levels: Sequence[str]) -> Plan:
    chosen = ladder.choose_levels(options.levels, levels)
    arch = ladder.parse_arch(options.arch) if options.arch is not None else None
    edge = None
    if options.size is not None:
        m, n, k = ladder.parse_size(options.size)
        if not m == n == k:
            raise ladder.UsageError(f"--size needs one edge, M = N = K, and '{options.size}' is three.")
        edge = m
    wanted = [arch] if arch else list(ladder.ARCHES)
    gpus = [] if options.sim else [gpu for gpu in ladder.find_gpus() if gpu.arch in wanted]
    plan = Plan(chosen, wanted, edge or SIMULATED_EDGE, None)
    if gpus:
        plan = Plan(chosen, [gpus[0].arch], edge or GPU_EDGE, gpus[0])
    if not plan.programs():
        raise ladder.UsageError(f"{', '.join(chosen)}: there is no kernel for sm{plan.archs[0]}.")
    return plan


def targets(plan: Plan) -> list[str]:
    return [ladder.target(*p) for p in plan.programs()] + ([] if plan.gpu else list(SIMULATOR_TARGETS))


def run_program(plan: Plan, level: str, arch: int, options: argparse.Namespace) -> Outcome:
    program = ladder.executable(level, arch, options.build)
    if not program.exists():
        print(f"{program} is missing.", file=sys.stderr)
        return Outcome("MISSING")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.csv"
        command = [str(program), "--sizes", str(plan.edge), "--csv", str(file)]
        command = [*command, "--bench", "--rounds", str(options.rounds)] if plan.gpu else [str(SIMULATOR), *command]
        code = ladder.run_program(command, options.timeout)
        if code != ladder.EXIT_RIGHT:
            failure = ladder.describe_failure(code, options.timeout)
            print(f"{ladder.target(level, arch)}: {failure}", file=sys.stderr)
            return Outcome(failure.split(":")[0])
        _, rows = tables.read_rows(file) if file.exists() else ([], [])
    if len(rows) != 1 or rows[0].get("verdict") != "right":
        print(f"{program.name} says that all is right, but wrote no such result.", file=sys.stderr)
        return Outcome("NO RESULT")
    return Outcome("right", tables.to_result(rows[0]) if plan.gpu else None)


def this_run(plan: Plan, outcomes: dict[tuple[str, int], Outcome], names: Sequence[str]) -> tables.Group:
    """What was just run, as columns of the table."""
    def verdicts(arch: int) -> list[str]:
        return [outcomes[name, arch].verdict if (name, arch) in outcomes else tables.NOTHING for name in names]

    if plan.gpu is None:
        return tables.Group(f"this run: simulated device, {plan.edge}", {f"sm{a}": verdicts(a) for a in plan.archs})
    arch = plan.archs[0]
    results = [outcomes[name, arch].result if (name, arch) in outcomes else None for name in names]
    title = f"measured in this run: {plan.gpu.name} (sm{arch}), {plan.edge}"
    return tables.Group(title, {"verdict": verdicts(arch), **tables.figures(results)})


def report(plan: Plan, outcomes: dict[tuple[str, int], Outcome]) -> str:
    recorded = tables.load_results()
    names = tables.all_levels(recorded)
    edge = plan.edge if plan.gpu else tables.DEFAULT_EDGE
    table = tables.progression(recorded, names, edge, first=[this_run(plan, outcomes, names)])
    measured = [outcome.result for outcome in outcomes.values() if outcome.result]
    if measured:
        table.notes.insert(0, f"measured in this run: {tables.conditions(measured)}.")
    if not plan.gpu:
        table.notes.insert(0, "this run: verified only; what is simulated has no speed.")
    return table.text()


def run(plan: Plan, options: argparse.Namespace) -> int:
    print(f"Running {len(plan.programs())} programs at M = N = K = {plan.edge} on "
          f"{f'an {plan.gpu.name}' if plan.gpu else 'the simulated device'}.")
    outcomes = {(level, arch): run_program(plan, level, arch, options) for level, arch in plan.programs()}
    print("\n" + report(plan, outcomes), end="")
    return ladder.EXIT_RIGHT if all(o.right() for o in outcomes.values()) else ladder.EXIT_WRONG


def main(arguments: Optional[Sequence[str]] = None) -> int:
    ladder.program = "run.sh"
    options = parse(arguments)
    ladder.heed_sigterm()
    try:
        plan = make_plan(options, ladder.all_levels())
        if options.targets:
            print("\n".join(targets(plan)))
            return 0
        return run(plan, options)
    except (ladder.UsageError, tables.DataError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    except KeyboardInterrupt:
        return ladder.EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
