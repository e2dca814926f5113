"""What a kernel is: its shape, its barriers, its memory, its roles, its instructions, its changes."""
from __future__ import annotations

from pathlib import Path
from typing import Callable

from ladder import markdown
from ladder.context import Context
from ladder.levels import compare, names
from ladder.levels.description import SMEM_LIMIT, TMEM_COLUMNS, Description
from ladder.pages.blocks.options import Options, arch_title, take_archs, take_level
from ladder.results.numbers import grouped

BOTH = list(names.ARCH_NAMES)
MOST_NAMES = 8  # of configurations that agree
MOST_COLUMNS = 6  # of configurations: of more each has a line


def _described(context: Context, level: str, arch: int) -> list[Description]:
    found = context.described(level, arch)
    if not found:
        raise ValueError(f"{level} is not in docs/results/explain.json for sm{arch}: run scripts/maintain/observe.py")
    return found


def _per_config(found: list[Description], content: Callable[[Description], str]) -> str:
    """Once, if all configurations agree; otherwise under the names of those that do. If most of them are many, they are
    the others, and come last."""
    agreeing: dict[str, list[str]] = {}
    for d in found:
        agreeing.setdefault(content(d), []).append(f"`{d.config}`")
    if len(agreeing) == 1:
        return next(iter(agreeing))

    most = max(agreeing.values(), key=len)
    others = most if len(most) > MOST_NAMES else None

    def title(configs: list[str]) -> str:
        if configs is others:
            return "All others"
        return ("Configuration " if len(configs) == 1 else "Configurations ") + ", ".join(configs)

    in_order = sorted(agreeing.items(), key=lambda each: each[1] is others)
    return "\n".join(f"{title(configs)}:\n\n{text}" for text, configs in in_order)


def shape(context: Context, options: Options) -> str:
    """level=N: the numbers of a level, Blackwell and Hopper side by side."""
    level = take_level(context, options)
    columns = [d for arch in take_archs(options, BOTH) for d in _described(context, level, arch)]

    def title(d: Description) -> str:
        alone = len(context.described(level, d.arch)) == 1
        return arch_title(d.arch) + ("" if alone else f"<br>`{d.config}`")

    rows: list[list[str]] = [
        ["tile of D", *(f"{d.tile_m} x {d.tile_n} per {d.tile_owner}" for d in columns)],
        ["K block", *(f"{d.tile_k}" for d in columns)],
        ["stages", *(f"{d.stages} x {grouped(d.stage_bytes)} bytes" for d in columns)],
        ["CTAs in a cluster", *(str(d.cluster) if d.cluster > 1 else "no clusters" for d in columns)],
        ["threads per CTA", *(str(d.threads) for d in columns)],
        ["shared memory", *(f"{grouped(d.smem_bytes)} bytes" for d in columns)],
    ]
    if any(d.request_bytes != d.smem_bytes for d in columns):
        rows.append(["requested; Hopper: all of an SM", *(f"{grouped(d.request_bytes)} bytes" for d in columns)])
    rows.append(["accumulator", *(f"{d.tmem_columns} of {TMEM_COLUMNS} columns of tensor memory" if d.tmem_columns else
                                  f"{d.accumulators} registers per thread" for d in columns)])
    table = [["", *map(title, columns)], *rows]
    if len(columns) > MOST_COLUMNS:
        table = [list(column) for column in zip(*table)]
    return markdown.table(table[0], table[1:])


Rows = list[list[str]]


def _side_by_side(context: Context, level: str, options: Options, heads: list[str],
                  rows_of: Callable[[Description], Rows]) -> str:
    """One table of all architectures where each has one configuration; otherwise per configuration."""
    config = options.pop("config", "")
    found = {arch: [d for d in _described(context, level, arch) if config in ("", d.config)]
             for arch in take_archs(options, BOTH)}
    for arch, some in found.items():
        if not some:
            raise ValueError(f"{level} has no configuration {config} for sm{arch}")
    agreed = {arch: rows_of(some[0]) for arch, some in found.items() if len({str(rows_of(d)) for d in some}) == 1}
    if len(found) > 1 and len(agreed) == len(found):
        return markdown.table(["", *heads], [[names.ARCH_NAMES[arch], *row] for arch, rows in agreed.items()
                                             for row in rows])
    return "\n".join(_per_config(some, lambda d: markdown.table(heads, rows_of(d))) for some in found.values())


def barriers(context: Context, options: Options) -> str:
    """level=N [arch=sm100] [config=NAME]: which threads arrive at which barrier, and which wait for it."""
    level = take_level(context, options)
    return _side_by_side(
        context, level, options, ["barrier", "arrivals per phase", "arrives", "waits", "first waits for parity"],
        lambda d: [[f"`{b.name}`" + (f" [{b.count}]" if b.count > 1 else ""),
                    f"{b.arrivals}" + (f", plus {grouped(b.bytes)} bytes" if b.bytes else ""),
                    b.who_arrives, b.who_waits, str(b.first_parity)] for b in d.barriers])


def budget(context: Context, options: Options) -> str:
    """level=N [arch=sm100]: the map of shared memory."""
    level = take_level(context, options)

    def rows_of(d: Description) -> Rows:
        rows = [[grouped(r.offset), grouped(r.total), r.what] for r in d.outline]
        rows.append(["", f"**{grouped(d.smem_bytes)}**",
                     f"**of {grouped(SMEM_LIMIT)} that a CTA can have ({d.smem_bytes / SMEM_LIMIT:.0%})**"])
        return rows

    return _side_by_side(context, level, options, ["offset", "bytes", "what"], rows_of)


def roles(context: Context, options: Options) -> str:
    """level=N [arch=sm100]: which threads do what."""
    level = take_level(context, options)
    return _side_by_side(context, level, options, ["threads", "work"],
                         lambda d: [[r.threads, r.work] for r in d.roles])


def changes(context: Context, options: Options) -> str:
    """level=N: how much of each kernel changed against the level before."""
    level = take_level(context, options)
    number_here = names.number_of(level)
    before = [name for name in names.all_levels(context.root) if names.number_of(name) == number_here - 1]
    if not before:
        return "This is the first level: there is nothing to compare it with.\n"
    rows, commands = [], []
    for arch in take_archs(options, BOTH):
        if not all(names.has_kernel(name, arch, context.root) for name in (*before, level)):
            continue
        changed = compare.compare(context.root, before[0], level, arch)
        file = names.kernel_path(Path(), level, arch)
        rows.append([f"[{file.name}]({context.link(file)})", changed.added, changed.removed,
                     changed.added + changed.removed])
        suffix = "" if arch == compare.DEFAULT_ARCH else f" --arch sm{arch}"
        commands.append(f"python3 scripts/diff_levels.py {number_here - 1} {number_here}{suffix}")
    return (markdown.table([f"against level {number_here - 1:02}", "lines added", "removed", "together"], rows, "lrrr")
            + "\n```bash\n" + "\n".join(commands) + "\n```\n")
