#!/usr/bin/env python3
"""Tunes a kernel: compiles every point of a parameter space, verifies it, times it beside cuBLAS, records the result.

    autotune.py --kernel sgemm              the whole sweep on a GPU, its CSV file and its heat-maps
    autotune.py --kernel sgemm --quick      a handful of points; without a GPU on the simulated device, without speeds
    autotune.py --kernel level08 --arch 100 --simulate     is every configuration right?

Points that cannot exist are dropped before anything is compiled, and recorded with the reason; so is what does not
compile, is wrong, crashes or hangs. The CSV file is complete at any moment: whatever ends the program, the same command
goes on where it stopped. What was measured stays as long as the kernel's sources are the same.

Exit codes: 0 done; 1 a variant is wrong, crashes or hangs; 2 wrong command line, an error in a space, or a full disk;
77 no GPU; 130 interrupted.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterator, Optional, Sequence, Union

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import bench  # noqa: E402
import ladder  # noqa: E402
import record  # noqa: E402
import space  # noqa: E402
import tables  # noqa: E402
from runner import Answer, Device, NoDevice, Runner, Settings  # noqa: E402
from variants import CompileError, Compiler, DiskFull, Stopped, Variant  # noqa: E402

BUILD = ladder.ROOT / "build"
SPACES = {"sgemm": ("sgemm_ladder", "sgemm_notes", "sgemm_columns", "sgemm_rows"), "level08": ("level08_sm{arch}",)}
SIZES = {"sgemm": "4096", "level08": "4096,8192"}
RETIMED = {"sgemm": "2048,4096,8192", "level08": "4096,8192"}
# On the simulated device: whole tiles, more than one wave of one SM's work, and an end of every kind.
SIMULATED_SIZES = {"sgemm": "512x256x96,132x260x36,67x131x29", "level08": "768x512x192,200x264x136"}
ANSWERED = ("gpu", "sm_mhz", "power_w", "power_cap_w", "driver", "cuda", "cublas")  # circumstances
QUICK_POINTS = 8
NOT_TRIED = "not tried: only a handful was"


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = ladder.Parser(description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", required=True, choices=sorted({name for name, _ in space.KERNELS}))
    parser.add_argument("--arch", default="90", help="90 (Hopper, the default) or 100 (Blackwell)")
    parser.add_argument("--space", action="append", metavar="NAME|FILE",
                        help="of spaces/ or a file; may be repeated (default: all of this kernel)")
    parser.add_argument("--point", action="append", default=[], metavar="'a=1 b=2'", help="this point only; repeatable")
    parser.add_argument("--sizes", metavar="LIST", help="cubes and MxNxK")
    parser.add_argument("--best", type=int, default=5, metavar="N",
                        help="then time so many of the best, and all named points, for longer (default: %(default)s)")
    parser.add_argument("--best-sizes", metavar="LIST", help="at these sizes")
    parser.add_argument("--gpus", metavar="LIST", help="by number, e.g. 0,1: they share the work (default: 0)")
    parser.add_argument("--quick", action="store_true", help="a handful of points, on whatever there is")
    parser.add_argument("--simulate", action="store_true", help="verify on the simulated device; no speeds")
    parser.add_argument("--budget", type=bench.seconds, default=0.15, metavar="S",
                        help="of timing per point and size; the best get four times as much (default: %(default)s)")
    parser.add_argument("--timeout", type=bench.seconds, default=30, metavar="S",
                        help="after which a variant counts as hung (default: %(default)s)")
    parser.add_argument("--jobs", type=ladder.whole_number, default=os.cpu_count() or 1, metavar="N",
                        help="compilations at a time (default: %(default)s)")
    parser.add_argument("--smem-limit", type=ladder.whole_number, default=space.SMEM_LIMIT, metavar="BYTES",
                        help=f"per CTA (default: %(default)s; {space.STATIC_SMEM} without asking for more)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: docs/results/GPU_autotune_KERNEL.csv")
    parser.add_argument("--charts", type=Path, metavar="FOLDER", help="default: docs/charts")
    parser.add_argument("--no-charts", action="store_true", help="draw nothing")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--list", action="store_true", help="print the points, and why some are dropped; do nothing")
    return parser.parse_args(arguments)


# --- what to do -------------------------------------------------------------------------------------------------------


def parse_sizes(text: str, kernel: space.Kernel) -> list[ladder.Shape]:
    """Raises ladder.UsageError. Only the levels have rules for a size; kernel 9 takes any."""
    if kernel.element != "fp32":
        return ladder.parse_sizes(text)
    sizes = []
    for item in text.split(","):
        edges = [int(e) if e.isascii() and e.isdigit() else 0 for e in item.strip().split("x")]
        if len(edges) not in (1, 3) or min(edges) < 1 or max(edges) > 1 << 20:
            raise ladder.UsageError(f"A size is an edge such as 4096 or MxNxK such as 1000x500x33, and '{item}' is "
                                    "neither.")
        sizes.append((edges[0], edges[-1] if len(edges) == 1 else edges[1], edges[-1]))
    return sizes


def find_candidates(kernel: space.Kernel, options: argparse.Namespace) -> list[space.Candidate]:
    """Raises space.SpaceError."""
    if options.point:
        spaces = []
        for number, text in enumerate(options.point, start=1):
            try:
                spaces.append(space.Space(kernel.name, listed=[("", space.parse_assignments(text.split(), kernel))]))
            except ValueError as error:
                raise space.SpaceError(f"--point {number}: {error}.") from None
    else:
        names = options.space or [name.format(arch=kernel.arch) for name in SPACES[kernel.name]]
        paths = [Path(n) if "/" in n or n.endswith(".space") else space.SPACES / f"{n}.space" for n in names]
        spaces = [space.load(path, kernel) for path in paths]
    found: dict[tuple[int, ...], space.Candidate] = {}
    for one in spaces:
        for candidate in one.candidates(kernel, options.smem_limit):
            found.setdefault(tuple(candidate.point.values()), candidate)
    if not any(not c.reason for c in found.values()):
        reasons = Counter(c.reason.split(":")[0] for c in found.values())
        why = ", ".join(f"{count} for {reason}" for reason, count in reasons.most_common())
        raise space.SpaceError(f"The space is empty: all of its {len(found)} points are dropped, {why}.")
    return list(found.values())


def print_candidates(kernel: space.Kernel, candidates: Sequence[space.Candidate]) -> None:
    for candidate in candidates:
        name = f"{candidate.name}: " if candidate.name else ""
        dropped = f"  DROPPED, {candidate.reason}" if candidate.reason else ""
        print(f"{name}{kernel.describe(candidate.point)}{dropped}")
    print(summary_of(candidates))


def summary_of(candidates: Sequence[space.Candidate]) -> str:
    reasons = Counter(c.reason.split(":")[0] for c in candidates if c.reason)
    tried = len(candidates) - sum(reasons.values())
    untried = reasons.pop("not tried", 0)
    dropped = ", ".join(f"{count} for {reason}" for reason, count in reasons.most_common())
    legal = len(candidates) - sum(reasons.values())
    text = f"{len(candidates)} points: {legal} are legal" + (f"; dropped are {dropped}." if dropped else ".")
    return text + (f" {tried} of them are tried." if untried else "")


def choose_devices(kernel: space.Kernel, options: argparse.Namespace) -> tuple[list[Device], str]:
    """Where to run, and the name of what that is. Gives up if there is nothing."""
    if options.simulate:
        return [Device(None)], "simulated"
    gpus = ladder.find_gpus()
    if options.gpus is not None:
        numbers = options.gpus.split(",")
        for number in numbers:
            if not number.isdigit() or int(number) >= len(gpus):
                raise ladder.UsageError(f"--gpus {options.gpus}: there is no GPU '{number}', the machine has "
                                        f"{len(gpus)} (numbered from 0).")
    else:
        numbers = [str(i) for i, gpu in enumerate(gpus) if gpu.arch == kernel.arch][:1]
    chosen = [gpus[int(n)] for n in dict.fromkeys(numbers)]
    wrong = next((gpu for gpu in chosen if gpu.arch != kernel.arch), None)
    if wrong:
        raise ladder.UsageError(f"--gpus {options.gpus}: {wrong.name} is no GPU for sm{kernel.arch}.")
    if len({gpu.name for gpu in chosen}) > 1:
        raise ladder.UsageError(f"--gpus {options.gpus}: these are different GPUs, and a file holds results of one.")
    if chosen:
        return [Device(int(n)) for n in dict.fromkeys(numbers)], chosen[0].name
    if options.quick:
        return [Device(None)], "simulated"
    ladder.give_up(ladder.EXIT_SKIPPED, f"Tuning {kernel.name} needs a GPU of compute capability "
                   f"{kernel.arch / 10:.1f} ({ladder.GPUS_OF_ARCH[kernel.arch]}). Without one, --quick verifies a "
                   "handful of points on the simulated device, and --simulate all of them.")


def few(candidates: Sequence[space.Candidate]) -> list[space.Candidate]:
    """The same, with all but a handful of the legal ones dropped: every so many of them."""
    legal = [c for c in candidates if not c.reason]
    kept = legal[::max(1, len(legal) // QUICK_POINTS)][:QUICK_POINTS]
    return [c if c.reason or c in kept else replace(c, reason=NOT_TRIED) for c in candidates]


def build_programs(simulated: bool) -> Path:
    """autotune_measure, and the simulated device where it is needed."""
    program = BUILD / "bin" / "autotune_measure"
    there = program.exists() and (not simulated or (BUILD / "sim" / "libcudart.so.13").exists())
    if not there:
        targets = ["autotune_measure", *(["cudart", "cuda"] if simulated else [])]
        if subprocess.run([ladder.ROOT / "scripts" / "build.sh", *targets], check=False).returncode != 0:
            ladder.give_up(ladder.EXIT_USAGE, "autotune_measure could not be built.")
    return program


# --- doing it ---------------------------------------------------------------------------------------------------------


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
            text += f"; about {bench.duration_text(left)} left" if self.done < self.total else ""
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


@dataclass
class Tuning:
    """A command: everything that its phases share."""

    kernel: space.Kernel
    options: argparse.Namespace
    candidates: list[space.Candidate]
    devices: list[Device]
    gpu: str
    output: record.Record
    program: Path
    compiler: Compiler
    stop: threading.Event
    commit: str = field(default_factory=ladder.commit_id)
    failures: list[str] = field(default_factory=list)

    @property
    def simulated(self) -> bool:
        return self.devices[0].index is None

    def settings(self, sizes: Sequence[ladder.Shape], scale: int) -> Settings:
        budget = 0.0 if self.simulated else scale * self.options.budget
        return Settings(sizes, budget, rounds=3 if scale == 1 else 6, timeout_s=self.options.timeout + budget)

    def is_done(self, candidate: space.Candidate, sizes: Sequence[ladder.Shape], rounds: int) -> bool:
        for size in sizes:
            row = self.output.find(self.kernel.fields(candidate.point), ladder.size_text(size))
            if self.options.fresh or row is None or row["build"] != self.compiler.key(candidate.point):
                return False
            if row["kind"] == "measured" and (row["gpu"] != self.gpu or int(row["rounds"] or 0) < rounds):
                return False
        return True

    def record_dropped(self, sizes: Sequence[ladder.Shape]) -> None:
        for candidate in self.candidates:
            if candidate.reason:
                fields = self.kernel.fields(candidate.point)
                self.output.put({**fields, "size": ladder.size_text(s), "status": candidate.reason,
                                 "name": candidate.name} for s in sizes)
        self.output.save()

    def rows_of(self, task: Task, settings: Settings) -> list[record.Row]:
        fields = {**self.kernel.fields(task.candidate.point), "name": task.candidate.name}
        threads, smem = self.kernel.resources(task.candidate.point)
        if task.variant:
            ctas = space.ctas_per_sm(task.variant.registers, threads, smem)
            fields.update(registers=str(task.variant.registers), spill_bytes=str(task.variant.spill_bytes),
                          smem_bytes=str(smem), ctas_per_sm=str(ctas), occupancy=f"{ctas * threads / 2048:.3f}")
        fields.update(date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), commit=self.commit,
                      build=self.compiler.key(task.candidate.point), rounds=str(settings.rounds))
        rows = []
        for size, answer in zip(settings.sizes, task.answers):
            status = str(answer["status"])
            row = {**fields, "size": ladder.size_text(size),
                   "status": status if status == record.OK else f"{status}: {answer.get('why', '')}"}
            for column in (*record.SPEEDS, *ANSWERED):
                row[column] = str(answer.get(column, ""))
            row["kind"] = "measured" if row["tflops"] else ""
            rows.append(row)
        return rows

    def perform(self, what: str, candidates: Sequence[space.Candidate], settings: Settings) -> None:
        """Measures what has not been measured yet, and records every result at once."""
        todo = [c for c in candidates if not self.is_done(c, settings.sizes, settings.rounds)]
        if len(todo) < len(candidates):
            print(f"{what}: {len(candidates) - len(todo)} of {len(candidates)} were done before.", file=sys.stderr)
        if not todo:
            return
        progress = Progress(what, len(todo))
        sweep = Sweep(self.kernel, self.compiler, self.devices, settings, self.program, self.stop, self.options.jobs)
        try:
            for task in sweep.run(todo):
                rows = self.rows_of(task, settings)
                self.output.put(rows)
                self.output.save()
                worst = next((r["status"] for r in rows if r["status"] != record.OK), record.OK)
                progress.step(worst.split(":")[0])
                if worst != record.OK:
                    self.failures.append(f"{self.kernel.describe(task.candidate.point)}: {worst}")
        finally:
            progress.finish()

    def run(self, sizes: Sequence[ladder.Shape], best_sizes: Sequence[ladder.Shape]) -> None:
        self.record_dropped(sizes)
        legal = [c for c in self.candidates if not c.reason]
        self.perform("sweep", legal, self.settings(sizes, scale=1))
        if not self.simulated and self.options.best > 0 and not self.options.quick:
            self.perform("best", self.best(legal, sizes), self.settings(best_sizes, scale=4))

    def best(self, legal: Sequence[space.Candidate], sizes: Sequence[ladder.Shape]) -> list[space.Candidate]:
        """Those that are worth a second, longer look: the fastest at each size, and the named ones."""
        keys = set()
        for size in sizes:
            for row in self.output.measured(ladder.size_text(size))[:self.options.best]:
                keys.add(tuple(row[name] for name in self.kernel.fields(legal[0].point)))
        return [c for c in legal if c.name or tuple(self.kernel.fields(c.point).values()) in keys]


def default_output(kernel: space.Kernel, gpu: str, quick: bool) -> Path:
    if quick:
        return BUILD / "autotune" / f"quick_{kernel.name}_sm{kernel.arch}.csv"
    if gpu == "simulated":
        return tables.RESULTS / f"sim_autotune_{kernel.name}_sm{kernel.arch}.csv"
    name = bench.default_output(ladder.Gpu(gpu, kernel.arch)).stem
    return tables.RESULTS / f"{name}_autotune_{kernel.name}.csv"


def print_result(tuning: Tuning, sizes: Sequence[ladder.Shape]) -> None:
    for size in map(ladder.size_text, sizes):
        rows = tuning.output.measured(size)
        if not rows:
            right = [r for r in tuning.output.rows.values() if r["size"] == size and r["status"] == record.OK]
            where = " on the simulated device" if tuning.simulated else ""
            print(f"{size}: {len(right)} variants are right{where}.")
        for row in rows[:tuning.options.best or 1]:
            point = tuning.kernel.complete({p.name: p.parse(row[p.name]) for p in tuning.kernel.parameters})
            print(f"{size}: {float(row['tflops']):.1f} TFLOPS, {float(row['ratio_cublas']):.3f} of cuBLAS: "
                  f"{tuning.kernel.describe(point)}")


def draw(path: Path, folder: Path) -> None:
    """The heat-maps, with whatever Python has matplotlib; without one it is said, and nothing else is lost."""
    script = str(Path(__file__).resolve().parent / "heatmap.py")
    code = 'source "$1/scripts/toolchain.sh"; find_python; exec "$PYTHON" "${@:2}"'
    command = ["bash", "-c", code, "bash", str(ladder.ROOT), script, str(path), "--output", str(folder)]
    subprocess.run(command, check=False)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    ladder.heed_sigterm()
    stop = threading.Event()
    where: Union[Path, str] = "nowhere"
    try:
        options = parse(arguments)
        kernel = space.find_kernel(options.kernel, ladder.parse_arch(options.arch))
        candidates = find_candidates(kernel, options)
        if options.list:
            print_candidates(kernel, candidates)
            return 0
        sizes = parse_sizes(options.sizes or SIZES[kernel.name], kernel)
        best_sizes = parse_sizes(options.best_sizes or RETIMED[kernel.name], kernel)
        devices, gpu = choose_devices(kernel, options)
        simulated = devices[0].index is None
        if simulated and not options.sizes:
            sizes = parse_sizes(SIMULATED_SIZES[kernel.name], kernel)
        if options.quick:
            candidates = few(candidates)
        output = record.Record(options.output or default_output(kernel, gpu, options.quick), kernel)
        where = output.path
        program = build_programs(simulated)
        compiler = Compiler(kernel, BUILD / "autotune" / "cache", timeout=300, stop=stop)
        tuning = Tuning(kernel, options, candidates, devices, gpu, output, program, compiler, stop)
        print(summary_of(candidates), file=sys.stderr)
        tuning.run(sizes, best_sizes)
    except (ladder.UsageError, space.SpaceError, tables.DataError, ValueError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    except NoDevice as error:
        ladder.give_up(error.code if error.code in (2, 3, ladder.EXIT_SKIPPED) else 3, str(error))
    except (DiskFull, OSError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        ladder.give_up(ladder.EXIT_USAGE, f"Nothing more can be written ({said}). {where} holds what was measured "
                       "before; make room, and the same command goes on from there.")
    except KeyboardInterrupt:
        print(f"\nInterrupted. {where} holds what was measured so far; the same command goes on from there.",
              file=sys.stderr)
        return ladder.EXIT_INTERRUPTED
    print_result(tuning, dict.fromkeys([*sizes, *best_sizes]) if not simulated else sizes)
    for failure in tuning.failures:
        print(failure)
    folder = options.charts or (output.path.parent if options.quick else ladder.ROOT / "docs" / "charts")
    if not options.no_charts:
        draw(output.path, folder)
    return ladder.EXIT_WRONG if tuning.failures else ladder.EXIT_RIGHT


if __name__ == "__main__":
    sys.exit(main())
