"""What the kernels say of themselves, as it is recorded, and as an executable is asked for it."""
from __future__ import annotations

import itertools
import unittest

from ladder import files
from ladder.context import Context
from ladder.levels import description, names
from ladder.levels.description import Description, ExplainError
from tests import support


class Recorded(unittest.TestCase):
    """Every configuration of every kernel."""

    descriptions = Context(support.ROOT, []).descriptions

    def each(self) -> list[Description]:
        self.assertGreater(len(self.descriptions), 20, "docs/results/explain.json lacks some")
        return self.descriptions

    def test_shared_memory_is_covered_once(self) -> None:
        for d in self.each():
            with self.subTest(d.title, config=d.config):
                end = 0
                for region in d.smem:
                    self.assertGreaterEqual(region.offset, end, region.name)
                    end = region.offset + region.total
                    self.assertEqual(sum(part.bytes for part in region.parts), region.bytes if region.parts else 0)
                self.assertEqual(end, d.smem_bytes)
                first, *data = d.outline
                self.assertEqual(sum(r.total for r in (first, *data)), d.smem_bytes)
                self.assertTrue(all(r.offset % 1024 == 0 for r in data), "operands and D begin where a pattern does")

    def test_barriers_lie_where_the_map_says(self) -> None:
        for d in self.each():
            with self.subTest(d.title, config=d.config):
                mapped = [(r.name, r.offset, r.count) for r in d.smem if r.kind == "barrier"]
                self.assertEqual(mapped, [(b.name, b.offset, b.count) for b in d.barriers])
                self.assertTrue(all(r.bytes == 8 and r.offset % 8 == 0 for r in d.smem if r.kind == "barrier"))
                self.assertEqual([r.name for r in d.smem if r.kind == "address"],
                                 ["tmem_address"] if d.arch == 100 else [])

    def test_stages_are_those_of_the_map(self) -> None:
        for d in self.each():
            with self.subTest(d.title, config=d.config):
                operands = [r for r in d.outline if r.name in ("a", "b", "stages")]
                self.assertEqual(sum(r.total for r in operands), d.stages * d.stage_bytes)
                self.assertEqual(d.region("smem_full").count, d.stages)

    def test_named_barriers_do_not_share_numbers(self) -> None:
        for d in self.each():
            numbers = [b.number + i for b in d.named_barriers for i in range(b.count)]
            self.assertEqual(len(numbers), len(set(numbers)), (d.title, d.config))
            self.assertTrue(all(1 <= number < 16 for number in numbers), "0 is that of __syncthreads")

    def test_orders_take_every_tile_once(self) -> None:
        for d in self.each():
            with self.subTest(d.title, config=d.config):
                self.assertEqual(d.tile_order is not None, (names.number_of(d.level) or 9) >= 5)
                if d.tile_order:
                    grid = itertools.product(range(d.tile_order.m_blocks), range(d.tile_order.n_blocks))
                    self.assertEqual(sorted(d.tile_order.tiles), sorted(grid))

    def test_tiles_of_a_cluster_are_neighbours(self) -> None:
        for d in self.each():
            if not d.tile_order or d.tile_owner != "CTA":
                continue
            tiles = d.tile_order.tiles
            for first in range(0, len(tiles), d.cluster):
                m, n = tiles[first]
                self.assertEqual(sorted(tiles[first:first + d.cluster]),
                                 sorted((m + i, n + j) for i in range(d.cluster_m) for j in range(d.cluster_n)))

    def test_a_swizzle_moves_every_chunk_somewhere_else(self) -> None:
        swizzles = self.each()[0].swizzles
        self.assertEqual(list(swizzles), ["None", "B32", "B64", "B128"])
        for name, places in swizzles.items():
            self.assertEqual(sorted(places), list(range(64)), name)
        self.assertEqual([swizzles["B128"][8 * row] for row in range(8)], [0, 9, 18, 27, 36, 45, 54, 63])

    def test_configurations_that_differ_in_the_swizzle_have_the_same_tables(self) -> None:
        context = Context(support.ROOT, [])
        level = context.level(2)
        self.assertEqual((len(context.configs(level, 90)), len(context.described(level, 90))), (4, 1))
        configs = context.configs(names.PRODUCTION, 90)
        self.assertEqual(len(context.described(names.PRODUCTION, 90)), len(configs))


class Asking(support.Sandbox):
    def test_programs_that_are_no_levels(self) -> None:
        for content, words in (("#!/bin/sh\nexit 0\n", "says nothing of its kernel"),
                               ("#!/bin/sh\necho what >&2\nexit 2\n", "exit code 2: what"),
                               ("no program", "cannot be asked")):
            with self.subTest(words), self.assertRaisesRegex(ExplainError, words):
                description.ask(self.program("bin/other", content))
        with self.assertRaisesRegex(ExplainError, "cannot be asked"):
            description.ask(self.root / "nothing")

    def test_a_file_that_is_no_description(self) -> None:
        for content, words in (("[{]", "explain.json"), ('[{"level": 1}]', "run scripts/maintain/observe.py"),
                               ("{}", "run scripts/maintain/observe.py"), ("[1]", "run scripts/maintain/observe.py")):
            self.write("docs/results/explain.json", content)
            with self.subTest(content), self.assertRaisesRegex(files.DataError, words):
                self.assertEqual(Context(self.root, []).descriptions, "never")


if __name__ == "__main__":
    unittest.main()
