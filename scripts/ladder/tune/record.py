"""The results of a sweep as a CSV file, complete at any moment: a row per point and size, dropped ones included."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Optional

from ladder import files
from ladder.command import UsageError
from ladder.results import data
from ladder.tune import space

Row = data.Fields

OK = "ok"
SPEEDS = ("tflops", "cublas_tflops", "ratio_cublas")
CODE = ("registers", "spill_bytes", "smem_bytes", "ctas_per_sm", "occupancy")


def columns_of(kernel: space.Kernel) -> list[str]:
    options = [p.name for p in kernel.parameters if p.name not in kernel.headline]
    return [*kernel.headline, "size", *SPEEDS, "status", "name", *options, *CODE, "rounds", "kind", "gpu",
            *data.CIRCUMSTANCES, "build"]


class Record:
    """What the file holds and what is put here. Several processes may fill one file: `save` keeps what others have
    saved. Raises UsageError if the file holds something else, and OSError where it cannot be read or written."""

    def __init__(self, path: Path, kernel: space.Kernel):
        self.path = path
        self.kernel = kernel
        self.columns = columns_of(kernel)
        self.rows: dict[tuple[str, ...], Row] = {}
        self._unsaved: dict[tuple[str, ...], Row] = {}
        if path.is_dir():
            raise UsageError(f"{path} is a folder.")
        if path.exists():
            self._load()

    def _load(self) -> None:
        """Beside rows that are not saved yet, the file's count."""
        columns, rows = data.read_rows(self.path)
        if columns and not {*self.kernel.headline, "size", "status"} <= set(columns):
            raise UsageError(f"{self.path} holds something else than a sweep of {self.kernel.name}: its columns are "
                             f"{', '.join(columns)}.")
        defaults = self.kernel.fields(self.kernel.complete({}))  # of parameters that the kernel did not have then
        found = [self._complete({**defaults, **row}) for row in rows]
        self.rows.update({self._key(row): row for row in found})
        self.rows.update(self._unsaved)

    def _key(self, row: Row) -> tuple[str, ...]:
        return (*(row[p.name] for p in self.kernel.parameters), row["size"])

    def _complete(self, row: Row) -> Row:
        return {c: row.get(c, "") for c in self.columns}

    def put(self, rows: Iterable[Row]) -> None:
        """Replaces rows of the same point and size, and makes a row complete with empty fields. Does not save."""
        self._unsaved.update({self._key(row): self._complete(row) for row in rows})
        self.rows.update(self._unsaved)

    def find(self, fields: Row, size: str) -> Optional[Row]:
        return self.rows.get(self._key({**fields, "size": size}))

    def save(self) -> None:
        def order(row: Row) -> list[tuple[int, str]]:
            names = ["size", *self.kernel.fields(self.kernel.complete({}))]
            return [(int(row[name]), "") if row[name].isdigit() else (-1, row[name]) for name in names]

        with files.locked(self.path):
            self._load()
            data.write_rows(self.path, self.columns, sorted(self.rows.values(), key=order))
        self._unsaved.clear()

    def measured(self, size: str) -> list[Row]:
        """What is right and has a speed, the fastest first."""
        rows = [r for r in self.rows.values() if r["size"] == size and r["status"] == OK and r["tflops"]]
        return sorted(rows, key=lambda r: -float(r["tflops"]))

