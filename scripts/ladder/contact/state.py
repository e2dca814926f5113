"""What a run has found so far: a file of JSON lines, one for each step that is finished. A step that was interrupted
left no line and is done again; one with a line is never repeated."""
from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ladder.files import DataError, replace

FORMAT = "first contact 1"
NAME = "first_contact.jsonl"

Record = dict[str, Any]


class State:
    def __init__(self, path: Path):
        self.path = path
        self.records = read(path) if path.exists() else []
        if self.records:  # without the part of a line that an interrupted write left
            replace(path, "".join(map(_line, self.records)))

    @property
    def begin(self) -> Record:
        return self.records[0]

    def done(self) -> set[str]:
        return {record["name"] for record in self.records[1:]}

    def add(self, record: Record) -> None:
        """On the disk when it returns."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)


def _line(record: Record) -> str:
    return json.dumps(record, sort_keys=True) + "\n"


def parse(text: str, where: str) -> list[Record]:
    """Raises DataError. A last line without an end is that of an interrupted write, and is dropped."""
    whole, _, _ = text.rpartition("\n")
    records: list[Record] = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"{where}:{number}: this is no line of JSON ({error}).") from None
        if not isinstance(record, dict) or not isinstance(record.get("name"), str):
            raise DataError(f"{where}:{number}: a record with a name is needed.")
        records.append(record)
    if not records or records[0].get("format") != FORMAT:
        raise DataError(f"{where}: this is no record of scripts/first_contact.py: its first line does not say "
                        f"\"{FORMAT}\".")
    return records


def read(path: Path) -> list[Record]:
    return parse(path.read_text(encoding="utf-8", errors="replace"), str(path))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
