"""Many mutants, all of them or a shard, and a record of what became of them."""
from __future__ import annotations

import collections
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional, TextIO

from ladder.fuzzing import differences, fatbins, mutations, seeds
from ladder.fuzzing.judges import Ptxas, Simulator, Verdict

TARGETS = ("sm_100a", "sm_90a")
BATCH = 200


@dataclass
class Record:
    """What became of the mutants: counts by kind, and a line for everything that is not as it should be."""

    kind: str
    file: Optional[TextIO] = None
    total: int = 0
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, index: int, outcome: str, wrong: str = "") -> None:
        self.total += 1
        self.counts[outcome] += 1
        if wrong:
            self.wrong.append(f"{self.kind} {index}: {wrong}")
        if self.file is not None:
            entry = {"kind": self.kind, "mutant": index, "outcome": outcome, **({"wrong": wrong} if wrong else {})}
            print(json.dumps(entry), file=self.file, flush=True)


class Deadline:
    def __init__(self, seconds: Optional[float]):
        self._end = None if seconds is None else time.monotonic() + seconds

    def is_over(self) -> bool:
        return self._end is not None and time.monotonic() > self._end


def _batches(indices: Sequence[int], size: int, deadline: Deadline) -> Iterator[list[int]]:
    for start in range(0, len(indices), size):
        if deadline.is_over():
            return
        yield list(indices[start:start + size])


def _dice(kind: str, seed: int, index: int) -> random.Random:
    return random.Random(f"{kind}/{seed}/{index}")


# --- single instructions ----------------------------------------------------------------------------------------------


def judge_lines(ptxas: Ptxas, lines: Sequence[str], target: str) -> list[Verdict]:
    """What ptxas says of each line. Many are compiled at once, each in a kernel of its own; those with errors leave
    until the rest is accepted, for a syntax error hides all that follows."""
    verdicts: dict[int, Verdict] = {}
    head = seeds.HEAD.format(version="9.0", target=target)
    waiting = [list(range(len(lines)))]
    while waiting:
        batch = waiting.pop()
        texts, owner, at = [head], {}, head.count("\n")
        for i in batch:
            kernel = seeds.kernel(lines[i], f"k{i}")
            texts.append(kernel)
            owner.update(dict.fromkeys(range(at + 1, at + kernel.count("\n") + 1), i))
            at += kernel.count("\n")
        whole = ptxas.judge("".join(texts))
        wrong: dict[int, Verdict] = {}
        for line, sentence in whole.wrong.items():
            if line in owner:
                wrong.setdefault(owner[line], Verdict({line: sentence}))
        if whole.accepted or len(batch) == 1:
            verdicts.update(dict.fromkeys(batch, whole))
        elif wrong:
            verdicts.update(wrong)
            if rest := [i for i in batch if i not in wrong]:
                waiting.append(rest)
        else:  # something is wrong that has no line: by halves
            middle = len(batch) // 2
            waiting += [batch[:middle], batch[middle:]]
    return [verdicts[i] for i in range(len(lines))]


def lines(ptxas: Ptxas, simulator: Simulator, seed: int, indices: Sequence[int], record: Record,
          deadline: Deadline) -> None:
    """Mutated instructions, of both architectures alternately."""
    known = differences.known()
    origins = {target: seeds.lines(target) for target in TARGETS}

    def mutant(index: int) -> str:
        dice = _dice("line", seed, index)
        line = dice.choice(origins[TARGETS[index % len(TARGETS)]])
        for _ in range(dice.choice((1, 1, 1, 1, 2))):
            line = mutations.instruction(dice, line) or line
        return line.replace("\n", " ")

    for batch in _batches(indices, BATCH, deadline):
        for number, target in enumerate(TARGETS):
            chosen = [i for i in batch if i % len(TARGETS) == number]
            texts = [mutant(i) for i in chosen]
            ours = simulator.judge([seeds.whole(line, target) for line in texts])
            theirs = judge_lines(ptxas, texts, target)
            for index, line, our, their in zip(chosen, texts, ours, theirs):
                if our.accepted != their.accepted:  # by itself: others may have changed the judgement
                    their = ptxas.judge(seeds.whole(line, target))
                _note(record, index, f"{target}: {line}", our, their, known)


def _note(record: Record, index: int, line: str, our: Verdict, their: Verdict,
          known: list[differences.Known]) -> None:
    difference = differences.compare(line, our, their)
    if difference is None:
        record.add(index, "accepted" if our.accepted else "refused")
        return
    name = differences.name_of(difference, known)
    record.add(index, name or "differs", "" if name else str(difference))


# --- whole texts ------------------------------------------------------------------------------------------------------


def text_mutant(origins: dict[str, str], kind: str, seed: int, index: int) -> tuple[str, str]:
    """The name of the text that it comes from, and the mutant."""
    dice = _dice(kind, seed, index)
    name = dice.choice(sorted(origins))
    return name, mutations.text(dice, origins[name]).replace("\0", " ")


def changed_line(before: str, after: str) -> str:
    for old, new in zip(before.split("\n"), after.split("\n")):
        if old != new:
            return new.strip()
    return "(the end)"


def texts(ptxas: Ptxas, simulator: Simulator, build: Path, seed: int, indices: Sequence[int], record: Record,
          deadline: Deadline) -> None:
    """The levels' own texts with one thing changed."""
    known = differences.known()
    origins = seeds.texts(build)
    for batch in _batches(indices, 20, deadline):
        mutants = [text_mutant(origins, "text", seed, index) for index in batch]
        ours = simulator.judge([text for _, text in mutants])
        for index, (name, text), our in zip(batch, mutants, ours):
            line = f"{name}: {changed_line(origins[name], text)}"
            _note(record, index, line, our, ptxas.judge(text), known)


def runs(simulator: Simulator, build: Path, seed: int, indices: Sequence[int], record: Record, deadline: Deadline,
         keep: Callable[[int, str], str], memory: int) -> None:
    """Mutated texts, run: each ends with a sentence or a right end, within ten seconds and the memory it declares."""
    origins = dict(seeds.texts(build))
    for target in TARGETS:
        for number, line in enumerate(seeds.lines(target)):
            origins[f"{target} line {number}"] = seeds.whole(line, target)
    for batch in _batches(indices, 20, deadline):
        mutants = [text_mutant(origins, "run", seed, index) for index in batch]
        for index, (name, text), ended in zip(batch, mutants, simulator.run([text for _, text in mutants])):
            wrong = ""
            if not ended.well:
                wrong = f"{ended.how} after {ended.seconds} s, in {name}: {keep(index, text)}"
            elif ended.mebibytes > memory:
                wrong = f"{ended.mebibytes} MiB, in {name}: {keep(index, text)}"
            record.add(index, "right" if ended.how == "ok" else "told" if ended.well else "failed", wrong)


# --- fat binaries -----------------------------------------------------------------------------------------------------


def damaged(build: Path, seed: int, indices: Sequence[int], record: Record, deadline: Deadline) -> None:
    """Programs whose fat binary is damaged: each ends with a sentence, or right, and none hangs."""
    programs = fatbins.programs(build)
    for index in indices:
        if deadline.is_over():
            return
        dice = _dice("fatbin", seed, index)
        program = dice.choice(programs)
        end = fatbins.run(build, program, fatbins.damage(dice, program))
        record.add(index, end.outcome, end.wrong and f"{program.path.name}: {end.wrong}")
