"""What a GPU does without one fence, barrier or wait of a kernel, or with less of it: how many launches are wrong.

scripts/maintain/without/ makes a program of each level that counts them. A mutant is a copy of it whose PTX has been
changed; the driver compiles that PTX when the program starts, in place of the machine code beside it. Only what cannot
hang a GPU is removed or weakened: what orders, and waits for nothing that others count.
"""
from __future__ import annotations

import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_RIGHT, Failure
from ladder.levels import names, programs
from ladder.levels.shapes import Shape, shape_text
from ladder.mutants import study, weaken
from ladder.mutants.sites import FENCES, Embedded, Site
from ladder.mutants.study import Kernel
from ladder.results import data, measure
from ladder.results.data import Fields

# `way`: how the site is weakened; empty where it is removed, and of the kernel as it is.
COLUMNS = ("level", "arch", "config", "site", "instruction", "way", "m", "n", "k", "runs", "wrong", "worst", "note",
           "kind", "gpu", "date", "commit")
COUNTED = COLUMNS[6:12]
TOOL_COLUMNS = (*COLUMNS[:6], "tool", "m", "n", "k", "verdict", "says", *COLUMNS[-4:])
KEY = ("gpu", "level", "arch", "config", "way")
SIZES = ("4096x4096x4096,8192x8192x2048,3000x2776x520,1024x16384x64,4096x4096x192,16384x1024x512,2048x2048x8192,"
         "1100x1000x392")
QUICK_SIZES = "200x264x200"  # on the simulated device: ragged tiles, more than one round of stages
TOOL_SIZE: Shape = (520, 520, 264)
LAUNCHES, TOOL_LAUNCHES = 300, 1
TIMEOUT_S, TOOL_TIMEOUT_S = 40, 40
TOOLS = ("racecheck", "synccheck")
# Without them a thread goes on, and no count and no phase is another.
CANNOT_HANG = (*FENCES, "bar.warp.sync", "bar.sync", "cp.async.bulk.wait_group.read", "cp.async.bulk.wait_group",
               "wgmma.wait_group", "tcgen05.wait::ld", "tcgen05.wait::st", "griddepcontrol.wait")
# Waits for mbarriers are no such sites, but for these, by level and architecture. A thread that waits here has also
# waited for the phase that it arms next, so no count goes wrong.
HARMLESS_WAITS = {("level02_tma_swizzle", 90): "ptx::mbarrier_wait(smem_empty("}
STORES = r"(?:st\.global|cp\.async\.bulk\.tensor\.2d\.global)"
SANITIZER = "compute-sanitizer"


@dataclass(frozen=True)
class Mutant:
    """A kernel without one site, or with it weakened; without any change if there is none."""

    kernel: Kernel
    site: Optional[Site]
    way: str  # empty: removed
    program: Path

    @property
    def title(self) -> str:
        name = f"{names.short(self.kernel.level)}{' ' + self.kernel.config if self.kernel.config else ''}"
        if self.site is None:
            return f"{name} as it is"
        return f"{name} with {self.site.title}, {self.way}" if self.way else f"{name} without {self.site.title}"

    @property
    def fields(self) -> Fields:
        title = study.title_of(self.kernel, self.site) if self.site else {
            "level": self.kernel.level, "arch": str(self.kernel.arch), "config": self.kernel.config, "site": "",
            "instruction": ""}
        return {**title, "way": self.way}


class MutantFailed(Exception):
    """A run that counted nothing; the message says what happened."""


def removable(kernel: Kernel) -> list[Site]:
    """The sites whose removal cannot hang a GPU. The barrier after which mbarriers exist is none of them, since an
    early thread would wait at uninitialised memory; nor is a barrier at which others arrive and count on this
    arrival."""
    counted = kernel.embedded.announcing() | kernel.embedded.counted_by_others()
    wait = HARMLESS_WAITS.get((kernel.level, kernel.arch), "")

    def can_go(site: Site) -> bool:
        if site.instruction == "mbarrier.try_wait":
            return bool(wait) and wait in kernel.source[site.line - 1]
        return site.instruction in CANNOT_HANG and not counted & set(site.places)

    return [site for site in kernel.sites if can_go(site)]


@dataclass
class Experiment(measure.Run):
    """How often, at which sizes and how mutants run."""

    output: Path
    tool_output: Path
    sizes: Sequence[Shape]
    launches: int = LAUNCHES
    simulated_sms: int = 0
    jobs: int = 2
    weakens: bool = False
    gpu: str = ""

    def mutants(self, pairs: Iterable[tuple[Kernel, Site]], folder: Path) -> Iterator[Mutant]:
        """Writes their programs into the folder; each kernel as it is comes first."""
        sites: dict[Kernel, list[Site]] = {}
        for kernel, site in pairs:
            sites.setdefault(kernel, []).append(site)
        made: dict[tuple[Path, str], Path] = {}  # configurations share programs
        for kernel, chosen in sites.items():
            embedded, safe = Embedded.find(kernel.counter, kernel.arch), removable(kernel)
            yield Mutant(kernel, None, "", kernel.counter)
            for site in chosen:
                changes = (weaken.variants(kernel, site) if self.weakens else
                           [("", kernel.embedded.without(site.places))] if site in safe else [])
                for way, ptx in changes:
                    if way in weaken.MAY_HANG:
                        continue
                    key = kernel.counter, ptx
                    if key not in made:
                        made[key] = folder / f"{kernel.level}_{len(made)}"
                        embedded.write(ptx, made[key])
                    yield Mutant(kernel, site, way, made[key])

    def command(self, program: Path, config: str, sizes: Sequence[Shape], launches: int) -> list[str]:
        sim = [str(files.SCRIPTS / "sim.sh"), "--sms", str(self.simulated_sms)] if self.simulated_sms else []
        return [*sim, str(program), *(["--config", config] if config else []), "--launches", str(launches), "--sizes",
                ",".join(map(shape_text, sizes))]

    def environment(self, cache: Path) -> dict[str, str]:
        """In which the driver compiles the PTX, once for all runs of a program."""
        return {**os.environ, "CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_PATH": str(cache), "CUDA_CACHE_DISABLE": "0",
                "CUDA_CACHE_MAXSIZE": str(4 << 30)}

    def fields(self, mutant: Mutant) -> Fields:
        return {**mutant.fields, "kind": "modelled" if self.simulated_sms else "measured", "gpu": self.gpu,
                "date": self.date, "commit": self.commit}

    def count(self, mutant: Mutant, environment: dict[str, str]) -> list[Fields]:
        """A row for each size. What ended the program stands in the row of the size at which it did."""
        code, said = run(self.command(mutant.program, mutant.kernel.config, self.sizes, self.launches), TIMEOUT_S,
                         environment)
        gpu = re.search("^# gpu: (.*)", said, re.MULTILINE)
        if not gpu:
            raise MutantFailed(programs.describe_failure(code, TIMEOUT_S))
        self.gpu = gpu[1]
        rows = [{**self.fields(mutant), **dict(zip(COUNTED, line.split(",")))}
                for line in re.findall(r"^\d+(?:,\d+){5}$", said, re.MULTILINE)]
        if code != EXIT_RIGHT and len(rows) < len(self.sizes):
            rows.append({**self.fields(mutant), **dict(zip("mnk", map(str, self.sizes[len(rows)]))),
                         "note": programs.describe_failure(code, TIMEOUT_S)})
        return rows


def run(command: Sequence[str], timeout_s: float, environment: dict[str, str]) -> tuple[Optional[int], str]:
    """The exit code, None if the time was up, and what the program has said."""
    with tempfile.TemporaryFile() as output:
        code = programs.run_program(command, timeout_s, environment, output)
        output.seek(0)
        return code, output.read().decode(errors="replace")


class Records:
    """A CSV file that is complete at any moment; what is measured again replaces what was there."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, columns
        self.rows = data.read_rows(path)[1] if path.exists() else []
        self._renewed: set[tuple[str, ...]] = set()

    def add(self, rows: Sequence[Fields]) -> None:
        for key in {tuple(row[column] for column in KEY) for row in rows} - self._renewed:
            self._renewed.add(key)
            self.rows = [row for row in self.rows if tuple(row[column] for column in KEY) != key]
        self.rows += rows
        data.write_rows(self.path, self.columns, self.rows)


def control(experiment: Experiment, kernel: Kernel, folder: Path, environment: dict[str, str]) -> None:
    """That changed PTX is what runs: a kernel that stores nothing leaves D poisoned. Raises Failure."""
    embedded = Embedded.find(kernel.counter, kernel.arch)
    program = folder / f"{kernel.level}_control"
    embedded.write(embedded.without(embedded.matching(STORES)), program)
    command = experiment.command(program, "", experiment.sizes[-1:], 1)
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if not re.search(r"^\d+,\d+,\d+,1,1,[1-9]\d*$", answer.stdout, re.MULTILINE):
        raise Failure(f"{kernel.level} without any store of D should be wrong, and is not: the changed PTX does not "
                      f"run here. {answer.stderr.strip()}")


def perform(experiment: Experiment, pairs: Sequence[tuple[Kernel, Site]], tool_budget_s: float) -> int:
    """Counts, then asks the tools as long as the budget lasts. Returns the exit code."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ladder-without-") as name:
        folder = Path(name)
        environment = experiment.environment(folder / "cache")
        control(experiment, pairs[0][0], folder, environment)
        mutants = list(experiment.mutants(pairs, folder))
        compile_all(experiment, mutants, environment)
        print(f"{len(mutants)} kernels are there after {time.monotonic() - start:.0f} s", flush=True)
        records = Records(experiment.output, COLUMNS)
        with concurrent.futures.ThreadPoolExecutor(experiment.jobs) as pool:
            tasks = [(mutant, pool.submit(experiment.count, mutant, environment)) for mutant in mutants]
            for number, (mutant, task) in enumerate(tasks, start=1):
                judge(experiment, records, mutant, task, f"[{number}/{len(mutants)}]")
        print(f"counted after {time.monotonic() - start:.0f} s", flush=True)
        if tool_budget_s:
            ask_tools(experiment, mutants, environment, tool_budget_s)
    return experiment.end(f"Done in {measure.duration_text(time.monotonic() - start)}, recorded in "
                          f"{experiment.output}.")


def compile_all(experiment: Experiment, mutants: Sequence[Mutant], environment: dict[str, str]) -> None:
    """Fills the driver's cache, on all cores; what fails here fails again when it is counted."""
    if experiment.simulated_sms:
        return
    eager = {**environment, "CUDA_MODULE_LOADING": "EAGER"}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda program: run(experiment.command(program, "", experiment.sizes[-1:], 0), TIMEOUT_S, eager),
                      dict.fromkeys(mutant.program for mutant in mutants)))


def judge(experiment: Experiment, records: Records, mutant: Mutant, task: concurrent.futures.Future[list[Fields]],
          title: str) -> None:
    """Records what a mutant did, and says it in a line. The kernel as it is has its rows beside those without a
    site."""
    try:
        rows = task.result()
    except MutantFailed as failure:
        experiment.failures.append(f"{mutant.title}: {failure}")
        print(f"{title} {mutant.title}: {failure}; it leaves no rows.", flush=True)
        return
    said = ", ".join(row.get("note") or f"{row['wrong']}" for row in rows)
    print(f"{title} {mutant.title}: wrong of {experiment.launches}: {said}", flush=True)
    if mutant.site is None and any(row.get("note") or row["wrong"] != "0" for row in rows):
        experiment.failures.append(f"{mutant.title} is wrong.")
    if mutant.site or not experiment.weakens:
        records.add(rows)


# --- what compute-sanitizer says --------------------------------------------------------------------------------------


def sanitizer() -> Optional[str]:
    return shutil.which(SANITIZER) or shutil.which(SANITIZER, path="/usr/local/cuda/bin")


def ask_tools(experiment: Experiment, mutants: Sequence[Mutant], environment: dict[str, str], budget_s: float) -> None:
    """Both tools about every mutant, several at a time; whatever does not begin within the budget is not asked."""
    program = sanitizer()
    if experiment.simulated_sms or program is None:
        print(f"There is no {SANITIZER} here: what it says is left out.", flush=True)
        return
    end = time.monotonic() + budget_s
    records = Records(experiment.tool_output, TOOL_COLUMNS)

    def ask(tool: str, mutant: Mutant) -> Optional[Fields]:
        return ask_tool(experiment, program, tool, mutant, environment) if time.monotonic() < end else None

    pairs = [(tool, mutant) for tool in TOOLS for mutant in mutants if mutant.site or not experiment.weakens]
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        rows = [row for row in pool.map(lambda pair: ask(*pair), pairs) if row is not None]
    for row in rows:
        print(f"{row['tool']}: {names.short(row['level'])} {row['config']} {row['site'] or 'as it is'} "
              f"{row['instruction']}{', ' + row['way'] if row['way'] else ''}: {row['verdict']}", flush=True)
    records.add(rows)
    if len(rows) < len(pairs):
        print(f"{len(pairs) - len(rows)} of {len(pairs)} questions were not asked: the time was up.", flush=True)


def ask_tool(experiment: Experiment, program: str, tool: str, mutant: Mutant, environment: dict[str, str]) -> Fields:
    """One launch at a small size, under one tool that looks at our kernels only."""
    code, said = run([program, "--tool", tool, "--kernel-name", "kns=gemm_sm", "--print-limit", "3",
                      *experiment.command(mutant.program, mutant.kernel.config, [TOOL_SIZE], TOOL_LAUNCHES)],
                     TOOL_TIMEOUT_S, environment)
    verdict, says = read_tool(tool, code, said)
    return {**experiment.fields(mutant), "tool": tool, **dict(zip("mnk", map(str, TOOL_SIZE))), "verdict": verdict,
            "says": says}


def read_tool(tool: str, code: Optional[int], output: str) -> tuple[str, str]:
    """The verdict of a run (clean, reported, internal error, or what ended it), and the first thing that was said."""
    said = [line.removeprefix("=========").strip() for line in output.splitlines() if line.startswith("=========")]
    first = next((line for line in said if re.match(r"(Error|Warning|Barrier error|Internal|.*[Hh]azard)", line)
                  and "SUMMARY" not in line), "")
    if re.search("internal (sanitizer )?error", output, re.IGNORECASE):
        return "internal error", first
    if code is None:
        return "timeout", first
    pattern = r"RACECHECK SUMMARY: (\d+) hazards?" if tool == "racecheck" else r"ERROR SUMMARY: (\d+) errors?"
    summary = re.search(pattern, output)
    if summary is None:
        return programs.describe_failure(code, TOOL_TIMEOUT_S).lower() if code else "no summary", first
    return ("reported" if int(summary[1]) else "clean"), first
