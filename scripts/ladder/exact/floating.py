"""Floating-point arithmetic, comparisons and selections (PTX ISA 9.7.3 to 9.7.7)."""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Callable

from ladder.exact import number
from ladder.exact.form import AnyNan, Bits, Form, form
from ladder.exact.integers import KINDS, low, number_of
from ladder.exact.number import BF16, F16, F32, F64, Format, Number, Value

ROUNDINGS = ("rn", "rz", "rm", "rp")


def saturated(value: Value) -> Value:
    """.sat: between 0 and 1; NaN is 0, and so is a zero of any sign."""
    if value is None or value.negative or value.zero:
        return number.ZERO
    return value if number.is_less(value, number.ONE) else number.ONE


def rectified(value: Value) -> Value:
    """.relu: nothing below zero; NaN stays."""
    return number.ZERO if value is not None and value.negative else value


class Arithmetic:
    """What modifiers make of an exact result: from bits to bits of one format."""

    def __init__(self, form: Format, modifiers: str = ""):
        self.form = form
        self.words = modifiers.split(".")
        self.rounding = next((word for word in self.words if word in ROUNDINGS), "rn")
        self.flush = "ftz" in self.words

    def read(self, bits: int) -> Value:
        return self.form.read(bits, self.flush)

    def write(self, value: Value) -> int:
        if "relu" in self.words:
            value = rectified(value)
        if "sat" in self.words:
            # Clamping first and rounding then gives the same, for 0 and 1 are of every format.
            value = saturated(value)
        return self.form.write(value, self.rounding, self.flush)

    def add(self, a: int, b: int) -> int:
        return self.write(number.add(self.read(a), self.read(b), self.rounding))

    def sub(self, a: int, b: int) -> int:
        b_value = self.read(b)
        return self.write(number.add(self.read(a), None if b_value is None else -b_value, self.rounding))

    def mul(self, a: int, b: int) -> int:
        return self.write(number.multiply(self.read(a), self.read(b)))

    def fma(self, a: int, b: int, c: int) -> int:
        return self.write(number.add(number.multiply(self.read(a), self.read(b)), self.read(c), self.rounding))

    def div(self, a: int, b: int) -> int:
        return self.write(number.divide(self.read(a), self.read(b)))

    def rcp(self, a: int) -> int:
        return self.write(number.divide(number.ONE, self.read(a)))

    def sqrt(self, a: int) -> int:
        return self.write(number.square_root(self.read(a)))

    def least(self, *bits: int) -> int:
        """min or max: the number, if one is none, unless .NaN; -0 is below +0; with .xorsign.abs of magnitudes, and the
        sign is that of the product."""
        values = [self.read(each) for each in bits]
        numbers = [each for each in values if each is not None]
        if not numbers or ("NaN" in self.words and len(numbers) < len(values)):
            return self.form.write(None)
        if "abs" in self.words:
            numbers = [abs(each) for each in numbers]
        best = numbers[0]
        for each in numbers[1:]:
            smaller = number.is_less(each, best) or (each.zero and best.zero and each.negative and not best.negative)
            larger = number.is_less(best, each) or (each.zero and best.zero and best.negative and not each.negative)
            if smaller if "min" in self.words else larger:
                best = each
        result = self.form.write(best)
        if "xorsign" in self.words and (bits[0] ^ bits[1]) & self.form.sign:
            result |= self.form.sign
        return result


def halves(operation: Callable[..., int], bits: int) -> Callable[..., int]:
    """The same for both elements of a pair."""
    def paired(*words: int) -> int:
        parts = [operation(*(low(word >> at, bits) for word in words)) for at in (0, bits)]
        return parts[0] | parts[1] << bits
    return paired


def _pair_or_one(name: str, form_of: Format) -> list[tuple[str, Callable[..., Callable[..., int]]]]:
    return [(name, lambda operation: operation),
            (f"{name}x2", lambda operation, bits=form_of.bits: halves(operation, bits))]


OPERANDS = ("%a", "%a, %b", "%a, %b, %c")


def _plain(text: str, kind: str, count: int, model: Callable[..., object], hopper: bool = True) -> Form:
    inputs = ", ".join(f"{name} {kind}" for name in "abc"[:count])
    return form(f"{text} %d, {OPERANDS[count - 1]};", inputs, f"d {kind}", model, hopper=hopper)


def arithmetic() -> Iterator[Form]:
    for rounding, flush, clamp in itertools.product(ROUNDINGS, ("", ".ftz"), ("", ".sat")):
        modifiers = f"{rounding}{flush}{clamp}"
        f32 = Arithmetic(F32, modifiers)
        yield _plain(f"add.{modifiers}.f32", "f32", 2, f32.add)
        yield _plain(f"sub.{modifiers}.f32", "f32", 2, f32.sub)
        yield _plain(f"mul.{modifiers}.f32", "f32", 2, f32.mul)
        yield _plain(f"fma.{modifiers}.f32", "f32", 3, f32.fma)
        if clamp:
            continue
        for name, count in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            yield _plain(f"{name}.{modifiers}.f32", "f32", count, getattr(f32, name))
        for name, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
            yield _plain(f"{name}.{modifiers}.f32x2", "f32x2", count, halves(getattr(f32, name), 32), hopper=False)
        if flush:
            continue
        f64 = Arithmetic(F64, modifiers)
        for name, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
            yield _plain(f"{name}.{rounding}.f64", "f64", count, any_nan(getattr(f64, name), F64))
    for modifiers in ("", ".ftz", ".sat", ".ftz.sat"):  # to nearest, if nothing is said
        f32 = Arithmetic(F32, modifiers)
        yield _plain(f"add{modifiers}.f32", "f32", 2, f32.add)
        yield _plain(f"mul{modifiers}.f32", "f32", 2, f32.mul)
    for rounding in ROUNDINGS:
        for clamp in ("", ".sat"):
            for half in (F16, BF16):
                yield from _mixed(half, rounding, clamp)


def any_nan(operation: Callable[..., int], form_of: Format) -> Callable[..., Bits]:
    """Its payload is open."""
    def result(*words: int) -> Bits:
        bits = operation(*words)
        return AnyNan(form_of) if form_of.is_nan(bits) else bits
    return result


def _mixed(half: Format, rounding: str, clamp: str) -> Iterator[Form]:
    """FP32 arithmetic with operands of 16 bits."""
    f32 = Arithmetic(F32, f"{rounding}{clamp}")

    def wide(bits: int) -> int:
        return F32.write(half.read(bits))

    text = f".{rounding}{clamp}.f32.{half.name} %d, %a, "
    one, two = f"a {half.name}, c f32", f"a {half.name}, b {half.name}, c f32"
    yield form(f"add{text}%c;", one, "d f32", lambda a, c: f32.add(wide(a), c), hopper=False)
    yield form(f"sub{text}%c;", one, "d f32", lambda a, c: f32.sub(wide(a), c), hopper=False)
    yield form(f"fma{text}%b, %c;", two, "d f32", lambda a, b, c: f32.fma(wide(a), wide(b), c), hopper=False)


def half_precision() -> Iterator[Form]:
    for name, both in _pair_or_one("f16", F16):
        for flush, clamp in itertools.product(("", ".ftz"), ("", ".sat")):
            f16 = Arithmetic(F16, f"{flush}{clamp}")
            for rounding in ("", ".rn"):
                for operation in ("add", "sub", "mul"):
                    yield _plain(f"{operation}{rounding}{flush}{clamp}.{name}", name, 2, both(getattr(f16, operation)))
            yield _plain(f"fma.rn{flush}{clamp}.{name}", name, 3, both(f16.fma))
        for flush in ("", ".ftz"):
            yield _plain(f"fma.rn{flush}.relu.{name}", name, 3, both(Arithmetic(F16, f"{flush}.relu").fma))
    for name, both in _pair_or_one("bf16", BF16):
        bf16 = Arithmetic(BF16)
        for operation in ("add", "sub", "mul"):
            yield _plain(f"{operation}.{name}", name, 2, both(getattr(bf16, operation)))
        yield _plain(f"fma.rn.{name}", name, 3, both(bf16.fma))
        yield _plain(f"fma.rn.relu.{name}", name, 3, both(Arithmetic(BF16, "relu").fma))


def extremes() -> Iterator[Form]:
    for operation in ("min", "max"):
        for flush, nan, sign in itertools.product(("", ".ftz"), ("", ".NaN"), ("", ".xorsign.abs")):
            modifiers = f"{flush}{nan}{sign}"
            for half in (F32, F16, BF16):
                if half is BF16 and flush:
                    continue
                for name, both in _pair_or_one(half.name, half)[:1 if half is F32 else 2]:
                    yield _plain(f"{operation}{modifiers}.{name}", name, 2,
                                 both(Arithmetic(half, f"{operation}{modifiers}").least))
        yield _plain(f"{operation}.f64", "f64", 2, any_nan(Arithmetic(F64, operation).least, F64))
        for flush, nan, sign in itertools.product(("", ".ftz"), ("", ".NaN"), ("", ".abs")):
            modifiers = f"{flush}{nan}{sign}"
            yield _plain(f"{operation}{modifiers}.f32", "f32", 3, Arithmetic(F32, f"{operation}{modifiers}").least,
                         hopper=False)


def signs() -> Iterator[Form]:
    changes: dict[str, Callable[[Number], Number]] = {"abs": abs, "neg": operator.neg}
    for flush in ("", ".ftz"):
        for name, change in changes.items():
            for of in (F32, F64, F16, BF16):
                if flush and of in (F64, BF16):
                    continue

                def changed(bits: int, of: Format = of, flush: bool = bool(flush),
                            change: Callable[[Number], Number] = change) -> Bits:
                    value = of.read(bits, flush)
                    return AnyNan(of) if value is None else of.write(change(value))

                kind = of.name
                yield form(f"{name}{flush}.{kind} %d, %a;", f"a {kind}", f"d {kind}", changed)
                if of in (F16, BF16):
                    yield form(f"{name}{flush}.{kind}x2 %d, %a;", f"a {kind}x2.number", f"d {kind}x2",
                               halves(changed, 16))  # type: ignore[arg-type]
    for of in (F32, F64):
        kind = of.name
        yield form(f"copysign.{kind} %d, %a, %b;", f"a {kind}, b {kind}", f"d {kind}",
                   lambda a, b, of=of: a & of.sign | b & (of.sign - 1))
        tests: dict[str, Callable[[Format, int], bool]] = {
            "finite": lambda of, a: (value := of.read(a)) is not None and not value.infinite,
            "infinite": lambda of, a: (value := of.read(a)) is not None and value.infinite,
            "number": lambda of, a: not of.is_nan(a),
            "notanumber": lambda of, a: of.is_nan(a),
            "normal": lambda of, a: (value := of.read(a)) is not None and not value.infinite and
            not of.is_subnormal(a),
            "subnormal": lambda of, a: of.is_subnormal(a)}
        for name, test in tests.items():
            yield form(f"testp.{name}.{kind} %p, %a;", f"a {kind}", "p pred",
                       lambda a, of=of, test=test: int(test(of, a)))


# --- comparisons ------------------------------------------------------------------------------------------------------

ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu")
BOOLEANS: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def compared(name: str, less: bool, equal: bool) -> bool:
    return {"eq": equal, "ne": not equal, "lt": less, "le": less or equal, "gt": not less and not equal,
            "ge": not less, "lo": less, "ls": less or equal, "hi": not less and not equal, "hs": not less}[name]


def compare_reals(name: str, a: Value, b: Value) -> bool:
    if name in ("num", "nan"):
        return (a is not None and b is not None) == (name == "num")
    if a is None or b is None:
        return name in UNORDERED
    return compared(name.rstrip("u") if name in UNORDERED else name, number.is_less(a, b), number.is_equal(a, b))


def _compare_integers(name: str, kind: str, a: int, b: int) -> bool:
    return compared(name, number_of(a, kind) < number_of(b, kind), number_of(a, kind) == number_of(b, kind))


def _compare_bits(name: str, of: Format, flush: bool, a: int, b: int) -> bool:
    return compare_reals(name, of.read(a, flush), of.read(b, flush))


def _comparisons() -> Iterator[tuple[str, str, str, Callable[[int, int], bool]]]:
    """The words between setp and the operands, the type, its operands' kind, and what is compared."""
    for kind in KINDS:
        names = ORDERED + (("lo", "ls", "hi", "hs") if kind[0] == "u" else ())
        for name in names:
            yield name, kind, f"b{kind[1:]}", functools.partial(_compare_integers, name, kind)
    for bits in (16, 32, 64):
        for name in ("eq", "ne"):
            yield name, f"b{bits}", f"b{bits}", functools.partial(_compare_integers, name, f"u{bits}")
    for of in (F32, F64, F16, BF16):
        for name in (*ORDERED, *UNORDERED, "num", "nan"):
            for flush in ("", ".ftz") if of in (F32, F16) else ("",):
                yield f"{name}{flush}", of.name, of.name, functools.partial(_compare_bits, name, of, bool(flush))


def comparisons() -> Iterator[Form]:
    for turn, (words, kind, operand, test) in enumerate(_comparisons()):
        two = f"a {operand}, b {operand}"
        name, _, flush = words.partition(".")
        flush = f".{flush}" if flush else ""
        yield form(f"setp.{words}.{kind} %p, %a, %b;", two, "p pred", lambda a, b, test=test: int(test(a, b)))
        # Each of the other shapes comes with every comparison sooner or later: they go round.
        boolean = tuple(BOOLEANS)[turn % 3]
        negated = "!" if turn % 2 else ""

        def joined(a: int, b: int, c: int, test: Callable[[int, int], bool] = test, boolean: str = boolean,
                   negated: str = negated) -> tuple[int, int]:
            third = c ^ bool(negated)
            truth = int(test(a, b))
            return BOOLEANS[boolean](truth, third), BOOLEANS[boolean](1 - truth, third)

        second = "" if kind in ("f16", "bf16") else "|%q"
        yield form(f"setp.{name}.{boolean}{flush}.{kind} %p{second}, %a, %b, {negated}%c;", f"{two}, c pred",
                   "p pred, q pred" if second else "p pred",
                   joined if second else lambda a, b, c, joined=joined: joined(a, b, c)[0])
        yield _set(turn, f"{name}{flush}", kind, two, test)
        yield form(f"set.{name}.{boolean}{flush}.u32.{kind} %d, %a, %b, {negated}%c;", f"{two}, c pred", "d b32",
                   lambda a, b, c, joined=joined: 0xFFFFFFFF if joined(a, b, c)[0] else 0)
    for of in (F16, BF16):
        for name in (*ORDERED, *UNORDERED, "num", "nan"):
            for flush in ("", ".ftz") if of is F16 else ("",):
                yield from _pairs(of, name, flush)


def _set(turn: int, words: str, kind: str, two: str, test: Callable[[int, int], bool]) -> Form:
    if kind in ("f16", "bf16"):
        results = [(kind, "b16", 0x3C00 if kind == "f16" else 0x3F80), ("u16", "b16", 0xFFFF), ("s16", "b16", 0xFFFF),
                   ("u32", "b32", 0xFFFFFFFF), ("s32", "b32", 0xFFFFFFFF)]
    else:
        results = [("f32", "b32", 0x3F800000), ("u32", "b32", 0xFFFFFFFF), ("s32", "b32", 0xFFFFFFFF)]
    result, register, true = results[turn % len(results)]
    return form(f"set.{words}.{result}.{kind} %d, %a, %b;", two, f"d {register}",
                lambda a, b: true if test(a, b) else 0)


def _pairs(of: Format, name: str, flush: str) -> Iterator[Form]:
    kind, two = f"{of.name}x2", f"a {of.name}x2, b {of.name}x2"

    def tests(a: int, b: int, at: int) -> bool:
        return compare_reals(name, of.read(low(a >> at, 16), bool(flush)), of.read(low(b >> at, 16), bool(flush)))

    one = 0x3C00 if of is F16 else 0x3F80
    yield form(f"setp.{name}{flush}.{kind} %p|%q, %a, %b;", two, "p pred, q pred",
               lambda a, b: (int(tests(a, b, 0)), int(tests(a, b, 16))))
    for result, true in ((kind, one), ("u32", 0xFFFF)):
        yield form(f"set.{name}{flush}.{result}.{kind} %d, %a, %b;", two, "d b32",
                   lambda a, b, true=true: (true if tests(a, b, 0) else 0) | (true << 16 if tests(a, b, 16) else 0))


def selections() -> Iterator[Form]:
    for kind in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        register = kind if kind[0] == "f" else f"b{kind[1:]}"
        yield form(f"selp.{kind} %d, %a, %b, %p;", f"a {register}, b {register}, p pred", f"d {register}",
                   lambda a, b, p: a if p else b)
        yield form(f"slct.{kind}.s32 %d, %a, %b, %c;", f"a {register}, b {register}, c b32", f"d {register}",
                   lambda a, b, c: b if c >> 31 else a)
        for flush in ("", ".ftz"):
            def by_sign(a: int, b: int, c: int, flush: bool = bool(flush)) -> int:
                value = F32.read(c, flush)
                return a if value is not None and (value.zero or not value.negative) else b
            yield form(f"slct{flush}.{kind}.f32 %d, %a, %b, %c;", f"a {register}, b {register}, c f32",
                       f"d {register}", by_sign)


def forms() -> Iterator[Form]:
    yield from arithmetic()
    yield from half_precision()
    yield from extremes()
    yield from signs()
    yield from comparisons()
    yield from selections()
