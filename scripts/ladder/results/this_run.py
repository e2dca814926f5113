"""Running levels once, on the best device there is, and the progression table with what came of it."""
from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, UsageError
from ladder.levels import gpus, names, programs
from ladder.levels.gpus import Gpu
from ladder.results import data
from ladder.results.measure import Settings
from ladder.results.numbers import NOTHING, conditions
from ladder.results.table import Group, figures, progression

SIMULATED_EDGE = 512
GPU_EDGE = data.DEFAULT_EDGE
SIMULATOR = files.SCRIPTS / "sim.sh"
SIMULATOR_TARGETS = ("cudart", "cuda")


@dataclass(frozen=True)
class Plan:
    """What is to be run: levels on one device."""

    levels: list[str]
    archs: list[int]
    edge: int
    gpu: Optional[Gpu]  # None: the simulated device

    def programs(self) -> list[tuple[str, int]]:
        return [(level, arch) for level in self.levels for arch in self.archs if names.has_kernel(level, arch)]

    def device(self) -> str:
        return self.gpu.name if self.gpu else "simulated device"


@dataclass(frozen=True)
class Outcome:
    """What came of one level: `result` only if it is right."""

    verdict: str
    result: Optional[data.Result] = None

    def right(self) -> bool:
        return self.verdict == "right"


def make_plan(levels: Sequence[str], arch: Optional[int] = None, edge: Optional[int] = None,
              simulate: bool = False) -> Plan:
    """`arch` and `edge`: None for what suits the device. Raises UsageError."""
    wanted = [arch] if arch else list(names.ARCHES)
    found = [] if simulate else [gpu for gpu in gpus.find_gpus() if gpu.arch in wanted]
    plan = Plan(list(levels), wanted, edge or SIMULATED_EDGE, None)
    if found:
        plan = Plan(list(levels), [found[0].arch], edge or GPU_EDGE, found[0])
    if not plan.programs():
        raise UsageError(f"{', '.join(levels)}: there is no kernel for sm{plan.archs[0]}.")
    return plan


def targets(plan: Plan) -> list[str]:
    return [names.target(*p) for p in plan.programs()] + ([] if plan.gpu else list(SIMULATOR_TARGETS))


def run_program(plan: Plan, level: str, arch: int, settings: Settings) -> Outcome:
    program = names.executable(level, arch, settings.build)
    if not program.exists():
        print(f"{program} is missing.", file=sys.stderr)
        return Outcome("MISSING")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.csv"
        command = [str(program), "--sizes", str(plan.edge), "--csv", str(file)]
        command = [*command, "--bench", "--rounds", str(settings.rounds)] if plan.gpu else [str(SIMULATOR), *command]
        code = programs.run_program(command, settings.timeout_s)
        if code != EXIT_RIGHT:
            failure = programs.describe_failure(code, settings.timeout_s)
            print(f"{names.target(level, arch)}: {failure}", file=sys.stderr)
            return Outcome(failure.split(":")[0])
        _, rows = data.read_rows(file) if file.exists() else ([], [])
    if len(rows) != 1 or rows[0].get("verdict") != "right":
        print(f"{program.name} says that all is right, but wrote no such result.", file=sys.stderr)
        return Outcome("NO RESULT")
    return Outcome("right", data.to_result(rows[0]) if plan.gpu else None)


def this_run(plan: Plan, outcomes: dict[tuple[str, int], Outcome], levels: Sequence[str]) -> Group:
    """What was just run, as columns of the table."""
    def verdicts(arch: int) -> list[str]:
        return [outcomes[level, arch].verdict if (level, arch) in outcomes else NOTHING for level in levels]

    if plan.gpu is None:
        return Group(f"this run: simulated device, {plan.edge}", {f"sm{a}": verdicts(a) for a in plan.archs})
    arch = plan.archs[0]
    results = [outcomes[level, arch].result if (level, arch) in outcomes else None for level in levels]
    title = f"measured in this run: {plan.gpu.name} (sm{arch}), {plan.edge}"
    return Group(title, {"verdict": verdicts(arch), **figures(results)})


def report(plan: Plan, outcomes: dict[tuple[str, int], Outcome]) -> str:
    recorded = data.load_results()
    levels = data.all_levels(recorded)
    edge = plan.edge if plan.gpu else data.DEFAULT_EDGE
    table = progression(recorded, levels, edge, first=[this_run(plan, outcomes, levels)])
    measured = [outcome.result for outcome in outcomes.values() if outcome.result]
    if measured:
        table.notes.insert(0, f"measured in this run: {conditions(measured)}.")
    if not plan.gpu:
        table.notes.insert(0, "this run: verified only; what is simulated has no speed.")
    return table.text()


def run(plan: Plan, settings: Settings) -> int:
    print(f"Running {len(plan.programs())} programs at M = N = K = {plan.edge} on "
          f"{f'an {plan.gpu.name}' if plan.gpu else 'the simulated device'}.")
    outcomes = {(level, arch): run_program(plan, level, arch, settings) for level, arch in plan.programs()}
    print("\n" + report(plan, outcomes), end="")
    return EXIT_RIGHT if all(o.right() for o in outcomes.values()) else EXIT_WRONG


