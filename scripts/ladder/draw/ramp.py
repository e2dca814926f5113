"""What each program before level 01 uses, and what is new in level 01 itself: read from their sources."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing

Draw = Callable[[], Optional[Drawing]]
WARM_UPS = ("one_mma", "tma_load", "k_loop", "pair")

# A mechanism, and what a source that uses it has in it.
MECHANISMS = {
    "tcgen05.mma: the tensor core": r"tcgen05_mma", "tensor memory": r"tcgen05_alloc",
    "mbarriers, phase and parity": r"mbarrier_wait", "TMA, tensor maps": r"cp_async_bulk_tensor",
    "the 128-byte swizzle": r"Swizzle::B128", "a barrier that is free at first": r"phase \^ 1",
    "D of any size": r"row < m\b", "clusters, rank": r"cluster_ctarank",
    "one MMA of two CTAs": r"mma_f16<(PAIR|Config::CTA_GROUP)>", "a commit to both": r"commit_multicast",
    "barriers of the cluster": r"barrier_cluster_wait", "the right to allocate is given up": r"relinquish_alloc_permit",
    "maps are fetched early": r"prefetch_tensormap", "D in BF16": r"float2bfloat16_rn",
    "the harness checks and measures": r"common/harness"}


def gallery(context: Context) -> dict[str, Draw]:
    return {"level01_new_sm100": lambda: new_in_level_01(context.root)}


def used(root: Path) -> dict[str, list[bool]]:
    """Of each mechanism, whether each warm-up uses it, and level 01."""
    level = root / "level01_baseline"
    sources = [*(level / "warm_up" / f"{name}_sm100.cu" for name in WARM_UPS), level / "kernel_sm100.cuh"]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    return {name: [bool(re.search(pattern, text)) for text in texts] for name, pattern in MECHANISMS.items()}


def new_in_level_01(root: Path) -> Drawing:
    rows = used(root)
    new = [name for name, where in rows.items() if where[-1] and not any(where[:-1])]
    wide, high, left, top = 96.0, 24.0, 268.0, 86.0
    columns = [*(f"warm-up {number}" for number in range(1, len(WARM_UPS) + 1)), "level 01"]
    drawing = Drawing(
        "What is new in level 01, Blackwell",
        f"The warm-ups meet {len(rows) - len(new)} mechanisms before level 01. New there: {'; '.join(new)}.",
        left + wide * len(columns) + 24, top + high * len(rows) + 44)
    drawing.heading("A row for each mechanism: the programs that use it, and the first that does.")
    for column, title in enumerate(columns):
        drawing.text(left + (column + 0.5) * wide, top - 10, title, "soft", SMALL, "middle")
    for row, (name, where) in enumerate(rows.items()):
        y = top + row * high
        drawing.text(left - 12, y + 16, name, anchor="end", bold=name in new)
        for column, is_used in enumerate(where):
            if is_used:
                drawing.rect(left + column * wide + 4, y + 2, wide - 8, high - 4,
                             "blue" if any(where[:column]) else "orange")
    drawing.legend(left, top + high * len(rows) + 24, {"orange": "met for the first time", "blue": "used again"})
    return drawing
