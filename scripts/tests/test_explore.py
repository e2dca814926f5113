from __future__ import annotations

import base64
import gzip
import json
import re
import unittest
from pathlib import Path
from typing import Any, Optional

from ladder.explorer import events, record
from ladder.explorer.page import Page, pack, render
from ladder.sim.traces import VERSION, TraceError
from tests import support


def event(number: int, kind: str, name: str, track: int, begin: int, end: int, **more: Any) -> dict[str, Any]:
    instant = kind in ("barrier", "report")
    return {"ph": "i" if instant else "X", "cat": kind, "name": name, "id": number, "pid": more.pop("cta", 0),
            "tid": track, "ts": begin / 1000, **({} if instant else {"dur": (end - begin) / 1000}), "args": more}


def trace(*list_of_events: dict[str, Any], version: int = VERSION) -> dict[str, Any]:
    launch = {"launch": 0, "kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "cluster": [1, 1, 1],
              "dynamic_smem": 1024, "files": []}
    return {"otherData": {"version": version, "gpu": "Simulated B200", "launches": [launch]},
            "traceEvents": list(list_of_events)}


FULL = {"cta": 0, "offset": 0}


def small_trace() -> dict[str, Any]:
    """Warp 0 loads into a stage, warp 1 waits for it and multiplies."""
    def place(**of: Any) -> dict[str, Any]:
        return {"cta": 0, **of}

    return trace(
        event(0, "run", "run", 16, 0, 50, source="k.cuh:3", last_source="k.cuh:9"),
        event(1, "run", "run", 17, 0, 10, source="k.cuh:20", last_source="k.cuh:21"),
        event(2, "wait", "wait: mbarrier", 17, 10, 300, source="k.cuh:22", barrier=FULL, parity=0,
              released_by={"operation": 3}),
        event(3, "operation", "TMA load of 64 bytes", 1, 40, 60, source="k.cuh:8", warp=0, issued=0.04, seen=0.28,
              bytes=64, coordinates=[0, 8], extent=[8, 4], places=[place(offset=1024, count=64, written=True)]),
        event(4, "barrier", "complete_tx", 6, 280, 280, source="k.cuh:8", barrier=FULL, amount=64, phase=1, pending=1,
              tx=0, completes=True, by={"operation": 3}),
        event(5, "run", "run", 17, 300, 340, source="k.cuh:23", last_source="k.cuh:25"),
        event(6, "operation", "MMA 128x128x16", 2, 320, 360, source="k.cuh:24", warp=1, issued=0.32, seen=0.4,
              overwrites=True, places=[place(offset=1024, count=64), place(column=0, count=128, written=True)]))


HAZARD = "error (across proxies): The second reads what the first wrote, at +1024. Missing: fence.proxy.async."


def trace_with_a_report() -> dict[str, Any]:
    """Warp 1 has written what it multiplies, without a fence."""
    data = small_trace()
    data["traceEvents"].append(event(7, "report", HAZARD, 7, 320, 320, source="k.cuh:24", warp=1, sides=[
        {"cta": 0, "warp": 1, "source": "k.cuh:21", "at": 0.005}, {"cta": 0, "warp": 1, "source": "k.cuh:24",
                                                                   "at": 0.32}]))
    return data


def run_of(data: dict[str, Any], ctas: Optional[list[int]] = None) -> dict[str, Any]:
    """A trace as a page has it."""
    launch = events.read(data)[1][0]
    return {**record.run_data(data, launch, events.chosen_ctas(launch, ctas), None, {"k.cuh": "a line\n"}),
            "title": "Run", "subtitle": ""}


class Trace(unittest.TestCase):
    def test_ctas_that_are_not_there(self) -> None:
        with self.assertRaisesRegex(TraceError, "no events of CTA 7"):
            run_of(small_trace(), [7])

    def test_on_which_sm_a_cta_is_belongs_to_no_cta(self) -> None:
        data = small_trace()
        data["traceEvents"].append({"ph": "X", "cat": "residence", "name": "cluster 7", "pid": 999_998, "tid": 64,
                                    "ts": 0, "dur": 1, "args": {"rank": 0}})
        self.assertEqual(run_of(data), run_of(small_trace()))

    def test_only_shown_ctas_and_cluster_barriers_are_kept(self) -> None:
        data = small_trace()
        data["traceEvents"] += [event(7, "run", "run", 16, 0, 5, cta=1, source="k.cuh:1"),
                                event(8, "barrier", "arrive", 6, 5, 5, cta=1, barrier={"cluster": True}, amount=1)]
        kept = [item["id"] for item in run_of(data, [0])["trace"]["traceEvents"]]
        self.assertEqual((7 in kept, 8 in kept), (False, True))

    def test_what_is_no_trace(self) -> None:
        for data, words in (({}, "traceEvents"), ([], "traceEvents"), (trace(), "no events"),
                            (trace(version=1), "its form is version 1"),
                            (trace({"ph": "X", "pid": 0}), "not those of the simulated device")):
            with self.subTest(words), self.assertRaisesRegex(TraceError, words):
                events.read(data)


def unpack(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


class PageText(unittest.TestCase):
    def test_nothing_in_the_data_ends_the_script(self) -> None:
        page = Page("<b>", "{{data}} & more {{style}}", [{"title": "</script><script>alert(1)"}], {})
        text = render(page)
        self.assertIn("&lt;b&gt;", text)
        self.assertNotIn("</script><script>alert", text)
        self.assertIn("{{style}}", text)  # of the data: it is not a field of the template
        self.assertEqual(unpack(pack({"a": "ü"})), {"a": "ü"})
        self.assertNotRegex(text.partition("<body>")[0], r"https?://")


class Command(support.Sandbox):
    def explore(self, *arguments: object) -> Any:
        return self.run_command("python3", "-B", self.scripts / "explore.py", *arguments)

    def refuses(self, sentence: str, *arguments: object, code: int = 2) -> None:
        answer = self.explore(*arguments)
        self.assert_exit(code, answer, sentence)
        self.assertEqual(len(answer.stderr.strip().splitlines()), 1, answer.stderr)
        self.assertEqual([*self.root.glob("*.html"), *self.root.glob("build/explorer/*")], [])

    def test_bad_input(self) -> None:
        self.write("empty.json", "")
        self.write("damaged.json", '{"traceEvents": [')
        self.write("other.json", json.dumps(trace(version=1)))
        self.refuses("name a level, a program or a trace")
        self.refuses("there is no level 9", 9)
        self.refuses("nonsense is neither a level nor a file", "nonsense")
        self.refuses("empty.json is no trace", "empty.json")
        self.refuses("damaged.json is no trace", "damaged.json")
        self.refuses("its form is version 1", "other.json")
        self.refuses("--arch must be sm90", 1, "--arch", "sm80")
        self.refuses("--ctas: numbers with commas", 1, "--ctas", "all")
        self.refuses("it goes without --check", 1, "--timing", "--check")
        self.refuses("in an existing folder is needed", 1, "-o", "nowhere/page.html")

    def test_a_trace_in_a_file_with_blanks(self) -> None:
        self.write("my trace.json", json.dumps(small_trace()))
        answer = self.explore("my trace.json", "-o", "my page.html", "--beside", "none")
        self.assert_exit(0, answer)
        self.assertIn("my page.html: my trace.json: k", answer.stdout)
        text = (self.root / "my page.html").read_text(encoding="utf-8")
        run, = unpack(re.findall(r'<script id="data"[^>]*>([^<]*)<', text)[0])["runs"]
        self.assertEqual((run["title"], run["trace"]["otherData"]["version"]), ("my trace.json: k", VERSION))

    def test_programs_that_leave_no_trace(self) -> None:
        for name in ("libcudart.so.13", "libcuda.so.1"):
            self.write(f"build/sim/{name}", "")
        program = self.program("my program", "#!/bin/sh\nexit ${1-0}\n")
        self.refuses("my program has launched no kernel", program, code=1)
        self.refuses("exit code 3", program, 3, code=1)
        nothing = json.dumps(trace())
        program = self.program("refused", f"#!/bin/sh\necho '{nothing}' > \"$LADDER_SIM_TRACE\"\n"
                                          "echo 'sim: cudaLaunchKernel: cannot be timed' >&2\nexit 3\n")
        self.refuses("refused has executed nothing: sim: cudaLaunchKernel: cannot be timed", program, code=1)

    def test_a_kernel_that_fails_is_shown_and_said(self) -> None:
        for name in ("libcudart.so.13", "libcuda.so.1"):
            self.write(f"build/sim/{name}", "")
        text = json.dumps(small_trace())
        program = self.program("hangs", f"#!/bin/sh\ncat > \"$LADDER_SIM_TRACE\" <<'END'\n{text}\nEND\n"
                                        "echo 'sim: deadlock in kernel k: no warp can go on' >&2\n"
                                        f"echo '{support.finding('deadlock', kernel='k')}' "
                                        ">${LADDER_SIM_REPORTS:-/dev/null}\nexit 86\n")
        answer = self.explore(program)
        self.assert_exit(1, answer, "it failed: deadlock in kernel k")
        self.assertTrue((self.root / "build" / "explorer" / "hangs.html").exists())


class Files(unittest.TestCase):
    def test_the_page_asks_nobody_for_anything(self) -> None:
        for path in sorted((Path(support.SCRIPTS) / "ladder" / "explorer" / "assets").iterdir()):
            self.assertNotRegex(path.read_text(encoding="utf-8"), r"https?://|fetch\(|XMLHttpRequest|eval\(", path.name)


if __name__ == "__main__":
    unittest.main()
