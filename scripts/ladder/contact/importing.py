"""A reader's archive becomes rows of docs/results, with its provenance."""
from __future__ import annotations

import os
from pathlib import Path

from ladder.contact import catalogue
from ladder.contact.report import unpack
from ladder.contact.state import Record
from ladder.files import RESULTS, DataError, locked
from ladder.levels import gpus
from ladder.results import data, measure
from ladder.results.data import Fields

COLUMNS = ("part", "name", "arch", "answer", "simulated", "verdict", "kind", "gpu", "by", "date", "commit")
#: What tells rows of a file apart: those that are there already stay as they are.
_KEYS = ("gpu", "level", "arch", "config", "m", "n", "k", "experiment", "name", "site", "way", "instruction")


def facts_of(records: list[Record], by: str) -> list[Fields]:
    begin, arch = records[0], int(records[0]["arch"])
    recorded = catalogue.answers(arch)
    return [{"part": record["part"], "name": record["name"], "arch": str(arch), "answer": record["answer"],
             "simulated": recorded[record["name"]], "kind": "measured", "gpu": begin["gpu"], "by": by,
             "verdict": "as simulated" if record["answer"] == recorded[record["name"]] else "differs",
             "date": begin["date"], "commit": begin["commit"]} for record in records[1:] if "answer" in record]


def check(records: list[Record], path: Path) -> None:
    """Raises DataError for an archive from which no results can be made."""
    begin = records[0]
    if begin.get("simulated") is not False:
        raise DataError(f"{path}: this was simulated; only what a GPU did is imported.")
    if begin.get("arch") not in (90, 100) or not begin.get("gpu"):
        raise DataError(f"{path}: it does not say which GPU of sm90 or sm100 it is from.")
    unknown = [record["name"] for record in records[1:] if "answer" in record
               and record["name"] not in catalogue.answers(int(begin["arch"]))]
    if unknown:
        raise DataError(f"{path}: it is of commit {begin.get('commit') or 'unknown'} and has {len(unknown)} probes that "
                        f"are not known here, such as {unknown[0]}.")


def import_archive(path: Path, by: str, root: Path) -> str:
    """A sentence that says what was done."""
    records = unpack(path)
    check(records, path)
    begin = records[0]
    beside = measure.default_output(gpus.Gpu(begin["gpu"], int(begin["arch"]))).stem
    own = root / RESULTS / f"{beside}_first_contact.csv"
    facts = facts_of(records, by)
    with locked(own):
        old = data.read_rows(own)[1] if own.exists() and own.stat().st_size else []
        others = [row for row in old if row["gpu"] != begin["gpu"]]
        data.write_rows(own, COLUMNS, [*others, *facts])
    added = kept = 0
    for record in records[1:]:
        if what := record.get("file"):
            what = f"_{what}"
        new, old_ones = _add(root / RESULTS / f"{beside}{what or ''}.csv", record.get("rows", []))
        added, kept = added + new, kept + old_ones
    differ = sum(fact["verdict"] == "differs" for fact in facts)
    return (f"{os.path.relpath(own, root)}: {len(facts)} answers of {begin['gpu']}, of which {differ} differ from the "
            f"simulated device's. {added} rows of times and removals were added, {kept} were there already and stay.")


def _add(target: Path, rows: list[Fields]) -> tuple[int, int]:
    """The new rows, and the number of those that the file has."""
    if not rows:
        return 0, 0
    with locked(target):
        columns, old = data.read_rows(target) if target.exists() and target.stat().st_size else (list(rows[0]), [])
        key = [column for column in _KEYS if column in columns]
        known = {tuple(row.get(column, "") for column in key) for row in old}
        new = [row for row in rows if tuple(row.get(column, "") for column in key) not in known]
        if not set(columns) >= set(rows[0]):
            columns = [*columns, *(column for column in rows[0] if column not in columns)]
        if new:
            data.write_rows(target, columns, [*old, *new])
    return len(new), len(rows) - len(new)
