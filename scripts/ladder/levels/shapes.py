"""Sizes of a product: M, N and K as people write them."""
from __future__ import annotations

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
