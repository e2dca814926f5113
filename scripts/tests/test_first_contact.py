"""scripts/first_contact.py: every probe names what assumes it, the simulated device gives the recorded answers, and a
run is resumed, packed and imported."""
from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import first_contact

from ladder.contact import catalogue, importing, report, state, visit
from ladder.files import RESULTS, DataError
from ladder.results import data
from tests.support import BUILD

#: At least so many facts of each architecture.
LEAST = {90: 40, 100: 60}


def simulator_is_built() -> bool:
    return (BUILD / "sim/libcuda.so.1").exists()


class Probes(unittest.TestCase):
    def test_every_probe_names_a_place_that_is_there(self) -> None:
        for arch, least in LEAST.items():
            self.assertGreaterEqual(len(catalogue.probes(arch)), least)
            for name, probe in catalogue.probes(arch).items():
                with self.subTest(arch=arch, probe=name):
                    self.assertGreater(catalogue.line_of(probe.place), 0, probe.place)
        for arch in LEAST:
            for name in catalogue.kernel_runs(arch):
                self.assertNotIn(":0:", catalogue.place(arch, name))

    def test_recorded_are_all_probes_and_kernels(self) -> None:
        for arch in LEAST:
            self.assertEqual(set(catalogue.answers(arch)), {*catalogue.probes(arch), *catalogue.kernel_runs(arch)})

    @unittest.skipUnless(simulator_is_built(), "the simulated device is not built")
    def test_recorded_answers_are_those_of_the_simulated_device(self) -> None:
        for arch in LEAST:
            recorded = catalogue.answers(arch)
            for name, answer in visit.simulated_facts(visit.Run(BUILD, arch, True)).items():
                with self.subTest(arch=arch, probe=name):
                    self.assertEqual(answer, recorded[name])

    def test_a_false_answer_names_its_assumption(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run = some_run(Path(folder), "wgmma.b_k_major_64B", "0123")
            page = report.page(run.records, 0)
        probe = catalogue.probes(90)["wgmma.b_k_major_64B"]
        self.assertIn(probe.asks, page)
        self.assertIn(f"common/sim/exec/tensor/descriptor.cpp:{catalogue.line_of(probe.place)}: ", page)
        self.assertIn("this machine: `0123`", page)

    def test_a_known_difference_is_none(self) -> None:
        name = "mbarrier.too_many_bytes"
        for answer, verdict in ((catalogue.answers(90)[name], "as simulated"), ("00000000", "differs, as known"),
                                ("00000001", "differs")):
            self.assertEqual(catalogue.verdict(90, name, answer), verdict)


def some_run(folder: Path, name: str = "", answer: str = "", **begin: object) -> state.State:
    """Of an H100 that answers as the simulated one does, but for one probe; and a time."""
    run = state.State(folder / state.NAME)
    run.add({"name": "begin", "format": state.FORMAT, "gpu": "NVIDIA H100 80GB HBM3", "arch": 90, "simulated": False,
             "commit": "abc1234", "date": "2026-11-28T12:00:00Z", **begin})
    for known, right in catalogue.answers(90).items():
        part = "kernels" if known.startswith("kernel.") else "facts"
        run.add({"name": known, "part": part, "seconds": 1.0, "exit_code": 0,
                 "answer": answer if known == name else right})
    row = {"level": "level01_baseline", "arch": "90", "m": "8192", "n": "8192", "k": "8192", "tflops": "250",
           "kind": "measured", "gpu": "NVIDIA H100 80GB HBM3", "date": "2026-11-28T12:00:00Z", "commit": "abc1234"}
    run.add({"name": "bench.level01", "part": "times", "seconds": 9.0, "exit_code": 0, "file": "", "rows": [row]})
    return run


class Runs(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def todo(self, seconds: float = 0) -> list[visit.Step]:
        """Steps that note that they were done; the third takes a while, at first."""
        def command(number: int) -> list[str]:
            return [sys.executable, "-c", f"import time; time.sleep({seconds if number == 2 else 0}); "
                    f"open('{self.folder}/notes', 'a').write('{number} '); print('{{\"answer\": \"{number}\"}}')"]
        return [visit.Step("facts", f"step{number}", command(number), 1, 60) for number in range(5)]

    def begin(self) -> state.State:
        return first_contact.open_state(self.folder / "run", "NVIDIA H100", 90, False, False)

    def test_an_interrupted_run_loses_nothing_and_repeats_nothing(self) -> None:
        def interrupt(step: visit.Step) -> state.Record:
            if step.name == "step2":
                raise KeyboardInterrupt
            return perform(step)

        perform = visit.perform
        with contextlib.redirect_stdout(io.StringIO()):
            with mock.patch.object(visit, "perform", interrupt), self.assertRaises(KeyboardInterrupt):
                first_contact.perform(self.todo(), self.begin(), float("inf"))
            with (self.folder / "run" / state.NAME).open("a", encoding="utf-8") as file:
                file.write('{"name": "step2", "ans')  # the power failed while it was written
            again = self.begin()
            self.assertEqual(again.done(), {"step0", "step1"})
            self.assertEqual(first_contact.perform(self.todo(), again, float("inf")), 0)
        self.assertEqual((self.folder / "notes").read_text(), "0 1 2 3 4 ")
        self.assertEqual(self.begin().done(), {f"step{number}" for number in range(5)})

    def test_a_limit_leaves_steps_out_and_a_hung_one_ends(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(first_contact.perform(self.todo(), self.begin(), time.monotonic()), 5)
        hung = visit.perform(visit.Step("facts", "hung", self.todo(60)[2].command, 1, 0.5))
        self.assertEqual(hung["answer"], "no answer within its limit")

    def test_a_gpu_that_no_longer_answers_ends_the_run(self) -> None:
        machine = visit.Step("machine", "machine", [sys.executable, "-c", "print('{\"machine\": {}}')"], 1, 60)
        hung = visit.Step("facts", "hung", self.todo(60)[2].command, 1, 0.5)
        state, dead = self.begin(), [visit.Step("machine", "machine", ["false"], 1, 60), hung]
        with contextlib.redirect_stdout(io.StringIO()):
            with self.assertRaisesRegex(Exception, "the GPU does not answer:"):
                first_contact.perform(dead, state, float("inf"))
            self.assertEqual(first_contact.perform([machine], state, float("inf")), 0)
            with self.assertRaisesRegex(Exception, "any more, after hung"):
                first_contact.perform(dead, state, float("inf"))
        self.assertEqual(state.done(), {"machine", "hung"})

    def test_another_commit_is_refused(self) -> None:
        self.begin()
        with mock.patch.dict("os.environ", LADDER_COMMIT="other"), self.assertRaisesRegex(Exception, "--fresh"):
            self.begin()


class Archives(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.root = self.folder / "root"
        (self.root / RESULTS).mkdir(parents=True)

    def pack(self, name: str = "", answer: str = "", **begin: object) -> Path:
        return report.pack(some_run(self.folder, name, answer, **begin), 0, self.folder)

    def test_an_archive_becomes_rows_with_provenance(self) -> None:
        archive = self.pack("warp.elect", "7")
        self.assertEqual(archive.name, "first_contact-NVIDIA_H100_80GB_HBM3-2026-11-28.tar.gz")
        said = importing.import_archive(archive, "A. Reader", self.root)
        self.assertIn("1 differ", said)
        rows = data.read_rows(self.root / RESULTS / "h100_first_contact.csv")[1]
        self.assertEqual(len(rows), len(catalogue.answers(90)))
        self.assertEqual({(row["by"], row["gpu"], row["commit"]) for row in rows},
                         {("A. Reader", "NVIDIA H100 80GB HBM3", "abc1234")})
        self.assertEqual([row["name"] for row in rows if row["verdict"] == "differs"], ["warp.elect"])
        times = self.root / RESULTS / "h100.csv"
        self.assertEqual(data.read_rows(times)[1][0]["tflops"], "250")
        again = importing.import_archive(archive, "A. Reader", self.root)
        self.assertIn("0 rows of times and removals were added; 1 were not", again)

    def refuses(self, path: Path, words: str) -> None:
        with self.assertRaisesRegex(DataError, words):
            importing.import_archive(path, "x", self.root)
        self.assertFalse(list((self.root / RESULTS).iterdir()))

    def test_damaged_and_foreign_archives_are_refused(self) -> None:
        whole = self.pack().read_bytes()
        broken = self.folder / "broken.tar.gz"
        for content in (whole[:len(whole) // 2], whole[:900] + b"?" + whole[901:], b"", b"no archive"):
            broken.write_bytes(content)
            self.refuses(broken, "damaged|is none")
        text = (self.folder / state.NAME).read_text()
        for told, words in ((text, "not those that were sealed"), ("{}\n", "a record with a name"),
                               ('{"name": "begin"}\n', "first line does not say"), ("x\n", "no line of JSON")):
            foreign = self.folder / "foreign.tar.gz"
            with tarfile.open(foreign, "w:gz") as made:
                member = tarfile.TarInfo(state.NAME)
                member.size = len(told)
                made.addfile(member, io.BytesIO(told.encode()))
            self.refuses(foreign, words)
        with tarfile.open(self.folder / "other.tar.gz", "w:gz"):
            pass
        self.refuses(self.folder / "other.tar.gz", "has no first_contact.jsonl")

    def test_what_no_gpu_measured_is_refused(self) -> None:
        self.refuses(self.pack(simulated=True), "this was simulated")
        shutil.rmtree(self.folder / "root")
        (self.root / RESULTS).mkdir(parents=True)
        (self.folder / state.NAME).unlink()
        run = some_run(self.folder)
        run.add({"name": "wgmma.other", "part": "facts", "answer": "1", "seconds": 1, "exit_code": 0})
        with mock.patch.object(report, "page", return_value=""):
            other = report.pack(run, 0, self.folder)
        self.refuses(other, "1 probes that are not known here, such as wgmma.other")


class Command(unittest.TestCase):
    def test_a_probe_alone_prints_its_answer(self) -> None:
        if not simulator_is_built():
            self.skipTest("the simulated device is not built")
        found = visit.perform(visit.Step("facts", "warp.elect", visit.Run(BUILD, 90, True).probe("warp.elect"), 1, 60))
        self.assertEqual(found["answer"], catalogue.answers(90)["warp.elect"])
        self.assertEqual(json.loads(json.dumps(found)), found)


if __name__ == "__main__":
    unittest.main()
