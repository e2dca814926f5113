"""Running a level's executable, and ending it when it hangs."""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Optional

from ladder.command import EXIT_SKIPPED, EXIT_USAGE, EXIT_WRONG


def end_program(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it started, politely first. One that hangs in the driver may not even die at once."""
    for number, patience in ((signal.SIGTERM, 1), (signal.SIGKILL, 10)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience)


def run_program(command: Sequence[str], timeout: float, env: Optional[dict[str, str]] = None,
                output: Optional[IO[bytes]] = None, errors: Optional[IO[bytes]] = None) -> Optional[int]:
    """Runs a program, which writes to `output` and `errors`, or where this one does, and returns its exit code, or None
    if it had to be ended because the time was up."""
    sys.stdout.flush()
    # A session of its own, so that what the program starts can be ended with it.
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                               start_new_session=True)
    try:
        return process.wait(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_program(process)
        return None
    except BaseException:
        end_program(process)
        raise


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
