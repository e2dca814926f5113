#!/usr/bin/env python3
"""Records what the levels say of themselves and do on the simulated device, for the pages that are rendered from it:

    docs/results/explain.json          tile, shared-memory map, barriers and roles of every configuration
    docs/results/sim_counters.csv      what each kernel does at one small shape, counted
    docs/results/sim_timeline_*.json   who does what when, for a tile or a few of them

It runs the built executables, always on the simulated device, with or without a GPU; the same sources give the same
files on every machine. scripts/render.py reads the files and needs no build. What was recorded of a kernel that cannot
run stays as it is.

Exit codes: 0 recorded; 1 a kernel could not run, or with --check: a file is out of date; 2 wrong command line, or not
built.
"""
from __future__ import annotations

import argparse
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Sequence

import kernels
import ladder
import recorded
import tables
import timeline

# D is stored with a pitch of N + 8 elements: 4224 of them are whole cache lines, so that each row begins on one. A GPU
# of 8 SMs gives every CTA several tiles.
COUNTERS_SHAPE = (512, 4216, 256)
COUNTERS_SMS = 8

# Per architecture: the CTAs of the picture, a cluster of them or what fits, and how many tiles each takes.
TIMELINE_SMS = {100: 2, 90: 2}
TIMELINE_K_BLOCKS = 8
TIMELINE_TILES = 3


class ObserveError(Exception):
    """Levels that cannot be observed at all; the message says why."""


class KernelFailed(Exception):
    """A kernel that cannot run; the message says which and why."""


@dataclass(frozen=True)
class Levels:
    """The built executables."""

    root: Path
    build: Path

    def run(self, level: str, arch: int, arguments: Sequence[str], sim: Sequence[str]) -> None:
        program = ladder.executable(level, arch, self.build)
        if not program.exists():
            raise ObserveError(f"{program} is not built: run scripts/build.sh.")
        command = [str(self.root / "scripts" / "sim.sh"), *sim, str(program), *arguments]
        environment = {**os.environ, "LADDER_SIM_DIR": str(self.build / "sim")}
        answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
        if answer.returncode != 0:
            words = (answer.stderr.strip() or answer.stdout.strip() or "no word").splitlines()[-1]
            raise KernelFailed(f"{program.name} on the simulated device: exit code {answer.returncode}: {words}")

    def output(self, level: str, arch: int, arguments: Sequence[str], sim: Sequence[str] = (), option: str = "") -> str:
        """What a run writes into the file that `option` of sim.sh, or --json of the level, names."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "output"
            if option:
                self.run(level, arch, arguments, [*sim, option, str(file)])
            else:
                self.run(level, arch, [*arguments, "--json", str(file)], sim)
            return file.read_text(encoding="utf-8")

    def configs(self, level: str, arch: int) -> list[str]:
        program = ladder.executable(level, arch, self.build)
        if not program.exists():
            raise ObserveError(f"{program} is not built: run scripts/build.sh.")
        answer = subprocess.run([program, "--list-configs"], capture_output=True, text=True, check=True)
        return [line.split()[0] for line in answer.stdout.splitlines()]


def explain(levels: Levels, level: str, arch: int) -> list[str]:
    """A line of JSON per configuration."""
    return [levels.output(level, arch, ["--explain", "--config", config]).strip()
            for config in levels.configs(level, arch)]


# --- counters ---------------------------------------------------------------------------------------------------------

COUNTED = ("tensor_flops", "tensor_instructions", "tma_instructions", "tma_load_bytes", "tma_fetch_bytes",
           "tma_store_bytes", "global_store_bytes", "redundant_store_bytes", "barrier_waits", "barrier_waits_blocked",
           "cta_barriers", "cluster_barriers", "tmem_reads")
STORES = ("st.", "stmatrix")


def accesses(launches: list[dict[str, Any]], space: str, cost: str) -> tuple[int, int]:
    """Warp instructions that store to this space, and what they cost together."""
    stores = [a for launch in launches for a in launch[space] if a["instruction"].startswith(STORES)]
    return sum(a["warp_accesses"] for a in stores), sum(a[cost] for a in stores)


def counters(levels: Levels, level: str, arch: int) -> dict[str, str]:
    m, n, k = COUNTERS_SHAPE
    text = levels.output(level, arch, shape_arguments(COUNTERS_SHAPE), ["--sms", str(COUNTERS_SMS)], "--counters")
    data = json.loads(text)
    launches = data["launches"]  # a product may be shared out to several
    global_stores, lines = accesses(launches, "global", "lines")
    shared_stores, wavefronts = accesses(launches, "shared", "wavefronts")
    row = {"level": level, "arch": arch, "m": m, "n": n, "k": k, "sms": data["sms"], "useful_flops": 2 * m * n * k,
           **{name: sum(launch[name] for launch in launches) for name in COUNTED},
           "global_stores": global_stores, "global_store_lines": lines,
           "shared_stores": shared_stores, "shared_store_wavefronts": wavefronts, "kind": "modelled",
           "gpu": data["gpu"]}
    return {name: str(value) for name, value in row.items()}


def shape_arguments(shape: ladder.Shape) -> list[str]:
    return ["--sizes", ladder.shape_text(shape), "--verify", "off"]


# --- timelines --------------------------------------------------------------------------------------------------------


def timeline_shape(description: recorded.Description, is_persistent: bool) -> ladder.Shape:
    """One tile, or a few for each CTA of a cluster where CTAs take several."""
    sms = TIMELINE_SMS[description.arch]
    ctas = min(description.cluster, sms) if description.tile_owner == "CTA" else 1
    clusters = max(1, sms // description.cluster)
    tiles = TIMELINE_TILES * clusters if is_persistent else 1
    return (description.tile_m * ctas * tiles, description.tile_n, description.tile_k * TIMELINE_K_BLOCKS)


def observe_timeline(levels: Levels, description: recorded.Description) -> str:
    kernel = kernels.read_kernel(levels.root, description.level, description.arch, description.config)
    shape = timeline_shape(description, "tile_coordinates" in kernel.source)
    arguments = [*shape_arguments(shape), "--config", description.config]
    trace = json.loads(levels.output(description.level, description.arch, arguments,
                                     ["--sms", str(TIMELINE_SMS[description.arch])], "--trace"))
    reduced = timeline.reduce(trace)
    head = {"level": description.level, "arch": description.arch, "config": description.config,
            "shape": list(shape), "kind": "modelled", **reduced}
    return to_json(head)


def to_json(data: dict[str, Any]) -> str:
    """A track on each line, so that differences can be read."""
    tracks = []
    for cta in data["ctas"]:
        lines = ",\n  ".join(json.dumps(track, separators=(",", ":")) for track in cta["tracks"])
        tracks.append(f'{{"cta":{cta["cta"]},"tracks":[\n  {lines}]}}')
    head = json.dumps({key: value for key, value in data.items() if key != "ctas"})
    return head[:-1] + ', "ctas": [\n' + ",\n".join(tracks) + "]}\n"


# --- all of it --------------------------------------------------------------------------------------------------------


@dataclass
class Recording:
    """What is known of one kernel."""

    explain: list[str]
    counters: Optional[dict[str, str]]
    timeline: str


def record(levels: Levels, level: str, arch: int) -> Recording:
    lines = explain(levels, level, arch)
    first = recorded.Description.of(json.loads(lines[0]))  # one configuration stands for all
    return Recording(lines, counters(levels, level, arch), observe_timeline(levels, first))


def earlier(root: Path, level: str, arch: int) -> Recording:
    """What the files hold of it."""
    context = recorded.Context(root, [])
    explained = (root / recorded.EXPLAIN).read_text(encoding="utf-8").splitlines() if context.descriptions else []
    start = f'{{"level":"{level}","arch":{arch},'
    path = root / recorded.timeline_path(level, arch)
    return Recording([line.rstrip(",") for line in explained if line.startswith(start)], context.counted(level, arch),
                     path.read_text(encoding="utf-8") if path.exists() else "")


def attempt(levels: Levels, level: str, arch: int) -> tuple[Recording, str]:
    """The recording, an earlier one if the kernel cannot run, and what went wrong."""
    try:
        return record(levels, level, arch), ""
    except (KernelFailed, kernels.SourceError, timeline.TraceError) as error:
        return earlier(levels.root, level, arch), str(error)


def observe(levels: Levels) -> tuple[dict[Path, str], list[str]]:
    """All files, relative to the root, and their content; and what went wrong, kernel by kernel."""
    keys = kernels.all_kernels(levels.root)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the work is done in processes
        attempts = list(pool.map(lambda key: attempt(levels, *key), keys))
    recordings = [recording for recording, _ in attempts]
    lines = [line for r in recordings for line in r.explain]
    files = {recorded.EXPLAIN: "[\n" + ",\n".join(lines) + "\n]\n",
             recorded.COUNTERS: to_csv([r.counters for r in recordings if r.counters])}
    files |= {recorded.timeline_path(*key): r.timeline for key, r in zip(keys, recordings) if r.timeline}
    return files, [failure for _, failure in attempts if failure]


def to_csv(rows: Sequence[dict[str, str]]) -> str:
    output = io.StringIO()
    writer = csv.DictWriter(output, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue()


def stale(root: Path, files: dict[Path, str]) -> list[Path]:
    """Files that differ, and recordings of levels that are no more."""
    differing = [path for path, content in files.items()
                 if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != content]
    left_over = [path.relative_to(root) for path in sorted((root / recorded.RESULTS).glob("sim_timeline_*.json"))]
    return differing + [path for path in left_over if path not in files]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = ladder.Parser(description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if anything would")
    parser.add_argument("--build", type=Path, default=ladder.ROOT / "build", metavar="FOLDER", help="default: build")
    options = parser.parse_args(arguments)
    try:
        files, failures = observe(Levels(ladder.ROOT, options.build.resolve()))
    except (ObserveError, tables.DataError, OSError, subprocess.SubprocessError) as error:
        ladder.give_up(ladder.EXIT_USAGE, str(error))
    changed = stale(ladder.ROOT, files)
    if options.check and changed and not failures:
        names = ", ".join(map(str, changed))
        ladder.give_up(1, f"out of date: {names}. Run python3 scripts/observe.py, then scripts/render.py.")
    if not options.check:
        write(changed, files)
    if failures:
        ladder.give_up(1, "\n".join(failures))
    return 0


def write(changed: Sequence[Path], files: dict[Path, str]) -> None:
    for path in changed:
        if path in files:
            ladder.replace_file(ladder.ROOT / path, files[path])
            print(f"recorded {path}")
        else:
            (ladder.ROOT / path).unlink()
            print(f"removed {path}")


if __name__ == "__main__":
    sys.exit(main())
