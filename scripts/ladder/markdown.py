"""Markdown: tables, code and images."""
from __future__ import annotations

from collections.abc import Sequence

MARKS = {"l": "---", "r": "--:"}


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], aligned: str = "") -> str:
    """`aligned` has a letter per column: l (the default) or r."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join(MARKS[a] for a in aligned.ljust(len(heads), "l")) + "|"]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(content: object) -> str:
    return str(content).replace("|", r"\|")


def plain(text: str) -> str:
    """Text whose asterisks are no emphasis."""
    return text.replace("*", r"\*")


def image(description: str, file: str) -> str:
    words = " ".join(description.split()).replace("[", "(").replace("]", ")")
    return f"![{words}]({file})\n"
