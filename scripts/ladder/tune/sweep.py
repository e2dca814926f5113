"""Compiling and measuring points of a space: compilers feed the devices, and results come back as they arrive."""
from __future__ import annotations

import concurrent.futures
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from ladder.results.measure import duration_text
from ladder.tune import space
from ladder.tune.runner import Answer, Device, Runner, Settings
from ladder.tune.variants import CompileError, Compiler, Variant


class Progress:
    """How far it is, and how long it will still take: one line that is rewritten, or now and then a new one."""

    def __init__(self, what: str, total: int):
        self.what, self.total, self.done = what, total, 0
        self.start = self.shown = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.terminal = sys.stderr.isatty()

    def step(self, status: str) -> None:
        self.done += 1
        self.counts[status] += 1
        now = time.monotonic()
        if self.terminal or now - self.shown > 5 or self.done == self.total:
            self.shown = now
            left = (now - self.start) / self.done * (self.total - self.done)
            filled = 30 * self.done // self.total
            counts = ", ".join(f"{count} {status}" for status, count in self.counts.items())
            text = f"{self.what} [{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total}: {counts}"
            text += f"; about {duration_text(left)} left" if self.done < self.total else ""
            print(f"\r{text}\033[K" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr,
                  flush=True)

    def finish(self) -> None:
        if self.terminal and self.done:
            print(file=sys.stderr)


@dataclass
class Task:
    candidate: space.Candidate
    variant: Optional[Variant] = None
    answers: list[Answer] = field(default_factory=list)  # one per size
    error: Optional[BaseException] = None


class Sweep:
    """Compiles and measures tasks: compilers feed the devices through a queue, and results come back as they arrive."""

    def __init__(self, kernel: space.Kernel, compiler: Compiler, devices: Sequence[Device], settings: Settings,
                 program: Path, stop: threading.Event, jobs: int):
        self.kernel, self.compiler, self.stop, self.jobs = kernel, compiler, stop, jobs
        self.runners = [Runner(kernel, device, settings, program, stop) for device in devices]
        self.ready: queue.Queue[Optional[Task]] = queue.Queue()
        self.results: queue.Queue[Task] = queue.Queue()
        self.sizes = settings.sizes

    def run(self, candidates: Sequence[space.Candidate]) -> Iterator[Task]:
        """Yields each task when it is done. Raises what made going on impossible."""
        compilers = concurrent.futures.ThreadPoolExecutor(self.jobs)
        threads = [threading.Thread(target=self._measure, args=(runner,)) for runner in self.runners]
        for thread in threads:
            thread.start()
        try:
            for candidate in candidates:
                compilers.submit(self._compile, Task(candidate))
            for _ in candidates:
                task = self.results.get()
                if task.error:
                    raise task.error
                yield task
        except BaseException:
            self.stop.set()
            raise
        finally:
            compilers.shutdown(cancel_futures=True)
            for _ in threads:
                self.ready.put(None)
            for thread in threads:
                thread.join()

    def _compile(self, task: Task) -> None:
        try:
            task.variant = self.compiler.compile(task.candidate.point)
            self.ready.put(task)
        except CompileError as error:
            task.answers = [{"status": "does not compile", "why": str(error)}] * len(self.sizes)
            self.results.put(task)
        except BaseException as error:
            task.error = error
            self.results.put(task)

    def _measure(self, runner: Runner) -> None:
        try:
            while (task := self.ready.get()) is not None and not self.stop.is_set():
                assert task.variant is not None
                try:
                    answers = runner.measure(task.variant.library)
                    task.answers = [{**runner.environment, **answer} for answer in answers]
                except BaseException as error:
                    task.error = error
                self.results.put(task)
        finally:
            runner.close()
