#!/usr/bin/env python3
"""Makes a wheel and an archive of the simulated device, for other people's projects (docs/in_your_project.md).

    package.py [--build FOLDER] [-o dist]

Both hold the same files: the libraries, the command `tensor-core-ladder-sim` (scripts/sim.sh), descriptions of GPUs
with the timing model's constants, the plugin of pytest, what --triton needs, licences, help and the version. Neither
needs this repository, a compiler or a GPU. Without --build the libraries are built first.

Exit codes: 0 made; 2 wrong command line, or not built.
"""
from __future__ import annotations

import base64
import ctypes
import hashlib
import io
import platform
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ladder import command, files

NAME, COMMAND = "tensor_core_ladder_sim", "tensor-core-ladder-sim"
LIBRARIES = ("libcudart.so.13", "libcuda.so.1", "libsim_loader.so", "sim_replay")
HELP = files.ROOT / "docs/in_your_project.md"
TIME = (2020, 1, 1, 0, 0, 0)  # of all files, so that the same content gives the same wheel
SYMBOL = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)")


def version() -> str:
    found = re.search(r"project\(\w+ VERSION ([\d.]+)", (files.ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert found
    return found[1]


def needed(libraries: list[Path]) -> dict[str, tuple[int, ...]]:
    """The newest version of each system library's symbols that the libraries import."""
    newest: dict[str, tuple[int, ...]] = {}
    for path in libraries:
        symbols = subprocess.run(["readelf", "--version-info", "--wide", path], capture_output=True, text=True,
                                 check=True).stdout
        for name, number in SYMBOL.findall(symbols[symbols.find("Version needs section"):]):
            newest[name] = max(newest.get(name, ()), tuple(map(int, number.split("."))))
    return newest


def compilers(libraries: list[Path]) -> str:
    """What the libraries say of the compiler that has made them."""
    found = {text for path in libraries
             for text in re.findall(r"GCC: \([^)]*\) [\d.]+", subprocess.run(
                 ["readelf", "-p", ".comment", path], capture_output=True, text=True, check=True).stdout)}
    return ", ".join(sorted(found))


def cuda_version(build: Path) -> str:
    number = ctypes.c_int()
    ctypes.CDLL(str(build / "libcudart.so.13")).cudaRuntimeGetVersion(ctypes.byref(number))
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def contents(build: Path, libraries: list[Path]) -> str:
    """Everything that is carried: names, versions, licences."""
    need = {name: ".".join(map(str, number)) for name, number in needed(libraries).items()}
    return f"""# What this package holds

Tensor Core Ladder, {version()}, commit {files.commit_id()}: its simulated device, launcher,
descriptions of GPUs, plugin of pytest, --triton.
    Licence: MIT, in LICENSE
Parts of GCC's libraries, {compilers(libraries)}: linked into libsim_loader.so, and templates of libstdc++ in all
libraries.
    Licence: GPL 3 with GCC Runtime Library Exception 3.1
Names, types and numbers of the interfaces of the CUDA runtime and driver, CUDA {cuda_version(build)}: from NVIDIA's
headers. There is no code of NVIDIA's.
    Licence of the headers: NVIDIA CUDA Toolkit EULA

Nothing else. Of the system it uses glibc {need["GLIBC"]} or newer, libstdc++ with GLIBCXX_{need["GLIBCXX"]} and
CXXABI_{need["CXXABI"]} or newer, bash, and libzstd if it is there.
"""


def tree(build: Path) -> Iterator[tuple[str, bytes, bool]]:
    """Path, content, and whether it is to be executed. The launcher finds the rest as it does in the repository."""
    def of(path: Path) -> bytes:
        if not path.is_file():
            raise command.UsageError(f"there is no {path}: run scripts/build.sh cudart cuda")
        return path.read_bytes()

    libraries = [build / name for name in LIBRARIES]
    for path in libraries:
        yield f"build/sim/{path.name}", of(path), True
    yield "build/sim/libcuda.so", of(build / "libcuda.so.1"), True  # wheels have no links
    yield f"bin/{COMMAND}", of(files.SCRIPTS / "sim.sh"), True
    for path in sorted((files.ROOT / "common/sim/machine/gpus").glob("*.csv")):
        yield f"common/sim/machine/gpus/{path.name}", of(path), False
    for path in sorted((files.SCRIPTS / "wheel").rglob("*.py")):
        yield path.relative_to(files.SCRIPTS / "wheel").as_posix(), of(path), False
    yield "LICENSE", of(files.ROOT / "LICENSE"), False
    yield "HELP.md", of(HELP), False
    yield "CONTENTS.md", contents(build, libraries).encode(), False
    yield "VERSION", f"{COMMAND} {version()}, commit {files.commit_id()}\n".encode(), False


def metadata(tag: str) -> dict[str, str]:
    fields = {"Metadata-Version": "2.1", "Name": COMMAND, "Version": version(), "License": "MIT",
              "Requires-Python": ">=3.9", "Description-Content-Type": "text/markdown",
              "Summary": "CUDA programs for Hopper and Blackwell on a simulated GPU, with a checker of order"}
    return {
        "METADATA": "".join(f"{name}: {value}\n" for name, value in fields.items()) + "\n" + HELP.read_text("utf-8"),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: package.py\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": f"[console_scripts]\n{COMMAND} = {NAME}:main\n\n"
                            f"[pytest11]\nladder_sim = {NAME}.pytest_plugin\n",
    }


def wheel(output: Path, held: list[tuple[str, bytes, bool]], tag: str) -> Path:
    path = output / f"{NAME}-{version()}-{tag}.whl"
    about = f"{NAME}-{version()}.dist-info"
    parts = [(f"{NAME}/{name}", content, runs) for name, content, runs in held]
    parts += [(f"{about}/{name}", text.encode(), False) for name, text in metadata(tag).items()]
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, runs in parts:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            record += f"{name},sha256={digest},{len(content)}\n"
            info = zipfile.ZipInfo(name, TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (0o100755 if runs else 0o100644) << 16
            archive.writestr(info, content)
        archive.writestr(zipfile.ZipInfo(f"{about}/RECORD", TIME), f"{record}{about}/RECORD,,\n")
    return path


def archive_of(output: Path, held: list[tuple[str, bytes, bool]], platform_tag: str) -> Path:
    folder = f"{COMMAND}-{version()}"
    path = output / f"{folder}-{platform_tag}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content, runs in held:
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size, info.mode = len(content), 0o755 if runs else 0o644
            archive.addfile(info, io.BytesIO(content))
    return path


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="take the libraries from this folder")
    parser.add_argument("-o", "--output", type=Path, default=files.ROOT / "dist", metavar="FOLDER",
                        help="where to (default: dist)")
    options = parser.parse_args()
    if options.build is None:
        subprocess.run([files.SCRIPTS / "build.sh", "cudart", "cuda"], check=True)
    build = (options.build or files.BUILD) / "sim"
    held = list(tree(build))
    glibc = needed([build / name for name in LIBRARIES])["GLIBC"]
    platform_tag = f"manylinux_{glibc[0]}_{glibc[1]}_{platform.machine()}"
    options.output.mkdir(parents=True, exist_ok=True)
    for path in (wheel(options.output, held, f"py3-none-{platform_tag}"),
                 archive_of(options.output, held, platform_tag)):
        print(path)
    return command.EXIT_RIGHT


if __name__ == "__main__":
    command.run(main)
