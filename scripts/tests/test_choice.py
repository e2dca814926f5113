"""How good the production kernel's choice among its configurations is, on random shapes."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from ladder import files
from ladder.command import Failure
from ladder.levels.shapes import Shape
from ladder.results import choice, data
from ladder.results.choice import quantile

SERIES = data.Series("measured", "NVIDIA H200", 90)


def row(config: str, tflops: str, chosen: str, m: str = "64") -> data.Result:
    return data.to_result({"level": "production", "arch": "90", "m": m, "n": "64", "k": "64",
                           "tflops": tflops, "ratio_cublaslt": "0.9", "kind": "measured", "gpu": "NVIDIA H200",
                           "config": config, "chosen": chosen})


class Judging(unittest.TestCase):
    def test_against_the_best(self) -> None:
        rows = [row("a", "100", "b"), row("b", "80", "b"), row("a", "50", "a", "72"), row("b", "40", "a", "72"),
                row("a", "50", "c", "80")]
        found = choice.judge(rows)
        self.assertEqual([(each.chosen.shape[0], each.best.fields["config"], each.loss, each.timed)
                          for each in found[SERIES]], [(64, "a", 0.25, 2), (72, "a", 0.0, 2)])

    def test_quantiles(self) -> None:
        self.assertEqual([quantile([3, 1, 2, 5, 4], share) for share in (0, 0.5, 0.9, 1)], [1, 3, 5, 5])

    def test_what_is_modelled_is_no_measurement(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in ("modelled_choice.csv", "h200_choice.csv", "modelled_shapes.csv", "sim_shapes.csv"):
                (folder / file).write_text(",".join(choice.COLUMNS) + "\n", encoding="utf-8")
            self.assertEqual(data.measured(folder, "choice"), [folder / "h200_choice.csv"])
            self.assertEqual(data.measured(folder, "shapes"), [])

    def test_choices_are_recorded_anew(self) -> None:
        rows = [row("a", "1", "b").fields, row("b", "1", "b").fields, row("b", "1", "b", "72").fields]
        rows.append({**rows[0], "level": "level07_dual_tile"})
        chosen = {"production": "a", "level07_dual_tile": "c"}
        changed = choice.with_choices(rows, lambda level, _, asked: dict.fromkeys(asked, chosen[level]))
        self.assertEqual([each["chosen"] for each in changed], ["a", "a", "a", "c"])

    def test_a_program_that_does_not_say_what_it_chooses(self) -> None:
        for said in ("64x64x64", "72x64x64 a", "64x64x64 a\n72x64x64 a", ""):
            with self.assertRaisesRegex(Failure, "does not say what it chooses"):
                choice.ask(["bash", "-c", f"echo '{said}'"], [(64, 64, 64)])
        found = choice.ask(["bash", "-c", "echo '64x64x64         a'"], [(64, 64, 64)])
        self.assertEqual(found, {(64, 64, 64): "a"})


class OfRecord(unittest.TestCase):
    """What scripts/bench.py --tiles has recorded; observe.py --check sees that `chosen` is still true."""

    def test_the_choice_is_near_the_best(self) -> None:
        found = choice.judge(choice.load(files.ROOT / files.RESULTS))
        self.assertIn(SERIES, found)
        # The same choice, fitted to both. Many shapes are those at which an earlier one was worst, and the best tile
        # may be one that the kernel no longer has.
        for series, judged in found.items():
            self.assertGreaterEqual(len(judged), 50, series)
            losses = [each.loss for each in judged]
            self.assertLessEqual(quantile(losses, 0.5), 0.01, series)
            self.assertLessEqual(quantile(losses, 0.9), 0.10, series)
            self.assertGreaterEqual(sum(1 / (1 + loss) for loss in losses) / len(losses), 0.97, series)

    def test_every_tile_was_timed_and_right(self) -> None:
        results = choice.load(files.ROOT / files.RESULTS)
        self.assertEqual({each.fields["verdict"] for each in results}, {"right"})
        configs: dict[tuple[data.Series, Shape], set[str]] = {}
        for each in results:
            configs.setdefault((each.series, each.shape), set()).add(each.fields["config"])
        for (series, shape), found in configs.items():
            self.assertGreaterEqual(len(found), 8, f"{series.title()} {shape}")


if __name__ == "__main__":
    unittest.main()
