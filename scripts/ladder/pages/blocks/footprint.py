"""What the project takes of a machine: time and disk."""
from __future__ import annotations

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.pages.blocks.options import Options
from ladder.results import data


def of_project(context: Context, _: Options) -> str:
    """A row per command and per thing that lies on the disk."""
    rows = data.read_rows(context.root / RESULTS / "footprint.csv")[1]
    lines = [[row["what"], f"{row['value']} {row['unit']}",
              ", ".join(filter(None, (row["machine"], f"commit {row['commit']}", row["date"])))] for row in rows]
    return markdown.table(["what", "takes", f"{rows[0]['kind']} on"], lines, "lrl")
