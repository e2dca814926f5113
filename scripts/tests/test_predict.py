"""The timing model's constants and what is recorded of its predictions."""
from __future__ import annotations

import csv
import unittest
from statistics import geometric_mean, mean, median
from unittest import mock

from ladder.command import Failure
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names, simulated
from ladder.model import account, derivation, modelled, predicted, predictions
from ladder.results import data
from ladder.tune import space, tuning
from tests import support

CALIBRATION = support.ROOT / "docs" / "results" / "h200_calibration.csv"


SIZES = ("4096", "8192", "13312")  # that a profiler was asked for
# Where the model names another part first, by level and size: why.
BOTH = "DRAM, too, is at 88 to 89 % of its peak, and in the model it comes first"
DISAGREE = {(level, "13312"): BOTH for level in ("level02", "level03", "level04")}


def constants(gpu: str) -> list[dict[str, str]]:
    with open(simulated.path_of(gpu), newline="", encoding="utf-8") as file:
        return list(filter(simulated.is_constant, csv.DictReader(file)))


class Constants(unittest.TestCase):
    def test_measured_ones_follow_from_what_was_measured(self) -> None:
        derived = derivation.derived(constants("h200"), data.read_rows(CALIBRATION)[1])
        self.assertEqual(derived, constants("h200"))
        measured = {row["name"] for row in derived if row["kind"] == "measured"}
        self.assertEqual(measured, set(derivation.RULES) | {"model_error"})

    def test_so_they_do_on_an_H100(self) -> None:
        rows = data.read_rows(CALIBRATION.with_name("h100_calibration.csv"))[1]
        self.assertEqual(derivation.derived(constants("h100"), rows), constants("h100"))

    def test_another_measurement_is_another_constant(self) -> None:
        rows = [dict(row) for row in data.read_rows(CALIBRATION)[1]]
        for row in rows:
            if row["setting"] == "instruction=bar_sync warps=4":
                row["value"] = "40"
        found = {row["name"]: row["value"] for row in derivation.derived(constants("h200"), rows)}
        self.assertEqual(found["cta_barrier"], "40")

    def test_a_missing_measurement_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            derivation.derived(constants("h200"), [])

    def test_at_most_three_are_fitted(self) -> None:
        for gpu in simulated.KNOWN:
            fitted = [row["name"] for row in constants(gpu) if row["kind"] == "fitted"]
            self.assertLessEqual(len(fitted), 3, fitted)
        for gpu, count in (("h200", 2), ("h100", 1)):
            self.assertEqual(sum(row["kind"] == "fitted" for row in constants(gpu)), count, gpu)
        self.assertIn("Two are fitted, on the H100 a third.", support.words("docs/model.md"))
        self.assertIn("two fitted constants are the H200's, and a third is how the link between L2's halves follows "
                      "the clock", support.words("docs/gpus.md"))

    def test_energy_comes_out_of_made_up_measurements(self) -> None:
        made = derivation.Energy(100, 0.5e-12, 20e-12, 5e-12, 60e-12, 1.5)
        rows = []
        for name, ghz, flops, received, multicast, dram in (
                ("waiting", 1.9, 0, 0, 0, 0), ("mma256", 1.5, 800e12, 0, 0, 0), ("mma128", 1.8, 500e12, 0, 0, 0),
                ("l2_stages1", 1.9, 0, 6e12, 0, 0), ("l2_multicast2", 1.8, 0, 9e12, 1, 0),
                ("dram_stages1", 1.7, 0, 3e12, 0, 1)):
            joules = (flops * made.flop + received / (1 + multicast) * made.l2_byte + received * made.sm_byte)
            watts = made.idle + joules * (ghz / 1.6) ** made.exponent + received * dram * made.dram_byte
            for quantity, value in (("power by energy", watts), ("sustained clock", ghz * 1000),
                                    ("FLOP per cycle of all SMs", flops / ghz / 1e9),
                                    ("bytes received per cycle by all SMs", received / ghz / 1e9)):
                rows.append({"experiment": "power", "setting": f"case={name}", "quantity": quantity,
                             "value": str(value)})
        found = derivation.energy(derivation.Rows(rows), 1.6)
        for name, value in vars(made).items():
            self.assertAlmostEqual(getattr(found, name) / value, 1, places=6, msg=name)


class Recorded(unittest.TestCase):
    ROWS = data.read_rows(support.ROOT / predictions.RECORD)[1]

    def test_every_point_of_the_ladder_on_all_GPUs(self) -> None:
        expected = {(level, gpu, edge) for level in names.all_names() for gpu, sizes in predictions.RECORDED.items()
                    for edge in sizes.split(",")}
        self.assertEqual(set(predictions.by_point(self.ROWS)), expected)
        self.assertEqual(len(self.ROWS), len(expected))
        self.assertEqual({row["kind"] for row in self.ROWS}, {"modelled"})

    def test_the_error_is_the_one_that_the_page_shows(self) -> None:
        context = Context(support.ROOT, data.load_results())
        for gpu, error in (("h200", predicted.held_out_error(context)), ("b200", predicted.blackwell_error(context))):
            said = {row["name"]: float(row["value"]) for row in constants(gpu)}["model_error"]
            self.assertAlmostEqual(said, error, delta=0.005, msg=gpu)
            self.assertEqual({float(row["error"]) for row in self.ROWS if row["gpu"] == gpu}, {said})

    def test_levels_come_in_the_order_in_which_they_were_measured(self) -> None:
        clear = predicted.ranked(Context(support.ROOT, data.load_results()))
        swapped = predicted.swapped(clear)
        self.assertGreater(len(clear), 80)
        self.assertLessEqual(len(swapped), 0.02 * len(clear), swapped)
        page = support.words("docs/model.md")
        for pair in swapped:
            self.assertIn(pair, page)

    def test_the_checked_points_are_recorded(self) -> None:
        recorded = predictions.by_point(self.ROWS)
        for point in predictions.CHECKED:
            self.assertIn((point.level, point.gpu, point.size), recorded)


class Account(unittest.TestCase):
    def test_every_cycle_has_one_cause(self) -> None:
        levels = set(names.all_levels())
        for file, points in ((account.RECORD, {(level, gpu, size) for level in names.all_names()
                                               for gpu, sizes in predictions.RECORDED.items()
                                               for size in sizes.split(",")}),
                             (account.PROFILED, {(level, "h100", size) for level in levels for size in SIZES})):
            accounts = account.recorded(support.ROOT, file)
            self.assertEqual(set(accounts), points, file)
            for point, shares in accounts.items():
                self.assertAlmostEqual(sum(shares[part.key] for part in account.PARTS), 1, delta=2e-4, msg=str(point))
                self.assertLess(shares["unexplained"], 0.01, point)

    def test_what_is_measured_adds_up_too(self) -> None:
        found = account.measured(Context(support.ROOT, data.load_results()))
        self.assertEqual(set(found), {(level, "h100", size) for level in names.all_levels() for size in SIZES})
        for point, shares in found.items():
            self.assertAlmostEqual(sum(shares.values()), 1, msg=str(point))
            self.assertGreaterEqual(min(shares.values()), 0, point)

    def test_waits_by_role(self) -> None:
        found = account.waits(Context(support.ROOT, data.load_results()), "level06_tmem_double_buffer", "8192")
        self.assertEqual(list(found.load), ["a free stage"])
        self.assertGreater(found.multiply["a turn"], 0.3)  # ping-pong

    def test_the_first_part_is_the_unit_that_a_profiler_finds_above_90_percent(self) -> None:
        """Where it finds one. What does not agree stands in DISAGREE, with the reason."""
        context = Context(support.ROOT, data.load_results())
        accounts = account.recorded(support.ROOT, account.PROFILED)
        units = {"link": "link between L2's halves", "dram": "DRAM"}
        for each in predicted.profiled(context):
            if not each.busiest:
                continue
            point = (names.short(each.model["level"]), each.model["size"])
            shares = accounts[each.model["level"], "h100", each.model["size"]]
            queue = max((part.key for part in account.PARTS if part.title.startswith("operands: ")
                         and part.key not in ("not_asked", "latency")), key=lambda key: shares[key])
            named = "tensor cores" if shares["useful"] + shares["wasted"] > 0.9 else units.get(queue, queue)
            self.assertEqual(named == each.busiest[0], point not in DISAGREE, f"{point}: {named}, {each.busiest}")


class Tiles(unittest.TestCase):
    def test_rows_are_those_of_a_run_of_all_configurations(self) -> None:
        answers = [{"us": us} for us in (2.0, 4.0)]
        point = predictions.Point(names.PRODUCTION, "h200", "1000x100x10")
        said = "a 1000x100x10  256x192\na 1000x100x10  128x64\n"
        with mock.patch.object(predictions, "ask", return_value=(answers, said)):
            rows = predictions.run_all(point, support.ROOT, support.ROOT)
        self.assertEqual([(row["config"], row["tflops"]) for row in rows], [("256x192", "1"), ("128x64", "0.5")])
        with mock.patch.object(predictions, "ask", return_value=(answers, "one line\n")), \
                self.assertRaisesRegex(Failure, "2 predictions of 1 configurations"):
            predictions.run_all(point, support.ROOT, support.ROOT)

    def test_what_is_compared(self) -> None:
        rows = predicted.tiles(Context(support.ROOT, data.load_results()))
        self.assertGreater(len(rows), 200)
        self.assertLess(abs(median(each.modelled / each.measured - 1 for each in rows)), 0.05)


class Said(support.Sandbox):
    def test_what_is_printed_calls_itself_modelled(self) -> None:
        point = predictions.Point(self.LEVELS[0], "h200", "4096")
        fields = {"level": point.level, "gpu": "h200", "kind": "modelled", "m": "4096", "n": "4096", "k": "4096",
                  "tflops": "100", "sm_mhz": "1400", "cycles": "7", "limit": "tensor cores"}
        said: list[str] = []
        with mock.patch.object(predictions, "run", return_value=(fields, [])):
            predictions.predict([point], self.root / "build", said.append)
        self.assertRegex(" ".join(said), r"^modelled: h200 level01_baseline .* 100 TFLOPS at 1400 MHz")


class Ranked(unittest.TestCase):
    """What the page says of the production kernel's configurations on a B200."""

    KERNEL = space.find_kernel("production", 100)

    def setUp(self) -> None:
        path = modelled.record_of(support.ROOT / RESULTS, self.KERNEL)
        self.speeds: dict[str, dict[str, float]] = {}  # by point, then by size
        for row in data.read_rows(path)[1]:
            self.assertEqual((row["status"], row["kind"]), ("ok", "modelled"))
            point = row["name"] or self.KERNEL.describe(self.KERNEL.complete(
                {p.name: p.parse(row[p.name]) for p in self.KERNEL.parameters}))
            self.speeds.setdefault(point, {})[row["size"]] = float(row["tflops"])

    def test_all_points_of_the_space(self) -> None:
        legal = [c for c in tuning.find_candidates(tuning.Request(self.KERNEL)) if not c.reason]
        self.assertEqual(set(self.speeds), {c.name or self.KERNEL.describe(c.point) for c in legal})

    def test_nothing_is_ahead_of_the_chosen_one_by_more_than_the_model_tells_apart(self) -> None:
        chosen = self.speeds["Chosen"]
        for point, speeds in self.speeds.items():
            ratios = [speeds[size] / chosen[size] for size in chosen]
            self.assertLess(geometric_mean(ratios), 1 + modelled.SEPARATED, point)
        for size, speed in self.speeds["Notes"].items():
            self.assertGreater(chosen[size] / speed, 1 + 2 * modelled.SEPARATED, size)

    def test_the_further_apart_the_surer(self) -> None:
        found = predicted.orders(Context(support.ROOT, data.load_results()))
        near, far = ([right for apart, right in found if (apart < modelled.SEPARATED) == is_near]
                     for is_near in (True, False))
        self.assertLess(mean(near), 0.8)
        self.assertGreater(mean(far), 0.9)


if __name__ == "__main__":
    unittest.main()
