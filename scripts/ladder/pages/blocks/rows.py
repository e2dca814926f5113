"""The general block: rows of a file of results, or of a view of several files, as one table with its kind and GPU."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from ladder import markdown
from ladder.context import Context
from ladder.files import RESULTS, read_json
from ladder.levels import names, shapes
from ladder.pages.blocks import views
from ladder.pages.blocks.options import Options
from ladder.results import data, numbers
from ladder.results.data import Fields, Result, Series
from ladder.results.numbers import NOTHING, grouped
from ladder.results.table import interval_notes

REFERENCES = Path("docs/references.md")
NUMBER = re.compile(r"[*`~]*[-+]?\d[^A-Za-z]*")
OF_OTHERS = "published"
EMPTY = "Not measured yet.\n"
UNITS = {"tflops": " TFLOPS", "sm_mhz": " MHz", "power_w": " W"}  # behind a figure that stands in a sentence

Column = tuple[str, list[str], str]  # head, the columns of the file that it shows, what stands between them


def table(context: Context, options: Options) -> str:
    """of=NAME [where=COLUMN:VALUE,...] [columns="HEAD=COLUMN; ..."] [sort=[-]COLUMN] [first=N] [join=COLUMN].

    NAME is a view (views.VIEWS), or a file: docs/results/NAME.csv or .json, a pattern such as *_shapes (a table per
    file), or a path from the root. Raises ValueError for a name, a column or a filter that fits nothing."""
    name = options.pop("of", "")
    if name in views.VIEWS:
        found = views.VIEWS[name](context)
        return (found if isinstance(found, str) else "\n".join(map(_section, found))) or EMPTY
    paths = _files(context, name)
    first = options.pop("first", "")
    if first and not first.isdecimal():
        raise ValueError(f"first={first} is no number of rows")
    where, columns = options.pop("where", ""), _columns(options.pop("columns", ""))
    order, joined = options.pop("sort", ""), options.pop("join", "")
    parts = []
    for path in paths:
        rows = _rows(path)
        for condition in filter(None, where.split(",")):
            rows = _where(rows, condition)
        if order:
            rows = sorted(rows, key=lambda row: _key(row, order.lstrip("-")), reverse=order.startswith("-"))
        rows = rows[:int(first)] if first else rows
        if rows:
            parts.append(_of_file(context, rows, columns or [(each, [each], "") for each in rows[0]], joined, path))
    if not parts and paths:
        raise ValueError(f"where={where} leaves no row of {name}")
    return "\n".join(parts) or EMPTY


def figure(context: Context, options: Options) -> str:
    """of=NAME where=COLUMN:VALUE,... show=COLUMN [over=COLUMN:VALUE,...]: one figure for a sentence, with its unit.
    With `over`, how much more it is than in the row that differs in these columns. Raises ValueError unless `where`
    leaves one row."""
    paths, where = _files(context, options.pop("of", "")), options.pop("where", "")
    column, over = options.pop("show", ""), options.pop("over", "")
    conditions = dict(each.partition(":")[::2] for each in filter(None, where.split(",")))

    def only(wanted: dict[str, str]) -> Fields:
        rows = [row for path in paths for row in _rows(path)]
        for name, value in wanted.items():
            rows = _where(rows, f"{name}:{value}")
        if len(rows) != 1 or not rows[0].get(column):
            raise ValueError(f"{len(rows)} rows are {wanted}; one with a '{column}' is required")
        return rows[0]

    row = only(conditions)
    if not over:
        return f"{_cell(context, row, column)}{UNITS.get(column, '')}"
    base = only(conditions | dict(each.partition(":")[::2] for each in over.split(",")))
    return f"{100 * (float(row[column]) / float(base[column]) - 1):+.1f} %"


def _files(context: Context, name: str) -> list[Path]:
    if "/" in name:
        return [context.root / name]
    folder = context.root / RESULTS
    if "*" in name:
        return sorted(folder.glob(f"{name}.csv"))
    found = [folder / f"{name}{ending}" for ending in (".csv", ".json") if (folder / f"{name}{ending}").exists()]
    if not found:
        raise ValueError(f"of={name} is no file of docs/results, and no view: {', '.join(views.VIEWS)}")
    return found


def _rows(path: Path) -> list[Fields]:
    if path.suffix == ".json":
        return [{key: str(value) for key, value in row.items()} for row in read_json(path)]
    return data.read_rows(path)[1]


def _where(rows: Sequence[Fields], condition: str) -> list[Fields]:
    column, _, value = condition.partition(":")
    if rows and column not in rows[0]:
        raise ValueError(f"where={condition}: there is no column '{column}', only {', '.join(rows[0])}")
    return [row for row in rows if row[column] == value]


def _key(row: Fields, column: str) -> tuple[float, str]:
    text = row[column]
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text


def _columns(text: str) -> list[Column]:
    """"HEAD=COLUMN; COLUMN": several columns in one cell are joined by + (a space) or by a comma."""
    found = []
    for item in filter(None, (part.strip() for part in text.split(";"))):
        head, _, wanted = item.rpartition("=")
        between = ", " if "," in wanted else " "
        found.append((head.strip() or wanted, [each.strip() for each in re.split(r"[+,]", wanted)], between))
    return found


# --- cells ------------------------------------------------------------------------------------------------------------


def _decimals(places: int) -> Callable[[str], str]:
    return lambda text: f"{float(text):.{places}f}"


# How a column's figures read, with their unit; all others stand as they are.
FORMATS: dict[str, Callable[[str], str]] = {
    "us": _decimals(1), "torch_us": _decimals(1), "ratio": _decimals(3),
    "different": lambda text: grouped(int(text)), "cycles": lambda text: grouped(int(text)),
    "dram_bytes": lambda text: f"{int(text) / 1e9:.2f} GB",
    "l2_bytes": lambda text: f"{int(text) / 1e9:.1f} GB" if int(text) >= 1e9 else f"{int(text) / 1e6:.0f} MB",
    "tensor_percent": lambda text: f"{text} %", "commit": lambda text: f"commit {text}",
    "date": lambda text: text[:len("2025-01-31")], "name": lambda text: f"`{text}`",
    "level": lambda text: names.short(text) if names.is_kernel(text) else text,
}


def _as_result(row: Fields) -> Result:
    return Result(row.get("level", ""), (0, 0, 0), Series(row.get("kind", ""), row.get("gpu", ""), 0), row)


def _cell(context: Context, row: Fields, column: str) -> str:
    if column == "size":
        return shapes.size_text((int(row["m"]), int(row["n"]), int(row["k"])))
    if column == "source" and "title" in row:
        return f"[{row['title']}]({context.link(REFERENCES)}#{row['source']})"
    if column not in row:
        raise ValueError(f"there is no column '{column}', only {', '.join(row)}")
    if column.endswith("tflops"):
        return numbers.tflops_text(_as_result(row), column)
    if "ratio_" in column:
        error = row.get(f"{column}_error")
        return numbers.interval_text(_as_result(row), column) + (f" ± {float(error):.3f}" if error else "")
    return FORMATS.get(column, str)(row[column]) if row[column] else ""


def _of_file(context: Context, rows: Sequence[Fields], columns: Sequence[Column], joined: str, path: Path) -> str:
    lines: dict[tuple[str, ...], list[str]] = {}
    heads = [head for head, _, _ in columns]
    for row in rows:
        cells = [between.join(filter(None, (_cell(context, row, each) for each in wanted)))
                 for _, wanted, between in columns]
        key = tuple(cell for cell, (_, wanted, _) in zip(cells, columns) if joined not in wanted)
        if not joined or key not in lines:
            lines[key if joined else (str(len(lines)),)] = cells
        else:
            lines[key] = [f"{one}, {cell}" if joined in wanted else one
                          for one, cell, (_, wanted, _) in zip(lines[key], cells, columns)]
    shown = {each for _, wanted, _ in columns for each in wanted}
    ratios = [_as_result(row) for row in rows] if any("ratio_" in each for each in shown) else []
    return (_markdown(heads, list(lines.values())) + _label(rows, shown, path)
            + "".join(f"\n{note}\n" for note in interval_notes(ratios)))


def _label(rows: Sequence[Fields], shown: set[str], path: Path) -> str:
    """Which kind of figures these are, on which card, under which circumstances: what no column says already."""
    kinds = sorted({row.get("kind") or data.kind_of(path) for row in rows})
    if path.stem == OF_OTHERS:
        return "\nReported by others, under their conditions; not measured by this project.\n"
    gpus = sorted({row.get("gpu", "") for row in rows} - {""})
    words = [] if "kind" in shown or (kinds == ["measured"] and {"gpu", "machine"} & shown) else kinds
    title = ", ".join(words) + (f": {', '.join(gpus)}" if words and gpus and "gpu" not in shown else "")
    circumstances = "" if {"commit", "date"} & shown else numbers.conditions([_as_result(row) for row in rows])
    return f"\n{'; '.join(filter(None, (title, circumstances)))}.\n" if title or circumstances else ""


def _section(section: views.Section) -> str:
    lead = f"{section.lead}\n\n" if section.lines and section.lead else section.lead
    lines = _markdown([head.strip() for head in section.heads], section.lines) if section.lines else "\n"
    return lead + lines + (f"\n{section.note}\n" if section.note else "")


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns of figures are aligned to the right; the first one names the row."""
    aligned = "l" + "".join("r" if all(cell in ("", NOTHING) or NUMBER.fullmatch(cell) for cell in column) else "l"
                      for column in list(zip(*lines))[1:])
    return markdown.table(heads, lines, aligned)
