"""A headless Chromium for tests, spoken to in its own protocol (CDP) over a pair of pipes: JSON messages that end with
a zero byte. Nothing else is needed, neither a driver nor a package from PyPI."""
from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Optional

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 600.0  # seconds for an answer: machines are busy


class BrowserError(Exception):
    """What the browser, or a script in it, says is wrong."""


def find_browser() -> Optional[str]:
    """LADDER_BROWSER, or what the system has."""
    named = os.environ.get("LADDER_BROWSER")
    return named or next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One page. What goes wrong in it (exceptions, errors on the console, requests that fail) is kept in `problems`."""

    def __init__(self, program: str, width: int = 1400, height: int = 900) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._folder = tempfile.mkdtemp(prefix="ladder-browser-")
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        arguments = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--hide-scrollbars", "--mute-audio", "--force-device-scale-factor=1",
                     f"--user-data-dir={self._folder}", f"--window-size={width},{height}", "--remote-debugging-pipe",
                     "about:blank"]

        def connect() -> None:  # the browser reads from 3 and writes to 4
            source, target = os.dup(to_browser), os.dup(from_browser)
            os.dup2(source, 3)
            os.dup2(target, 4)

        self._process = subprocess.Popen(arguments, close_fds=True, pass_fds=(3, 4, to_browser, from_browser),
                                         preexec_fn=connect, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._session: Optional[str] = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")

    def close(self) -> None:
        """Ends the browser with all its processes."""
        os.close(self._write)  # at the end of the pipe it goes by itself
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._read)
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- the protocol -----------------------------------------------------------------------------------------------

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and returns its result; what happens meanwhile is noted."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            piece = os.read(self._read, 1 << 20) if ready else b""
            if not piece:
                raise BrowserError("the browser does not answer")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        method, what = event.get("method", ""), event.get("params", {})
        self._events.append(event)
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(what["exceptionDetails"].get("exception", {}).get("description", what)))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(argument.get("value")) for argument in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.problems.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    # --- a page -----------------------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Opens a page from disk and waits until it says that it is ready."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise BrowserError(f"this did not become true: {condition}; {self.problems}")
            time.sleep(0.05)

    def settle(self) -> None:
        """Until what was asked for is drawn."""
        try:
            self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        except BrowserError as error:
            if "navigated" not in str(error):  # a click on a link has left the page
                raise

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def click_on(self, selector: str) -> None:
        box = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                            " e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
                            " return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.click(*box)

    def key(self, key: str, shift: bool = False) -> None:
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0,
                      **(text if kind == "keyDown" else {}))
        self.settle()

    def wheel(self, x: float, y: float, delta: float, control: bool = False) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta,
                  modifiers=2 if control else 0)
        self.settle()

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def thread_seconds(self) -> float:
        """CPU time of the page's thread, scripts and drawing, so far: the same on a busy machine."""
        metrics = {metric["name"]: metric["value"] for metric in self.call("Performance.getMetrics")["metrics"]}
        return float(metrics["TaskDuration"])


class PageTest(unittest.TestCase):
    """A test of pages in a browser: none has a problem, and none asks for anything but its own files."""

    browser: Browser
    own: tuple[str, ...]  # how addresses begin that a page may ask for

    def tearDown(self) -> None:
        self.assertEqual(self.browser.problems, [])
        self.assertEqual([url for url in self.browser.requests if not url.startswith(self.own)], [])

    def text(self, selector: str) -> str:
        return str(self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def picture(self, name: str) -> None:
        """Into the folder that LADDER_PICTURES names, if it names one."""
        if "LADDER_PICTURES" in os.environ:
            self.browser.picture(Path(os.environ["LADDER_PICTURES"]) / f"{name}.png")
