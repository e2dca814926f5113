#!/usr/bin/env python3
"""The explorer's pages, opened from disk in a headless Chromium: drawn, clicked, stepped through, zoomed, in both
themes.

LADDER_PICTURES names a folder for pictures of them. Exit code 77: there is no browser.
"""
from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import explore

from ladder import files
from ladder.explorer import record
from ladder.explorer.page import Page, render
from ladder.explorer.record import Choice
from ladder.levels import names
from ladder.levels.description import ask
from tests.browser import Browser, PageTest, find_browser
from tests.test_explore import HAZARD, event, run_of, small_trace, trace, trace_with_a_report

PAGES_MEGABYTES = 20
LARGE_EVENTS = 100_000
FIRST_DRAWING = 4.0  # seconds of CPU time: 2 on an idle machine, and half as much again beside other work
FRAME = 1 / 20  # seconds of CPU time: 1 / 30 on an idle machine, and half as much again beside other work
NO_LABS = {"arch": 100, "tiles": [], "workers": 1, "l2_megabytes": 1,
           "orders": [{"name": "", "m_blocks": 1, "n_blocks": 1, "tile_m": 1, "tile_n": 1, "k": 1, "tiles": None}]}


class Browsing(PageTest):
    """Tests that share a browser and a folder for pages."""

    folder: Path
    own = ("file:", "data:")

    @classmethod
    def setUpClass(cls) -> None:
        browser = find_browser()
        assert browser is not None
        folder = tempfile.TemporaryDirectory(prefix="ladder-pages-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.browser = Browser(browser)
        cls.addClassCleanup(cls.browser.close)

    def show(self, page: Page) -> None:
        path = self.folder / "page.html"
        path.write_text(render(page), encoding="utf-8")
        self.browser.open(path)

    def ask(self, expression: str) -> Any:
        return self.browser.evaluate("(() => { const run = explorer.run, timeline = explorer.active; "
                                     f"return {expression}; }})()")

    def place_of(self, event: int) -> tuple[float, float]:
        """Where an event of the active timeline is on the screen."""
        x, y = self.ask("((event) => { timeline.select(event); timeline.select(-1); timeline.draw();"
                        " const box = timeline.canvas.getBoundingClientRect();"
                        " const time = (Math.max(run.begin[event], explorer.view.from) +"
                        " Math.min(run.endOf[event], explorer.view.to)) / 2;"
                        " return [box.x + timeline.x(time),"
                        " box.y + timeline.rowOf.get(run.trackOf[event]) - timeline.scroller.scrollTop + 9]; }"
                        f")({event})")
        return x, y


class Pages(Browsing):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        explore.write_all(cls.folder, False)

    def test_all_pages_open_from_disk_and_can_be_used(self) -> None:
        pages = sorted(self.folder.glob("level*.html"))
        self.assertEqual(len(pages), len(names.all_kernels(files.ROOT)))
        self.assertLess(sum(page.stat().st_size for page in pages), PAGES_MEGABYTES * 1e6)
        for page in pages:
            with self.subTest(page.name):
                self.browser.open(page)
                self.use(page.stem)

    def use(self, name: str) -> None:
        self.browser.settle()
        self.picture(name)
        # The longest wait for an mbarrier that an operation ended: a click shows the operation, and the line.
        event = self.ask("Array.from(run.kind.keys())"
                         ".filter((i) => run.kind[i] === 1 && run.a[i] >= 0 && run.cause[i] >= 0)"
                         ".sort((i, j) => run.endOf[j] - run.begin[j] - run.endOf[i] + run.begin[i])[0]")
        self.browser.click(*self.place_of(event))
        self.assertEqual(self.ask("timeline.selected"), event)
        detail = self.text("#detail")
        self.assertIn("Released by", detail)
        line = self.ask(f"run.lines[run.line[{event}]][1]")
        self.assertTrue(self.text("#source .here").split()[0].startswith(str(line)))
        # Its first cause is one click further.
        self.browser.click_on("#detail button.event")
        self.assertEqual(self.ask("timeline.selected"), self.ask(f"run.chain({event})[0]"))
        # A step on, and back.
        before = self.ask("explorer.view.now")
        self.browser.click_on("#step-forward")
        self.assertGreater(self.ask("explorer.view.now"), before)
        self.browser.key("ArrowLeft")
        self.assertEqual(self.ask("explorer.view.now"), before)
        self.assertIn("At cycle", self.text("#state"))
        # Zoom, by key and by wheel; all of it again.
        self.browser.key("0")
        span = self.ask("explorer.view.span")
        self.browser.key("+")
        self.assertAlmostEqual(self.ask("explorer.view.span"), span / 2, delta=1)
        place, span = self.place_of(event), self.ask("explorer.view.span")
        self.browser.wheel(*place, -120, control=True)
        self.assertLess(self.ask("explorer.view.span"), span)
        # Both themes are drawn, and differ.
        shade = "getComputedStyle(document.body).backgroundColor"
        light = self.browser.evaluate(shade)
        self.browser.key("t")
        self.assertNotEqual(self.browser.evaluate(shade), light)
        self.picture(f"{name}_zoomed")
        self.browser.key("t")

    def test_the_gap_of_level_05_and_its_reason_are_two_clicks_away(self) -> None:
        self.browser.open(self.folder / "level06_sm100.html")
        share = self.ask("run.tensorShare")
        self.browser.click_on("#beside")
        self.assertEqual(self.ask("document.querySelectorAll('.timeline').length"), 2)
        self.assertEqual(self.ask("explorer.timelines.every((t) => t.view === explorer.view)"), True)
        self.assertGreater(share, 1.5 * self.ask("explorer.runs[1].tensorShare"))
        self.picture("beside")
        self.browser.open(self.folder / "level05_sm100.html")
        self.browser.click_on("#gap")
        self.assertIn("smem_full", self.text("#detail h3"))  # loads begin when the epilogue has ended
        chain = self.text("#detail ol")
        self.assertIn("TMA load", chain)
        self.picture("gap")

    def test_small_screens(self) -> None:
        self.browser.open(self.folder / "level08_sm90.html")
        self.browser.resize(380, 700)
        self.addCleanup(self.browser.resize, 1400, 900)
        self.picture("small")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 380)

    def test_state_at_a_moment(self) -> None:
        self.browser.open(self.folder / "level06_sm100.html")
        # In the middle of the run: what is counted is what the changes say.
        self.browser.evaluate("explorer.view.look(explorer.run.end / 2)")
        self.browser.settle()
        state = self.text("#state")
        for words in ("in flight", "stages[0] of CTA 0", "TMEM 0..127 of CTA 0", "smem_full[0] of CTA 0", "phase"):
            self.assertIn(words, state)
        full = self.ask("run.barriers.findIndex((b) => b.name === 'smem_full[0]')")
        last = self.ask(f"run.changes[{full}].filter((i) => run.begin[i] <= run.end / 2).pop()")
        self.assertEqual(self.ask(f"run.lastChange({full}, run.end / 2)"), last)
        self.assertIn(f"phase {self.ask(f'run.c[{last}]')}, needs", state)


KINDS = ("run", "wait", "op", "change", "report", "hold")


class Model(Browsing):
    """What a page makes of a trace."""

    def rows(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        self.show(Page("Model", "", [run_of(data)], NO_LABS))
        found = self.ask("Array.from(run.kind, (kind, i) => ({kind, track: run.tracks[run.trackOf[i]].name, "
                         "begin: run.begin[i], end: run.endOf[i], name: run.names[run.name[i]], cause: run.cause[i], "
                         "b: run.b[i], c: run.c[i]}))")
        return [{**row, "kind": KINDS[row["kind"]]} for row in found]

    def test_a_wait_is_ended_by_what_completes_its_phase_and_that_by_the_load(self) -> None:
        rows = self.rows(small_trace())
        wait = next(row for row in rows if (row["kind"], row["name"]) == ("wait", "mbarrier"))
        change = rows[wait["cause"]]
        self.assertEqual((change["kind"], change["name"]), ("change", "complete_tx"))
        load = rows[change["cause"]]
        self.assertEqual(load["name"], "TMA load")
        self.assertEqual(rows[load["cause"]]["track"], "warp 0")

    def test_who_holds_the_stage_and_the_accumulator(self) -> None:
        rows = [row for row in self.rows(small_trace()) if row["kind"] == "hold"]
        states = [(row["name"], row["begin"], row["end"]) for row in rows if row["track"].startswith("shared")]
        self.assertEqual(states, [("free", 0, 40), ("TMA fills it", 40, 280), ("full", 280, 320),
                                  ("MMAs read it", 320, 400)])
        self.assertEqual([row["name"] for row in rows if row["track"] == "TMEM 0..127"], ["free", "MMAs add to it"])

    def test_what_was_moved_and_by_whom(self) -> None:
        self.rows(small_trace())
        self.assertIn("columns 0..7, rows 8..11; into shared +1,024 of CTA 0; complete_tx at mbarrier +0 of CTA 0, "
                      "which completes its phase", self.ask("run.details.map((detail) => detail[0])"))
        notes = self.ask("Object.fromEntries(run.tracks.map((track) => [track.name, track.note]))")
        self.assertEqual((notes["warp 0"], notes["warp 1"]), ("loads", "MMAs"))

    def test_a_report_names_both_events(self) -> None:
        found = self.rows(trace_with_a_report())
        report = next(row for row in found if row["kind"] == "report")
        self.assertEqual((found[report["b"]]["kind"], found[report["b"]]["name"]), ("op", "MMA 128x128x16"))
        before = found[report["c"]]
        self.assertEqual((before["kind"], before["track"], before["begin"]), ("run", "warp 1", 0))
        self.assertEqual(report["cause"], report["c"])

    def test_tiles_are_told_apart_by_mmas_that_overwrite(self) -> None:
        def mma(number: int, begin: int, overwrites: bool) -> dict[str, Any]:
            return event(number, "operation", "wgmma m64n128", 2, begin, begin + 10, source="k.cuh:1", warp=0,
                         issued=begin / 1000, seen=(begin + 20) / 1000, overwrites=overwrites,
                         places=[{"cta": 0, "warp": 4, "count": 4, "written": True}])

        # The second overwrite is issued while MMAs of the same tile run: another half of the registers.
        rows = self.rows(trace(mma(0, 0, True), mma(1, 10, True), mma(2, 20, False), mma(3, 100, True),
                               mma(4, 110, False), event(5, "run", "run", 16, 0, 200, source="k.cuh:1")))
        found = [(row["name"], row["begin"], row["end"]) for row in rows if row["kind"] == "hold"]
        self.assertEqual(found, [("MMAs add to it", 0, 40), ("complete", 40, 100), ("MMAs add to it", 100, 130),
                                 ("complete", 130, 200)])


class Labs(Browsing):
    """The labs compute what the kernels do."""

    def module(self, name: str, expression: str) -> Any:
        return self.browser.evaluate(f"import('explorer/{name}.js').then((lab) => {expression})")

    def test_addresses(self) -> None:
        for arch in names.ARCHES:
            level = names.find_level("2", names.all_levels())
            explained = ask(names.executable(level, arch, files.BUILD))
            for config in [c["config"] for c in explained["configs"]]:
                first = record.of_level(level, arch, Choice(config=config))
                self.show(explore.page_of(first, None, arch))
                with self.subTest(arch=arch, config=config):
                    self.compare_addresses(explained, arch)
        self.browser.click_on("[data-tab=addresses]")
        self.assertIn("core matrix", self.text("#addresses"))
        self.picture("addresses")
        chunk = "#addresses .chunk:nth-child(12)"
        self.browser.click_on(chunk)
        row, k = (self.browser.evaluate(f"document.querySelector('[data-field={name}]').value")
                  for name in ("row", "k"))
        self.assertIn(f"row {row}, k {k}", self.text("#addresses"))

    def compare_addresses(self, explained: dict[str, Any], arch: int) -> None:
        for swizzle, chunks in explained["swizzles"].items():
            mine = self.module("addresses",
                               f"Array.from({{length: 64}}, (_, i) => lab.swizzled('{swizzle}', 16 * i) / 16)")
            self.assertEqual(mine, chunks, swizzle)
        # The descriptors of the run's own MMAs, of the first K block.
        for index, tile in enumerate(self.browser.evaluate("explorer.addresses.tiles")[:2]):
            used = set(self.ask("run.operations.map((i) => run.detail(i)).filter((d) => d.length === 3)"
                                f".map((d) => d[{index + 1}])"))
            for step in range(4):
                mine = self.module("addresses", f"lab.descriptor(explorer.addresses.tiles[{index}], {step}).bits")
                self.assertIn(mine, used, f"{tile}, MMA {step}")

    def test_tile_order(self) -> None:
        first = record.of_level(names.find_level("8", names.all_levels()), 90, Choice())
        self.show(explore.page_of(first, None, 90))
        self.browser.click_on("[data-tab=order]")
        self.picture("order")
        # Nothing is kept: every panel is fetched. All is kept: each once.
        order = "{m_blocks: 4, n_blocks: 3, tile_m: 128, tile_n: 256, k: 64, tiles: null}"
        nothing = self.module("order", f"lab.traffic({order}, 1, 0, 12)")
        self.assertEqual(nothing["fromDram"], nothing["throughL2"])
        self.assertEqual(nothing["throughL2"], 12 * (128 + 256) * 64 * 2)
        everything = self.module("order", f"lab.traffic({order}, 1, 1e9, 12)")
        self.assertEqual(everything["fromDram"], (4 * 128 + 3 * 256) * 64 * 2)
        # Every tile of the level's own order is taken once.
        for each in self.browser.evaluate("explorer.orders.orders.filter((o) => o.tiles)"):
            self.assertEqual(len({tuple(tile) for tile in each["tiles"]}), each["m_blocks"] * each["n_blocks"])
        self.browser.evaluate("explorer.orders.set('order', 1)")
        before = self.text("#order .answer")
        self.browser.evaluate("explorer.orders.set('wave', 2)")
        self.assertNotEqual(self.text("#order .answer"), before)


class Reports(Browsing):
    def test_what_is_not_in_order_stands_at_its_events(self) -> None:
        self.show(Page("Report", "", [run_of(trace_with_a_report())], NO_LABS))
        self.assertIn("1 report", self.text(".facts"))
        self.browser.click_on("#report")
        self.picture("report")
        for part in HAZARD.replace(": ", "\n", 1).replace(" Missing", "\nMissing").split("\n"):
            self.assertIn(part, self.text("#detail"))
        report = self.ask("timeline.selected")
        self.browser.click_on("#detail ol button.event")  # the MMA, which knows of the report
        self.assertIn("MMA", self.text("#detail h3"))
        self.assertEqual(self.ask("run.accusations.get(timeline.selected)"), [report])
        self.browser.key("r")
        self.assertEqual(self.ask("timeline.selected"), report)

    def test_the_timing_model_s_cycles(self) -> None:
        for arch in names.ARCHES:
            timed = record.of_level(names.find_level("6", names.all_levels()), arch, Choice(options=("--timing",)))
            self.assertIn("timed by the model", timed.subtitle)
            self.show(explore.page_of(timed, None, arch))
            self.assertTrue(self.ask("document.querySelector('#report').hidden"))
            # Each wait for a barrier has an event that ends it; every operation has a line and says what it moves.
            self.assertEqual(self.ask("Array.from(run.kind.keys()).filter((i) => run.kind[i] === 1 && run.a[i] >= 0"
                                      " && run.cause[i] < 0).length"), 0)
            self.assertEqual(self.ask("run.operations.filter((i) => run.line[i] < 0 || !run.nameOf(i)).length"), 0)
            self.assertGreater(self.ask("run.operations.filter((i) => run.detail(i).length === 3).length"), 100)
            # The tensor core executes one MMA at a time. (A commit takes no unit: it may lie within one.)
            mmas = ("run.tracks.find((t) => t.name === 'tensor core').events"
                    ".filter((e) => !/commit/.test(run.nameOf(e)))")
            self.assertGreater(self.ask(f"{mmas}.length"), 10)
            self.assertEqual(self.ask(f"{mmas}.filter((e, i, all) => i && run.begin[e] + 1 < "
                                      "run.endOf[all[i - 1]]).length"), 0)
            # The account of what is in view is whole, and that of a gap names no work.
            account = "Object.fromEntries(run.account({}, {}))"
            whole = self.ask(account.format("0", "run.end"))
            self.assertAlmostEqual(sum(whole.values()), 100, places=6)
            self.assertAlmostEqual(whole["multiplies"], 100 * self.ask("run.tensorShare"), places=1)
            gap = self.ask(account.format("run.gaps[0][0]", "run.gaps[0][1]"))
            self.assertAlmostEqual(sum(gap.values()), 100, places=6)
            self.assertNotIn("multiplies", gap)
            self.picture(f"timed_sm{arch}")


class LargeRun(Browsing):
    def test_a_large_run_is_drawn_at_once_and_zooms_smoothly(self) -> None:
        level = names.find_level("6", names.all_levels())
        data = record.of_level(level, 100, Choice(shape=(2304, 512, 4096))).data
        begun = self.browser.thread_seconds()
        self.show(Page("Large", "", [{**data, "title": "Large", "subtitle": ""}], NO_LABS))
        self.browser.settle()
        self.assertLess(self.browser.thread_seconds() - begun, FIRST_DRAWING)
        self.assertGreater(self.ask("run.count"), LARGE_EVENTS)
        self.picture("large")
        self.browser.evaluate("explorer.barriers()")  # all tracks, also the barriers'
        steps = 24
        for direction in (1.25, 0.8):
            begun = self.browser.thread_seconds()
            for _ in range(steps):
                self.browser.evaluate(f"explorer.zoom({direction})")
                self.browser.settle()
            self.assertLess((self.browser.thread_seconds() - begun) / steps, FRAME)


if __name__ == "__main__":
    if find_browser() is None:
        print("There is no Chromium, so no page is looked at: scripts/setup.sh installs one where it may.")
        sys.exit(77)
    unittest.main()
