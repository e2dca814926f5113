"""Ranks the points of a space without a GPU: each is compiled and handed to the simulated device's timing model."""
from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.files import BUILD
from ladder.levels import simulated
from ladder.levels.shapes import Shape, shape_text, size_text
from ladder.model.predictions import ask, text_of
from ladder.results import data
from ladder.results.data import Fields
from ladder.tune import space
from ladder.tune.sweep import Progress
from ladder.tune.tuning import Request, build_programs, few, find_candidates, sizes_of, summary_of
from ladder.tune.variants import CompileError, Compiler

SIZES = {90: "4096,8192", 100: "4096,8192,12288"}  # on Hopper those of the sweep, to be compared with it
COLUMNS = ("name", "size", "tflops", "cycles", "sm_mhz", "power_w", "tensor_share", "dram_gb", "limit", "error",
           "status", "kind", "gpu")
SEPARATED = 0.03  # what is nearer to the best than this, the model does not tell from it


def record_of(folder: Path, kernel: space.Kernel) -> Path:
    return folder / f"modelled_ranking_{kernel.name}_sm{kernel.arch}.csv"


def is_whole(request: Request) -> bool:
    """Of what is not the whole ranking, no page knows."""
    return not (request.points or request.spaces or request.sizes or request.quick) and request.shard.whole


def working_file(request: Request) -> Path:
    """Complete at any moment, so that what was predicted stays when the command is interrupted."""
    return request.output or request.shard.beside(record_of(BUILD / "autotune", request.kernel))


def predict(kernel: space.Kernel, program: Path, library: str, sizes: Sequence[Shape]) -> list[dict[str, Any]]:
    """One prediction per size. Raises Failure with what went wrong."""
    arguments = ["--type", kernel.element, "--arch", str(kernel.arch), "--sizes", ",".join(map(shape_text, sizes))]
    found, _ = ask(program, arguments, simulated.DEFAULT[kernel.arch], typed=library + "\n")
    if len(found) != len(sizes):
        raise Failure(f"{len(found)} predictions of {len(sizes)}")
    return found


def useful_tflops(found: dict[str, Any], shape: Shape) -> float:
    return 2e-6 * shape[0] * shape[1] * shape[2] / float(found["us"])


def rows_of(kernel: space.Kernel, candidate: space.Candidate, compiler: Compiler, program: Path,
            sizes: Sequence[Shape]) -> list[Fields]:
    """A row per size, or one with the reason why there is none."""
    fields = {**kernel.fields(candidate.point), "name": candidate.name}
    gpu = simulated.DEFAULT[kernel.arch]
    try:
        predictions = predict(kernel, program, compiler.compile(candidate.point).library, sizes)
    except (CompileError, Failure, subprocess.TimeoutExpired) as problem:
        status = f"not predicted: {problem}"
        return [{**fields, "size": size_text(size), "status": status, "gpu": gpu} for size in sizes]
    return [{**fields, "size": size_text(size), "tflops": text_of(useful_tflops(found, size)),
             "cycles": text_of(found["cycles"]), "sm_mhz": text_of(found["mhz"]), "power_w": text_of(found["watts"]),
             "tensor_share": text_of(found["tensor_share"]),
             "dram_gb": text_of(found["dram_read_gb"] + found["dram_written_gb"]),
             "limit": str(found["limit"]), "error": text_of(found["error"]), "status": "ok", "kind": "modelled",
             "gpu": gpu} for size, found in zip(sizes, predictions)]


def print_ranking(kernel: space.Kernel, rows: Sequence[Fields], size: str, count: int) -> None:
    ranked = sorted((row for row in rows if row["size"] == size and row["status"] == "ok"),
                    key=lambda row: -float(row["tflops"]))
    for row in ranked[:count]:
        point = kernel.complete({p.name: p.parse(row[p.name]) for p in kernel.parameters})
        print(f"{size}: {float(row['tflops']):7.1f} TFLOPS, modelled: {kernel.describe(point)}")
    near = sum(float(row["tflops"]) > (1 - SEPARATED) * float(ranked[0]["tflops"]) for row in ranked) if ranked else 0
    if near > 1:
        print(f"{size}: the first {near} lie within {100 * SEPARATED:.0f} %, which the model does not tell apart.")


def rank(request: Request) -> int:
    """The whole of it. Returns the exit code."""
    kernel = request.kernel
    candidates = request.shard.of(find_candidates(request))
    if request.quick:
        candidates = few(candidates)
    legal = [candidate for candidate in candidates if not candidate.reason]
    print(summary_of(candidates), file=sys.stderr)
    sizes = request.sizes or sizes_of(SIZES[kernel.arch], kernel)
    program = build_programs(simulated=True)
    compiler = Compiler(kernel, BUILD / "autotune" / "cache", timeout=300, stop=threading.Event())
    progress = Progress("modelled", len(legal))
    output = working_file(request)
    columns = (*(p.name for p in kernel.parameters), *COLUMNS)
    rows: list[Fields] = []
    with ThreadPoolExecutor(request.jobs) as pool:
        for found in pool.map(lambda c: rows_of(kernel, c, compiler, program, sizes), legal):
            rows += found
            complete = [{name: row.get(name, "") for name in columns} for row in rows]
            files.replace(output, data.csv_text(columns, complete))
            progress.step(found[0]["status"].split(":")[0])
    progress.finish()
    if request.output is None and is_whole(request):
        output = record_of(data.FOLDER, kernel)
        files.replace(output, data.csv_text(columns, complete))
    for size in map(size_text, sizes):
        print_ranking(kernel, rows, size, request.best or 1)
    wrong = [row["status"] for row in rows if row["status"] != "ok"]
    for status in wrong:
        print(status)
    return EXIT_WRONG if wrong else EXIT_RIGHT
