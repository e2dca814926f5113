from __future__ import annotations

import sys
import unittest
from pathlib import Path

from ladder import files
from ladder.results import checks, data
from ladder.results.table import Group, at_shapes, bursts, by_size, progression
from tests import support

HEADER = ",".join(data.COLUMNS) + ",approx,reference,sm_mhz,power_w,power_cap_w,date,commit\n"
SAMPLE = HEADER + """\
level01_baseline,90,8192,8192,8192,250.4,700,720,0.357,0.348,measured,NVIDIA H200,,,1700,500,700,2025-11-21,abc1234
level02_tma_swizzle,90,8192,8192,8192,460,700,720,0.657,0.639,measured,NVIDIA H200,,,1600,640.7,700,2025-11-21,abc1234
level02_tma_swizzle,90,512,512,512,12.34,,,,,measured,NVIDIA H200,,cublas,,,,,
level01_baseline,100,8192,8192,8192,91.5,1705.7,,0.05364,,reported,GB200,0,torch.matmul,,,,,
level02_tma_swizzle,100,8192,8192,8192,700,,,,,reported,GB200,1,,,,,,
level02_tma_swizzle,100,8192,8192,8192,710,1000,,0.71,,reported,GB200,0,cuBLAS,,,,,
level01_baseline,100,8192,8192,8192,88,,,,,modelled,Simulated B200,,,,,,,
"""
TIMED = ",".join(data.COLUMNS) + """\
,rounds,ratio_cublas_low,ratio_cublas_high,ratio_cublaslt_low,ratio_cublaslt_high,interval_coverage,burst_tflops,\
burst_cublas_tflops,burst_cublaslt_tflops
level01_baseline,90,4096,4096,4096,600,700,,0.8571,,measured,NVIDIA H200,10,0.8494,0.862,,,0.9785,660,,
level01_baseline,90,8192,8192,8192,600,750,800,0.8,0.75,measured,NVIDIA H200,20,0.79,0.81,0.74,0.76,0.9586,700,800,875
level02_tma_swizzle,90,8192,8192,8192,700,750,,0.9333,,measured,NVIDIA H200,,,,,,,,,
"""
LEVELS = ["level01_baseline", "level02_tma_swizzle", "level03_warp_specialize"]


class Tables(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.results = self.root / "docs" / "results"
        self.write("docs/results/a.csv", SAMPLE)
        self.loaded = data.load_results(self.results)

    def test_kinds_have_columns_of_their_own(self) -> None:
        table = progression(self.loaded, LEVELS)
        self.assertEqual([g.title for g in table.groups], ["measured: NVIDIA H200 (sm90)", "reported: GB200 (sm100)",
                                                           "modelled: Simulated B200 (sm100)"])
        measured, reported, modelled = (g.columns for g in table.groups)
        self.assertEqual(measured["TFLOPS"], ["250", "460", "-"])
        self.assertEqual(measured["x cublasLt"], ["0.348", "0.639", "-"])
        self.assertEqual(reported["TFLOPS"], ["91.5", "710", "-"])
        self.assertNotIn("x cublasLt", reported)
        self.assertEqual(modelled, {"TFLOPS": ["88.0", "-", "-"]})

    def test_other_rivals_are_marked(self) -> None:
        table = progression(self.loaded, LEVELS)
        self.assertEqual(table.groups[1].columns["x cuBLAS"], ["0.054*", "0.710", "-"])
        self.assertTrue(any("torch.matmul" in note for note in table.notes))

    def test_approximate_figures_are_marked(self) -> None:
        results = [r for r in self.loaded if r.fields["tflops"] == "700"]
        self.assertEqual(progression(results, LEVELS).groups[0].columns["TFLOPS"], ["-", "~700", "-"])

    def test_speeds_come_with_their_conditions(self) -> None:
        notes = "\n".join(progression(self.loaded, LEVELS).notes)
        self.assertIn("1600-1700 MHz (NVML); 500-641 W of 700 W; commit abc1234; 2025-11-21.", notes)

    def test_only_the_size_and_architecture_asked_for(self) -> None:
        table = progression(self.loaded, LEVELS, edge=512)
        self.assertEqual([g.columns for g in table.groups], [{"TFLOPS": ["-", "12.3", "-"]}])
        self.assertEqual(len(progression(self.loaded, LEVELS, archs=[90]).groups), 1)
        self.assertEqual(progression(self.loaded, LEVELS, edge=64).groups, [])

    def test_by_size(self) -> None:
        table = by_size(self.loaded, "level02_tma_swizzle")
        self.assertEqual(table.names, ["512", "8192"])
        self.assertEqual(table.groups[0].columns["W"], ["-", "641"])

    def test_intervals(self) -> None:
        self.write("docs/results/a.csv", TIMED)
        table = by_size(data.load_results(self.results), "level01_baseline")
        self.assertEqual(table.groups[0].columns["x cuBLAS"], ["0.857 [0.849, 0.862]", "0.800 [0.790, 0.810]"])
        self.assertEqual(table.groups[0].columns["x cublasLt"], ["-", "0.750 [0.740, 0.760]"])
        self.assertEqual(table.notes[-1], "In brackets: the confidence interval of the ratio, which is the median "
                         "of 10 rounds (coverage 0.979) or 20 rounds (coverage 0.959).")

    def test_no_intervals_no_brackets(self) -> None:
        for level in ("level01_baseline", "level02_tma_swizzle"):
            self.assertNotIn("[", by_size(self.loaded, level).text())
        self.write("docs/results/a.csv", TIMED)
        loaded = data.load_results(self.results)
        self.assertNotIn("[", by_size(loaded, "level02_tma_swizzle").text())
        self.assertNotIn("[", progression(loaded, LEVELS).text())

    def test_an_interval_that_does_not_say_how_sure_it_is(self) -> None:
        for doubtful in (TIMED.replace(",20,0.79,", ",,0.79,"), TIMED.replace(",0.9586,", ",,")):
            self.write("docs/results/a.csv", doubtful)
            table = by_size(data.load_results(self.results), "level01_baseline")
            self.assertEqual(table.groups[0].columns["x cuBLAS"], ["0.857 [0.849, 0.862]", "0.800"])
            self.assertTrue(table.notes[-1].endswith("is the median of 10 rounds (coverage 0.979)."))

    def test_bursts(self) -> None:
        self.write("docs/results/b.csv", TIMED)  # beside figures without bursts
        table = bursts(data.load_results(self.results), LEVELS)
        self.assertEqual([g.title for g in table.groups], ["measured: NVIDIA H200 (sm90)"])
        self.assertEqual(table.groups[0].columns, {
            "TFLOPS, burst": ["700"], "TFLOPS, sustained": ["600"],
            "x cuBLAS, burst": ["0.875"], "x cuBLAS, sustained": ["0.800"],
            "x cublasLt, burst": ["0.800"], "x cublasLt, sustained": ["0.750"]})
        self.assertEqual(table.names, LEVELS[:1])
        self.assertIn("M = N = K = 8192. Burst: ", table.notes[0])

    def test_shapes_are_not_among_the_results(self) -> None:
        more = ",config,apart_ratio_cublas,apart_ratio_cublas_low,apart_ratio_cublas_high\n"
        head, *rows = TIMED.replace("burst_cublaslt_tflops\n", "burst_cublaslt_tflops" + more, 1).splitlines()
        shapes = ("2000,7000,5000", "1024,1024,1024", "8,8,8")
        timed = [rows[0].replace("4096,4096,4096", shape) + ",128x64,0.95,0.94,0.96" for shape in shapes]
        self.write("docs/results/h200_shapes.csv", "\n".join([head, *timed]) + "\n")
        self.assertEqual(data.load_results(self.results), self.loaded)
        table = at_shapes(data.load_measured(self.results, "shapes"), LEVELS[0])
        self.assertEqual(table.names, ["1024", "2000x7000x5000", "8"])
        columns = table.groups[0].columns
        self.assertEqual((columns["tile"][0], columns["x cuBLAS"][0]), ("128x64", "0.857 [0.849, 0.862]"))
        self.assertEqual((columns["x cuBLAS, apart"][0], columns["x cublasLt, apart"][0]),
                         ("0.950 [0.940, 0.960]", "-"))
        self.assertIn("with an event between calls", table.notes[0])
        self.assertEqual(at_shapes([], LEVELS[0]).groups, [])

    def test_bursts_without_rivals(self) -> None:
        self.write("docs/results/a.csv", TIMED)
        columns = bursts(data.load_results(self.results), LEVELS, 4096).groups[0].columns
        self.assertEqual((columns["TFLOPS, burst"][0], columns["x cuBLAS, burst"][0]), ("660", "-"))

    def test_bursts_that_nobody_timed(self) -> None:
        table = bursts(self.loaded, LEVELS)
        self.assertEqual((table.groups, table.notes), ([], []))

    def test_text_is_aligned(self) -> None:
        first = Group("this run: simulated device, 512", {"sm90": ["right", "WRONG", "-"]})
        lines = progression(self.loaded, LEVELS, first=[first]).text().splitlines()
        self.assertEqual(lines[0].index("measured:"), len("level03_warp_specialize   ") + len(first.title + "   "))
        column = lines[1].index("TFLOPS") + len("TFLOPS")
        for line, figure in zip(lines[2:], ("250", "460", "-")):
            self.assertEqual(line[:column].split()[-1], figure)

    def test_markdown(self) -> None:
        text = progression(self.loaded, LEVELS).markdown()
        head, rule, row = text.splitlines()[:3]
        self.assertIn("| TFLOPS<br>reported: GB200 (sm100) |", head)
        self.assertEqual(head.count("|"), rule.count("|"))
        self.assertEqual(head.count("|"), row.count("|"))
        self.assertIn(r"| 0.054\* |", row)

    def test_other_tables_are_left_alone(self) -> None:
        self.write("docs/results/digests.csv", "level,digest\nlevel01_baseline,12\n")
        self.assertEqual(len(data.load_results(self.results)), len(self.loaded))

    def test_comments_are_skipped(self) -> None:
        self.write("docs/results/a.csv", "# first\n" + SAMPLE)
        self.assertEqual(len(data.load_results(self.results)), len(self.loaded))

    def refused(self, words: str, text: str, name: str = "a.csv") -> None:
        self.write(f"docs/results/{name}", text)
        with self.subTest(words), self.assertRaisesRegex(files.DataError, rf"{name}{words}"):
            data.load_results(self.results)

    def test_bad_data_names_file_line_and_column(self) -> None:
        good = SAMPLE.splitlines()[1]
        for bad, words in ((good.replace("measured", "guessed"), "kind must be measured, reported or modelled, not"),
                           (good.replace("level01_baseline", "warmup"),
                            "level must be a level's name or production, not 'warmup'"),
                           (good.replace("NVIDIA H200", ""), "gpu is empty"), ("1,2", "this row has 2 fields, and"),
                           (good.replace("250.4", "fast"), "tflops must be a number above 0, not 'fast'"),
                           (good.replace("250.4", "nan"), "tflops must be a number above 0, not 'nan'"),
                           (good.replace("250.4", "٢٥٠.٤"), "tflops must be a number above 0, not '٢٥٠.٤'"),
                           (good.replace("250.4", "2_50.4"), "tflops must be a number above 0, not '2_50.4'"),
                           (good.replace("250.4", "-250.4"), "tflops must be a number above 0, not '-250.4'"),
                           (good.replace("90,8192", "90,8k"), "m must be a whole number of at least 1, not '8k'"),
                           (good.replace("90,8192", "90,0"), "m must be a whole number of at least 1, not '0'"),
                           (good.replace(",90,", ",91,"), "arch must be 90 or 100, not '91'")):
            self.refused(rf":4: {words}", f"# said\n\n{HEADER}{bad}\n")

    def test_what_contradicts_itself(self) -> None:
        self.refused(":2: ratio_cublas is 0.9, though tflops and cublas_tflops give 0.358",
                     HEADER + SAMPLE.splitlines()[1].replace("0.357", "0.9") + "\n")
        for figures, fits in ("5,1,9", True), ("5,,", True), ("5,6,9", False), ("5,,4", False):
            row = dict(zip(("tflops", "tflops_min", "tflops_max"), figures.split(",")))
            said = "" if fits else "tflops is 5, though tflops_min and tflops_max say otherwise"
            self.assertEqual(checks.complaint(row), said, figures)

    def test_faster_than_the_gpu(self) -> None:
        self.write("docs/results/gpus.csv", "gpu,arch,bf16_tflops,memory_tb_per_s\nNVIDIA H200,90,200,4.8\n")
        self.refused(r":\d+: tflops is 250.4, and the data sheet of NVIDIA H200 promises 200", SAMPLE)

    def test_damaged_files(self) -> None:
        self.refused(":1: two columns have one name", "level," + SAMPLE)
        (self.results / "a.csv").write_bytes(b"level,m\nlevel01,\xff\n")
        with self.assertRaisesRegex(files.DataError, r"a.csv: this is no text: byte 16 is not UTF-8"):
            data.load_results(self.results)
        row = data.Row({"level": "x"}, Path("a.csv"), 3)
        with self.assertRaisesRegex(files.DataError, "a.csv: there is no column 'm'"):
            row["m"]

    def test_every_script_says_so_in_one_sentence(self) -> None:
        sweep = "bm,bn,bk,tm,tn,size,tflops,cublas_tflops,ratio_cublas,status\n128,128,16,8,8,4096,lots,50,0.5,ok\n"
        self.write("docs/results/h200_autotune_sgemm.csv", sweep)
        self.write("page.md", "<!-- render:autotune_best count=1 -->\n<!-- /render -->\n")
        place = "h200_autotune_sgemm.csv:2: tflops must be a number above 0, not 'lots'"
        path = "docs/results/h200_autotune_sgemm.csv"
        for script, *arguments in (("tables.py",), ("maintain/render.py", "page.md"),
                                   ("maintain/merge.py", path, "--output", "all.csv"),
                                   ("autotune/autotune.py", "--kernel", "sgemm", "--quick", "--output", path)):
            with self.subTest(script):
                answer = self.run_command(sys.executable, "-B", self.scripts / script, *arguments)
                self.assert_exit(2, answer, place)
                self.assertEqual(len(answer.stderr.splitlines()), 1, answer.stderr)

    def test_rows_survive_being_written(self) -> None:
        path = self.root / "b.csv"
        rows = [{"a": 'say "x", y', "b": ""}, {"a": "1"}]
        data.write_rows(path, ["a", "b"], rows)
        self.assertEqual(data.read_rows(path), (["a", "b"], [{"a": 'say "x", y', "b": ""}, {"a": "1", "b": ""}]))

    def test_configurations_share_a_line(self) -> None:
        path, columns = self.root / "c.csv", ["m", "gpu", "tflops of *", "ratio_cublas of *"]
        rows = [{"m": "8", "gpu": "x", "config": config, "tflops": tflops, "ratio_cublas": "0.5"}
                for config, tflops in (("64x64", "2"), ("128x64", "3"))] + [
                {"m": "16", "gpu": "x", "config": "128x64", "tflops": "4", "ratio_cublas": ""}]
        data.write_rows(path, columns, rows)
        self.assertEqual(path.read_text(encoding="utf-8").splitlines()[1:], ["8,x,2,0.5,3,0.5", "16,x,,,4,"])
        self.assertEqual(data.read_rows(path), (columns, rows))
        self.write("c.csv", "m,tflops of a,tflops of b\n8,1,lots\n")
        with self.assertRaisesRegex(files.DataError, "c.csv:2: tflops must be a number above 0, not 'lots'"):
            data.read_rows(path)

    def test_command_line(self) -> None:
        for arguments, words in (((), "modelled: Simulated B200"), (("--markdown",), "|---|--:"),
                                 (("--level", 2), "512"), (("--level", "level02"), "512"),
                                 (("--level", "level02_tma_swizzle"), "512")):
            with self.subTest(arguments):
                answer = self.run_command(self.scripts / "tables.py", *arguments)
                self.assert_exit(0, answer)
                self.assertIn(words, answer.stdout)
        for arguments, sentence in ((("--level", 99), "there is no level 99, only 1, 2"),
                                    (("--size", 64), "no results"),
                                    (("--level", "level02_"), "there is no level 'level02_'"),
                                    (("--size", "x"), "whole number")):
            with self.subTest(arguments):
                self.assert_exit(2, self.run_command(self.scripts / "tables.py", *arguments), sentence)


class Recorded(unittest.TestCase):
    """The files in docs/results themselves."""

    MOST_BYTES = 3_000_000

    def test_they_are_small(self) -> None:
        self.assertLess(sum(path.stat().st_size for path in data.FOLDER.iterdir()), self.MOST_BYTES,
                        "record what something reads: docs/contributing.md")

    def test_every_file_of_results_can_be_read(self) -> None:
        self.assertTrue(data.load_results())

    def test_first_columns(self) -> None:
        for path in data.FOLDER.glob("*.csv"):
            columns, _ = data.read_rows(path)
            if set(data.COLUMNS) <= set(columns):
                self.assertEqual(tuple(columns[:len(data.COLUMNS)]), data.COLUMNS, path)

    def test_names_say_the_kind(self) -> None:
        for path in data.FOLDER.glob("*.csv"):
            kinds = {row.get("kind") or None for row in data.read_rows(path)[1]}
            self.assertLessEqual(kinds, {data.kind_of(path), None}, path)

    def test_reported_figures(self) -> None:
        rows = data.read_rows(data.FOLDER / "gb200_reported.csv")[1]
        self.assertEqual(len(rows), 28)
        for row in rows:
            self.assertEqual((row["kind"], row["gpu"], row["arch"]), ("reported", "GB200", "100"))
            self.assertRegex(row["source"], r"^author's notes on level \d\d$")
            self.assertEqual(bool(row["cublas_tflops"]), bool(row["reference"]))
            if row["cublas_tflops"]:
                ratio = float(row["tflops"]) / float(row["cublas_tflops"])
                self.assertAlmostEqual(float(row["ratio_cublas"]), ratio, places=4)

    def test_reported_percentages(self) -> None:
        """The notes print percentages beside their figures; ours must round to them."""
        series = data.Series("reported", "GB200", 100)
        results = data.load_results()
        printed = {"level01_baseline": {8192: 5.4},
                   "level04_smem_epilogue": {4096: 30.9, 6144: 31.7, 8192: 30.4, 10240: 31.5, 12288: 31.2},
                   "level07_dual_tile": {4096: 74.9, 6144: 86.6, 8192: 74.8, 10240: 86.9, 12288: 80.0},
                   "level08_deep_pipeline": {4096: 85.7, 6144: 87.0, 8192: 86.8, 10240: 85.3, 12288: 73.9}}
        for level, by_edge in printed.items():
            for edge, percent in by_edge.items():
                result = data.find(results, level, series, (edge, edge, edge))
                assert result is not None
                self.assertAlmostEqual(100 * (result.number("ratio_cublas") or 0), percent, delta=0.0501)

    def test_measured_rows_say_where_and_when(self) -> None:
        for result in data.load_results():
            if result.series.kind == "measured":
                self.assertTrue(result.fields["date"] and result.fields["gpu"], result)
                self.assertEqual(result.fields["verdict"], "right", result)


if __name__ == "__main__":
    unittest.main()
