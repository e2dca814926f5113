"""What a GPU does without one fence, barrier or wait of a kernel: how many launches are wrong.

scripts/maintain/without/ makes a program of each level that counts them. A mutant is a copy of it whose PTX lacks an
instruction; the driver compiles that PTX when the program starts, in place of the machine code beside it. Only what
cannot hang a GPU is removed: what orders, and waits for nothing that others count.
"""
from __future__ import annotations

import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.levels import names, programs
from ladder.levels.shapes import Shape, shape_text
from ladder.mutants import labels
from ladder.mutants.sites import FENCES, Embedded, Site, entries_of
from ladder.results import data, measure
from ladder.results.data import Fields

COLUMNS = ("level", "arch", "config", "site", "instruction", "m", "n", "k", "runs", "wrong", "worst", "note",
           "kind", "gpu", "date", "commit")
TOOL_COLUMNS = ("level", "arch", "config", "site", "instruction", "tool", "m", "n", "k", "verdict", "says",
                "kind", "gpu", "date", "commit")
KEY = ("gpu", "level", "arch", "config")
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
# Of a level that chooses among these, and of one that has several of which one is measured.
CONFIGS: dict[str, dict[int, tuple[str, ...]]] = {
    names.PRODUCTION: {90: ("256x192", "128x256", "128x128")},
    "level02_tma_swizzle": {90: ("swizzle128",), 100: ("swizzle128",)}}
STORES = r"(?:st\.global|cp\.async\.bulk\.tensor\.2d\.global)"
SANITIZER = "compute-sanitizer"


@dataclass(frozen=True)
class Mutant:
    """A level's kernel in one of its configurations, without one site; without any change if there is none."""

    level: str
    config: str  # empty: the only one
    site: Optional[Site]
    label: str  # of its line
    program: Path

    @property
    def title(self) -> str:
        name = f"{names.short(self.level)}{' ' + self.config if self.config else ''}"
        return f"{name} without {self.site.title}" if self.site else f"{name} as it is"


class MutantFailed(Exception):
    """A run that counted nothing; the message says what happened."""


def removable(embedded: Embedded, arch: int, source: Sequence[str] = (), wait: str = "") -> list[Site]:
    """The sites whose removal cannot hang a GPU. The barrier after which mbarriers exist is none of them, since an
    early thread would wait at uninitialised memory; nor is a barrier at which others arrive and count on this arrival.
    `wait`: on what lines of the source a wait for an mbarrier is one."""
    needed = embedded.announcing() | embedded.counted_by_others()

    def can_go(site: Site) -> bool:
        if site.instruction == "mbarrier.try_wait":
            return bool(wait) and wait in source[site.line - 1]
        return site.instruction in CANNOT_HANG and not needed & set(site.places)

    return [site for site in embedded.sites() if can_go(site)]


@dataclass
class Experiment:
    """One run: what all its rows have in common."""

    build: Path
    arch: int
    output: Path
    tool_output: Path
    sizes: Sequence[Shape]
    launches: int = LAUNCHES
    simulated_sms: int = 0
    jobs: int = 2
    limit: int = 0  # of sites of each kernel; 0: all
    gpu: str = ""
    date: str = field(default_factory=lambda: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    commit: str = field(default_factory=files.commit_id)
    failures: list[str] = field(default_factory=list)

    def program(self, level: str) -> Path:
        return self.build / "bin" / f"without_{names.target(level, self.arch)}"

    def mutants(self, levels: Sequence[str], folder: Path) -> Iterator[Mutant]:
        """Writes their programs into the folder; each kernel as it is comes first."""
        for level in levels:
            embedded = Embedded.find(self.program(level), self.arch)
            source = names.kernel_source(names.kernel_path(files.ROOT, level, self.arch))
            names_of = labels.Labels(source)
            wait = HARMLESS_WAITS.get((level, self.arch), "")
            sites = removable(embedded, self.arch, source, wait)[:self.limit or None]
            made: dict[Site, Path] = {}
            for config in CONFIGS.get(level, {}).get(self.arch, ("",)):
                yield Mutant(level, config, None, "", self.program(level))
                every = frozenset().union(*(site.entries for site in sites))
                for site in sites:
                    if not site.entries & entries_of(config, every):
                        continue
                    if site not in made:
                        made[site] = folder / f"{level}_{len(made)}"
                        embedded.write(embedded.without(site.places), made[site])
                    yield Mutant(level, config, site, names_of.label(site.line), made[site])

    def command(self, mutant: Mutant, sizes: Sequence[Shape], launches: int) -> list[str]:
        sim = [str(files.SCRIPTS / "sim.sh"), "--sms", str(self.simulated_sms)] if self.simulated_sms else []
        config = ["--config", mutant.config] if mutant.config else []
        return [*sim, str(mutant.program), *config, "--launches", str(launches), "--sizes",
                ",".join(map(shape_text, sizes))]

    def environment(self, cache: Path) -> dict[str, str]:
        """In which the driver compiles the PTX, once for all runs of a program."""
        return {**os.environ, "CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_PATH": str(cache), "CUDA_CACHE_DISABLE": "0",
                "CUDA_CACHE_MAXSIZE": str(4 << 30)}

    def fields(self, mutant: Mutant) -> Fields:
        return {"level": mutant.level, "arch": str(self.arch), "config": mutant.config, "site": mutant.label,
                "instruction": mutant.site.instruction if mutant.site else "",
                "kind": "modelled" if self.simulated_sms else "measured", "gpu": self.gpu,
                "date": self.date, "commit": self.commit}

    def count(self, mutant: Mutant, environment: dict[str, str]) -> list[Fields]:
        """A row for each size. What ended the program stands in the row of the size at which it did."""
        with tempfile.TemporaryFile() as output:
            code = programs.run_program(self.command(mutant, self.sizes, self.launches), TIMEOUT_S, environment, output)
            output.seek(0)
            lines = output.read().decode(errors="replace").splitlines()
        names_ = [line.partition(": ")[2] for line in lines if line.startswith("# gpu: ")]
        if not names_:
            raise MutantFailed(programs.describe_failure(code, TIMEOUT_S))
        self.gpu = names_[0]
        rows = []
        for line in lines:
            if re.fullmatch(r"\d+(,\d+){5}", line):
                rows.append({**self.fields(mutant), **dict(zip(COLUMNS[5:11], line.split(",")))})
        if code != EXIT_RIGHT and len(rows) < len(self.sizes):
            m, n, k = map(str, self.sizes[len(rows)])
            rows.append({**self.fields(mutant), "m": m, "n": n, "k": k,
                         "note": programs.describe_failure(code, TIMEOUT_S)})
        return rows


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


def control(experiment: Experiment, level: str, folder: Path, environment: dict[str, str]) -> None:
    """That changed PTX is what runs: a kernel that stores nothing leaves D poisoned. Raises Failure."""
    embedded = Embedded.find(experiment.program(level), experiment.arch)
    program = folder / f"{level}_control"
    embedded.write(embedded.without(embedded.matching(STORES)), program)
    silent = Mutant(level, "", None, "", program)
    command = experiment.command(silent, experiment.sizes[-1:], 1)
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if not re.search(r"^\d+,\d+,\d+,1,1,[1-9]\d*$", answer.stdout, re.MULTILINE):
        raise Failure(f"{level} without any store of D should be wrong, and is not: the changed PTX does not run here. "
                      f"{answer.stderr.strip()}")


def perform(experiment: Experiment, levels: Sequence[str], tool_budget_s: float) -> int:
    """Counts, then asks the tools as long as the budget lasts. Returns the exit code."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ladder-without-") as name:
        folder = Path(name)
        environment = experiment.environment(folder / "cache")
        control(experiment, levels[0], folder, environment)
        mutants = list(experiment.mutants(levels, folder))
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
    print(f"Done in {measure.duration_text(time.monotonic() - start)}, recorded in {experiment.output}.")
    for words in experiment.failures:
        print(f"  {words}")
    return EXIT_WRONG if experiment.failures else EXIT_RIGHT


def compile_all(experiment: Experiment, mutants: Sequence[Mutant], environment: dict[str, str]) -> None:
    """Fills the driver's cache, on all cores; what fails here fails again when it is counted."""
    if experiment.simulated_sms:
        return
    eager = {**environment, "CUDA_MODULE_LOADING": "EAGER"}

    def load(program: Path) -> None:
        mutant = Mutant("", "", None, "", program)
        command = experiment.command(mutant, experiment.sizes[-1:], 0)
        with open(os.devnull, "wb") as nowhere:
            programs.run_program(command, TIMEOUT_S, eager, nowhere)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(load, dict.fromkeys(mutant.program for mutant in mutants)))


def judge(experiment: Experiment, records: Records, mutant: Mutant, task: concurrent.futures.Future[list[Fields]],
          title: str) -> None:
    """Records what a mutant did, and says it in a line."""
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

    pairs = [(tool, mutant) for tool in TOOLS for mutant in mutants]
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        rows = [row for row in pool.map(lambda pair: ask(*pair), pairs) if row is not None]
    for row in rows:
        print(f"{row['tool']}: {names.short(row['level'])} {row['config']} {row['site'] or 'as it is'} "
              f"{row['instruction']}: {row['verdict']}", flush=True)
    records.add(rows)
    if len(rows) < len(pairs):
        print(f"{len(pairs) - len(rows)} of {len(pairs)} questions were not asked: the time was up.", flush=True)


def ask_tool(experiment: Experiment, program: str, tool: str, mutant: Mutant, environment: dict[str, str]) -> Fields:
    """One launch at a small size, under one tool that looks at our kernels only."""
    command = [program, "--tool", tool, "--kernel-name", "kns=gemm_sm", "--print-limit", "3",
               *experiment.command(mutant, [TOOL_SIZE], TOOL_LAUNCHES)]
    with tempfile.TemporaryFile() as output:
        code = programs.run_program(command, TOOL_TIMEOUT_S, environment, output)
        output.seek(0)
        verdict, says = read_tool(tool, code, output.read().decode(errors="replace"))
    m, n, k = map(str, TOOL_SIZE)
    return {**experiment.fields(mutant), "tool": tool, "m": m, "n": n, "k": k, "verdict": verdict, "says": says}


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
