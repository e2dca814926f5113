"""What one run on the simulated device with --check says of a program: read from what it prints."""
from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.levels.shapes import Shape

TIMEOUT_S = 600.0  # of one run; only a machine that does something else entirely takes so long
CONVERGENCE = ("implicit-reconvergence", "warp-synchronous")
UNCHECKED = "unchecked"  # an option of `run`, none of sim.sh

# In the order in which they count: what a run says first of all these.
RACE, CONVERGED, DEADLOCK, FAULT, WRONG, HABIT, NOTHING = (
    "race", "convergence", "deadlock", "fault", "wrong D", "habit", "")


class JudgeError(Failure):
    """A run that is no judgement; the message says what happened."""


@dataclass(frozen=True)
class Access:
    """A side of a finding: "bulk store" on line 206 of the kernel; line 0 if it is none of the kernel's."""

    what: str
    line: int

    def __str__(self) -> str:
        return f"{self.what} :{self.line}" if self.line else self.what


@dataclass(frozen=True)
class Finding:
    """One paragraph of `sim: check:`."""

    grade: str  # error or habit
    name: str   # of the rule or the habit
    first: Access
    second: Optional[Access]
    missing: str

    @property
    def pair(self) -> str:
        return f"{self.first} before {self.second}" if self.second else str(self.first)

    @property
    def key(self) -> tuple[str, int, int]:
        return self.name, self.first.line, self.second.line if self.second else 0

    @property
    def evidence(self) -> tuple[object, ...]:
        """The pair and how far its order goes, whichever warps it was found with."""
        return *self.key, re.sub(r"(warp|rank|CTA|lanes?) \(?\d+\)?", r"\1", self.missing)


@dataclass(frozen=True)
class Verdict:
    """All that a run says."""

    findings: tuple[Finding, ...] = ()
    deadlock: tuple[int, ...] = ()  # the lines at which warps wait for ever
    is_deadlock: bool = False
    fault: str = ""                 # what the machine refuses to do
    fault_line: int = 0
    block: str = ""                 # what is said of a deadlock or a fault, all of it
    wrong: bool = False             # D
    warning: str = ""               # what a state bit shows

    def beyond(self, usual: Verdict) -> Verdict:
        """Without what is said of the kernel as it is."""
        known = {finding.key for finding in usual.findings}
        return Verdict(tuple(f for f in self.findings if f.key not in known), self.deadlock, self.is_deadlock,
                       self.fault, self.fault_line, self.block, self.wrong,
                       "" if self.warning == usual.warning else self.warning)

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.grade == "error"]

    @property
    def kind(self) -> str:
        if self.errors:
            return RACE
        if any(finding.name in CONVERGENCE for finding in self.findings):
            return CONVERGED
        if self.is_deadlock:
            return DEADLOCK
        if self.fault:
            return FAULT
        if self.wrong:
            return WRONG
        return HABIT if self.findings or self.warning else NOTHING

    @property
    def found_by(self) -> str:
        """The kind, and the rules or habits that say so."""
        kind = self.kind
        named = {RACE: self.errors, CONVERGED: [f for f in self.findings if f.name in CONVERGENCE],
                 HABIT: list(self.findings)}.get(kind, [])
        rules = ", ".join(sorted({finding.name for finding in named}))
        return f"{kind} ({rules})" if rules else kind

    @property
    def orders(self) -> str:
        """What is no longer ordered, in a few words; the pairs of the first kind of report, three at most."""
        if self.kind in (RACE, CONVERGED, HABIT):
            chosen = self.errors or list(self.findings)
            pairs = list(dict.fromkeys(finding.pair for finding in chosen))
            more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
            return "; ".join(pairs[:3]) + more if pairs else self.warning
        if self.kind == DEADLOCK:
            lines = ", ".join(f":{line}" for line in self.deadlock[:4])
            return f"what is waited for at {lines}" if lines else "what is waited for"
        return f"{self.fault}{f' (:{self.fault_line})' if self.fault_line else ''}" if self.kind == FAULT else ""


# --- reading ----------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r"^sim: check: (error|habit) (?:\(([^)]*)\)|(\S+))[^\n]* in kernel .*$", re.MULTILINE)
_IN_KERNEL = re.compile(r"kernel_sm\d+\.cuh:(\d+)")
_INSTRUCTION = re.compile(r"^  (\S.*?)(?: \(PTX line|$)")
_NOUN = re.compile(r"^    (?:(.+?) by )?")


def line_of(text: str) -> int:
    """The innermost line of a kernel in "(PTX line 3, ptx/x.cuh:5, called at kernel_sm90.cuh:7, called at ...)"."""
    match = _IN_KERNEL.search(text)
    return int(match[1]) if match else 0


def short(instruction: str) -> str:
    """"mbarrier.try_wait" of an instruction with all its qualifiers."""
    return re.split(r"\.(?:parity|shared|sync|aligned|global|release|acquire|cta_group|2d|b\d)\b|::", instruction)[0]


def read(output: str, code: int) -> Verdict:
    """What the simulated device and the program have printed. Raises JudgeError for a program that did not get so far
    as to run a kernel."""
    findings = []
    for head in _HEAD.finditer(output):
        findings.append(_read_finding(head, output[head.end():].split("\n")[1:8]))
    deadlock = re.search(r"^sim: (?:deadlock in kernel|.*spins for ever).*$", output, re.MULTILINE)
    fault = re.search(r"^sim: error in kernel .*\n  (.*)\n  (.*)$", output, re.MULTILINE)
    failed = deadlock or fault
    block = re.split(r"\n\n|\nsim: ", output[failed.start():])[0] if failed else ""
    waits = sorted({int(match[1]) for line in block.splitlines() if deadlock and line.startswith("      at ")
                    for match in [_IN_KERNEL.search(line)] if match})
    warning = re.search(r"^sim: warning in kernel .*\n  (.*)$", output, re.MULTILINE)
    if code not in (EXIT_RIGHT, EXIT_WRONG, 3, 86) or (code == 3 and not (deadlock or fault)):
        raise JudgeError(f"the program ended with exit code {code}:\n{output.strip()}")
    return Verdict(tuple(findings), tuple(waits), bool(deadlock), fault[1] if fault else "",
                   line_of(fault[2]) if fault else 0, block, code == EXIT_WRONG, warning[1] if warning else "")


def _read_finding(head: re.Match[str], lines: Sequence[str]) -> Finding:
    sides: list[Access] = []
    missing = ""
    for index, line in enumerate(lines):
        if line.startswith(("sim: ", "level")):
            break
        if line.startswith("  Missing: "):
            missing = line[len("  Missing: "):].rstrip(".")
            break
        instruction = _INSTRUCTION.match(line)
        if instruction and index + 1 < len(lines) and lines[index + 1].startswith("    "):
            noun = _NOUN.match(lines[index + 1])
            sides.append(Access((noun[1] if noun else None) or short(instruction[1]), line_of(line)))
    first = sides[0] if sides else Access("?", 0)
    return Finding(head[1], head[2] or head[3], first, sides[1] if len(sides) > 1 else None, missing)


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

    def simulate(self, program: Path, config: str, *options: str) -> subprocess.CompletedProcess[str]:
        """A run of the program on the simulated device, with whole numbers for inputs, which fast arithmetic adds
        exactly. Raises JudgeError for a run that does not end."""
        m, n, k = map(str, self.shape)
        command = [os.environ.get("LADDER_SIM", str(files.SCRIPTS / "sim.sh")), "--arith", "fast", "--sms",
                   str(self.sms), *options, str(program), "--m", m, "--n", n, "--k", k, "--init", "int",
                   *(["--launches", str(self.launches)] if self.launches > 1 else []),
                   *(["--config", config] if config else [])]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise JudgeError(f"{' '.join(command)} has not come to an end.") from None


def run(program: Path, config: str, ptx: Path, case: Case, *options: str) -> Verdict:
    """What is said of the program with other PTX. With the order checker, unless UNCHECKED is among the options. Raises
    JudgeError."""
    said = ["--check", *options] if UNCHECKED not in options else [one for one in options if one != UNCHECKED]
    answer = case.simulate(program, config, "--threads", "1", "--ptx", str(ptx), *said)
    return read(answer.stdout + answer.stderr, answer.returncode)


def launched(program: Path, config: str, case: Case) -> set[str]:
    """The kernels that are launched, by their mangled names. Raises JudgeError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters.json"
        answer = case.simulate(program, config, "--counters", str(path))
        if answer.returncode != EXIT_RIGHT:
            raise JudgeError(f"{program.name} ended with exit code {answer.returncode}:\n{answer.stderr.strip()}")
        return {launch["entry"] for launch in files.read_json(path)["launches"]}
