from __future__ import annotations

import subprocess
import textwrap
from dataclasses import replace
from unittest import mock

from ladder.mutants import hardware, judge, weaken
from ladder.mutants.judge import Case
from ladder.mutants.sites import Embedded, NoPtx
from ladder.mutants.study import Kernel
from ladder.results import data
from tests import support
from tests.test_needed import FAKE_PROGRAM as EXPLAINS

H200 = [("NVIDIA H200", 90)]

PTX = """
.version 9.0
.target sm_90a
.visible .entry gemm_sm90_ILi128ELi256E()
{
.loc 1 3 3
mbarrier.init.shared::cta.b64 [%r1], 1;
.loc 2 46 3, function_name $L__info_string4, inlined_at 1 4 5
fence.mbarrier_init.release.cluster;
.loc 1 5 3
bar.sync 0;
.loc 1 7 3
LAB_WAIT:
mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;
@p bra DONE;
.loc 1 8 3
@%p1 fence.proxy.async.shared::cta;
mov.u32 %r9, 256;
.loc 1 9 3
bar.sync %r3, %r9;
.loc 1 10 3
bar.arrive %r3, 256;
.loc 1 11 3
bar.sync %r3, 128;
.loc 1 12 3
cp.async.bulk.wait_group.read 0;
cp.async.bulk.wait_group.read 0;
.loc 1 13 3
barrier.cluster.arrive.release.aligned;
.loc 1 14 3
barrier.cluster.wait.acquire.aligned;
st.global.u32 [%rd1], %r1;
}
.file 1 "/x/level01_baseline/kernel_sm90.cuh"
.file 2 "/x/common/ptx/barrier.cuh"
"""
SOURCE = "".join(f"line_{number}();  // {number}\n" for number in range(1, 20))

# What without_LEVEL_sm90 looks like from outside: a script that looks which instructions are in its own PTX.
FAKE_PROGRAM = r"""#!/bin/bash
echo "# gpu: $FAKE_GPU"
echo "m,n,k,runs,wrong,worst"
has() { grep -qa "$1" "$0"; }
[[ $CUDA_FORCE_PTX_JIT == 1 ]] || exit 9
sizes=${*: -1}
for size in ${sizes//,/ }; do
  runs=3 wrong=0 worst=0
  [[ $* != *"--launches 1 "* ]] || runs=1
  if ! has 'st[.]global' && [[ -z $MACHINE_CODE ]]; then wrong=$runs worst=64; fi
  has 'fence[.]proxy' || { wrong=2 worst=7; }
  has 'wait_group[.]read' || exit 3
  echo "${size//x/,},$runs,$wrong,$worst"
done
exit 0
"""

FAKE_SANITIZER = r"""#!/bin/bash
tool=$2
while [[ $1 != */bin/without_* && $1 != */level0* ]]; do shift; done
"$@" >/dev/null
if grep -qa fence.proxy.async "$1"; then hazards=0; else hazards=2; fi
[[ $tool == racecheck ]] || { echo "========= Internal Sanitizer Error: no"; exit 1; }
[[ $hazards == 0 ]] || echo "========= Error: Race reported between Write access"
echo "========= RACECHECK SUMMARY: $hazards hazards displayed ($hazards errors, 0 warnings)"
"""


class Sites(support.Sandbox):
    def embedded(self) -> Embedded:
        program = self.root / "program"
        program.write_bytes(b"\x7fELF\0" + PTX.encode() + b"\0rest\n.version 9.0\n.target sm_90a\n\0")
        return Embedded.find(program, 90)

    def test_a_site_is_an_instruction_on_a_line_with_all_its_copies(self) -> None:
        found = [(site.line, site.instruction, len(site.places)) for site in self.embedded().sites()]
        self.assertEqual(found, [
            (3, "mbarrier.init", 1), (4, "fence.mbarrier_init", 1), (5, "bar.sync", 1), (7, "mbarrier.try_wait", 1),
            (8, "fence.proxy.async", 1), (9, "bar.sync", 1), (10, "bar.arrive", 1), (11, "bar.sync", 1),
            (12, "cp.async.bulk.wait_group.read", 2), (13, "barrier.cluster.arrive", 1),
            (14, "barrier.cluster.wait", 1), (14, "barrier.cluster", 2)])

    def test_what_is_left_is_as_long_and_lacks_nothing_else(self) -> None:
        embedded = self.embedded()
        for site in embedded.sites():
            text = embedded.without(site.places)
            self.assertEqual(len(text), len(embedded.text))
            changed = [(old, new) for old, new in zip(embedded.lines, text.split("\n")) if old != new]
            self.assertEqual(len(changed), len(site.places))
            for old, new in changed:
                self.assertIn(new.strip(), ("setp.eq.u32 p, 0, 0;",) if "try_wait" in old else ("",))

    def test_longer_instructions_take_the_room_of_locations(self) -> None:
        embedded, other = self.embedded(), self.root / "other"
        text = embedded.text.replace("arrive.release", "arrive.relaxed.cluster")
        embedded.write(text, other)
        self.assertIn("barrier.cluster.arrive.relaxed.cluster.aligned;\n", Embedded.find(other, 90).text)
        self.assertEqual(other.stat().st_size, embedded.program.stat().st_size)
        with self.assertRaisesRegex(ValueError, "no room"):
            embedded.write(text.replace("st.global", "x" * 999), other)

    def test_the_rest_of_the_program_stays_as_it_was(self) -> None:
        embedded = self.embedded()
        other = self.root / "other"
        embedded.write(embedded.without(embedded.sites()[1].places), other)
        old, new = embedded.program.read_bytes(), other.read_bytes()
        self.assertEqual(old[:embedded.offset], new[:embedded.offset])
        self.assertTrue(new.endswith(b"\0rest\n.version 9.0\n.target sm_90a\n\0"))
        self.assertNotIn(b"fence.mbarrier_init", new)

    def test_ways_have_the_names_by_which_some_are_left_out(self) -> None:
        self.assertLess({*weaken.MAY_HANG, weaken.RELAXED, weaken.NARROW}, {way for way, *_ in weaken.WAYS})

    def test_what_others_wait_for_is_not_removed_on_a_GPU(self) -> None:
        kernel = Kernel("level01_baseline", 90, "", self.embedded().program, ())
        lines = [site.line for site in hardware.removable(kernel)]
        self.assertEqual(lines, [4, 8, 11, 12])  # not 5: it tells of the mbarriers; not 9: others arrive there, too

    def test_only_a_configuration_s_own_sites_count(self) -> None:
        kernel = Kernel("level01_baseline", 90, "256x128", self.embedded().program, (Case((64, 64, 64), 1),))
        for entry, sites in (("gemm_sm90_ILi128ELi256E", 12), ("another", 0)):
            with mock.patch.object(judge, "launched", return_value={entry}):
                self.assertEqual(len(replace(kernel, level=f"level0{sites}").sites), sites)

    def test_a_program_without_PTX_is_said_to_have_none(self) -> None:
        program = self.write("empty", "nothing")
        with self.assertRaises(NoPtx):
            Embedded.find(program, 90)


class OnAGpu(support.Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write("level01_baseline/kernel_sm90.cuh", SOURCE)
        for name, program in (("", EXPLAINS), ("without_", FAKE_PROGRAM)):
            path = self.program(f"build/bin/{name}level01_baseline_sm90", "")
            path.write_bytes(program.encode() + PTX.encode() + b"\0")
        self.output = self.root / "docs" / "results" / "h200_without.csv"

    def count(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        fixed = ("1", "--device", "gpu", "--no-build", "--sizes", "64x64x64,128x64x64", "--launches", "3")
        return self.run_with_gpus("maintain/needed.py", H200, *fixed, *arguments, **environment)

    def test_every_site_and_size_is_recorded(self) -> None:
        self.assert_exit(0, self.count("--tools", "0", LADDER_COMMIT="abc1234"))
        rows = [(r["site"], r["instruction"], r["m"], r["runs"], r["wrong"], r["worst"], r["note"])
                for r in data.read_rows(self.output)[1]]
        self.assertEqual(rows, [
            ("", "", "64", "3", "0", "0", ""), ("", "", "128", "3", "0", "0", ""),
            ("line_4();", "fence.mbarrier_init", "64", "3", "0", "0", ""),
            ("line_4();", "fence.mbarrier_init", "128", "3", "0", "0", ""),
            ("line_8();", "fence.proxy.async", "64", "3", "2", "7", ""),
            ("line_8();", "fence.proxy.async", "128", "3", "2", "7", ""),
            ("line_11();", "bar.sync", "64", "3", "0", "0", ""),
            ("line_11();", "bar.sync", "128", "3", "0", "0", ""),
            ("line_12();", "cp.async.bulk.wait_group.read", "64", "", "", "", "CUDA ERROR")])

    def test_weakened_ones_have_rows_beside_those_that_were_removed(self) -> None:
        self.count("--tools", "0")
        removed = data.read_rows(self.output)[1]
        self.assert_exit(0, self.count("--tools", "0", "--weaken"))
        rows = data.read_rows(self.output)[1]
        self.assertEqual(rows[:len(removed)], removed)
        self.assertEqual({(r["site"], r["way"], r["wrong"]) for r in rows[len(removed):]}, {
            ("line_7();", "relaxed", "0"), ("line_8();", "of global memory", "0"),
            ("line_12();", "one group too few", "0"), ("line_13();", "relaxed", "0")})

    def test_a_second_run_replaces_the_rows_of_the_first(self) -> None:
        self.count("--tools", "0")
        first = len(data.read_rows(self.output)[1])
        self.count("--tools", "0")
        self.assertEqual(len(data.read_rows(self.output)[1]), first)

    def test_where_changed_PTX_does_not_run_nothing_is_recorded(self) -> None:
        self.assert_exit(2, self.count("--tools", "0", MACHINE_CODE="1"), "the changed PTX does not run here")
        self.assertFalse(self.output.exists())

    def test_what_the_tools_say_stands_beside_it(self) -> None:
        self.program("tools/compute-sanitizer", textwrap.dedent(FAKE_SANITIZER))
        path = f"{self.root}/tools:/usr/bin:/bin"
        self.assert_exit(0, self.count(PATH=path))
        rows = data.read_rows(self.output.with_name("h200_without_tools.csv"))[1]
        said = {(r["tool"], r["site"]): (r["verdict"], r["says"]) for r in rows}
        self.assertEqual(said["racecheck", "line_8();"], ("reported", "Error: Race reported between Write access"))
        self.assertEqual(said["racecheck", "line_4();"], ("clean", ""))
        self.assertEqual(said["synccheck", ""], ("internal error", "Internal Sanitizer Error: no"))

    def test_what_is_simulated_needs_a_file(self) -> None:
        self.assert_exit(2, self.count("--simulate", "2"), "--simulate needs --output")
        self.assert_exit(2, self.count("--tools", "-1"), "at least 0 is required")
        self.assert_exit(2, self.count("--check"), "--check is not for --device gpu")
        answer = self.run_with_gpus("maintain/needed.py", H200, "1", "--sizes", "64")
        self.assert_exit(2, answer, "--sizes is not for --device sim")

    def test_other_files_are_not_written_into(self) -> None:
        self.write("docs/results/h200_without.csv", "level,arch\n")
        self.assert_exit(2, self.count(), "something else")
