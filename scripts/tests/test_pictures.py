from __future__ import annotations

import itertools
import re
import unittest
import xml.etree.ElementTree
from typing import ClassVar

from ladder import context
from ladder.draw import capstone, gallery, layout, operands, svg, timelines
from ladder.levels import names
from ladder.pages import marked
from ladder.sim import counters
from tests import support

CONTEXT = context.Context(support.ROOT, [])


class All(unittest.TestCase):
    """Every picture of the course, as it is drawn from the code now."""

    drawn: ClassVar[dict[str, svg.Drawing]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.drawn = {name: drawing for name, draw in gallery.gallery(CONTEXT).items() if (drawing := draw())}

    def test_all_are_there(self) -> None:
        wanted = {"swizzles", "epilogue_lanes", "cd_swizzle", "tile_order_05", "tile_order_07", "tile_order_08",
                  "core_matrices", "wgmma_fragment", "machine", "level01_new_sm100",
                  *(f"production_{what}_sm90" for what in ("ring", "pair", "four", "smem", "tiles")),
                  "tile_order_production", *(f"{names.short(kernel)}_account" for kernel in names.all_levels())}
        for level in names.all_levels():
            short = level[:len("level00")]
            wanted |= {f"{short}_{what}_sm{arch}" for what in ("tiles", "smem", "timeline") for arch in (90, 100)}
            wanted.add(f"{short}_tmem")
        wanted |= {path.stem for path in (support.ROOT / "docs" / "results").glob("*_timers_*.json")}
        self.assertEqual(set(self.drawn), wanted)

    def test_they_are_well_formed_and_described(self) -> None:
        for name, drawing in self.drawn.items():
            with self.subTest(name):
                xml.etree.ElementTree.fromstring(drawing.svg())
                self.assertGreater(len(drawing.description), 60)
                self.assertNotIn("]", drawing.description)  # it becomes the alternative text of a link

    def test_no_words_leave_the_picture(self) -> None:
        for name, drawing in self.drawn.items():
            for word in drawing.words:
                with self.subTest(name, words=word.text):
                    self.assertGreaterEqual(min(word.left, word.top), 0)
                    self.assertLessEqual(word.right, drawing.width)
                    self.assertLessEqual(word.bottom, drawing.height)

    def test_no_words_lie_on_others(self) -> None:
        for name, drawing in self.drawn.items():
            for one, other in itertools.combinations(drawing.words, 2):
                wide = min(one.right, other.right) - max(one.left, other.left)
                high = min(one.bottom, other.bottom) - max(one.top, other.top)
                if wide > 4 and high > 4:
                    self.fail(f"{name}: '{one.text}' and '{other.text}'")

    def test_groups_of_clusters_are_drawn_as_the_tiles_that_they_are(self) -> None:
        description = self.drawn["tile_order_production"].description
        for config, rows in (("256x192", 8), ("192x192", 16)):
            self.assertIn(f"Hopper {config} goes down groups of {rows} m-blocks", description)

    def test_two_drawings_are_the_same(self) -> None:
        for name in ("level05_timeline_sm100", "swizzles"):
            again = gallery.draw(CONTEXT, name)
            self.assertEqual(again and again.svg(), self.drawn[name].svg())

    def test_unknown_names(self) -> None:
        self.assertIsNone(gallery.draw(CONTEXT, "nonsense"))


class Truth(unittest.TestCase):
    """The pictures say what was counted."""

    def test_lanes_touch_as_many_lines_as_were_counted(self) -> None:
        for number in (3, 4):
            for arch in (90, 100):
                counted = CONTEXT.counted(CONTEXT.level(number), arch)
                assert counted
                store = layout.store_of(CONTEXT, number, arch)
                self.assertEqual(layout.lines_touched(store), counters.lines_per_store(counted), f"{number} {arch}")

    def test_parts_of_a_layout_cover_the_tile_once(self) -> None:
        for d in CONTEXT.descriptions:
            with self.subTest(d.level, arch=d.arch, config=d.config):
                found = layout.layout_of(CONTEXT, d)
                tiles = d.cluster if d.tile_owner == "CTA" else 1
                self.assertEqual(sum(part.size for part in found.d), d.tile_m * tiles)
                self.assertEqual(found.rows * found.columns, tiles * d.tile_m * d.tile_n)
                columns = [[part for part in found.d if part.left == left] for left in {part.left for part in found.d}]
                for parts in (found.a, found.b, *columns):
                    self.assertEqual([part.begin for part in parts],
                                     list(itertools.accumulate([0] + [part.size for part in parts[:-1]])))

    def test_loads_of_a_layout_are_those_of_the_barrier(self) -> None:
        """What each CTA loads per K block fills its stage; with multicast, it loads B for the others too."""
        for d in CONTEXT.descriptions:
            with self.subTest(d.level, arch=d.arch, config=d.config):
                b_share = d.cluster if d.arch == 100 else 1
                self.assertEqual((d.tile_m + d.tile_n // b_share) * d.tile_k * 2, d.stage_bytes)


    def test_operands_lie_where_the_warm_up_puts_them(self) -> None:
        """Its pages show what its programs print, and a test holds these together."""
        page = (support.ROOT / "level01_baseline" / "warm_up" / "one_mma.md").read_text(encoding="utf-8")
        plain = operands.PLAIN
        self.assertIn(f"(8, 0) at {plain.place(1, 0)}, (0, 8) at {plain.place(0, 1)}\n", page)
        shown = [tuple(map(int, found)) for found in re.findall(
            rf"^thread {operands.SHOWN}, register (\d+): D\[(\d+)\]\[(\d+)\]", page, re.MULTILINE)]
        self.assertEqual(len(shown), 8)
        for register, row, column in shown:
            self.assertEqual(operands.element_of(operands.SHOWN, register), (row, column))

    def test_every_element_of_a_fragment_has_one_owner(self) -> None:
        elements = {operands.element_of(thread, register) for thread in range(128) for register in range(16)}
        self.assertEqual(elements, set(itertools.product(range(64), range(32))))

    def test_a_stage_of_the_ring_has_one_tenant_at_a_time(self) -> None:
        for stages, d_stages, lead in ((4, 2, 2), (4, 1, 3)):
            found = capstone.tenants(stages, d_stages, lead, lead + 2)
            self.assertEqual([t.stage for t in found], [i % stages for i in range(len(found))])
            self.assertEqual([t.name for t in found].count("D 1"), d_stages - 1)
            for stage in range(stages):
                mine = [t for t in found if t.stage == stage]
                for one, following in zip(mine, mine[1:]):
                    self.assertEqual(one.end, following.begin)
                    self.assertLessEqual(following.begin, following.used)  # D's stage is free before D is written

    def test_a_pair_and_four_load_what_the_barriers_expect(self) -> None:
        described = CONTEXT.described(names.PRODUCTION, 90)[0]
        drawing = capstone.sharing(CONTEXT, described.level, 4)
        assert drawing
        text = " ".join(word.text for word in drawing.words)
        self.assertIn(f"alone it would load {described.stage_bytes:,}", text)
        self.assertIn(f"Together {described.stage_bytes // 2:,} bytes", text)  # each half is multicast to one other

    def test_timelines_and_the_explorer_have_the_same_colours(self) -> None:
        sheet = (support.SCRIPTS / "ladder" / "explorer" / "assets" / "style.css").read_text(encoding="utf-8")
        same = {"load": timelines.TILES["loads"][0], "mma": timelines.TILES["mma"][0], "run": timelines.STATES["run"],
                "tmem": timelines.STATES["epilogue"], "store": timelines.STATES["store"],
                "wait": timelines.STATES["barrier"]}
        for variable, fill in same.items():
            self.assertEqual(set(re.findall(rf"--{variable}: (#\w+);", sheet)), set(svg.FILLS[fill]), variable)

    def test_epilogues_are_named_in_one_block(self) -> None:
        """The words D0 lie within a bar of that state, not across two."""
        end = 1000
        bars = [[0, 100, "run"], [100, 400, "epilogue"], [400, 600, "store"], [600, 1000, "epilogue"]]
        track = {"name": "warp 0", "kind": "warps", "role": "epilogue", "bars": bars, "epilogues": [[100, 1000]]}
        drawing = svg.Drawing("a", "b", timelines.LEFT + timelines.WIDE + 20, 100)
        timelines._track(drawing, track, [0], 20, end)
        (word,) = [word for word in drawing.words if word.text == "D0"]
        left, right = (timelines.LEFT + time / end * timelines.WIDE for time in (600, 1000))
        self.assertTrue(left <= word.left and word.right <= right)


class Files(unittest.TestCase):
    """What lies in docs/charts/."""

    def test_any_viewer_draws_them(self) -> None:
        """Colours as such, which style sheets may replace on dark pages: not every viewer knows variables."""
        for path in sorted((support.ROOT / "docs" / "charts").glob("*.svg")):
            self.assertNotIn("var(", path.read_text(encoding="utf-8"), path.name)

    def test_every_one_is_on_a_page(self) -> None:
        pages = "".join(path.read_text(encoding="utf-8") for path in marked.markdown_files(support.ROOT))
        for path in sorted((support.ROOT / "docs" / "charts").iterdir()):
            self.assertIn(f"charts/{path.name})", pages)


class Primitives(unittest.TestCase):
    def setUp(self) -> None:
        self.drawing = svg.Drawing("A <title>", "What & why", 100, 50)

    def test_words_are_escaped(self) -> None:
        self.drawing.text(5, 20, "a < b & c")
        root = xml.etree.ElementTree.fromstring(self.drawing.svg())
        self.assertIn("a < b & c", [node.text for node in root])
        self.assertEqual([node.text for node in root][:2], ["A <title>", "What & why"])

    def test_labels_shrink_and_then_vanish(self) -> None:
        self.assertTrue(self.drawing.label(0, 0, 100, 20, "short"))
        self.assertTrue(self.drawing.label(0, 0, 60, 20, "a long label"[:10]))
        self.assertFalse(self.drawing.label(0, 0, 12, 20, "a long label"))
        self.assertEqual(len(self.drawing.words), 2)

    def test_legends_wrap(self) -> None:
        self.drawing.legend(5, 20, {"blue": "first", "orange": "second", "green": "third"})
        self.assertGreater(len({word.bottom for word in self.drawing.words}), 1)
        self.assertLessEqual(max(word.right for word in self.drawing.words), 100)

    def test_both_schemes_have_all_colours(self) -> None:
        text = svg.style({*svg.INKS, *svg.FILLS, *svg.STROKES})
        light, dark = text.split("@media")
        for name in (*svg.INKS, *svg.FILLS, *svg.STROKES):
            self.assertIn(f".{name}{{", light)
            self.assertIn(f".{name}{{", dark)


if __name__ == "__main__":
    unittest.main()
