"""The playground's pages: a page for each program, and the explorer's modules beside the engine.

programs.py writes a program's recordings, sites and labs. This adds the source, the PTX, what the kernel says of
itself, and the recorded run that a page shows at once."""
from __future__ import annotations

import gzip
import html
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ladder import files
from ladder.command import Failure
from ladder.explorer import events, record
from ladder.explorer import page as explorer
from ladder.grader import claims
from ladder.levels import names, patches
from ladder.levels.lab import Build
from ladder.levels.patches import Step
from ladder.model import account
from ladder.site import compiling
from ladder.site.programs import FIELD_BUG_FOLDER, step_page, write_all

FOLDER = Path(__file__).resolve().with_name("playground")
ENGINE = files.BUILD / "web"
ENGINE_FILES = ("sim.js", "sim.wasm.gz", "worker.js", "replay.js")
POLICY = ("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'")
FIRST_PAGE = "level05_sm100"
ABOUT = ("Each page runs a kernel of the course on a simulated GPU, inside this browser. Remove a fence, a wait, an "
         "arrival or a barrier with a click, press <b>Run</b>, and see what breaks: which accesses race, which warps "
         "wait for which, which tiles are wrong. For a start: "
         f'<a href="{FIRST_PAGE}.html#line=fence_proxy_async_shared">'
         "level 05 on Blackwell</a>: remove the marked line, and run. Or let the page judge you: "
         f'<a href="{FIRST_PAGE}.html#task=find">find the missing line</a>, '
         f'<a href="{FIRST_PAGE}.html#task=restore">restore all lines from nothing</a>.')
FIELD_BUGS = "field_bugs"  # the page that lists them
ABOUT_FIELD_BUGS = ("Bugs from public trackers, written anew, and their fixes. Each link opens the program with the "
                    "schedule and the check that it names; press <b>Run</b> there. The reports and their lessons: "
                    '<a href="../docs/field_bugs.html">bugs from the field</a>.')
MODES = {"default": "&check=off", "latest": "&schedule=latest&check=off", "seed 1": "&schedule=seed:1&check=off",
         "check": "", "strict": "&check=strict"}  # as addresses
TIMEOUT = 600.0  # of a run, in seconds


class CannotMake(Failure):
    """A page that cannot be made. The message says why."""

    code = 8


@dataclass(frozen=True)
class Program:
    """One of the playground's, with its folder of data."""

    name: str
    folder: Path
    facts: dict[str, Any]  # program.json

    @property
    def arch(self) -> int:
        return int(self.facts["arch"])

    @property
    def level(self) -> str:
        """The level whose kernel it is; empty for other programs."""
        found = str(self.facts.get("level", ""))
        return found if self.name == f"{names.short(found)}_sm{self.arch}" else ""

    @property
    def step(self) -> Optional[Step]:
        return patches.find_step(self.facts["step"], self.arch) if "step" in self.facts else None

    @property
    def source(self) -> Path:
        return files.ROOT / str(self.facts["source"])

    @property
    def text(self) -> str:
        return patches.kernel_after(self.step) if self.step else self.source.read_text(encoding="utf-8")


def compress(path: Path, text: str) -> None:
    files.replace(path, gzip.compress(text.encode(), mtime=0))


# --- what a page shows ------------------------------------------------------------------------------------------------


def recorded_trace(program: Program) -> dict[str, Any]:
    """Of the first shape, as the explorer's pages have it. Raises CannotMake."""
    packed = program.folder / program.facts["shapes"][0]["recording"]
    with tempfile.TemporaryDirectory() as folder:
        path, recording = Path(folder) / "trace.json", Path(folder) / packed.stem
        recording.write_bytes(gzip.decompress(packed.read_bytes()))
        answer = subprocess.run([str(files.SCRIPTS / "sim.sh"), "--trace", str(path), "--replay", str(recording)],
                                capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False,
                                stdin=subprocess.DEVNULL)
        if not path.exists():
            raise CannotMake(f"{recording.name} of {program.name} cannot be replayed: {answer.stderr.strip()[-400:]}.")
        trace = files.read_json(path)
    launch = events.read(trace)[1][0]
    shown: dict[str, Any] = record.run_data(trace, launch, events.chosen_ctas(launch), None, {})["trace"]
    return shown


def said_of(program: Program) -> Optional[dict[str, Any]]:
    """Memory and barriers of a level's kernel."""
    if not program.level:
        return None
    config = program.facts.get("config") or None
    return record.memory_and_barriers(record.describe_level(program.level, program.arch, config)[1])


# --- pages ------------------------------------------------------------------------------------------------------------


def task_of(step: Step) -> dict[str, Any]:
    """A step as a task: what the page says and judges; `rest`: what only the grader judges."""
    found = claims.of_step(step, Build(files.BUILD))
    earlier = f"{names.short(patches.level_before(step.level))}_sm{step.arch}"
    predicted = any(claim.name == "predicted_cycles" for claim in found)
    counts = [vars(each) for each in step.counts if each.before != each.after]
    return {"title": step.title, "before": patches.kernel_before(step), "why": step.question, "seen": step.expect,
            "hint": step.hint, "counts": counts, "is_seen": bool(counts) or "predicted_cycles" in step.claims,
            "faster_than": f"../{earlier}/timed.rec.gz" if predicted else None,
            "rest": [claim.sentence for claim in found if claim.name not in ("counted", "predicted_cycles")],
            "command": f"scripts/grade.py {step.title} {step.kernel_name} --arch sm{step.arch}"}


def add_page(program: Program, output: Path) -> None:
    step = program.step
    page: dict[str, Any] = {"file": program.source.name, "text": program.text, "description": said_of(program),
                            "parts": {part.key: part.title for part in account.PARTS}}
    if step:
        page["step"] = task_of(step)
    else:
        page["trace"] = "trace.json.gz"
        compress(program.folder / page["trace"], json.dumps(recorded_trace(program), separators=(",", ":")))
    if module := compiling.built():
        ptx = gzip.decompress((program.folder / program.facts["ptx"]).read_bytes()).decode()
        source = str(program.facts["source"])
        page["compiler"] = {"source": source, "unit": compiling.unit(source, program.text, ptx),
                            "megabytes": round((module / "compiler.wasm.gz").stat().st_size / 1e6)}
    compress(program.folder / "page.json.gz", json.dumps(page, separators=(",", ":"), ensure_ascii=False))
    links = [("Course", "../index.html"), ("All kernels", "index.html")]
    if program.level:
        short = names.short(program.level)
        links += [(names.ARCH_NAMES[other], f"{short}_sm{other}.html") for other in names.ARCHES
                  if other != program.arch and names.has_kernel(program.level, other)]
        links += [("Lesson", f"../{program.level}/index.html"), ("Explorer", f"../explorer/{program.name}.html")]
    if is_field_bug(program):
        links += [("All bugs", f"{FIELD_BUGS}.html")]
    if step:
        series = patches.series(step.level, step.arch)
        links += [(f"Step {one.title}", f"{step_page(one)}.html#task=write") for one in series
                  if abs(one.number - step.number) == 1]
        links += [("Reason", f"../{step.path.relative_to(files.ROOT)}.html")]
    files.replace(output / f"{program.name}.html", explorer.fill("page.html", {
        "policy": html.escape(POLICY), "title": html.escape(program.facts["title"]), "program": program.name,
        "idea": html.escape(str(program.facts.get("idea", ""))),
        "links": navigation(links),
        "controls": explorer.controls("unmodified")}, FOLDER))


def index(programs: Sequence[Program]) -> str:
    rows: dict[str, list[Program]] = {}
    for program in programs:
        if is_field_bug(program):
            continue
        title = (f"Steps to level {names.number_of(program.step.level):02}" if program.step else
                 f"Level {names.number_of(program.level):02}" if program.level else "Programs of one mechanism")
        rows.setdefault(title, []).append(program)
    lines = []
    for title, group in rows.items():
        links = " ".join(f'<a href="{one.name}.html{"#task=write" if one.step else ""}">{html.escape(label(one))}</a>'
                         for one in group)
        idea = next((html.escape(str(one.facts["idea"])) for one in group if one.level), "")
        lines.append(f"<tr><th scope=\"row\">{html.escape(title)}</th><td>{links}</td><td>{idea}</td></tr>")
    lines.append('<tr><th scope="row">Bugs from the field</th>'
                 f'<td><a href="{FIELD_BUGS}.html">All, with their fixes</a></td></tr>')
    return listing("Playground", [], ABOUT, lines)


def field_bugs(programs: Sequence[Program]) -> str:
    """The page that lists them: a row for each, with its twins in each mode."""
    lines = []
    for program in sorted(filter(is_field_bug, programs), key=lambda one: one.name):
        cells = ""
        for shape in program.facts["shapes"]:
            links = " ".join(f'<a href="{program.name}.html#shape={shape["id"]}{html.escape(mode)}">{name}</a>'
                             for name, mode in MODES.items())
            cells += f'<td>{html.escape(shape["label"])}: {links}</td>'
        name = html.escape(program.facts["title"].removeprefix("Bug: "))
        lines.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    return listing("Bugs from the field", [("All kernels", "index.html")], ABOUT_FIELD_BUGS, lines)


def is_field_bug(program: Program) -> bool:
    return program.source.parent == FIELD_BUG_FOLDER


def listing(title: str, links: Sequence[tuple[str, str]], about: str, rows: Sequence[str]) -> str:
    return explorer.fill("index.html", {
        "policy": html.escape(POLICY), "title": title, "about": about, "rows": "\n".join(rows),
        "links": navigation([("Course", "../index.html"), *links])}, FOLDER)


def navigation(links: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<a href="{html.escape(file)}">{html.escape(text)}</a>' for text, file in links)


def label(program: Program) -> str:
    return names.ARCH_NAMES[program.arch] if program.level else str(program.facts["title"]).removeprefix("Step ")


FIGURES = (
    ("ring", "level02_sm100", "Phase and parity of a ring",
     "Level 02's run on the simulated device, moment by moment: each stage of the ring has a barrier smem_full and a "
     "barrier smem_empty. A phase of a barrier ends when no arrival and no byte is missing; parity is the phase modulo "
     "2. A wait for a parity returns while the current phase has the other parity."),
    ("pair", "level07_sm100", "What a pair of CTAs shares",
     "Level 07's run on the simulated device, load by load: each CTA loads its own rows of A and half of the tile of "
     "B. An MMA of the pair reads both halves, so that each byte of B is loaded once for two tiles of D."),
)


def add_figures(output: Path, names_of_programs: Sequence[str]) -> None:
    """Figures that move, from the recorded runs."""
    for name, program, title, about in FIGURES:
        if program in names_of_programs:
            level = next(level for level in names.all_levels() if names.short(level) == program[:7])
            files.replace(output / f"{name}.html", explorer.fill("figure.html", {
                "policy": html.escape(POLICY), "title": html.escape(title), "about": html.escape(about),
                "program": program, "figure": name,
                "links": navigation([("Course", "../index.html"), ("Lesson", f"../{level}/index.html"),
                                     ("Playground", f"{program}.html")])}, FOLDER))


def copy_code(output: Path) -> None:
    for path in [*FOLDER.glob("*.js"), *FOLDER.glob("*.css")]:
        shutil.copyfile(path, output / path.name)
    (output / "explorer").mkdir(exist_ok=True)
    for path in [*explorer.FOLDER.glob("*.js"), explorer.FOLDER / "style.css"]:
        shutil.copyfile(path, output / "explorer" / path.name)
    (output / "sim").mkdir(exist_ok=True)
    for name in ENGINE_FILES:
        shutil.copyfile(ENGINE / name, output / "sim" / name)
    if module := compiling.built():
        for name in compiling.MODULE:
            shutil.copyfile(module / name, output / name)
        files.replace(output / "headers.json", json.dumps(compiling.headers(), separators=(",", ":")))


def write(output: Path) -> None:
    """The playground, in a folder. Raises Failure."""
    (output / "data").mkdir(parents=True, exist_ok=True)
    for _ in write_all(output / "data", files.BUILD, with_steps=compiling.built() is not None):
        pass
    shutil.rmtree(output / "data" / "sim", ignore_errors=True)  # the pages' copy lies beside them
    programs = sorted((Program(path.parent.name, path.parent, files.read_json(path))
                       for path in (output / "data").glob("*/program.json")),
                      key=lambda one: (not one.level, one.level, -one.arch, one.name))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda program: add_page(program, output), programs))
    copy_code(output)
    add_figures(output, [program.name for program in programs])
    files.replace(output / "index.html", index(programs))
    files.replace(output / f"{FIELD_BUGS}.html", field_bugs(programs))
