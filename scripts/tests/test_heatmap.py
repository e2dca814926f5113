"""Heat-maps of sweeps: what the cells say, for measured sweeps and for those of the simulated device."""
from __future__ import annotations

import csv
import unittest

from ladder import command
from ladder.draw import heat_maps, plots
from ladder.tune import record, space
from tests import support

SGEMM = space.KERNELS["sgemm", 90]


class Maps(support.Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.root / "h200_autotune_sgemm.csv"
        self.record = record.Record(self.path, SGEMM)

    def put(self, status: str, tflops: float = 0, size: str = "4096", **values: int) -> None:
        fields = SGEMM.fields(SGEMM.complete(values))
        speeds = {"tflops": str(tflops), "ratio_cublas": str(tflops / 50), "gpu": "Test GPU"} if tflops else {}
        self.record.put([{**fields, **speeds, "size": size, "status": status}])

    def charts(self) -> dict[str, heat_maps.HeatChart]:
        self.record.save()
        return heat_maps.make_all(self.path)

    def test_the_best_point_is_marked_and_missing_ones_are_explained(self) -> None:
        self.put("ok", 20, bm=64, bn=64, tm=4, tn=4)
        self.put("ok", 30, bm=128, bn=128)
        self.put("ok", 25, bm=128, bn=128, tm=4, tn=4)
        self.put("ok", 29, bm=128, bn=128, bk=32)
        self.put("divisibility: BM", bm=64, bn=128)
        self.put("divisibility: BM", bm=128, bn=64)
        self.put("hung: no answer in 30 s", bm=128, bn=64, tm=4, tn=4)
        self.put("ok", 88, size="8192", bm=128, bn=128)  # timed again, not swept
        chart = self.charts()["autotune_sgemm_heatmap"]
        first, second = chart.maps
        self.assertEqual([first.title, second.title], ["BK = 16", "BK = 32"])
        self.assertEqual((first.y, first.x), (["64", "128"], ["64", "128"]))
        self.assertEqual([[cell.value for cell in line] for line in first.cells], [[20, None], [None, 30]])
        self.assertEqual((first.cells[0][1].why, first.cells[1][0].why), ("divisibility", "hung"))
        self.assertEqual(first.cells[1][1].text, "30.0\n8x8")
        self.assertEqual((first.best, second.best), ((1, 1), None))
        self.assertIn("BM 128, BN 128, BK 16, TM 8, TN 8: 30.0 TFLOPS, 0.60 of cuBLAS's", chart.note)
        self.assertIn("Test GPU", chart.note)

    def test_without_speeds_it_is_a_map_of_what_is_right(self) -> None:
        for size in ("512", "67x131x29"):
            self.put("ok", size=size, bm=128, bn=128)
            self.put("ok" if size == "512" else "wrong: 3 elements", size=size, bm=128, bn=128, tm=4)
            self.put("not tried: only a handful was", size=size, bm=64, bn=128, tm=4)
            self.put("divisibility: BM", size=size, bm=64, bn=128)
        chart = self.charts()["autotune_sgemm_heatmap"]
        self.assertFalse(chart.speeds)
        (row_64,), (row_128,) = chart.maps[0].cells
        self.assertEqual((row_128.value, row_128.text), (0.5, "1 of 2\nright"))
        self.assertEqual((row_64.value, row_64.why), (None, "not tried"))
        self.assertIn("512, 67x131x29", chart.title)

    def test_one_point_is_no_map(self) -> None:
        self.put("ok", 20, bm=64, bn=64, tm=4, tn=4)
        self.assertEqual(self.charts(), {})

    def test_files(self) -> None:
        self.put("ok", 20, bm=64, bn=64, tm=4, tn=4)
        self.put("SMEM: too much", bm=128, bn=64)
        if not plots.can_draw():
            self.skipTest("no matplotlib")
        for chart in self.charts().values():
            drawn = heat_maps.draw(chart)
            self.assertIn("<desc>Heat-maps of ", drawn)
            self.assertIn("prefers-color-scheme:dark", drawn)
            self.assertIn("SMEM: more shared memory than a CTA can have", drawn)
            self.assertEqual(heat_maps.draw(chart), drawn)

    def test_other_files_are_refused(self) -> None:
        with self.path.open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b"], ["1", "2"]])
        with self.assertRaisesRegex(command.UsageError, "is not the record of a sweep: its columns are a, b"):
            heat_maps.make_all(self.path)

    def test_kernels_are_told_apart(self) -> None:
        for key, kernel in space.KERNELS.items():
            self.assertIs(heat_maps.find_kernel(record.columns_of(kernel), self.path), kernel, key)


if __name__ == "__main__":
    unittest.main()
