from __future__ import annotations

import argparse
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

from ladder import files, shards
from ladder.context import Context
from ladder.mutants import judge, labels, study, weaken
from ladder.mutants.judge import Access, Finding, Verdict
from ladder.mutants.sites import Site, key_of
from ladder.mutants.study import Kernel
from ladder.pages.blocks import on_hardware, synchronisation
from ladder.results import data
from tests import support

RACE = """\
sim: Simulated H200, 2 SMs, order checked.
level05_persistent_sm90  200x264x320  right: cosine 1.0000000 (cpu)
sim: check: error (across proxies) in kernel level05::gemm_sm90
  stmatrix.sync.aligned.x4.shared::cta.b16 (PTX line 5, ptx/memory.cuh:26, called at level05/kernel_sm90.cuh:198)
    store by CTA (0), warp 4
  cp.async.bulk.tensor.2d.global (PTX line 7, ptx/tma.cuh:69, called at a/kernel_sm90.cuh:206, called at a/b.cuh:9)
    bulk store by CTA (0), warp 4
  The second reads what the first wrote, at dynamic shared memory +1024 of CTA (0).
  Missing: not across proxies: fence.proxy.async by the writer, between kernel_sm90.cuh:198 and kernel_sm90.cuh:204.
  12,288 times, 196,608 bytes in all.
sim: check: habit implicit-reconvergence in kernel level05::gemm_sm90
  wgmma.fence.sync.aligned (PTX line 225, ptx/wgmma.cuh:16, called at level05_persistent/kernel_sm90.cuh:171)
    CTA (0), warp 4, all lanes
  It is executed by lanes that may have taken different ways.
  Missing: __syncwarp() (bar.warp.sync) by all lanes of the warp before kernel_sm90.cuh:171.

"""
DEADLOCK = """\
sim: deadlock in kernel level05::gemm_sm90: no warp of this cluster can go on, and nothing is in flight
  CTA (0):
    warp 0 waits for the mbarrier at dynamic shared memory +32, parity 0
      at mbarrier.try_wait (PTX line 856, ptx/mbarrier.cuh:87, called at level05_persistent/kernel_sm90.cuh:142)
    warps 4, 5 wait for the mbarrier at dynamic shared memory +0, parity 1
      at mbarrier.try_wait (PTX line 208, ptx/mbarrier.cuh:87, called at level05_persistent/kernel_sm90.cuh:169)

level05_persistent_sm90: cudaErrorLaunchTimeout while launching.
"""
FAULT = """\
sim: error in kernel level05::gemm_sm90
  the mbarrier of CTA 0 at shared offset 1024: more arrivals than the phase still waits for
  at mbarrier.arrive.expect_tx (PTX line 869, ptx/mbarrier.cuh:27, called at level05_persistent/kernel_sm90.cuh:143)
  by CTA (0), warp 0, lane 0 (thread 0)

"""


class Reports(unittest.TestCase):
    def test_a_race(self) -> None:
        verdict = judge.read(RACE, 86)
        race, habit = verdict.findings
        self.assertEqual((race.grade, race.name, str(race.first), str(race.second)),
                         ("error", "across proxies", "store :198", "bulk store :206"))
        self.assertEqual((habit.grade, habit.name, str(habit.first), habit.second),
                         ("habit", "implicit-reconvergence", "wgmma.fence :171", None))
        self.assertEqual((verdict.kind, verdict.found_by, verdict.orders),
                         ("race", "race (across proxies)", "store :198 before bulk store :206"))

    def test_less_what_is_said_anyhow(self) -> None:
        verdict = judge.read(RACE, 86)
        rest = verdict.beyond(Verdict(verdict.findings[:1]))
        self.assertEqual((rest.kind, rest.orders), ("convergence", "wgmma.fence :171"))
        self.assertEqual(verdict.beyond(verdict).kind, "")

    def test_a_deadlock_a_fault_and_a_wrong_result(self) -> None:
        deadlock, fault = judge.read(DEADLOCK, 3), judge.read(FAULT, 3)
        self.assertEqual((deadlock.kind, deadlock.orders), ("deadlock", "what is waited for at :142, :169"))
        self.assertEqual(fault.kind, "fault")
        self.assertTrue(fault.orders.endswith("than the phase still waits for (:143)"), fault.orders)
        self.assertEqual(judge.read("level01 WRONG", 1).kind, "wrong D")
        self.assertEqual(judge.read("level01 right", 0).kind, "")

    def test_what_is_no_judgement(self) -> None:
        for output, code in (("sim.sh: unknown option --check", 2), ("killed", -9), ("no device", 3)):
            with self.assertRaises(judge.JudgeError):
                judge.read(output, code)

    def test_does_a_report_lead_to_the_line(self) -> None:
        verdict = judge.read(RACE, 86)
        fence, other = (Site(line, "fence.proxy.async", (line,), frozenset()) for line in (203, 230))
        self.assertEqual(study.naming(verdict, fence, [fence, other]), "yes")
        between = Site(220, "fence.proxy.async", (3,), frozenset())  # this one stands nearer
        self.assertEqual(study.naming(verdict, other, [fence, other, between]), "no")
        self.assertEqual(study.naming(verdict, Site(170, "bar.warp.sync", (4,), frozenset()), [fence]), "yes")
        self.assertEqual(study.naming(Verdict(wrong=True), fence, [fence]), "no")
        self.assertEqual(study.naming(Verdict(), fence, [fence]), "")

    def test_a_deadlock_and_a_fault_name_what_is_missing_too(self) -> None:
        near, far = (Site(line, "mbarrier.arrive", (line,), frozenset()) for line in (150, 180))
        words = DEADLOCK.replace("parity 0\n", "parity 0: phase 0 still needs 1 arrival\n")
        for output, named in ((words, "yes"), (DEADLOCK, "no")):
            self.assertEqual(study.naming(judge.read(output, 3), near, [near, far]), named)
        source = ["init(smem_full(s));", "init(smem_empty(s));"]
        inits = [Site(line, "mbarrier.init", (line,), frozenset()) for line in (1, 2)]
        output = ("sim: error in kernel gemm\n  there is no mbarrier at smem_empty[1] (dynamic shared memory +8): "
                  "mbarrier.init comes first\n  at mbarrier.try_wait (PTX line 9, a/kernel_sm90.cuh:142)\n\n")
        self.assertEqual([study.naming(judge.read(output, 3), one, inits, source) for one in inits], ["no", "yes"])
        fault = judge.read(FAULT, 3)
        self.assertEqual(study.naming(fault, Site(142, "mbarrier.try_wait", (1,), frozenset()), []), "no")
        self.assertEqual(study.naming(fault, Site(143, "mbarrier.arrive.expect_tx", (1,), frozenset()), []), "yes")

    def test_three_pairs_are_enough(self) -> None:
        findings = tuple(Finding("error", "r", Access("load", n), Access("store", n + 1), "") for n in range(1, 6))
        self.assertEqual(Verdict(findings).orders,
                         "load :1 before store :2; load :2 before store :3; load :3 before store :4 and 2 more")


class Weakening(unittest.TestCase):
    def test_relaxed_is_enough_where_no_data_is_passed_on(self) -> None:
        site = Site(1, "mbarrier.arrive", (1,), frozenset())
        for orders, verdict in (("MMA :`m()` before bulk load :`l()`", weaken.ENOUGH),
                                ("store :`s()` before load :`l()`", weaken.OPEN),
                                ("bulk store :`b()` before store :`s()`", weaken.ENOUGH)):
            without = {"verdict": study.REQUIRED, "orders": orders}
            self.assertEqual(weaken.why_enough(site, weaken.RELAXED, without).partition(":")[0], verdict)
        self.assertEqual(weaken.why_enough(site, weaken.RELAXED, {}).partition(":")[0], weaken.ENOUGH)
        self.assertEqual(weaken.why_enough(site, weaken.NARROW, {}), weaken.OPEN)


class Choices(unittest.TestCase):
    def test_shards_share_all_sites(self) -> None:
        kernel = mock.Mock(sites=[Site(n, "bar.sync", (n,), frozenset()) for n in range(20)])
        shares = [study.chosen([kernel], shards.Shard(k, 3)) for k in (1, 2, 3)]
        self.assertEqual(sorted(site.line for share in shares for _, site in share), list(range(20)))

    def test_a_spread_has_something_of_everything(self) -> None:
        sites = [Site(n, "bar.sync" if n % 4 else "mbarrier.init", (n,), frozenset()) for n in range(40)]
        pairs = [(Kernel("level01_baseline", arch, "", Path(), ()), site) for arch in (90, 100) for site in sites]
        rows = [{**study.title_of(kernel, site), "verdict": study.REQUIRED if site.line < 39 else "redundant: x",
                 "found_by": "race (exit)"} for kernel, site in pairs]
        some = study.spread(pairs, rows, 6)
        self.assertEqual(Counter(kernel.arch for kernel, _ in some), {90: 3, 100: 3})
        self.assertEqual(Counter(site.instruction for _, site in some), {"bar.sync": 4, "mbarrier.init": 2})
        self.assertIn(39, [site.line for _, site in some])
        self.assertEqual(len(study.spread(pairs, rows, 1000)), len(pairs))

    def test_bad_shards(self) -> None:
        for text in ("0/2", "3/2", "a/b", "1"):
            with self.assertRaises(argparse.ArgumentTypeError):
                shards.parse(text)


class OnHardware(unittest.TestCase):
    """What an H200 did, beside what the checker says."""

    def test_what_ever_failed_there_is_an_error_here(self) -> None:
        now = data.read_rows(files.ROOT / on_hardware.NEEDED)[1]
        measured = on_hardware.read_without(Context(files.ROOT, []))
        verdicts: dict[tuple[str, ...], set[str]] = {}  # of a site, in the configurations that are studied
        for row in now:
            verdicts.setdefault(key_of({**row, "config": ""}), set()).add(row["found_by"])
        wrong = [row for row in measured if row["site"] and row["wrong"] not in ("", "0")]
        self.assertGreater(len(wrong), 10)
        for row in wrong:
            found = verdicts[key_of({**row, "config": ""})]
            self.assertTrue(any(found_by.startswith(judge.RACE) for found_by in found), row)


PTX = """
.version 9.0
.target sm_90a
.visible .entry gemm_sm90()
{
.loc 1 3 3
fence.proxy.async.shared::cta;
.loc 1 4 3
bar.sync 1, 128;
.loc 1 5 3
bar.sync 2, 128;
.loc 1 6 3
bar.sync 3, 128;
.loc 1 7 3
setmaxnreg.inc.sync.aligned.u32 240;
.loc 1 8 3
wgmma.fence.sync.aligned;
}
.file 1 "/x/level01_baseline/kernel_sm90.cuh"
"""
EXPLAIN = """{"level": "level01_baseline", "arch": 90, "idea": "i", "swizzles": {}, "configs": [{"config": "a",
"cluster": 1, "cluster_n": 1, "tile_m": 128, "tile_n": 128, "tile_k": 64, "tile_owner": "CTA", "stages": 1,
"stage_bytes": 1, "threads": 128, "smem_bytes": 1, "request_bytes": 1, "tmem_columns": 0, "accumulators": 1,
"constants": {}, "smem": [], "barriers": [], "named_barriers": [], "roles": []}]}"""
FAKE_PROGRAM = f"#!/bin/bash\n[[ $1 != --explain ]] || echo '{EXPLAIN}' >\"$3\"\nexit 0\n"
# The first two barriers order the same pair; the third orders nothing that anybody has a proof for.
FAKE_SIM = r"""#!/bin/bash
[[ " $* " == *" --check "* ]] || WITHOUT_CHECK=1
while [[ $1 != --ptx ]]; do shift; done
has() { grep -q "$1" "$ptx"; }
ptx=$2
say() {
  echo "sim: check: error ($1) in kernel gemm"
  echo "  st.shared (PTX line 1, level01_baseline/kernel_sm90.cuh:2)"
  echo "    store by CTA (0), warp 0"
  echo "  ld.shared (PTX line 2, level01_baseline/kernel_sm90.cuh:9)"
  echo "    load by CTA (0), warp 1"
  echo "  The second reads what the first wrote."
  echo "  Missing: $2 before kernel_sm90.cuh:4."
  exit 86
}
[[ -z ${WITHOUT_CHECK-} ]] || { has 'bar.sync 3' && exit 0; echo 'level01 WRONG'; exit 1; }
has 'trap' && { printf 'sim: error in kernel gemm\n  trap\n  at trap (PTX line 1, a/kernel_sm90.cuh:3)\n\n'; exit 3; }
has 'fence[.]proxy' || say "across proxies" fence.proxy.async
has 'bar.sync 1' || has 'bar.sync 2' || say "read after write" "a barrier"
exit 0
"""


class Table(unittest.TestCase):
    """What a level's page says of its sites."""

    NUMBERED = labels.Labels([f"line_{number}();" for number in range(1, 200)])

    def lines(self, rows: list[data.Fields]) -> list[str]:
        with mock.patch.object(synchronisation, "read", lambda _, path: rows if path == on_hardware.NEEDED else []), \
                mock.patch.object(synchronisation, "read_without", lambda _: []), \
                mock.patch.object(labels, "of_kernel", lambda *_: self.NUMBERED):
            table = synchronisation.table(Context(files.ROOT, []), {"level": "8", "arch": "sm90"})
        return [line for line in table.splitlines() if line.startswith("| [")]

    def row(self, config: str, line: int, found_by: str, orders: str, verdict: str = study.REQUIRED) -> data.Fields:
        return {"level": "level08_deep_pipeline", "arch": "90", "config": config, "site": f"line_{line}();",
                "instruction": "bar.sync", "orders": self.NUMBERED.named(orders), "found_by": found_by, "named": "yes",
                "verdict": self.NUMBERED.named(verdict), "case": ""}

    def test_configurations_to_which_the_same_happens_share_a_line(self) -> None:
        lines = self.lines([
            self.row("a", 7, "race (exit)", "load :1 before store :2 and 4 more"),
            self.row("b", 7, "race (launches)", "load :1 before store :3"),
            self.row("c", 7, "race (launches)", "load :1 before store :2"),
            self.row("a", 9, "deadlock", "what is waited for at :20, :111"),
            self.row("b", 9, "deadlock", "what is waited for at :3"),
            self.row("c", 9, "", "", "redundant: bar.sync (line 7) does the same"),
            self.row("c", 10, "fault", "the mbarrier at x[0] (dynamic shared memory +8) of CTA (0): one arrival: so"),
            self.row("a", 10, "", "", "not executed here: see c")])
        self.assertEqual([line.partition(" | ")[2] for line in lines], [
            "`bar.sync` | load :1 before store :2; load :1 before store :3 and 3 more | race (exit, launches) | all |",
            "`bar.sync` | what is waited for at :3, :20, :111 | deadlock | all but `c` |",
            "`bar.sync` | - | redundant: bar.sync (line 7) does the same | `c` |",
            "`bar.sync` | - | fault: the mbarrier at x[0]: one arrival | `c` |"])

    def test_what_is_recorded_names_lines_that_are_there(self) -> None:
        named = 0
        for row in data.read_rows(files.ROOT / on_hardware.NEEDED)[1]:
            now = labels.of_kernel(files.ROOT, row["level"], int(row["arch"]))
            self.assertIsNotNone(now.line(row["site"]), row)
            self.assertEqual(now.named(now.located(row["verdict"])), row["verdict"])
            self.assertNotRegex(row["orders"] + row["verdict"], r"[ (]:\d|\(lines? \d")
            named += "(line" in row["verdict"]
        self.assertGreater(named, 20)


class Labels(unittest.TestCase):
    SOURCE = ("  ptx::mbarrier_wait(full(stage), phase);  // arrived", "}", "if (x) ptx::elect<2>(f(1));", "}", "",
              "a = b;")

    def test_a_line_is_known_by_its_code(self) -> None:
        found = labels.Labels(self.SOURCE)
        self.assertEqual([found.label(line) for line in range(1, 7)],
                         ["mbarrier_wait(full(stage), phase)", "}", "elect<2>(f(1))", "} #2", "", "a = b;"])
        self.assertEqual(found.line("} #2"), 4)
        self.assertIsNone(found.line("} #3"))

    def test_comments_and_other_lines_change_no_label(self) -> None:
        found, moved = labels.Labels(self.SOURCE), labels.Labels(("// new", *self.SOURCE[:5], "c = d;", self.SOURCE[5]))
        text = "store :1 before x/kernel_sm90.cuh:6, at :3 (lines 1, 6), not a 1:2 or x (+8): y"
        self.assertEqual(found.located(found.named(text)), text)
        self.assertEqual(moved.located(found.named(text)),
                         "store :2 before x/kernel_sm90.cuh:8, at :4 (lines 2, 8), not a 1:2 or x (+8): y")
        self.assertEqual(labels.Labels(()).located("at :`gone`"), "at :?")


class Needed(support.Sandbox):
    LEVELS = ("level01_baseline", "level02_tma_swizzle")

    def setUp(self) -> None:
        super().setUp()
        self.write("level01_baseline/kernel_sm90.cuh", "".join(f"line_{n}();  // {n}\n" for n in range(1, 10)))
        program = self.program("build/bin/level01_baseline_sm90", "")
        program.write_bytes(FAKE_PROGRAM.encode() + PTX.encode() + b"\0")
        self.program("scripts/sim.sh", FAKE_SIM)
        self.output = self.root / "docs" / "results" / "needed.csv"

    def needed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.run_command(sys.executable, "-B", self.maintain / "needed.py", "1", "--arch", "sm90", *arguments)

    def rows(self) -> dict[str, data.Fields]:
        return {row["site"][len("line_"):-len("();")]: row for row in data.read_rows(self.output)[1]}

    def test_required_redundant_and_unproven(self) -> None:
        self.assert_exit(1, self.needed())
        rows = self.rows()
        self.assertEqual({line: (row["verdict"], row["found_by"], row["named"]) for line, row in rows.items()}, {
            "3": ("required", "race (across proxies)", "yes"),
            "4": ("redundant: bar.sync (line `line_5();`) does the same",
                  "race (read after write)", "yes"),
            "5": ("redundant: bar.sync (line `line_4();`) does the same",
                  "race (read after write)", "yes"),
            "6": ("unproven", "", ""),
            "7": ("no order: registers, not order", "", ""),
            "8": ("unproven", "", "")})
        self.assertEqual(rows["3"]["orders"], "store :`line_2();` before load :`line_9();`")

    def test_a_part_and_the_rest(self) -> None:
        self.needed("--shard", "1/2", "--output", self.root / "a.csv")
        self.needed("--shard", "2/2", "--output", self.root / "b.csv")
        (self.root / "a.csv").rename(self.root / "a.1of2.csv")
        self.assert_exit(3, self.needed("--merge", self.root / "a.1of2.csv"), "part 2/2 of the sweep is missing.")
        (self.root / "b.csv").rename(self.root / "a.2of2.csv")
        self.assert_exit(0, self.needed("--merge", self.root / "a.1of2.csv", self.root / "a.2of2.csv"))
        merged = self.rows()
        self.needed("--output", self.root / "whole.csv")
        self.assertEqual(list(merged.values()), data.read_rows(self.root / "whole.csv")[1])

    def test_only_what_is_open(self) -> None:
        self.needed("--line", 3, "--line", 6)
        self.assertEqual(list(self.rows()), ["3", "6"])
        self.assertNotIn(":3 fence", self.needed("--open", "--no-proofs").stdout)
        self.assertEqual(self.rows()["4"]["verdict"], "unproven")

    def test_a_comparison_with_what_is_recorded(self) -> None:
        self.needed()
        self.assert_exit(0, self.needed("--check", "--no-proofs"))
        text = self.output.read_text().replace("across proxies", "launches")
        self.output.write_text(text.replace(",line_6();,", ",line_16();,"))
        answer = self.needed("--check", "--no-proofs")
        self.assert_exit(1, answer)
        self.assertIn("but recorded is required (race (launches))", answer.stdout)
        self.assertIn("level01_baseline 90  line_6(); bar.sync: not recorded", answer.stdout)
        self.assertIn("level01_baseline 90  line_16(); bar.sync: recorded, but no longer there", answer.stdout)

    def test_what_the_machine_notices_by_itself(self) -> None:
        """Without --check D is wrong without the third barrier, of which the order checker says nothing."""
        self.needed()
        before = self.output.read_text()
        answer = self.needed("--unchecked")
        self.assert_exit(1, answer)
        self.assertIn("6 sites: 1 noticed without --check.\nneeded.py: level01_baseline 90  line_6(); bar.sync: wrong "
                      "D without --check, but recorded is unproven\n", answer.stdout)
        self.assert_exit(0, self.needed("--unchecked", "--line", 3))
        self.output.write_text(before.replace("race (across proxies)", "deadlock"))
        answer = self.needed("--unchecked", "--line", 3)
        self.assert_exit(1, answer)
        self.assertIn("line_3(); fence.proxy.async: no schedule notices it, but recorded is deadlock", answer.stdout)
        self.output.write_text(before)

    def test_less_than_there_should_be(self) -> None:
        self.needed()
        output = self.root / "docs" / "results" / "weakened.csv"
        self.assert_exit(1, self.needed("--weaken"))
        self.assertEqual({(row["site"], row["way"]): row["verdict"] for row in data.read_rows(output)[1]}, {
            ("line_3();", "of global memory"): "open",
            ("line_4();", "without waiting"): "enough: redundant: bar.sync (line `line_5();`) does the same",
            ("line_5();", "without waiting"): "enough: redundant: bar.sync (line `line_4();`) does the same",
            ("line_6();", "without waiting"): "open"})
        self.assert_exit(0, self.needed("--weaken", "--check", "--line", 4))
        output.write_text(output.read_text().replace(",line_5();,", ",line_15();,"))
        answer = self.needed("--weaken", "--check", "--line", 5)
        self.assert_exit(1, answer)
        self.assertIn("line_5(); bar.sync without waiting: not recorded", answer.stdout)
        self.needed("--weaken", "--line", 5)
        self.assertEqual({row["site"] for row in data.read_rows(output)[1]},
                         {f"line_{number}();" for number in (3, 4, 5, 6)})

    def test_bad_command_lines(self) -> None:
        self.assert_exit(2, self.needed("--line", 99), "there is no such site")
        self.assert_exit(2, self.needed("--config", "other"), "there is no kernel with --config other, only a")
        self.write("docs/results/needed.csv", "level,arch\n")
        self.assert_exit(2, self.needed(), "something else")
