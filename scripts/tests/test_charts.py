from __future__ import annotations

import re
import unittest
import xml.etree.ElementTree
from pathlib import Path

from ladder import files
from ladder.context import Context
from ladder.draw import charts, plots
from ladder.draw.plots import Chart, Panel
from ladder.results import ablations, data
from tests import support
from tests.test_tables import SAMPLE

ABLATIONS = """\
level,arch,optimisation,option,expected,reason,m,n,k,tflops,ratio_cublas,kind,gpu,ratio_level
level02_tma_swizzle,90,as it is,,,,4096,4096,4096,700,1.00,measured,NVIDIA H200,
level02_tma_swizzle,90,plain CD,-DSWIZZLED_CD=0,slower,banks,4096,4096,4096,690,0.98,measured,NVIDIA H200,
level02_tma_swizzle,90,3 stages,,slower,,4096,4096,4096,680,,measured,NVIDIA H200,0.97
"""


class Data(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write("docs/results/a.csv", SAMPLE)
        self.write("docs/results/gpus.csv", "gpu,arch,bf16_tflops,memory_tb_per_s\nGB200,100,2500,8\n")
        self.context = Context(self.root, data.load_results(self.root / files.RESULTS))

    def test_kinds_have_panels_of_their_own(self) -> None:
        for make in (charts.tflops_by_size, charts.percent_of_cublas):
            chart = make(self.context)
            assert chart
            self.assertEqual([panel.title for panel in chart.panels],
                             ["Blackwell, reported: GB200", "Hopper, measured: NVIDIA H200"])

    def test_progression(self) -> None:
        chart = charts.progression(self.context)
        assert chart
        self.assertEqual([panel.title for panel in chart.panels if any(panel.series["TFLOPS"])],
                         ["8192, measured: NVIDIA H200", "8192, reported: GB200"])
        measured, reported = (panel for panel in chart.panels if any(panel.series["TFLOPS"]))
        self.assertEqual(measured.series, {"TFLOPS": [250.4, 460.0]})
        self.assertEqual(measured.notes, ["250  (0.357 x)", "460  (0.657 x)"])
        self.assertEqual(reported.notes[0], "91.5  (0.054* x)")
        self.assertEqual(measured.ticks, [700.0, 700.0])

    def test_percent(self) -> None:
        chart = charts.percent_of_cublas(self.context)
        assert chart
        self.assertEqual(chart.panels[1].x, [512.0, 8192.0])
        self.assertEqual(chart.panels[1].series["01 baseline"], [None, 35.7])

    def test_every_point_of_the_roofline_lies_below_every_roof(self) -> None:
        self.assertIsNone(charts.roofline(self.context), "nothing is profiled here")
        chart = charts.roofline(Context(support.ROOT, data.load_results()))
        assert chart and chart.panels
        for panel in chart.panels:
            self.assertEqual(len(panel.series), 8)
            for level, (*intensities, tflops) in panel.series.items():
                self.assertEqual(len(intensities), len(panel.roofs))
                roofs = [(x or 0) * memory for x, memory in zip(intensities, panel.roofs.values())]
                self.assertLess(tflops or 0, min(*roofs, *panel.peaks.values()), level)

    def test_nothing_recorded_nothing_drawn(self) -> None:
        nothing = Context(self.root, [])
        self.assertEqual([name for name, make in charts.CATALOGUE.items() if make(nothing)], [])

    def test_ablations_are_relative_to_the_level(self) -> None:
        self.write("docs/results/h200_ablations.csv", ABLATIONS)
        found = ablations.load(self.root / files.RESULTS)
        self.assertEqual([(a.name, a.ratios) for a in found],
                         [("plain CD", {(4096, 4096, 4096): 0.98}), ("3 stages", {(4096, 4096, 4096): 0.97})])
        chart = charts.ablations(self.context)
        assert chart
        self.assertEqual([panel.series for panel in chart.panels], [{"4096": [-2.0, -3.0]}])
        self.assertEqual(len(data.load_results(self.root / files.RESULTS)), 7)  # they are no results of the ladder

    def test_the_chart_of_ablations_shows_the_last_level(self) -> None:
        self.write("docs/results/h200_ablations.csv", ABLATIONS.replace("level02_tma_swizzle", "level01_baseline"))
        self.assertEqual(len(self.context.ablations), 2)
        self.assertIsNone(charts.ablations(self.context))

    def test_ablations_need_something_to_compare_with(self) -> None:
        self.write("docs/results/h200_ablations.csv", re.sub(r".*as it is.*\n", "", ABLATIONS))
        with self.assertRaisesRegex(files.DataError, "'plain CD' at 4096 has neither ratio_level"):
            ablations.load(self.root / files.RESULTS)


class Files(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.chart = Chart("T", "D", [Panel("lines", "p", "u", x=[1.0, 2.0], series={"a": [1.0, None]})])
        self.path = self.root / "chart.svg"

    def write_file(self, chart: Chart) -> None:
        """As if drawn."""
        body = "<svg/>\n"
        self.path.write_text(body + "<!-- " + plots.seal(chart, body), encoding="utf-8")

    def test_other_data_make_files_stale(self) -> None:
        self.assertFalse(plots.is_current(self.chart, self.path))
        self.write_file(self.chart)
        self.assertTrue(plots.is_current(self.chart, self.path))
        other = Chart("T", "D", [Panel("lines", "p", "u", x=[1.0, 2.0], series={"a": [1.0, 3.0]})])
        self.assertFalse(plots.is_current(other, self.path))

    def test_edited_files_are_stale(self) -> None:
        self.write_file(self.chart)
        self.path.write_text(self.path.read_text(encoding="utf-8").replace("<svg/>", "<svg></svg>"), encoding="utf-8")
        self.assertFalse(plots.is_current(self.chart, self.path))

    def test_without_matplotlib_the_rest_is_rendered(self) -> None:
        self.write("docs/results/a.csv", SAMPLE)
        self.write("README.md", "<!-- render:progression -->\n<!-- /render -->\n"
                                "<!-- render:chart name=progression -->\n<!-- /render -->\n")
        answer = self.run_command(self.maintain / "render.py", PYTHONPATH=str(self.hidden()))
        self.assert_exit(1, answer, "drawing charts needs matplotlib: progression.")
        self.assertIn("rendered README.md", answer.stdout)

    def hidden(self) -> Path:
        """A folder whose sitecustomize makes matplotlib impossible to find."""
        self.write("hidden/sitecustomize.py", """\
            import importlib.util
            find_spec = importlib.util.find_spec
            importlib.util.find_spec = lambda name, *more: None if name == "matplotlib" else find_spec(name, *more)
        """)
        return self.root / "hidden"

    @unittest.skipUnless(plots.can_draw(), "drawing charts needs matplotlib: scripts/setup.sh installs it")
    def test_drawing(self) -> None:
        drawn = charts.all_charts(Context(support.ROOT, data.load_results(support.ROOT / files.RESULTS)))
        for name in ("counters", "roofline", "autotune_production_heatmap"):
            first, second = (charts.draw(drawn[name]) for _ in range(2))
            self.assertEqual(first, second)
            self.path.write_text(first, encoding="utf-8")
            self.assertTrue(plots.is_current(drawn[name], self.path))
            root = xml.etree.ElementTree.fromstring(first)
            self.assertEqual([node.text for node in root][:2], [drawn[name].title, drawn[name].description])


if __name__ == "__main__":
    unittest.main()
