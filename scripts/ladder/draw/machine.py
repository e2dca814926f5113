"""The machine in one picture: the way of a byte from DRAM to the tensor core and back, with bytes per cycle and SM."""
from __future__ import annotations

from functools import partial
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing
from ladder.files import DataError
from ladder.levels import names
from ladder.model.machine import GPUS, Machine, Rate, machine

Draw = Callable[[], Optional[Drawing]]
WIDE, TOP, HIGH, GAP = 400, 96, 40, 44  # of a GPU's column, of a box, between boxes


def gallery(context: Context) -> dict[str, Draw]:
    return {"machine": partial(picture, context)}


def picture(context: Context) -> Optional[Drawing]:
    try:
        machines = [machine(context, arch) for arch in sorted(GPUS)]
    except DataError:
        return None
    words = "; ".join(f"{GPUS[m.arch].upper()}: "
                      + ", ".join(f"{what} {rate.bytes:.0f}" for what, rate in m.rates.items())
                      + f" bytes, {m.flops:,.0f} FLOPs of the tensor core" for m in machines)
    drawing = Drawing("The machine, per cycle and SM", f"What passes per cycle and SM. {words}.",
                      32 + len(machines) * (WIDE + 20), TOP + 6 * (HIGH + GAP) - GAP + 28)
    drawing.heading("Bytes per cycle of the SM at its highest clock; what is shared is divided by all SMs. "
                    "* assumed or reported, otherwise measured.")
    for index, each in enumerate(machines):
        _column(drawing, each, 16 + index * (WIDE + 20))
    return drawing


def _rate(rate: Rate) -> str:
    return f"{rate.bytes:.0f} bytes" + ("" if rate.kind == "measured" else " *")


def _column(drawing: Drawing, m: Machine, left: float) -> None:
    blackwell = m.arch == 100
    drawing.text(left, TOP - 18, f"{GPUS[m.arch].upper()} ({names.ARCH_NAMES[m.arch]}): {m.sms} SMs, "
                 f"{m.clock / 1e6:,.0f} MHz", bold=True)
    tops = [TOP + row * (HIGH + GAP) for row in range(6)]
    middle = left + 150
    drawing.frame(left, tops[2] - 14, WIDE, tops[5] + HIGH - tops[2] + 28, stroke="line", thick=1.2, dashed=True)
    drawing.text(left + WIDE - 8, tops[5] + HIGH + 6, "an SM", "soft", SMALL, "end")
    _box(drawing, left, tops[0], 300, "DRAM", "grey")
    _box(drawing, left, tops[1], 130, "half of L2", "yellow")
    _box(drawing, left + 170, tops[1], 130, "other half", "yellow")
    drawing.arrow(left + 132, tops[1] + HIGH / 2, left + 168, tops[1] + HIGH / 2)
    drawing.arrow(left + 168, tops[1] + HIGH / 2 + 8, left + 132, tops[1] + HIGH / 2 + 8)
    drawing.text(left + 306, tops[1] + 18, f"link: {_rate(m.rates['link'])}", size=SMALL)
    _box(drawing, left + 12, tops[2], 288, "TMA", "blue")
    _box(drawing, left + 12, tops[3], 288, "shared memory: stages, D on its way out", "green")
    _box(drawing, left + 12, tops[4], 288, f"tensor core: {m.flops:,.0f} FLOPs", "orange")
    _box(drawing, left + 12, tops[5], 288, "tensor memory: 512 columns, then registers" if blackwell else
         "registers: the accumulators", "purple")
    into_sm = f"{_rate(m.rates['L2'])}; one GPC's port: {_rate(m.rates['port'])}"
    passing = (_rate(m.rates["DRAM"]), into_sm, _rate(m.rates["TMA"]), _rate(m.rates["shared"]), "D, in FP32")
    for row, text in enumerate(passing):
        drawing.arrow(middle, tops[row] + HIGH + 2, middle, tops[row + 1] - (16 if row == 1 else 2))
        drawing.text(middle + 10, tops[row] + HIGH + (20 if row == 1 else 27), text, size=SMALL)
    side = left + 352
    drawing.line((left + 302, tops[5] + HIGH / 2), (side, tops[5] + HIGH / 2), (side, tops[3] + HIGH / 2),
                 stroke="strong", thick=1.5)
    drawing.arrow(side, tops[3] + HIGH / 2, left + 302, tops[3] + HIGH / 2)
    drawing.text(side - 4, tops[4] + 60, "epilogue", "soft", SMALL, "end")
    drawing.text(left + 306, tops[2] + 8, "TMA stores D:", "soft", SMALL)
    drawing.text(left + 306, tops[2] + 24, _rate(m.rates["store"]), size=SMALL)


def _box(drawing: Drawing, x: float, y: float, wide: float, text: str, fill: str) -> None:
    drawing.rect(x, y, wide, HIGH, fill)
    drawing.label(x, y, wide, HIGH, text)
