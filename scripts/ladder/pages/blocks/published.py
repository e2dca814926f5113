"""Figures that others have published, on techniques that this course does not build."""
from __future__ import annotations

from pathlib import Path

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.pages.blocks.options import Options
from ladder.results import data

REFERENCES = Path("docs/references.md")


def of_topic(context: Context, options: Options) -> str:
    """topic=NAME: what is published on it, each with a link to where its source is listed."""
    rows = data.read_rows(context.root / RESULTS / "published.csv")[1]
    topic = options.pop("topic", "")
    found = [row for row in rows if row["topic"] == topic]
    if not found:
        topics = dict.fromkeys(row["topic"] for row in rows)
        raise ValueError(f"topic='{topic}' is none of {', '.join(topics)}")
    lines = [[row["what"], row["figure"], row["gpu"],
              f"[{row['title']}]({context.link(REFERENCES)}#{row['source']})"] for row in found]
    return (markdown.table(["what", "figure", "GPU", "source"], lines)
            + "\nPublished by others, under their conditions; not measured by this project.\n")
