"""Ranking points by the timing model, with predictions that are made up."""
from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from ladder.command import EXIT_RIGHT, EXIT_WRONG, Failure
from ladder.results import data
from ladder.tune import modelled, space, tuning
from ladder.tune.variants import CompileError, Variant

POINTS = [f"block_m={m} block_n={n} stages=4 store_stages=2 group=8" for m, n in ((128, 64), (128, 128), (128, 256))]
US = {"64": 100.0, "128": 81.0, "256": 80.0}


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


class Modelled(unittest.TestCase):
    def rank(self, broken: str = "") -> tuple[int, str, list[data.Fields]]:
        kernel = space.find_kernel("level08", 100)
        Compiler.broken = broken
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(modelled, "Compiler", Compiler), \
                mock.patch.object(modelled, "predict", predicted), \
                mock.patch.object(modelled, "build_programs", lambda simulated: Path("measure")):
            output = Path(folder) / "ranked.csv"
            request = tuning.Request(kernel, points=POINTS, sizes=[(4096, 4096, 4096)], output=output)
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                code = modelled.rank(request)
            return code, said.getvalue(), data.read_rows(output)[1]

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


if __name__ == "__main__":
    unittest.main()
