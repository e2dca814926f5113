"""What all commands share: arguments, exit codes, and how what goes wrong becomes a sentence."""
from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from pathlib import Path
from typing import Callable, NoReturn, Optional

EXIT_RIGHT, EXIT_WRONG, EXIT_USAGE, EXIT_SKIPPED = 0, 1, 2, 77
EXIT_INTERRUPTED = 130

MAINTAIN = Path(__file__).resolve().parents[1] / "maintain"  # commands for changes to the course

program = Path(sys.argv[0]).name  # how messages name this program
_remains = ""  # what an interrupted command says of its work so far


class Failure(Exception):
    """Ends a command, with this exit code; the message is a sentence for the user."""

    code = EXIT_USAGE


class UsageError(Failure):
    """A command line that asks for something impossible."""


def give_up(code: int, sentence: str) -> NoReturn:
    sys.stdout.flush()
    print(f"{program}: {sentence}", file=sys.stderr)
    raise SystemExit(code)


def sentence_of(error: Exception) -> str:
    """What an exception says, as a sentence."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    else:
        text = str(error)
    return text.rstrip(".") + "."


def run(main: Callable[[], int]) -> NoReturn:
    """The whole of a command: `main` returns its exit code. Failures and files that cannot be read or written become
    sentences; a reader who closes the pipe, such as `head`, has seen enough."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        code = EXIT_RIGHT
    except Failure as error:
        code = error.code
        _complain(sentence_of(error))
    except OSError as error:
        code = EXIT_USAGE
        _complain(sentence_of(error))
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
        _complain("; ".join(filter(None, ("interrupted", _remains))) + ".")
    sys.exit(code)


def _complain(sentence: str) -> None:
    try:
        sys.stdout.flush()
    except OSError as error:  # the disk is full, or the pipe is closed: what was not written is lost anyway
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            sentence = f"standard output cannot be written: {error.strerror}."
    print(f"{program}: {sentence}", file=sys.stderr)


def _drop_output() -> None:
    """Nothing more is written to standard output, not even when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def heed_sigterm(remains: str = "") -> None:
    """Makes being terminated the same as Ctrl-C, so that nothing is left running on the GPU. `remains`: what is said of
    the work so far."""
    global _remains
    _remains = remains
    signal.signal(signal.SIGTERM, signal.default_int_handler)


# --- arguments --------------------------------------------------------------------------------------------------------


def _called() -> str:
    """The command, as one calls it from the root of the repository."""
    scripts, script = Path(__file__).resolve().parents[1], Path(sys.argv[0]).resolve()
    inside = script.name == program and script.is_relative_to(scripts)
    return f"scripts/{script.relative_to(scripts) if inside else program}"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in a sentence, without the whole usage before it. The description is shown as it is written;
    options cannot be shortened, so that new ones break no script."""

    def __init__(self, description: Optional[str], prog: Optional[str] = None, epilog: Optional[str] = None):
        super().__init__(prog=prog, description=description, epilog=epilog, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def format_help(self) -> str:
        maintains = Path(sys.argv[0]).resolve().parent == MAINTAIN
        return super().format_help() + ("\nFor changes to the course; readers do not need this command.\n" * maintains)

    def error(self, message: str) -> NoReturn:
        give_up(EXIT_USAGE, f"{message} ({_called()} --help).")


def whole_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not '{text}'")
    return int(text)


def seconds(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) or float(text) <= 0:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is needed, not '{text}'")
    return float(text)
