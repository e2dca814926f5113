"""Where ptxas and the simulated device judge differently, and which of that is known and meant."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from ladder import files
from ladder.fuzzing import seeds
from ladder.fuzzing.judges import Verdict


@dataclass
class Known:
    """A difference that is meant. `sentence` is a pattern of what the judge that refuses says: ours where `we` is
    "refuse", ptxas where it is "accept". `text`, if there is one, is a pattern of the changed line."""

    name: str
    reason: str
    we: str
    sentence: str
    text: str = ""

    def fits(self, ours: Verdict, theirs: Verdict, line: str) -> bool:
        refusal = ours if self.we == "refuse" else theirs
        return (not refusal.accepted and re.search(self.sentence, refusal.sentence) is not None
                and re.search(self.text, line) is not None)


def known() -> list[Known]:
    """data/ptxas_differences.json: every one with its reason."""
    return [Known(**entry) for entry in files.read_json(seeds.DATA / "ptxas_differences.json")]


@dataclass
class Difference:
    line: str  # the changed line, or the place of the change
    ours: Verdict
    theirs: Verdict

    def __str__(self) -> str:
        if self.ours.accepted:
            return f"accepted here, and ptxas says: {self.theirs.sentence}\n    {self.line}"
        return f"refused here: {self.ours.sentence}\n    ptxas accepts: {self.line}"


def compare(line: str, ours: Verdict, theirs: Verdict) -> Optional[Difference]:
    return None if ours.accepted == theirs.accepted else Difference(line, ours, theirs)


def name_of(difference: Difference, exceptions: list[Known]) -> Optional[str]:
    """The name of the exception that covers it; None: it is one too many."""
    for each in exceptions:
        if (each.we == "accept") == difference.ours.accepted and each.fits(difference.ours, difference.theirs,
                                                                          difference.line):
            return each.name
    return None
