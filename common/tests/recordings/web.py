#!/usr/bin/env python3
"""The engine in WebAssembly, under node, beside the native one: the same digests, reports, counters and traces. Without
a web build (scripts/build.sh web) there is nothing to test: exit code 77."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs" / "field_bugs"))

import test_field_bugs as field_bugs
from recorded import BIN, LEVELS, OTHERS, ROOT, SIM, WARM_UPS, record

from ladder.command import EXIT_RIGHT, EXIT_WRONG
from ladder.levels.verdict import Finding, Verdict
from ladder.mutants import study
from ladder.mutants.sites import Embedded
from ladder.mutants.study import Kernel
from ladder.results import data
from ladder.shards import Shard
from ladder.site import classes, programs, recordings
from tests.support import Scratch

WEB = Path(os.environ["LADDER_BUILD"]) / "web"
NODE = ["node", str(ROOT / "common" / "sim" / "web" / "node.js"), str(WEB)]
SKIPPED = 77
TWIN_MODES: dict[str, dict[str, Any]] = {
    "default": {"check": "off"}, "latest": {"check": "off", "schedule": "latest"},
    **{f"seed {i}": {"check": "off", "schedule": {"seed": i}} for i in range(1, field_bugs.SEEDS + 1)},
    "check": {"check": "on"}, "strict": {"check": "strict"}}


def in_node(requests: Sequence[dict[str, Any]]) -> list[Any]:
    done = subprocess.run(NODE, input="\n".join(map(json.dumps, requests)), capture_output=True, text=True,
                          timeout=1800, check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def natively(request: dict[str, Any], folder: Path) -> Any:
    """What the native engine answers to the same request."""
    options = ["--arith", "exact", "--patience", str(request.get("patience", 20))]
    schedule, check = request.get("schedule", "default"), request.get("check", "on")
    if schedule == "latest":
        options.append("--latest")
    elif schedule != "default":
        options += ["--seed", str(schedule["seed"])]
    options += {"on": ["--check"], "off": [], "strict": ["--check=strict"]}[check]
    files = {name: folder / f"{name}.json" for name in ("counters", "trace") if request.get(name)}
    for name, file in files.items():
        options += [f"--{name}", str(file)]
    if "ptx" in request:
        (folder / "changed.ptx").write_text(request["ptx"], encoding="utf-8")
        options += ["--ptx", str(folder / "changed.ptx")]
    done = subprocess.run([SIM, *options, "--json", "--replay", request["recording"]], capture_output=True, text=True,
                          timeout=600, check=False)
    start = done.stdout.rfind('\n{"right"') + 1  # after what kernels print
    answer = json.loads(done.stdout[start:])
    for name, file in files.items():
        answer[name] = json.loads(file.read_text(encoding="utf-8"))
        file.unlink()
    return answer


class Case(Scratch):
    def assert_same(self, requests: Sequence[dict[str, Any]]) -> list[Any]:
        answers = in_node(requests)
        self.assertEqual(len(answers), len(requests))
        for request, answer in zip(requests, answers):
            title = {name: value for name, value in request.items() if name != "ptx"}
            with self.subTest(**title):
                self.assertNotIn("code", answer, answer.get("sentence"))
                there = natively(request, self.root)
                for report in answer["reports"]:
                    del report["usual"]
                for member in ("right", "status", "results", "digest", "reports"):
                    self.assertEqual(answer[member], there[member], member)
                for member in ("counters", "trace"):
                    self.assertEqual(answer.get(member) == there.get(member), True, member)
        return answers


class Same(Case):
    def test_levels(self) -> None:
        for answer in self.assert_same([{"recording": str(record(program, self.root)), "counters": True}
                                        for program in LEVELS]):
            self.assertEqual((answer["right"], answer["status"]), (True, 0))

    def test_schedules_and_traces(self) -> None:
        for program in LEVELS[8:10]:
            file = str(record(program, self.root))
            self.assert_same([{"recording": file, "trace": True, "schedule": schedule, "check": check}
                              for schedule in ("default", "latest", {"seed": 5}) for check in ("on", "strict", "off")])

    def test_warm_ups(self) -> None:
        self.assert_same([{"recording": str(record(program, self.root)), "counters": True, "trace": True}
                          for program in WARM_UPS])

    def test_programs_of_others(self) -> None:
        self.assert_same([{"recording": str(record(program, self.root))} for program in OTHERS])

    def test_hangs_and_faults(self) -> None:
        """Each kernel without one wait, one arrival, one initialisation: what is reported is the same."""
        requests = []
        for kernel in one_of_each():
            recording = recordings.record(kernel, kernel.cases[0], self.root)
            for name in ("mbarrier.arrive.expect_tx", "tcgen05.commit", "mbarrier.init", "bar.sync"):
                for site in [site for site in kernel.sites if site.instruction == name][:1]:
                    requests.append({"recording": str(recording), "ptx": kernel.embedded.without(site.places)})
        kinds = {answer["kind"] for answer in self.assert_same(requests)}
        self.assertLessEqual({"deadlock", "fault"}, kinds)


class FieldBugs(Case):
    """Bugs from the field, recorded as for the playground, come out as docs/results/sim_field_bugs.csv says."""

    def test_twins(self) -> None:
        rows = data.read_rows(programs.FIELD_BUGS)[1]
        runs = [(row["program"], twin, mode) for row in rows
                for twin, modes in (("bad", tuple(TWIN_MODES)), ("good", field_bugs.GOOD_MODES)) for mode in modes]
        for row in rows:
            programs.write_field_bug(row, self.root / row["program"], BIN.parent)
        answers = dict(zip(runs, in_node([{"recording": str(self.root / program / f"{twin}.rec.gz"), "discount": False,
                                           **TWIN_MODES[mode]} for program, twin, mode in runs])))
        for row in rows:
            with self.subTest(row["bug"]):
                bad = {mode: answers[row["program"], "bad", mode] for mode in TWIN_MODES}
                source = programs.FIELD_BUG_FOLDER / f"{row['program']}.cu"
                self.assertEqual(field_bugs.summary(source, {mode: found(answer) for mode, answer in bad.items()}), row)
                for mode, answer in bad.items():
                    self.assertEqual(answer["kind"], found(answer).kind, mode)
                for mode in field_bugs.GOOD_MODES:
                    good = answers[row["program"], "good", mode]
                    self.assertEqual((good["kind"], good["reports"]), ("right", []), mode)


def found(answer: Any) -> Verdict:
    """What the engine in WebAssembly has found."""
    return Verdict(tuple(map(Finding.of, answer["reports"])),
                   EXIT_WRONG if answer["right"] is False else EXIT_RIGHT)


def all_kernels() -> list[Kernel]:
    return study.kernels(sorted({program.name.rpartition("_sm")[0] for program in LEVELS}), (100, 90), "", BIN.parent)


def one_of_each() -> list[Kernel]:
    """The first configuration of every level and architecture."""
    return list({(kernel.level, kernel.arch): kernel for kernel in reversed(all_kernels())}.values())


class Wrong(Case):
    """What cannot be run: a sentence each."""

    def sentences(self, requests: Sequence[dict[str, Any]], code: str, *words: str) -> None:
        for answer in in_node(requests):
            self.assertEqual(answer.get("code"), code, answer)
            for word in words:
                self.assertIn(word, answer["sentence"])

    def test_recordings(self) -> None:
        data = record(WARM_UPS[0], self.root).read_bytes()
        bad = self.root / "bad.rec"
        for content, code, word in ((data[:-7], "damaged", "incomplete"), (b"", "damaged", "not a recording"),
                                    (data.replace(b"version 1\n", b"version 999\n", 1), "version", "version 999"),
                                    (b"\x1f\x8b\x08\x00", "damaged", "damaged")):
            bad.write_bytes(content)
            self.sentences([{"recording": str(bad)}], code, word)

    def test_ptx_and_requests(self) -> None:
        file = str(record(WARM_UPS[0], self.root))
        head = ".version 9.0\n.target sm_100a\n.address_size 64\n"
        self.sentences([{"recording": file, "ptx": head + ".entry k() { nonsense; }"}], "ptx", ":4:")
        self.sentences([{"recording": file, "ptx": head}], "ptx", "does not define")
        self.sentences([{"recording": file, "edits": [{"line": 10 ** 6, "text": ""}]}], "request", "1,000,000")
        self.sentences([{"recording": file, "schedule": "never"}], "request", "never")
        self.sentences([{"recording": file, "check": "perhaps"}], "request", "perhaps")
        self.sentences([{"recording": file, "sms": 100000}], "request", "SMs")
        self.sentences([{"recording": file, "tolerate": "everything"}], "request", "everything")

    def test_a_kernel_that_never_ends(self) -> None:
        program = WARM_UPS[0]
        text = Embedded.find(program.path, 100, "one_mma_sm100.cu").text
        lines = text.split("\n")
        last = max(index for index, line in enumerate(lines) if line.strip() == "ret;")
        edits = [{"line": last + 1, "text": "$for_ever: bra.uni $for_ever;"}]
        answer, = in_node([{"recording": str(record(program, self.root)), "edits": edits, "patience": 1}])
        self.assertEqual(answer["kind"], "deadlock", answer)
        self.assertIn("spins for ever", answer["text"])
        self.assertIsNone(answer["right"])


class Sites(Case):
    """For a spread of the sites of all kernels, what is said without them is what docs/results/needed.csv has."""

    COUNT = int(os.environ.get("LADDER_WEB_SITES", "60"))

    def test_classes(self) -> None:
        rows = study.recorded(study.OUTPUT)
        pairs = study.chosen(all_kernels(), Shard())
        chosen = study.spread(pairs, rows, self.COUNT) if self.COUNT else pairs
        self.assertEqual(classes.differences(chosen, rows, in_node, self.root), [])


if __name__ == "__main__":
    if not (WEB / "sim.wasm.gz").exists():
        print("There is no web build: scripts/build.sh web makes one.")
        sys.exit(SKIPPED)
    unittest.main()
