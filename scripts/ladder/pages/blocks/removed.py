"""What an H200 did without a line of a kernel that orders something, and what its checkers said of the kernels."""
from __future__ import annotations

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS
from ladder.levels import names, shapes
from ladder.pages.blocks.options import Options
from ladder.results import data


def lines(context: Context, options: Options) -> str:
    """[level=N]: wrong launches, line by line and shape by shape."""
    rows = data.read_rows(context.root / RESULTS / "h200_removed.csv")[1]
    level = options.pop("level", "")
    rows = [row for row in rows if level in ("", str(names.number_of(row["level"])))]
    if not rows:
        raise ValueError(f"level='{level}' is none of which a line was removed")
    sizes = list(dict.fromkeys((int(row["m"]), int(row["n"]), int(row["k"])) for row in rows))
    wrong: dict[tuple[str, str], dict[tuple[int, ...], str]] = {}
    for row in rows:
        title = f"{names.number_of(row['level']):02}{', ' + row['config'] if row['config'] else ''}"
        shape = (int(row["m"]), int(row["n"]), int(row["k"]))
        wrong.setdefault((title, row["removed"]), {})[shape] = row["wrong"]
    table = [[title, _code(removed), *(found[shape] for shape in sizes)] for (title, removed), found in wrong.items()]
    heads = ["level", "without", *(shapes.size_text(shape) for shape in sizes)]
    first = rows[0]
    return (markdown.table(heads, table, "ll" + "r" * len(sizes))
            + f"\nWrong launches of {first['launches']}; measured: {first['gpu']}, D compared with cuBLAS's bit for "
              f"bit; commit {first['commit']}, {first['date']}.\n")


def _code(removed: str) -> str:
    return " ".join(f"`{word}`" if "_" in word else word for word in removed.split())


def sanitizer(context: Context, options: Options) -> str:
    """What compute-sanitizer said of the levels."""
    del options
    rows = data.read_rows(context.root / RESULTS / "h200_sanitizer.csv")[1]
    table: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        size = shapes.size_text((int(row["m"]), int(row["n"]), int(row["k"])))
        table.setdefault((row["level"], size, row["said"]), []).append(row["tool"])
    first = rows[0]
    return (markdown.table(["levels", "M x N x K", "tools", "said"],
                           [[level, size, ", ".join(tools), said] for (level, size, said), tools in table.items()])
            + f"\nMeasured: {first['gpu']}; commit {first['commit']}, {first['date']}.\n")
