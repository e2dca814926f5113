"""Drives autotune_measure: hands it variants one by one, and survives what they do to it."""
from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_SKIPPED, EXIT_USAGE, Failure
from ladder.levels import programs, simulated, verdict
from ladder.levels.shapes import Shape, shape_text
from ladder.tune import space
from ladder.tune.variants import Stopped

Answer = dict[str, object]

SMS = "4"  # of the simulated device: few enough for each to have several tiles


class NoDevice(Failure):
    """autotune_measure does not start; the message says why."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code if code in (EXIT_USAGE, 3, EXIT_SKIPPED) else 3


@dataclass(frozen=True)
class Device:
    """Where variants run: a GPU by its number, or the simulated device."""

    index: Optional[int]

    def title(self) -> str:
        return "the simulated device" if self.index is None else f"GPU {self.index}"


@dataclass(frozen=True)
class Settings:
    """What autotune_measure is asked for."""

    sizes: Sequence[Shape]
    budget_s: float = 0  # of timing per variant and size; 0: only verify
    rounds: int = 3
    init: str = "normal"
    timeout_s: float = 30   # per variant and size
    start_s: float = 120    # for making inputs and references


@dataclass
class Runner:
    kernel: space.Kernel
    device: Device
    settings: Settings
    program: Path
    stop: threading.Event
    environment: Answer = field(default_factory=dict)  # what autotune_measure says of its device
    _process: Optional[subprocess.Popen[bytes]] = None
    _unread: bytes = b""

    def start(self) -> None:
        """Raises NoDevice, Stopped. Does nothing if it runs already."""
        if self._process is not None:
            return
        environment = dict(os.environ)
        command = [str(self.program), "--type", self.kernel.element, "--arch", str(self.kernel.arch),
                   "--sizes", ",".join(map(shape_text, self.settings.sizes)),
                   "--budget", f"{self.settings.budget_s:g}", "--rounds", str(self.settings.rounds),
                   "--init", self.settings.init]
        if self.device.index is None:
            gpu = simulated.DEFAULT[self.kernel.arch]
            self._reports = tempfile.NamedTemporaryFile()  # noqa: SIM115 (like the errors)
            command = [str(files.SCRIPTS / "sim.sh"), "--gpu", gpu, "--sms", SMS, "--check", "--reports",
                       self._reports.name, *command]
        else:
            environment["CUDA_VISIBLE_DEVICES"] = str(self.device.index)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it is open as long as the process runs)
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors, start_new_session=True)
        self._unread = b""
        line = self._read_line(self.settings.start_s)
        if line is None:
            code, message = self._stop()
            raise NoDevice(code, message or f"autotune_measure did not start within {self.settings.start_s:g} s")
        self.environment = json.loads(line)

    def measure(self, library: str) -> list[Answer]:
        """One answer per size, each with `status`: ok, wrong, error, broken, crashed or hung, and `why` if not ok.
        Raises NoDevice, Stopped."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        answers: list[Answer] = []
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(library.encode() + b"\n")
            self._process.stdin.flush()
        while len(answers) < len(self.settings.sizes):
            line = self._read_line(self.settings.timeout_s)
            if line is None:
                failure = self._what_happened()
                return answers + [failure] * (len(self.settings.sizes) - len(answers))
            answers.append(json.loads(line))
            if answers[-1]["status"] == "error":  # nothing works in that process any more
                self.close()
                return answers + [answers[-1]] * (len(self.settings.sizes) - len(answers))
        finding = self._finding()
        if finding:
            answers = [{**answer, "status": "wrong", "why": finding} if answer["status"] == "ok" else answer
                       for answer in answers]
        if any(answer["status"] != "ok" for answer in answers):
            self.close()  # a variant that is wrong may have written over the inputs
        return answers

    def close(self) -> None:
        if self._process is not None:
            self._stop()

    def _read_line(self, timeout: float) -> Optional[bytes]:
        """None if there is none in time, or never will be."""
        assert self._process is not None and self._process.stdout is not None
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if self.stop.is_set():
                    raise Stopped
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                if not selector.select(min(left, 0.2)):
                    continue
                piece = os.read(self._process.stdout.fileno(), 65536)
                if not piece:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(timeout=60)
                    return None
                self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _finding(self) -> str:
        """What the simulated device says of accesses without order; it tells the program nothing."""
        if self.device.index is not None:
            return ""
        found = verdict.read(Path(self._reports.name)).findings
        return next((f"{finding.title} in kernel {finding.kernel}" for finding in found if not finding.tolerated), "")

    def _complaints(self) -> list[str]:
        errors = self._errors.fileno()  # the process writes where this file's position is: that stays
        return os.pread(errors, os.fstat(errors).st_size, 0).decode(errors="replace").strip().splitlines()

    def _what_happened(self) -> Answer:
        """After silence: the process hangs, or is gone."""
        assert self._process is not None
        hangs = self._process.poll() is None
        code, message = self._stop()
        if hangs:
            return {"status": "hung", "why": f"no answer in {self.settings.timeout_s:g} s"}
        if code > 128 or code < 0:  # a shell reports a signal as 128 + its number
            with contextlib.suppress(ValueError):
                return {"status": "crashed", "why": signal.Signals(-code if code < 0 else code - 128).name}
        return {"status": "crashed", "why": message or f"exit code {code}"}

    def _stop(self) -> tuple[int, str]:
        """Ends the process. Returns its exit code and the last line of what it complained about."""
        assert self._process is not None
        process, self._process = self._process, None
        with contextlib.suppress(BrokenPipeError):
            if process.stdin is not None:
                process.stdin.close()
        programs.end_program(process)
        if process.stdout is not None:
            process.stdout.close()
        lines = self._complaints()
        self._errors.close()
        code = process.returncode if process.returncode is not None else -signal.SIGKILL
        return code, lines[-1] if lines else ""
