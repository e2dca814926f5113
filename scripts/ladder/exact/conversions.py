"""cvt between all types (PTX ISA 9.7.9.21, 9.7.9.22)."""
from __future__ import annotations

import itertools
from collections.abc import Iterator

from ladder.exact import number
from ladder.exact.floating import ROUNDINGS, rectified, saturated
from ladder.exact.form import AnyNan, Bits, Form, form
from ladder.exact.integers import clamped, low, number_of, signed
from ladder.exact.number import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, F64, FORMATS, TF32, Format

INTEGERS = [f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "us"]
REALS = (F16, BF16, F32, F64)


def _register(kind: str) -> str:
    """Of bytes: a register of 16 bits."""
    return kind if kind in FORMATS else f"b{max(int(kind[1:]), 16)}"


def _in_register(value: int, kind: str) -> int:
    """A register that is wider than the type holds the number, extended as the type says."""
    return low(number_of(value, kind), max(int(kind[1:]), 16))


def _loses(to: str, of: str) -> bool:
    """Are there numbers of the one type that are none of the other?"""
    def reach(kind: str) -> tuple[int, int]:
        bits = int(kind[1:])
        return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return reach(of)[0] < reach(to)[0] or reach(of)[1] > reach(to)[1]


def between_integers() -> Iterator[Form]:
    for to, of in itertools.product(INTEGERS, INTEGERS):
        for clamp in ("", ".sat") if _loses(to, of) else ("",):
            def converted(a: int, to: str = to, of: str = of, clamp: str = clamp) -> int:
                value = number_of(a, of)
                return _in_register(clamped(value, to) if clamp else value, to)
            yield form(f"cvt{clamp}.{to}.{of} %d, %a;", f"a {_register(of)}", f"d {_register(to)}", converted)


def to_integers() -> Iterator[Form]:
    """Saturating; NaN is 0, but from FP64 or to 64 bits the number with the highest bit alone."""
    for to, of in itertools.product(INTEGERS, REALS):
        for rounding, flush, clamp in itertools.product(("rni", "rzi", "rmi", "rpi"), ("", ".ftz"), ("", ".sat")):
            if (flush and of is not F32) or (clamp and rounding != "rzi") or (of is BF16 and (clamp or to[1:] == "8")):
                continue

            def converted(a: int, to: str = to, of: Format = of, rounding: str = rounding,
                          flush: bool = bool(flush)) -> int:
                value, bits = of.read(a, flush), int(to[1:])
                if value is None:
                    return _in_register(1 << (bits - 1) if of is F64 or bits == 64 else 0, to)
                if value.infinite:
                    return _in_register(clamped(-(1 << 99) if value.negative else 1 << 99, to), to)
                return _in_register(clamped(number.to_integer(value, rounding), to), to)

            yield form(f"cvt.{rounding}{flush}{clamp}.{to}.{of.name} %d, %a;", f"a {of.name}", f"d {_register(to)}",
                       converted)


def from_integers() -> Iterator[Form]:
    for to, of in itertools.product(REALS, INTEGERS):
        for rounding, clamp in itertools.product(ROUNDINGS, ("", ".sat")):
            if to is BF16 and (clamp or of[1:] == "8"):
                continue

            def converted(a: int, to: Format = to, of: str = of, rounding: str = rounding, clamp: str = clamp) -> int:
                value = number.whole(number_of(a, of))
                return to.write(saturated(value) if clamp else value, rounding)

            yield form(f"cvt.{rounding}{clamp}.{to.name}.{of} %d, %a;", f"a {_register(of)}", f"d {to.name}", converted)


def between_reals() -> Iterator[Form]:
    for to, of in itertools.product(REALS, REALS):
        # A wider format holds every number of the narrower one; BF16 and F16 hold each other's neither way.
        widens = to.fraction_bits >= of.fraction_bits and to.exponent_bits >= of.exponent_bits and to is not of
        for flush, clamp in itertools.product(("", ".ftz"), ("", ".sat")):
            if flush and F32 not in (to, of):
                continue
            if clamp and BF16 in (to, of):
                continue
            if to is of:
                roundings: tuple[str, ...] = ("rni", "rzi", "rmi", "rpi")
            else:
                roundings = ("",) if widens else ROUNDINGS
            for rounding in roundings:
                dotted = f".{rounding}" if rounding else ""
                kind = of.name if widens or to is of else f"{of.name}.{to.name}"
                yield form(f"cvt{dotted}{flush}{clamp}.{to.name}.{of.name} %d, %a;", f"a {kind}", f"d {to.name}",
                           _real(to, of, rounding or "rn", bool(flush), bool(clamp)))


def _real(to: Format, of: Format, rounding: str, flush: bool, clamp: bool):  # type: ignore[no-untyped-def]
    def converted(a: int) -> Bits:
        # Against the text, hardware flushes no input on its way to F16.
        value = of.read(a, flush and of is F32 and to is not F16)
        if value is not None and not value.infinite and rounding.endswith("i"):
            rounded = number.to_integer(value, rounding)
            value = number.Number(value.negative, abs(rounded))
        bits = to.write(saturated(value) if clamp else value, rounding[:2], flush and to is F32)
        return AnyNan(to) if to.is_nan(bits) and (of is F64 or to in (F32, F64)) else bits
    return converted


def narrow() -> Iterator[Form]:
    """To formats of 16 bits with .relu and .satfinite, and pairs of them; to TF32, FP8, FP6, FP4 and back."""
    for to, rounding, relu, finite in itertools.product((F16, BF16), ("rn", "rz"), ("", ".relu"), ("", ".satfinite")):
        def one(a: int, to: Format = to, rounding: str = rounding, relu: str = relu, finite: str = finite) -> int:
            value = F32.read(a)
            return to.write(rectified(value) if relu else value, rounding, finite=bool(finite))
        near = f"f32.{to.name}"
        yield form(f"cvt.{rounding}{relu}{finite}.{to.name}.f32 %d, %a;", f"a {near}", f"d {to.name}", one)
        yield form(f"cvt.{rounding}{relu}{finite}.{to.name}x2.f32 %d, %a, %b;", f"a {near}, b {near}", "d b32",
                   lambda a, b, one=one: one(a) << 16 | one(b))
    for rounding, relu, finite in itertools.product(("rna", "rn", "rz"), ("", ".relu"), ("", ".satfinite")):
        if rounding == "rna" and relu:
            continue

        def tf32(a: int, rounding: str = rounding, relu: str = relu, finite: str = finite) -> Bits:
            value = F32.read(a)
            if value is None:
                return AnyNan(F32)
            return TF32.write(rectified(value) if relu else value, rounding, finite=bool(finite)) << 13
        yield form(f"cvt.{rounding}{relu}{finite}.tf32.f32 %d, %a;", "a f32.tf32", "d b32", tf32,
                   hopper=rounding == "rna" or not finite)
    for to in (E4M3, E5M2, E2M3, E3M2):
        eight = to in (E4M3, E5M2)
        for relu in ("", ".relu"):
            def byte(a: int, of: Format, to: Format = to, relu: str = relu) -> int:
                value = of.read(a)
                return to.write(rectified(value) if relu else value, finite=True)
            near = f"f32.{to.name}"
            yield form(f"cvt.rn.satfinite{relu}.{to.name}x2.f32 %d, %a, %b;", f"a {near}, b {near}", "d b16",
                       lambda a, b, byte=byte: byte(a, F32) << 8 | byte(b, F32), hopper=eight)
            if eight:
                yield form(f"cvt.rn.satfinite{relu}.{to.name}x2.f16x2 %d, %a;", f"a f16x2.{to.name}", "d b16",
                           lambda a, byte=byte: byte(a >> 16, F16) << 8 | byte(a & 0xFFFF, F16))
            mask = 2 * to.sign - 1

            def wide(a: int, to: Format = to, relu: str = relu, mask: int = mask) -> int:
                values = [to.read(a >> at & mask) for at in (0, 8)]
                halves = [F16.write(rectified(each) if relu else each) for each in values]
                return halves[0] | halves[1] << 16
            text = f"cvt.rn{relu}.f16x2.{to.name}x2 %d, %a;"
            if eight:
                yield form(text, "a b16", "d b32", wide)
            else:  # the two highest bits of each byte are zero
                yield form(f"and.b16 %a, %a, 0x3f3f; {text}", "a b16", "d b32", wide, hopper=False)
    for relu in ("", ".relu"):
        def four_bits(a: int, relu: str = relu) -> int:
            value = F32.read(a)
            return E2M1.write(rectified(value) if relu else value, finite=True)

        def from_four_bits(a: int, relu: str = relu) -> int:
            values = [E2M1.read(a >> at & 15) for at in (0, 4)]
            halves = [F16.write(rectified(each) if relu else each) for each in values]
            return halves[0] | halves[1] << 16
        yield form(f".reg .b8 byte; cvt.rn.satfinite{relu}.e2m1x2.f32 byte, %a, %b; cvt.u16.u8 %d, byte;",
                   "a f32.e2m1, b f32.e2m1", "d b16", lambda a, b, f=four_bits: f(a) << 4 | f(b), hopper=False)
        yield form(f".reg .b8 byte; cvt.u8.u16 byte, %a; cvt.rn{relu}.f16x2.e2m1x2 %d, byte;", "a b16", "d b32",
                   from_four_bits, hopper=False)
    for rounding in ("rz", "rp"):
        def exponent(a: int, rounding: str = rounding) -> int:
            """Powers of two from 2^-127 on, of magnitudes; 255 is not a number."""
            value = F32.read(a)
            if value is None or value.digits is None:
                return 255 if value is None else 254
            if value.zero:
                return 0
            places = value.digits.bit_length() - 1
            power = value.power + places
            if rounding == "rp" and value.digits != 1 << places:
                power += 1
            return max(0, min(power + 127, 254))
        yield form(f"cvt.{rounding}.satfinite.ue8m0x2.f32 %d, %a, %b;", "a f32.power, b f32.power", "d b16",
                   lambda a, b, exponent=exponent: exponent(a) << 8 | exponent(b), hopper=False)
        yield form(f"cvt.{rounding}.satfinite.ue8m0x2.bf16x2 %d, %a;", "a bf16x2.power", "d b16",
                   lambda a, exponent=exponent: exponent(a >> 16 << 16) << 8 | exponent(a << 16 & 0xFFFFFFFF),
                   hopper=False)

    def power_of_two(a: int) -> int:
        return BF16.write(None if a == 255 else number.Number(False, 1, a - 127))
    yield form("cvt.rn.bf16x2.ue8m0x2 %d, %a;", "a b16", "d b32",
               lambda a: power_of_two(a & 255) | power_of_two(a >> 8) << 16, hopper=False)


def packed() -> Iterator[Form]:
    """cvt.pack: b to the lowest bits, a above it; of the narrow ones c above both."""
    for kind in ("u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"):
        bits = int(kind[1:])

        def pair(a: int, b: int, c: int = 0, kind: str = kind, bits: int = bits) -> int:
            return low(c << 2 * bits | clamped(signed(a, 32), kind) << bits | clamped(signed(b, 32), kind), 32)
        if bits == 16:
            yield form(f"cvt.pack.sat.{kind}.s32 %d, %a, %b;", "a b32, b b32", "d b32", pair)
        else:
            yield form(f"cvt.pack.sat.{kind}.s32.b32 %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32", pair)


def forms() -> Iterator[Form]:
    yield from packed()
    yield from between_integers()
    yield from to_integers()
    yield from from_integers()
    yield from between_reals()
    yield from narrow()
