"""The blocks that show what the tuner found, from sweeps that are made up here and nowhere else."""
from __future__ import annotations

from ladder.context import Context
from ladder.model import modelled
from ladder.pages.blocks import BLOCKS
from ladder.results import data
from ladder.tune import record, space
from tests.support import Sandbox

SGEMM = space.KERNELS["sgemm", 90]


class Blocks(Sandbox):
    def render(self, block: str, **options: str) -> str:
        text = BLOCKS[block](Context(self.root, []), options)
        self.assertEqual(options, {})
        return text

    def sweep(self, kernel: space.Kernel = SGEMM) -> None:
        """TFLOPS are 10, 20 and 30 for BM 64, 128 and 256, and BK / 16 more, at 4096; the best again at 8192."""
        sweep = record.Record(self.root / "docs" / "results" / f"h200_autotune_{kernel.name}.csv", kernel)
        points = [(bm, bk, 4096) for bm in (64, 128, 256) for bk in (16, 64)]
        for bm, bk, size in [*points, (256, 64, 8192)]:
            speed = 10 * (bm // 64).bit_length() + bk / 16
            sweep.put([{**kernel.fields(kernel.complete(dict(bm=bm, bk=bk))), "size": str(size), "status": "ok",
                        "tflops": str(speed), "cublas_tflops": "50", "ratio_cublas": str(speed / 50), "registers": "99",
                        "spill_bytes": "0", "ctas_per_sm": "2", "gpu": "Test GPU", "driver": "1", "cuda": "13.0",
                        "cublas": "13.1", "name": "base" if (bm, bk) == (128, 16) else "",
                        "date": "2000-01-02T00:00:00Z"}])
        sweep.put([{**kernel.fields(kernel.complete(dict(bm=512))), "size": "4096", "status": "wrong: all of it"}])
        sweep.save()

    def test_nothing_measured(self) -> None:
        for name in "autotune_best", "autotune_ladder", "autotune_influence":
            self.assertEqual(self.render(name), "Nothing has been measured yet.\n")
        self.assertEqual(self.render("autotune_parameter", name="bk"), "Nothing has been measured yet.\n")
        self.assertEqual(self.render("autotune_checked"), "Nothing has been checked yet.\n")

    def test_space(self) -> None:
        text = self.render("autotune_space", name="sgemm_notes")
        self.assertIn("| all points | 576 | 576 |", text)
        self.assertIn("| **legal** | 93 | 133 |", text)
        self.assertIn("| dropped: SMEM | 40 | 0 |", text)

    def test_best(self) -> None:
        self.sweep()
        lines = self.render("autotune_best", count="1").splitlines()
        self.assertEqual(lines[2:4], ["| 4096 | 34.0 | 50.0 | 0.680 | 256 | 128 | 64 | 8 | 8 | 99 | 0 | 2 |",
                                      "| 8192 | 34.0 | 50.0 | 0.680 | 256 | 128 | 64 | 8 | 8 | 99 | 0 | 2 |"])
        self.assertEqual(lines[-1], "Measured: Test GPU; driver 1; CUDA 13.0; cuBLAS 13.1; 2000-01-02.")

    def test_parameter(self) -> None:
        self.sweep()
        lines = self.render("autotune_parameter", name="bm").splitlines()
        self.assertEqual(lines[2:5], ["| 64 | 2 | 14.0 | 12.5 | 11.0 | BN 128, BK 64, TM 8, TN 8 |",
                                      "| 128 | 2 | 24.0 | 22.5 | 21.0 | BN 128, BK 64, TM 8, TN 8 |",
                                      "| 256 | 2 | 34.0 | 32.5 | 31.0 | BN 128, BK 64, TM 8, TN 8 |"])

    def test_influence(self) -> None:
        self.sweep()
        lines = self.render("autotune_influence").splitlines()
        self.assertRegex(lines[2], r"\| BM \| 9\d % \|")
        self.assertRegex(lines[3], r"\| BK \| \d % \|")
        self.assertEqual(lines[7].split("|")[2], " 100 % ")

    def test_ladder(self) -> None:
        kernel = space.KERNELS["sgemm_ladder", 90]
        sweep = record.Record(self.root / "docs" / "results" / "h200_autotune_sgemm_ladder.csv", kernel)
        sweep.put([{**kernel.fields({"step": 1}), "size": "4096", "status": "ok", "tflops": "21", "cublas_tflops": "50",
                    "ratio_cublas": "0.42", "registers": "99", "ctas_per_sm": "2", "gpu": "Test GPU"}])
        sweep.save()
        lines = self.render("autotune_ladder").splitlines()
        self.assertRegex(lines[2], r"^\| \[base\]\(.*01_base.patch\) \| - \|  \|  \|$")
        self.assertRegex(lines[3], r"^\| \[padded\]\(.*\) \| 21.0 \(0.42\) \| 99 \| 2 \|$")

    def rank(self) -> None:
        """TFLOPS are 1000 for the notes' shape, a tenth more for wide tiles, a fifth more with CLC."""
        kernel = space.KERNELS["production", 100]
        rows = []
        for name, values, speed in (("Notes", {}, 1000), ("NotesLate", {"asap": 0}, 990),
                                    ("Wide", {"block_n": 256, "stages": 6}, 1100),
                                    ("", {"block_n": 256, "stages": 4}, 1150),
                                    ("WideClc", {"block_n": 256, "stages": 6, "clc": 1}, 1200)):
            rows.append({**kernel.fields(kernel.complete(values)), "name": name, "size": "4096", "tflops": str(speed),
                         "dram_gb": "1.25", "error": "0.165", "gpu": "b200", "status": "ok", "kind": "modelled"})
        path = modelled.record_of(self.root / "docs" / "results", kernel)
        self.write(str(path.relative_to(self.root)),
                   data.csv_text((*(p.name for p in kernel.parameters), *modelled.COLUMNS),
                                 [{name: row.get(name, "") for name in (*row, *modelled.COLUMNS)} for row in rows]))

    def test_ranked_tiles(self) -> None:
        self.rank()
        lines = self.render("ranked_tiles", kernel="production", arch="sm100").splitlines()
        self.assertEqual(lines[0], "| tile of a CTA | stages | 4096 | 4096, `CLC=1` |")
        self.assertEqual(lines[2:4], ["| 128 x 128 | 8 | 1000 | - |", "| 128 x 256 | 6 | 1100 | 1200 |"])
        self.assertIn("modelled: the mean error of its model is 16 %", lines[-1])

    def test_ranked_changes(self) -> None:
        self.rank()
        lines = self.render("ranked_changes", kernel="production", arch="sm100").splitlines()
        self.assertEqual(lines[2:6], ["| **Notes** | the notes' shape | 1000 (1.000) | 1.2 |",
                                      "|  | `ASAP_TMEM_EMPTY=0` | 990 (0.990) | 1.2 |",
                                      "| **Wide** | `BLOCK_N=256`, `NUM_STAGES=6` | 1100 (1.100) | 1.2 |",
                                      "|  | `CLC=1` | 1200 (1.091) | 1.2 |"])

    def test_options(self) -> None:
        for name, options in (("autotune_best", dict(kernel="hgemm")), ("autotune_parameter", dict(name="pad"))):
            with self.assertRaises(ValueError):
                self.render(name, **options)
