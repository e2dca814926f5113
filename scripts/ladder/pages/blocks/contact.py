"""What GPUs answered to scripts/first_contact.py, beside what the simulated device assumes."""
from __future__ import annotations

from ladder import markdown
from ladder.contact import catalogue
from ladder.context import Context
from ladder.files import RESULTS
from ladder.pages.blocks.options import Options
from ladder.results import data


def block(context: Context, options: Options) -> str:
    """A line for each GPU, then each answer that differs."""
    del options
    rows = [row for path in data.measured(context.root / RESULTS, "first_contact") for row in data.read_rows(path)[1]]
    if not rows:
        return "No GPU has answered yet.\n"
    lines, differing = [], []
    for gpu, by, date, commit in sorted({(row["gpu"], row["by"], row["date"][:10], row["commit"]) for row in rows}):
        own = [row for row in rows if (row["gpu"], row["by"]) == (gpu, by)]
        counts = []
        for part in ("facts", "kernels"):
            right = sum(row["verdict"] == "as simulated" for row in own if row["part"] == part)
            counts.append(f"{right} of {sum(row['part'] == part for row in own)}")
        lines.append([gpu, *counts, f"{by}, {date}, commit {commit}"])
        for row in own:
            if row["verdict"] != "as simulated":
                arch = int(row["arch"])
                differing.append([gpu, f"`{row['name']}`: {catalogue.asks(arch, row['name'])}", f"`{row['answer']}`",
                                  f"`{row['simulated']}`", catalogue.known(arch, row["name"])[1],
                                  catalogue.place(arch, row["name"]).partition(":")[0]])
    text = markdown.table(["GPU", "facts as simulated", "kernels as simulated", "measured by"], lines, "lrrl")
    if differing:
        text += "\n" + markdown.table(["GPU", "what differs", "measured", "simulated", "why", "assumed in"], differing)
    return text
