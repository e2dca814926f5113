"""Where the time of the tensor cores goes: the account of the level before, and of this one."""
from __future__ import annotations

from typing import Optional

from ladder import markdown
from ladder.context import Context
from ladder.draw import accounts
from ladder.levels import names
from ladder.model import account
from ladder.pages.blocks.images import picture
from ladder.pages.blocks.options import Options, take_archs, take_level
from ladder.results.numbers import NOTHING


def block(context: Context, options: Options) -> str:
    """level=N [arch=sm90] [size=8192]: the picture, and a table of the level before and this one."""
    level = take_level(context, options)
    archs = take_archs(options, list(names.ARCH_NAMES))
    size = options.pop("size", accounts.SIZE)
    bars = [bar for arch in archs for bar in accounts.bars(context, level, arch, size)]
    if not bars:
        raise ValueError(f"there is no account of {level} at {size}")
    heads = [f"{names.ARCH_NAMES[bar.arch]}<br>level {names.number_of(bar.level):02}<br>{bar.words}" for bar in bars]
    lines = [[part.title, *(_percent(bar.shares.get(part.key)) for bar in bars)] for part in account.PARTS
             if any(bar.shares.get(part.key, 0) >= accounts.SMALLEST for bar in bars)]
    lines.append(["*of the time: the power limit's share*", *(_percent(bar.shares.get(account.POWER)) for bar in bars)])
    shown = picture(context, {"name": f"{names.short(level)}_account"}) if size == accounts.SIZE else ""
    return (shown + "\n" + markdown.table(["percent of the tensor cores' time", *heads], lines, "l" + "r" * len(bars))
            + f"\nM = N = K = {size}. Modelled, under load" + (
                "; measured beside it, and the difference." if any(bar.kind != "modelled" for bar in bars) else ".")
            + "\n")


def _percent(share: Optional[float]) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"
