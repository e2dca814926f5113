"""Whether the engine in WebAssembly says of a kernel without a site what docs/results/needed.csv says."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ladder.levels import verdict
from ladder.mutants import study
from ladder.mutants.judge import Case
from ladder.mutants.sites import Site, key_of
from ladder.mutants.study import Kernel
from ladder.results.data import Fields
from ladder.site import recordings

Runner = Callable[[Sequence[dict[str, Any]]], Sequence[dict[str, Any]]]


def case_of(text: str) -> Case:
    """The case of a row: "328x136x200 on 2 SMs, 2 in a row"."""
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+) on (\d+) SMs(?:, (\d+) in a row)?", text)
    if not match:
        raise ValueError(f"'{text}' is not a case of needed.py.")
    m, n, k, sms, launches = (int(number or 1) for number in match.groups())
    return Case((m, n, k), sms, launches)


def expected(row: Fields) -> str:
    """What is said without the site; right, if it is not required."""
    return row["found_by"] if row["verdict"] == study.REQUIRED else verdict.RIGHT


def request(kernel: Kernel, site: Site, row: Fields, folder: Path) -> dict[str, Any]:
    """The run in which needed.py has found what the row says."""
    embedded = kernel.embedded
    recording = recordings.record(kernel, case_of(row["case"]), folder)
    changes = recordings.edits(embedded, embedded.without(site.places), recording.read_bytes())
    found: dict[str, Any] = {"recording": str(recording), "edits": changes, "patience": 200}
    if row["options"]:
        option, *seed = row["options"].split()
        found["schedule"] = {"seed": int(*seed)} if seed else option.removeprefix("--")
    return found


def differences(pairs: Sequence[tuple[Kernel, Site]], rows: Sequence[Fields], run: Runner, folder: Path) -> list[str]:
    """What is said otherwise, a sentence for each site."""
    known = {key_of(row): row for row in rows}
    chosen = [(kernel, site, row) for kernel, site in pairs
              if (row := known.get(key_of(study.title_of(kernel, site)))) is not None]
    answers = run([request(kernel, site, row, folder) for kernel, site, row in chosen])
    found = []
    for (kernel, site, row), answer in zip(chosen, answers):
        said = answer.get("kind", answer.get("sentence"))
        if said != expected(row):
            found.append(f"{kernel.title}, {site.title}, at {row['case']}: '{said}', but recorded is '{expected(row)}' "
                         f"({row['verdict']})")
    return found
