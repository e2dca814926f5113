"""Floating-point numbers as exact values, and the formats that they are rounded to.

A finite number is `sign`, `digits`, `power`: digits * 2 ** power, digits a whole number. Nothing here is approximate.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Number:
    """Finite, or infinite if `digits` is None. A zero has a sign."""

    negative: bool
    digits: Optional[int]
    power: int = 0
    more: bool = False  # behind the digits something follows that is not zero: a quotient, a root

    @property
    def infinite(self) -> bool:
        return self.digits is None

    @property
    def zero(self) -> bool:
        return self.digits == 0 and not self.more

    def __neg__(self) -> Number:
        return Number(not self.negative, self.digits, self.power, self.more)

    def __abs__(self) -> Number:
        return Number(False, self.digits, self.power, self.more)


# A number, or None: not a number.
Value = Optional[Number]

ZERO = Number(False, 0)
ONE = Number(False, 1)


def scaled(value: Number, power: int) -> int:
    """The whole number that times 2 ** power is this one; power is at most the number's own."""
    assert value.digits is not None
    digits = value.digits << (value.power - power)
    return -digits if value.negative else digits


def whole(integer: int) -> Number:
    return Number(integer < 0, abs(integer))


def is_less(a: Number, b: Number) -> bool:
    if a.infinite or b.infinite:
        return (a.infinite and a.negative and not (b.infinite and b.negative)) or \
               (b.infinite and not b.negative and not (a.infinite and not a.negative))
    power = min(a.power, b.power)
    return scaled(a, power) < scaled(b, power)


def is_equal(a: Number, b: Number) -> bool:
    return not is_less(a, b) and not is_less(b, a)


@dataclass(frozen=True)
class Format:
    """How a number lies in bits: a sign, exponent bits, fraction bits."""

    name: str
    exponent_bits: int
    fraction_bits: int
    infinity: bool = True  # the greatest exponent means infinities and NaNs
    nan: Optional[int] = None  # the NaN that instructions make; None: there is none

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def least_power(self) -> int:
        """Of the last place of a subnormal number."""
        return 1 - self.bias - self.fraction_bits

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def greatest(self) -> int:
        """The bits of the greatest finite number."""
        if self.infinity:
            return (((1 << self.exponent_bits) - 1) << self.fraction_bits) - 1
        return self.sign - 1 - (self.nan is not None)

    def is_subnormal(self, bits: int) -> bool:
        return 0 < bits & (self.sign - 1) < 1 << self.fraction_bits

    def is_nan(self, bits: int) -> bool:
        magnitude = bits & (self.sign - 1)
        if self.infinity:
            return magnitude > ((1 << self.exponent_bits) - 1) << self.fraction_bits
        return self.nan is not None and magnitude == self.nan

    def read(self, bits: int, flush: bool = False) -> Value:
        """The number that these bits mean; `flush`: a subnormal one counts as zero."""
        if self.is_nan(bits):
            return None
        negative, magnitude = bool(bits & self.sign), bits & (self.sign - 1)
        exponent, fraction = magnitude >> self.fraction_bits, magnitude & ((1 << self.fraction_bits) - 1)
        if self.infinity and exponent == (1 << self.exponent_bits) - 1:
            return Number(negative, None)
        if exponent == 0:
            return Number(negative, 0 if flush else fraction, self.least_power)
        return Number(negative, fraction | 1 << self.fraction_bits, self.least_power + exponent - 1)

    def write(self, value: Value, rounding: str = "rn", flush: bool = False, finite: bool = False) -> int:
        """The bits of a number, rounded: rn, rz, rm, rp, or rna (to nearest, halves away from zero). What is too great
        becomes infinite or the greatest number, as the rounding says, or with `finite` always the latter."""
        if value is None:
            if self.nan is not None:
                return self.nan
            return self.greatest  # formats without NaN: the ISA says the greatest number
        sign = self.sign if value.negative else 0
        if value.digits is None:
            return sign | (self.greatest if finite or not self.infinity else self.greatest + 1)
        if value.zero:
            return sign
        length = value.digits.bit_length()
        power = max(value.power + length - 1 - self.fraction_bits, self.least_power)
        digits = _rounded(value, power, rounding)
        # Digits are below 2 ** (fraction_bits + 1); one more carries into the exponent by itself.
        exponent = power - self.least_power
        magnitude = (exponent << self.fraction_bits) + digits
        if magnitude > self.greatest:
            away = rounding in ("rn", "rna") or (rounding == "rp" and not value.negative) or \
                (rounding == "rm" and value.negative)
            magnitude = self.greatest + 1 if away and self.infinity and not finite else self.greatest
        if flush and magnitude < 1 << self.fraction_bits:
            magnitude = 0
        return sign | magnitude


def _rounded(value: Number, power: int, rounding: str) -> int:
    """The digits of |value| with this power, rounded; the sign tells which way is down."""
    assert value.digits is not None
    shift = power - value.power
    if shift <= 0:
        digits, rest, half = value.digits << -shift, 0, 1
    else:
        digits, rest, half = value.digits >> shift, value.digits & ((1 << shift) - 1), 1 << (shift - 1)
    inexact = rest != 0 or value.more
    if rounding == "rn":
        return digits + (rest > half or (rest == half and (value.more or digits & 1 == 1)))
    if rounding == "rna":
        return digits + (rest >= half)
    away = (rounding == "rp" and not value.negative) or (rounding == "rm" and value.negative)
    return digits + (away and inexact)


F16 = Format("f16", 5, 10, nan=0x7FFF)
BF16 = Format("bf16", 8, 7, nan=0x7FFF)
F32 = Format("f32", 8, 23, nan=0x7FFFFFFF)
F64 = Format("f64", 11, 52, nan=0x7FF8000000000000)
E4M3 = Format("e4m3", 4, 3, infinity=False, nan=0x7F)
E5M2 = Format("e5m2", 5, 2, nan=0x7F)
E2M3 = Format("e2m3", 2, 3, infinity=False)
E3M2 = Format("e3m2", 3, 2, infinity=False)
E2M1 = Format("e2m1", 2, 1, infinity=False)
TF32 = Format("tf32", 8, 10, nan=0x3FFFF)
FORMATS = {each.name: each for each in (F16, BF16, F32, F64)}


# --- arithmetic -------------------------------------------------------------------------------------------------------


def add(a: Value, b: Value, rounding: str = "rn") -> Value:
    """Exactly a + b. A sum of zero is positive, but for rm, and unless both are negative zeros."""
    if a is None or b is None:
        return None
    if a.infinite or b.infinite:
        if a.infinite and b.infinite and a.negative != b.negative:
            return None
        return a if a.infinite else b
    power = min(a.power, b.power)
    total = scaled(a, power) + scaled(b, power)
    if total == 0:
        both = a.negative and b.negative
        either = a.negative or b.negative
        exact_zeros = a.zero and b.zero
        if rounding == "rm":
            return Number(either if exact_zeros else True, 0)
        return Number(both, 0)
    return Number(total < 0, abs(total), power)


def multiply(a: Value, b: Value) -> Value:
    if a is None or b is None:
        return None
    negative = a.negative != b.negative
    if a.digits is None or b.digits is None:
        return None if a.zero or b.zero else Number(negative, None)
    return Number(negative, a.digits * b.digits, a.power + b.power)


def divide(a: Value, b: Value, places: int = 80) -> Value:
    """a / b with at least so many digits, and whether there are more."""
    if a is None or b is None:
        return None
    negative = a.negative != b.negative
    if a.digits is None or b.digits is None:
        if a.infinite and b.infinite:
            return None
        return Number(negative, None if a.infinite else 0)
    if b.zero:
        return None if a.zero else Number(negative, None)
    shift = max(0, places + b.digits.bit_length() - a.digits.bit_length())
    quotient, rest = divmod(a.digits << shift, b.digits)
    return Number(negative, quotient, a.power - b.power - shift, rest != 0)


def square_root(a: Value, places: int = 80) -> Value:
    if a is None or a.zero:
        return a
    if a.negative:
        return None
    if a.digits is None:
        return a
    shift = max(0, 2 * places - a.digits.bit_length())
    shift += (a.power - shift) % 2
    square = a.digits << shift
    root = math.isqrt(square)
    return Number(False, root, (a.power - shift) // 2, root * root != square)


def to_integer(value: Number, rounding: str) -> int:
    """A finite number, rounded to a whole one: rni, rzi, rmi, rpi."""
    return (-1 if value.negative else 1) * _rounded(value, 0, rounding[:2])
