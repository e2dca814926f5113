"""Where the time of the tensor cores goes: the account of the level before, and of this one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ladder import markdown
from ladder.context import Context
from ladder.draw import accounts
from ladder.levels import names
from ladder.model import account
from ladder.model.machine import GPUS
from ladder.pages.blocks.images import picture
from ladder.pages.blocks.options import Options, take_level
from ladder.results.numbers import NOTHING


def block(context: Context, options: Options) -> str:
    """level=N: the picture, a table of the level before and this one, and what was measured beside it."""
    level = take_level(context, options)
    bars = [bar for arch in names.ARCH_NAMES for bar in accounts.bars(context, level, arch)]
    if not bars:
        raise ValueError(f"there is no account of {level}")
    heads = [f"{names.ARCH_NAMES[bar.arch]}<br>level {names.number_of(bar.level):02}<br>{bar.words}" for bar in bars]
    shown = [part.key for part in account.PARTS if any(bar.shares[part.key] >= accounts.SMALLEST for bar in bars)]
    lines = [[part.title, *(_percent(bar.shares[part.key]) for bar in bars)] for part in account.PARTS
             if part.key in shown]
    lines.append(["others", *(_percent(sum(bar.shares[part.key] for part in account.PARTS if part.key not in shown))
                              for bar in bars)])
    return (picture(context, {"name": f"{names.short(level)}_account"}) + "\n"
            + markdown.table(["percent of the tensor cores' time", *heads], lines, "l" + "r" * len(bars))
            + f"\nM = N = K = {accounts.SIZE}, modelled: Blackwell under load, Hopper at the clock of the measurement. "
            + f"*Issue* includes the start after each wait for late operands. {_power(context, bars)}\n"
            + _measured(context, level))


def _power(context: Context, bars: Sequence[accounts.Bar]) -> str:
    """What the power limit takes of the time under load."""
    loaded = context.once("account under load", lambda c: account.recorded(c.root))
    shares = [_percent(loaded[bar.level, GPUS[bar.arch], accounts.SIZE][account.POWER]) for bar in bars]
    return f"The power limit's share of the time under load, column by column: {', '.join(shares)} %."


def _measured(context: Context, level: str) -> str:
    """On an H100: measured, modelled, the difference; below, what warps wait for. Nothing where none is measured."""
    measured = {bar.level: bar.shares for bar in accounts.bars(context, level, 90, "measured")}
    modelled = {bar.level: account.coarse(bar.shares) for bar in accounts.bars(context, level, 90)}
    levels = [each for each in accounts.shown_levels(context, level) if each in measured and each in modelled]
    if not levels:
        return ""
    heads = [f"level {names.number_of(each):02}<br>{what}" for each in levels
             for what in ("measured", "modelled", "difference")]
    lines = [[part.title, *(cell for each in levels for cell in (
        _percent(measured[each][part.key]), _percent(modelled[each][part.key]),
        f"{100 * (modelled[each][part.key] - measured[each][part.key]):+.1f}"))] for part in account.COARSE]
    waits = {each: account.waits(context, each, accounts.SIZE) for each in levels}
    for who, role in (("multiplying warps wait", "multiply"), ("the loading warp waits", "load")):
        for what, _ in account.WAITS:
            shares = [getattr(waits[each], role).get(what, 0) for each in levels]
            if max(shares) >= accounts.SMALLEST:
                lines.append([f"*{who} for {what}*",
                              *(cell for share in shares for cell in (_percent(share), NOTHING, NOTHING))])
    costs = ", ".join(_percent(waits[each].cost) for each in levels)
    return ("\n" + markdown.table(["percent of the time, H100", *heads], lines, "l" + "r" * len(heads))
            + "\nMeasured: Nsight Compute, one launch at free clocks; idle SMs follow from the number of tiles. *In "
              f"italics*: of a warp's time, from clocks read in the waits, which cost {costs} %. Warps wait while MMAs "
              "run, too: these rows are upper bounds, and do not add up with those above.\n")


def _percent(share: Optional[float]) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"
