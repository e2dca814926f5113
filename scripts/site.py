#!/usr/bin/env python3
"""Builds a static site of the course: all pages, the explorer's pages, and the playground, in which each kernel runs in
the browser.

    site.py                     into build/site/html
    site.py -o DIR --serve      and serves it on this machine
    site.py --pages-only        without the explorer and the playground, which need built levels
    site.py --compiler          with a compiler, so that kernels are written in the playground: the first time it is
                                built from LLVM's source, an hour of two cores, and 5 GB in build/compiler
    site.py --test              builds everything, then tests the site in a browser

The generator, mkdocs-material, comes from PyPI into build/site/venv, in the version of scripts/pins.txt. The site has
relative addresses only, needs no server-side code, and asks no other host.

Exit codes: 0 done; 1 a link leads nowhere, or a test fails; 2 wrong command line; 4 the generator cannot be installed;
8 the levels, the WebAssembly engine or the compiler cannot be built.
"""
from __future__ import annotations

import argparse
import http.server
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from ladder import command, files
from ladder.levels import names
from ladder.results import data
from ladder.site import compiling, links, playground, programs

WORK = files.BUILD / "site"
VENV = WORK / "venv"
CONFIG = files.SCRIPTS / "ladder" / "site" / "mkdocs.yml"
MEGABYTES = 40  # of the whole site without the compiler, at most
COMPILER_MEGABYTES = 15  # of what comes with it: the module, the editor, and a page for each step


class NotInstalled(command.Failure):
    code = 4


class NotBuilt(command.Failure):
    code = 8


def parse() -> argparse.Namespace:
    parser = command.Parser(__doc__)
    parser.add_argument("-o", "--output", type=Path, default=WORK / "html", metavar="DIR",
                        help="default: build/site/html; what is there is replaced")
    parser.add_argument("--pages-only", action="store_true", help="only the Markdown pages")
    parser.add_argument("--compiler", action="store_true",
                        help="with the compiler; one that is built is taken along anyway")
    parser.add_argument("--compiler-only", action="store_true", help="builds the compiler, and nothing else")
    parser.add_argument("--serve", action="store_true", help="serve it when it is made, until Ctrl-C")
    parser.add_argument("--port", type=command.whole_number, default=8000, metavar="N", help="default: %(default)s")
    parser.add_argument("--test", action="store_true", help="test it in a browser when it is made")
    return parser.parse_args()


def install() -> Path:
    """The generator's Python. Raises NotInstalled."""
    python = VENV / "bin" / "python3"
    pins = files.SCRIPTS / "pins.txt"
    stamp = VENV / "pins.txt"
    if stamp.is_file() and stamp.read_bytes() == pins.read_bytes():
        return python
    print("Installing mkdocs-material into build/site/venv", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    for line in ([sys.executable, "-m", "venv", str(VENV)],
                 [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
                  "--retries", "2", "--timeout", "20", "--constraint", str(pins), "mkdocs-material"]):
        answer = subprocess.run(line, capture_output=True, text=True, check=False)
        if answer.returncode:
            said = (answer.stderr or answer.stdout).strip().splitlines()
            raise NotInstalled(f"mkdocs-material cannot be installed: {said[-1] if said else line[0]}.")
    shutil.copyfile(pins, stamp)
    return python


def render(python: Path, output: Path, parts: str) -> None:
    """The Markdown pages, by mkdocs. Raises NotBuilt with what it says."""
    environment = {**os.environ, "LADDER_SITE_ROOT": str(files.ROOT), "LADDER_SITE_PARTS": parts}
    answer = subprocess.run([str(python), "-m", "mkdocs", "build", "--quiet", "--clean", "-f", str(CONFIG), "-d",
                             str(output.resolve())], env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise NotBuilt(f"mkdocs fails: {(answer.stderr or answer.stdout).strip()[-2000:]}.")
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):  # they would need to know the site's address
        (output / name).unlink(missing_ok=True)


def call(*line: str | Path) -> None:
    """Runs a command of the repository. Raises NotBuilt."""
    if subprocess.run([str(word) for word in line], check=False, cwd=files.ROOT).returncode:
        raise NotBuilt(f"{Path(line[0]).name} {' '.join(map(str, line[1:]))} fails.")


def build_compiler() -> None:
    call(files.SCRIPTS / "setup.sh", "--no-tests", "--with-emscripten")
    compiling.build()


def build(output: Path, pages_only: bool, with_compiler: bool) -> None:
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not (output / "search").is_dir())):
        raise command.UsageError(f"-o {output}: a new or empty folder is needed, or one that site.py has made.")
    if VENV.resolve().is_relative_to(output.resolve()):
        raise command.UsageError(f"-o {output}: the generator itself lies in there; the default is {WORK / 'html'}.")
    python = install()
    if with_compiler:
        build_compiler()
    if not pages_only:
        bugs = (f"field_bug_{row['program']}" for row in data.read_rows(programs.FIELD_BUGS)[1])
        call(files.SCRIPTS / "build.sh", *map(names.short, names.all_levels()), "warm_up", *bugs)
        call(files.SCRIPTS / "build.sh", "web")
    parts = "explorer playground compiler" if compiling.built() else "explorer playground"
    render(python, output, "" if pages_only else parts)
    if not pages_only:
        call(sys.executable, files.SCRIPTS / "explore.py", "--all", output / "explorer", "--site")
        playground.write(output / "playground")


def check(output: Path) -> int:
    found = links.problems(output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    most = MEGABYTES + (COMPILER_MEGABYTES if compiling.built() else 0)
    if size > most * 1e6:
        found.append(f"the site has {size / 1e6:.1f} MB: at most {most} are allowed")
    print("".join(f"site.py: {problem}\n" for problem in found), end="", file=sys.stderr)
    print(f"{output / 'index.html'}: {sum(1 for _ in output.rglob('*.html'))} pages, {size / 1e6:.1f} MB")
    return command.EXIT_WRONG if found else command.EXIT_RIGHT


def serve(output: Path, port: int) -> None:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(output))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        server.serve_forever()


def test(output: Path) -> int:
    """The tests of the pages in a browser; exit code 1 if one fails."""
    script = files.ROOT / "common" / "tests" / "site" / "browsing.py"
    answer = subprocess.run([sys.executable, "-B", str(script)], check=False,
                            env={**os.environ, "LADDER_SITE": str(output.resolve())})
    return command.EXIT_RIGHT if answer.returncode in (0, command.EXIT_SKIPPED) else command.EXIT_WRONG


def main() -> int:
    options = parse()
    if options.compiler_only:
        build_compiler()
        return command.EXIT_RIGHT
    build(options.output, options.pages_only, options.compiler)
    code = check(options.output)
    if options.test and code == command.EXIT_RIGHT:
        code = test(options.output)
    if options.serve and code == command.EXIT_RIGHT:
        serve(options.output, options.port)
    return code


if __name__ == "__main__":
    command.run(main)
