"""Labs and ablations: small patches that change a level's kernel, each with a question and a prediction.

A lab breaks a kernel; it is a file levelNN_name/labs/NAME.patch. An ablation takes one idea out of a kernel, or tries
one that the level does without: D stays right, and the question is what it is worth; it is a file
levelNN_name/ablations/NAME.patch. Before the patch stand the fields of its header, which may continue in indented
lines:

  Question: what the reader is to think about
  Expect:   what happens, and why; an ablation's begins with slower, faster or no change, and a colon
  Modes:    how it is run, and what comes of it: default=deadlock latest=fault ...
  Arch:     (optional) sm90 for a patch of common/ that concerns Hopper's kernel; a patch of a kernel says it itself
  Run:      (optional) arguments of the level's program; default: --m 512 --n 256 --k 640
  Sim:      (optional) options of scripts/sim.sh; default: --sms 2
  Defines:  (optional) switches that the kernel is compiled with, such as -DTC_UTIL_PERCENT=90; the patch may be missing
  Notes:    (optional) the row of the notes' tables that an ablation is the counterpart of; (undone) behind it where the
            level has what the notes tried, and the ablation does without
  Finds:    (optional, repeatable) a word of what the simulated device finds in some mode: a rule, a habit, a fault,
            what is missing, what is waited for; sim.sh --reports lists them
  Shows:    (optional, repeatable) words that the program or the compiler prints in some mode
  Counts:   (optional, repeatable) a counter, before and after: shared st.shared.v4 wavefronts 32 -> 4

Modes are default and latest (schedules of the simulated device), seeds (others, until one is not right), check (the
default one under the order checker), strict (the same with --check=strict) and compile. Outcomes are those of
verdict.py. The program itself reports right or wrong, the simulated device a fault or a deadlock, the order checker a
race, or what hardware tolerates: convergence or a habit. What does not compile is refused. wrong|deadlock means
either. In a mode that is not named nothing else happens than in those that are: latest and seeds are like the other
schedules, strict is like check. A reader is shown those that are named; `labs.py --check` runs all.

The patch may be what `git diff` prints."""
from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ladder import files
from ladder.command import EXIT_RIGHT, Failure, UsageError
from ladder.levels import gpus, names, programs, source, verdict

EXIT_BROKEN = 4
DEFAULT_RUN, DEFAULT_SIM = "--m 512 --n 256 --k 640", "--sms 2"
SEEDS = range(1, 9)
TIMEOUT = 120.0  # of one run, in seconds; on a GPU a kernel that takes so long hangs
MODES = ("default", "latest", "seeds", "check", "strict", "compile")
SCHEDULES, CHECKS = MODES[:3], MODES[3:5]
FIELDS = ("Question", "Expect", "Modes", "Arch", "Run", "Sim", "Defines", "Notes", "Finds", "Shows", "Counts")
REPEATED = ("Finds", "Shows", "Counts")
LABS, ABLATIONS, STEPS = "labs", "ablations", "steps"  # the folders
WORTH = ("slower", "faster", "no change")
_PATCH = re.compile(r"^(?=diff --git |--- )", re.MULTILINE)  # where it begins, behind the header


class LabError(Failure):
    """A lab that is broken, or cannot be run here."""

    code = EXIT_BROKEN


@dataclass(frozen=True)
class Count:
    """A counter of the simulated device per warp access, or per launch, or the threads of a CTA, and what the lab makes
    of it."""

    what: str
    before: float
    after: float

    @staticmethod
    def parse(text: str) -> Count:
        match = re.fullmatch(r"(\S+(?: \S+ \S+)?) ([\d.]+) -> ([\d.]+)", text)
        if not match:
            raise LabError(f"'{text}' is not like 'shared st.shared.v4 wavefronts 32 -> 4' or 'tmem_reads 512 -> 64'.")
        return Count(match[1], float(match[2]), float(match[3]))

    def measure(self, launch: dict[str, Any]) -> float:
        """Its value in the counters of a launch."""
        words = self.what.split()
        if words == ["threads"]:
            return float(math.prod(launch["block"]))
        if len(words) == 1:
            return float(launch[words[0]])
        space, instruction, quantity = words
        chosen = [access for access in launch[space] if access["instruction"].startswith(instruction)]
        accesses = sum(access["warp_accesses"] for access in chosen)
        return sum(access[quantity] for access in chosen) / accesses if accesses else 0.0


@dataclass(frozen=True)
class Lab:
    level: str  # the folder
    name: str
    path: Path
    question: str
    expect: str
    modes: dict[str, str]
    run: list[str]
    sim: list[str]
    shows: list[str] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    arch: int = 100
    files: list[str] = field(default_factory=list)  # that the patch changes
    definitions: list[str] = field(default_factory=list)
    notes: str = ""
    finds: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"level{names.number_of(self.level):02}/{self.name}"

    @property
    def is_ablation(self) -> bool:
        return self.path.parent.name == ABLATIONS

    @property
    def option(self) -> str:
        """How tables of results name an ablation: ablations/plain_cd."""
        return f"{ABLATIONS}/{self.name}"

    @property
    def words(self) -> str:
        """The name in words: plain cd."""
        return re.sub(r"_sm\d+$", "", self.name).replace("_", " ")

    @property
    def worth(self) -> tuple[str, str]:
        """What an ablation is expected to be worth, and why."""
        worth, _, reason = self.expect.partition(":")
        return worth, reason.strip()

    @property
    def all_modes(self) -> dict[str, str]:
        """Those that are named, and what the others of their kind must be like."""
        found = dict(self.modes)
        for kind in (SCHEDULES, CHECKS):
            known = "|".join(dict.fromkeys(self.modes[mode] for mode in kind if mode in self.modes))
            found |= {mode: known for mode in kind if known and mode not in found}
        return found

    def write(self, folder: Path) -> None:
        """The changed kernel and its program, into a folder that the compiler looks into first."""
        copy_sources(self.level, folder)
        apply(self, folder)

    def unchanged(self, build: Build, folder: Path, real: bool) -> Path:
        """The program that it is compared with; `folder` is for what has to be compiled."""
        del folder, real
        return build.original(self)


def parse_header(path: Path, known: Sequence[str], needed: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The fields that stand before a patch, and the files that it changes. Raises LabError."""
    header, *patch = _PATCH.split(path.read_text(encoding="utf-8"), maxsplit=1)
    values: dict[str, list[str]] = {}
    name = ""
    for line in header.splitlines():
        match = re.match(r"(\w+):\s*(.*)", line)
        if match:
            name = match[1]
            if name not in known:
                raise LabError(f"{path.name}: there is no field '{name}', only {', '.join(known)}.")
            values.setdefault(name, []).append(match[2].strip())
            if len(values[name]) > 1 and name not in REPEATED:
                raise LabError(f"{path.name}: '{name}' stands there twice.")
        elif line.strip() and name:
            values[name][-1] += " " + line.strip()
    for name in needed:
        if not values.get(name, [""])[0]:
            raise LabError(f"{path.name}: the field '{name}' is missing.")
    return values, re.findall(r"^\+\+\+ b/(\S+)", "".join(patch), re.MULTILINE)


def patch_of(path: Path) -> str:
    """Without the header."""
    return "".join(_PATCH.split(path.read_text(encoding="utf-8"), maxsplit=1)[1:])


def parse_modes(path: Path, text: str) -> dict[str, str]:
    modes = dict(item.partition("=")[::2] for item in text.split())
    for mode, outcome in modes.items():
        if mode not in MODES or not set(outcome.split("|")) <= set(verdict.KINDS):
            raise LabError(f"{path.name}: 'Modes: {mode}={outcome}' is not like default=right or latest=fault.")
    return modes


def parse_lab(path: Path) -> Lab:
    """Reads a lab; raises LabError if it is not one."""
    values, files = parse_header(path, FIELDS, ("Question", "Expect", "Modes"))
    modes = parse_modes(path, values["Modes"][0])
    if not files and "Defines" not in values:
        raise LabError(f"{path.name}: there is no patch below the header.")
    level = path.parent.parent.name
    arches = {int(match[1]) for match in (re.search(r"kernel_sm(\d+)\.cuh$", file) for file in files) if match}
    arches |= {names.parse_arch(text) for text in values.get("Arch", [] if arches else ["sm100"])}
    if len(arches) != 1:
        raise LabError(f"{path.name}: a lab changes the kernel of one architecture.")
    found = Lab(level, path.stem, path, values["Question"][0], values["Expect"][0], modes,
                values.get("Run", [DEFAULT_RUN])[0].split(), values.get("Sim", [DEFAULT_SIM])[0].split(),
                values.get("Shows", []), [Count.parse(text) for text in values.get("Counts", [])], arches.pop(), files,
                values.get("Defines", [""])[0].split(), values.get("Notes", [""])[0],
                values.get("Finds", []))
    if found.is_ablation and found.worth[0] not in WORTH:
        raise LabError(f"{path.name}: 'Expect: {found.expect}' does not begin with {', '.join(WORTH[:-1])} or "
                       f"{WORTH[-1]}, and a colon.")
    return found


def all_labs(root: Path = files.ROOT, kinds: Sequence[str] = (LABS, ABLATIONS)) -> list[Lab]:
    """The labs of all levels, then their ablations."""
    folders = [root / level / kind for kind in kinds for level in names.all_levels(root)]
    return [parse_lab(path) for folder in folders for path in sorted(folder.glob("*.patch"))]


def find_lab(labs: Sequence[Lab], level: str, name: str) -> Lab:
    """By a level, and a name or its beginning. Raises UsageError."""
    level = names.find_level(level, sorted({lab.level for lab in labs}))
    there = [lab for lab in labs if lab.level == level]
    chosen = [lab for lab in there if lab.name == name] or [lab for lab in there if lab.name.startswith(name)]
    if len(chosen) != 1:
        known = ", ".join(lab.name for lab in there)
        raise UsageError(f"Level {names.number_of(level)} has no lab '{name}'; it has: {known}.")
    return chosen[0]


# --- compiling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Build:
    """What scripts/build.sh has left: the compiler, the harness, the levels as they are."""

    folder: Path

    def entry(self, name: str) -> str:
        cache = self.folder / "CMakeCache.txt"
        text = cache.read_text(encoding="utf-8") if cache.exists() else ""
        match = re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)
        return match[1] if match else ""

    def tools(self) -> tuple[str, str, str, list[str]]:
        """nvcc, the linker, the CUDA runtime, and the harness's libraries."""
        nvcc, linker = self.entry("CMAKE_CUDA_COMPILER") or self.entry("LADDER_NVCC"), self.entry("CMAKE_CXX_COMPILER")
        cudart = self.entry("LADDER_CUDART")
        harness = [str(self.folder / "common" / name / f"lib{name}.a") for name in ("harness", "base")]
        if not all(name and Path(name).exists() for name in (nvcc, linker, cudart, *harness)):
            raise LabError("the levels are not built. Run scripts/build.sh first.")
        return nvcc, linker, cudart, harness

    def compiler(self, flags: Sequence[str]) -> list[str]:
        host = self.entry("CMAKE_CUDA_HOST_COMPILER")
        return [self.tools()[0], *(["-ccbin", host] if host else []), "-std=c++20", "-w", "-lineinfo", "--no-compress",
                *flags]

    def commands(self, flags: Sequence[str], main: Path, program: Path) -> list[list[str]]:
        """What makes a level's program of its main.cu, as CMake does it: nvcc compiles, the host's compiler links."""
        _, linker, cudart, harness = self.tools()
        compiled = str(program.with_suffix(".o"))
        return [[*self.compiler(flags), "-c", str(main), "-o", compiled],
                [linker, compiled, *harness, cudart, f"-Wl,-rpath,{Path(cudart).parent}", "-lpthread", "-ldl", "-o",
                 str(program)]]

    def original(self, lab: Lab) -> Path:
        program = names.executable(lab.level, lab.arch, self.folder)
        if not program.exists():
            raise LabError(f"{program.name} is not built. Run scripts/build.sh first.")
        return program


def patch_command(path: Path, dry: bool) -> list[str]:
    if not shutil.which("patch"):
        raise LabError("there is no program `patch`. Install it: sudo apt-get install -y patch.")
    return ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch", *(["--dry-run"] if dry else []), "-i",
            str(path)]


def apply_patch(path: Path, title: str, folder: Path, dry: bool = False) -> None:
    """Applies a patch to the files in `folder`, or to none of them."""
    answer = subprocess.run(patch_command(path, dry), cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode != 0 or "fuzz" in answer.stdout:
        raise LabError(f"{title} does not apply to the kernel any more:\n{answer.stdout}{answer.stderr}".rstrip())


def apply(lab: Lab, folder: Path, dry: bool = False) -> None:
    if lab.files:
        apply_patch(lab.path, lab.title, folder, dry)


def copy_sources(level: str, folder: Path) -> None:
    """What a level's kernel consists of; the rest of the repository is found through the include path."""
    for name in (names.folder(level, Path()), Path("common/mma"), Path("common/ptx")):
        shutil.copytree(files.ROOT / name, folder / name,
                        ignore=shutil.ignore_patterns(LABS, ABLATIONS, STEPS, names.PRODUCTION, "*.md"))


def has_same_host(folder: Path, program: Path) -> bool:
    """Whether a program is built, newer than its sources, and what the host compiles is the same in `folder`."""
    if not program.exists():
        return False
    for changed in itertools.chain(*map(folder.rglob, ("*.cu", "*.cuh", "*.h"))):
        original = files.ROOT / changed.relative_to(folder)
        text = changed.read_text(encoding="utf-8")
        if not original.exists() or original.stat().st_mtime > program.stat().st_mtime:
            return False
        before = original.read_text(encoding="utf-8")
        if text != before and source.host_part(text) != source.host_part(before):
            return False
    return True


def exchange(program: Path, code: Path, target: Path) -> bool:
    """Makes the program with other code for the device, if there is room for it."""
    old = code.with_suffix(".old")
    subprocess.run(["objcopy", "--dump-section", f".nv_fatbin={old}", str(program), str(target)], check=True)
    if code.stat().st_size > old.stat().st_size:
        return False
    subprocess.run(["objcopy", "--update-section", f".nv_fatbin={code}", str(program), str(target)], check=True)
    return True


def run_commands(commands: Sequence[Sequence[str]], folder: Path) -> tuple[bool, str]:
    """Whether all succeed, and what they say, without the folder's name."""
    said = ""
    for command in commands:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        said += (answer.stdout + answer.stderr).replace(f"{folder}/", "")
        if answer.returncode != 0:
            return False, said
    return True, said


def compile_copy(level: str, arch: int, code: str, build: Build, folder: Path,
                 definitions: Sequence[str] = ()) -> tuple[Optional[Path], str]:
    """The program of the sources in `folder`, or None and what the compiler says. `code`: for -gencode; `definitions`:
    switches such as -DNUM_STAGES=3. Where PTX is enough and the host's part is the same, only that is compiled, in a
    quarter of the time, and put into the level's own program."""
    program, main = folder / names.target(level, arch), names.folder(level, folder) / "main.cu"
    flags = [f"-DLADDER_ARCH={arch}", *definitions, "-I", str(folder), "-I", str(files.ROOT), "-gencode",
             f"arch=compute_{arch}a,code={code}"]
    original = names.executable(level, arch, build.folder)
    if code.startswith("compute") and not definitions and has_same_host(folder, original):
        fatbin = program.with_suffix(".fatbin")
        compiled, said = run_commands([[*build.compiler(flags), "--fatbin", str(main), "-o", str(fatbin)]], folder)
        if not compiled or exchange(original, fatbin, program):
            return program if compiled else None, said
    compiled, said = run_commands(build.commands(flags, main, program), folder)
    return program if compiled else None, said


def compile_lab(lab: Lab, build: Build, folder: Path, real: bool) -> tuple[Optional[Path], str]:
    """The lab's program in `folder`, or None and what the compiler says. The simulated device needs its PTX only; a
    GPU, and a lab about the compiler, the machine code too."""
    lab.write(folder)
    code = f"[sm_{lab.arch}a,compute_{lab.arch}a]" if real or "compile" in lab.modes else f"compute_{lab.arch}a"
    return compile_copy(lab.level, lab.arch, code, build, folder, lab.definitions)


def ablated(one: Lab, build: Build) -> Path:
    """The program of an ablation that has been built for a GPU."""
    return build.folder / ABLATIONS / f"{names.target(one.level, one.arch)}-{one.name}"


def build_ablations(ablations: Sequence[Lab], build: Build, jobs: int) -> None:
    """Machine code of each, for a GPU. Raises LabError."""
    def make(one: Lab) -> None:
        with scratch() as folder:
            program, said = compile_lab(one, build, folder, real=True)
            if program is None:
                raise LabError(f"{one.title} does not compile:\n{said}")
            ablated(one, build).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(program, ablated(one, build))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(make, ablations))


# --- running ----------------------------------------------------------------------------------------------------------


# Up to level 05 both CTAs of a pair on Blackwell store the same tile: no lab is about that.
OPTIONS = {"latest": ("--latest",), "check": ("--check", "--tolerate", "equal-stores"),
           "strict": ("--check=strict", "--tolerate", "equal-stores")}


def simulate(lab: Lab, build: Build, program: Path, *options: str) -> verdict.Verdict:
    """Runs a program on the simulated device of this build."""
    try:
        return verdict.simulate([str(program), *lab.run], [*lab.sim, *options], TIMEOUT,
                                {"LADDER_SIM_DIR": str(build.folder / "sim"), **os.environ})
    except subprocess.TimeoutExpired:
        raise LabError(f"{lab.title} has not come to an end within {TIMEOUT:.0f} s.") from None


def simulate_seeds(lab: Lab, build: Build, program: Path) -> verdict.Verdict:
    """The first shuffled schedule that is not right, or the last one."""
    for seed in SEEDS:
        found = simulate(lab, build, program, "--seed", str(seed))
        if found.kind != verdict.RIGHT:
            break
    return found


@dataclass
class Report:
    """What came of a lab: a line per prediction, and whether they all held."""

    lab: Lab
    lines: list[str] = field(default_factory=list)
    outputs: list[tuple[str, str]] = field(default_factory=list)  # mode, what was said
    right: bool = True
    found: set[str] = field(default_factory=set)  # words of all findings

    def judge(self, what: str, expected: str, found: str) -> None:
        held = found in expected.split("|")
        self.right &= held
        judged = "as predicted" if held else f"but {expected.replace('|', ' or ')} was predicted"
        self.lines.append(f"{what}: {found}, {judged}")


def count(lab: Lab, build: Build, program: Path, folder: Path) -> dict[str, Any]:
    path = folder / "counters.json"
    simulate(lab, build, program, "--counters", str(path))
    first: dict[str, Any] = files.read_json(path)["launches"][0]
    return first


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ladder-lab-") as folder:
        yield Path(folder).resolve()


def run_simulated(lab: Lab, build: Build, modes: Optional[dict[str, str]] = None) -> Report:
    """A lab on the simulated device, in the modes that it names, or in these."""
    report = Report(lab)
    with scratch() as folder:
        program, said = compile_lab(lab, build, folder, real=False)
        if program is None and "compile" not in lab.modes:
            raise LabError(f"{lab.title} does not compile:\n{said}")
        for mode, expected in (lab.modes if modes is None else modes).items():
            if mode == "compile":
                report.judge(mode, expected, verdict.REFUSED if program is None else verdict.RIGHT)
                report.outputs.append((mode, said))
            elif program is not None:
                found = simulate_seeds(lab, build, program) if mode == "seeds" else \
                    simulate(lab, build, program, *OPTIONS.get(mode, ()))
                report.judge(mode, expected, found.kind)
                report.outputs.append((mode, found.said))
                report.found.update(*(finding.words for finding in found.findings))
        absent = [words for words in lab.shows if not any(words in output for _, output in report.outputs)]
        absent += [words for words in lab.finds if words not in report.found]
        report.right &= not absent
        report.lines += [f"nothing says '{words}', which was predicted" for words in absent]
        for item in lab.counts:
            before = item.measure(count(lab, build, lab.unchanged(build, folder, real=False), folder))
            after = item.measure(count(lab, build, program, folder)) if program else 0.0
            report.judge(item.what, f"{item.before:g} -> {item.after:g}", f"{before:g} -> {after:g}")
    return report


def spread(labs: Sequence[Lab]) -> list[Lab]:
    """Few of the labs, with something of everything: each level, each architecture, each outcome, ablations too, and
    one that only the order checker finds."""
    kinds = {one.title: {one.level, str(one.arch), one.path.parent.name, *"|".join(one.modes.values()).split("|"),
                         *(["counts"] if one.counts else []),
                         *(["unnoticed"] if set(one.modes.values()) == {"right", "race"} else [])} for one in labs}
    missing: set[str] = set().union(*kinds.values())
    found: list[Lab] = []
    while missing:
        found.append(max(labs, key=lambda one: len(kinds[one.title] & missing)))
        missing -= kinds[found[-1].title]
    return found


def run_all(labs: Sequence[Lab], build: Build, jobs: int) -> Iterator[Report]:
    """Labs on the simulated device, several at a time; reports in their order, also of what cannot be run."""
    def judge(lab: Lab) -> Report:
        try:
            return run_simulated(lab, build, lab.all_modes)
        except LabError as error:
            return Report(lab, [str(error)], [], False)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(judge, labs)


def run_on_gpu(lab: Lab, build: Build) -> None:
    """A lab on the GPU. That is no prediction but an observation: a race may go either way. A kernel that is right is
    timed beside the level's own. Raises NoGpu."""
    if not any(gpu.arch == lab.arch for gpu in gpus.find_gpus()):
        raise gpus.NoGpu(f"{lab.title} needs a GPU such as {gpus.EXAMPLES[lab.arch]}, and there is none. The simulated "
                         "device needs none: leave --device gpu out.")
    with scratch() as folder:
        program, said = compile_lab(lab, build, folder, real=True)
        if program is None:
            print(f"The compiler refuses it:\n{said}")
            return
        print("What happens (on the GPU)")
        code = programs.run_program([str(program), *lab.run], TIMEOUT / 4)
        if code == EXIT_RIGHT:
            for name, path in (("unchanged", lab.unchanged(build, folder, real=True)), ("changed", program)):
                print(f"\nHow fast it is ({name})")
                programs.run_program([str(path), "--bench", "--sizes", "4096"], TIMEOUT)
        else:
            print(f"  {programs.describe_failure(code, TIMEOUT / 4)}")
