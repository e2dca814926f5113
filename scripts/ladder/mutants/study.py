"""Which synchronisation is needed: each of a kernel is removed in turn, and a run with --check reports the effect.

A site is required if some run says so. One that no run misses is redundant only by proof: another site is named that
orders the same, and a run without both reports what neither of the two alone does. What is neither is `unproven`.
"""
from __future__ import annotations

import concurrent.futures
import functools
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import UsageError
from ladder.levels import description, names, verdict
from ladder.levels.description import Description
from ladder.levels.verdict import Finding, Verdict
from ladder.mutants import judge, labels, sentences
from ladder.mutants.judge import Case, kernel_lines, line_of
from ladder.mutants.labels import Item
from ladder.mutants.sites import CLUSTER_BARRIER, FENCES, KEY, Embedded, Site, key_of
from ladder.results import data
from ladder.results.data import Fields
from ladder.shards import Shard

#: What a run has found: the kind, and all rules or habits of that kind. Of the first few findings the sides, as lists
#: of places (labels.py), and how many findings there are. What is missing in the first, and how often it occurred. What
#: the device says of a fault. Last, the options of sim.sh and the problem.
FOUND = ("found_by", "rules", "first", "second", "findings", "missing", "count", "fault", "options", "case")
COLUMNS = (*KEY, "verdict", "proof", "other", "named", *FOUND)
MOST_FINDINGS, MOST_WAITS = 3, 4  # with their sides
OUTPUT = files.ROOT / files.RESULTS / "needed.csv"

# Those of a level's configurations that are studied where it is not asked for another; of others one per mechanism.
# The production kernel's: D in the ring with large clusters; three consumers and D beside the ring; split-K.
STUDIED = {("level02_tma_swizzle", 90): ("swizzle128",), ("level02_tma_swizzle", 100): ("swizzle128",),
           (names.PRODUCTION, 90): ("256x192", "192x192", "64x64-slices")}
# K from which on pairs side by side share what they load (the production kernel's schedule.h); below it each CTA loads
# for itself.
SHARED_FROM_K = 3072
# Not about order: they only say how many registers a warp has, when the next launch may begin, which CTA may allocate.
OTHER_ENDS = {"setmaxnreg.inc": "registers", "setmaxnreg.dec": "registers", "griddepcontrol.launch_dependents": "speed",
              "tcgen05.relinquish_alloc_permit": "allocation"}
SCHEDULES: tuple[tuple[str, ...], ...] = (("--latest",), ("--seed", "1"))  # tried at the first problem

# Whom a proof of redundancy may name, how many of them it asks, and at how many problems.
ORDERING = ("bar.sync", "bar.warp.sync", CLUSTER_BARRIER, "mbarrier.try_wait", "cp.async.bulk.wait_group.read",
            "cp.async.bulk.wait_group", "wgmma.wait_group", "tcgen05.wait::ld", "tcgen05.wait::st",
            "griddepcontrol.wait", *FENCES)
ACROSS_CTAS = {CLUSTER_BARRIER, "barrier.cluster.wait", "mbarrier.try_wait"}
MOST_OTHERS, PROOF_CASES = 14, 2
# In the place of a bar.warp.sync: harmless, and reported where its lanes have taken different ways.
ALIGNED = {90: "wgmma.fence.sync.aligned;", 100: "tcgen05.wait::ld.sync.aligned;"}

NOTICED = (verdict.DEADLOCK, verdict.FAULT, verdict.WRONG)  # without the order checker, too
REQUIRED, REDUNDANT, UNPROVEN, NOT_EXECUTED, OTHER = "required", "redundant", "unproven", "not executed", "no order"


@dataclass(frozen=True)
class Kernel:
    """A level's kernel in one configuration, with the problems that make it do all that it can."""

    level: str
    arch: int
    config: str  # empty if there is but one
    program: Path
    cases: tuple[Case, ...]

    @property
    def title(self) -> str:
        return f"{names.target(self.level, self.arch)}{' ' + self.config if self.config else ''}"

    @property
    def counter(self) -> Path:
        """The program that counts wrong launches on a GPU: the same kernel, beside another main."""
        return self.program.with_name(f"without_{self.program.name}")

    @functools.cached_property
    def embedded(self) -> Embedded:
        return Embedded.find(self.program, self.arch)

    @functools.cached_property
    def entries(self) -> frozenset[str]:
        """Those of the program's __global__ functions that this configuration launches, by their mangled names."""
        return frozenset().union(*(judge.launched(self.program, self.config, case) for case in self.cases))

    @functools.cached_property
    def sites(self) -> list[Site]:
        return [site for site in self.embedded.sites() if not self.config or site.entries & self.entries]

    @functools.cached_property
    def source(self) -> list[str]:
        return names.kernel_source(names.kernel_path(files.ROOT, self.level, self.arch))

    @functools.cached_property
    def labels(self) -> labels.Labels:
        return labels.Labels(self.source)


def cases(d: Description) -> tuple[Case, ...]:
    """Small problems, ragged in every extent. In the first the ring of stages wraps around within a tile. In the second
    a tile is done before the ring has wrapped around once, so that nothing but the epilogue's own synchronisation keeps
    one tile from the next. Clusters that stay take several tiles each."""
    owner = d.cluster if d.tile_owner == "CTA" else 1
    rows, columns = d.tile_m * (d.cluster_m if owner > 1 else 1), d.tile_n * (d.cluster_n if owner > 1 else 1)
    m, n = 2 * rows + d.tile_m // 2 + 8, columns + 8
    long, short = (d.stages + 2) * d.tile_k + 8, d.tile_k + 8
    found = [Case((m, n, long), d.cluster), Case((m, n, short), 2 * d.cluster), Case((m, n, 2 * long), 2 * d.cluster)]
    if d.cluster > 2:  # such clusters have smaller ones beside them
        found.append(Case((m, n, long), d.cluster + 2))
        found.append(Case((m, n, short), 4 * d.cluster))  # and where SMs are many, only these, in one launch
    if d.constants.get("SPLITS_K"):  # in slices only where there are SMs for two of each tile
        found.insert(0, Case((m, n, 2 * long), 16 * d.cluster))
    turned = d.constants.get("SWAPS_AB")  # known of tiles that a plan shares out
    if turned is not None and d.cluster == 2 and d.cluster_n == (1 if turned else 2):
        found.insert(0, Case((m, n, SHARED_FROM_K + 8), d.cluster))
    return tuple(found)


def kernels(levels: Sequence[str], arches: Sequence[int], config: str, build: Path) -> list[Kernel]:
    """Raises UsageError, ExplainError, NoPtx."""
    found: list[Kernel] = []
    known: set[str] = set()
    for level in levels:
        for arch in arches:
            if not names.has_kernel(level, arch):
                continue
            program = names.executable(level, arch, build)
            if not program.exists():
                raise UsageError(f"{program.name} is not built. Run scripts/build.sh first.")
            described = description.describe(description.ask(program))
            known |= {d.config for d in described}
            studied = STUDIED.get((level, arch), tuple(d.config for d in description.one_per_mechanism(described)))
            wanted = (config,) if config else studied
            found += [Kernel(level, arch, d.config if len(described) > 1 else "", program, cases(d))
                      for d in described if d.config in wanted]
    if not found:
        raise UsageError(f"there is no kernel with --config {config}, only {', '.join(sorted(known))}." if config else
                         "there is no such kernel.")
    return found


@dataclass(frozen=True)
class Change:
    """What a mutant lacks: lines of the PTX without their instructions, and cluster barriers that are the CTA's."""

    removed: tuple[int, ...] = ()
    demoted: tuple[int, ...] = ()


# --- one kernel -------------------------------------------------------------------------------------------------------


class Study:
    """The mutants of one kernel: each is run once and remembered."""

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        self.kernel, self.folder = kernel, folder
        self._lock = threading.Lock()
        self._known: dict[tuple[Change, Case, tuple[str, ...]], Verdict] = {}

    def run(self, change: Change, case: Case, *options: str) -> Verdict:
        """What is said of the changed kernel and not of the kernel as it is."""
        return self._beyond_usual(self._run(change, case, options), case, options)

    def _beyond_usual(self, found: Verdict, case: Case, options: tuple[str, ...]) -> Verdict:
        if not found.findings:  # nothing that could be said of the kernel as it is
            return found
        return judge.beyond(found, self._run(Change(), case, options))

    def _run(self, change: Change, case: Case, options: tuple[str, ...]) -> Verdict:
        key = change, case, options
        with self._lock:
            if key in self._known:
                return self._known[key]
        found = self._judge(self.kernel.embedded.without(change.removed, change.demoted), case, options)
        with self._lock:
            self._known[key] = found
        return found

    def _judge(self, ptx: str, case: Case, options: tuple[str, ...]) -> Verdict:
        with tempfile.NamedTemporaryFile("w", suffix=".ptx", dir=self.folder) as file:
            file.write(ptx)
            file.flush()
            return judge.run(self.kernel.program, self.kernel.config, Path(file.name), case, *options)

    def cases(self, site: Site) -> Sequence[Case]:
        """The kernel's; where it is about launches, with one after the other."""
        if site.instruction == "griddepcontrol.wait":
            return [replace(case, launches=2) for case in self.kernel.cases]
        return self.kernel.cases

    def look(self, site: Site, proves: bool = True) -> Fields:
        """The row of a site. Unless proofs are requested, a silent site is left unproven."""
        for case in self.cases(site):
            found = self.run(Change(site.places), case)
            if found.kind != verdict.RIGHT:
                return self.row(site, found, REQUIRED, case)
        first = self.cases(site)[0]
        if site.instruction in OTHER_ENDS:
            return self.row(site, Verdict(), OTHER, first, OTHER_ENDS[site.instruction])
        if site.instruction == "mbarrier.init":
            return self.row(site, Verdict(), OTHER, first, "unused")
        if not proves:
            return self.row(site, Verdict(), UNPROVEN, first)
        if not self.executed(site):
            return self.row(site, Verdict(), NOT_EXECUTED, first)
        for schedule in SCHEDULES:
            found = self.run(Change(site.places), first, *schedule)
            if found.kind != verdict.RIGHT:
                return self.row(site, found, REQUIRED, first, options=" ".join(schedule))
        return self.prove(site)

    def run_unchecked(self, site: Site) -> Fields:
        """The row of a site, of runs without the order checker in several schedules: what the machine notices."""
        for case in self.cases(site):
            for schedule in ((), *SCHEDULES):
                found = self.run(Change(site.places), case, judge.UNCHECKED, *schedule)
                if found.kind in NOTICED:
                    return self.row(site, found, "noticed", case)
        return self.row(site, Verdict(), "not noticed", self.cases(site)[0])

    def executed(self, site: Site) -> bool:
        """In some case: a trap in its place would be reported."""
        return any(self.instead(site, "trap;", case).kind == verdict.FAULT for case in self.cases(site))

    def instead(self, site: Site, instruction: str, case: Case) -> Verdict:
        """With another instruction in its place."""
        lines = self.kernel.embedded.lines
        return self.judge_text("\n".join(instruction if index in site.places else line
                                         for index, line in enumerate(lines)), case)

    def judge_text(self, ptx: str, case: Case, *options: str) -> Verdict:
        """What is said of the kernel with this PTX, and not of the kernel as it is."""
        return self._beyond_usual(self._judge(ptx, case, options), case, options)

    def prove(self, site: Site) -> Fields:
        """That it is redundant: another site without which, and without this one, something is reported that neither of
        the two alone makes anyone report. Best is one that is silent alone, too."""
        if site.instruction == "bar.warp.sync":
            return self.prove_together(site)
        found: Optional[Fields] = None
        for other, change, case in self.alternatives(site):
            both = self.run(Change(tuple(sorted({*site.places, *change.removed})), change.demoted), case)
            # Other lanes, or other instructions: nothing about order.
            if both.kind in (verdict.RIGHT, verdict.CONVERGENCE):
                continue
            alone = self.run(change, case)
            if all(one.kind == verdict.RIGHT for one in (alone, *(self.run(change, c) for c in self.kernel.cases))):
                return self.row(site, both, REDUNDANT, case, "same", other)
            if found is None and (new := _only_with(both, alone)):
                found = self.row(site, Verdict(new), REDUNDANT, case, "too", other)
        return found or self.prove_among(site) or self.row(site, Verdict(), UNPROVEN, self.cases(site)[0])

    def prove_among(self, site: Site) -> Optional[Fields]:
        """That several others of its kind order it, each of them enough; none of those named can be left out."""
        for case in self.cases(site)[:PROOF_CASES]:
            others = [other for other in self.kernel.sites
                      if other.instruction == site.instruction and not set(other.places) & set(site.places)]
            new = self.only_with(site, others, case)
            for other in list(others) if new else ():
                rest = [one for one in others if one is not other]
                if rest and (still := self.only_with(site, rest, case)):
                    others, new = rest, still
            if new:
                return self.row(site, Verdict(new), REDUNDANT, case, "too", [self.item(other) for other in others])
        return None

    def only_with(self, site: Site, others: Sequence[Site], case: Case) -> tuple[Finding, ...]:
        """What is found without the site and the others, and not without the others alone."""
        places = {place for other in others for place in other.places}
        alone = self.run(Change(tuple(sorted(places))), case)
        return _only_with(self.run(Change(tuple(sorted(places | set(site.places)))), case), alone) if places else ()

    def prove_together(self, site: Site) -> Fields:
        """Of a bar.warp.sync: that its lanes are together anyhow, or that another one collects them before anything
        wants them together."""
        cases = self.kernel.cases[:PROOF_CASES]
        aligned = ALIGNED[self.kernel.arch]
        apart = [case for case in cases if self.instead(site, aligned, case).kind == verdict.CONVERGENCE]
        if not apart:
            return self.row(site, Verdict(), REDUNDANT, cases[0], "together")
        for other in self.others(site):
            if other.instruction == site.instruction:
                both = self.run(Change(tuple(sorted({*site.places, *other.places}))), apart[0])
                if both.kind == verdict.CONVERGENCE:
                    return self.row(site, both, REDUNDANT, apart[0], "in time", [self.item(other)])
        return self.row(site, Verdict(), UNPROVEN, apart[0])

    def alternatives(self, site: Site) -> Iterator[tuple[list[Item], Change, Case]]:
        """Another site that may order the same: without it, or a part of it that is called from one line, or a cluster
        barrier that is only the CTA's."""
        for other in self.others(site):
            for case in self.cases(site)[:PROOF_CASES]:
                title = self.item(other)
                yield [title], Change(other.places), case
                if other.instruction == CLUSTER_BARRIER:
                    yield [title], Change((), other.places), case
                for line, places in self.kernel.embedded.copies(other).items():
                    yield [title, ("called from", self.kernel.labels.label(line))], Change(places), case

    def others(self, site: Site) -> list[Site]:
        """Those that may order what it orders: first of its own kind, then what tells other CTAs if it does, and the
        nearest lines first."""
        def rank(other: Site) -> int:
            if other.instruction == site.instruction:
                return 0
            return 1 if {other.instruction, site.instruction} <= ACROSS_CTAS else 2

        return sorted((other for other in self.kernel.sites
                       if other.instruction in ORDERING and not set(other.places) & set(site.places)),
                      key=lambda other: (rank(other), abs(other.line - site.line)))[:MOST_OTHERS]

    def item(self, other: Site) -> Item:
        return other.instruction, self.kernel.labels.label(other.line)

    def row(self, site: Site, found: Verdict, words: str, case: Case, proof: str = "", other: Sequence[Item] = (),
            options: str = "") -> Fields:
        """`other`: the sites that make the proof."""
        return {**title_of(self.kernel, site), "verdict": words, "proof": proof, "other": labels.cell(other),
                "named": naming(found, site, self.kernel.sites, self.kernel.source),
                **fields_of(found, self.kernel.labels), "options": options, "case": str(case)}


def fields_of(found: Verdict, named: labels.Labels) -> Fields:
    """The columns FOUND, without options and case."""
    if found.kind == verdict.RIGHT:
        return dict.fromkeys(FOUND[:-2], "")
    chief = judge.chief(found)
    nothing: Item = ("", "")
    if found.kind in (verdict.DEADLOCK, verdict.FAULT):
        lines = {line_of(place) for finding in chief for place in finding.waits or finding.sides}
        pairs = [(("", named.label(line)), nothing) for line in sorted(lines - {0})]
        shown = pairs[:MOST_WAITS]
    else:
        sides = [[(side.noun, named.label(line_of(side))) for side in finding.sides] for finding in chief]
        pairs = list(dict.fromkeys((some[0], [*some, nothing][1]) for some in sides if some))
        shown = pairs[:MOST_FINDINGS]
    return {"found_by": found.kind, "rules": "; ".join(sorted({finding.rule for finding in chief} - {""})),
            "first": labels.cell(first for first, _ in shown),
            "second": labels.cell(second for _, second in shown) if any(any(second) for _, second in shown) else "",
            "findings": str(len(pairs)),
            "missing": chief[0].missing.what if chief else "", "count": str(chief[0].count) if chief else "",
            "fault": chief[0].fault if found.kind == verdict.FAULT else ""}


def _only_with(both: Verdict, alone: Verdict) -> tuple[Finding, ...]:
    """What is found without both sites and not, or otherwise, without one of them; whether lanes are together apart."""
    known = set(map(judge.evidence, alone.findings))
    return tuple(finding for finding in both.findings
                 if judge.evidence(finding) not in known and finding.kind != verdict.CONVERGENCE)


# --- does a report lead to the line? ----------------------------------------------------------------------------------

# A report names a kind of instruction if it says that it is missing, or what may stand in its place.
ARRIVALS = ("bar.arrive", "mbarrier.arrive", "mbarrier.arrive.expect_tx", "tcgen05.commit")
BARRIERS = ("bar.sync", CLUSTER_BARRIER, "barrier.cluster.arrive", "barrier.cluster.wait")
_LINK = (*BARRIERS, *ARRIVALS, "mbarrier.try_wait")
MAY_BE = {**dict.fromkeys(("link", "visible link", "signal", "signal that arrives", "signal of waiter"), _LINK),
          "barrier after init": BARRIERS, "cluster start": BARRIERS, "barrier before exit": BARRIERS,
          "signal of all lanes": ARRIVALS, "expected bytes": ARRIVALS, "wait before arrival": (*BARRIERS, *ARRIVALS),
          "phase before exit": (*BARRIERS, *ARRIVALS), "wait at barrier": BARRIERS, "wait at cluster barrier": BARRIERS,
          "order of launches": ("griddepcontrol.wait",)}
# Where such a fence or wait is there, but after a signal, another signal after it would do, too.
LATE = ("proxy fence", "fence before thread sync", "completion")
# What is missing where a wait never ends, by the waiting instruction.
AWAITED = {"mbarrier": ARRIVALS, "bar": (*ARRIVALS, "bar.sync"), "barrier": BARRIERS, "setmaxnreg": ("setmaxnreg.dec",)}
# A group is waited for, so what is missing is its wait or its commit.
COMMITS = {"cp.async.bulk.commit_group": "cp.async.bulk.wait_group", "cp.async.commit_group": "cp.async.wait_group",
           "wgmma.commit_group": "wgmma.wait_group"}


def names_it(finding: Finding, instruction: str) -> bool:
    """Whether a report says that such an instruction is missing. A machine's fault is about what it stops at, too."""
    said = [finding.missing.instruction, *(side.instruction for side in finding.sides if finding.kind == verdict.FAULT)]
    is_late = finding.missing.what in LATE and finding.missing.has_other
    wants_signal = finding.missing.what == "completion" and finding.missing.names
    links = _LINK if is_late or wants_signal else ()
    awaited = (AWAITED.get(wait.instruction.partition(".")[0], ()) for wait in finding.waits)
    return (any(one.startswith(COMMITS.get(instruction, instruction)) for one in said)
            or instruction in (*links, *MAY_BE.get(finding.missing.what, ()))
            or any(instruction in some for some in awaited))


def naming(found: Verdict, site: Site, sites: Iterable[Site], source: Sequence[str] = ()) -> str:
    """Whether the report names the kind of instruction and also one of these: its line, a line beside which it is the
    only one of that kind in the kernels, or an mbarrier that no other of that kind uses. "yes" or "no"; empty without a
    report."""
    if found.kind == verdict.RIGHT:
        return ""
    others = [other.line for other in sites if other.instruction == site.instruction and other.line != site.line
              and (not site.entries or site.entries & other.entries)]
    alike = [source[line - 1] for line in others] if source else []

    def leads(finding: Finding) -> bool:
        places = (*finding.sides, *finding.missing.places, *finding.waits,
                  *(arrival for wait in finding.waits for arrival in wait.arrivals))
        lines = {line for place in places for line in kernel_lines(place)}
        barriers = (finding.memory, *map(str, finding.details), *finding.missing.names,
                    *(wait.barrier for wait in finding.waits))
        return (_leads_to(lines or {site.line}, site.line, others)
                or (bool(source) and _is_of(barriers, source[site.line - 1], alike)))

    return "yes" if any(names_it(finding, site.instruction) and leads(finding) for finding in found.findings) else "no"


def _is_of(barriers: Iterable[str], line: str, others: Sequence[str]) -> bool:
    """Whether a line of source, and no other of these, has to do with an mbarrier that is named: "full[1] (dynamic
    shared memory +8)"."""
    names_ = (re.compile(rf"\b{name}\b", re.IGNORECASE) for barrier in barriers
              for name in re.findall(r"^(\w+)(?:\[\d+\])? \(dynamic", barrier))
    return any(name.search(line) and not any(map(name.search, others)) for name in names_)


def _leads_to(named: Iterable[int], line: int, others: Sequence[int]) -> bool:
    return any(not any(min(line, near) < other < max(line, near) for other in others) for near in named)


# --- all of them ------------------------------------------------------------------------------------------------------


def chosen(all_kernels: Sequence[Kernel], shard: Shard, lines: Collection[int] = ()) -> list[tuple[Kernel, Site]]:
    """The sites of a part, on these lines; none: on all."""
    pairs = shard.of([(kernel, site) for kernel in all_kernels for site in kernel.sites])
    return [pair for pair in pairs if not lines or pair[1].line in lines]


def spread(pairs: Sequence[tuple[Kernel, Site]], rows: Sequence[Fields], count: int) -> list[tuple[Kernel, Site]]:
    """So many of the sites: one of every kind of instruction with every outcome on record, then a second of each, and
    so on, each time from a kernel of which there are few so far. Of more kinds than that, every second, third, ..."""
    known = {key_of(row): outcome_of(row) for row in rows}
    groups: dict[tuple[str, str], list[tuple[Kernel, Site]]] = {}
    for kernel, site in pairs:
        groups.setdefault((site.instruction, known.get(key_of(title_of(kernel, site)), "")), []).append((kernel, site))
    found: list[tuple[Kernel, Site]] = []
    used: Counter[Kernel] = Counter()
    while groups and len(found) < count:
        step = -(-len(groups) // (count - len(found)))
        for name in sorted(groups)[::step]:
            pair = min(groups[name], key=lambda one: used[one[0]])
            groups[name].remove(pair)
            used[pair[0]] += 1
            found.append(pair)
        groups = {name: rest for name, rest in groups.items() if rest}
    return found


def look_at(pairs: Sequence[tuple[Kernel, Site]], jobs: int, look: Callable[[Study, Site], Iterable[Fields]]
            ) -> Iterator[tuple[Kernel, Fields]]:
    """The rows that `look` makes of each site, in their order. Raises JudgeError."""
    with tempfile.TemporaryDirectory(prefix="ladder-needed-") as name:
        studies = {kernel: Study(kernel, Path(name)) for kernel, _ in pairs}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for (kernel, _), rows in zip(pairs, pool.map(lambda pair: list(look(studies[pair[0]], pair[1])), pairs)):
                yield from ((kernel, row) for row in rows)


def title_of(kernel: Kernel, site: Site) -> Fields:
    """What of a row says which site it is about."""
    return {"level": kernel.level, "arch": str(kernel.arch), "config": kernel.config,
            "site": kernel.labels.label(site.line), "instruction": site.instruction}


def recorded(path: Path) -> list[Fields]:
    """The rows of a file, if there is one."""
    return data.read_rows(path)[1] if path.exists() else []


def row_key(row: Fields) -> tuple[str, ...]:
    """Which mutant a row is about: its site, and the way in which that is weakened if it is there."""
    return *key_of(row), row.get("way", "")


def _words(key: tuple[str, ...]) -> str:
    return " ".join(key).strip()


def _said(row: Fields) -> str:
    words = [row["verdict"], row["proof"], row["other"], row["options"]]
    return f"{' '.join(word for word in words if word)} ({sentences.found(row)})"


def record(rows: Sequence[Fields], path: Path, columns: Sequence[str] = COLUMNS, current: Iterable[Kernel] = ()
           ) -> None:
    """Puts rows in the place of those of the same mutants; of `current` kernels no other sites are kept. Raises
    UsageError if the file has other columns."""
    with files.locked(path):
        there, old = data.read_rows(path) if path.exists() else ([], [])
        if there and there != list(columns):
            raise UsageError(f"{path} holds something else than what needed.py records there.")
        found = list({row_key(row): row for row in [*old, *rows]}.values())
        for kernel in current:
            sites = {key_of(title_of(kernel, site)) for site in kernel.sites}
            own = (kernel.level, str(kernel.arch), kernel.config)
            found = [row for row in found if key_of(row)[:3] != own or key_of(row) in sites]
        for row in found:
            if row["verdict"] == NOT_EXECUTED:
                row["other"] = labels.cell((config, "") for config in _elsewhere(row, found))
        data.write_rows(path, columns, sorted(found, key=lambda row: (*order_of(row), row.get("way", ""))))


def is_open(row: Fields) -> bool:
    return row["verdict"] == UNPROVEN or (row["verdict"] == NOT_EXECUTED and not row["other"])


def agrees(row: Fields, old: Fields) -> bool:
    """Whether a verdict is the one on record. Without proofs, silence agrees with all but a report."""
    if is_open(row):
        return old["verdict"] != REQUIRED
    return all(row[column] == old[column] for column in ("verdict", "proof", "other", "found_by", "rules", "options"))


def differences(rows: Sequence[Fields], path: Path, pairs: Iterable[tuple[Kernel, Site]],
                kernels_: Iterable[Kernel] = ()) -> list[str]:
    """What is recorded otherwise, or not at all. And what is recorded of mutants that are no longer there: of the sites
    that were looked at, and of other sites of `kernels_`."""
    known = {row_key(row): row for row in recorded(path)}
    found = [f"{_words(row_key(row))}: {_said(row)}, but recorded is {_said(old)}"
             for row in rows if (old := known.get(row_key(row))) and not agrees(row, old)]
    given = set(map(row_key, rows))
    there = {row_key(title_of(kernel, site)) for kernel in kernels_ for site in kernel.sites}
    found += [f"{_words(key)}: not recorded" for key in sorted((there | given) - set(known))]
    looked_at, whole = {key_of(title_of(*pair)) for pair in pairs}, {key[:3] for key in there}
    return found + [f"{_words(key)}: recorded, but no longer there" for key in sorted(set(known) - there - given)
                    if key[:3] in whole or key_of(known[key]) in looked_at]


def _elsewhere(row: Fields, rows: Iterable[Fields]) -> list[str]:
    """The configurations that execute a line which this one does not."""
    place = key_of({**row, "config": ""})
    return sorted(other["config"] for other in rows
                  if key_of({**other, "config": ""}) == place and other["verdict"] != NOT_EXECUTED)


def order_of(row: Fields) -> tuple[str, int, str, int, str]:
    """By which rows are sorted: in the order of the source; what it no longer has comes first."""
    line = labels.of_kernel(files.ROOT, row["level"], int(row["arch"])).line(row["site"])
    return row["level"], -int(row["arch"]), row["config"], line or 0, row["instruction"]


def outcome_of(row: Fields) -> str:
    """How a required site was found, or what else is said of it, in a word or two."""
    return row["found_by"] if row["verdict"] == REQUIRED else row["verdict"]


def is_half(row: Fields) -> bool:
    """Half a cluster barrier, without which the other half is an error: the pair says what the barrier is for."""
    return row["instruction"].startswith(f"{CLUSTER_BARRIER}.")
