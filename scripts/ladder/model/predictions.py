"""Levels on a GPU that need not be there: scripts/sim.sh --timing, for many points at a time."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from ladder import files
from ladder.command import Failure, UsageError
from ladder.files import RESULTS, SCRIPTS
from ladder.levels import names, simulated
from ladder.model import account
from ladder.results import data
from ladder.results.data import Fields

SIZES = "4096,6144,8192,10240,12288"
RECORDED = {"h200": SIZES, "b200": SIZES, "h100": "4096,8192"}
RECORD = RESULTS / "modelled.csv"
# Beside the ladder: what else there is to be compared with.
OTHERS = RESULTS / "modelled_others.csv"
# All configurations of a level, where they were timed alternately.
TILES, TIMED_TILES = RESULTS / "modelled_tiles.csv", RESULTS / "h200_choice.csv"
TILE_COLUMNS = ("level", "arch", "m", "n", "k", "kind", "gpu", "tflops of *")
SHAPES, CYCLES, PUBLIC = RESULTS / "h200_shapes.csv", RESULTS / "h200_cycles.csv", RESULTS / "b200_public.csv"
# By the ways in which levels are timed: at work all the time, and for a moment.
MODES = {"": "cap", "burst_": "burst"}
OF_MODE = {"tflops": "tflops", "cycles": "cycles", "sm_mhz": "mhz", "power_w": "watts", "us": "us"}
PROFILE_COLUMNS = ("level", "arch", "size", "sm_mhz", "cycles", "us", "tensor_share", "dram_read_gb", "limit", "kind",
                   "gpu", "share of *")
COMMON = {"tensor_share": "tensor_share", "l2_gb": "l2_gb", "dram_read_gb": "dram_read_gb",
          "dram_written_gb": "dram_written_gb", "limit": "limit", "executed": "executed", "clusters": "clusters",
          "error": "error"}
COLUMNS = ("level", "arch", "m", "n", "k", "config", *(mode + name for mode in MODES for name in OF_MODE), "dram_gb",
           *COMMON, "kind", "gpu")
TIMEOUT_S = 600


@dataclass(frozen=True)
class Point:
    level: str
    gpu: str
    size: str  # "4096", or "4096x14336x4096"
    config: str = ""

    @property
    def arch(self) -> int:
        return simulated.KNOWN[self.gpu].arch

    @property
    def arguments(self) -> list[str]:
        edges = self.size.split("x") * (3 if "x" not in self.size else 1)
        if len(edges) != 3 or not all(edge.isdigit() for edge in edges):
            raise UsageError(f"'{self.size}' is neither a size nor MxNxK.")
        chosen = ["--config", self.config] if self.config else []
        return ["--m", edges[0], "--n", edges[1], "--k", edges[2], *chosen]

    def __str__(self) -> str:
        return f"{self.level} at {self.size} on {self.gpu}"


# Few, quick, and with everything in them that times depend on: ordinary stores, a persistent kernel, tensor memory.
CHECKED = (Point("level03_warp_specialize", "h200", "4096"), Point(names.PRODUCTION, "h200", "4096"),
           Point("level06_tmem_double_buffer", "b200", "4096"))


def text_of(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def ask(program: Path, arguments: Sequence[str], gpu: str, powers: Sequence[str] = (), typed: str = "",
        build: Path = files.BUILD) -> tuple[list[dict[str, Any]], str]:
    """The timing model's answers to one run of a program, in their order, and what the program printed. `typed`: what
    the program reads. Raises Failure with the last sentence of a run that went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "predictions"
        done = subprocess.run(
            [str(SCRIPTS / "sim.sh"), "--timing", "--threads", "1", "--gpu", gpu,
             "--constants", str(simulated.path_of(gpu)),
             *(["--power", ",".join(powers)] if powers else []),
             "--predictions", str(output), str(program), *arguments],
            input=typed, env={"LADDER_SIM_DIR": str(build / "sim"), **os.environ}, capture_output=True, text=True,
            timeout=TIMEOUT_S, check=False)
        lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    if done.returncode != 0 or not lines:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(said[-1] if said else f"exit code {done.returncode}")
    return [json.loads(line) for line in lines], done.stdout


Row = tuple[Fields, list[Fields]]


def run(point: Point, program: Path, build: Path) -> Row:
    """The point's row, and those of its account. Raises Failure with why there is none."""
    try:
        all_found, said = ask(program, point.arguments, point.gpu, tuple(MODES.values()), build=build)
    except (Failure, subprocess.TimeoutExpired) as problem:
        raise Failure(f"{point}: {problem}") from None
    found = all_found[-len(MODES):]  # the last call's, where a program makes several
    fields: Fields = {"level": point.level, "arch": str(point.arch), **dict(zip("mnk", point.arguments[1:6:2])),
                      "config": said.split()[-1]}
    for (mode, power), each in zip(MODES.items(), found):
        assert each["power"] == power
        fields.update({mode + name: text_of(each[key]) for name, key in OF_MODE.items()})
    fields.update({name: text_of(found[0][key]) for name, key in COMMON.items()})
    fields.update(dram_gb=text_of(found[0]["dram_read_gb"] + found[0]["dram_written_gb"]), kind="modelled",
                  gpu=point.gpu)
    return fields, account.rows_of(fields, account.shares_of(found[0]))


def predict(points: Sequence[Point], build: Path, say: Callable[[str], None]) -> tuple[list[Row], list[str]]:
    """What there is per point, in their order, and what went wrong. Raises UsageError if a program is not built."""
    programs = {point: names.executable(point.level, point.arch, build) for point in points}
    for program in programs.values():
        if not program.exists():
            raise UsageError(f"{program} is not built: run scripts/build.sh.")
    rows: list[Row] = []
    failures: list[str] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for future in [pool.submit(run, point, programs[point], build) for point in points]:
            try:
                rows.append(future.result())
            except Failure as failure:
                failures.append(str(failure))
                continue
            fields = rows[-1][0]
            shape = "x".join(fields[axis] for axis in "mnk")
            say(f"{fields['kind']}: {fields['gpu']} {fields['level']:<26} {shape:<18} {fields['tflops']:>8} TFLOPS at "
                f"{fields['sm_mhz']} MHz, {fields['cycles']:>9} cycles, {fields['limit']}")
    return rows, failures


def others(root: Path) -> list[Point]:
    """What was measured of an H200 beyond the ladder's sizes, and what others report of a B200 for kernels like
    ours."""
    points = []
    for path, gpu in ((SHAPES, "h200"), (CYCLES, "h200"), (PUBLIC, "b200")):
        for row in data.read_rows(root / path)[1]:
            size = row["m"] if row["m"] == row["n"] == row["k"] else "x".join(row[axis] for axis in "mnk")
            if gpu != "h200" or size not in SIZES.split(","):
                points.append(Point(row["level"], gpu, size, row["config"] if gpu == "b200" else ""))
    return list(dict.fromkeys(points))


def run_all(point: Point, program: Path, build: Path) -> list[Fields]:
    """A row for each of the program's configurations, under load. Raises Failure."""
    found, said = ask(program, [*point.arguments, "--config", "all"], point.gpu, (MODES[""],), build=build)
    configs = [line.split()[-1] for line in said.splitlines()]
    if len(configs) != len(found):
        raise Failure(f"{point}: {len(found)} predictions of {len(configs)} configurations")
    fixed = {"level": point.level, "arch": str(point.arch), **dict(zip("mnk", point.arguments[1:6:2])),
             "kind": "modelled", "gpu": point.gpu}
    flops = 2.0 * int(fixed["m"]) * int(fixed["n"]) * int(fixed["k"])
    return [{**fixed, "config": config, "tflops": text_of(1e-6 * flops / float(each["us"]))}
            for config, each in zip(configs, found)]


def predict_tiles(root: Path, build: Path, say: Callable[[str], None]) -> list[Fields]:
    """All configurations of the levels in TIMED_TILES, shape by shape. Raises Failure."""
    rows: list[Fields] = []
    timed = data.read_rows(root / TIMED_TILES)[1]
    for level, shape in dict.fromkeys((row["level"], "x".join(row[axis] for axis in "mnk")) for row in timed):
        rows += run_all(Point(level, "h200", shape), names.executable(level, 90, build), build)
        say(f"modelled: {level} at {shape}, in {sum(row['level'] == level for row in rows)} rows")
    return rows


def profiled(root: Path) -> list[tuple[Point, str]]:
    """What a profiler counted on an H100, one launch at free clocks each, with the clock of the level in a burst, in
    GHz."""
    counted = {(row["level"], row["m"]) for row in data.read_rows(root / account.COUNTED)[1]}
    return [(Point(row["level"], "h100", row["m"]), f"{float(row['mhz']) / 1000:.4f}")
            for row in data.read_rows(root / account.CLOCKS)[1]
            if row["mode"] == "burst" and (row["level"], row["m"]) in counted]


def predict_profiled(root: Path, levels: Sequence[str], build: Path, say: Callable[[str], None]) -> list[Fields]:
    """A row for each part of the account of each of these points, at its clock. Raises Failure."""
    rows: list[Fields] = []
    for point, ghz in profiled(root):
        if point.level in levels:
            program = names.executable(point.level, point.arch, build)
            found = ask(program, point.arguments, point.gpu, (ghz,), build=build)[0][-1]
            fixed = {"level": point.level, "arch": str(point.arch), "size": point.size, "sm_mhz": text_of(found["mhz"]),
                     **{name: text_of(found[name])
                        for name in ("cycles", "us", "tensor_share", "dram_read_gb", "limit")},
                     "kind": "modelled", "gpu": point.gpu}
            rows += [{**fixed, "config": part, "share": f"{share:.5f}"}
                     for part, share in account.shares_of(found).items()]
            say(f"modelled: {point} at {ghz} GHz, {fixed['cycles']} cycles, {fixed['limit']}")
    return rows


def by_point(rows: Iterable[Fields]) -> dict[tuple[str, str, str], Fields]:
    """Rows by level, GPU and edge."""
    return {(row["level"], row["gpu"], row["m"]): row for row in rows}
