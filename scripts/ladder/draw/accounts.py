"""Accounts as stacked bars: to which cause every cycle of the tensor cores belongs."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing
from ladder.levels import names
from ladder.model import account

Draw = Callable[[], Optional[Drawing]]
SIZE = "8192"
GPUS = {100: "b200", 90: "h100"}
SMALLEST = 0.0005  # that is shown
LEFT, WIDE, HIGH = 190, 680, 26


@dataclass(frozen=True)
class Bar:
    level: str
    arch: int
    kind: str  # modelled, measured, or the difference of both
    gpu: str
    shares: dict[str, float]

    @property
    def words(self) -> str:
        return f"{self.kind}, {self.gpu.upper()}" if self.kind != "difference" else self.kind


def gallery(context: Context) -> dict[str, Draw]:
    return {f"{names.short(level)}_account": partial(draw, context, level) for level in names.all_names(context.root)}


def bars(context: Context, level: str, arch: int, size: str) -> list[Bar]:
    """Of the level before, if there is one, and of this one; beside what is modelled what was measured on that GPU, and
    by how much the model differs."""
    modelled = context.once("accounts", lambda c: account.recorded(c.root))
    measured = context.once("measured accounts", lambda c: account.measured(c.root))
    levels = names.all_levels(context.root)
    before = [each for each in levels if names.number_of(each) == names.number_of(level) - 1 and level in levels]
    gpu = GPUS[arch]
    found = []
    for each in [*before, level]:
        for kind, accounts in (("modelled", modelled), ("measured", measured)):
            if shares := accounts.get((each, gpu, size)):
                found.append(Bar(each, arch, kind, gpu, shares))
        if len(found) > 1 and found[-1].kind == "measured" and found[-2].level == each:
            mine, its = found[-2].shares, found[-1].shares
            found.append(Bar(each, arch, "difference", gpu, {part: mine.get(part, 0) - its[part] for part in its}))
    return found


def draw(context: Context, level: str) -> Optional[Drawing]:
    shown = [bar for arch in names.ARCH_NAMES for bar in bars(context, level, arch, SIZE) if bar.kind != "difference"]
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
        for part in account.PARTS:
            wide = WIDE * bar.shares.get(part.key, 0)
            if wide >= WIDE * SMALLEST:
                tip = f"{part.title} {100 * bar.shares[part.key]:.1f} %"
                drawing.rect(x, y, wide, HIGH, part.fill, radius=0, thick=0.6, tip=tip)
                drawing.label(x, y, wide, HIGH, part.title.rpartition(": ")[2], size=SMALL)
            x += wide
    drawing.legend(16, top + len(shown) * (HIGH + 8) + 24, account.LEGEND)
    return drawing


def _in_words(shown: list[Bar]) -> str:
    said = []
    for bar in shown:
        largest = sorted((part for part in account.PARTS if bar.shares.get(part.key, 0) >= 0.01),
                         key=lambda part: -bar.shares[part.key])[:4]
        said.append(f"{names.ARCH_NAMES[bar.arch]}, {names.short(bar.level)}, {bar.words}: "
                    + ", ".join(f"{part.title} {100 * bar.shares[part.key]:.0f} %" for part in largest))
    return f"Where the tensor cores' time goes. {'; '.join(said)}."
