"""A reader's archive becomes rows of docs/results, with its provenance."""
from __future__ import annotations

import os
from pathlib import Path

from ladder.contact import catalogue
from ladder.contact.report import unpack
from ladder.contact.state import Record
from ladder.files import RESULTS, DataError, locked
from ladder.levels import gpus, names
from ladder.results import data, measure
from ladder.results.data import Fields

COLUMNS = ("part", "name", "arch", "answer", "simulated", "verdict", "kind", "gpu", "by", "date", "commit")


def facts_of(records: list[Record], by: str) -> list[Fields]:
    begin, arch = records[0], int(records[0]["arch"])
    recorded = catalogue.answers(arch)
    return [{"part": record["part"], "name": record["name"], "arch": str(arch), "answer": record["answer"],
             "simulated": recorded[record["name"]], "kind": "measured", "gpu": begin["gpu"], "by": by,
             "verdict": catalogue.verdict(arch, record["name"], record["answer"]),
             "date": begin["date"], "commit": begin["commit"]} for record in records[1:] if "answer" in record]


def check(records: list[Record], path: Path) -> None:
    """Raises DataError for an archive from which no results can be made."""
    begin = records[0]
    if begin.get("simulated") is not False:
        raise DataError(f"{path}: this was simulated; only what a GPU did is imported.")
    if begin.get("arch") not in names.ARCHES or not begin.get("gpu"):
        raise DataError(f"{path}: it does not say which GPU of sm90 or sm100 it is from.")
    unknown = [record["name"] for record in records[1:] if "answer" in record
               and record["name"] not in catalogue.answers(int(begin["arch"]))]
    if unknown:
        raise DataError(f"{path}: it is of commit {begin.get('commit') or 'unknown'} and has {len(unknown)} "
                        f"probes that are not known here, such as {unknown[0]}.")


def import_archive(path: Path, by: str, root: Path) -> str:
    """A sentence that says what was done."""
    records = unpack(path)
    check(records, path)
    begin = records[0]
    beside = measure.default_output(gpus.Gpu(begin["gpu"], int(begin["arch"]))).stem
    own = root / RESULTS / f"{beside}_first_contact.csv"
    facts = facts_of(records, by)
    measure.replace_rows(own, COLUMNS, facts, ("gpu",))
    added = kept = 0
    for what in {record["file"] for record in records[1:] if "file" in record}:
        rows = [row for record in records[1:] if record.get("file") == what for row in record["rows"]]
        if _add(root / RESULTS / f"{beside}{'_' if what else ''}{what}.csv", rows, begin["gpu"]):
            added += len(rows)
        else:
            kept += len(rows)
    differ = sum(fact["verdict"] == "differs" for fact in facts)
    return (f"{os.path.relpath(own, root)}: {len(facts)} answers of {begin['gpu']}, of which {differ} differ from the "
            f"simulated device's. {added} rows of times and removals were added; {kept} were not, for there are longer "
            "measurements of this GPU.")


def _add(target: Path, rows: list[Fields], gpu: str) -> bool:
    """Whether the file takes them: what is measured of this GPU already took longer, and stays alone."""
    with locked(target):
        columns, old = data.read_rows(target)
        if not rows or any(row["gpu"] == gpu for row in old):
            return False
        columns += [column for column in rows[0] if column not in columns]
        data.write_rows(target, columns, [*old, *rows])
    return True
