"""Links from a lesson into the playground: from each row about a fence, a wait or a lab to its line there, and from a
step to the next one."""
from __future__ import annotations

import functools
import html
import re
from collections.abc import Sequence

from ladder import files
from ladder.context import Context
from ladder.levels import lab, names, patches
from ladder.mutants.labels import Labels, call_of
from ladder.pages.blocks import stepwise
from ladder.results import data
from ladder.site.programs import step_page

ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
NAME = re.compile(r"<code>(\w+)")
LAB = re.compile(r'<a href="[^"]*labs/(\w+)\.patch')
IN_WORDS = {"cluster barrier": "barrier_cluster_wait", "commit": "tcgen05_commit_multicast"}  # as the pages say it
NEEDED = files.ROOT / files.RESULTS / "needed.csv"


@functools.cache
def sites(level: str, arch: int) -> Sequence[str]:
    """The labels of a kernel's marks, in the configuration that its page shows: the first one."""
    rows = [row for row in data.read_rows(NEEDED)[1] if (row["level"], row["arch"]) == (level, str(arch))]
    return [row["site"] for row in rows if row["config"] == rows[0]["config"]]


def lines(level: str, arch: int) -> dict[int, str]:
    """The lines of a kernel that have marks in the playground, with their labels."""
    now = Labels(names.kernel_path(files.ROOT, level, arch).read_text(encoding="utf-8").splitlines())
    return {line: label for label in sites(level, arch) if (line := now.line(label)) is not None}


def add(text: str, level: str, playground: str) -> str:
    """The page of a level with a link at the end of each row that the playground can show."""
    labs = {one.name: one.arch for one in lab.all_labs() if one.level == level and "compile" not in one.modes}

    def linked(match: re.Match[str]) -> str:
        cells = CELL.findall(match[0])
        target = _target(cells, level, labs) if cells else ""
        if not target:
            return match[0]
        before, end, after = match[0].rpartition("</td>")
        return f'{before} <a class="try" href="{playground}{html.escape(target)}">try it</a>{end}{after}'

    short = names.short(level)
    pages = ", ".join(f'<a href="{playground}{short}_sm{arch}.html">{name}</a>'
                      for arch, name in names.ARCH_NAMES.items() if names.has_kernel(level, arch))
    task = f'<a href="{playground}{short}_sm{names.ARCHES[-1]}.html#task=find">find the missing line</a>'
    return ROW.sub(linked, text).replace("</h1>", f"</h1>\n<p>In the playground: {pages}; {task}</p>", 1)


def _target(cells: Sequence[str], level: str, labs: dict[str, int]) -> str:
    short = names.short(level)
    named = LAB.search(cells[0])
    if named:
        arch = labs.get(named[1])
        return f"{short}_sm{arch}.html#lab={named[1]}" if arch else ""
    if len(cells) > 2 and re.fullmatch(r"\d\d", cells[0]) and re.fullmatch(r"\d+", cells[1]) and "<code>" in cells[2]:
        return f"level{cells[0]}_sm90.html#without=L{cells[1]}"  # a row of what hardware does without a line
    row = " ".join(cells)
    if "steps/" in row:
        return ""
    words = NAME.findall(row) + [call for text, call in IN_WORDS.items() if text in row]
    for arch in names.ARCHES[::-1]:
        marks = lines(level, arch)
        for word in words:
            found = [line for line, label in marks.items() if call_of(label) == word] or [
                line for line, label in marks.items() if label.startswith("mbarrier_wait(" + word)]
            if found:
                return f"{short}_sm{arch}.html#line=L{min(found)}"
    return ""


def stepper(name: str, is_written: bool) -> str:
    """Above a step's patch: the steps before and after it, and what it brings; `is_written`: whether the playground can
    compile."""
    one = patches.parse_step(files.ROOT / name)
    series = patches.series(one.level, one.arch)
    links = [(f"&#9664; {each.title}", each.path.name + ".html") for each in series if each.number == one.number - 1]
    links += [(f"Level {names.number_of(one.level):02}", "../../index.html#step-by-step")]
    links += [(f"{each.title} &#9654;", each.path.name + ".html") for each in series if each.number == one.number + 1]
    links += [(names.ARCH_NAMES[arch], f"../sm{arch}/{other[0].path.name}.html")
              for arch in names.ARCHES if arch != one.arch and (other := patches.series(one.level, arch))]
    if is_written:
        links += [("Write it in the playground", f"../../../playground/{step_page(one)}.html#task=write")]
    shown = " &middot; ".join(f'<a href="{address}">{text}</a>' for text, address in links)
    gains = "; ".join(f"{found} {heading}" for heading, found in stepwise.brings(Context(files.ROOT, []), one))
    brings = f" {html.escape(gains)}." if gains else ""
    return (f"<p>{shown}</p>\n<p><b>Step {one.title} of {len(series)}, {names.ARCH_NAMES[one.arch]}: "
            f"{html.escape(one.words)}.</b> The kernel after it is right in all schedules, and the order checker "
            f"reports nothing (a test of the course).{brings}</p>\n")
