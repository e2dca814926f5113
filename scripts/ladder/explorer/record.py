"""Runs that are looked into: a level's, any program's, or what a trace has kept of one."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from ladder import files
from ladder.command import EXIT_RIGHT, EXIT_USAGE, EXIT_WRONG, Failure, UsageError
from ladder.explorer import events
from ladder.explorer.events import CTAS_PER_LAUNCH, Launch, chosen_ctas
from ladder.levels import names, verdict
from ladder.levels.description import Description, ask, describe
from ladder.levels.shapes import Shape, shape_text
from ladder.levels.verdict import Verdict
from ladder.sim import observations
from ladder.sim.traces import TraceError

TIMEOUT = 600.0  # of a run, in seconds
L2_MEGABYTES = {90: 50, 100: 126}  # data sheets of H200 and B200
SMS = {90: 132, 100: 148}
ORDER_EDGES = (2048, 4096, 8192)  # of the products whose tile orders are shown


class RunFailed(Failure):
    """A program that leaves no trace; the message says why."""

    code = EXIT_WRONG


@dataclass(frozen=True)
class Choice:
    """What of a run is recorded and shown."""

    sms: Optional[int] = None
    shape: Optional[Shape] = None
    config: Optional[str] = None
    launch: int = 0
    ctas: Optional[tuple[int, ...]] = None
    options: tuple[str, ...] = ()  # more of sim.sh


@dataclass
class Recording:
    """A run, ready to be shown."""

    title: str
    subtitle: str
    data: dict[str, Any]
    description: Optional[Description] = None
    shape: Optional[Shape] = None
    sms: Optional[int] = None
    failed: bool = False
    shared_begin: int = 0  # shared address at which dynamic shared memory begins
    explained: dict[str, Any] = field(default_factory=dict)


def simulate(program: Path, arguments: Sequence[str], options: Sequence[str]) -> tuple[Any, str, bool]:
    """The trace of a run, what it said last, and whether it failed. Raises RunFailed if there is no trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        try:
            found = verdict.simulate([str(program), *arguments], [*options, "--trace", str(path)], TIMEOUT)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{program.name} has not come to an end within {TIMEOUT:.0f} s.") from None
        except OSError as error:
            raise RunFailed(f"{program.name} cannot be run: {error.strerror}.") from None
        said = _last_words(found)
        if found.code == EXIT_USAGE and not path.exists():
            raise UsageError(said or f"{program.name} refuses its arguments.")
        trace = files.read_json(path) if path.exists() else {}
        if path.exists() and found.code != EXIT_RIGHT and not trace.get("traceEvents"):
            raise RunFailed(f"{program.name} has executed nothing: {said}")
        if not path.exists():
            raise RunFailed(f"{program.name} has launched no kernel on the simulated device"
                            + (f" (exit code {found.code}: {said})" if found.code else "") + ".")
        return trace, said, found.code != EXIT_RIGHT


def _last_words(found: Verdict) -> str:
    races = sum(finding.kind == verdict.RACE for finding in found.errors)
    if races:
        return f"--check finds {races} " + ("error" if races == 1 else "errors")
    if found.worst:
        return f"{found.worst.title} in kernel {found.worst.kernel}" if found.worst.kernel else found.first_words
    return found.first_words.removeprefix("sim.sh: ")


def read_trace(path: Path) -> Any:
    """Raises UsageError for a file that is no trace."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise UsageError(f"{path} is no trace of the simulated device: it is empty, damaged or no JSON.") from None


def pick_launch(trace: Any, choice: Choice, what: str) -> tuple[str, Launch]:
    """The GPU and the chosen launch. Raises UsageError."""
    try:
        gpu, launches = events.read(trace)
    except TraceError as error:
        raise UsageError(f"{what} cannot be shown: {error}.") from None
    for launch in launches:
        if launch.number == choice.launch:
            return gpu, launch
    there = ", ".join(str(launch.number) for launch in launches)
    raise UsageError(f"--launch {choice.launch}: {what} has launches {there}.")


def _show(trace: Any, choice: Choice, what: str, description: Optional[Description],
          sources: Sequence[Path]) -> tuple[dict[str, Any], str, Launch]:
    gpu, launch = pick_launch(trace, choice, what)
    try:
        ctas = chosen_ctas(launch, choice.ctas)
    except TraceError as error:
        raise UsageError(f"{what} cannot be shown: {error}.") from None
    return run_data(trace, launch, ctas, description, sources_of(launch, sources)), gpu, launch


def run_data(trace: Any, launch: Launch, ctas: Sequence[int], description: Optional[Description],
             sources: dict[str, str]) -> dict[str, Any]:
    """What the page builds a run from (assets/trace.js): a launch's events of these CTAs and of cluster barriers, and
    what the kernel says of its memory and barriers. `sources` are texts of files by their names."""
    shown = {launch.number * CTAS_PER_LAUNCH + cta for cta in ctas}
    kept = [item for item in trace["traceEvents"] if item["ph"] not in ("M", "C") and item["cat"] != "residence"
            and item["pid"] // CTAS_PER_LAUNCH == launch.number
            and (item["pid"] in shown or _is_of_cluster(item["args"].get("barrier")))]
    return {"trace": {"otherData": trace["otherData"], "traceEvents": kept}, "launch": launch.number,
            "ctas": list(ctas), "description": memory_and_barriers(description) if description else None,
            "sources": sources}


def memory_and_barriers(description: Description) -> dict[str, Any]:
    """What a page knows of a kernel's memory and barriers, for their names."""
    return {name: value for name, value in asdict(description).items()
            if name in ("smem", "barriers", "named_barriers")}


def _is_of_cluster(barrier: Any) -> bool:
    return isinstance(barrier, dict) and not {"offset", "number"} & barrier.keys()


def sources_of(launch: Launch, known: Sequence[Path]) -> dict[str, str]:
    """The source files that a launch names, as far as they are here: those that are known first."""
    texts: dict[str, str] = {}
    for path in [*known, *map(Path, launch.files)]:
        if path.name not in texts and path.is_file():
            texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    return texts


# --- levels -----------------------------------------------------------------------------------------------------------


def describe_level(level: str, arch: int, config: Optional[str]) -> tuple[dict[str, Any], Description]:
    """What a level's program says of itself. Raises UsageError if it has no such configuration."""
    explained = ask(observations.Levels(files.ROOT, files.BUILD).program(level, arch))
    known = describe(explained)
    chosen = [d for d in known if config in (None, d.config)]
    if not chosen:
        raise UsageError(f"--config {config}: {names.target(level, arch)} has {', '.join(d.config for d in known)}.")
    return explained, chosen[0]


def of_level(level: str, arch: int, choice: Choice) -> Recording:
    """A small run that shows several tiles of each CTA, by default."""
    explained, description = describe_level(level, arch, choice.config)
    sms = choice.sms or observations.TIMELINE_SMS[arch]
    shape = choice.shape or observations.timeline_shape(description)
    program = names.executable(level, arch, files.BUILD)
    arguments = [*observations.shape_arguments(shape), "--config", description.config]
    trace, said, failed = simulate(program, arguments, ["--sms", str(sms), *choice.options])
    data, gpu, launch = _show(trace, choice, program.name, description, [names.kernel_path(files.ROOT, level, arch)])
    subtitle = (f"M, N, K = {', '.join(map(str, shape))} on a {gpu} of {sms} SMs"
                + (", timed by the model of the GPU" if "--timing" in choice.options else "") + _failure(said, failed))
    return Recording(description.title, subtitle, data, description, shape, sms, failed, launch.dynamic_smem, explained)


def _failure(said: str, failed: bool) -> str:
    return f"; it failed: {said}" if failed else ""


def level_before(level: str, arch: int) -> Optional[str]:
    """The one before it that has a kernel for this architecture."""
    before = [name for name in names.all_levels() if name < level and names.has_kernel(name, arch)]
    return before[-1] if before else None


def same_problem(recording: Recording, choice: Choice) -> Choice:
    """For a run beside this one: the same shape, the same GPU."""
    return replace(choice, shape=recording.shape or choice.shape, sms=recording.sms or choice.sms, config=None,
                   ctas=None, launch=0)


# --- programs, traces -------------------------------------------------------------------------------------------------


def of_program(program: Path, arguments: Sequence[str], choice: Choice) -> Recording:
    options = [*(["--sms", str(choice.sms)] if choice.sms else []), *choice.options]
    trace, said, failed = simulate(program.resolve(), arguments, options)
    data, gpu, launch = _show(trace, choice, program.name, None, [])
    return Recording(f"{program.name}: {launch.kernel}", f"on a {gpu}" + _failure(said, failed), data, failed=failed,
                     shared_begin=launch.dynamic_smem)


def of_trace(path: Path, choice: Choice) -> Recording:
    data, gpu, launch = _show(read_trace(path), choice, str(path), None, [])
    return Recording(f"{path.name}: {launch.kernel}", f"on a {gpu}", data, shared_begin=launch.dynamic_smem)


def looks_like_a_trace(path: Path) -> bool:
    return not os.access(path, os.X_OK) and path.is_file()


# --- labs -------------------------------------------------------------------------------------------------------------


def labs_of(recording: Recording, arch: int) -> dict[str, Any]:
    """What the labs begin with: the tiles of the level's operands, the orders of its tiles."""
    description = recording.description
    labs: dict[str, Any] = {"arch": arch, "tiles": [], "workers": SMS[arch], "l2_megabytes": L2_MEGABYTES[arch],
                            "orders": [_order("row by row", None, 128, 128, (ORDER_EDGES[0],) * 3)]}
    if description is None:
        return labs
    labs["tiles"] = [
        {"name": f"{region.name}[{stage}] {part.name}", "swizzle": region.swizzle, "arch": arch,
         "rows": part.bytes // (2 * description.tile_k),
         "base": recording.shared_begin + region.offset + stage * region.bytes + part.offset}
        for region in description.smem if region.parts for stage in range(min(region.count, 2))
        for part in region.parts]
    labs["workers"] = SMS[arch] // (description.cluster if description.tile_owner == "cluster" else 1)
    labs["orders"] = [_order_of(description, recording, (edge,) * 3) for edge in ORDER_EDGES]
    if description.tile_order is not None:
        labs["orders"] += [_order(f"row by row, M = N = K = {edge}", None, description.tile_m, description.tile_n,
                                  (edge,) * 3) for edge in ORDER_EDGES]
    return labs


def _order_of(description: Description, recording: Recording, shape: Shape) -> dict[str, Any]:
    name = f"{description.title}, M = N = K = {shape[0]}"
    if description.tile_order is None:  # the grid's own order: row by row, as levels 01 to 04 have it
        return _order(name, None, description.tile_m, description.tile_n, shape)
    said = ask(names.executable(description.level, description.arch, files.BUILD), "--sizes", shape_text(shape),
               "--config", description.config)
    return _order(name, said["configs"][0]["tile_order"], description.tile_m, description.tile_n, shape)


def _order(name: str, order: Optional[dict[str, Any]], tile_m: int, tile_n: int, shape: Shape) -> dict[str, Any]:
    m, n, k = shape
    blocks = order or {"m_blocks": -(-m // tile_m), "n_blocks": -(-n // tile_n), "tiles": None}
    return {"name": name, "tile_m": tile_m, "tile_n": tile_n, "k": k, **blocks}
