"""The steps of a run, the most valuable first, and how one is done: a process of its own, with a limit."""
from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder.contact import catalogue
from ladder.contact.state import Record
from ladder.files import SCRIPTS
from ladder.levels import names
from ladder.model import calibration

_GRACE_S = 5


@dataclass(frozen=True)
class Step:
    """`usual_s`: what it takes on an H100, so that a run with a limit knows what it can still do."""

    part: str
    name: str
    command: Sequence[str]
    usual_s: float
    limit_s: float
    program: Path | None = None  # that has to be built
    output: str | None = None    # what --output gets: GPU.csv is "", GPU_cycles.csv "cycles"


@dataclass(frozen=True)
class Run:
    build: Path
    arch: int
    simulated: bool

    def probe(self, name: str) -> list[str]:
        own = [sys.executable, "-B", str(SCRIPTS / "first_contact.py"), "--probe", name, "--arch", f"sm{self.arch}"]
        return [*own, "--build", str(self.build)] + ["--simulate"] * self.simulated

    def kernel(self, name: str) -> list[str]:
        level, (m, n, k), given = catalogue.kernel_runs(self.arch)[name]
        simulator = [str(SCRIPTS / "sim.sh"), "--gpu", "h100" if self.arch == 90 else "b200", "--arith", "exact"]
        return [*simulator * self.simulated, str(names.executable(level, self.arch, self.build)), "--verify", "off",
                "--digest", "--m", str(m), "--n", str(n), "--k", str(k), "--init", given, "--seed", "1"]

    def steps(self) -> list[Step]:
        found = [Step("machine", "machine", self.probe("machine"), 3, 60)]
        found += [Step("facts", name, self.probe(name), 1.5, 60) for name in catalogue.probes(self.arch)]
        found += [Step("kernels", name, self.kernel(name), 1.5, 120, names.executable(run[0], self.arch, self.build))
                  for name, run in catalogue.kernel_runs(self.arch).items()]
        if self.simulated:
            return found
        levels = [level for level in names.all_names() if names.has_kernel(level, self.arch)]

        def script(part: str, name: str, program: str, output: str, command: Sequence[str], usual_s: float,
                   limit_s: float) -> Step:
            words = [sys.executable, "-B", str(SCRIPTS / command[0]), *command[1:], "--no-build", "--build",
                     str(self.build)]
            return Step(part, name, words, usual_s, limit_s, self.build / "bin" / program, output)

        for level in levels:
            found.append(script("times", f"bench.{names.short(level)}", names.target(level, self.arch), "", [
                "bench.py", "--levels", level, "--sizes", "8192,4096", "--limit", "14"], 20, 90))
        for level in levels:
            found.append(script("removals", f"removals.{names.short(level)}",
                                f"without_{names.target(level, self.arch)}", "without", [
                "maintain/needed.py", level, "--device", "gpu", "--spread", "5", "--launches", "30", "--tools", "0",
                "--sizes", "4096x4096x4096,3000x2776x520"], 15, 120))
        for level in filter(names.number_of, levels):
            found.append(script("times", f"cycles.{names.short(level)}", f"cycles_{names.target(level, self.arch)}",
                                "cycles", ["maintain/cycles.py", "--levels", level, "--sizes", "8192"], 10, 90))
        if self.arch == 90:  # the micro-benchmarks are Hopper's
            found += [script("times", f"calibrate.{name}", "calibrate_sm90", "calibration",
                             ["maintain/calibrate.py", "--experiments", name], 15, 1.5 * limit)
                      for name, limit in calibration.EXPERIMENTS.items()]
        return found


@contextlib.contextmanager
def _process(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Nothing of it is left running afterwards."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as process:
        try:
            yield process
        finally:
            for which in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, which)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_S)


def perform(step: Step) -> Record:
    """What came of it. An answer is that of a probe or kernel; rows are those of a script."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.csv"
        command = [*step.command, *(["--output", str(output)] if step.output is not None else [])]
        begin = time.monotonic()
        record: Record = {"name": step.name, "part": step.part}
        with _process(command) as process:
            try:
                said, _ = process.communicate(timeout=step.limit_s)
                record["exit_code"] = process.returncode
            except subprocess.TimeoutExpired:
                said, record["exit_code"] = "", None
        record["seconds"] = round(time.monotonic() - begin, 2)
        if step.part in ("machine", "facts"):
            record |= _last_json(said)
        elif step.part == "kernels" and (found := re.search(r"digest ([0-9a-f]{16})", said)):
            record["answer"] = found[1]
        elif step.output is not None:
            rows = output.read_text(encoding="utf-8") if output.exists() else ""
            record |= {"file": step.output, "rows": list(csv.DictReader(io.StringIO(rows)))}
        if step.part in ("facts", "kernels") and "answer" not in record:
            record["answer"] = "no answer within its limit" if record["exit_code"] is None else "no answer"
        if record["exit_code"] != 0:
            record["said"] = said[-800:]
    return record


def _last_json(said: str) -> Record:
    for line in reversed(said.splitlines()):
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                return dict(json.loads(line))
    return {}


def simulated_facts(run: Run) -> dict[str, str]:
    """What the simulated device answers: those probes in one process, for they cannot harm each other, that do not end
    in an error."""
    said = subprocess.run(run.probe("every"), stdout=subprocess.PIPE, text=True, check=True).stdout
    answers = {each["name"]: each["answer"] for each in map(json.loads, said.splitlines())}
    for name, probe in catalogue.probes(run.arch).items():
        if probe.faults:
            answers[name] = perform(Step("facts", name, run.probe(name), 0, 60))["answer"]
    return answers
