"""The tuner: spaces and their rules, sweeps with a fake compiler and fake variants, and real ones on the simulated
device."""
from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import runpy
import shutil
import subprocess
import sys
import textwrap
import threading
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

from ladder import command, files, shards
from ladder.levels import gpus
from ladder.tune import runner, sgemm, space, sweep, tuning, variants
from tests.support import ROOT, SCRIPTS, Scratch

KERNEL9 = space.KERNELS["sgemm", 90]

# Kernel 9 with parameters of every kind, which only the fakes know.
MADE_UP = replace(KERNEL9, name="made_up", parameters=(
    *(replace(each, macro=each.macro.replace("K9_", "SGEMM_")) for each in KERNEL9.parameters),
    space.Parameter("copy", "SGEMM_COPY", 0, (0, 1, 2), ("registers", "async", "tma")),
    space.Parameter("group", "SGEMM_GROUP", 0, range(129)), space.Parameter("snake", "SGEMM_SNAKE", 0, (0, 1))))

# "Compiles" definitions into a file that holds them. SGEMM_GROUP says what is special about a variant.
FAKE_NVCC = f"#!{sys.executable} -ES" + r"""
import sys
if "--version" in sys.argv:
    print("release 13.0")
    sys.exit(0)
definitions = " ".join(a for a in sys.argv if a.startswith("-DSGEMM_"))
if "SGEMM_GROUP=100 " in definitions + " ":
    print('sgemm.cuh(7): error: static assertion failed with "no such tile"')
    sys.exit(1)
if "SGEMM_GROUP=99 " in definitions + " ":
    print("ld: final link failed: No space left on device")
    sys.exit(1)
with open(sys.argv[sys.argv.index("-o") + 1], "w") as file:
    file.write(definitions)
for entry, registers in ("sgemmILb0E", 40), ("sgemmILb1E", 123):
    print(f"ptxas info    : Compiling entry function '_ZN7kernel9{entry}' for 'sm_90a'")
    print("    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads")
    print(f"ptxas info    : Used {registers} registers, used 1 barriers")
"""

# Answers like autotune_measure, and misbehaves as the variant's SGEMM_GROUP demands.
FAKE_MEASURE = f"#!{sys.executable} -ES" + r"""
import json, os, re, signal, sys, time
def value(flag):
    return sys.argv[sys.argv.index(flag) + 1]
folder = os.path.dirname(sys.argv[0])
def say(**words):
    print(json.dumps(words), flush=True)
with open(os.path.join(folder, "starts"), "a") as file:
    print(os.environ.get("CUDA_VISIBLE_DEVICES"), file=file)
if os.path.exists(os.path.join(folder, "no_device")):
    print("autotune_measure: there is no GPU here.", file=sys.stderr)
    sys.exit(77)
say(gpu="NVIDIA H200", simulated=False, driver="580", cuda="13.0", cublas="13.1.0")
for line in sys.stdin:
    point = dict(re.findall(r"-DSGEMM_(\w+)=(\d+)", open(line.strip()).read()))
    with open(os.path.join(folder, "calls"), "a") as file:
        print(os.environ.get("CUDA_VISIBLE_DEVICES"), value("--sizes"), point["BM"], point["GROUP"], file=file)
    for size in value("--sizes").split(","):
        what = point["GROUP"]
        if what == "101":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "102":
            time.sleep(3600)
        if what == "105":
            time.sleep(0.3)
        if what == "103":
            say(status="wrong", why="3 of 16 elements are wrong")
        elif what == "104":
            say(status="error", why="cudaErrorIllegalAddress (an illegal memory access was encountered) while running.")
            sys.exit(3)
        else:
            speed = int(point["BM"]) / 8 + int(point["BK"]) / 16
            say(status="ok", tflops=speed, cublas_tflops=50, ratio_cublas=speed / 50)
"""


class Spaces(unittest.TestCase):
    def count(self, name: str, limit: int = space.SMEM_LIMIT) -> Counter[str]:
        found = space.load(ROOT / space.SPACES / f"{name}.space", KERNEL9).candidates(KERNEL9, limit)
        return Counter(candidate.reason.split(":")[0] for candidate in found)

    def test_the_space_of_the_notes(self) -> None:
        self.assertEqual(self.count("sgemm_notes"), {"": 133, "divisibility": 443})
        self.assertEqual(self.count("sgemm_notes", space.STATIC_SMEM), {"": 93, "divisibility": 443, "SMEM": 40})

    def test_every_listed_point_is_legal(self) -> None:
        for kernel in space.KERNELS.values():
            for path in (ROOT / space.SPACES).glob("*.space"):
                if space.kernel_of(path) != kernel.name or f"sm{190 - kernel.arch}" in path.stem:
                    continue
                listed = [c for c in space.load(path, kernel).candidates(kernel) if c.name]
                self.assertEqual([c.name for c in listed if c.reason], [], path)

    def reason(self, **values: int) -> str:
        return space.kernel9_reason(KERNEL9.complete(values), space.SMEM_LIMIT)

    def test_reasons(self) -> None:
        self.assertEqual(self.reason(), "")
        self.assertIn("vector width", self.reason(tm=2))
        self.assertIn("BN = 64 is not a multiple of 128", self.reason(bn=64))
        self.assertIn("BM * BK = 512 is not a multiple of 1024", self.reason(bm=128, bk=4, bn=256))
        self.assertIn("registers: 512 accumulators per thread", self.reason(bm=512, bn=256))

    def test_the_steps_of_the_ladder(self) -> None:
        """Each patch applies, and a point has the kernel after it in place of kernel 9."""
        ladder = space.KERNELS["sgemm_ladder", 90]
        texts = [ladder.instead({"step": number})[sgemm.KERNEL] for number in range(len(sgemm.series()))]
        self.assertEqual(len({*texts, (ROOT / sgemm.KERNEL).read_text(encoding="utf-8")}), len(texts) + 1)
        self.assertIn("stream_k", [step.name for step in sgemm.series()])

    def refused(self, text: str, sentence: str) -> None:
        with self.assertRaises(space.SpaceError) as caught:
            space.parse(textwrap.dedent(text), MADE_UP, "my.space")
        self.assertIn(sentence, str(caught.exception))

    def test_errors_name_line_and_reason(self) -> None:
        self.refused("kernel made_up\nbm 64\nbmm 64\n",
                     "my.space:3: made_up has no parameter 'bmm', only bm, bn, bk")
        self.refused("kernel made_up\nbk 8 16 24\n",
                     "my.space:2: bk can be 4, 8, 16, 32, 64, and '24' is none of these")
        self.refused("kernel made_up\nbm 8 x\n", "my.space:2: bm can be 8 to 512, multiples of 8, and 'x'")
        self.refused("kernel made_up\ncopy warp\n",
                     "copy can be registers, async, tma, and 'warp' is none")
        self.refused("kernel made_up\nbm 64\nbm 128\n", "my.space:3: bm was given already")
        self.refused("kernel made_up\nbm 64 64\n", "my.space:2: bm has a value twice")
        self.refused("kernel made_up\nbm\n", "my.space:2: bm has no values")
        self.refused("kernel production\n", "my.space:1: this space is for kernel 'production', not for made_up")
        self.refused("bm 64\n", "my.space:1: a space begins with a line such as: kernel made_up")
        self.refused("kernel made_up\n# nothing\n", "the space is empty")
        self.refused("kernel made_up\npoint bm=64\n", "my.space:2: a point needs a name")
        self.refused("kernel made_up\npoint a bm=64\npoint a bm=128\n", "my.space:3: there is a point 'a' already")
        self.refused("kernel made_up\npoint a bm\n", "my.space:2: parameter=value is needed, not 'bm'")
        self.refused("kernel made_up\npoint a bm=64 bm=128\n", "my.space:2: bm was given already")

    def test_a_point_counts_once(self) -> None:
        parsed = space.parse("kernel made_up\nbm 64 128\ntm 4\npoint mine bm=64 tm=4 # again\n", MADE_UP, "")
        found = list(parsed.candidates(MADE_UP))
        self.assertEqual([(c.name, c.point["bm"]) for c in found], [("mine", 64), ("", 128)])

    def test_what_cannot_be_tuned(self) -> None:
        self.assertEqual(space.find_kernel("production", 100), space.KERNELS["production", 100])
        for text, words in (("level07", "nothing to tune in level07 for sm90"),
                            ("gemm", "nothing to tune in gemm")):
            with self.assertRaisesRegex(command.Failure, words):
                space.find_kernel(text, 90)

    def test_occupancy(self) -> None:
        self.assertEqual(space.ctas_per_sm(128, 256, 16_384), 2)
        self.assertEqual(space.ctas_per_sm(129, 256, 16_384), 1)
        self.assertEqual(space.ctas_per_sm(32, 256, 100_000), 2)
        self.assertEqual(space.ctas_per_sm(32, 1024, 0), 2)
        self.assertEqual(space.ctas_per_sm(16, 32, 0), 32)


class Tuner(Scratch):
    """autotune.py in a folder of its own, with the fakes."""

    def setUp(self) -> None:
        super().setUp()
        self.output = self.root / "sweep.csv"
        for name, content in ("nvcc", FAKE_NVCC), ("autotune_measure", FAKE_MEASURE):
            (self.root / name).write_text(content)
            (self.root / name).chmod(0o755)
        (self.root / "made_up.space").write_text("kernel made_up\nbm 128\n")
        self.gpus = [gpus.Gpu("NVIDIA H200", 90)]
        measure = self.root / "autotune_measure"
        self.replace((variants, "find_nvcc", lambda: str(self.root / "nvcc")),
                     (space, "KERNELS", {**space.KERNELS, ("made_up", 90): MADE_UP}),
                     (tuning, "SPACES", {"made_up": (str(self.root / "made_up.space"),)}),
                     (tuning, "SIZES", {"made_up": "4096"}), (tuning, "RETIMED", {"made_up": "2048,4096,8192"}),
                     (tuning, "build_programs", lambda _: measure), (tuning, "BUILD", self.root),
                     (gpus, "find_gpus", lambda: self.gpus), (command, "program", "autotune.py"))

    def tune(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, output, errors."""
        out, err = io.StringIO(), io.StringIO()
        script = str(SCRIPTS / "autotune" / "autotune.py")
        command_line = [script, "--kernel", "made_up", "--output", str(self.output), "--no-charts", "--jobs", "2",
                        *arguments]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.object(sys, "argv", command_line), self.assertRaises(SystemExit) as stop:
            runpy.run_path(script, run_name="__main__")
        code = stop.exception.code
        assert isinstance(code, int)
        return code, out.getvalue(), err.getvalue()

    def points(self, *groups: int, more: str = "") -> list[str]:
        return [word for group in groups for word in ("--point", f"group={group} {more}")]

    def rows(self) -> list[dict[str, str]]:
        with self.output.open() as file:
            return list(csv.DictReader(file))

    def calls(self) -> list[str]:
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def test_a_sweep(self) -> None:
        space_file = self.root / "my.space"
        space_file.write_text("kernel made_up\nbm 64 128 256\nbn 128\ntm 8\npoint base bm=128 bn=128\n")
        code, out, err = self.tune("--space", str(space_file), "--sizes", "4096", "--best", "1",
                                   "--best-sizes", "2048,8192")
        self.assertEqual(code, 0, err)
        self.assertIn("3 points: 2 are legal; dropped are 1 for divisibility.", err)
        self.assertIn("4096: 33.0 TFLOPS, 0.660 of cuBLAS: bm=256 bn=128 bk=16 tm=8 tn=8", out)
        header = self.output.read_text().splitlines()[0].split(",")
        self.assertEqual(header[:10], "bm bn bk tm tn size tflops cublas_tflops ratio_cublas status".split())
        for column in "copy group snake registers spill_bytes smem_bytes occupancy".split():
            self.assertIn(column, header)
        rows = {(r["bm"], r["size"]): r for r in self.rows()}
        self.assertEqual(set(rows), {("64", "4096"), ("128", "4096"), ("256", "4096"),
                                     *((bm, size) for bm in ("128", "256") for size in ("2048", "8192"))})
        self.assertEqual(rows["64", "4096"]["status"],
                         "divisibility: BM = 64 is not a multiple of 128, what one step of all threads covers")
        row = rows["256", "4096"]
        self.assertEqual([row[c] for c in ("status", "tflops", "registers", "spill_bytes", "smem_bytes", "ctas_per_sm",
                                           "kind", "gpu")], ["ok", "33.0", "123", "16", "24576", "2", "measured",
                                                             "NVIDIA H200"])
        self.assertEqual(rows["128", "4096"]["name"], "base")

    def test_what_fails_is_recorded_and_the_sweep_goes_on(self) -> None:
        code, out, err = self.tune(*self.points(100, 101, 102, 103, 104, 1), "--timeout", "5", "--best", "0",
                                   "--sizes", "512,1024")
        self.assertEqual(code, 1, err)
        status = {row["group"]: row["status"] for row in self.rows() if row["size"] == "1024"}
        self.assertEqual(status, {
            "100": 'does not compile: static assertion failed with "no such tile"',
            "101": "crashed: SIGSEGV", "102": "hung: no answer in 5.15 s", "103": "wrong: 3 of 16 elements are wrong",
            "104": "error: cudaErrorIllegalAddress (an illegal memory access was encountered) while running.",
            "1": "ok"})
        self.assertIn("crashed: SIGSEGV", out)
        self.assertEqual(len(self.rows()), 12)

    def test_it_goes_on_where_it_stopped(self) -> None:
        arguments = [*self.points(1, 2, 3), "--best", "0"]
        self.assertEqual(self.tune(*self.points(1, 2), "--best", "0")[0], 0)
        self.assertEqual(len(self.calls()), 2)
        code, _, err = self.tune(*arguments)
        self.assertEqual(code, 0)
        self.assertIn("sweep: 2 of 3 were done before.", err)
        self.assertEqual(len(self.calls()), 3)
        self.tune(*arguments)
        self.assertEqual(len(self.calls()), 3)
        self.tune(*arguments, "--fresh")
        self.assertEqual(len(self.calls()), 6)
        with mock.patch.object(variants.Compiler, "_hash_sources", lambda _: "other sources"):
            self.tune(*arguments)
        self.assertEqual(len(self.calls()), 9)
        self.assertEqual(len(self.rows()), 3)

    def test_a_file_from_before_the_kernel_had_a_parameter(self) -> None:
        self.tune(*self.points(1), "--best", "0")
        rows = self.rows()
        with self.output.open("w", newline="") as file:
            writer = csv.DictWriter(file, [c for c in rows[0] if c not in ("snake", "power_w")], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        self.assertEqual(self.tune(*self.points(1, 2), "--best", "0")[0], 0)
        self.assertEqual(len(self.calls()), 2)
        self.assertEqual([(row["group"], row["snake"]) for row in self.rows()], [("1", "0"), ("2", "0")])

    def test_parts_that_are_merged_are_the_whole(self) -> None:
        points = self.points(*range(1, 8), 100)
        parts = []
        for index in (1, 2, 3):
            self.output = self.root / f"part{index}.csv"
            code, _, err = self.tune(*points, "--shard", f"{index}/3")
            self.assertEqual(code, 1 if index == 2 else 0, err)  # 100 does not compile
            self.assertEqual(len(self.rows()), 3 if index < 3 else 2)
            parts.append(self.output)
        self.output = self.root / "whole.csv"
        self.output.write_text(shards.merge(parts))
        calls = len(self.calls())
        code, _, err = self.tune(*points, "--best", "2")
        self.assertIn("sweep: 8 of 8 were done before.", err)
        best = self.calls()[calls:]
        self.assertEqual(len(best), 2)
        self.assertTrue(all(" 2048x2048x2048,4096" in call for call in best), best)
        self.refused(2, "K/N with K from 1 to N", *points, "--shard", "4/3")

    def test_ctrl_c_loses_nothing(self) -> None:
        arguments = [*self.points(105, more="bk=8"), *self.points(105), *self.points(105, more="bk=32"), "--best", "0"]
        step = sweep.Progress.step

        def interrupt(progress: sweep.Progress, status: str) -> None:
            step(progress, status)
            raise KeyboardInterrupt

        with mock.patch.object(sweep.Progress, "step", interrupt):
            code, _, err = self.tune(*arguments)
        self.assertEqual(code, 130)
        self.assertIn(f"{self.output} holds what was measured so far; the same command goes on from there", err)
        self.assertEqual([row["status"] for row in self.rows()], ["ok"])
        self.assertEqual(self.tune(*arguments)[0], 0)
        self.assertEqual([row["status"] for row in self.rows()], ["ok"] * 3)

    def test_several_gpus(self) -> None:
        self.gpus = [gpus.Gpu("NVIDIA H200", 90)] * 2
        code, _, err = self.tune("--gpus", "0,1", *(w for bk in (8, 16, 32) for w in self.points(105, more=f"bk={bk}")),
                                 "--best", "0")
        self.assertEqual(code, 0, err)
        self.assertEqual({call.split()[0] for call in self.calls()}, {"0", "1"})

    def refused(self, code: int, sentence: str, *arguments: str) -> None:
        answer, _, err = self.tune(*arguments)
        self.assertEqual(answer, code, err)
        self.assertIn(sentence, err)
        self.assertNotIn("Traceback", err)

    def test_bad_input(self) -> None:
        self.refused(2, "made_up has no parameter 'bmm'", "--point", "bmm=64")
        self.refused(2, "--point 1: bk can be", "--point", "bk=7")
        self.refused(2, "The space is empty: all of its 1 points are dropped, 1 for divisibility", "--point",
                     "bm=64 tm=8")
        self.refused(2, "no.space cannot be read: No such file or directory. There are:", "--space", "no")
        self.refused(2, "A size is an edge", "--sizes", "4096x4")
        self.refused(2, "there is no GPU '1', the machine has 1", "--gpus", "1")
        self.refused(2, "there is nothing to tune in made_up for sm100", "--arch", "100")
        self.refused(2, "a number of seconds above 0", "--budget", "fast")
        self.refused(2, "not allowed with argument --simulate (scripts/autotune/autotune.py --help).", "--simulate",
                     "--modelled")
        self.output.write_text("a,b\n1,2\n")
        self.refused(2, "holds something else than a sweep of made_up: its columns are a, b", *self.points(1))
        self.output.unlink()
        self.gpus = [gpus.Gpu("NVIDIA A100", 80)]
        self.refused(2, "NVIDIA A100 is no GPU for sm90", "--gpus", "0")

    def test_no_gpu(self) -> None:
        self.gpus = []
        self.refused(77, "Without one, --quick verifies a handful of points on the simulated device")
        self.gpus = [gpus.Gpu("NVIDIA H200", 90)]
        (self.root / "no_device").touch()
        self.refused(77, "there is no GPU here", *self.points(1))

    def test_a_full_disk(self) -> None:
        self.tune(*self.points(1), "--best", "0")
        before = self.output.read_text()
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(files, "replace", side_effect=full):
            self.refused(2, f"Nothing more can be written (No space left on device). {self.output} holds what was",
                         *self.points(1, 2), "--best", "0")
        self.assertEqual(self.output.read_text(), before)
        self.refused(2, "No space left on device", *self.points(1, 99), "--best", "0")
        self.assertEqual(self.tune(*self.points(1, 2), "--best", "0")[0], 0)
        self.assertEqual([row["status"] for row in self.rows()], ["ok", "ok"])

    def test_list_does_nothing(self) -> None:
        code, out, _ = self.tune("--list", *self.points(1), "--point", "bm=64 tm=8")
        self.assertEqual(code, 0)
        self.assertIn("2 points: 1 are legal; dropped are 1 for divisibility.", out)
        self.assertFalse(self.output.exists())


# One element of D per CTA, which another warp than the one that has it stores: late, but without a barrier.
CHANCE = r"""
#include "scripts/autotune/variant.h"
__global__ void product(autotune::Problem p) {
  __shared__ float shared;
  float sum = 0;
  for (int k = 0; k < p.k * (threadIdx.x == 0 ? 1 : 9); ++k) {
    const int i = k % p.k;
    sum += static_cast<const float*>(p.a)[blockIdx.y * p.k + i] * static_cast<const float*>(p.b)[i * p.n + blockIdx.x];
  }
  if (threadIdx.x == 0) shared = sum;
  if (threadIdx.x == 32 && sum != 1e30f) static_cast<float*>(p.d)[blockIdx.y * p.ldd + blockIdx.x] = shared;
}
cudaError_t launch_variant(const autotune::Problem& p, cudaStream_t stream) {
  product<<<dim3(p.n, p.m), 64, 0, stream>>>(p);
  return cudaGetLastError();
}
"""

MEASURE = ROOT / "build" / "bin" / "autotune_measure"
READY = MEASURE.exists() and (ROOT / "build" / "sim" / "libcudart.so.13").exists() and shutil.which("nvcc") is not None


@unittest.skipUnless(READY, "scripts/build.sh has not built autotune_measure and the simulated device")
class OnTheSimulatedDevice(Scratch):
    def test_quick(self) -> None:
        for kernel, points in (("sgemm", ("bm=128", "bm=64 bn=64 tm=4 tn=4")), ("sgemm_ladder", ("step=stream_k",))):
            output = self.root / f"{kernel}.csv"
            answer = subprocess.run(
                [sys.executable, "-B", SCRIPTS / "autotune" / "autotune.py", "--kernel", kernel, "--quick",
                 "--output", output, "--charts", self.root, *(word for p in points for word in ("--point", p))],
                capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=False)
            self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
            self.assertRegex(answer.stdout,
                             rf"67x131x29: {len(points)} variants? (is|are) right on the simulated device")
            with output.open() as file:
                rows = list(csv.DictReader(file))
            self.assertEqual({(row["status"], row["tflops"], row["gpu"]) for row in rows},
                             {("ok", "", "Simulated H200")})

    def test_the_rules_of_level_08_are_those_of_its_kernel(self) -> None:
        """Every point that is called legal compiles as a Config, and takes the shared memory that is said."""
        kernel = space.KERNELS["production", 90]
        found = space.load(ROOT / space.SPACES / "production_sm90.space", kernel).candidates(kernel)
        lines = ['#include "level08_deep_pipeline/production/kernel_sm90.cuh"']
        for point in (c.point for c in found if not c.reason):
            shape = f"production::TileShape{{{', '.join(str(point[p.name]) for p in kernel.parameters)}}}"
            config = f"production::Config<{shape}>"
            lines.append(f"static_assert(production::SmemOf<{config}>::BYTES == {space.sm90_smem(point)});")
        source = self.root / "rules.cu"
        source.write_text("\n".join(lines))
        answer = subprocess.run(["nvcc", "-std=c++20", f"-I{ROOT}", "-arch=sm_90a", "-ptx", source,
                                 "-o", self.root / "rules.ptx"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        self.assertGreater(len(lines), 100)

    def variant(self, name: str, body: str) -> str:
        """A library whose launch does something else than a product."""
        source = self.root / f"{name}.cpp"
        source.write_text('#include <csignal>\n#include <unistd.h>\n#include "scripts/autotune/variant.h"\n'
                          "cudaError_t launch_variant(const autotune::Problem& p, cudaStream_t stream) {\n"
                          f"  static_cast<void>(p), static_cast<void>(stream);\n  {body}\n  return cudaSuccess;\n}}\n")
        library = self.root / f"{name}.so"
        toolkit = Path(os.path.realpath(shutil.which("nvcc") or "")).parents[1]
        subprocess.run(["g++", "-shared", "-fPIC", "-std=c++20", f"-I{ROOT}", f"-I{toolkit}/include", source,
                        "-o", library], check=True)
        return str(library)

    def driver(self, timeout_s: float = 120) -> runner.Runner:
        settings = runner.Settings(sizes=[(96, 64, 32)], timeout_s=timeout_s)
        driver = runner.Runner(KERNEL9, runner.Device(None), settings, MEASURE, threading.Event())
        self.addCleanup(driver.close)
        return driver

    def test_a_product_that_is_right_by_chance_is_found_out(self) -> None:
        library = self.root / "chance.so"
        source = self.root / "chance.cu"
        source.write_text(CHANCE)
        subprocess.run(["nvcc", "-std=c++20", f"-I{ROOT}", "-arch=sm_90a", "-Xcompiler", "-fPIC", "-shared", "-cudart",
                        "shared", source, "-o", library], check=True)
        answer = self.driver().measure(str(library))[0]
        self.assertEqual(answer["status"], "wrong")
        self.assertIn("race (read after write) in kernel product", str(answer["why"]))

    def test_what_is_not_a_product_is_found_out(self) -> None:
        driver = self.driver()

        def answer(name: str, body: str) -> dict[str, object]:
            return driver.measure(self.variant(name, body))[0]

        nothing = answer("nothing", "")
        self.assertEqual(nothing["status"], "wrong")
        self.assertIn("6144 of 6144 elements are wrong, 6144 of them never written; D[0][0] is", str(nothing["why"]))
        zeros = answer("zeros", "return cudaMemsetAsync(p.d, 0, 4ull * p.m * p.ldd, stream);")
        self.assertEqual(zeros["status"], "wrong")
        crash = answer("crash", "raise(SIGSEGV);")
        self.assertEqual((crash["status"], crash["why"]), ("crashed", "SIGSEGV"))
        hang = self.driver(timeout_s=2).measure(self.variant("hang", "for (;;) pause();"))[0]
        self.assertEqual(hang["status"], "hung")
        refusal = answer("refusal", "return cudaErrorInvalidValue;")
        self.assertEqual(refusal["status"], "error")
        self.assertIn("cudaErrorInvalidValue", str(refusal["why"]))
        missing = driver.measure(str(self.root / "missing.so"))[0]
        self.assertEqual(missing["status"], "broken")


if __name__ == "__main__":
    unittest.main()
