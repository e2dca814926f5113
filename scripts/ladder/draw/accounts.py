"""Accounts as stacked bars: to which cause every cycle of the tensor cores belongs."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.model import account
from ladder.model.machine import GPUS

Draw = Callable[[], Optional[Drawing]]
SIZE = "8192"
SMALLEST = 0.01  # that has a line
FINEST = 0.0005  # that is drawn
LEFT, WIDE, HIGH = 190, 680, 26


@dataclass(frozen=True)
class Bar:
    level: str
    arch: int
    kind: str  # modelled, measured
    shares: dict[str, float]

    @property
    def words(self) -> str:
        return f"{self.kind}, {GPUS[self.arch].upper()}"


def gallery(context: Context) -> dict[str, Draw]:
    return {f"{names.short(level)}_account": partial(draw, context, level) for level in names.all_levels(context.root)}


def shown_levels(context: Context, level: str) -> list[str]:
    """The level before, if there is one, and this one."""
    return [each for each in names.all_levels(context.root)
            if names.number_of(each) in (names.number_of(level) - 1, names.number_of(level))]


def bars(context: Context, level: str, arch: int, kind: str = "modelled") -> list[Bar]:
    """Of the level before, if there is one, and of this one. On Hopper at the clock at which it was measured."""
    files = {90: account.PROFILED, 100: account.RECORD}
    accounts = (context.once(f"account {arch}", lambda c: account.recorded(c.root, files[arch]))
                if kind == "modelled" else context.once("measured account", account.measured) if arch == 90 else {})
    return [Bar(each, arch, kind, accounts[each, GPUS[arch], SIZE]) for each in shown_levels(context, level)
            if (each, GPUS[arch], SIZE) in accounts]


def draw(context: Context, level: str) -> Optional[Drawing]:
    shown = sorted((bar for arch in names.ARCH_NAMES for kind in ("modelled", "measured")
                    for bar in bars(context, level, arch, kind)), key=lambda bar: (-bar.arch, bar.level))
    if not shown:
        return None
    top = 62.0
    drawing = Drawing(f"{names.title(level)}: where the tensor cores' time goes", _in_words(shown), LEFT + WIDE + 20,
                      top + len(shown) * (HIGH + 8) + 60)
    drawing.heading(f"Percent of the cycles of all SMs, M = N = K = {SIZE}.")
    for number, bar in enumerate(shown):
        y = top + number * (HIGH + 8)
        drawing.text(LEFT - 8, y + HIGH / 2 - 1, f"{names.ARCH_NAMES[bar.arch]}, {names.short(bar.level)}", size=SMALL,
                     anchor="end")
        drawing.text(LEFT - 8, y + HIGH / 2 + 11, bar.words, "soft", 9.5, "end")
        x = float(LEFT)
        for part in _parts(bar):
            wide = WIDE * bar.shares[part.key]
            if bar.shares[part.key] >= FINEST:
                tip = f"{part.title} {100 * bar.shares[part.key]:.1f} %"
                drawing.rect(x, y, wide, HIGH, part.fill, radius=0, thick=0.6, tip=tip)
                drawing.label(x, y, wide, HIGH, part.title.rpartition(": ")[2], size=SMALL)
            x += wide
    drawing.legend(16, top + len(shown) * (HIGH + 8) + 24, account.LEGEND)
    return drawing


def _parts(bar: Bar) -> tuple[account.Part, ...]:
    return account.PARTS if bar.kind == "modelled" else account.COARSE


def _in_words(shown: list[Bar]) -> str:
    said = []
    for bar in shown:
        largest = sorted((part for part in _parts(bar) if bar.shares[part.key] >= 0.01),
                         key=lambda part: -bar.shares[part.key])[:4]
        said.append(f"{names.ARCH_NAMES[bar.arch]}, {names.short(bar.level)}, {bar.words}: "
                    + ", ".join(f"{part.title} {100 * bar.shares[part.key]:.0f} %" for part in largest))
    return f"Where the tensor cores' time goes. {'; '.join(said)}."
