from __future__ import annotations

import unittest
from types import SimpleNamespace

from ladder import files
from ladder.context import Context
from ladder.levels import kernels
from tests import support


class Expressions(unittest.TestCase):
    def test_numbers_operators_and_calls(self) -> None:
        scope = {"A": 7, "Config": SimpleNamespace(B=3), "yes": True}
        for text, value in (("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("65'536 / 384 / 8 * 8", 168), ("A / 2", 3),
                            ("A % 4 << 2", 12), ("0x10 ^ 1", 17), ("Config::B * A", 21),
                            ("yes ? 1 : 2", 1), ("A > 7 || !yes ? 1 : A > 8 ? 2 : 3", 3), ("-A + 8", 1),
                            ("std::min(A, 5)", 5), ("std::bit_ceil(uint32_t{A * 20})", 256), ("{A, 1}", (7, 1)),
                            ("true && A == 7", True), ("A & 3 | 8", 11)):
            with self.subTest(text):
                self.assertEqual(kernels.evaluate(text, scope), value)

    def test_what_is_not_understood_is_named(self) -> None:
        for text in ("1 +", "unknown", "f(x)[0]", "1 2", "Config::B", "a.b("):
            with self.subTest(text), self.assertRaisesRegex(kernels.SourceError, "not understood: "):
                kernels.evaluate(text, {})


SOURCE = """
struct Options { static constexpr bool fast = 1; };
template <class Config>
struct SmemOf {
  static constexpr int START = 1024, END = START + 2 * Sizes::BYTES;
};
struct Sizes {
  static constexpr int ROWS = 128;
  static constexpr int BYTES = ROWS * (Options::fast ? 64 : 1) * 2;
  static constexpr int twice(int x) { return 2 * x; }
};
__host__ __device__ constexpr Pair order(int tile, int rows) {
  const int group = tile / rows;
  const int rest = rows - group;
  if (rest < 2) return {0, 0};
  int last = rest;
  if (group > 5) last = 1;
  return {tile % rows, last};
}
"""


class Sources(unittest.TestCase):
    def test_structs_refer_to_each_other(self) -> None:
        scope = {"Options": kernels.read_struct(SOURCE, "Options", {})}
        scope["Sizes"] = sizes = kernels.read_struct(SOURCE, "Sizes", scope)
        self.assertEqual(vars(sizes), {"ROWS": 128, "BYTES": 16384})
        self.assertEqual(vars(kernels.read_struct(SOURCE, "SmemOf", scope)), {"START": 1024, "END": 1024 + 32768})
        self.assertIsNone(kernels.read_struct(SOURCE, "Nothing", scope))

    def test_functions(self) -> None:
        order = kernels.read_function(SOURCE, "order", {})
        assert order
        self.assertEqual([order(tile, 8) for tile in (0, 9, 48, 56)], [(0, 8), (1, 7), (0, 1), (0, 0)])
        self.assertIsNone(kernels.read_function(SOURCE, "chaos", {}))


class Kernels(unittest.TestCase):
    """The sources say what the executables say."""

    def setUp(self) -> None:
        self.context = Context(support.ROOT, [])

    def test_constants_agree_with_explain(self) -> None:
        self.assertTrue(self.context.descriptions, "docs/results/explain.json is missing")
        for d in self.context.descriptions:
            with self.subTest(d.level, arch=d.arch, config=d.config):
                kernel = self.context.kernel(d)
                config = kernel.config
                self.assertEqual((config.BLOCK_M, config.BLOCK_N, config.BLOCK_K), (d.tile_m, d.tile_n, d.tile_k))
                self.assertEqual((config.STAGE_BYTES, config.NUM_THREADS), (d.stage_bytes, d.threads))
                self.assertEqual(getattr(config, "NUM_STAGES", 1), d.stages)
                self.assertEqual(kernel.smem.BYTES, d.smem_bytes)
                self.assertEqual(getattr(config, "TMEM_COLUMNS", 0), d.tmem_columns)

    def test_swizzles(self) -> None:
        b128, b32 = (kernels.swizzle_function(support.ROOT, mode) for mode in ("B128", "B32"))
        self.assertEqual([b128(128 * row) // 16 for row in range(9)], [0, 9, 18, 27, 36, 45, 54, 63, 64])
        self.assertEqual((b32(0), b32(128)), (0, 144))
        with self.assertRaisesRegex(kernels.SourceError, "B256"):
            kernels.swizzle_function(support.ROOT, "B256")

    def test_what_is_missing_is_a_sentence(self) -> None:
        description = self.context.descriptions[0]
        with self.assertRaisesRegex(kernels.SourceError, "there is no function chaos"):
            self.context.kernel(description).function("chaos")
        with self.assertRaisesRegex(kernels.SourceError, "no configuration 1x1"):
            kernels.read_kernel(support.ROOT, self.context.level(8), 90, "1x1")


class Files(support.Sandbox):
    def test_a_file_that_is_no_description(self) -> None:
        for content, words in (("[{]", "explain.json"), ('[{"level": 1}]', "run python3 scripts/observe.py")):
            self.write("docs/results/explain.json", content)
            with self.subTest(content), self.assertRaisesRegex(files.DataError, words):
                self.assertFalse(Context(self.root, []).descriptions)


if __name__ == "__main__":
    unittest.main()
