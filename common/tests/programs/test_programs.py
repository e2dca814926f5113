#!/usr/bin/env python3
"""Runs the programs of this folder on the simulated device: right ones in every schedule, wrong ones once."""
from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

BIN = Path(os.environ["LADDER_BIN"])
SIM = os.environ["LADDER_SIM"]
SCHEDULES = ((), ("--latest",), ("--seed", "1"), ("--seed", "2"), ("--check",))


def run(program: str, *arguments: str, sim: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [SIM, *sim, str(BIN / f"program_{program}"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def cpu_seconds() -> float:
    """Of all programs that have been run: what a busy machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


HERE = Path(__file__).parent
# Programs that are right, with their arguments and how many tests of theirs pass on a GPU.
RIGHT = (
    ("samples", (), {"b200": 8, "h200": 8}),
    ("clusters_and_mma", (), {"b200": 4, "h200": 4}),
    ("graphs", (), {"b200": 1, "h200": 1}),
    ("graph_nodes", (), {"b200": 1, "h200": 1}),
    ("calls", (), {"b200": 4, "h200": 4}),
    ("units", (), {"b200": 1, "h200": 1}),
    ("matrix_forms", (), {"b200": 3}),
    ("narrow", (), {"b200": 3}),
    ("triton", (str(HERE / "triton_descriptor.ptx"),), {"b200": 1}),
)
# What Triton 3.9.0 makes for sm_90 differs by one addition only, which Hopper does not have for two numbers.
HOPPER = {
    ".target sm_100a": ".target sm_90a",
    "ld.shared.v2.b64 \t{%rd18, %rd19}": "ld.shared.v4.b32 \t{%r1, %r2, %r3, %r4}",
    "add.f32x2 \t%rd21, %rd19, %rd20": "add.f32 \t%r4, %r4, %r31;\n\tadd.f32 \t%r3, %r3, %r31",
    "add.f32x2 \t%rd22, %rd18, %rd20": "add.f32 \t%r2, %r2, %r31;\n\tadd.f32 \t%r1, %r1, %r31",
    "st.shared.v2.b64 \t[%r30], {%rd22, %rd21}": "st.shared.v4.b32 \t[%r30], {%r1, %r2, %r3, %r4}",
}


class Programs(unittest.TestCase):
    def expect_right(self, program: str, *arguments: str, gpu: str, passes: int) -> None:
        for schedule in SCHEDULES:
            with self.subTest(program=program, gpu=gpu, schedule=schedule):
                done = run(program, *arguments, sim=("--gpu", gpu, *schedule))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(done.stdout.count("PASSED"), passes, done.stdout)
                self.assertNotRegex(done.stderr, "warning|sim: check")

    def test_right_ones(self) -> None:
        for program, arguments, gpus in RIGHT:
            for gpu, passes in gpus.items():
                self.expect_right(program, *arguments, gpu=gpu, passes=passes)

    def test_occupancy(self) -> None:
        registers = {"h200": r"(6[4-9]|[7-9]\d|1\d\d)", "b200": "32"}  # for a B200 it has no machine code
        for gpu, count in registers.items():
            with self.subTest(gpu=gpu):
                done = run("occupancy", sim=("--gpu", gpu))
                self.assertRegex(done.stdout, rf"^{count} registers, \d+ cases PASSED\n$")

    def test_a_kernel_of_triton_for_hopper(self) -> None:
        text = (HERE / "triton_descriptor.ptx").read_text()
        for blackwell, hopper in HOPPER.items():
            self.assertEqual(text.count(blackwell), 1)
            text = text.replace(blackwell, hopper)
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            self.expect_right("triton", file.name, gpu="h200", passes=1)

    def test_printf_in_order(self) -> None:
        lines = run("samples").stdout.splitlines()[-4:]
        says = "thread {} of block {} says hello, {:.2f}"
        self.assertEqual(lines, [says.format(t, b, 0.5 * t) for b in (0, 1) for t in (0, 1)])

    def test_each_unit_has_strings_of_its_own(self) -> None:
        self.assertEqual(run("units").stdout.splitlines()[:2], ["this unit", "other unit"])

    def test_clusters_that_fit_as_measured_on_an_H200(self) -> None:
        self.assertIn("clusters that fit: 66 30 15 7\n", run("clusters_and_mma", sim=("--gpu", "h200")).stdout)


class Calls(unittest.TestCase):
    def test_a_stack_that_ends(self) -> None:
        done = run("calls", "too_deep")
        self.assertIn("too deep: cudaErrorHardwareStackError", done.stdout)
        self.assertRegex(done.stderr, r"the stack overflows: down is called at depth \d+")
        self.assertRegex(done.stderr, r"(?m)^  in down, called at call.*calls\.cu:\d+\)$")


class Graphs(unittest.TestCase):
    def test_a_dependency_that_is_missing(self) -> None:
        checked = run("graph_nodes", "race", sim=("--check",))
        self.assertEqual(checked.returncode, 86)
        self.assertIn("error (launches) in kernel sum", checked.stderr)
        self.assertIn("race: wrong", run("graph_nodes", "race", sim=("--latest",)).stdout)


class HandOver(unittest.TestCase):
    """What --check says of ways to hand data over that are no barriers: right, a habit with a name, or an error."""

    def check(self, name: str, *options: str) -> subprocess.CompletedProcess[str]:
        done = run("hand_over", name, sim=("--check", *options))
        self.assertIn(f"{name}: PASSED", done.stdout, done.stderr)
        return done

    def test_right_ones(self) -> None:
        for name in ("grid_sync", "last_block_fenced", "volatile_flags", "acquire_release", "look_back"):
            with self.subTest(name=name):
                done = self.check(name)
                self.assertNotIn("sim: check", done.stderr)
                self.assertEqual(done.returncode, 0)

    def test_habits(self) -> None:
        habits = {"last_block": "flag-without-fence", "lockstep": "warp-synchronous", "two_warps": "warp-synchronous"}
        for name, habit in habits.items():
            with self.subTest(name=name):
                done = self.check(name)
                self.assertIn(f"habit {habit}", done.stderr)
                self.assertNotIn("error", done.stderr)
                self.assertEqual(done.returncode, 0)
                self.assertNotIn("sim: check", self.check(name, "--tolerate", habit).stderr)

    def test_only_kernels_that_are_named(self) -> None:
        for names, code in (("elsewhere", 0), ("elsewhere,no_fence", 86)):
            done = self.check("no_fence", "--check-kernels", names)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("read after write" in done.stderr, code != 0)

    def test_wrong_ones(self) -> None:
        for name in ("no_fence", "narrow_fence"):
            with self.subTest(name=name):
                done = self.check(name)
                self.assertIn("error (read after write)", done.stderr)
                self.assertEqual(done.returncode, 86)


class Reports(unittest.TestCase):
    """What sim.sh says to other programs: records, exit codes, and what is suppressed."""

    def records(self, program: str, *arguments: str, sim: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reports"
            done = run(program, *arguments, sim=("--reports", str(path), *sim))
            found = [json.loads(line) for line in path.read_text().splitlines()]
            for record in found[:-1]:
                self.assertIn(record["text"], done.stderr)
        self.assertEqual((found[-1]["record"], found[-1]["exit_code"]), ("end", done.returncode))
        return found

    def test_a_race(self) -> None:
        error, end = self.records("hand_over", "no_fence", sim=("--check",))
        self.assertEqual((error["kind"], error["rule"], error["tolerated"]), ("race", "read after write", False))
        self.assertEqual([side["noun"] for side in error["sides"]], ["store", "load"])
        lines = [side["frames"][side["body"]] for side in error["sides"]]
        self.assertEqual({place["file"] for place in lines}, {"programs/hand_over.cu"})
        self.assertIn("fence.acq_rel", (error["missing"]["instruction"], error["missing"]["what"]))
        self.assertEqual((end["kind"], end["errors"], end["warnings"]), ("race", 1, 0))

    def test_kinds(self) -> None:
        for program, argument, options, kind in (
                ("hand_over", "lockstep", ("--check",), "convergence"),
                ("hand_over", "last_block", ("--check",), "habit"), ("hand_over", "grid_sync", ("--check",), "right"),
                ("faults", "barrier", (), "deadlock"), ("faults", "null", (), "fault"),
                ("faults", "threads", (), "refused")):
            with self.subTest(program=program, argument=argument):
                *found, end = self.records(program, argument, sim=options)
                self.assertEqual(end["kind"], kind)
                self.assertEqual([record["kind"] for record in found], [] if kind == "right" else [kind])

    def test_a_deadlock_says_who_waits(self) -> None:
        waits = self.records("faults", "barrier")[0]["waits"]
        self.assertEqual({wait["noun"] for wait in waits}, {"bar"})
        self.assertIn("64 of 128 threads", waits[0]["what"])

    def test_several_schedules_are_one_run(self) -> None:
        done = run("hand_over", "no_fence", sim=("--check", "--schedules", "default,latest,8"))
        self.assertEqual(done.returncode, 86)
        self.assertEqual(done.stderr.count("sim: check: error"), 1, done.stderr)
        self.assertIn("exit codes by schedule: default 86, latest 86, 8 86", done.stderr)

    def test_what_is_known_is_counted(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".supp") as file:
            file.write("rule: read*; kernel: *no_fence*; file: *hand_over.cu\nrule: exit  # never\n")
            file.flush()
            *found, end = self.records("hand_over", "no_fence", sim=("--check", "--suppressions", file.name))
            done = run("hand_over", "no_fence", sim=("--check", "--suppressions", file.name))
        self.assertEqual((found, end["kind"], end["suppressed"]), ([], "right", 1))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 finding suppressed\n  matched nothing: line 2: rule: exit", done.stderr)

    def test_exit_codes_and_the_last_line(self) -> None:
        done = run("hand_over", "no_fence", sim=("--check",))
        self.assertTrue(done.stderr.endswith("--check found 1 error, so the program's exit code 0 becomes 86.\n"))
        for code in (0, 7):
            done = run("hand_over", "no_fence", sim=("--check", "--error-exitcode", str(code)))
            self.assertEqual(done.returncode, code)

    def test_a_log_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            done = run("hand_over", "no_fence", sim=("--check", "--log-file", str(path)))
            self.assertEqual((done.stderr, path.read_text().count("sim: check: error")), ("", 1))

    def test_messages_of_a_program_that_redirects_its_standard_error(self) -> None:
        program = ("import ctypes, os; os.dup2(os.open(os.devnull, os.O_WRONLY), 2)\n"
                   "ctypes.CDLL('libcudart.so.13').cudaFree(ctypes.c_void_p(12345))")
        done = subprocess.run([SIM, sys.executable, "-c", program], capture_output=True, text=True)
        self.assertIn("sim: cudaFree", done.stderr)


class Faults(unittest.TestCase):
    """The report, what the program is told, and the exit code that says so if the program does not."""

    def expect(self, name: str, status: str, *texts: str, kernel: bool = True) -> None:
        before = cpu_seconds()
        done = run("faults", name)
        self.assertEqual(done.returncode, 86, done.stdout + done.stderr)
        self.assertIn(f"status: {status}\n", done.stdout)
        for text in (*texts, *(("PTX line", "programs/faults.cu:", "CTA (") if kernel else ())):
            self.assertIn(text, done.stderr)
        self.assertLess(cpu_seconds() - before, 10)

    def test_memory(self) -> None:
        illegal = "an illegal memory access was encountered"
        self.expect("null", illegal, "store of 4 bytes at 0x10", "a null pointer", "warp 0, lane 0 (thread 0)")
        self.expect("host", illegal, "not device memory; the host's own has to be copied")
        self.expect("end", illegal, "past the end of cudaMalloc #1 (1,000 bytes", "lane 20 (thread 20)")
        self.expect("freed", illegal, "which has been freed")
        self.expect("misaligned", "misaligned address", "needs an address that is a multiple of 4")

    def test_waiting_for_ever(self) -> None:
        timeout = "the launch timed out and was terminated"
        self.expect("forever", timeout, "polls without seeing anything change")
        self.expect("barrier", timeout, "deadlock", "barrier 0: 64 of 128 threads have arrived", "warps 2, 3")

    def test_leaving_too_early(self) -> None:
        self.expect("exit", "unspecified launch failure", "CTA (0), rank 0 of its cluster, has exited",
                    "rank 1 of its cluster")

    def test_what_was_indexed_is_named(self) -> None:
        self.expect("far", "an illegal memory access was encountered", "past the end of cudaMalloc #1 (1,000 bytes")

    def test_an_unknown_instruction(self) -> None:
        self.expect("unknown", "an illegal instruction was encountered", "does not know the instruction 'multimem.red")

    def test_launches_that_cannot_fit(self) -> None:
        self.expect("threads", "no error", "blocks of 128 threads but compiled for at most 64", kernel=False)
        self.expect("shared", "no error", "cudaFuncAttributeMaxDynamicSharedMemorySize, 100000", kernel=False)

    def test_memory_that_is_not_there(self) -> None:
        done = run("faults", "memory")
        self.assertIn("asks for 35,184,372,088,832 bytes", done.stderr)


if __name__ == "__main__":
    unittest.main()
