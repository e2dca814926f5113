"""Recordings of levels, made by scripts/sim.sh --record, and changes of the PTX in them."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ladder.command import EXIT_RIGHT, Failure
from ladder.levels import verdict
from ladder.mutants.judge import Case
from ladder.mutants.sites import Embedded
from ladder.mutants.study import Kernel

TIMEOUT_S = 600.0
Edit = dict[str, Any]  # {"line": from 1, "text": what it becomes}


class RecordingError(Failure):
    """A program that could not be recorded; the message says what it printed."""


def run_recorded(program: Path, file: Path, arguments: Sequence[str], options: Sequence[str] = (),
                 must_be_right: bool = True) -> None:
    """Records a run of a program. Raises RecordingError if it is not right, or leaves no recording."""
    found = verdict.simulate([str(program), *arguments], [*options, "--record", str(file)], TIMEOUT_S)
    if not file.exists() or (must_be_right and found.code != EXIT_RIGHT):
        raise RecordingError(f"{program.name} ended with exit code {found.code}:\n{found.said}")


def record(kernel: Kernel, case: Case, folder: Path) -> Path:
    """A run of a kernel at a problem, with whole numbers for inputs; an older recording in the folder will do."""
    file = folder / f"{kernel.title.replace(' ', '-')}-{str(case).replace(' ', '-').replace(',', '')}.rec"
    if not file.exists():
        found = case.simulate(kernel.program, kernel.config, "--record", str(file))
        if not file.exists() or found.code != EXIT_RIGHT:
            raise RecordingError(f"{kernel.title} ended with exit code {found.code}:\n{found.said}")
    return file


def full_text(recording: bytes, embedded: Embedded) -> str:
    """The text of which this is the end: comments of the compiler come before. Raises RecordingError if the recording
    does not have it."""
    text = embedded.text.encode()
    at = recording.find(text)
    lead = re.search(rb"(?:(?://[^\n]*)?\n)*$", recording[max(0, at - 4096):max(0, at)])
    for start in range(at - len(lead[0]), at + 1) if at >= 0 and lead else ():
        if recording.endswith(_varint(at + len(text) - start), 0, start):  # a string's length stands before it
            return recording[start:at + len(text)].decode()
    raise RecordingError(f"The recording does not hold the PTX that is in {embedded.program}.")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def edits(embedded: Embedded, after: str, recording: bytes) -> list[Edit]:
    """The lines in which the text after a change, of as many lines, differs from what the recording has."""
    first = full_text(recording, embedded).count("\n") - embedded.text.count("\n") + 1
    pairs = enumerate(zip(embedded.text.split("\n"), after.split("\n")), start=first)
    return [{"line": number, "text": new.rstrip()} for number, (old, new) in pairs if old != new]
