from __future__ import annotations

import signal
import subprocess
import time
import unittest

from ladder.levels import gpus, shapes
from ladder.results import data, measure
from tests import support

H200 = [("NVIDIA H200", 90)]
FAST = ("--no-build", "--sizes", "4096,8192")


class Bench(support.Sandbox):
    def bench(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run_with_gpus("bench.py", H200, *FAST, *arguments, **environment)

    def rows(self, name: str = "docs/results/h200.csv") -> list[data.Fields]:
        return data.read_rows(self.root / name)[1]

    def test_all_levels_at_all_sizes(self) -> None:
        answer = self.bench("--rounds", "12", "--budget", "0.5", "--burst", LADDER_COMMIT="abc1234")
        self.assert_exit(0, answer)
        self.assertEqual([(r["level"], r["m"]) for r in self.rows()],
                         [(level, m) for level in self.LEVELS for m in ("4096", "8192")])
        self.assertEqual({(r["commit"], r["date"][:4] > "2000") for r in self.rows()}, {("abc1234", True)})
        self.assertEqual(len({r["date"] for r in self.rows()}), 1)
        self.assertIn("level01_baseline_sm90 --sizes 4096x4096x4096 --csv", self.calls()[0])
        self.assertRegex(self.calls()[0], "--bench --rounds 12 --budget 0.5 --burst commit=abc1234$")
        self.assertIn("[4/4] level02_tma_swizzle 8192, about", answer.stdout)
        self.assertIn("measured: NVIDIA H200 (sm90)", answer.stdout)

    def test_shapes_have_a_file_of_their_own(self) -> None:
        answer = self.run_with_gpus("bench.py", H200, "--no-build", "--shapes", "--levels", "2",
                                    LADDER_COMMIT="abc1234")
        self.assert_exit(0, answer)
        self.assertFalse((self.root / "docs" / "results" / "h200.csv").exists())
        measured = {(int(r["m"]), int(r["n"]), int(r["k"])) for r in self.rows("docs/results/h200_shapes.csv")}
        self.assertEqual(measured, set(data.SHAPES))
        self.assertTrue(all("--bench" in call and "--apart" in call for call in self.calls()))
        self.assertRegex(answer.stdout, r"2000x7000x5000 +- +70[01]")
        self.assert_exit(0, self.bench("--shapes", "--levels", "2"))  # those, too
        self.assertIn("--sizes 8192x8192x8192 ", self.calls()[-1])
        self.assertIn("--apart", self.calls()[-1])

    def test_ablations_have_a_file_of_their_own(self) -> None:
        self.write("level02_tma_swizzle/ablations/plain_sm90.patch",
                   "Question: Is it worth anything?\nExpect: slower: Banks.\nModes: default=right\n\n"
                   "--- a/level02_tma_swizzle/kernel_sm90.cuh\n+++ b/level02_tma_swizzle/kernel_sm90.cuh\n")
        self.program("build/ablations/level02_tma_swizzle_sm90-plain_sm90",
                     '#!/bin/sh\nexec "${0%/*/*}/bin/level02_tma_swizzle_sm90" "$@"\n')
        self.assert_exit(0, self.run_with_gpus("bench.py", H200, "--no-build", "--ablations"))
        rows = self.rows("docs/results/h200_ablations.csv")
        columns = ("level", "optimisation", "option", "expected", "reason", "m")
        self.assertEqual([tuple(r[c] for c in columns) for r in rows],
                         [("level02_tma_swizzle", what, *told, m) for m in ("4096", "8192")
                          for what, told in (("as it is", ("", "", "")),
                                             ("plain", ("ablations/plain_sm90", "slower", "Banks.")))])
        self.assertEqual(len(self.calls()), 4)
        self.assert_exit(2, self.bench("--ablations", "--tiles"), "not allowed with")

    def test_random_shapes_have_a_file_of_their_own(self) -> None:
        self.assert_exit(0, self.run_with_gpus("bench.py", H200, "--no-build", "--random", "4", "--levels", "2"))
        drawn = [(int(r["m"]), int(r["n"]), int(r["k"])) for r in self.rows("docs/results/h200_random.csv")]
        self.assertCountEqual(drawn, shapes.random_shapes(4, seed=1))
        self.assertFalse((self.root / "docs" / "results" / "h200.csv").exists())
        self.assertNotEqual(shapes.random_shapes(4, seed=2), shapes.random_shapes(4, seed=1))
        self.assertEqual(shapes.random_shapes(9, seed=1)[:4], shapes.random_shapes(4, seed=1))
        for i, (m, n, k) in enumerate(shapes.random_shapes(50, seed=3)):
            self.assertTrue(2**28 <= m * n * k <= 2**40, (m, n, k))
            self.assertEqual((n % (8 if i % 2 else 64), k % (8 if i % 2 else 64)), (0, 0))

    def test_all_configurations_have_a_file_of_their_own(self) -> None:
        tiles = ("bench.py", H200, "--no-build", "--tiles", "--levels", "2")
        self.assert_exit(2, self.run_with_gpus(*tiles), "--sizes can")
        name = "docs/results/h200_choice.csv"
        for _ in range(2):  # the second time its rows are replaced
            self.assert_exit(0, self.run_with_gpus(*tiles, "--sizes", "100x208x72,512"))
        self.assertEqual([(r["m"], r["config"], r["chosen"], r["tflops"]) for r in self.rows(name)],
                         [("100", "128x64", "128x64", "650.5"), ("100", "256x128", "128x64", "700.5"),
                          ("512", "128x64", "128x64", "650.5"), ("512", "256x128", "128x64", "700.5")])
        self.assertEqual(len((self.root / name).read_text().splitlines()), 3, "a line for each shape")
        self.assert_exit(0, self.run_with_gpus(*tiles))  # those that are recorded
        timed = [call for call in self.calls() if "--list-choices" not in call]
        self.assertTrue(all("--bench" in call and "--config all" in call for call in timed))
        self.assertEqual([call.split()[2] for call in timed], 3 * ["100x208x72", "512x512x512"])
        self.assertEqual(len(self.rows(name)), 4)
        self.assertFalse((self.root / "docs" / "results" / "h200.csv").exists())
        self.behave(level02_tma_swizzle_sm90="wrong")
        self.assert_exit(1, self.run_with_gpus(*tiles))
        self.behave(level02_tma_swizzle_sm90="mute")
        self.assert_exit(2, self.run_with_gpus(*tiles, "--sizes", "1024"), "does not say what it chooses")
        self.assertEqual([(r["m"], r["chosen"]) for r in self.rows(name)[-2:]], [("1024", ""), ("1024", "")],
                         "what was measured is recorded all the same")

    def test_result_file_starts_with_the_fixed_columns(self) -> None:
        self.bench("--levels", "1")
        columns, _ = data.read_rows(self.root / "docs" / "results" / "h200.csv")
        self.assertEqual(tuple(columns[:len(data.COLUMNS)]), data.COLUMNS)

    def test_own_rows_are_replaced_and_others_kept(self) -> None:
        header = ",".join(data.COLUMNS) + ",old_column,date,commit\n"
        old = ("level01_baseline,90,8192,8192,8192,1,,,,,measured,NVIDIA H200,x,1999,old\n"
               "level01_baseline,90,512,512,512,2,,,,,measured,NVIDIA H200,x,1999,old\n"
               "level01_baseline,90,8192,8192,8192,3,,,,,measured,NVIDIA H100,x,1999,old\n"
               "level01_baseline,100,8192,8192,8192,4,,,,,measured,NVIDIA H200,x,1999,old\n")
        self.write("docs/results/h200.csv", header + old)
        self.assert_exit(0, self.bench("--levels", "1"))
        rows = self.rows()
        self.assertEqual(sorted(r["tflops"] for r in rows), ["2", "3", "4", "700.5", "700.5"])
        self.assertEqual({r["old_column"] for r in rows if r["tflops"] == "2"}, {"x"})
        self.assertEqual({r["old_column"] for r in rows if r["tflops"] == "700.5"}, {""})
        self.assertEqual([r["m"] for r in rows if (r["gpu"], r["arch"]) == ("NVIDIA H200", "90")],
                         ["512", "4096", "8192"])

    def test_what_fails_leaves_no_row_and_the_rest_goes_on(self) -> None:
        for behaviour, words in (("wrong", "WRONG"), ("crash", "CRASHED: SIGSEGV"), ("cuda", "CUDA ERROR"),
                                 ("silent", "NO RESULT"), ("liar", "the row is of level99_other")):
            with self.subTest(behaviour):
                (self.root / "docs" / "results" / "h200.csv").unlink(missing_ok=True)
                self.behave(level01_baseline_sm90=behaviour)
                answer = self.run_with_gpus("bench.py", H200, "--no-build", "--sizes", "4096")
                self.assert_exit(1, answer)
                self.assertIn(words, answer.stdout)
                self.assertIn("1 of 2 done", answer.stdout)
                self.assertEqual({r["level"] for r in self.rows()}, {"level02_tma_swizzle"})

    def test_a_level_that_hangs(self) -> None:
        self.behave(level01_baseline_sm90="hang")
        answer = self.run_with_gpus("bench.py", H200, "--no-build", "--sizes", "4096", "--timeout", "5")
        self.assert_exit(1, answer)
        self.assertIn("HUNG: ended after 5 s; it leaves no row", answer.stdout)
        self.assertEqual({r["level"] for r in self.rows()}, {"level02_tma_swizzle"})

    def test_a_limit_is_shared_out(self) -> None:
        def budgets() -> list[float]:
            return [float(call.split("--budget ")[1].split()[0]) for call in self.calls()]

        self.assert_exit(0, self.bench("--limit", "100"))
        for budget, left in zip(budgets(), (4, 3, 2, 1)):
            self.assertTrue(20 / left < budget <= min(60, 100 / left), "no level takes its time here: shares grow")
        self.assert_exit(0, self.bench("--limit", "100", "--apart"))
        self.assertTrue(all(5 <= budget <= 50 for budget in budgets()[4:]), "two timings have half of it each")
        self.assert_exit(0, self.bench("--limit", "100", "--budget", "0.5"))
        self.assertEqual(budgets()[8:], 4 * [0.5])
        self.assert_exit(0, self.bench("--limit", "30", "--levels", "1", "--sizes", "512", "--burst", "--apart"))
        self.assertLess(2 * budgets()[12], 22, "what comes beside timing has its part from the beginning")
        answer = self.bench("--limit", "0.5")
        self.assert_exit(1, answer)
        self.assertIn("LEFT OUT: there is no time left for it", answer.stdout)
        self.assertEqual(len(self.calls()), 13)

    def test_a_level_that_hangs_has_the_limit_at_most(self) -> None:
        self.behave(level01_baseline_sm90="hang")
        begin = time.monotonic()
        answer = self.bench("--limit", "6")
        self.assertLess(time.monotonic() - begin, 60)
        self.assert_exit(1, answer)
        self.assertIn("level01_baseline 4096: HUNG", answer.stdout)
        self.assertIn("level02_tma_swizzle 8192: LEFT OUT", answer.stdout)

    def test_a_run_is_resumed(self) -> None:
        arguments = ("--digests", "digests.csv", "--digest-sizes", "256")
        self.behave(level02_tma_swizzle_sm90="crash")
        self.assert_exit(1, self.bench(*arguments, LADDER_COMMIT="abc"))
        self.behave()
        before = len(self.calls())
        self.assert_exit(0, self.bench(*arguments, "--resume", LADDER_COMMIT="abc"))
        self.assertEqual({call.split()[0] for call in self.calls()[before:]}, {"level02_tma_swizzle_sm90"})
        answer = self.bench(*arguments, "--resume", LADDER_COMMIT="abc")
        self.assert_exit(0, answer)
        self.assertIn("0 of 0 done", answer.stdout)
        self.assertEqual(len(self.calls()), before + 5)
        self.assert_exit(0, self.bench(*arguments, "--resume", LADDER_COMMIT="def"))
        self.assertEqual(len(self.calls()), before + 5 + 10)
        self.assert_exit(2, self.bench("--resume", LADDER_COMMIT=""), "has to know the commit")

    def test_being_stopped(self) -> None:
        self.behave(level02_tma_swizzle_sm90="hang")
        process = self.start_with_gpus("bench.py", H200, *FAST)
        with process:
            while not any("level02" in call for call in self.calls()):
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=900), 130)
            assert process.stderr is not None
            self.assertIn("what was measured so far is recorded", process.stderr.read())
        self.assertEqual({r["level"] for r in self.rows()}, {"level01_baseline"})

    def test_a_level_that_was_not_built(self) -> None:
        (self.root / "build" / "bin" / "level02_tma_swizzle_sm90").unlink()
        answer = self.bench()
        self.assert_exit(1, answer)
        self.assertIn("DOES NOT START", answer.stdout)

    def test_unverified_is_not_recorded(self) -> None:
        fake = support.FAKE_LEVEL.replace('else "right", digest', 'else "unverified", digest')
        self.program("build/bin/level01_baseline_sm90", fake)
        answer = self.bench("--levels", "1")
        self.assert_exit(1, answer)
        self.assertIn("it is measured and unverified", answer.stdout)
        self.assertFalse((self.root / "docs" / "results" / "h200.csv").exists())

    def test_digests(self) -> None:
        arguments = ("--levels", "1", "--sizes", "4096", "--digests", "digests.csv", "--digest-sizes", "256,8x16x24")
        for _ in range(2):  # the second run replaces the rows of the first
            self.assert_exit(0, self.bench(*arguments[:2], *arguments[4:], LADDER_COMMIT="abc"))
        columns, rows = data.read_rows(self.root / "digests.csv")
        self.assertEqual(tuple(columns), measure.DIGEST_COLUMNS)
        self.assertEqual([(r["m"], r["n"], r["k"], r["init"], r["digest"], r["commit"]) for r in rows],
                         [(*shape, init, "0123456789abcdef", "abc") for shape in (("8", "16", "24"), ("256",) * 3)
                          for init in sorted(measure.DIGEST_INITS)])
        self.assertTrue(any("--init uniform --digest" in call and "--bench" not in call for call in self.calls()))

    def test_no_gpu(self) -> None:
        self.assert_exit(77, self.run_with_gpus("bench.py", [], *FAST), "here is none")
        answer = self.run_with_gpus("bench.py", [("NVIDIA L4", 89), ("NVIDIA B300", 103)], *FAST)
        self.assert_exit(77, answer, "only NVIDIA L4 (8.9), NVIDIA B300 (10.3)")
        self.assertEqual(self.calls(), [])

    def test_blackwell_runs_the_other_kernels(self) -> None:
        gpus = [("NVIDIA L4", 89), ("NVIDIA B200", 100)]
        self.assert_exit(0, self.run_with_gpus("bench.py", gpus, *FAST, "--levels", "1"))
        self.assertTrue(all("_sm100" in call for call in self.calls()))
        self.assertEqual({(r["gpu"], r["arch"]) for r in self.rows("docs/results/b200.csv")}, {("NVIDIA B200", "100")})

    def test_a_level_without_a_kernel_for_this_gpu(self) -> None:
        (self.root / "level02_tma_swizzle" / "kernel_sm90.cuh").unlink()
        self.assert_exit(0, self.bench())
        self.assertEqual({r["level"] for r in self.rows()}, {"level01_baseline"})
        self.assert_exit(2, self.bench("--levels", "2"), "there is no kernel for sm90")

    def test_a_row_of_another_gpu(self) -> None:
        answer = self.run_with_gpus("bench.py", [("NVIDIA H200", 90), ("NVIDIA H100", 90)], *FAST)
        self.assert_exit(1, answer)
        self.assertIn("it is of an NVIDIA H100", answer.stdout)

    def test_bad_command_lines(self) -> None:
        self.write("digests.csv", "colour,flavour\nred,sweet\n")
        for arguments, sentence in ((("--levels", "9"), "there is no level 9"), (("--sizes", "4097"), "multiples of 8"),
                                    (("--rounds", "x"), "--rounds"), (("--budget", "-1"), "--budget"),
                                    (("--timeout", "0"), "--timeout"), (("--colour",), "--colour"),
                                    (("--output", "docs"), "is a folder"), (("--digest-sizes", "x"), "neither"),
                                    (("--output", "digests.csv"), "something else than results"),
                                    (("--tiles", "--digests", "a.csv"), "a measurement of its own"),
                                    (("--random", "3", "--sizes", "4096"), "draws the shapes itself"),
                                    (("--digests", "a.csv", "--output", "a.csv"), "same file")):
            with self.subTest(arguments):
                self.assert_exit(2, self.run_with_gpus("bench.py", H200, "--no-build", *arguments), sentence)
        self.assertEqual(self.calls(), [])

    def test_building_comes_first(self) -> None:
        self.program("scripts/build.sh", "#!/bin/sh\necho building $*\nexit 8\n")
        answer = self.run_with_gpus("bench.py", H200, "--sizes", "4096")
        self.assert_exit(2, answer, "could not be built")
        self.assertIn("building level01_baseline_sm90 level02_tma_swizzle_sm90", answer.stdout)
        self.assertEqual(self.calls(), [])


class Names(unittest.TestCase):
    def test_output_is_named_after_the_gpu(self) -> None:
        for name, file in (("NVIDIA H200", "h200.csv"), ("NVIDIA H100 80GB HBM3", "h100.csv"),
                           ("NVIDIA GB200", "gb200.csv"), ("NVIDIA GH200 480GB", "gh200.csv"),
                           ("Some Thing", "some_thing.csv")):
            self.assertEqual(measure.default_output(gpus.Gpu(name, 90)), data.FOLDER / file)


if __name__ == "__main__":
    unittest.main()
