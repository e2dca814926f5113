"""Bit patterns of the element types of tensor cores, from which a probe's input is drawn."""
from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Sequence


def float32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _half(value: float) -> int:
    return int(struct.unpack("<H", struct.pack("<e", value))[0])


def _spread(exponent_bits: int, fraction_bits: int, span: int) -> list[int]:
    """Of both signs, exponents around one and any fraction: their sums are rounded."""
    dice, bias = random.Random(1), (1 << (exponent_bits - 1)) - 1
    return [dice.getrandbits(1) << (exponent_bits + fraction_bits) | dice.randint(bias - span, bias + span)
            << fraction_bits | dice.getrandbits(fraction_bits) for _ in range(997)]


_SMALL = (-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3)
#: Name: bits of an element, and the patterns. Sums of "small" ones are exact, so that only places matter.
_KINDS: dict[str, tuple[int, list[int]]] = {
    "bf16": (16, [float32(each) >> 16 for each in _SMALL]),
    "f16": (16, [_half(each) for each in _SMALL]),
    "f32": (32, [float32(each) for each in _SMALL]),
    "e4m3": (8, [0x00, 0x30, 0x38, 0xB8, 0x40, 0xC0, 0x44, 0xC4]),
    "e5m2": (8, [0x00, 0x38, 0x3C, 0xBC, 0x40, 0xC0, 0x42, 0xC2]),
    "bytes": (8, list(range(256))),
    "scales": (8, [0x7D, 0x7E, 0x7F, 0x80, 0x81]),
    "ue4m3": (8, [0x30, 0x38, 0x3C, 0x40, 0x44]),
    "bf16_spread": (16, _spread(8, 7, 14)),
    "f16_spread": (16, _spread(5, 10, 9)),
    "f32_spread": (32, _spread(8, 23, 14)),
    "e4m3_spread": (8, [each for each in range(256) if each & 0x7F != 0x7F]),
    "e5m2_spread": (8, [each for each in range(256) if each & 0x7C != 0x7C]),
    "bf16_subnormal": (16, [0x0001, 0x8040, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x0000]),
    "bf16_special": (16, [0x3F80] * 60 + [0x0000] * 20 + [0x7F80, 0xFF80, 0x7FC1]),
    "bf16_huge": (16, [0x7F7F, 0xFF7F, 0x3F80, 0x7F00]),
}


def draw(kind: str, count: int, seed: str) -> bytes:
    """That many bytes of elements. The same for the same seed, on every machine."""
    bits, patterns = _KINDS[kind]
    chosen: Sequence[int] = random.Random(seed).choices(patterns, k=8 * count // bits)
    return array({8: "B", 16: "H", 32: "I"}[bits], chosen).tobytes()
