"""Shapes that a level's kernel has to compute right, on the simulated device."""
from __future__ import annotations

from ladder.levels.shapes import Shape

# M from 1; N and K multiples of 8; K shorter than a stage, longer than the longest ring; one tile, a ragged tile, more.
SHAPES: list[Shape] = [
    (1, 8, 8),
    (1, 128, 64),
    (7, 1000, 16),
    (128, 128, 128),
    (129, 136, 72),
    (128, 8, 200),
    (300, 264, 520),
    (520, 520, 64),
    (256, 128, 1160),
    (900, 664, 328),
]
# Enough tiles and K blocks for rings to wrap and accumulators to alternate.
BUSY: list[Shape] = [(300, 264, 1160), (640, 392, 200)]
# On a GPU this small every CTA takes many tiles.
MANY_TILES: list[Shape] = [(900, 520, 136), (1040, 392, 72), (1040, 392, 64)]
