"""atom and red in global and shared memory (PTX ISA 9.7.13.12, 9.7.13.13).

A warp has 32 cells, and its lanes meet at one, at four, or each has its own. The order of operations that meet is
open, but some order must explain what they return. Each operation maps the value that it returns to the next one, and
the whole is a path that begins at the first value of the cell, ends at its last one, and takes every step once.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Callable, Optional

from ladder.exact.floating import Arithmetic, halves
from ladder.exact.form import BITS, LANES, Form, Row, form
from ladder.exact.integers import low, number_of
from ladder.exact.number import BF16, F16, F32, F64, FORMATS, Format

# What a cell holds, and the operands: what it holds then.
Step = Callable[..., int]

_ORDERS = ("", ".relaxed.gpu", ".acq_rel.cta", ".release.sys", ".acquire.cluster")
_MASKS = (0, 3, 31)


def is_path(first: int, last: int, steps: Sequence[tuple[int, int]]) -> bool:
    """Is there an order of the steps in which each begins where the one before has ended? By Euler: as many steps end
    at every value as begin there, but for the two ends, and all hang together."""
    balance: Counter[int] = Counter()
    beside: defaultdict[int, set[int]] = defaultdict(set)
    balance[first] += 1
    balance[last] -= 1
    for begin, end in steps:
        balance[begin] -= 1
        balance[end] += 1
        beside[begin].add(end)
        beside[end].add(begin)
    if any(balance.values()):
        return False
    reached, rest = {first}, [first]
    while rest:
        fresh = beside[rest.pop()] - reached
        reached |= fresh
        rest += fresh
    return all(begin in reached for begin, _ in steps)


def _addressed(space: str, mask: int) -> str:
    """%own is the lane's own cell, %at the one that it works on."""
    shared = ".shared .align 16 .b8 box[512]; " if space == "shared" else ""
    return (f"{shared}.reg .b32 %cell; .reg .b64 %own, %at; and.b32 %cell, %lane, {mask}; "
            f"mov.u64 %at, {'box' if shared else 'cells'}; mad.wide.u32 %own, %lane, 16, %at; "
            "mad.wide.u32 %at, %cell, 16, %at; ")


def _form(opcode: str, space: str, order: str, name: str, kind: str, mask: int, step: Step, operand_count: int = 1,
          values: Optional[str] = None) -> Form:
    """One operation on cells of a type, `kind` being its registers'."""
    bits = BITS[kind]
    values = values or kind
    is_nan = FORMATS[kind].is_nan if kind in FORMATS else lambda bits: False
    names = "bc"[:operand_count]
    result = "%d, " if opcode == "atom" else ""
    text = (f"{_addressed(space, mask)}st.{space}.b{bits} [%own], %i; bar.warp.sync 0xffffffff; "
            f"{opcode}{order}.{space}.{name} {result}[%at], {', '.join('%' + each for each in names)}; "
            f"bar.warp.sync 0xffffffff; ld.{space}.b{bits} %f, [%own];")
    returns = opcode == "atom"

    def check(rows: Sequence[Row], got: Sequence[Row]) -> str:
        for cell in range(LANES):
            users = [lane for lane in range(LANES) if lane & mask == cell]
            first, last = rows[cell][0], got[cell][-1]
            given = [[hex(each) for each in rows[lane][1:]] for lane in users]
            if returns and len(users) > 1:
                steps = [(got[lane][0], step(got[lane][0], *rows[lane][1:])) for lane in users]
                if not is_path(first, last, steps):
                    return (f"cell {cell} goes from {first:#x} to {last:#x}, and no order of {given} explains what is "
                            f"returned: {[hex(begin) for begin, _ in steps]}")
                continue
            value = first
            for lane in users:
                value = step(value, *rows[lane][1:])
            if value != last and not (is_nan(value) and is_nan(last)):
                return f"cell {cell} goes from {first:#x} to {last:#x}, and must be {value:#x}, with {given}"
            if users and returns and got[cell][0] != first:
                return f"cell {cell} holds {first:#x}, and {got[cell][0]:#x} is returned"
        return ""

    inputs = f"i {values}" + "".join(f", {each} {values}" for each in names)
    outputs = (f"d b{bits}, " if returns else "") + f"f b{bits}"
    return form(text, inputs, outputs, lambda: None, whole_warp=True, check=check)


def _integer_steps() -> Iterator[tuple[str, str, Step, bool]]:
    """Name, registers, what happens; whether the order makes no difference."""
    for bits in (32, 64):
        b = f"b{bits}"
        yield f"and.{b}", b, lambda old, b: old & b, True
        yield f"or.{b}", b, lambda old, b: old | b, True
        yield f"xor.{b}", b, lambda old, b: old ^ b, True
        for sign in "us":
            kind = f"{sign}{bits}"
            if kind != "s64":
                yield f"add.{kind}", b, lambda old, b, bits=bits: low(old + b, bits), True
            yield f"min.{kind}", b, lambda old, b, kind=kind: min(old, b, key=lambda v: number_of(v, kind)), True
            yield f"max.{kind}", b, lambda old, b, kind=kind: max(old, b, key=lambda v: number_of(v, kind)), True
    yield "inc.u32", "b32", lambda old, b: 0 if old >= b else old + 1, False
    yield "dec.u32", "b32", lambda old, b: b if old == 0 or old > b else old - 1, False


def integers() -> Iterator[Form]:
    for turn, (name, kind, step, free) in enumerate(_integer_steps()):
        for i, space in enumerate(("global", "shared")):
            order = _ORDERS[(turn + i) % len(_ORDERS)]
            for mask in _MASKS:
                values = "small" if "inc" in name or "dec" in name else None
                yield _form("atom", space, order, name, kind, mask, step, values=values)
            weak = order if order in ("", ".relaxed.gpu", ".release.sys") else ""
            yield _form("red", space, weak, name, kind, _MASKS[turn % 3] if free else 31, step)
    for turn, bits in enumerate((16, 32, 64)):
        for i, space in enumerate(("global", "shared")):
            order, b = _ORDERS[(turn + i) % len(_ORDERS)], f"b{bits}"
            # Of few values, so that many are what they are compared with.
            values = {16: "few16", 32: "few", 64: "few64"}[bits]
            for mask in _MASKS:
                yield _form("atom", space, order, f"cas.{b}", b, mask, lambda old, b, c: c if old == b else old, 2,
                            values)
                if bits > 16:
                    yield _form("atom", space, order, f"exch.{b}", b, mask, lambda old, b: b)


def reals() -> Iterator[Form]:
    for space in ("global", "shared"):
        # In global memory FP32 is flushed, in shared memory it is not.
        f32 = Arithmetic(F32, "ftz" if space == "global" else "")
        kinds: list[tuple[str, Format, Step]] = [
            ("add.f32", F32, f32.add), ("add.f64", F64, Arithmetic(F64).add),
            ("add.noftz.f16", F16, Arithmetic(F16).add), ("add.noftz.bf16", BF16, Arithmetic(BF16).add)]
        for name, of, step in kinds:
            for opcode, mask, values in (("atom", 31, "number"), ("red", 31, "number"), ("atom", 3, "middle"),
                                         ("atom", 0, "middle")):
                yield _form(opcode, space, "", name, of.name, mask, step, values=f"{of.name}.{values}")
        for of in (F16, BF16):
            pair = halves(Arithmetic(of).add, 16)
            for opcode in ("atom", "red"):
                yield _form(opcode, space, "", f"add.noftz.{of.name}x2", f"{of.name}x2", 31, pair,
                            values=f"{of.name}x2.number")


def vectors() -> Iterator[Form]:
    """Of global memory, each lane in a cell of its own."""
    for of, count in ((F32, 2), (F32, 4), (F16, 2), (F16, 4), (F16, 8), (BF16, 2), (BF16, 4), (BF16, 8)):
        for name in ("add",) if of is F32 else ("add", "min", "max"):
            arithmetic = Arithmetic(of, name + (".ftz" if of is F32 else ""))
            yield _vector(f"{name}{'' if of is F32 else '.noftz'}.v{count}.{of.name}", of, of.name, of.bits, count,
                          arithmetic.add if name == "add" else arithmetic.least)
    for of, count in ((F16, 2), (F16, 4), (BF16, 2), (BF16, 4)):
        for name in ("add", "min", "max"):
            arithmetic = Arithmetic(of, name)
            yield _vector(f"{name}.noftz.v{count}.{of.name}x2", of, f"{of.name}x2", 32, count,
                          halves(arithmetic.add if name == "add" else arithmetic.least, 16))


def _vector(name: str, of: Format, kind: str, bits: int, count: int, step: Step) -> Form:
    def list_of(letter: str) -> str:
        return "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"

    stores = "".join(f"st.global.b{bits} [%own+{i * bits // 8}], %i{i}; " for i in range(count))
    loads = "".join(f" ld.global.b{bits} %f{i}, [%own+{i * bits // 8}];" for i in range(count))
    text = f"{_addressed('global', 31)}{stores}atom.global.{name} {list_of('d')}, [%own], {list_of('b')};{loads}"
    operands = [f"{letter}{i} {kind}.number" for letter in "ib" for i in range(count)]
    results = [f"{letter}{i} b{bits}" for letter in "df" for i in range(count)]
    return form(text, ", ".join(operands), ", ".join(results),
                lambda *row: (*row[:count], *(step(row[i], row[count + i]) for i in range(count))))


def wide() -> Iterator[Form]:
    """Of 128 bits, with registers in pairs."""
    for space in ("global", "shared"):
        begin = (f"{_addressed(space, 31)}.reg .b128 %old, %new, %cmp; st.{space}.v2.b64 [%own], {{%i, %j}}; "
                 "mov.b128 %new, {%a, %b}; ")
        end = f" mov.b128 {{%d, %e}}, %old; ld.{space}.v2.b64 {{%f, %g}}, [%own];"
        outputs = "d b64, e b64, f b64, g b64"
        yield form(f"{begin}atom.{space}.exch.b128 %old, [%own], %new;{end}", "i b64, j b64, a b64, b b64", outputs,
                   lambda i, j, a, b: (i, j, a, b))
        yield form(f"{begin}mov.b128 %cmp, {{%k, %m}}; atom.{space}.cas.b128 %old, [%own], %cmp, %new;{end}",
                   "i few64, j few64, a b64, b b64, k few64, m few64", outputs,
                   lambda i, j, a, b, k, m: (i, j, a, b) if (i, j) == (k, m) else (i, j, i, j))


def forms() -> Iterator[Form]:
    yield from integers()
    yield from reals()
    yield from vectors()
    yield from wide()
