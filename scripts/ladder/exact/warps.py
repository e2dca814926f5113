"""Shuffles, votes, matches and reductions of a warp (PTX ISA 9.7.9.6, 9.7.13.5 to 9.7.13.9).

Every instruction comes in two ways: executed by all lanes, and by those alone whose guard is true, which are then its
members. The others keep what they have.
"""
from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Callable

from ladder.exact.floating import Arithmetic
from ladder.exact.form import LANES, OPEN, Bits, Form, Row, form
from ladder.exact.integers import low, signed
from ladder.exact.number import F32

# Of all members: from their rows, without the guard, to their outputs; the lanes are those that take part.
Model = Callable[[dict[int, Row]], dict[int, tuple[Bits, ...]]]


def _both(text: str, inputs: str, outputs: str, model: Model, hopper: bool = True) -> Iterator[Form]:
    """`{members}` stands for the mask."""
    def of_all(rows: Sequence[Row]) -> list[tuple[Bits, ...]]:
        results = model(dict(enumerate(rows)))
        return [results[lane] for lane in range(LANES)]

    yield form(text.replace("{members}", "0xffffffff"), inputs, outputs, of_all, whole_warp=True, hopper=hopper)
    names = [each.split() for each in outputs.split(",")]

    def of_some(rows: Sequence[Row]) -> list[tuple[Bits, ...]]:
        given = len(inputs.split(","))
        results = model({lane: row[:given] for lane, row in enumerate(rows) if row[given]})
        return [results.get(lane, tuple(row[given + 1:])) for lane, row in enumerate(rows)]

    kept = "".join(f"mov.{kind} %{name}, %old_{name}; " for name, kind in names)
    olds = "".join(f", old_{name} {kind}" for name, kind in names)
    yield form(f".reg .b32 %members; vote.sync.ballot.b32 %members, %guard, 0xffffffff; {kept}"
               f"@%guard {text.replace('{members}', '%members')}", f"{inputs}, guard pred{olds}", outputs, of_some,
               whole_warp=True, hopper=hopper)


def shuffles() -> Iterator[Form]:
    for mode, with_predicate in itertools.product(("up", "down", "bfly", "idx"), (True, False)):
        def shuffled(rows: dict[int, Row], mode: str = mode,
                     with_predicate: bool = with_predicate) -> dict[int, tuple[Bits, ...]]:
            results: dict[int, tuple[Bits, ...]] = {}
            for lane, (a, b, c) in rows.items():
                by, clamp, segment = b & 31, c & 31, c >> 8 & 31
                most = lane & segment | clamp & ~segment
                source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by,
                          "idx": lane & segment | by & ~segment}[mode]
                within = source >= most if mode == "up" else source <= most
                value: Bits = a
                if within:
                    value = rows[source][0] if source in rows else OPEN
                results[lane] = (value, int(within)) if with_predicate else (value,)
            return results

        yield from _both(f"shfl.sync.{mode}.b32 %d{'|%p' if with_predicate else ''}, %a, %b, %c, {{members}};",
                         "a b32, b lane, c segments", "d b32, p pred" if with_predicate else "d b32", shuffled)


def _counted(count: Callable[[list[bool]], bool], truths: Callable[[dict[int, Row]], list[bool]],
             rows: dict[int, Row]) -> dict[int, tuple[Bits, ...]]:
    return dict.fromkeys(rows, (int(count(truths(rows))),))


def votes() -> Iterator[Form]:
    for negated in ("", "!"):
        def truths(rows: dict[int, Row], negated: str = negated) -> list[bool]:
            return [bool(row[0]) != bool(negated) for row in rows.values()]

        counted: dict[str, Callable[[list[bool]], bool]] = {
            "all": all, "any": any, "uni": lambda votes: all(votes) or not any(votes)}
        for name, count in counted.items():
            yield from _both(f"vote.sync.{name}.pred %p, {negated}%a, {{members}};", "a pred", "p pred",
                             functools.partial(_counted, count, truths))

        def ballot(rows: dict[int, Row], truths: Callable[[dict[int, Row]], list[bool]] = truths
                   ) -> dict[int, tuple[Bits, ...]]:
            mask = sum(1 << lane for lane, vote in zip(rows, truths(rows)) if vote)
            return dict.fromkeys(rows, (mask,))
        yield from _both(f"vote.sync.ballot.b32 %d, {negated}%a, {{members}};", "a pred", "d b32", ballot)


def matched() -> Iterator[Form]:
    for kind in ("b32", "b64"):
        values = "few" if kind == "b32" else "few64"
        yield from _both(f"match.any.sync.{kind} %d, %a, {{members}};", f"a {values}", "d b32", lambda rows: {
            lane: (sum(1 << other for other, row in rows.items() if row[0] == mine[0]),)
            for lane, mine in rows.items()})

        def alike(rows: dict[int, Row]) -> dict[int, tuple[Bits, ...]]:
            same = len(Counter(row[0] for row in rows.values())) == 1
            return dict.fromkeys(rows, (sum(1 << lane for lane in rows) if same else 0, int(same)))
        for alikes in (values, "same" if kind == "b32" else "same64"):
            yield from _both(f"match.all.sync.{kind} %d|%p, %a, {{members}};", f"a {alikes}", "d b32, p pred", alike)


def _least(extreme: Arithmetic, values: list[int]) -> int:
    return extreme.least(*values)


def reductions() -> Iterator[Form]:
    def folded(fold: Callable[[list[int]], int]) -> Model:
        return lambda rows: dict.fromkeys(rows, (low(fold([row[0] for row in rows.values()]), 32),) if rows else ())

    def all_bits(operation: Callable[[int, int], int]) -> Callable[[list[int]], int]:
        def fold(values: list[int]) -> int:
            result = values[0]
            for each in values[1:]:
                result = operation(result, each)
            return result
        return fold

    plain: dict[str, Callable[[list[int]], int]] = {
        "add.u32": sum, "add.s32": sum, "min.u32": min, "max.u32": max,
        "min.s32": lambda values: min(signed(each, 32) for each in values),
        "max.s32": lambda values: max(signed(each, 32) for each in values),
        "and.b32": all_bits(lambda a, b: a & b), "or.b32": all_bits(lambda a, b: a | b),
        "xor.b32": all_bits(lambda a, b: a ^ b)}
    for name, fold in plain.items():
        yield from _both(f"redux.sync.{name} %d, %a, {{members}};", "a b32", "d b32", folded(fold))
    for name, magnitude, nan in itertools.product(("min", "max"), ("", ".abs"), ("", ".NaN")):
        extreme = Arithmetic(F32, f"{name}{magnitude}{nan}")
        for kind in ("f32", "f32.number"):
            yield from _both(f"redux.sync.{name}{magnitude}{nan}.f32 %d, %a, {{members}};", f"a {kind}", "d b32",
                             folded(functools.partial(_least, extreme)), hopper=False)


def forms() -> Iterator[Form]:
    yield from shuffles()
    yield from votes()
    yield from matched()
    yield from reductions()
