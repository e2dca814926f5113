#!/usr/bin/env python3
"""Removes, one at a time, every synchronising instruction of level 01's kernels, and says what the simulated device
makes of it. The embedded PTX is changed, not the source, so a mutant costs no compilation.

The tables list the sites in the order of the kernel; a line of the source is one site, however often it is unrolled.
What survives every schedule survives for a reason, which the table gives.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from ladder.mutants.sites import Embedded, Site

BIN = Path(os.environ["LADDER_BIN"])
SIM = os.environ["LADDER_SIM"]
SHAPE = ("--m", "200", "--n", "264", "--k", "200")  # six tiles, some ragged; four K blocks
MANY_TILES = ("--m", "640", "--n", "640", "--k", "64")  # for what only some clusters of some seeds meet
SEEDS = range(1, 21)

LOADS = ("cp.async.bulk.tensor",)  # without one its bytes never come


@dataclass
class Killed:
    """The mutant fails with this text: a report's, or WRONG_D."""

    instruction: str
    text: str
    schedule: str = "default"  # or "--latest"; "seeds": in one of SEEDS


@dataclass
class Survives:
    instruction: str
    reason: str


WRONG_D = "WRONG"
DEADLOCK = "deadlock in kernel"
NOT_INITIALISED = "there is no mbarrier at "
WAIT_WITHOUT_ARRIVE = "barrier.cluster.wait without barrier.cluster.arrive before"
ARRIVE_TWICE = "barrier.cluster.arrive twice without barrier.cluster.wait in between"
UNFINISHED = "a register is used that an unfinished tcgen05.ld or wgmma has still to write"
REARMED = "more arrivals than the phase still waits for"

# The reasons to survive.
ORDER_ONLY = "a fence moves nothing by itself, and the functional model orders all accesses anyway"
CONVERGENCE = "the simulated warp collects its lanes at the next .aligned instruction by itself"
PERMIT = "gives up a right that nobody wants"
COVERED = "the second cluster barrier covers the inits too, and a pair's alloc waits for its peer by itself"

SM100: list[Killed | Survives] = [
    Killed("mbarrier.init", NOT_INITIALISED),
    Killed("mbarrier.init", NOT_INITIALISED),
    Killed("mbarrier.init", NOT_INITIALISED),
    Survives("fence.mbarrier_init", ORDER_ONLY),
    Survives("bar.warp.sync", CONVERGENCE),
    Killed("barrier.cluster.arrive", WAIT_WITHOUT_ARRIVE),
    Killed("barrier.cluster.wait", ARRIVE_TWICE),
    Survives("barrier.cluster", COVERED),
    Killed("tcgen05.alloc", "D of the MMA starts at TMEM lane"),
    Survives("tcgen05.relinquish_alloc_permit", PERMIT),
    Survives("tcgen05.fence::before_thread_sync", ORDER_ONLY),
    Killed("barrier.cluster.arrive", WAIT_WITHOUT_ARRIVE),
    Killed("barrier.cluster.wait", ARRIVE_TWICE),
    Killed("barrier.cluster", "tcgen05.ld"),  # with an address that was not there yet
    Survives("tcgen05.fence::after_thread_sync", ORDER_ONLY),
    Killed("mbarrier.try_wait", WRONG_D),
    Killed("mbarrier.arrive.expect_tx", DEADLOCK),
    Killed("cp.async.bulk.tensor", DEADLOCK),
    Killed("cp.async.bulk.tensor", DEADLOCK),
    Killed("mbarrier.try_wait", REARMED),
    Survives("bar.warp.sync", CONVERGENCE),
    Killed("barrier.cluster.arrive", WAIT_WITHOUT_ARRIVE),
    Killed("barrier.cluster.wait", ARRIVE_TWICE),
    Killed("barrier.cluster", WRONG_D, "seeds"),  # the peer's operands are usually there in time
    Survives("tcgen05.fence::after_thread_sync", ORDER_ONLY),
    Killed("tcgen05.commit", DEADLOCK),
    Killed("tcgen05.commit", DEADLOCK),
    Killed("mbarrier.try_wait", "has exited", "seeds"),  # a commit that arrives after everything else
    Survives("bar.warp.sync", CONVERGENCE),
    Killed("mbarrier.try_wait", WRONG_D),
    Survives("tcgen05.fence::after_thread_sync", ORDER_ONLY),
    Survives("bar.warp.sync", CONVERGENCE),
    Killed("tcgen05.wait::ld", UNFINISHED, "--latest"),  # by default a warning: hardware waits by itself
    Survives("tcgen05.fence::before_thread_sync", ORDER_ONLY),
    Survives("bar.warp.sync", CONVERGENCE),
    Killed("barrier.cluster.arrive", WAIT_WITHOUT_ARRIVE),
    Killed("barrier.cluster.wait", "allocated are none"),
    Killed("barrier.cluster", "allocated are none"),
    Survives("tcgen05.fence::after_thread_sync", ORDER_ONLY),
    Killed("tcgen05.dealloc", "exits with tensor memory allocated"),
]

SM90: list[Killed | Survives] = [
    Killed("mbarrier.init", NOT_INITIALISED),
    Survives("fence.mbarrier_init", ORDER_ONLY),
    Killed("bar.sync", NOT_INITIALISED, "seeds"),
    Killed("mbarrier.arrive.expect_tx", DEADLOCK),
    Killed("cp.async.bulk.tensor", DEADLOCK),
    Killed("cp.async.bulk.tensor", DEADLOCK),
    Killed("mbarrier.try_wait", REARMED),
    Survives("bar.warp.sync", CONVERGENCE),
    Survives("wgmma.fence", ORDER_ONLY),
    Killed("wgmma.commit_group", UNFINISHED),
    Killed("wgmma.wait_group", UNFINISHED),
    Killed("bar.sync", DEADLOCK, "--latest"),  # a warp's operands are overwritten before it has multiplied
]


def run(program: Path, ptx: str, shape: tuple[str, ...] = SHAPE, *options: str) -> str:
    """"" if D is right, else what the run says. PTX that the runtime refuses is an error of the test."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        done = subprocess.run(
            [SIM, "--ptx", file.name, "--threads", "1", *options, str(program), *shape],
            capture_output=True, text=True,
        )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def kernel_of(arch: int) -> Embedded:
    return Embedded.find(BIN / f"level01_baseline_sm{arch}", arch)


class Mutants(unittest.TestCase):
    def judge(self, kernel: Embedded, site: Site, expected: Killed | Survives) -> str:
        """"" if the mutant does as expected."""
        ptx = kernel.without(site.places)
        where = f"{kernel.program.name}: without {site.title} of the kernel"
        if isinstance(expected, Survives):
            for schedule in ((), ("--latest",), ("--seed", "1"), ("--seed", "2")):
                if said := run(kernel.program, ptx, SHAPE, *schedule):
                    return f"{where} no longer survives ({' '.join(schedule)}):\n{said}"
            return ""
        if expected.schedule == "seeds":
            said = ""
            for seed in SEEDS:
                said = run(kernel.program, ptx, MANY_TILES, "--seed", str(seed)) or said
                if expected.text in said:
                    return ""
        else:
            said = run(kernel.program, ptx, SHAPE, *([] if expected.schedule == "default" else [expected.schedule]))
        return "" if expected.text in said else f"{where}: expected '{expected.text}', not:\n{said or 'a right D'}"

    def check(self, arch: int, table: list[Killed | Survives]) -> None:
        kernel = kernel_of(arch)
        sites = kernel.sites(LOADS)
        self.assertEqual([site.instruction for site in sites], [expected.instruction for expected in table])
        self.assertEqual(run(kernel.program, kernel.text), "", "the kernel itself must be right")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = list(pool.map(lambda pair: self.judge(kernel, *pair), zip(sites, table)))
        self.assertEqual([verdict for verdict in verdicts if verdict], [])

    def test_blackwell(self) -> None:
        self.check(100, SM100)

    def test_hopper(self) -> None:
        self.check(90, SM90)


class BugsOfTheFirstKernel(unittest.TestCase):
    """What went wrong when this kernel was first written."""

    def setUp(self) -> None:
        self.kernel = kernel_of(100)

    def expect(self, pattern: str, replacement: str, *texts: str) -> None:
        ptx, count = re.subn(pattern, replacement, self.kernel.text)
        self.assertGreater(count, 0, f"nothing matches {pattern}")
        said = run(self.kernel.program, ptx)
        for text in (*texts, "tcgen05.mma.cta_group::2.kind::f16", "level01_baseline/kernel_sm100.cuh:"):
            self.assertIn(text, said)

    def test_type_code_3_for_BF16(self) -> None:
        mma = r"\s+\{[^}]*tcgen05\.mma[^,]*, [^,]*, [^,]*, \1,"
        descriptor = re.search(rf"mov\.b32 (%r\d+), (\d+);(?={mma})", self.kernel.text)
        assert descriptor
        wrong = f"mov.b32 {descriptor[1]}, {int(descriptor[2]) | 3 << 7 | 3 << 10};"
        self.expect(re.escape(descriptor[0]), wrong, "gives A the type code 3", "BF16 = 1")

    def test_an_instruction_descriptor_of_64_bits(self) -> None:
        operands = r"(tcgen05\.mma\S* [^,]*, (%rd\d+), %rd\d+), %r\d+"
        self.expect(operands, r"\1, \2", "operand 4 (instruction descriptor) must be an integer register of 32 bits")

    def test_no_predicate_that_says_whether_to_accumulate(self) -> None:
        self.expect(r"(tcgen05\.mma[^;]*), p;", r"\1;",
                    "5 operands are required (D, A, B, instruction descriptor, enable-input-d), not 4")


if __name__ == "__main__":
    unittest.main()
