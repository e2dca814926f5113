"""How people name levels, sizes and architectures."""
from __future__ import annotations

import subprocess
import unittest

from ladder.command import UsageError
from ladder.levels import names, shapes
from tests import support


class Levels(unittest.TestCase):
    LEVELS = ("level01_baseline", "level03_warp_specialize", "level08_deep_pipeline")

    def test_every_way_to_write_one(self) -> None:
        for text in ("3", "03", "level3", "level03", "level03_warp_specialize", "level03_warp_specialize/", " 3 "):
            with self.subTest(text):
                self.assertEqual(names.find_level(text, self.LEVELS), self.LEVELS[1])
                self.assertEqual(names.choose_levels(f"1,{text}", self.LEVELS), [*self.LEVELS[:2]])

    def test_what_names_no_level(self) -> None:
        for text in ("", "0", "2", "-1", "a", "1.5", "100", "³", "level", "level03_baseline", "level03_warp",
                     "03_specialize", "levels03", "level01_baseline_sm100", "LEVEL01", "level01_"):
            with self.subTest(text):
                for find in (names.find_level, names.choose_levels):
                    with self.assertRaisesRegex(UsageError, "only 1, 3, 8|is no range"):
                        find(text, self.LEVELS)

    def test_the_shell_has_the_same_rule(self) -> None:
        texts = ["3", "03", "level3", "level03", "level03_warp_specialize", "level03_warp_specialize/", "0", "9", "",
                 "a", "100", "production", "production_sm90", "level",
                 "level03_baseline", "level03_warp", "03_specialize",
                 "level03_warp_specialize_sm90"]
        script = 'source "$0/toolchain.sh"; for text; do find_level "$text" || LEVEL=none; echo "$LEVEL"; done'
        answer = subprocess.run(["bash", "-c", script, support.SCRIPTS, *texts], capture_output=True, text=True,
                                check=True)
        for text, found in zip(texts, answer.stdout.splitlines()):
            with self.subTest(text):
                try:
                    self.assertEqual(found, names.find_level(text, names.all_names()))
                except UsageError:
                    self.assertEqual(found, "none")

    def test_lists_and_ranges(self) -> None:
        for text, chosen in (("1-8", (1, 3, 8)), ("8,1", (1, 8)), ("3,3-5", (3,)), ("level01-level03", (1, 3)),
                             ("level03_warp_specialize-8", (3, 8)), ("2-99", (3, 8))):
            found = names.choose_levels(text, self.LEVELS)
            self.assertEqual([names.number_of(level) for level in found], list(chosen), text)

    def test_what_is_no_list(self) -> None:
        for text in ("4-7", "8-1", "1,", "1-", "-", "1--3", "1-a", ",", "1;3"):
            with self.subTest(text), self.assertRaises(UsageError):
                names.choose_levels(text, self.LEVELS)

    def test_the_production_kernel_is_no_level(self) -> None:
        self.assertNotIn(names.PRODUCTION, names.all_levels())
        self.assertEqual(names.find_level("production", names.all_names()), names.PRODUCTION)
        self.assertEqual(names.choose_levels("production,8", names.all_names()), names.all_names()[-2:])
        self.assertEqual((names.title(names.PRODUCTION), names.title("level01_baseline")), ("production", "level 01"))
        self.assertTrue(names.has_kernel(names.PRODUCTION, 90) and names.has_kernel(names.PRODUCTION, 100))
        with self.assertRaisesRegex(UsageError, "there is no level 'production', only 1, 3, 8"):
            names.find_level("production", self.LEVELS)

    def test_levels_are_those_that_cmake_builds(self) -> None:
        built = names.all_levels()
        self.assertIn("level01_baseline", built)
        for level in built:
            self.assertTrue((support.ROOT / level / "main.cu").exists(), level)


class Sizes(unittest.TestCase):
    def test_cubes_and_shapes(self) -> None:
        self.assertEqual(shapes.parse_sizes("4096,1000x520x264"), [(4096, 4096, 4096), (1000, 520, 264)])

    def test_what_is_no_size(self) -> None:
        for text in ("", "0", "-8", "8x8", "8x8x8x8", "12", "16x12x16", "16x16x12", "1e3", "8,", "9999999999", "0x8x8"):
            with self.subTest(text), self.assertRaises(UsageError):
                shapes.parse_sizes(text)

    def test_text(self) -> None:
        self.assertEqual(shapes.size_text((8, 8, 8)), "8")
        self.assertEqual(shapes.size_text((1, 8, 8)), "1x8x8")

    def test_architectures(self) -> None:
        self.assertEqual([names.parse_arch(t) for t in ("sm90", "90", "sm_100a", "sm100")], [90, 90, 100, 100])
        for text in ("", "sm80", "hopper", "sm"):
            with self.subTest(text), self.assertRaises(UsageError):
                names.parse_arch(text)


if __name__ == "__main__":
    unittest.main()
