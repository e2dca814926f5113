"""Pictures that are drawn from the kernels' own constants, from what they say of themselves and from what they did on
the simulated device, so that they are true. docs/charts/NAME.svg holds each as rendered."""
from __future__ import annotations

from typing import Callable, Optional

from ladder.context import Context
from ladder.draw import accounts, capstone, layout, machine, memory, operands, order, ramp, timelines
from ladder.draw.svg import Drawing

Draw = Callable[[], Optional[Drawing]]


def gallery(context: Context) -> dict[str, Draw]:
    """All pictures that there can be, by name. One whose data is not there is None when drawn."""
    return {**layout.gallery(context), **memory.gallery(context), **operands.gallery(), **order.gallery(context),
            **capstone.gallery(context), **ramp.gallery(context), **timelines.gallery(context),
            **machine.gallery(context), **accounts.gallery(context)}


def names(context: Context) -> list[str]:
    return list(gallery(context))


def draw(context: Context, name: str) -> Optional[Drawing]:
    """The picture, or None if there is none of this name."""
    drawing = gallery(context).get(name)
    return drawing() if drawing else None
