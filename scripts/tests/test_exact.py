"""The exact model, where the result is known by hand; and a wrong result is named."""
from __future__ import annotations

import dataclasses
import random
import unittest

from ladder.exact import atomics, conversions, floating, integers, kernel, number, warps
from ladder.exact.form import BITS, LANES, AnyNan, Form, Operand, matches, value
from ladder.exact.number import E2M1, E4M3, F16, F32, F64, Number

FORMS = [each for module in (integers, floating, conversions, warps, atomics) for each in module.forms()]
BY_TEXT = {each.text: each for each in FORMS}


def gives(text: str, *row: int) -> object:
    return BY_TEXT[text].expected([row])[0]


class Numbers(unittest.TestCase):
    def test_what_is_read_is_written(self) -> None:
        for form in (F16, E4M3, E2M1):
            for bits in range(2 * form.sign):
                if not form.is_nan(bits):
                    for rounding in ("rn", "rz", "rm", "rp"):
                        self.assertEqual(form.write(form.read(bits), rounding), bits, f"{form.name} {bits:#x}")

    def test_halves_go_to_the_even_one_or_as_the_rounding_says(self) -> None:
        half = Number(False, (1 << 24) + 1, -24)  # 1 + 2^-24, between 1 and 1 + 2^-23
        self.assertEqual([F32.write(half, rounding) for rounding in ("rn", "rz", "rm", "rp", "rna")],
                         [0x3F800000, 0x3F800000, 0x3F800000, 0x3F800001, 0x3F800001])
        self.assertEqual([F32.write(-half, rounding) for rounding in ("rn", "rm", "rp")],
                         [0xBF800000, 0xBF800001, 0xBF800000])

    def test_the_greatest_and_beyond(self) -> None:
        huge = Number(False, 1, 200)
        self.assertEqual([F32.write(huge, rounding) for rounding in ("rn", "rz", "rm", "rp")],
                         [0x7F800000, 0x7F7FFFFF, 0x7F7FFFFF, 0x7F800000])
        self.assertEqual((F32.write(huge, finite=True), E4M3.write(huge), E2M1.write(huge)), (0x7F7FFFFF, 0x7E, 7))

    def test_subnormal_numbers(self) -> None:
        self.assertEqual(F32.write(Number(False, 1, -149)), 1)
        self.assertEqual(F32.write(Number(True, 3, -151)), 0x80000001)
        self.assertEqual(F32.write(Number(False, 1, -149), flush=True), 0)
        self.assertEqual(F32.read(1, flush=True), Number(False, 0, -149))

    def test_quotients_and_roots_that_never_end(self) -> None:
        third = number.divide(number.ONE, number.whole(3))
        self.assertEqual([F32.write(third, rounding) for rounding in ("rn", "rz", "rp")],
                         [0x3EAAAAAB, 0x3EAAAAAA, 0x3EAAAAAB])
        self.assertEqual(F64.write(number.square_root(number.whole(2))), 0x3FF6A09E667F3BCD)
        self.assertEqual(F64.write(number.square_root(Number(False, 9, -2))), 0x3FF8000000000000)


class Instructions(unittest.TestCase):
    def test_there_are_many(self) -> None:
        self.assertGreater(len(BY_TEXT), 2000)

    def test_by_hand(self) -> None:
        for text, row, expected in (
                ("mul.hi.s32 %d, %a, %b;", (0x80000000, 2), 0xFFFFFFFF),
                ("div.s32 %d, %a, %b;", (0xFFFFFFF9, 2), 0xFFFFFFFD),
                ("rem.s32 %d, %a, %b;", (0xFFFFFFF9, 2), 0xFFFFFFFF),
                ("bfe.s32 %d, %a, %b, %c;", (0x80, 4, 4), 0xFFFFFFF8),
                ("prmt.b32 %d, %a, %b, %c;", (0x33221180, 0x77665544, 0x8074), 0xFF807744),
                ("add.sat.s32 %d, %a, %b;", (0x7FFFFFFF, 1), 0x7FFFFFFF),
                ("fma.rn.f32 %d, %a, %b, %c;", (0x3F800001, 0x3F800001, 0xBF800002), 0x28800000),
                ("min.f32 %d, %a, %b;", (0x00000000, 0x80000000), 0x80000000),
                ("max.NaN.f16 %d, %a, %b;", (0x7E01, 0x3C00), 0x7FFF),
                ("cvt.rzi.s32.f32 %d, %a;", (0x4F000000,), 0x7FFFFFFF),
                ("cvt.rzi.u32.f32 %d, %a;", (0x7FC00000,), 0),
                ("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", (0x43E10000, 0x7FC00000), 0x7E7F),
                ("setp.ltu.f32 %p, %a, %b;", (0x7FC00000, 0), 1)):
            with self.subTest(text):
                self.assertEqual(gives(text, *row), (expected,))

    def test_only_a_nan_is_any_nan(self) -> None:
        self.assertTrue(matches(0x7FF8000000000001, AnyNan(F64)))
        self.assertFalse(matches(0x7FF0000000000000, AnyNan(F64)))

    def test_shuffles_read_their_own_segment(self) -> None:
        form = BY_TEXT["shfl.sync.down.b32 %d|%p, %a, %b, %c, 0xffffffff;"]
        results = form.expected([(100 + lane, 1, 0x181F) for lane in range(LANES)])  # segments of eight lanes
        self.assertEqual(results[6:9], [(107, 1), (107, 0), (109, 1)])


class Values(unittest.TestCase):
    def test_every_kind_has_values_of_its_width(self) -> None:
        dice = random.Random(1)
        for kind, bits in BITS.items():
            if kind == "tf32":
                continue
            for _ in range(200):
                self.assertLess(value(dice, kind), 1 << bits, kind)

    def test_only_numbers_where_only_numbers_are_meant(self) -> None:
        dice = random.Random(2)
        self.assertFalse(any(F16.is_nan(value(dice, "f16.number")) for _ in range(5000)))


class Paths(unittest.TestCase):
    """What lanes that meet at one cell return."""

    def test_an_order_is_found_if_there_is_one(self) -> None:
        self.assertTrue(atomics.is_path(5, 12, [(9, 12), (5, 9)]))
        self.assertTrue(atomics.is_path(5, 5, [(5, 5), (5, 6), (6, 5)]))
        self.assertTrue(atomics.is_path(5, 5, []))

    def test_none_is_invented(self) -> None:
        self.assertFalse(atomics.is_path(5, 12, [(5, 9), (5, 12)]))  # one addition is lost
        self.assertFalse(atomics.is_path(5, 5, [(7, 8), (8, 7)]))  # an unreachable circle
        self.assertFalse(atomics.is_path(5, 6, []))


class Trials(unittest.TestCase):
    def test_a_wrong_result_is_named(self) -> None:
        for seed in range(40):
            trial = kernel.trial(random.Random(seed), BY_TEXT["add.u32 %d, %a, %b;"])
            right = [tuple(each) for each in trial.expected()]
            self.assertEqual(trial.wrong(right), [])  # type: ignore[arg-type]
            wrong = [*right[:7], (right[7][0] ^ 1,), *right[8:]]  # type: ignore[operator]
            sentences = trial.wrong(wrong)  # type: ignore[arg-type]
            self.assertEqual(len(sentences), 1)
            self.assertIn("in lane 7: %d is ", sentences[0])

    def test_a_guard_keeps_what_was_there(self) -> None:
        trial = kernel.trial(random.Random(0), BY_TEXT["not.b32 %d, %a;"])
        guarded = dataclasses.replace(trial, guarded=True, fixed={}, rows=[[1, 0, 77], [1, 1, 77]], inputs=(
            *trial.form.inputs, Operand("guard", "pred"), Operand("old_d", "b32")))
        self.assertEqual(guarded.expected(), [(77,), (0xFFFFFFFE,)])
        self.assertIn("@%guard not.b32 %d, %a;", guarded.kernel("k"))

    def test_atomics_are_judged_as_a_whole(self) -> None:
        form: Form = next(each for each in FORMS if "global.add.u32 %d" in each.text and "%lane, 0;" in each.text)
        assert form.check is not None
        rows = [[10, 1]] * LANES
        got = [[10 + lane, 10 + LANES if lane == 0 else 10] for lane in reversed(range(LANES))][::-1]
        self.assertEqual(form.check(rows, got), "")
        got[3][0] = 12
        self.assertIn("no order", form.check(rows, got))


if __name__ == "__main__":
    unittest.main()
