"""Sizes of a product: M, N and K as people write them."""
from __future__ import annotations

import random
import re

from ladder.command import UsageError

Shape = tuple[int, int, int]


def parse_size(text: str) -> Shape:
    """M, N, K of "4096" or "1024x512x2048"."""
    match = re.fullmatch(r"(\d{1,9})(?:x(\d{1,9})x(\d{1,9}))?", text.strip(), re.ASCII)
    if not match:
        raise UsageError(f"A size is an edge such as 4096 or MxNxK such as 1024x512x2048, and '{text}' is neither.")
    m = int(match[1])
    shape = (m, int(match[2] or m), int(match[3] or m))
    if min(shape) < 1:
        raise UsageError(f"A size must be at least 1, and '{text}' is not.")
    if shape[1] % 8 or shape[2] % 8:
        raise UsageError(f"N and K must be multiples of 8 (TMA needs row pitches of 16 bytes), and '{text}' is not.")
    return shape


def parse_sizes(text: str) -> list[Shape]:
    return [parse_size(item) for item in text.split(",")]


def cube(edge: int) -> Shape:
    return edge, edge, edge


def shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape))


def size_text(shape: Shape) -> str:
    """How people say it: the edge of a cube, or all three."""
    return str(shape[0]) if shape == cube(shape[0]) else shape_text(shape)


def random_shapes(count: int, seed: int) -> list[Shape]:
    """So many products, from half a GFLOP to two TFLOP, the same for the same seed: extents from tens to tens of
    thousands, each power of two as likely as the next. Every other product has N and K that are multiples of 64."""
    source = random.Random(seed)
    found: list[Shape] = []
    while len(found) < count:
        step = 8 if len(found) % 2 else 64
        m, *others = (2 ** source.uniform(low, 14) for low in (4, 6, 6))
        n, k = (max(1, round(extent / step)) * step for extent in others)
        shape = round(m), n, k
        if 2**28 <= shape[0] * n * k <= 2**40 and shape not in found:
            found.append(shape)
    return found
