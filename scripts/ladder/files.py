"""The repository: where things are, which commit it is, and files that are replaced in one step."""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

from ladder.command import Failure, UsageError

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
BUILD = ROOT / "build"

# From the root of a repository, which need not be this one.
RESULTS = Path("docs") / "results"
CHARTS = Path("docs") / "charts"


class DataError(Failure):
    """A file that cannot be right; the message names it."""


def replace(path: Path, content: str | bytes) -> None:
    """Gives a file new content in one step, or leaves it as it was. A pipe or device is written to."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:  # of the file that the caller has named, not of a temporary one
        raise OSError(error.errno, error.strerror, str(path)) from None
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


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """No other process that locks this file changes it in the meantime: read it, work out what it is to hold, and
    replace it in here. It exists then, if only for the lock. The harness's C++ locks in the same way
    (common/base/file.cpp)."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # a pipe or device
        yield
        return
    while True:
        present = path.exists()
        with path.open("a+b") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue  # it was replaced meanwhile: that version is the one to lock
            try:
                yield
            finally:
                if not present and path.exists() and path.stat().st_size == 0:
                    path.unlink()
            return


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def require_file_name(option: str, path: Path) -> None:
    """That a file of this name can be made: it is no folder, and stands in one. Raises UsageError."""
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise UsageError(f"{option} {path}: the name of a file in an existing folder is needed.")


def read_text(path: Path) -> str:
    """Raises DataError."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: this is no text: byte {error.start} is not UTF-8.") from None


def read_json(path: Path) -> Any:
    """Raises DataError."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise DataError(f"{path}: {error}.") from None


def name_of(path: Path, root: Path) -> Path:
    """As people call it: from the root, if it lies there."""
    return path.relative_to(root) if path.is_relative_to(root) else path


def _git(root: Path, *arguments: str) -> Optional[str]:
    try:
        answer = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def now() -> str:
    """The date of what is measured now."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


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
