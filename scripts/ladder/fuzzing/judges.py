"""The judges of PTX: ptxas, and the simulated device."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import Failure

PTXAS_RELEASE = "13.0"


class Missing(Failure):
    """A program that is needed is not there."""


@dataclass
class Verdict:
    """What is wrong with a text: sentences by line; those that name no line stand at 0. Nothing: it is accepted."""

    wrong: dict[int, str] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        return not self.wrong

    @property
    def sentence(self) -> str:
        return next(iter(self.wrong.values()), "")


def find_ptxas() -> Path:
    """Of CUDA 13.0, by whose judgement ours is measured. Raises Missing."""
    on_path = shutil.which("ptxas")
    folders = [Path(os.environ[name]) / "bin" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders += [Path(os.environ["CUDACXX"]).resolve().parent] if os.environ.get("CUDACXX") else []
    folders += [files.ROOT / ".cuda" / "bin", Path("/usr/local/cuda/bin"), Path("/opt/cuda/bin")]
    candidates = ([Path(on_path)] if on_path else []) + [folder / "ptxas" for folder in folders]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
            if f"release {PTXAS_RELEASE}," in said:
                return candidate
    raise Missing(f"there is no ptxas {PTXAS_RELEASE}, with which our judgement is compared.")


class Ptxas:
    """Judges one text after the other; a whole compilation each, as fast as it goes."""

    def __init__(self, program: Path):
        self.program = program
        self._folder = tempfile.TemporaryDirectory()

    def judge(self, text: str) -> Verdict:
        path = Path(self._folder.name) / "text.ptx"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        target = re.search(r"\.target\s+(sm_\w+)", text)
        try:
            done = subprocess.run(
                [self.program, f"-arch={target[1] if target else 'sm_100a'}", "-O0", path, "-o", os.devnull],
                capture_output=True, text=True, errors="replace", timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return Verdict({0: "ptxas takes more than a minute"})
        if done.returncode == 0:
            return Verdict()
        wrong: dict[int, str] = {}
        said = done.stderr + done.stdout
        for line, sentence in re.findall(r"line (\d+); (?:error|fatal)\s*: (.*)", said):
            wrong.setdefault(int(line), sentence)
        without_line = re.search(r"(?:error|fatal)\s*: (.*)", said)
        return Verdict(wrong or {0: without_line[1] if without_line else f"exit code {done.returncode}"})


class Simulator:
    """What the simulated device makes of texts (common/tests/sim/judge.cpp)."""

    def __init__(self, build: Path):
        self.program = build / "bin" / "sim_judge"
        if not self.program.exists():
            raise Missing(f"{files.name_of(self.program, files.ROOT)} is not built: "
                          "scripts/build.sh --tests sim_judge.")

    def _lines(self, mode: str, texts: Sequence[str]) -> list[str]:
        given = "\0".join(texts).encode("utf-8", errors="surrogateescape")
        done = subprocess.run([self.program, mode], input=given, capture_output=True, check=False)
        lines = done.stdout.decode("utf-8", errors="replace").split("\n")[:-1]
        if done.returncode != 0 or len(lines) != len(texts):
            raise Crash(lines, texts, done)
        return lines

    def judge(self, texts: Sequence[str]) -> list[Verdict]:
        verdicts = []
        for line in self._lines("judge", texts):
            said = line.split("\t")[1:]
            pairs = [(int(number), sentence) for number, _, sentence in (each.partition(": ") for each in said)]
            verdicts.append(Verdict(dict(reversed(pairs))))
        return verdicts

    def run(self, texts: Sequence[str]) -> list[Ended]:
        ended = []
        for line in self._lines("run", texts):
            how, memory, seconds = line.rsplit("\t", 2)
            ended.append(Ended(how, int(memory), float(seconds)))
        return ended


@dataclass
class Ended:
    """How the run of a text ended."""

    how: str
    mebibytes: int
    seconds: float

    @property
    def well(self) -> bool:
        """It was right, or refused with a sentence."""
        return self.how == "ok" or self.how.startswith("no ")


class Crash(Failure):
    """The judge itself ended before it had judged all texts."""

    code = 1

    def __init__(self, lines: Sequence[str], texts: Sequence[str], done: subprocess.CompletedProcess[bytes]):
        self.text: Optional[str] = texts[len(lines)] if len(lines) < len(texts) else None
        super().__init__(f"sim_judge ends with {done.returncode}: "
                         f"{done.stderr.decode(errors='replace')[-2000:]}\n{self.text or ''}")
