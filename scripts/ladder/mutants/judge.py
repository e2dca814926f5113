"""What one run on the simulated device with --check says of a kernel: which instructions, on which of its lines."""
from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.levels import verdict
from ladder.levels.shapes import Shape
from ladder.levels.verdict import Finding, Place, Verdict

TIMEOUT_S = 600.0  # of one run; only a machine that does something else entirely takes so long
UNCHECKED = "unchecked"  # an option of `run`, none of sim.sh


class JudgeError(Failure):
    """A run that is no judgement; the message says what happened."""


def kernel_lines(place: Place) -> list[int]:
    """The lines of a kernel that lead to an instruction, the innermost first; empty: it is none of the kernel's."""
    return [line for file, line in place.frames if Path(file).name.startswith("kernel_sm")]


def line_of(place: Place) -> int:
    """The innermost line of a kernel; 0: the instruction is none of the kernel's."""
    return next(iter(kernel_lines(place)), 0)


def key(finding: Finding) -> tuple[object, ...]:
    """What it is, and of which lines."""
    return finding.kind, finding.rule, *map(line_of, finding.sides)


def evidence(finding: Finding) -> tuple[object, ...]:
    """The pair and how far its order goes, whichever warps it was found with."""
    return *key(finding), finding.missing.what, finding.missing.instruction, *map(line_of, finding.missing.places)


def beyond(found: Verdict, usual: Verdict) -> Verdict:
    """Without what is said of the kernel as it is."""
    known = set(map(key, usual.findings))
    return replace(found, findings=tuple(one for one in found.findings if key(one) not in known),
                   code=EXIT_WRONG if found.code == EXIT_WRONG else EXIT_RIGHT)


def chief(found: Verdict) -> list[Finding]:
    """Those that the verdict is named for."""
    return [finding for finding in found.findings if finding.kind == found.kind]


# --- running ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A problem on a small GPU; several launches of it follow one another, and may overlap if the kernel lets them."""

    shape: Shape
    sms: int
    launches: int = 1

    def __str__(self) -> str:
        in_a_row = f", {self.launches} in a row" if self.launches > 1 else ""
        return f"{'x'.join(map(str, self.shape))} on {self.sms} SMs{in_a_row}"

    def simulate(self, program: Path, config: str, *options: str) -> Verdict:
        """A run of the program on the simulated device, with whole numbers for inputs, which fast arithmetic adds
        exactly. Raises JudgeError for a run that does not end, or does not get so far as to run a kernel."""
        m, n, k = map(str, self.shape)
        command = [str(program), "--m", m, "--n", n, "--k", k, "--init", "int",
                   *(["--launches", str(self.launches)] if self.launches > 1 else []),
                   *(["--config", config] if config else [])]
        try:
            found = verdict.simulate(command, ["--arith", "fast", "--sms", str(self.sms), *options], TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise JudgeError(f"{' '.join(command)} has not come to an end.") from None
        if found.code not in (EXIT_RIGHT, EXIT_WRONG) and not found.errors:
            raise JudgeError(f"{program.name} ended with exit code {found.code}:\n{found.said}")
        return found


def run(program: Path, config: str, ptx: Path, case: Case, *options: str) -> Verdict:
    """What is said of the program with other PTX. With the order checker, unless UNCHECKED is among the options. Raises
    JudgeError."""
    said = ["--check", *options] if UNCHECKED not in options else [one for one in options if one != UNCHECKED]
    return case.simulate(program, config, "--threads", "1", "--ptx", str(ptx), *said)


def launched(program: Path, config: str, case: Case) -> set[str]:
    """The kernels that are launched, by their mangled names. Raises JudgeError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters.json"
        found = case.simulate(program, config, "--counters", str(path))
        if found.code != EXIT_RIGHT:
            raise JudgeError(f"{program.name} ended with exit code {found.code}:\n{found.said}")
        return {launch["entry"] for launch in files.read_json(path)["launches"]}
