"""A sweep in parts: `--shard K/N` does every N-th piece of the work, so that any job runner can spread N commands over
machines, and merge.py makes one file of theirs. Nothing depends on the process that does a part, or on the order."""
from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TypeVar

from ladder import files
from ladder.command import Failure, Parser, UsageError
from ladder.results import data

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Shard:
    """The part `index` of `count`, the first being 1."""

    index: int = 1
    count: int = 1

    @property
    def whole(self) -> bool:
        return self.count == 1

    def of(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """Every piece is in one of the shards 1/N to N/N. Neighbours cost alike, so they go to different ones."""
        return pieces[self.index - 1::self.count]

    def beside(self, path: Path) -> Path:
        """The file of this part, where `path` is that of the whole."""
        return path if self.whole else path.with_name(f"{path.stem}.{self.index}of{self.count}{path.suffix}")

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


EVERYTHING = Shard()
EXIT_INCOMPLETE = 3


class Incomplete(Failure):
    """Files that are not each part of a sweep, once."""

    code = EXIT_INCOMPLETE


def parse(text: str) -> Shard:
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"K/N with K from 1 to N is needed, such as 2/8, not '{text}'")
    return Shard(int(match[1]), int(match[2]))


def add_argument(parser: Parser) -> None:
    """`--shard`, whose value is a Shard: of everything, unless somebody asks for a part."""
    parser.add_argument("--shard", type=parse, default=EVERYTHING, metavar="K/N",
                        help="only part K of N; merge.py makes one file of theirs")


def of_name(path: Path) -> Optional[Shard]:
    """The part that a file's name says it is, as `beside` spells it."""
    match = re.search(r"\.(\d{1,6})of(\d{1,6})$", path.stem, re.ASCII)
    return Shard(int(match[1]), int(match[2])) if match else None


def check_complete(parts: Sequence[Path]) -> bool:
    """Raises Incomplete unless these are all parts of one sweep, each once, as far as their names say which they are;
    False if they do not say it, and one may be missing."""
    seen: dict[Path, Path] = {}
    for path in parts:
        if seen.setdefault(path.resolve(), path) is not path:
            raise Incomplete(f"{path} is named twice")
    named = {path: of_name(path) for path in parts}
    if not any(named.values()):
        return False
    first = next(shard for shard in named.values() if shard)
    found: dict[int, Path] = {}
    for path, shard in named.items():
        if shard is None:
            raise Incomplete(f"the name of {path} does not say which of the {first.count} parts it is")
        if shard.count != first.count or not 1 <= shard.index <= shard.count:
            raise Incomplete(f"{path} is no part of a sweep in {first.count} parts")
        if shard.index in found:
            raise Incomplete(f"{found[shard.index]} and {path} are both part {shard}")
        found[shard.index] = path
    if missing := [str(Shard(k, first.count)) for k in range(1, first.count + 1) if k not in found]:
        raise Incomplete(f"{'part' if len(missing) == 1 else 'parts'} {_some(missing)} of the sweep "
                         f"{'is' if len(missing) == 1 else 'are'} missing")
    return True


def _some(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def merge(parts: Sequence[Path]) -> str:
    """The text of one file out of several: tables (.csv) have the columns of all, in the order in which they come, and
    other files are lines of JSON. What stands in several of them stands there once. Raises UsageError, DataError."""
    if len({path.suffix for path in parts}) > 1:
        raise UsageError("these are files of several kinds: " + ", ".join(sorted({path.name for path in parts})))
    return _merge_tables(parts) if parts[0].suffix == ".csv" else _merge_lines(parts)


def _merge_tables(parts: Sequence[Path]) -> str:
    tables = [data.read_rows(path) for path in parts]
    columns = list(dict.fromkeys(column for names, _ in tables for column in names))
    shared = set(columns).intersection(*(names for names, _ in tables if names))
    if not shared:
        raise UsageError(f"{parts[0].name} and the others have no column in common")
    rows = {frozenset((column, text) for column, text in row.items() if text): row for _, found in tables
            for row in found}
    return data.csv_text(columns, rows.values())


def _merge_lines(parts: Sequence[Path]) -> str:
    lines: dict[str, None] = {}
    for path in parts:
        for number, line in enumerate(files.read_text(path).splitlines(), start=1):
            try:
                json.loads(line)
            except ValueError as error:
                raise files.DataError(f"{path}:{number}: this is not JSON ({error})") from None
            lines[line] = None
    return "".join(f"{line}\n" for line in lines)
