"""Recording what the levels say of themselves and do on the simulated device, from their built executables."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ladder import files
from ladder.command import Failure
from ladder.context import COUNTERS, EXPLAIN, Context, timeline_path
from ladder.files import read_json
from ladder.levels import names
from ladder.levels.description import Description, ExplainError, ask, describe
from ladder.levels.shapes import Shape, shape_text
from ladder.results import choice, data
from ladder.sim import traces

# D is stored with a pitch of N + 8 elements: 4224 of them are whole cache lines, so that each row begins on one. A GPU
# of 8 SMs gives every CTA several tiles.
COUNTERS_SHAPE = (512, 4216, 256)
COUNTERS_SMS = 8

# Per architecture: the CTAs of the picture, a cluster of them or what fits, and how many tiles each takes.
TIMELINE_SMS = {100: 2, 90: 2}
TIMELINE_K_BLOCKS = 8  # in a page of the explorer, which shows each operation
TIMELINE_K = 2048      # in a picture: enough that the loop dominates, as it does in a GEMM that is worth it
TIMELINE_TILES = 3


class ObserveError(Failure):
    """Levels that cannot be observed at all."""


class KernelFailed(Exception):
    """A kernel that cannot run; the message says which and why."""


@dataclass(frozen=True)
class Levels:
    """The built executables."""

    root: Path
    build: Path

    def program(self, level: str, arch: int) -> Path:
        """Raises ObserveError."""
        program = names.executable(level, arch, self.build)
        if not program.exists():
            raise ObserveError(f"{program} is not built: run scripts/build.sh.")
        return program

    def simulate(self, level: str, arch: int, arguments: Sequence[str], sim: Sequence[str], option: str) -> Any:
        """What `option` of sim.sh writes about a run. Raises KernelFailed."""
        program = self.program(level, arch)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "output.json"
            command = [str(self.root / "scripts" / "sim.sh"), *sim, option, str(file), str(program), *arguments]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                                    env={**os.environ, "LADDER_SIM_DIR": str(self.build / "sim")})
            if answer.returncode != 0:
                words = (answer.stderr.strip() or answer.stdout.strip() or "no word").splitlines()[-1]
                raise KernelFailed(f"{program.name} on the simulated device: exit code {answer.returncode}: {words}")
            return read_json(file)


# --- counters ---------------------------------------------------------------------------------------------------------

COUNTED = ("tensor_flops", "tensor_instructions", "tma_instructions", "tma_load_bytes", "tma_fetch_bytes",
           "tma_store_bytes", "global_store_bytes", "redundant_store_bytes", "barrier_waits", "barrier_waits_blocked",
           "cta_barriers", "cluster_barriers", "tmem_reads")
STORES = ("st.", "stmatrix")


def accesses(launches: list[dict[str, Any]], space: str, cost: str) -> tuple[int, int]:
    """Warp instructions that store to this space, and what they cost together."""
    stores = [a for launch in launches for a in launch[space] if a["instruction"].startswith(STORES)]
    return sum(a["warp_accesses"] for a in stores), sum(a[cost] for a in stores)


def counters(levels: Levels, description: Description) -> dict[str, str]:
    level, arch, (m, n, k) = description.level, description.arch, COUNTERS_SHAPE
    counted = levels.simulate(level, arch, [*shape_arguments(COUNTERS_SHAPE), "--config", description.config],
                              ["--sms", str(COUNTERS_SMS)], "--counters")
    launches = counted["launches"]  # a product may be shared out to several
    global_stores, lines = accesses(launches, "global", "lines")
    shared_stores, wavefronts = accesses(launches, "shared", "wavefronts")
    row = {"level": level, "arch": arch, "m": m, "n": n, "k": k, "sms": counted["sms"], "useful_flops": 2 * m * n * k,
           **{name: sum(launch[name] for launch in launches) for name in COUNTED},
           "global_stores": global_stores, "global_store_lines": lines,
           "shared_stores": shared_stores, "shared_store_wavefronts": wavefronts, "kind": "modelled",
           "gpu": counted["gpu"]}
    return {name: str(value) for name, value in row.items()}


def shape_arguments(shape: Shape) -> list[str]:
    return ["--sizes", shape_text(shape), "--verify", "off"]


# --- timelines --------------------------------------------------------------------------------------------------------


def timeline_shape(description: Description, k: Optional[int] = None) -> Shape:
    """One tile, or a few for each CTA of a cluster where CTAs take several."""
    sms = TIMELINE_SMS[description.arch]
    ctas = min(description.cluster, sms) if description.tile_owner == "CTA" else 1
    clusters = max(1, sms // description.cluster)
    tiles = TIMELINE_TILES * clusters if description.tile_order else 1
    return (description.tile_m * ctas * tiles, description.tile_n, k or description.tile_k * TIMELINE_K_BLOCKS)


def observe_timeline(levels: Levels, description: Description, timed: bool = True) -> str:
    """In the timing model's cycles; otherwise in those that the simulated kernel reads from its clock."""
    shape = timeline_shape(description, TIMELINE_K)
    trace = levels.simulate(description.level, description.arch,
                            [*shape_arguments(shape), "--config", description.config],
                            ["--sms", str(TIMELINE_SMS[description.arch]), *(["--timing"] if timed else [])], "--trace")
    reduced = traces.reduce(trace)
    head = {"level": description.level, "arch": description.arch, "config": description.config,
            "shape": list(shape), **reduced}
    return to_json(head)


def to_json(data: dict[str, Any]) -> str:
    """A track on each line, so that differences can be read."""
    tracks = []
    for cta in data["ctas"]:
        lines = ",\n  ".join(json.dumps(track, separators=(",", ":")) for track in cta["tracks"])
        tracks.append(f'{{"cta":{cta["cta"]},"tracks":[\n  {lines}]}}')
    head = json.dumps({key: value for key, value in data.items() if key != "ctas"})
    return head[:-1] + ', "ctas": [\n' + ",\n".join(tracks) + "]}\n"


def in_lines(value: Any, levels: int) -> str:
    """JSON that can be read, and whose differences can: lists and objects that hold others have a line for each member,
    down to this level."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    if levels == 0 or not any(isinstance(member, (dict, list)) for member in members):
        return json.dumps(value)
    if isinstance(value, list):
        lines, ends = [in_lines(item, levels - 1) for item in value], "[]"
    else:
        lines = [f"{json.dumps(key)}: {in_lines(item, levels - 1)}" for key, item in value.items()]
        ends = "{}"
    return ends[0] + "\n " + ",\n".join(lines).replace("\n", "\n ") + ends[1]


# --- all of it --------------------------------------------------------------------------------------------------------


@dataclass
class Recording:
    """What is known of one kernel."""

    explained: Optional[dict[str, Any]]
    counters: Optional[dict[str, str]]
    timeline: str


def record(levels: Levels, level: str, arch: int) -> Recording:
    explained = ask(levels.program(level, arch))
    first = describe(explained)[0]  # one configuration stands for all
    timeline = observe_timeline(levels, first) if level != names.PRODUCTION else ""  # of which no page shows one
    return Recording(explained, counters(levels, first), timeline)


def earlier(root: Path, level: str, arch: int) -> Recording:
    """What the files hold of it."""
    path = root / timeline_path(level, arch)
    explained = [item for item in (read_json(root / EXPLAIN) if (root / EXPLAIN).exists() else [])
                 if (item["level"], item["arch"]) == (level, arch)]
    return Recording(explained[0] if explained else None, Context(root, []).counted(level, arch),
                     path.read_text(encoding="utf-8") if path.exists() else "")


def attempt(levels: Levels, level: str, arch: int) -> tuple[Recording, str]:
    """The recording, an earlier one if the kernel cannot run, and what went wrong."""
    try:
        return record(levels, level, arch), ""
    except (KernelFailed, ExplainError, traces.TraceError) as error:
        return earlier(levels.root, level, arch), str(error)


def observe(levels: Levels) -> tuple[dict[Path, str], list[str]]:
    """All files, relative to the root, and their content; and what went wrong, kernel by kernel."""
    keys = names.kernels_of(names.all_names(levels.root), levels.root)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the work is done in processes
        attempts = list(pool.map(lambda key: attempt(levels, *key), keys))
    recordings = [recording for recording, _ in attempts]
    contents = {EXPLAIN: in_lines([r.explained for r in recordings if r.explained], levels=5) + "\n",
                COUNTERS: counters_file([r.counters for r in recordings if r.counters])}
    contents |= {timeline_path(*key): r.timeline for key, r in zip(keys, recordings) if r.timeline}
    return contents | choices(levels), [failure for _, failure in attempts if failure]


def choices(levels: Levels) -> dict[Path, str]:
    """The files that say what a level chooses among its configurations, as it does now. Raises Failure."""
    contents = {}
    environment = {**os.environ, "LADDER_SIM_DIR": str(levels.build / "sim")}
    for path in data.measured(levels.root / files.RESULTS, choice.WHAT):
        columns, rows = data.read_rows(path)
        gpu = path.stem.split("_")[0]
        simulator = [str(levels.root / "scripts" / "sim.sh"), "--gpu", gpu]

        def ask(level: str, arch: int, asked: Sequence[Shape], simulator: list[str] = simulator) -> dict[Shape, str]:
            return choice.ask([*simulator, str(levels.program(level, arch))], asked, environment)

        contents[path.relative_to(levels.root)] = data.csv_text(columns, choice.with_choices(rows, ask))
    return contents


def counters_file(rows: Sequence[data.Fields]) -> str:
    return data.csv_text(list(rows[0]) if rows else [], rows)


def stale(root: Path, contents: dict[Path, str]) -> list[Path]:
    """Files that differ, and recordings of levels that are no more."""
    differing = [path for path, content in contents.items()
                 if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != content]
    left_over = [path.relative_to(root) for path in sorted((root / files.RESULTS).glob("sim_timeline_*.json"))]
    return differing + [path for path in left_over if path not in contents]


def write(root: Path, changed: Sequence[Path], contents: dict[Path, str]) -> None:
    for path in changed:
        if path in contents:
            files.replace(root / path, contents[path])
            print(f"recorded {path}")
        else:
            (root / path).unlink()
            print(f"removed {path}")
