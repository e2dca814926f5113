"""What the scripts share: which levels there are, which GPU is here, how a level's executable is run.

Plain Python; run as a program with --gpus it lists the GPUs, one per line (see find_gpus).
"""
from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NoReturn, Optional, Sequence

ROOT = Path(__file__).resolve().parent.parent
ARCHES = (90, 100)
GPUS_OF_ARCH = {90: "H100, H200", 100: "B200, GB200"}

EXIT_RIGHT, EXIT_WRONG, EXIT_USAGE, EXIT_SKIPPED = 0, 1, 2, 77
EXIT_INTERRUPTED = 130


class UsageError(Exception):
    """A command line that asks for something impossible; the message is a sentence for its author."""


program = Path(sys.argv[0]).name  # how messages name this program


def give_up(code: int, sentence: str) -> NoReturn:
    sys.stdout.flush()
    print(f"{program}: {sentence}", file=sys.stderr)
    raise SystemExit(code)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in a sentence, without the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        give_up(EXIT_USAGE, f"{message} (scripts/{program} --help).")


def whole_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not '{text}'")
    return int(text)


# --- levels -----------------------------------------------------------------------------------------------------------


def level_number(name: str) -> int:
    """1 of "level01_baseline"; 0 if it is no level's name."""
    match = re.fullmatch(r"level(\d\d)_\w+", name)
    return int(match[1]) if match else 0


def all_levels(root: Path = ROOT) -> list[str]:
    """The names of the levels that are built, which are the names of their folders, in order."""
    named = re.findall(r"^add_level\((\w+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(name for name in named if level_number(name))


def has_kernel(level: str, arch: int, root: Path = ROOT) -> bool:
    """Whether there is an executable of this level for this architecture."""
    return (root / level / f"kernel_sm{arch}.cuh").exists()


def choose_levels(text: str, levels: Sequence[str]) -> list[str]:
    """Those of `levels` that a list such as "1-8" or "1,3-5" names. A range may reach beyond what there is, but an item
    that names nothing is an error."""
    chosen: set[str] = set()
    for item in text.split(","):
        match = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", item.strip())
        if not match:
            raise UsageError(f"--levels needs numbers and ranges such as 1-8 or 1,3-5, and '{item}' is neither.")
        first, last = int(match[1]), int(match[2] or match[1])
        named = {name for name in levels if first <= level_number(name) <= last}
        if not named:
            there = ", ".join(str(level_number(name)) for name in levels) or "none"
            raise UsageError(f"--levels {item}: there is no such level, only {there}.")
        chosen |= named
    return sorted(chosen)


def parse_arch(text: str) -> int:
    match = re.fullmatch(r"(?:sm_?)?(90|100)a?", text)
    if not match:
        raise UsageError(f"--arch must be sm90 (Hopper) or sm100 (Blackwell), not '{text}'.")
    return int(match[1])


Shape = tuple[int, int, int]


def parse_size(text: str) -> Shape:
    """M, N, K of "4096" or "1024x512x2048"."""
    match = re.fullmatch(r"(\d{1,9})(?:x(\d{1,9})x(\d{1,9}))?", text.strip())
    if not match:
        raise UsageError(f"A size is an edge such as 4096 or MxNxK such as 1024x512x2048, and '{text}' is neither.")
    m = int(match[1])
    shape = (m, int(match[2] or m), int(match[3] or m))
    if min(shape) < 1:
        raise UsageError(f"A size must be at least 1, and '{text}' is not.")
    if shape[1] % 8 or shape[2] % 8:
        raise UsageError(f"N and K must be multiples of 8 (TMA needs row pitches of 16 bytes), and '{text}' is not.")
    return shape


def parse_sizes(text: str) -> list[Shape]:
    return [parse_size(item) for item in text.split(",")]


def shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape))


def size_text(shape: Shape) -> str:
    """How people say it: the edge of a cube, or all three."""
    return str(shape[0]) if shape[0] == shape[1] == shape[2] else shape_text(shape)


def target(level: str, arch: int) -> str:
    return f"{level}_sm{arch}"


def executable(level: str, arch: int, build: Path) -> Path:
    return build / "bin" / target(level, arch)


# --- GPUs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gpu:
    name: str
    arch: int  # 10 * major + minor of its compute capability


def _query_gpus() -> Iterator[Gpu]:
    """Asks the driver, without which there is no GPU, rather than nvidia-smi, which containers often lack."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return
    for index in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), index)
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        if not name.value.startswith(b"Simulated"):
            yield Gpu(name.value.decode(errors="replace"), 10 * major.value + minor.value)


def find_gpus(timeout: float = 60) -> list[Gpu]:
    """In a process of its own: a driver in trouble may hang, and a GPU should not stay open while levels run on it."""
    try:
        answer = subprocess.run([sys.executable, __file__, "--gpus"], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"The CUDA driver did not answer within {timeout:.0f} s: going on without a GPU.", file=sys.stderr)
        return []
    gpus = []
    for line in answer.stdout.splitlines():
        arch, _, name = line.partition("\t")
        gpus.append(Gpu(name, int(arch)))
    return gpus


# --- running ----------------------------------------------------------------------------------------------------------


def end_program(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it started, politely first. One that hangs in the driver may not even die at once."""
    for number, patience in ((signal.SIGTERM, 1), (signal.SIGKILL, 10)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience)


def run_program(command: Sequence[str], timeout: float, env: Optional[dict[str, str]] = None) -> Optional[int]:
    """Runs a program, which writes where this one does, and returns its exit code, or None if it had to be ended
    because the time was up."""
    sys.stdout.flush()
    # A session of its own, so that what the program starts can be ended with it.
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_program(process)
        return None
    except BaseException:
        end_program(process)
        raise


def heed_sigterm() -> None:
    """Makes being terminated the same as Ctrl-C, so that no level is left running on the GPU."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def describe_failure(code: Optional[int], timeout: float) -> str:
    """What an exit code other than 0 means (see the harness's README)."""
    if code is None:
        return f"HUNG: ended after {timeout:g} s"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"CRASHED: {signal.Signals(-code).name}"
    meaning = {
        EXIT_WRONG: "WRONG",
        EXIT_USAGE: "REFUSED: exit code 2",
        3: "CUDA ERROR",
        EXIT_SKIPPED: "SKIPPED: no device for it",
        86: "KERNEL FAILED",
    }
    return meaning.get(code, f"FAILED: exit code {code}")


def _git(root: Path, *arguments: str) -> Optional[str]:
    try:
        answer = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def commit_id(root: Path = ROOT) -> str:
    """Of the sources. Where there is no repository, LADDER_COMMIT can say it; otherwise it is empty. Results that were
    recorded since, and the pages that show them, do not make it dirty."""
    if "LADDER_COMMIT" in os.environ:
        return os.environ["LADDER_COMMIT"]
    commit = _git(root, "describe", "--always", "--abbrev=7", "--exclude=*")
    if not commit:
        return ""
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)docs", ":(exclude)*.md")
    return commit + ("-dirty" if changes else "")


def replace_file(path: Path, content: str | bytes) -> None:
    """Gives a file new content in one step, or leaves it as it was."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        # mkstemp makes files private; results are as public as any other file.
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__" and sys.argv[1:] == ["--gpus"]:
    for gpu in _query_gpus():
        print(f"{gpu.arch}\t{gpu.name}")
