"""Profiling levels on the GPU of this machine: what Nsight Compute counts of a launch, and timers inside a kernel."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.levels import gpus, lab, names, programs
from ladder.levels.shapes import Shape, size_text
from ladder.model import calibration
from ladder.model.calibration import ExperimentFailed, profiled, read_profile
from ladder.results import data, measure
from ladder.results.data import Fields
from ladder.sim import observations, traces

COLUMNS = ("level", "arch", "m", "n", "k", "quantity", "metric", "value", "launches", "kind", "gpu", "profiler", "date",
           "commit")
TIMEOUT = 120.0  # of one level under the profiler, which repeats a launch for what it cannot count at once
CHIPS = {90: "gh100", 100: "gb100"}

# What is asked, and which metrics may answer it: the first that this profiler knows. Their names change with the chip.
QUANTITIES: dict[str, tuple[str, ...]] = {
    "cycles": ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max"),
    "tensor core, cycles active %": ("sm__pipe_tensor_op_gmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
                                     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                                     "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed",
                                     "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"),
    "tensor core, instructions": ("sm__inst_executed_pipe_tensor_op_gmma.sum", "sm__inst_executed_pipe_tensor.sum"),
    "DRAM, bytes read": ("dram__bytes_read.sum",),
    "DRAM, bytes written": ("dram__bytes_write.sum",),
    "DRAM, cycles active %": ("dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
                              "dram__throughput.avg.pct_of_peak_sustained_elapsed"),
    "L2, throughput %": ("lts__throughput.avg.pct_of_peak_sustained_elapsed",),
    "L2, link between its halves %": ("lts__ltcfabric2ltc_cycles_active.avg.pct_of_peak_sustained_elapsed",
                                      "lts__ltcfabric2lts_cycles_active.avg.pct_of_peak_sustained_elapsed"),
    "L2, to the SMs %": ("lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed",),
    "L2, sectors %": ("lts__t_sectors.avg.pct_of_peak_sustained_elapsed",),
    "L2, bytes looked up": ("lts__t_bytes.sum",),
    "SMs, bytes received": ("l1tex__m_xbar2l1tex_read_bytes.sum",),
    "L2, sectors read": ("lts__t_sectors_op_read.sum",),
    "L2, sectors read that hit": ("lts__t_sectors_op_read_lookup_hit.sum",),
    "shared memory, store wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
    "shared memory, store instructions": ("smsp__sass_inst_executed_op_shared_st.sum",
                                          "sm__sass_inst_executed_op_shared_st.sum",
                                          "smsp__inst_executed_op_shared_st.sum"),
    "shared memory, store bank conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
    "global stores, sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global stores, requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "instructions": ("smsp__inst_executed.sum",),
    "warps on an SM": ("sm__warps_active.avg.per_cycle_active",),
    **{f"stalled: {reason}": (f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio",)
       for reason in ("barrier", "gmma", "long_scoreboard", "short_scoreboard", "membar", "sleeping", "wait")},
}
ADDED = (".sum", ".max")  # over the launches of one product; of others the mean

TIMED = "level06_sm90"
PATCH = files.SCRIPTS / "maintain" / "timers" / f"{TIMED}.patch"
TIMED_LEVEL, TIMED_ARCH = 6, 90
TIMED_TILES, TIMED_TILE, TIMED_K = 3, 128, 2048  # per CTA; rows and columns; as in the simulated timelines
TIMED_SMS, SIMULATED_SMS = 132, 2  # of an H100 or H200, and of the simulated device


@dataclass
class Profile(measure.Run):
    """Which GPU's counters go where."""

    build: Path
    gpu: gpus.Gpu
    output: Path

    @cached_property
    def profiler(self) -> str:
        found = shutil.which("ncu")
        if found is None:
            raise Failure("there is no ncu on the PATH: it comes with Nsight Compute.")
        return found

    @cached_property
    def version(self) -> str:
        said = subprocess.run([self.profiler, "--version"], capture_output=True, text=True, check=False).stdout
        match = re.search(r"Version (\S+)", said)
        return f"ncu {match[1]}" if match else "ncu"

    @cached_property
    def metrics(self) -> dict[str, str]:
        """Quantity to metric, as far as this profiler knows them."""
        command = [self.profiler, "--query-metrics", "--chip", CHIPS[self.gpu.arch]]
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
        known = set(re.findall(r"^\s*(\w+__\w+)", said, re.MULTILINE))
        found = {quantity: next((m for m in candidates if m.partition(".")[0] in known), None)
                 for quantity, candidates in QUANTITIES.items()}
        return {quantity: metric for quantity, metric in found.items() if metric}

    def count(self, level: str, shape: Shape) -> list[Fields]:
        """The rows of one level at one size. Raises ExperimentFailed."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ncu.csv"
            chosen = list(dict.fromkeys(self.metrics.values()))
            m, n, k = map(str, shape)
            program = [str(names.executable(level, self.gpu.arch, self.build)), "--m", m, "--n", n, "--k", k,
                       "--verify", "off"]
            command = profiled(self.profiler, f"gemm_sm{self.gpu.arch}", chosen, log, program)
            calibration.run(command, TIMEOUT)
            launches = read_profile(log.read_text(errors="replace"), chosen)
        common = {"level": level, "arch": str(self.gpu.arch), "m": m, "n": n, "k": k, "launches": str(len(launches)),
                  "kind": "measured", "gpu": self.gpu.name, "profiler": self.version,
                  "date": self.date, "commit": self.commit}
        return [dict(common, quantity=quantity, metric=metric, value=_together(metric, launches))
                for quantity, metric in self.metrics.items()]

    def record(self, rows: Sequence[Fields]) -> None:
        """In the place of what the file holds of the same GPU, level and size."""
        old = data.read_rows(self.output)[1] if self.output.exists() else []
        new = {_key(row) for row in rows}
        order = list(QUANTITIES)
        merged = [*(row for row in old if _key(row) not in new), *rows]
        merged.sort(key=lambda r: (r["gpu"], r["level"], *(int(r[x]) for x in "mnk"), order.index(r["quantity"])))
        data.write_rows(self.output, COLUMNS, merged)


def _key(row: Fields) -> tuple[str, ...]:
    return tuple(row[column] for column in ("gpu", "level", "arch", "m", "n", "k"))


def _together(metric: str, launches: Sequence[dict[str, str]]) -> str:
    values = [float(launch[metric]) for launch in launches]
    total = sum(values)
    return f"{total if metric.endswith(ADDED) else total / len(values):.10g}"


def count_all(run: Profile, levels: Sequence[str], sizes: Sequence[Shape]) -> None:
    missing = [quantity for quantity in QUANTITIES if quantity not in run.metrics]
    if missing:
        print(f"{run.version} has no metric here for: {', '.join(missing)}.", flush=True)
    for level in levels:
        for shape in sizes:
            title, begin = f"{level} {size_text(shape)}", time.monotonic()
            try:
                run.record(run.count(level, shape))
                print(f"{title}: counted in {time.monotonic() - begin:.0f} s", flush=True)
            except (ExperimentFailed, OSError) as error:
                run.failures.append(f"{title}: {error}")
                print(f"{title}: {error}; it leaves no rows.", flush=True)


# --- timers inside a kernel -------------------------------------------------------------------------------------------


def timed_shape(sms: int) -> Shape:
    """So many tiles that each CTA has as many as in the simulated timelines."""
    return (sms * TIMED_TILES * TIMED_TILE, TIMED_TILE, TIMED_K)


def record_timers(build: Path, gpu: Optional[gpus.Gpu], output: Path, trace_file: Optional[Path]) -> None:
    """Builds level 06 with timers in it, runs it and records its timeline. `gpu` None: on the simulated device. Raises
    LabError or ExperimentFailed."""
    level = next(name for name in names.all_levels() if names.number_of(name) == TIMED_LEVEL)
    shape = timed_shape(SIMULATED_SMS if gpu is None else TIMED_SMS)
    with lab.scratch() as folder:
        lab.copy_sources(level, folder)
        lab.apply_patch(PATCH, PATCH.name, folder)
        code = f"compute_{TIMED_ARCH}a" if gpu is None else f"[sm_{TIMED_ARCH}a,compute_{TIMED_ARCH}a]"
        program, said = lab.compile_copy(level, TIMED_ARCH, code, lab.Build(build), folder)
        if program is None:
            raise lab.LabError(f"the kernel with timers does not compile:\n{said}")
        sim = [str(files.SCRIPTS / "sim.sh"), "--sms", str(SIMULATED_SMS)] if gpu is None else []
        command = [*sim, str(program), "--m", str(shape[0]), "--n", str(shape[1]), "--k", str(shape[2])]
        path = folder / "trace.json"
        environment = {**os.environ, "LADDER_TIMERS": str(path), "LADDER_SIM_DIR": str(build / "sim")}
        ended = programs.run_program(command, TIMEOUT, environment)
        if ended != EXIT_RIGHT or not path.exists():
            raise ExperimentFailed(programs.describe_failure(ended, TIMEOUT))
        text = path.read_text(encoding="utf-8")
    if trace_file is not None:
        files.replace(trace_file, text)
    files.replace(output, _reduced(json.loads(text), level, shape))


def _reduced(trace: Any, level: str, shape: Shape) -> str:
    """As the timelines of the simulated device are kept, and the clock whose cycles they are."""
    return observations.to_json({"level": level, "arch": TIMED_ARCH, "shape": list(shape),
                                 "mhz": trace["otherData"]["mhz"], **traces.reduce(trace)})


def try_timers(run: Profile, output: Path, trace_file: Optional[Path]) -> None:
    if run.gpu.arch != TIMED_ARCH:
        print(f"The timers are in the kernel of {TIMED}; this GPU runs others.")
        return
    try:
        record_timers(run.build, run.gpu, output, trace_file)
        print(f"timers in {TIMED}: recorded in {output}", flush=True)
    except (ExperimentFailed, lab.LabError, traces.TraceError) as error:
        run.failures.append(f"timers in {TIMED}: {error}")


def summarise(run: Profile) -> int:
    for failure in run.failures:
        print(f"FAILED: {failure}")
    return EXIT_WRONG if run.failures else EXIT_RIGHT
