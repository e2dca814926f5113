"""Integers, bits, carries, logic (PTX ISA 9.7.1, 9.7.2, 9.7.8)."""
from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Callable

from ladder.exact.form import Form, form


def low(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    value = low(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def number_of(value: int, kind: str) -> int:
    """What bits mean as u32, s16..."""
    bits = int(kind[1:])
    return signed(value, bits) if kind[0] == "s" else low(value, bits)


def clamped(value: int, kind: str) -> int:
    bits = int(kind[1:])
    least, greatest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return low(max(least, min(greatest, value)), bits)


KINDS = [f"{sign}{bits}" for bits in (16, 32, 64) for sign in "us"]


def _kind(kind: str) -> str:
    return f"b{kind[1:]}"


def arithmetic() -> Iterator[Form]:
    for kind in KINDS:
        bits, r = int(kind[1:]), _kind(kind)
        two, three, out = f"a {r}, b {r}", f"a {r}, b {r}, c {r}", f"d {r}"

        def n(value: int, kind: str = kind) -> int:
            return number_of(value, kind)

        def binary(operation: Callable[[int, int], int], n: Callable[[int], int] = n,
                   bits: int = bits) -> Callable[[int, int], int]:
            return lambda a, b: low(operation(n(a), n(b)), bits)

        def ternary(operation: Callable[[int, int, int], int], n: Callable[[int], int] = n,
                    bits: int = bits) -> Callable[[int, int, int], int]:
            return lambda a, b, c: low(operation(n(a), n(b), n(c)), bits)

        yield form(f"add.{kind} %d, %a, %b;", two, out, binary(lambda a, b: a + b))
        yield form(f"sub.{kind} %d, %a, %b;", two, out, binary(lambda a, b: a - b))
        yield form(f"mul.lo.{kind} %d, %a, %b;", two, out, binary(lambda a, b: a * b))
        yield form(f"mul.hi.{kind} %d, %a, %b;", two, out, binary(lambda a, b, s=bits: a * b >> s))  # type: ignore[misc]
        yield form(f"mad.lo.{kind} %d, %a, %b, %c;", three, out, ternary(lambda a, b, c: a * b + c))
        yield form(f"mad.hi.{kind} %d, %a, %b, %c;", three, out,
                   ternary(lambda a, b, c, s=bits: (a * b >> s) + c))  # type: ignore[misc]
        yield form(f"min.{kind} %d, %a, %b;", two, out, binary(min))
        yield form(f"max.{kind} %d, %a, %b;", two, out, binary(max))
        yield form(f"sad.{kind} %d, %a, %b, %c;", three, out, ternary(lambda a, b, c: c + abs(a - b)))
        divisor = f"a {r}, b {r}.nonzero"
        yield form(f"div.{kind} %d, %a, %b;", divisor, out, binary(quotient))
        yield form(f"rem.{kind} %d, %a, %b;", divisor, out, binary(remainder))
        if bits < 64:
            wide = f"b{2 * bits}"
            yield form(f"mul.wide.{kind} %d, %a, %b;", two, f"d {wide}",
                       lambda a, b, n=n, w=2 * bits: low(n(a) * n(b), w))
            yield form(f"mad.wide.{kind} %d, %a, %b, %c;", f"{two}, c {wide}", f"d {wide}",
                       lambda a, b, c, n=n, w=2 * bits: low(n(a) * n(b) + c, w))
        if kind[0] == "s":
            yield form(f"abs.{kind} %d, %a;", f"a {r}", out, lambda a, n=n, bits=bits: low(abs(n(a)), bits))
            yield form(f"neg.{kind} %d, %a;", f"a {r}", out, lambda a, n=n, bits=bits: low(-n(a), bits))
    for name, sign in (("add", 1), ("sub", -1)):
        yield form(f"{name}.sat.s32 %d, %a, %b;", "a b32, b b32", "d b32",
                   lambda a, b, sign=sign: clamped(signed(a, 32) + sign * signed(b, 32), "s32"))
    yield form("mad.hi.sat.s32 %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32",
               lambda a, b, c: clamped((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32), "s32"))
    pick: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
    for name, operation in pick.items():
        yield form(f"{name}.relu.s32 %d, %a, %b;", "a b32, b b32", "d b32",
                   lambda a, b, operation=operation: max(operation(signed(a, 32), signed(b, 32)), 0))
    for kind, half in (("u16x2", "u16"), ("s16x2", "s16")):
        for name, operation in {"add": operator.add, **pick}.items():
            def paired(a: int, b: int, half: str = half, operation: Callable[[int, int], int] = operation) -> int:
                parts = [low(operation(number_of(a >> at, half), number_of(b >> at, half)), 16) for at in (0, 16)]
                return parts[0] | parts[1] << 16
            yield form(f"{name}.{kind} %d, %a, %b;", "a b16x2, b b16x2", "d b32", paired)
            if kind == "s16x2" and name != "add":
                def clipped(a: int, b: int, paired: Callable[[int, int], int] = paired) -> int:
                    both = paired(a, b)
                    return sum(max(signed(both >> at, 16), 0) << at for at in (0, 16))
                yield form(f"{name}.relu.{kind} %d, %a, %b;", "a b16x2, b b16x2", "d b32", clipped)
    for kind in ("u32", "s32"):
        def factor(value: int, kind: str = kind) -> int:
            return signed(value, 24) if kind == "s32" else low(value, 24)
        for part, down in (("lo", 0), ("hi", 16)):
            yield form(f"mul24.{part}.{kind} %d, %a, %b;", "a b32, b b32", "d b32",
                       lambda a, b, f=factor, down=down: low(f(a) * f(b) >> down, 32))
            yield form(f"mad24.{part}.{kind} %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32",
                       lambda a, b, c, f=factor, down=down: low((f(a) * f(b) >> down) + c, 32))
    yield form("mad24.hi.sat.s32 %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32",
               lambda a, b, c: clamped((signed(a, 24) * signed(b, 24) >> 16) + signed(c, 32), "s32"))


def quotient(a: int, b: int) -> int:
    """Rounded to zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b)


def carries() -> Iterator[Form]:
    """Chains of two words; the carry out of the second is the third output."""
    for bits in (32, 64):
        r, t = f"b{bits}", f"u{bits}"
        words, out = f"a {r}, b {r}, c {r}, e {r}", f"d {r}, f {r}, g {r}"

        def added(a: int, b: int, c: int, e: int, bits: int = bits) -> tuple[int, int, int]:
            total = (a | b << bits) + (c | e << bits)
            return low(total, bits), low(total >> bits, bits), total >> 2 * bits

        yield form(f"add.cc.{t} %d, %a, %c; addc.cc.{t} %f, %b, %e; addc.{t} %g, 0, 0;", words, out, added)

        def taken(a: int, b: int, c: int, e: int, bits: int = bits) -> tuple[int, int, int]:
            total = (a | b << bits) - (c | e << bits)
            return low(total, bits), low(total >> bits, bits), low(total >> 2 * bits, bits)

        yield form(f"sub.cc.{t} %d, %a, %c; subc.cc.{t} %f, %b, %e; subc.{t} %g, 0, 0;", words, out, taken)
        for kind in (f"u{bits}", f"s{bits}"):
            def multiplied(a: int, b: int, c: int, e: int, kind: str = kind, bits: int = bits) -> tuple[int, int, int]:
                product = number_of(a, kind) * number_of(b, kind)
                first = low(product, bits) + c
                second = low(product >> bits, bits) + e + (first >> bits)
                return low(first, bits), low(second, bits), second >> bits
            yield form(f"mad.lo.cc.{kind} %d, %a, %b, %c; madc.hi.cc.{kind} %f, %a, %b, %e; addc.{t} %g, 0, 0;", words,
                       out, multiplied)


def logic() -> Iterator[Form]:
    operations: dict[str, Callable[[int, int], int]] = {
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
    for bits in (16, 32, 64):
        r = f"b{bits}"
        for name, operation in operations.items():
            yield form(f"{name}.{r} %d, %a, %b;", f"a {r}, b {r}", f"d {r}", operation)
        yield form(f"not.{r} %d, %a;", f"a {r}", f"d {r}", lambda a, bits=bits: low(~a, bits))
        yield form(f"cnot.{r} %d, %a;", f"a {r}", f"d {r}", lambda a: int(a == 0))
        yield form(f"shl.{r} %d, %a, %b;", f"a {r}, b shift", f"d {r}",
                   lambda a, b, bits=bits: low(a << min(b, bits), bits))
        for sign in "ubs":
            yield form(f"shr.{sign}{bits} %d, %a, %b;", f"a {r}, b shift", f"d {r}",
                       lambda a, b, bits=bits, sign=sign: low((signed(a, bits) if sign == "s" else a) >> min(b, bits),
                                                              bits))
    for name, operation in operations.items():
        yield form(f"{name}.pred %d, %a, %b;", "a pred, b pred", "d pred", operation)
    yield form("not.pred %d, %a;", "a pred", "d pred", lambda a: 1 - a)
    for table in (0x00, 0x96, 0xE8, 0xCA, 0x1B, 0x80, 0x7F, 0xFE, 0x39):
        yield form(f"lop3.b32 %d, %a, %b, %c, {table:#x};", "a b32, b b32, c b32", "d b32",
                   lambda a, b, c, table=table: looked_up(a, b, c, table))
    for boolean in ("or", "and"):
        join = operations[boolean]

        def with_predicate(a: int, b: int, c: int, q: int,
                           join: Callable[[int, int], int] = join) -> tuple[int, int]:
            d = looked_up(a, b, c, 0x1E)
            return d, join(int(d != 0), q)
        yield form(f"lop3.{boolean}.b32 %d|%p, %a, %b, %c, 0x1E, %q;", "a b32, b b32, c b32, q pred", "d b32, p pred",
                   with_predicate)


def looked_up(a: int, b: int, c: int, table: int) -> int:
    result = 0
    for bit in range(32):
        index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
        result |= (table >> index & 1) << bit
    return result


def bits_of_words() -> Iterator[Form]:
    for bits in (32, 64):
        r = f"b{bits}"
        yield form(f"popc.{r} %d, %a;", f"a {r}", "d b32", lambda a: bin(a).count("1"))
        yield form(f"clz.{r} %d, %a;", f"a {r}", "d b32", lambda a, bits=bits: bits - a.bit_length())
        yield form(f"brev.{r} %d, %a;", f"a {r}", f"d {r}",
                   lambda a, bits=bits: int(f"{a:0{bits}b}"[::-1], 2))
        for sign in "us":
            for shift in ("", ".shiftamt"):
                yield form(f"bfind{shift}.{sign}{bits} %d, %a;", f"a {r}", "d b32",
                           lambda a, bits=bits, sign=sign, shift=shift: leading(a, bits, sign, bool(shift)))
            yield form(f"bfe.{sign}{bits} %d, %a, %b, %c;", f"a {r}, b position, c position", f"d {r}",
                       lambda a, b, c, bits=bits, sign=sign: extracted(a, b, c, bits, sign))
        yield form(f"bfi.{r} %d, %a, %b, %c, %e;", f"a {r}, b {r}, c position, e position", f"d {r}",
                   lambda a, b, c, e, bits=bits: inserted(a, b, c, e, bits))
    for direction, mode in itertools.product("lr", ("wrap", "clamp")):
        def funnel(a: int, b: int, c: int, direction: str = direction, mode: str = mode) -> int:
            by = c & 31 if mode == "wrap" else min(c, 32)
            pair = b << 32 | a
            return low(pair << by >> 32, 32) if direction == "l" else low(pair >> by, 32)
        yield form(f"shf.{direction}.{mode}.b32 %d, %a, %b, %c;", "a b32, b b32, c shift", "d b32", funnel)
        for sign in "us" if direction == "l" else "":
            yield form(f"szext.{mode}.{sign}32 %d, %a, %b;", "a b32, b shift", "d b32",
                       lambda a, b, mode=mode, sign=sign: extended(a, b, mode, sign))
    for mode in ("wrap", "clamp"):
        yield form(f"bmsk.{mode}.b32 %d, %a, %b;", "a shift, b shift", "d b32",
                   lambda a, b, mode=mode: mask(a, b, mode))
    yield form("prmt.b32 %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32", permuted)
    for mode, model in PERMUTATIONS.items():
        yield form(f"prmt.b32.{mode} %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32",
                   lambda a, b, c, model=model: chosen(a, b, [model(c & 3, at) for at in range(4)]))
    for a_sign, b_sign in itertools.product("us", "us"):
        def dot4(a: int, b: int, c: int, a_sign: str = a_sign, b_sign: str = b_sign) -> int:
            return low(c + sum(number_of(a >> at, f"{a_sign}8") * number_of(b >> at, f"{b_sign}8")
                               for at in (0, 8, 16, 24)), 32)
        yield form(f"dp4a.{a_sign}32.{b_sign}32 %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32", dot4)
        for part, first in (("lo", 0), ("hi", 16)):
            def dot2(a: int, b: int, c: int, a_sign: str = a_sign, b_sign: str = b_sign, first: int = first) -> int:
                return low(c + sum(number_of(a >> 16 * i, f"{a_sign}16") * number_of(b >> (first + 8 * i), f"{b_sign}8")
                                   for i in (0, 1)), 32)
            yield form(f"dp2a.{part}.{a_sign}32.{b_sign}32 %d, %a, %b, %c;", "a b32, b b32, c b32", "d b32", dot2)
    yield form("fns.b32 %d, %a, %b, %c;", "a b32, b place, c offset", "d b32",
               lambda a, b, c: nth_set(a, b, signed(c, 32)))


def leading(a: int, bits: int, sign: str, as_shift: bool) -> int:
    """bfind: the place of the first bit that is not the sign's."""
    if sign == "s" and a >> (bits - 1):
        a = low(~a, bits)
    if a == 0:
        return 0xFFFFFFFF
    place = a.bit_length() - 1
    return bits - 1 - place if as_shift else place


def extracted(a: int, position: int, length: int, bits: int, sign: str) -> int:
    position, length = position & 255, length & 255
    top = bits - 1
    if length == 0:
        return 0
    fill = a >> min(position + length - 1, top) & 1 if sign == "s" else 0
    field = low(a >> position, length)
    if position + length > bits:
        length = max(bits - position, 0)
        field = low(a >> position, length)
    return low(field | (-fill << length), bits)


def inserted(a: int, b: int, position: int, length: int, bits: int) -> int:
    position, length = position & 255, length & 255
    where = low(((1 << length) - 1) << position, bits)
    return b & ~where | low(a << position, bits) & where


def extended(a: int, b: int, mode: str, sign: str) -> int:
    """szext: sign or zero extension from bit b - 1."""
    length = b & 31 if mode == "wrap" else min(b, 32)
    if length == 0:
        return 0
    return low(signed(a, length) if sign == "s" else low(a, length), 32)


def mask(a: int, b: int, mode: str) -> int:
    """bmsk: b ones from bit a on."""
    a, b = (a & 31, b & 31) if mode == "wrap" else (min(a, 32), min(b, 32))
    return low(((1 << b) - 1) << a, 32)


def permuted(a: int, b: int, c: int) -> int:
    pair, result = b << 32 | a, 0
    for at in range(4):
        selector = c >> 4 * at & 15
        byte = pair >> 8 * (selector & 7) & 0xFF
        if selector & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * at
    return result


def chosen(a: int, b: int, places: list[int]) -> int:
    pair = b << 32 | a
    return sum((pair >> 8 * place & 0xFF) << 8 * at for at, place in enumerate(places))


PERMUTATIONS: dict[str, Callable[[int, int], int]] = {
    "f4e": lambda c, at: c + at,
    "b4e": lambda c, at: (c - at) % 8,
    "rc8": lambda c, at: c,
    "ecl": max,
    "ecr": min,
    "rc16": lambda c, at: 2 * (c & 1) + (at & 1),
}


def nth_set(bits: int, base: int, offset: int) -> int:
    """fns: the place of the offset-th bit that is set, from base on, or down from there if offset is negative."""
    if offset == 0:
        return base if bits >> base & 1 else 0xFFFFFFFF
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [place for place in places if bits >> place & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


def forms() -> Iterator[Form]:
    yield from arithmetic()
    yield from carries()
    yield from logic()
    yield from bits_of_words()
