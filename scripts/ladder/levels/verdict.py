"""What a run on the simulated device came to: the one reader of what `scripts/sim.sh --reports` records, and the words
for it that all programs of this project use."""
from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_USAGE, EXIT_WRONG

#: From the worst to none: a run is the first of these that applies to it.
KINDS = RACE, CONVERGENCE, DEADLOCK, FAULT, REFUSED, WRONG, HABIT, RIGHT = (
    "race", "convergence", "deadlock", "fault", "refused", "wrong", "habit", "right")
MOST_WORDS = 500  # letters of a report where it has to be short
_NOTES = re.compile(r"^sim: Simulated|: running on Simulated")
_OF_CODE = {EXIT_RIGHT: RIGHT, EXIT_WRONG: WRONG, EXIT_USAGE: REFUSED}  # of a program of which nothing else is said


@dataclass(frozen=True)
class Place:
    """An instruction: what it does, which threads execute it, and its lines of source, the innermost first."""

    noun: str = ""
    instruction: str = ""
    who: str = ""
    ptx_line: int = 0
    frames: tuple[tuple[str, int], ...] = ()
    arrivals: tuple[Place, ...] = ()  # of a wait: those that its phase has got so far
    wait: str = ""                    # what is waited for: "mbarrier"
    barrier: str = ""                 # of such a wait

    @staticmethod
    def of(record: Mapping[str, Any]) -> Place:
        return Place(**_plain(record, "noun", "instruction", "who", "ptx_line", "wait", "barrier"),
                     frames=tuple((frame["file"], frame["line"]) for frame in record.get("frames", [])),
                     arrivals=_places(record.get("arrivals", [])))

    @property
    def source(self) -> str:
        """The outermost line: "kernel.cuh:7"."""
        return f"{Path(self.frames[-1][0]).name}:{self.frames[-1][1]}" if self.frames else ""


@dataclass(frozen=True)
class Missing:
    """What is missing: a code, the instruction that would do if there is but one, and between which places."""

    what: str = ""
    instruction: str = ""
    places: tuple[Place, ...] = ()
    names: tuple[str, ...] = ()
    has_other: bool = False  # something else would do, too

    @staticmethod
    def of(record: Mapping[str, Any]) -> Missing:
        return Missing(**_plain(record, "what", "instruction"), names=tuple(record.get("names", [])),
                       has_other=bool(record.get("also")),
                       places=_places([record[name] for name in ("from", "to", "also") if record.get(name)]))


@dataclass(frozen=True)
class Finding:
    kind: str                    # one of KINDS
    rule: str = ""               # of the order checker, or the habit's name
    strict: bool = False         # found by --check=strict only
    tolerated: bool = False      # a warning: the program goes on
    kernel: str = ""
    fault: str = ""              # its name, where `kind` is a fault or a habit that the machine's state shows
    details: tuple[Any, ...] = ()  # names and numbers in its sentence
    what: str = ""
    memory: str = ""
    sides: tuple[Place, ...] = ()
    missing: Missing = Missing()
    waits: tuple[Place, ...] = ()
    count: int = 1
    text: str = ""               # the whole report, as it is printed

    @property
    def title(self) -> str:
        """"race (read after write)"."""
        return f"{self.kind} ({self.rule})" if self.rule else self.kind

    @property
    def words(self) -> set[str]:
        """Rule or habit, fault, what is missing, what is waited for."""
        return {self.rule, self.fault, self.missing.what, *(place.wait for place in self.waits)} - {""}

    @staticmethod
    def of(record: Mapping[str, Any]) -> Finding:
        """`kind` alone has to be there."""
        return Finding(**_plain(record, "kind", "rule", "strict", "tolerated", "kernel", "fault", "what", "memory",
                                "count", "text"),
                       details=tuple(record.get("details", [])),
                       sides=_places(record.get("sides", [])), missing=Missing.of(record.get("missing", {})),
                       waits=_places(record.get("waits", [])))


def _plain(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: record[name] for name in names if name in record}


def _places(records: Iterable[Mapping[str, Any]]) -> tuple[Place, ...]:
    return tuple(map(Place.of, records))


@dataclass(frozen=True)
class Verdict:
    """All that was found in a run, its exit code, and what it printed, without the notes of progress."""

    findings: tuple[Finding, ...] = ()
    code: int = EXIT_RIGHT
    said: str = ""

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.tolerated]

    @property
    def kind(self) -> str:
        # A refusal that the program goes on after says nothing of what it computes.
        kinds = [finding.kind for finding in self.findings if not (finding.tolerated and finding.kind == REFUSED)]
        if self.code in _OF_CODE or not self.errors:
            kinds.append(_OF_CODE.get(self.code, FAULT))
        return min(kinds, key=KINDS.index)

    @property
    def passes(self) -> bool:
        """Right, apart from what hardware tolerates."""
        return self.code == EXIT_RIGHT and not self.errors

    @property
    def worst(self) -> Optional[Finding]:
        return min(self.findings, key=lambda finding: KINDS.index(finding.kind), default=None)

    @property
    def first_words(self) -> str:
        """Of the worst report, or else the last line that was printed."""
        if self.worst:
            return shorten(self.worst.text, MOST_WORDS, placeholder=" ...")
        return self.said.split("\n")[-1].strip()


class Records(NamedTuple):
    findings: tuple[Finding, ...] = ()
    has_ended: bool = False  # a process that is killed writes no last line


def read(path: Path) -> Records:
    """A file of records, which is empty if it is not there."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    return Records(tuple(Finding.of(record) for record in records if record["record"] == "finding"),
                   any(record["record"] == "end" for record in records))


def simulate(command: Sequence[str], options: Sequence[str] = (), timeout: float = 600.0,
             environment: Optional[Mapping[str, str]] = None) -> Verdict:
    """Runs a program on the simulated device with these options of sim.sh. Raises TimeoutExpired, OSError."""
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports.jsonl"
        answer = subprocess.run([simulator(), *options, "--reports", str(reports), *command], env=environment,
                                capture_output=True, text=True, errors="replace", timeout=timeout,
                                stdin=subprocess.DEVNULL, check=False)
        lines = (answer.stdout + answer.stderr).splitlines()
        said = "\n".join(line for line in lines if not _NOTES.search(line)).strip("\n")
        return Verdict(read(reports).findings, answer.returncode, said)


def simulator() -> str:
    """scripts/sim.sh, or what stands for it in a test."""
    return os.environ.get("LADDER_SIM", str(files.SCRIPTS / "sim.sh"))
