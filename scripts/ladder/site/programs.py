"""A folder of data for each program of the playground: what its page runs, and where a reader may change it.

common/sim/web/README.md has the form of the files. Everything is made from what scripts/build.sh has built: recordings
by running the programs, sites from their PTX.
"""
from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ladder import files
from ladder.levels import description, lab, names, patches, verdict
from ladder.levels.description import Description
from ladder.levels.lab import Lab
from ladder.levels.patches import Step
from ladder.levels.shapes import Shape
from ladder.mutants import sentences, study, weaken
from ladder.mutants.judge import Case
from ladder.mutants.labels import Labels, call_of, code_of, items
from ladder.mutants.sites import CLUSTER_BARRIER, Embedded, Site, key_of
from ladder.mutants.study import Kernel
from ladder.results import data
from ladder.results.data import Fields
from ladder.site import recordings, ways

WARM_UPS = ("one_mma", "tma_load", "k_loop", "pair")
WARM_UP_FOLDER = files.ROOT / "level01_baseline" / "warm_up"
FIELD_BUG_FOLDER = files.ROOT / "common" / "tests" / "programs" / "field_bugs"
TIMED = ("--sizes", "2048x2048x2048", "--init", "int", "--verify", "off")  # what the page predicts the time of
TIMED_LABEL = "2048 x 2048 x 2048"
NOT_RECORDED: dict[str, Any] = {"verdict": "", "found_by": "", "orders": "", "case": "", "partners": []}
STEP_PROBLEMS = ("ragged", "many")  # those of the level that a step's kernel is judged by
FIELD_BUGS = files.ROOT / files.RESULTS / "sim_field_bugs.csv"


@dataclass(frozen=True)
class Problem:
    """A shape that a page offers, and what it shows."""

    name: str
    case: Case
    shows: str


def problems(d: Description) -> list[Problem]:
    """Each runs within seconds in a browser; the first one is shown at once."""
    owner = d.cluster if d.tile_owner == "CTA" else 1
    m, n = d.tile_m * (d.cluster_m if owner > 1 else 1), d.tile_n * (d.cluster_n if owner > 1 else 1)
    ring = d.stages * d.tile_k
    found = [
        ("ragged", (2 * m + d.tile_m // 2 + 8, n + 8, ring + 2 * d.tile_k + 8), d.cluster,
         "No extent is a multiple of a tile, and the ring of stages wraps around within a tile."),
        ("one", (m, n, ring + 2 * d.tile_k), d.cluster,
         "The tiles of one cluster, and little else to look at." if d.cluster > 1 else "One tile of D."),
        ("many", (3 * m, 2 * n, ring + d.tile_k), 2 * d.cluster,
         "More tiles than there is room for at once: kernels that stay take several of them each."),
        ("short", (2 * m, 2 * n, d.tile_k), d.cluster,
         "K is one stage long: the next tile is loaded before the last one is stored."),
        ("long", (m, n, 4 * ring), d.cluster, "K is so long that the ring of stages wraps around four times."),
    ]
    return [Problem(name, Case(shape, sms), shows) for name, shape, sms, shows in found]


def label_of(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def compress(source: Path, target: Path) -> bytes:
    """Replaces a file by a compressed one, without a name and a time: the same content gives the same file. Returns the
    content."""
    content = source.read_bytes()
    target.write_bytes(gzip.compress(content, 9, mtime=0))
    source.unlink()
    return content


# --- levels -----------------------------------------------------------------------------------------------------------


def kernel_of(level: str, arch: int, build: Path) -> tuple[Kernel, Description]:
    """The configuration whose sites are on record, the first one of several. Raises UsageError, ExplainError, NoPtx."""
    kernel = study.kernels([level], [arch], "", build)[0]
    described = description.describe(description.ask(kernel.program))
    return kernel, next(d for d in described if d.config == kernel.config or not kernel.config)


def write_level(level: str, arch: int, folder: Path, build: Path, with_labs: bool = True) -> None:
    """The page of a level for one architecture. Raises what kernel_of does, RecordingError and LabError."""
    kernel, d = kernel_of(level, arch, build)
    folder.mkdir(parents=True, exist_ok=True)
    shapes = []
    for problem in problems(d):
        recording = recordings.record(kernel, problem.case, folder)
        recorded = compress(recording, folder / f"{problem.name}.rec.gz")
        m, n, k = problem.case.shape
        shapes.append({"id": problem.name, "label": label_of(problem.case.shape), "m": m, "n": n, "k": k,
                       "sms": problem.case.sms, "recording": f"{problem.name}.rec.gz", "shows": problem.shows})
    source = names.kernel_path(files.ROOT, level, arch)
    config = ["--config", kernel.config] if kernel.config else []
    record_timed(kernel.program, folder / "timed.rec", config)
    offered = [each for each in lab.all_labs() if (each.level, each.arch) == (level, arch)
               and "compile" not in each.modes]
    with ThreadPoolExecutor() as pool:
        written = pool.map(lambda each: write_lab(each, folder, build),
                           [*offered, *ways.rings(level, arch)] if with_labs else [])
        labs = [found for found in written if found]
    write(folder, {"title": d.title, "idea": d.idea, "level": level, "arch": arch, "config": kernel.config,
                   "source": str(source.relative_to(files.ROOT)), "shapes": shapes, "labs": labs,
                   "timed": {"recording": "timed.rec.gz", "label": TIMED_LABEL}},
          level_sites(kernel, recorded), kernel.embedded, recorded)


def record_timed(program: Path, file: Path, config: Sequence[str] = ()) -> None:
    """Of all SMs, since it is only predicted."""
    recordings.run_recorded(program, file, [*TIMED, *config], ("--arith", "fast"), must_be_right=False)
    compress(file, file.with_name(file.name + ".gz"))


def level_sites(kernel: Kernel, recording: bytes) -> list[dict[str, Any]]:
    needed = {key_of(row): row for row in study.recorded(study.OUTPUT)}
    weakened = _by_site(study.recorded(weaken.OUTPUT))
    hardware = _by_site([row for path in data.measured(files.ROOT / files.RESULTS, "without")
                         for row in data.read_rows(path)[1] if not row["way"]])
    found = []
    for site in kernel.sites:
        key = key_of(study.title_of(kernel, site))
        row = needed.get(key)
        found.append({**site_of(kernel.embedded, site, kernel.source, recording),
                      "ways": _ways(kernel, site, weakened.get(key, []), recording),
                      **(recorded(row, kernel.labels) if row else NOT_RECORDED),
                      "hardware": [{name: each[name] for name in ("m", "n", "k", "runs", "wrong", "note", "gpu")}
                                   for each in hardware.get(key, [])]})
    return found


def recorded(row: Fields, now: Labels) -> dict[str, Any]:
    """`partners`: the sites that do the same; what is found, is found without them, too."""
    partners = [f"{line}:{what}" for what, label in items(row["other"]) if (line := now.line(label)) is not None]
    return {"partners": partners if row["verdict"] == study.REDUNDANT else [],
            "verdict": sentences.outcome(row, now), "found_by": sentences.found(row),
            "orders": sentences.orders(row, now) if row["found_by"] else "", "case": row["case"]}


def with_names(sites: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each site with a name that links may keep, whatever happens to the lines above it: the function that its line
    calls, `mbarrier_wait`, and where that is called on several lines `mbarrier_wait.2` for the second one."""
    lines: dict[str, list[int]] = {}
    found = []
    for site in sites:
        name = call_of(site["source"]) or site["instruction"]
        of = lines.setdefault(name, [])
        if site["line"] not in of:
            of.append(site["line"])
        number = of.index(site["line"]) + 1
        found.append({**site, "name": name + (f".{number}" if number > 1 else "")})
    return found


def _by_site(rows: Sequence[Fields]) -> Mapping[tuple[str, ...], list[Fields]]:
    found: dict[tuple[str, ...], list[Fields]] = {}
    for row in rows:
        found.setdefault(key_of(row), []).append(row)
    return found


def site_of(embedded: Embedded, site: Site, source: Sequence[str], recording: bytes) -> dict[str, Any]:
    """What a removal is: the instructions of the site's line, with all their copies, become nothing; a wait becomes one
    that always says yes."""
    return {"id": f"{site.line}:{site.instruction}", "line": site.line, "instruction": site.instruction,
            "label": "the cluster barrier" if site.instruction == CLUSTER_BARRIER else site.instruction,
            "source": code_of(source[site.line - 1]) if 0 < site.line <= len(source) else "",
            "is_half": site.instruction.startswith(f"{CLUSTER_BARRIER}."),
            "removed": {"edits": recordings.edits(embedded, embedded.without(site.places), recording)}}


def _ways(kernel: Kernel, site: Site, rows: Sequence[Fields], recording: bytes) -> list[dict[str, Any]]:
    """What else the site may do: first of all that of which something is reported."""
    reported = {row["way"] for row in rows if row["verdict"] == weaken.REPORTED}
    found = sorted(weaken.variants(kernel, site), key=lambda one: one[0] not in reported)
    found += ways.swaps(kernel, site, kernel.sites)
    return [{"way": way, "edits": recordings.edits(kernel.embedded, ptx, recording)} for way, ptx in found]


def write_lab(of: Lab, folder: Path, build: Path) -> dict[str, Any]:
    """A recording of the lab's own program, since a lab may change what the host does; its results are judged by those
    of the level as it is. Empty for a ring with which the kernel asserts that it does not work."""
    made = lab.Build(build)
    with lab.scratch() as scratch:
        right, broken = scratch / "level.rec", scratch / "lab.rec"
        program, said = lab.compile_lab(of, made, scratch, real=False)
        if program is None and isinstance(of, ways.Ring) and "static assertion failed" in said:
            return {}
        if program is None:
            raise lab.LabError(f"{of.title} does not compile:\n{said}")
        recordings.run_recorded(made.original(of), right, of.run, of.sim)
        recordings.run_recorded(program, broken, of.run, [*of.sim, "--results-of", str(right)], must_be_right=False)
        (folder / "labs").mkdir(exist_ok=True)
        compress(broken, folder / "labs" / f"{of.name}.rec.gz")
        is_right = of.modes.get("default") == verdict.RIGHT
        if is_right:
            record_timed(program, folder / "labs" / f"{of.name}.timed.rec")
    patch = of.patch if isinstance(of, ways.Ring) else lab.patch_of(of.path)
    return {"id": of.name, "question": of.question, "expect": of.expect, "modes": of.modes, "patch": patch,
            "recording": f"labs/{of.name}.rec.gz", "timed": f"labs/{of.name}.timed.rec.gz" if is_right else None}


# --- steps ------------------------------------------------------------------------------------------------------------


def step_page(step: Step) -> str:
    """The name of its page: step06_2_sm100."""
    return f"step{names.number_of(step.level):02}_{step.number}_sm{step.arch}"


def write_step(step: Step, folder: Path, build: Path) -> None:
    """The page of a step, on which its kernel is written, from the one before it. Raises what kernel_of does,
    RecordingError and LabError."""
    described = kernel_of(step.level, step.arch, build)[1]
    folder.mkdir(parents=True, exist_ok=True)
    with lab.scratch() as scratch:
        program, said = lab.compile_lab(step, lab.Build(build), scratch, real=False)
        if program is None:
            raise lab.LabError(f"{step.title} does not compile:\n{said}")
        runs = {"counted": (step.run, step.sim, "As the grader counts.")}
        for problem in problems(described):
            if problem.name in STEP_PROBLEMS:
                m, n, k = map(str, problem.case.shape)
                runs[problem.name] = (["--m", m, "--n", n, "--k", k], ["--sms", str(problem.case.sms)], problem.shows)
        shapes = []
        for name, (run, sim, shows) in runs.items():
            recordings.run_recorded(program, folder / f"{name}.rec", [*run, "--init", "int"], [*sim, "--arith", "fast"])
            recorded = compress(folder / f"{name}.rec", folder / f"{name}.rec.gz")
            shapes.append({"id": name, "label": " x ".join(run[1::2]), "sms": int(sim[sim.index("--sms") + 1]),
                           "recording": f"{name}.rec.gz", "shows": shows})
        record_timed(program, folder / "timed.rec")
        source = names.kernel_path(files.ROOT, step.level, step.arch)
        write(folder, {"title": f"Step {step.title}, {names.ARCH_NAMES[step.arch]}: {step.words}",
                       "idea": step.question, "level": step.level, "arch": step.arch, "step": step.title, "config": "",
                       "source": str(source.relative_to(files.ROOT)), "shapes": shapes, "labs": [],
                       "timed": {"recording": "timed.rec.gz", "label": TIMED_LABEL}},
              [], Embedded.find(program, step.arch), recorded)


# --- warm-up, bugs from the field -------------------------------------------------------------------------------------


def write_warm_up(name: str, arch: int, folder: Path, build: Path) -> None:
    """The page of a program before level 01. Raises RecordingError, NoPtx."""
    program = build / "bin" / f"warm_up_{name}_sm{arch}"
    source = WARM_UP_FOLDER / f"{name}_sm{arch}.cu"
    folder.mkdir(parents=True, exist_ok=True)
    recording = folder / "run.rec"
    recordings.run_recorded(program, recording, ())
    recorded = compress(recording, folder / "run.rec.gz")
    shape = {"id": "run", "label": "as it is", "recording": "run.rec.gz", "shows": "The whole program."}
    write_alone(folder, program, source, recorded,
                {"title": f"Warm-up: {name}, {names.ARCH_NAMES[arch]}", "idea": "", "level": "level01_baseline",
                 "arch": arch, "shapes": [shape]})


def write_field_bug(row: Fields, folder: Path, build: Path) -> None:
    """The page of a bug, from its row of FIELD_BUGS: both twins, of which the good one says what is right. Raises
    RecordingError, NoPtx."""
    program = build / "bin" / f"field_bug_{row['program']}"
    folder.mkdir(parents=True, exist_ok=True)
    good, bad = folder / "good.rec", folder / "bad.rec"
    recordings.run_recorded(program, good, ("good",))
    # A recording ends where its program did. If the kernel does not in the default schedule, it may in another.
    schedule = () if row["default"] in ("right", "wrong") else ("--seed", "1")
    recordings.run_recorded(program, bad, ("bad",), (*schedule, "--results-of", str(good)), must_be_right=False)
    compress(bad, folder / "bad.rec.gz")
    recorded = compress(good, folder / "good.rec.gz")
    source = FIELD_BUG_FOLDER / f"{row['program']}.cu"
    comment = itertools.takewhile(lambda line: line.startswith("//"),
                                  source.read_text(encoding="utf-8").splitlines())
    write_alone(folder, program, source, recorded, {
        "title": f"Bug: {row['bug']}", "idea": " ".join(line[2:].strip() for line in comment), "level": "",
        "arch": int(row["arch"]), "shapes": [
            {"id": "bad", "label": "with the bug", "recording": "bad.rec.gz", "is_broken": True,
             "shows": "Runs kernel<false>, which has the bug."},
            {"id": "good", "label": "fixed", "recording": "good.rec.gz", "shows": "Runs kernel<true>, the fix."}]})


def write_alone(folder: Path, program: Path, source: Path, recording: bytes, facts: Mapping[str, Any]) -> None:
    """A page of a program that is one file, of whose sites nothing is on record."""
    embedded = Embedded.find(program, facts["arch"], source.name)
    lines = source.read_text(encoding="utf-8").splitlines()
    sites = [{**site_of(embedded, site, lines, recording), "ways": [], "hardware": [], **NOT_RECORDED}
             for site in embedded.sites()]
    write(folder, {**facts, "config": "", "source": str(source.relative_to(files.ROOT)), "labs": []}, sites, embedded,
          recording)


def write(folder: Path, program: Mapping[str, Any], sites: Sequence[Mapping[str, Any]], embedded: Embedded,
          recording: bytes) -> None:
    text = recordings.full_text(recording, embedded)
    (folder / "kernel.ptx.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    (folder / "program.json").write_text(json.dumps({**program, "ptx": "kernel.ptx.gz"}, indent=1), encoding="utf-8")
    (folder / "sites.json").write_text(json.dumps(with_names(sites), separators=(",", ":")), encoding="utf-8")


# --- all of them ------------------------------------------------------------------------------------------------------


def write_all(folder: Path, build: Path = files.ROOT / "build", with_labs: bool = True,
              with_steps: bool = False) -> Iterator[Path]:
    """Every level and warm-up program for both architectures, the bugs from the field, and steps if they are wanted,
    each in a folder of its own, which is named as it is done: level05_sm100, one_mma_sm90,
    field_bug_flag_before_the_store, step06_2_sm100. And the engine, in sim/, if there is a web build."""
    web = build / "web"
    if (web / "sim.wasm.gz").exists():
        (folder / "sim").mkdir(parents=True, exist_ok=True)
        for name in ("sim.js", "sim.wasm.gz", "replay.js", "worker.js"):
            shutil.copy(web / name, folder / "sim" / name)
    for arch in reversed(names.ARCHES):
        for warm_up in WARM_UPS:
            write_warm_up(warm_up, arch, folder / f"{warm_up}_sm{arch}", build)
            yield folder / f"{warm_up}_sm{arch}"
        for level in names.all_levels():
            target = folder / f"{names.short(level)}_sm{arch}"
            write_level(level, arch, target, build, with_labs)
            yield target
    for row in data.read_rows(FIELD_BUGS)[1]:
        write_field_bug(row, folder / f"field_bug_{row['program']}", build)
        yield folder / f"field_bug_{row['program']}"
    steps = patches.all_steps() if with_steps else []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda step: write_step(step, folder / step_page(step), build), steps))
    yield from (folder / step_page(step) for step in steps)
