"""Tuning a kernel: which points of which spaces, on what, and every result recorded at once."""
from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_INTERRUPTED, EXIT_RIGHT, EXIT_WRONG, Failure, UsageError
from ladder.files import BUILD, CHARTS, ROOT, SCRIPTS
from ladder.levels import gpus
from ladder.levels.shapes import Shape, cube, parse_sizes, size_text
from ladder.results import data, measure
from ladder.shards import EVERYTHING, Shard
from ladder.tune import record, space
from ladder.tune.runner import Device, Settings
from ladder.tune.sweep import Progress, Sweep, Task
from ladder.tune.variants import Compiler, DiskFull

SPACES = {"sgemm": ("sgemm_notes",), "sgemm_ladder": ("sgemm_ladder",), "production": ("production_sm{arch}",)}
SIZES = {"sgemm": "4096", "sgemm_ladder": "4096", "production": "4096,8192"}
RETIMED = {"sgemm": "2048,4096,8192", "sgemm_ladder": "2048,4096,8192", "production": "4096,8192"}
# On the simulated device: whole tiles, more than one wave of one SM's work, and an end of every kind.
SIMULATED_SIZES = {"sgemm": "512x256x96,132x260x36,67x131x29", "sgemm_ladder": "512x256x96,132x260x36,67x131x29",
                   "production": "768x512x192,200x264x136"}
ANSWERED = ("gpu", *data.CIRCUMSTANCES[:-2])  # what autotune_measure says; date and commit are ours
QUICK_POINTS = 8
NOT_TRIED = "not tried: only a handful was"


@dataclass(frozen=True)
class Request:
    """What somebody wants to be tuned, and how. Sizes that are None suit the kernel and the device."""

    kernel: space.Kernel
    spaces: Sequence[str] = ()  # names or files; none: all of this kernel
    points: Sequence[str] = ()  # these instead: "a=1 b=2"
    sizes: Optional[Sequence[Shape]] = None
    best: int = 5  # so many of the best are timed again, longer, at `best_sizes`
    best_sizes: Optional[Sequence[Shape]] = None
    gpus: Optional[str] = None  # numbers such as "0,1"
    quick: bool = False
    simulate: bool = False
    budget_s: float = 0.15
    timeout_s: float = 30
    jobs: int = 1
    smem_limit: int = space.SMEM_LIMIT
    output: Optional[Path] = None
    charts: Optional[Path] = None  # a folder
    draw: bool = True
    fresh: bool = False
    shard: Shard = EVERYTHING  # only these points; the best and the pictures need the whole


# --- what to do -------------------------------------------------------------------------------------------------------


def sizes_of(text: str, kernel: space.Kernel) -> list[Shape]:
    """Of a list such as "4096,1000x500x33". Raises UsageError. Only the levels have rules for a size; kernel 9 takes
    any."""
    if kernel.element != "fp32":
        return parse_sizes(text)
    sizes = []
    for item in text.split(","):
        edges = [int(e) if e.isascii() and e.isdigit() else 0 for e in item.strip().split("x")]
        if len(edges) not in (1, 3) or min(edges) < 1 or max(edges) > 1 << 20:
            raise UsageError(f"A size is an edge such as 4096 or MxNxK such as 1000x500x33, and '{item}' is neither.")
        sizes.append(cube(edges[0]) if len(edges) == 1 else (edges[0], edges[1], edges[2]))
    return sizes


def find_candidates(request: Request) -> list[space.Candidate]:
    """Raises space.SpaceError."""
    kernel = request.kernel
    if request.points:
        spaces = []
        for number, text in enumerate(request.points, start=1):
            try:
                spaces.append(space.Space(kernel.name, listed=[("", space.parse_assignments(text.split(), kernel))]))
            except ValueError as error:
                raise space.SpaceError(f"--point {number}: {error}.") from None
    else:
        chosen = request.spaces or [name.format(arch=kernel.arch) for name in SPACES[kernel.name]]
        paths = [Path(n) if "/" in n or n.endswith(".space") else ROOT / space.SPACES / f"{n}.space" for n in chosen]
        spaces = [space.load(path, kernel) for path in paths]
    found: dict[tuple[int, ...], space.Candidate] = {}
    for one in spaces:
        for candidate in one.candidates(kernel, request.smem_limit):
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


def choose_devices(request: Request) -> tuple[list[Device], str]:
    """Where to run, and the name of what that is. Raises NoGpu, UsageError."""
    if request.simulate:
        return [Device(None)], "simulated"
    kernel, found = request.kernel, gpus.find_gpus()
    if request.gpus is not None:
        numbers = request.gpus.split(",")
        for number in numbers:
            if not number.isdigit() or int(number) >= len(found):
                raise UsageError(f"--gpus {request.gpus}: there is no GPU '{number}', the machine has {len(found)} "
                                 "(numbered from 0).")
    else:
        numbers = [str(i) for i, gpu in enumerate(found) if gpu.arch == kernel.arch][:1]
    chosen = [found[int(n)] for n in dict.fromkeys(numbers)]
    wrong = next((gpu for gpu in chosen if gpu.arch != kernel.arch), None)
    if wrong:
        raise UsageError(f"--gpus {request.gpus}: {wrong.name} is no GPU for sm{kernel.arch}.")
    if len({gpu.name for gpu in chosen}) > 1:
        raise UsageError(f"--gpus {request.gpus}: these are different GPUs, and a file holds results of one.")
    if chosen:
        return [Device(int(n)) for n in dict.fromkeys(numbers)], chosen[0].name
    if request.quick:
        return [Device(None)], "simulated"
    raise gpus.NoGpu(f"Tuning {kernel.name} needs a GPU of compute capability {kernel.arch / 10:.1f} "
                     f"({gpus.EXAMPLES[kernel.arch]}). Without one, --quick verifies a handful of points on the "
                     "simulated device, and --simulate all of them; --modelled ranks the production kernel's by "
                     "the timing model.")


def few(candidates: Sequence[space.Candidate]) -> list[space.Candidate]:
    """The same, with all but a handful of the legal ones dropped: every so many of them."""
    legal = [c for c in candidates if not c.reason]
    kept = legal[::max(1, len(legal) // QUICK_POINTS)][:QUICK_POINTS]
    return [c if c.reason or c in kept else replace(c, reason=NOT_TRIED) for c in candidates]


def build_programs(simulated: bool) -> Path:
    """autotune_measure, and the simulated device where it is needed. Raises Failure."""
    program = BUILD / "bin" / "autotune_measure"
    there = program.exists() and (not simulated or (BUILD / "sim" / "libcudart.so.13").exists())
    if not there:
        targets = ["autotune_measure", *(["cudart", "cuda"] if simulated else [])]
        measure.build(targets, "programs")
    return program


# --- doing it ---------------------------------------------------------------------------------------------------------


@dataclass
class Tuning:
    """A command: everything that its phases share."""

    request: Request
    candidates: list[space.Candidate]
    devices: list[Device]
    gpu: str
    output: record.Record
    program: Path
    compiler: Compiler
    stop: threading.Event
    commit: str = field(default_factory=files.commit_id)
    failures: list[str] = field(default_factory=list)

    @property
    def kernel(self) -> space.Kernel:
        return self.request.kernel

    @property
    def simulated(self) -> bool:
        return self.devices[0].index is None

    def settings(self, sizes: Sequence[Shape], scale: int) -> Settings:
        budget = 0.0 if self.simulated else scale * self.request.budget_s
        return Settings(sizes, budget, rounds=3 if scale == 1 else 6, timeout_s=self.request.timeout_s + budget)

    def is_done(self, candidate: space.Candidate, sizes: Sequence[Shape], rounds: int) -> bool:
        for size in sizes:
            row = self.output.find(self.kernel.fields(candidate.point), size_text(size))
            if self.request.fresh or row is None or row["build"] != self.compiler.key(candidate.point):
                return False
            if row["kind"] == "measured" and (row["gpu"] != self.gpu or int(row["rounds"] or 0) < rounds):
                return False
        return True

    def record_dropped(self, sizes: Sequence[Shape]) -> None:
        for candidate in self.candidates:
            if candidate.reason:
                fields = self.kernel.fields(candidate.point)
                self.output.put({**fields, "size": size_text(s), "status": candidate.reason,
                                 "name": candidate.name} for s in sizes)
        self.output.save()

    def rows_of(self, task: Task, settings: Settings) -> list[record.Row]:
        fields = {**self.kernel.fields(task.candidate.point), "name": task.candidate.name}
        threads, smem = self.kernel.resources(task.candidate.point)
        if task.variant:
            ctas = space.ctas_per_sm(task.variant.registers, threads, smem)
            fields.update(registers=str(task.variant.registers), spill_bytes=str(task.variant.spill_bytes),
                          smem_bytes=str(smem), ctas_per_sm=str(ctas), occupancy=f"{ctas * threads / 2048:.3f}")
        fields.update(date=files.now(), commit=self.commit,
                      build=self.compiler.key(task.candidate.point), rounds=str(settings.rounds))
        rows = []
        for size, answer in zip(settings.sizes, task.answers):
            status = str(answer["status"])
            row = {**fields, "size": size_text(size),
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
        sweep = Sweep(self.kernel, self.compiler, self.devices, settings, self.program, self.stop, self.request.jobs)
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

    def run(self, sizes: Sequence[Shape], best_sizes: Sequence[Shape]) -> None:
        self.record_dropped(sizes)
        legal = [c for c in self.candidates if not c.reason]
        self.perform("sweep", legal, self.settings(sizes, scale=1))
        if not self.simulated and self.request.best > 0 and not self.request.quick and self.request.shard.whole:
            self.perform("best", self.best(legal, sizes), self.settings(best_sizes, scale=4))

    def best(self, legal: Sequence[space.Candidate], sizes: Sequence[Shape]) -> list[space.Candidate]:
        """Those that are worth a second, longer look: the fastest at each size, and the named ones."""
        keys = set()
        for size in sizes:
            for row in self.output.measured(size_text(size))[:self.request.best]:
                keys.add(tuple(row[name] for name in self.kernel.fields(legal[0].point)))
        return [c for c in legal if c.name or tuple(self.kernel.fields(c.point).values()) in keys]


def default_output(request: Request, gpu: str) -> Path:
    """Of what is not the whole sweep, no page knows."""
    kernel, folder = request.kernel, data.FOLDER if request.shard.whole else BUILD / "autotune"
    if request.quick:
        return request.shard.beside(BUILD / "autotune" / f"quick_{kernel.name}_sm{kernel.arch}.csv")
    if gpu == "simulated":
        return request.shard.beside(folder / f"sim_autotune_{kernel.name}_sm{kernel.arch}.csv")
    name = measure.default_output(gpus.Gpu(gpu, kernel.arch)).stem
    return request.shard.beside(folder / f"{name}_autotune_{kernel.name}.csv")


def print_result(tuning: Tuning, sizes: Sequence[Shape]) -> None:
    for size in map(size_text, sizes):
        rows = tuning.output.measured(size)
        if not rows:
            right = [r for r in tuning.output.rows.values() if r["size"] == size and r["status"] == record.OK]
            where = " on the simulated device" if tuning.simulated else ""
            print(f"{size}: {len(right)} variants are right{where}.")
        for row in rows[:tuning.request.best or 1]:
            point = tuning.kernel.complete({p.name: p.parse(row[p.name]) for p in tuning.kernel.parameters})
            print(f"{size}: {float(row['tflops']):.1f} TFLOPS, {float(row['ratio_cublas']):.3f} of cuBLAS: "
                  f"{tuning.kernel.describe(point)}")


def draw(sweep: Path, folder: Path) -> None:
    """The heat-maps, with whatever Python has matplotlib; without one it is said, and nothing else is lost."""
    script = SCRIPTS / "autotune" / "heatmap.py"
    code = 'source "$1/toolchain.sh"; find_python; exec "$PYTHON" "${@:2}"'
    subprocess.run(["bash", "-c", code, "bash", SCRIPTS, script, sweep, "--output", folder], check=False)


def tune(request: Request) -> int:
    """The whole of it. Returns the exit code. Raises Failure."""
    candidates = request.shard.of(find_candidates(request))
    name = request.kernel.name
    devices, gpu = choose_devices(request)
    simulated = devices[0].index is None
    sizes = request.sizes or sizes_of((SIMULATED_SIZES if simulated else SIZES)[name], request.kernel)
    best_sizes = request.best_sizes or sizes_of(RETIMED[name], request.kernel)
    output = record.Record(request.output or default_output(request, gpu), request.kernel)
    stop = threading.Event()
    try:
        compiler = Compiler(request.kernel, BUILD / "autotune" / "cache", timeout=300, stop=stop)
        tuning = Tuning(request, few(candidates) if request.quick else list(candidates), devices, gpu, output,
                        build_programs(simulated), compiler, stop)
        print(summary_of(tuning.candidates), file=sys.stderr)
        tuning.run(sizes, best_sizes)
    except (DiskFull, OSError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise Failure(f"Nothing more can be written ({said}). {output.path} holds what was measured before; make room, "
                      "and the same command goes on from there.") from None
    except KeyboardInterrupt:
        print(f"\nInterrupted. {output.path} holds what was measured so far; the same command goes on from there.",
              file=sys.stderr)
        return EXIT_INTERRUPTED
    print_result(tuning, sizes if simulated else list(dict.fromkeys([*sizes, *best_sizes])))
    for failure in tuning.failures:
        print(failure)
    if request.draw and request.shard.whole:
        draw(output.path, request.charts or (output.path.parent if request.quick else ROOT / CHARTS))
    return EXIT_WRONG if tuning.failures else EXIT_RIGHT
