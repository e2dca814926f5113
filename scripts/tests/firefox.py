"""A headless Firefox for tests, driven by its own protocol, Marionette: JSON messages on a socket, each after its
length and a colon. Nothing else is needed, neither a driver nor a package from PyPI."""
from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

from tests.browser import PATIENCE, BrowserError

PROGRAMS = ("firefox-esr", "firefox")
START = 120.0  # seconds until it listens


def find_firefox() -> Optional[str]:
    """LADDER_FIREFOX, or what the system has."""
    named = os.environ.get("LADDER_FIREFOX")
    return named or next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Firefox:
    """One page."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="ladder-firefox-")
        # Port 0 is any free one; Firefox writes which into the profile.
        (Path(self._folder) / "user.js").write_text('user_pref("marionette.port", 0);\n', encoding="utf-8")
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", self._folder]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, start_new_session=True,
                                         env={**os.environ, "HOME": self._folder})
        self._number = 0
        try:
            self._socket = socket.create_connection(("127.0.0.1", self._port()), timeout=PATIENCE)
            self._buffer = b""
            self._receive()  # it says what it is
            self.call("WebDriver:NewSession", strictFileInteractability=True)
        except BaseException:
            self._end()
            raise

    def _port(self) -> int:
        path, end = Path(self._folder) / "MarionetteActivePort", time.monotonic() + START
        while time.monotonic() < end and self._process.poll() is None:
            if path.exists() and (text := path.read_text(encoding="utf-8").strip()):
                return int(text)
            time.sleep(0.1)
        raise BrowserError("Firefox does not listen")

    def close(self) -> None:
        """Ends the browser with all its processes."""
        self._socket.close()
        self._end()

    def _end(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(timeout=20)
        except ProcessLookupError:
            pass
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _receive(self) -> Any:
        def more() -> bytes:
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise BrowserError("Firefox does not answer")
            return piece

        while b":" not in self._buffer:
            self._buffer += more()
        length, _, self._buffer = self._buffer.partition(b":")
        while len(self._buffer) < int(length):
            self._buffer += more()
        message, self._buffer = self._buffer[:int(length)], self._buffer[int(length):]
        return json.loads(message)

    def call(self, method: str, **parameters: Any) -> Any:
        """Sends a command and returns its result."""
        self._number += 1
        data = json.dumps([0, self._number, method, parameters]).encode()
        self._socket.sendall(str(len(data)).encode() + b":" + data)
        _, _, error, result = self._receive()
        if error:
            raise BrowserError(f"{method}: {error['message']}")
        return result

    def open(self, url: str) -> None:
        self.call("WebDriver:Navigate", url=url)

    def execute(self, script: str) -> Any:
        """The value that a function with this body returns; it sees the page's own variables."""
        whole = f"const playground = window.wrappedJSObject.playground; {script}"
        return self.call("WebDriver:ExecuteScript", script=whole, args=[], sandbox="default")["value"]

    def wait(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.execute(f"return Boolean({condition});"):
            if time.monotonic() > end:
                raise BrowserError(f"this did not become true: {condition}")
            time.sleep(0.05)
