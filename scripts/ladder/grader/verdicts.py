"""All claims about an answer, one after the other."""
from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from ladder.grader import claims, running
from ladder.grader.build import Built, compile_answer
from ladder.grader.running import CannotObserve, Result, Run
from ladder.levels import names
from ladder.levels.lab import Build
from ladder.levels.patches import Step
from ladder.levels.suites import BUSY, MANY_TILES, SHAPES

SEEDS = range(1, 9)
SMALL_GPUS = (2, 4, 5, 6)


@dataclass(frozen=True)
class Verdict:
    """One line of the grade. `holds` is None for what could not be looked at, since an earlier claim failed."""

    name: str
    sentence: str
    holds: Optional[bool]
    found: str
    read: str = ""
    repeat: str = ""  # the command that shows it again
    hint: str = ""


@dataclass
class Answer:
    """A kernel that is graded."""

    file: Path
    level: str
    arch: int
    keep: Optional[Path] = None  # where its program stays
    step: Optional[Step] = None  # of the level, if it is not to be the whole
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(verdict.holds for verdict in self.verdicts)


def grade(answer: Answer, build: Build) -> Iterator[Verdict]:
    """The claims in order, each as soon as it is known; also kept in the answer."""
    with tempfile.TemporaryDirectory(prefix="ladder-grade-") as folder:
        built = compile_answer(answer.file, answer.level, answer.arch, Path(folder).resolve(), build)
        if answer.keep is not None and built.program is not None:
            shutil.copy(built.program, answer.keep)
        own = own_claims(answer, build)
        for verdict in judge(answer, built, own):
            if answer.step and verdict.holds is False:
                verdict = dataclasses.replace(verdict, hint=answer.step.hint)
            answer.verdicts.append(verdict)
            yield verdict


def judge(answer: Answer, built: Built, own: Sequence[claims.Claim]) -> Iterator[Verdict]:
    """The claims in order, of an answer that is compiled."""
    yield Verdict("compiles", "it compiles", built.program is not None, built.said, "docs/debugging.md")
    program = built.program
    if program is None:
        for name, sentence in _later(own):
            yield Verdict(name, sentence, None, "it does not compile")
        return
    yield Verdict("no_spills", "it keeps everything in registers", built.spilled == 0,
                  f"{built.spilled:,} bytes of local memory" if built.spilled else "no spills, no stack",
                  "level03_warp_specialize/README.md")
    right = True
    for name, sentence, runs, read in _suites():
        verdict = suite(program, name, sentence, runs, read, answer.keep or Path("PROGRAM"))
        right &= bool(verdict.holds)
        yield verdict
    for claim in own:
        if right:
            yield measure(program, claim, answer)
        else:
            yield Verdict(claim.name, claim.sentence, None, "it is not right yet")


def _later(own: Sequence[claims.Claim]) -> list[tuple[str, str]]:
    return [("no_spills", "it keeps everything in registers"),
            *((name, sentence) for name, sentence, _, _ in _suites()),
            *((claim.name, claim.sentence) for claim in own)]


def own_claims(answer: Answer, build: Build) -> Sequence[claims.Claim]:
    """What the level, or the step, is about; level 01 has nothing to be compared with."""
    if answer.step:
        return claims.of_step(answer.step, build)
    return claims.CLAIMS.get((names.number_of(answer.level), answer.arch), ())


def measure(program: Path, claim: claims.Claim, answer: Answer) -> Verdict:
    read = f"{answer.level}/README.md#{claim.read}"
    try:
        found = claim.measure(program)
    except CannotObserve as error:
        return Verdict(claim.name, claim.sentence, False, str(error), read)
    return Verdict(claim.name, claim.sentence, found.holds, found.words, read)


# --- right, whatever happens ------------------------------------------------------------------------------------------

Suite = tuple[str, str, Sequence[Run], str]  # a claim's name, its sentence, runs, where to read about it

# What is wrong from a CTA's second tile on, or once the ring of stages has wrapped, shows where CTAs take several tiles
# of more K blocks than the ring has stages.
IN_ORDER: Suite = ("no_race", "every access is ordered after those it conflicts with",
                   [Run(("--check", "--sms", "2"), (520, 264, 136)), Run(("--check", "--sms", "2"), BUSY[0]),
                    Run(("--check", "--sms", "4"), MANY_TILES[1])],
                   "docs/simulator.md#is-it-in-order")


def _suites() -> list[Suite]:
    return [
        ("right", "D is right for all shapes, inputs and ragged edges",
         [Run((), shape, init) for shape in SHAPES for init in ("int", "normal")]
         + [Run((), BUSY[0], "uniform"), Run((), BUSY[0], "zeros")],
         "docs/debugging.md"),
        ("schedules", "D is right in all schedules",
         [Run(("--latest",), shape) for shape in BUSY]
         + [Run(("--seed", str(seed)), shape) for shape in BUSY for seed in SEEDS],
         "docs/simulator.md#what-it-does-with-your-kernel"),
        ("small_gpus", "it is right, and does not hang, on small GPUs",
         [Run(("--sms", str(sms), *schedule), shape) for sms in SMALL_GPUS for shape in MANY_TILES
          for schedule in ((), ("--latest",))],
         "docs/debugging.md"),
        IN_ORDER]


def in_order(program: Path) -> Verdict:
    return suite(program, *IN_ORDER, program)


def suite(program: Path, name: str, sentence: str, runs: Sequence[Run], read: str, called: Path) -> Verdict:
    """All runs, several at a time; the first that is not right is shown. `called`: the program, in the command that
    repeats it."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(until_wrong(program), runs)
        ended = [result for result in results if result is not None]
    wrong = next((result for result in ended if not result.verdict.passes), None)
    if wrong is None:
        habits = sorted(set().union(*(result.habits for result in ended)))
        return Verdict(name, sentence, True, f"{len(runs)} runs" + (
            f"; what the ISA does not allow and hardware forgives: {', '.join(habits)}" if habits else ""))
    shown = wrong.run.command(called)
    repeat = shlex.join(["scripts/sim.sh", *shown[1:]])
    return Verdict(name, sentence, False, f"{_kind(wrong)}: {wrong.verdict.first_words}", read, repeat)


def until_wrong(program: Path) -> Callable[[Run], Optional[Result]]:
    """Runs, until one is not right: then there is nothing more to learn."""
    stopped: list[bool] = []

    def run(how: Run) -> Optional[Result]:
        if stopped:
            return None
        result = running.run(program, how)
        if not result.verdict.passes:
            stopped.append(True)
        return result
    return run


def _kind(result: Result) -> str:
    m, n, k = result.run.shape
    schedule = " ".join(result.run.sim) or "the default schedule"
    return f"{result.verdict.kind} at M, N, K = {m}, {n}, {k} with {schedule}"
