"""Ranking points by the timing model, with predictions that are made up."""
from __future__ import annotations

import contextlib
import io
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from ladder import shards
from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.model import modelled
from ladder.results import data
from ladder.tune import space, tuning
from ladder.tune.variants import CompileError, Variant
from tests import support

POINTS = [f"block_m={m} block_n={n} stages=4 store_stages=2 group=8" for m, n in ((128, 64), (128, 128), (128, 256))]
US = {"64": 100.0, "128": 81.0, "192": 90.0, "256": 80.0}


class Compiler:
    """Stands for the real one; a point's library is named after its block_n."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def compile(self, point: space.Point) -> Variant:
        if self.broken == str(point["block_n"]):
            raise CompileError("no such thing")
        return Variant(str(point["block_n"]), 64, 0)

    broken = ""


def predicted(_: object, __: object, library: str, sizes: list[object]) -> list[dict[str, object]]:
    if library == "unpredictable":
        raise Failure("clusters affect one another")
    return [{"us": US[library], "cycles": 1000, "mhz": 1500.0, "watts": 600.0, "tensor_share": 0.8, "dram_read_gb": 0.1,
             "dram_written_gb": 0.05, "limit": "tensor cores", "error": 0.06} for _ in sizes]


class Modelled(support.Scratch):
    KERNEL = space.find_kernel("production", 100)
    REQUEST = tuning.Request(KERNEL, points=POINTS, sizes=[(4096, 4096, 4096)])

    def setUp(self) -> None:
        super().setUp()
        self.space = self.root / "some.space"
        self.space.write_text("kernel production\nblock_n 64 128 256\nstages 4\n")
        self.replace((modelled, "Compiler", Compiler), (modelled, "predict", predicted),
                     (modelled, "build_programs", lambda simulated: Path("measure")),
                     (modelled, "BUILD", self.root / "build"), (data, "FOLDER", self.root / "docs"))

    def rank_quietly(self, request: tuning.Request) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            return modelled.rank(request), said.getvalue()

    def rank(self, broken: str = "") -> tuple[int, str, list[data.Fields]]:
        Compiler.broken = broken
        output = self.root / "ranked.csv"
        code, said = self.rank_quietly(replace(self.REQUEST, output=output))
        return code, said, data.read_rows(output)[1]

    def test_the_fastest_first_and_what_is_not_told_apart(self) -> None:
        code, said, rows = self.rank()
        self.assertEqual(code, EXIT_RIGHT)
        lines = said.splitlines()
        self.assertIn("block_n=256", lines[0])
        self.assertIn("1718.0 TFLOPS, modelled", lines[0])  # 2 * 4096^3 / 80 us
        self.assertIn("block_n=128", lines[1])
        self.assertIn("the first 2 lie within 3 %", said)
        self.assertEqual({row["kind"] for row in rows}, {"modelled"})
        self.assertEqual([row["dram_gb"] for row in rows], ["0.15"] * 3)

    def test_a_point_that_does_not_compile_is_said_and_the_others_are_ranked(self) -> None:
        code, said, rows = self.rank(broken="128")
        self.assertEqual(code, EXIT_WRONG)
        self.assertIn("not predicted: no such thing", said)
        self.assertEqual([row["status"] for row in rows], ["ok", "not predicted: no such thing", "ok"])
        self.assertEqual(rows[1]["tflops"], "")

    def test_only_the_whole_ranking_is_what_pages_show(self) -> None:
        Compiler.broken = ""
        record, working = (modelled.record_of(self.root / folder, self.KERNEL) for folder in ("docs", "build/autotune"))
        for part in (self.REQUEST, tuning.Request(self.KERNEL, [str(self.space)]),
                     tuning.Request(self.KERNEL, shard=shards.Shard(1, 30)),
                     tuning.Request(self.KERNEL, quick=True)):
            self.assertEqual(self.rank_quietly(part)[0], EXIT_RIGHT)
            self.assertFalse(record.exists())
        self.assertEqual(len(data.read_rows(working)[1]), tuning.QUICK_POINTS * 3)
        self.assertTrue(working.with_name(f"{working.stem}.1of30.csv").exists())
        with mock.patch.dict(tuning.SPACES, production=(str(self.space),)):
            self.rank_quietly(tuning.Request(self.KERNEL))
        self.assertEqual(record.read_text(), working.read_text())
        self.assertEqual(len(data.read_rows(record)[1]), 3 * 3)


if __name__ == "__main__":
    unittest.main()
