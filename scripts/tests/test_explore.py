from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any, Optional

from ladder.explorer import events, holds, model
from ladder.explorer.page import Page, render
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


def build(data: dict[str, Any], ctas: Optional[list[int]] = None) -> dict[str, Any]:
    made: dict[str, Any] = model.build(events.read(data)[1][0], None, ctas, {"k.cuh": "a line\n"})
    return made


def rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The page's events, with names for numbers."""
    columns, begin = data["events"], 0
    made: list[dict[str, Any]] = []
    for i in range(len(columns["kind"])):
        begin += columns["begin"][i]
        made.append({"kind": model.KINDS[columns["kind"][i]], "track": data["tracks"][columns["track"][i]]["name"],
                     "begin": begin, "end": begin + columns["length"][i], "name": data["names"][columns["name"][i]],
                     **{name: columns[name][i] for name in ("cause", "b", "c")}})
    return made


class Model(unittest.TestCase):
    def setUp(self) -> None:
        self.data = build(small_trace())
        self.rows = rows(self.data)

    def row(self, kind: str, name: str) -> dict[str, Any]:
        return next(row for row in self.rows if (row["kind"], row["name"]) == (kind, name))

    def cause(self, row: dict[str, Any]) -> dict[str, Any]:
        return self.rows[int(row["cause"])]

    def test_a_wait_is_ended_by_what_completes_its_phase_and_that_by_the_load(self) -> None:
        wait = self.row("wait", "mbarrier")
        change = self.cause(wait)
        self.assertEqual((change["kind"], change["name"]), ("change", "complete_tx"))
        load = self.cause(change)
        self.assertEqual(load["name"], "TMA load")
        self.assertEqual(self.cause(load)["track"], "warp 0")

    def test_who_holds_the_stage(self) -> None:
        states = [(row["name"], row["begin"], row["end"]) for row in self.rows
                  if row["kind"] == "hold" and row["track"].startswith("shared")]
        self.assertEqual(states, [("free", 0, 40), ("TMA fills it", 40, 280), ("full", 280, 320),
                                  ("MMAs read it", 320, 400)])

    def test_who_holds_the_accumulator(self) -> None:
        states = [row["name"] for row in self.rows if row["track"] == "TMEM 0..127"]
        self.assertEqual(states, ["free", "MMAs add to it"])

    def test_what_was_moved_is_said(self) -> None:
        self.assertIn("columns 0..7, rows 8..11; into shared +1,024 of CTA 0; complete_tx at mbarrier +0 of CTA 0, "
                      "which completes its phase", [detail[0] for detail in self.data["details"]])

    def test_roles(self) -> None:
        notes = {track["name"]: track["note"] for track in self.data["tracks"]}
        self.assertEqual((notes["warp 0"], notes["warp 1"]), ("loads", "MMAs"))

    def test_a_report_names_both_events(self) -> None:
        found = rows(build(trace_with_a_report()))
        report = next(row for row in found if row["kind"] == "report")
        self.assertEqual((found[report["b"]]["kind"], found[report["b"]]["name"]), ("op", "MMA 128x128x16"))
        before = found[report["c"]]
        self.assertEqual((before["kind"], before["track"], before["begin"]), ("run", "warp 1", 0))
        self.assertEqual(report["cause"], report["c"])

    def test_ctas_that_are_not_there(self) -> None:
        with self.assertRaisesRegex(TraceError, "no events of CTA 7"):
            build(small_trace(), [7])

    def test_on_which_sm_a_cta_is_belongs_to_no_cta(self) -> None:
        data = small_trace()
        data["traceEvents"].append({"ph": "X", "cat": "residence", "name": "cluster 7", "pid": 999_998, "tid": 64,
                                    "ts": 0, "dur": 1, "args": {"rank": 0}})
        self.assertEqual(build(data), build(small_trace()))

    def test_what_is_no_trace(self) -> None:
        for data, words in (({}, "traceEvents"), ([], "traceEvents"), (trace(), "no events"),
                            (trace(version=1), "its form is version 1"),
                            (trace({"ph": "X", "pid": 0}), "not those of the simulated device")):
            with self.subTest(words), self.assertRaisesRegex(TraceError, words):
                events.read(data)


class Accumulators(unittest.TestCase):
    def test_tiles_are_told_apart_by_mmas_that_overwrite(self) -> None:
        def mma(number: int, begin: int, overwrites: bool) -> events.Event:
            place = events.Place(0, "registers", 4, 4, True)
            return events.Event(number, "operation", "wgmma m64n128", 0, 2, begin, begin + 10, issued=begin,
                                seen=begin + 20, overwrites=overwrites, places=(place,))

        # The second overwrite is issued while MMAs of the same tile run: another half of the registers.
        operations = [mma(0, 0, True), mma(1, 10, True), mma(2, 20, False), mma(3, 100, True), mma(4, 110, False)]
        accumulator, = holds.accumulators([0], operations)
        found = [(hold.state, hold.begin, hold.end) for hold in holds.of_accumulator(accumulator, operations)]
        self.assertEqual(found, [("MMAs add to it", 0, 40), ("complete", 40, 100), ("MMAs add to it", 100, 130),
                                 ("complete", 130, holds.FOR_EVER)])


class PageText(unittest.TestCase):
    def test_nothing_in_the_data_ends_the_script(self) -> None:
        page = Page("<b>", "{{data}} & more", [{"title": "</script><script>alert(1)", "names": ["{{style}}"]}], {})
        text = render(page)
        self.assertIn("&lt;b&gt;", text)
        self.assertNotIn("</script><script>alert", text)
        self.assertIn("{{style}}", text)  # of the data: it is not a field of the template
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
        self.assertTrue('"title":"my trace.json: k"' in text and '"name":"k.cuh"' in text)

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
                                        "echo 'sim: deadlock in kernel k: no warp can go on' >&2\nexit 86\n")
        answer = self.explore(program)
        self.assert_exit(1, answer, "it failed: sim: deadlock in kernel k")
        self.assertTrue((self.root / "build" / "explorer" / "hangs.html").exists())


class Files(unittest.TestCase):
    def test_the_page_asks_nobody_for_anything(self) -> None:
        for path in sorted((Path(support.SCRIPTS) / "ladder" / "explorer" / "web").iterdir()):
            self.assertNotRegex(path.read_text(encoding="utf-8"), r"https?://|fetch\(|XMLHttpRequest", path.name)


if __name__ == "__main__":
    unittest.main()
