"""What pages and pictures are made of: what observe.py recorded of the levels, their sources, and the results.

Everything is read when it is first asked for. Raises DataError for files that cannot be right.
"""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

from ladder.files import RESULTS, DataError, read_json
from ladder.levels import instructions, names
from ladder.levels.description import Description, describe
from ladder.results import ablations, choice, data
from ladder.results.ablations import Ablation

EXPLAIN = RESULTS / "explain.json"
COUNTERS = RESULTS / "sim_counters.csv"
GPUS = RESULTS / "gpus.csv"

T = TypeVar("T")


def timeline_path(level: str, arch: int) -> Path:
    return RESULTS / f"sim_timeline_{names.short(level)}_sm{arch}.json"


@dataclass
class Context:
    """What blocks and drawings are made of."""

    root: Path
    results: list[data.Result]
    page: Path = Path("README.md")  # that is being rendered: links are relative to it
    _made: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[Context], T]) -> T:
        """What `make` makes of this, made when it is first asked for."""
        if name not in self._made:
            self._made[name] = make(self)
        made: T = self._made[name]
        return made

    def levels(self) -> list[str]:
        """The levels that are here, and those that only figures exist of."""
        return data.all_levels(self.results, self.root)

    def level(self, number: int) -> str:
        """Its name. Raises ValueError."""
        named = [name for name in names.all_levels(self.root) if names.number_of(name) == number]
        if not named:
            raise ValueError(f"level={number} names no level")
        return named[0]

    def link(self, path: Path) -> str:
        """From the page to `path`, which is relative to the root."""
        return Path(os.path.relpath(path, self.page.parent)).as_posix()

    @cached_property
    def descriptions(self) -> list[Description]:
        """Of every level, architecture and configuration, as scripts/maintain/observe.py recorded them."""
        path = self.root / EXPLAIN
        if not path.exists():
            return []
        recorded = read_json(path)
        try:
            if not isinstance(recorded, list):
                raise TypeError("it is no list of what executables say")
            return [description for item in recorded for description in describe(item)]
        except (TypeError, KeyError, ValueError) as error:
            raise DataError(f"{path}: {error}: run scripts/maintain/observe.py.") from None

    def configs(self, level: str, arch: int) -> list[Description]:
        """All configurations of a kernel."""
        return [d for d in self.descriptions if (d.level, d.arch) == (level, arch)]

    def described(self, level: str, arch: int) -> list[Description]:
        """Those whose tables differ."""
        found = self.configs(level, arch)
        return [d for i, d in enumerate(found) if not any(d.same_tables(other) for other in found[:i])]

    def kinds(self, level: str, arch: int) -> list[Description]:
        """One of each shape of cluster of up to four CTAs: what a picture has room for. Split-K looks the same."""
        found = [d for d in self.described(level, arch) if d.cluster <= 4 and not d.constants.get("SPLITS_K")]
        return [d for i, d in enumerate(found)
                if (d.cluster, d.cluster_n) not in ((other.cluster, other.cluster_n) for other in found[:i])]

    @cached_property
    def introductions(self) -> dict[instructions.Wrapper, dict[int, str]]:
        return instructions.introductions(self.root)

    @cached_property
    def counters(self) -> list[data.Fields]:
        path = self.root / COUNTERS
        return data.read_rows(path)[1] if path.exists() else []

    def counted(self, level: str, arch: int) -> Optional[data.Fields]:
        return next((row for row in self.counters if (row["level"], row["arch"]) == (level, str(arch))), None)

    def timeline(self, level: str, arch: int) -> Optional[dict[str, Any]]:
        path = self.root / timeline_path(level, arch)
        return read_json(path) if path.exists() else None

    @cached_property
    def choices(self) -> dict[data.Series, list[choice.Judged]]:
        return choice.judge(choice.load(self.root / RESULTS))

    @cached_property
    def modelled_ablations(self) -> list[data.Fields]:
        path = self.root / RESULTS / "modelled_ablations.csv"
        return data.read_rows(path)[1] if path.exists() else []

    @cached_property
    def ablations(self) -> list[Ablation]:
        return ablations.load(self.root / RESULTS)

    @cached_property
    def gpus(self) -> list[data.Fields]:
        path = self.root / GPUS
        return data.read_rows(path)[1] if path.exists() else []
