from __future__ import annotations

import subprocess
import sys
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

from ladder import files
from ladder.context import Context
from ladder.levels.verdict import Finding, Missing, Place, Verdict
from ladder.mutants import judge, labels, sentences, study, weaken
from ladder.mutants.sites import Site, key_of
from ladder.mutants.study import Kernel
from ladder.pages.blocks import on_hardware, synchronisation
from ladder.results import data
from tests import support

RACE = Finding("race", "across proxies", sides=(
    Place("store", frames=(("ptx/memory.cuh", 26), ("level05/kernel_sm90.cuh", 198))),
    Place("bulk store", frames=(("ptx/tma.cuh", 69), ("a/kernel_sm90.cuh", 206), ("a/b.cuh", 9)))),
    missing=Missing("proxy fence", "fence.proxy.async", (Place(frames=(("kernel_sm90.cuh", 204),)),)))
HABIT = Finding("convergence", "implicit-reconvergence", tolerated=True,
                sides=(Place("wgmma.fence", frames=(("ptx/wgmma.cuh", 16), ("level05/kernel_sm90.cuh", 171))),),
                missing=Missing("reconvergence", "bar.warp.sync"))
CHECKED = Verdict((RACE, HABIT), 86)
WAIT = Place("mbarrier.try_wait", "mbarrier.try_wait.parity",
             frames=(("ptx/mbarrier.cuh", 87), ("kernel_sm90.cuh", 142)))
DEADLOCK = Verdict((Finding("deadlock", waits=(WAIT, replace(WAIT, frames=(("kernel_sm90.cuh", 169),)))),), 86)
ARRIVAL = Place("mbarrier.arrive.expect_tx", "mbarrier.arrive.expect_tx.shared", frames=(("kernel_sm90.cuh", 143),))
FAULT = Verdict((Finding("fault", sides=(ARRIVAL,), fault="too many arrivals",
                         missing=Missing("", "mbarrier.try_wait")),), 86)
LINES = labels.Labels([f"line_{number}();" for number in range(1, 250)])


def said(found: Verdict) -> tuple[str, str]:
    row = {**study.fields_of(found, LINES), "options": "", "case": ""}
    return sentences.found(row), sentences.orders(row, LINES)


class Reports(unittest.TestCase):
    def test_a_race(self) -> None:
        self.assertEqual(said(CHECKED), ("race (across proxies)", "store :198 before bulk store :206"))

    def test_less_what_is_said_anyhow(self) -> None:
        rest = judge.beyond(CHECKED, Verdict((RACE,)))
        self.assertEqual((rest.kind, *said(rest)),
                         ("convergence", "convergence (implicit-reconvergence)", "wgmma.fence :171"))
        self.assertEqual(judge.beyond(CHECKED, CHECKED).kind, "right")

    def test_a_deadlock_a_fault_and_a_wrong_result(self) -> None:
        self.assertEqual(said(DEADLOCK), ("deadlock", "what is waited for at :142, :169"))
        self.assertEqual(said(FAULT), ("fault", "too many arrivals (:143)"))
        self.assertEqual(said(Verdict((), 1)), ("wrong", ""))
        self.assertEqual((Verdict().kind, Verdict((), -9).kind, Verdict((), 2).kind), ("right", "fault", "refused"))

    def test_does_a_report_lead_to_the_line(self) -> None:
        fence, other = (Site(line, "fence.proxy.async", (line,), frozenset()) for line in (203, 230))
        self.assertEqual(study.naming(CHECKED, fence, [fence, other]), "yes")
        between = Site(220, "fence.proxy.async", (3,), frozenset())  # this one stands nearer
        self.assertEqual(study.naming(CHECKED, other, [fence, other, between]), "no")
        self.assertEqual(study.naming(CHECKED, Site(170, "bar.warp.sync", (4,), frozenset()), [fence]), "yes")
        self.assertEqual(study.naming(Verdict((), 1), fence, [fence]), "no")
        self.assertEqual(study.naming(Verdict(), fence, [fence]), "")

    def test_a_deadlock_and_a_fault_name_what_is_missing_too(self) -> None:
        near, far = (Site(line, "mbarrier.arrive", (line,), frozenset()) for line in (150, 180))
        self.assertEqual(study.naming(DEADLOCK, near, [near, far]), "yes")
        self.assertEqual(study.naming(DEADLOCK, Site(150, "bar.warp.sync", (1,), frozenset()), []), "no")
        source = ["init(smem_full(s));", "init(smem_empty(s));"]
        inits = [Site(line, "mbarrier.init", (line,), frozenset()) for line in (1, 2)]
        details = "smem_empty[1] (dynamic shared memory +8)", "CTA (0)"
        init = Missing("", "mbarrier.init")
        uninitialised = Verdict((Finding("fault", sides=(WAIT,), details=details, missing=init),), 86)
        self.assertEqual([study.naming(uninitialised, one, inits, source) for one in inits], ["no", "yes"])
        self.assertEqual(study.naming(FAULT, Site(142, "mbarrier.try_wait", (1,), frozenset()), []), "yes")
        self.assertEqual(study.naming(FAULT, Site(142, "mbarrier.init", (1,), frozenset()), []), "no")
        self.assertEqual(study.naming(FAULT, Site(143, "mbarrier.arrive.expect_tx", (1,), frozenset()), []), "yes")

    def test_three_pairs_are_enough(self) -> None:
        findings = tuple(Finding("race", "r", sides=tuple(Place(noun, frames=(("kernel_sm90.cuh", line),))
                                                          for noun, line in (("load", n), ("store", n + 1))))
                         for n in range(1, 6))
        self.assertEqual(said(Verdict(findings, 86))[1],
                         "load :1 before store :2; load :2 before store :3; load :3 before store :4 and 2 more")


class Weakening(unittest.TestCase):
    def test_relaxed_is_enough_where_no_data_is_passed_on(self) -> None:
        site = Site(1, "mbarrier.arrive", (1,), frozenset())
        for first, second, verdict in (("MMA `m()`", "bulk load `l()`", weaken.ENOUGH),
                                       ("store `s()`", "load `l()`", weaken.OPEN),
                                       ("bulk store `b()`", "store `s()`", weaken.ENOUGH)):
            without = {"verdict": study.REQUIRED, "first": first, "second": second}
            self.assertEqual(weaken.why_enough(site, weaken.RELAXED, without)["verdict"], verdict)
        self.assertEqual(weaken.why_enough(site, weaken.RELAXED, {})["verdict"], weaken.ENOUGH)
        self.assertEqual(weaken.why_enough(site, weaken.NARROW, {})["verdict"], weaken.OPEN)


class Choices(unittest.TestCase):
    def test_a_spread_has_something_of_everything(self) -> None:
        sites = [Site(n, "bar.sync" if n % 4 else "mbarrier.init", (n,), frozenset()) for n in range(40)]
        pairs = [(Kernel("level01_baseline", arch, "", Path(), ()), site) for arch in (90, 100) for site in sites]
        rows = [{**study.title_of(kernel, site), "verdict": study.REQUIRED if site.line < 39 else study.REDUNDANT,
                 "found_by": "race"} for kernel, site in pairs]
        some = study.spread(pairs, rows, 6)
        self.assertEqual(Counter(kernel.arch for kernel, _ in some), {90: 3, 100: 3})
        self.assertEqual(Counter(site.instruction for _, site in some), {"bar.sync": 4, "mbarrier.init": 2})
        self.assertIn(39, [site.line for _, site in some])
        self.assertEqual(len(study.spread(pairs, rows, 1000)), len(pairs))


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
            self.assertTrue(any(found_by == "race" for found_by in found), row)


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
until [[ -x $1 ]]; do
  case $1 in --ptx) ptx=$2 ;; --reports) reports=$2 ;; esac
  shift
done
has() { grep -q "$1" "$ptx"; }
say() {
  echo '{"record": "finding", "kind": "race", "rule": "'$1'", "missing": {"what": "x", "instruction": "'$2'",
    "to": {"frames": [{"file": "kernel_sm90.cuh", "line": 4}]}}, "sides": [
    {"noun": "store", "frames": [{"file": "level01_baseline/kernel_sm90.cuh", "line": 2}]},
    {"noun": "load", "frames": [{"file": "level01_baseline/kernel_sm90.cuh", "line": 9}]}]}' | tr -d '\n' >"$reports"
  exit 86
}
[[ -z ${WITHOUT_CHECK-} ]] || { has 'bar.sync 3' && exit 0; echo 'level01 WRONG'; exit 1; }
has 'trap' && { echo '{"record": "finding", "kind": "fault"}' >"$reports"; exit 86; }
has 'fence[.]proxy' || say "across proxies" fence.proxy.async
has 'bar.sync 1' || has 'bar.sync 2' || say "read after write" bar.sync
exit 0
"""


class Table(unittest.TestCase):
    """What a level's page says of its sites."""

    def lines(self, rows: list[data.Fields]) -> list[str]:
        with mock.patch.object(synchronisation, "read", lambda _, path: rows if path == on_hardware.NEEDED else []), \
                mock.patch.object(synchronisation, "read_without", lambda _: []), \
                mock.patch.object(labels, "of_kernel", lambda *_: LINES):
            table = synchronisation.table(Context(files.ROOT, []), {"level": "8", "arch": "sm90"})
        return [line for line in table.splitlines() if line.startswith("| [")]

    def row(self, config: str, line: int, found_by: str, findings: str = "", *pairs: tuple[str, str],
            **more: str) -> data.Fields:
        return {"level": "level08_deep_pipeline", "arch": "90", "config": config, "site": f"line_{line}();",
                "instruction": "bar.sync", "verdict": study.REQUIRED,
                **dict.fromkeys((*study.FOUND, "proof", "other"), ""),
                "found_by": found_by, "findings": findings, "first": "; ".join(first for first, _ in pairs),
                "second": "; ".join(second for _, second in pairs), **more}

    def test_configurations_to_which_the_same_happens_share_a_line(self) -> None:
        load = "load `line_1();`"
        redundant = {"verdict": study.REDUNDANT, "proof": "same", "other": "bar.sync `line_7();`"}
        lines = self.lines([
            self.row("a", 7, "race", "5", (load, "store `line_2();`"), rules="exit"),
            self.row("b", 7, "race", "1", (load, "store `line_3();`"), rules="launches"),
            self.row("c", 7, "race", "1", (load, "store `line_2();`"), rules="launches"),
            self.row("a", 9, "deadlock", "2", ("`line_20();`", "-"), ("`line_111();`", "-")),
            self.row("b", 9, "deadlock", "1", ("`line_3();`", "-")),
            self.row("c", 9, "", **redundant),
            self.row("c", 10, "fault", "1", fault="one arrival: so"),
            self.row("a", 10, "", verdict=study.NOT_EXECUTED, other="c")])
        self.assertEqual([line.partition(" | ")[2] for line in lines], [
            "`bar.sync` | load :1 before store :2; load :1 before store :3 and 3 more | race (exit, launches) | all |",
            "`bar.sync` | what is waited for at :3, :20, :111 | deadlock | all but `c` |",
            "`bar.sync` | - | redundant: bar.sync (line 7) does the same | `c` |",
            "`bar.sync` | - | fault (one arrival: so) | `c` |"])

    def test_what_is_recorded_names_lines_that_are_there(self) -> None:
        named = 0
        for row in data.read_rows(files.ROOT / on_hardware.NEEDED)[1]:
            now = labels.of_kernel(files.ROOT, row["level"], int(row["arch"]))
            self.assertIsNotNone(now.line(row["site"]), row)
            for column in ("other", "first", "second"):
                self.assertEqual(labels.cell(labels.items(row[column])), row[column])
            for _, label in labels.items(row["other"]):
                self.assertTrue(not label or now.line(label), row)
                named += bool(label)
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

    def test_a_list_of_places(self) -> None:
        some = [("store", "a = b;"), ("its end", ""), ("", "f(x; y)"), ("", "")]
        self.assertEqual(labels.cell(some), "store `a = b;`; its end; `f(x; y)`; -")
        self.assertEqual(labels.items(labels.cell(some)), some)
        found = labels.Labels(self.SOURCE)
        self.assertEqual([found.place(one) for one in some], ["store :6", "its end", ":?", ""])


class Needed(support.Sandbox):
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
        self.assertEqual({line: tuple(row[column] for column in ("verdict", "proof", "other", "rules", "named"))
                          for line, row in rows.items()}, {
            "3": ("required", "", "", "across proxies", "yes"),
            "4": ("redundant", "same", "bar.sync `line_5();`", "read after write", "yes"),
            "5": ("redundant", "same", "bar.sync `line_4();`", "read after write", "yes"),
            "6": ("unproven", "", "", "", ""),
            "7": ("no order", "registers", "", "", ""),
            "8": ("unproven", "", "", "", "")})
        self.assertEqual((rows["3"]["first"], rows["3"]["second"]), ("store `line_2();`", "load `line_9();`"))

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
                      "without --check, but recorded is unproven\n", answer.stdout)
        self.assert_exit(0, self.needed("--unchecked", "--line", 3))
        self.output.write_text(before.replace("race,across proxies", "deadlock,"))
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
            ("line_4();", "without waiting"): "enough",
            ("line_5();", "without waiting"): "enough",
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
