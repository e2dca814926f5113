"""The playground's compiler: Clang's front end and LLVM's back end for PTX in WebAssembly, from the system's source.

compiler/ has what is ours: the driver, headers, patches with their reasons, and the list of LLVM's objects that the
driver needs. Everything that is fetched and built lies in build/compiler, or where LADDER_COMPILER says; each part is
made once, and what is interrupted continues. Nothing of it is in the repository.
"""
from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import Failure

FOLDER = Path(__file__).resolve().with_name("compiler")
WORK = Path(os.environ.get("LADDER_COMPILER", files.BUILD / "compiler"))
EDITOR = ("lib/codemirror.js", "lib/codemirror.css", "mode/clike/clike.js", "addon/edit/matchbrackets.js")
MODULE = ("compiler.js", "compiler.wasm.gz", "LICENSE.llvm.txt", "LICENSE.codemirror.txt",
          *(Path(name).name for name in EDITOR))
APT = Path("/etc/apt")
SOURCE = "llvm-toolchain-19"
TOOLS = ("llvm-19", "clang-tools-19", "libllvm19", "libclang-cpp19")  # LLVM's generators of code, for this machine
PARTS = ("llvm", "clang", "cmake", "third-party")  # of the source package
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-Os -DNDEBUG", "CMAKE_C_FLAGS_RELEASE": "-Os -DNDEBUG",
    "CMAKE_CXX_FLAGS": "-Dwait4=__syscall_wait4", "LLVM_ENABLE_PROJECTS": "clang", "LLVM_TARGETS_TO_BUILD": "NVPTX",
    "LLVM_DEFAULT_TARGET_TRIPLE": "nvptx64-nvidia-cuda",
    **dict.fromkeys(("LLVM_INCLUDE_TESTS", "LLVM_INCLUDE_EXAMPLES", "LLVM_INCLUDE_BENCHMARKS", "LLVM_INCLUDE_DOCS",
                     "LLVM_BUILD_TOOLS", "LLVM_BUILD_UTILS", "LLVM_ENABLE_THREADS", "LLVM_ENABLE_PIC",
                     "LLVM_ENABLE_ZLIB", "LLVM_ENABLE_ZSTD", "LLVM_ENABLE_LIBXML2", "LLVM_ENABLE_LIBEDIT",
                     "LLVM_ENABLE_BACKTRACES", "LLVM_ENABLE_CRASH_OVERRIDES", "LLVM_ENABLE_PLUGINS",
                     "LLVM_ENABLE_UNWIND_TABLES", "LLVM_ENABLE_BINDINGS", "CLANG_ENABLE_STATIC_ANALYZER",
                     "CLANG_ENABLE_ARCMT", "CLANG_BUILD_TOOLS", "CLANG_PLUGIN_SUPPORT"), "OFF")}
LAUNCH = "launch_"  # how names of constants begin that the page reads from the PTX
LINK = ("-O2", "-sMODULARIZE=1", "-sEXPORT_NAME=loadCompiler", "-sENVIRONMENT=worker,node", "-sINVOKE_RUN=0",
        "-sEXIT_RUNTIME=1", "-sFORCE_FILESYSTEM=1", "-sALLOW_MEMORY_GROWTH=1", "-sINITIAL_MEMORY=64MB",
        "-sMAXIMUM_MEMORY=1GB", "-sTOTAL_STACK=16MB", "-sERROR_ON_UNDEFINED_SYMBOLS=0",
        "-Wl,--unresolved-symbols=ignore-all", "-sNODEJS_CATCH_EXIT=0", "-sNODEJS_CATCH_REJECTION=0",
        "-sEXPORTED_RUNTIME_METHODS=['FS','callMain']")


class CannotCompile(Failure):
    """The compiler cannot be built; the message says what failed."""

    code = 8


def key() -> str:
    """Of everything that the module is made from, apart from the system's packages."""
    found = hashlib.sha256(repr((SOURCE, OPTIONS, LINK, EDITOR)).encode())
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and "headers" not in path.parts:
            found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def built() -> Optional[Path]:
    """The folder with the finished module, if it is that of these inputs."""
    stamp = WORK / "module" / "key"
    return stamp.parent if stamp.is_file() and stamp.read_text() == key() else None


def build() -> Path:
    """The folder with the module: minutes to fetch and configure, then about 970 files to compile.
    Raises CannotCompile."""
    if found := built():
        return found
    WORK.mkdir(parents=True, exist_ok=True)
    once("fetched", "", fetch)
    once("unpacked", hash_of(FOLDER / "patches"), unpack)
    once("editor", "", fetch_editor)
    once("configured", hash_of(FOLDER / "llvm.cmake") + repr(OPTIONS), configure)
    compile_objects()
    return link()


def hash_of(path: Path) -> str:
    parts = sorted(path.iterdir()) if path.is_dir() else [path]
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()


def once(name: str, inputs: str, make: Callable[[], None]) -> None:
    stamp = WORK / f"{name}.stamp"
    if stamp.is_file() and stamp.read_text() == inputs:
        return
    print(f"compiler: {make.__doc__}", flush=True)
    make()
    stamp.write_text(inputs)


def call(*line: str | Path, cwd: Path = WORK, more: Mapping[str, str] | None = None) -> str:
    answer = subprocess.run([str(word) for word in line], cwd=cwd, env={**os.environ, **(more or {})}, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if answer.returncode:
        raise CannotCompile(f"{Path(line[0]).name} fails in {cwd}: {answer.stdout.strip()[-2000:]}")
    return answer.stdout


# --- sources ----------------------------------------------------------------------------------------------------------


def fetch() -> None:
    """fetches LLVM's source package, and its generators of code"""
    lists = WORK / "apt"
    (lists / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (lists / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    (lists / "parts").mkdir(exist_ok=True)
    for path in [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources") and path.is_file():
            text = re.sub(r"^(deb)( .*)$", r"\1\2\n\1-src\2", path.read_text(), flags=re.MULTILINE)
            text = re.sub(r"^Types: deb$", "Types: deb deb-src", text, flags=re.MULTILINE)
            (lists / "parts" / path.name).write_text(text)
    (lists / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{lists}/parts";\n'
        f'Dir::State::lists "{lists}/lists";\nDir::Cache "{lists}/cache";\nAPT::Sandbox::User "root";\n')
    private = {"APT_CONFIG": str(lists / "apt.conf")}
    call("apt-get", "update", more=private)
    packages = WORK / "packages"
    packages.mkdir(exist_ok=True)
    call("apt-get", "source", "--download-only", SOURCE, cwd=packages, more=private)
    call("apt-get", "download", *TOOLS, cwd=packages, more=private)


def fetch_editor() -> None:
    """fetches CodeMirror"""
    folder = WORK / "editor"
    folder.mkdir(exist_ok=True)
    call("apt-get", "download", "libjs-codemirror", cwd=folder, more={"APT_CONFIG": str(WORK / "apt" / "apt.conf")})
    call("dpkg", "-x", next(folder.glob("*.deb")), folder)


def unpack() -> None:
    """unpacks and patches LLVM's source"""
    for name in ("src", "tools"):
        shutil.rmtree(WORK / name, ignore_errors=True)
    for package in (WORK / "packages").glob("*.deb"):
        call("dpkg", "-x", package, WORK / "tools")
    source = next((WORK / "packages").glob("*.orig.tar.xz"))
    with tarfile.open(source) as archive:
        for member in archive:
            path = Path(*Path(member.name).parts[1:])
            if path.parts and path.parts[0] in PARTS and not {"test", "unittests"} & set(path.parts):
                member.name = str(path)
                archive.extract(member, WORK / "src")
    for patch in sorted((FOLDER / "patches").glob("*.patch")):
        call("patch", "-p1", "-i", patch, cwd=WORK / "src")


# --- objects ----------------------------------------------------------------------------------------------------------


def tools() -> dict[str, str]:
    libraries = WORK / "tools" / "usr" / "lib"
    found = [libraries / "llvm-19" / "lib", *libraries.glob("*-linux-gnu")]
    return {"LD_LIBRARY_PATH": ":".join(map(str, found)), "NODE_PATH": "/usr/share/nodejs"}


def configure() -> None:
    """configures LLVM for emscripten"""
    folder = WORK / "tools" / "usr" / "lib" / "llvm-19" / "bin"
    native = {"LLVM_NATIVE_TOOL_DIR": folder, "LLVM_TABLEGEN": folder / "llvm-tblgen",
              "LLVM_HEADERS_TABLEGEN": folder / "llvm-tblgen", "CLANG_TABLEGEN": folder / "clang-tblgen",
              "CMAKE_PROJECT_LLVM_INCLUDE": FOLDER / "llvm.cmake"}
    definitions = [f"-D{name}={value}" for name, value in {**OPTIONS, **native}.items()]
    call("emcmake", "cmake", "-G", "Ninja", "-S", "src/llvm", "-B", "wasm", *definitions,
         more={**tools(), "CMAKE_C_COMPILER_LAUNCHER": "", "CMAKE_CXX_COMPILER_LAUNCHER": ""})


def objects() -> Iterator[str]:
    folder = ""
    for line in (FOLDER / "objects.txt").read_text().splitlines():
        if line.startswith("  "):
            yield from (f"{folder}/{name}.o" for name in line.split())
        elif not line.startswith("#"):
            folder = line


def compile_objects() -> None:
    answer = subprocess.run(["nice", "-n", "5", "ninja", "-C", str(WORK / "wasm"), *objects()], check=False,
                            env={**os.environ, **tools()})
    if answer.returncode:
        raise CannotCompile("LLVM cannot be compiled: ninja says above where.")


def link() -> Path:
    print("compiler: links the module", flush=True)
    made = WORK / "module"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    includes = [f"-I{WORK / part / 'include'}" for part in ("src/llvm", "wasm", "src/clang", "wasm/tools/clang")]
    call("em++", "-c", "-Os", "-DNDEBUG", "-std=c++17", "-fno-rtti", "-fno-exceptions", *includes,
         FOLDER / "driver.cpp", "-o", WORK / "driver.o", more=tools())
    response = WORK / "objects.rsp"
    response.write_text("\n".join([str(WORK / "driver.o"), *(str(WORK / "wasm" / name) for name in objects())]))
    call("em++", f"@{response}", "-o", made / "compiler.js", *LINK, more=tools())
    module = made / "compiler.wasm"
    (made / "compiler.wasm.gz").write_bytes(gzip.compress(module.read_bytes(), 9, mtime=0))
    module.unlink()
    shutil.copyfile(WORK / "src" / "llvm" / "LICENSE.TXT", made / "LICENSE.llvm.txt")
    editor = WORK / "editor" / "usr" / "share"
    for name in EDITOR:
        shutil.copyfile(editor / "javascript" / "codemirror" / name, made / Path(name).name)
    shutil.copyfile(editor / "doc" / "libjs-codemirror" / "copyright", made / "LICENSE.codemirror.txt")
    (made / "key").write_text(key())
    return made


# --- what a page gets -------------------------------------------------------------------------------------------------


def headers() -> dict[str, str]:
    """What programs may include, by path: our own headers, and the course's."""
    folder = FOLDER / "headers"
    ours = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    course = [path for part in ("ptx", "mma") for path in (files.ROOT / "common" / part).iterdir()
              if path.suffix in (".h", ".cuh")]
    course.append(files.ROOT / "common" / "tests" / "programs" / "ptx.cuh")
    found = {**{str(path.relative_to(files.ROOT)): path for path in course}, **ours}
    return {name: path.read_text(encoding="utf-8") for name, path in sorted(found.items())}


def unit(source: str, text: str, ptx: str) -> str:
    """What is compiled for a page: the file, instances of templates, and the constants that the launch is made from,
    which the page compares with those of the unmodified kernel. `source`: the file's path in the repository; `ptx`: as
    nvcc made it."""
    lines = [f'#include "{source}"']
    entries = re.findall(r"^\.visible \.entry (\w+)\(", ptx, re.MULTILINE)
    for signature in call("c++filt", *entries, cwd=files.ROOT).splitlines():
        if re.match(r"void \w+(::\w+)*<", signature):
            lines.append(f"template __global__ {signature};")
    if space := re.search(r"^namespace (\w+) \{", text, re.MULTILINE):
        for name in sorted(set(re.findall(r"\b(?:Config|Smem)::\w+", text.partition("-- launch\n")[2]))):
            lines.append(f'extern "C" __device__ int {LAUNCH}{name.replace("::", "_")} = {space[1]}::{name};')
    return "\n".join(lines) + "\n"
