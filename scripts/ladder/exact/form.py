"""A spelling of an instruction, what its operands are, and what it must give; values for them from a seed."""
from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from ladder.exact import number
from ladder.exact.number import Format

LANES = 32


@dataclass(frozen=True)
class Operand:
    """A register of a form. What its values are like is said by the kind: s32, b64, f16x2, pred, shift, lane..."""

    name: str
    kind: str

    @property
    def bits(self) -> int:
        return BITS[self.kind]

    @property
    def register(self) -> str:
        return "pred" if self.bits == 1 else f"b{self.bits}"


BITS = {"pred": 1, "shift": 32, "position": 32, "small": 32, "lane": 32, "few": 32}
BITS.update({"few16": 16, "few64": 64, "same": 32, "same64": 64, "place": 32, "offset": 32, "segments": 32})
BITS.update({f"b{bits}": bits for bits in (16, 32, 64)})
BITS.update({each.name: each.bits for each in number.FORMATS.values()})
BITS.update({"b16x2": 32, "f16x2": 32, "bf16x2": 32, "f32x2": 64, "tf32": 32})
COARSER = {each.name: each for each in (number.F32, number.F16, number.BF16, number.TF32, number.E4M3, number.E5M2,
                                        number.E2M3, number.E3M2, number.E2M1)}
# Without NaNs, where the ISA leaves open which; nothing below zero; far from the ends, so that no sum is infinite;
# beside powers of two; where numbers of a coarser format meet.
BITS.update({f"{name}.{only}": BITS[name] for only in ("number", "positive", "middle", "power", *COARSER)
             for name in (*number.FORMATS, "f16x2", "bf16x2")})
BITS.update({f"b{bits}.nonzero": bits for bits in (16, 32, 64)})
# Whose operands may be numbers in the text.
PLAIN = {"b32", "b64", "f32", "f64"}


@dataclass(frozen=True)
class AnyNan:
    """Any NaN of a format will do."""

    format: Format

    def __str__(self) -> str:
        return "any NaN"


@dataclass(frozen=True)
class Open:
    """The ISA does not say what."""

    def __str__(self) -> str:
        return "anything"


OPEN = Open()
Bits = Union[int, AnyNan, Open]
Row = Sequence[int]


@dataclass(frozen=True)
class Form:
    """`text` names the operands: %a, %b... `model` gives the outputs of a thread, or of a warp: see `whole_warp`."""

    text: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    model: Callable[..., Any]
    #: The model takes the rows of all lanes, and returns those of the outputs.
    whole_warp: bool = False
    #: In place of a model: what is wrong with the outputs of all lanes, given all inputs.
    check: Optional[Callable[[Sequence[Row], Sequence[Row]], str]] = None
    #: Of an sm_90a; without it, of an sm_100a alone.
    hopper: bool = True

    def expected(self, rows: Sequence[Row]) -> list[tuple[Bits, ...]]:
        if self.whole_warp:
            return list(self.model(rows))
        results = [self.model(*row) for row in rows]
        return [result if isinstance(result, tuple) else (result,) for result in results]


def operands(text: str) -> tuple[Operand, ...]:
    """"a b32, p pred": names and kinds."""
    return tuple(Operand(*each.split()) for each in text.split(",")) if text else ()


def form(text: str, inputs: str, outputs: str, model: Callable[..., Any], **more: Any) -> Form:
    return Form(text, operands(inputs), operands(outputs), model, **more)


def matches(got: int, expected: Bits) -> bool:
    if isinstance(expected, Open):
        return True
    return expected.format.is_nan(got) if isinstance(expected, AnyNan) else got == expected


# --- values -----------------------------------------------------------------------------------------------------------

_EDGES = (0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0xFFFFFF,
          0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 31, 32, 33, 63, 64,
          0x8080808080808080, 0x7F7F7F7F7F7F7F7F, 0x7FFF7FFF7FFF7FFF, 0x8000800080008000, 0x5555555555555555)


def integer(dice: random.Random, bits: int) -> int:
    how = dice.random()
    if how < 0.3:
        value = dice.choice(_EDGES) + dice.choice((0, 0, 0, 1, -1))
    elif how < 0.4:
        value = -dice.choice(_EDGES)
    elif how < 0.55:
        value = dice.randrange(-40, 41)
    elif how < 0.75:  # of any length
        value = dice.getrandbits(dice.randrange(1, bits + 1)) * dice.choice((1, -1))
    else:
        value = dice.getrandbits(bits)
    return value & ((1 << bits) - 1)


def real(dice: random.Random, form: Format, nan: bool = True) -> int:
    """Zeros, subnormal numbers, infinities and NaNs, the greatest and least, halves, and any."""
    sign = form.sign if dice.random() < 0.5 else 0
    how, least = dice.random(), 1 << form.fraction_bits
    if how < 0.08:
        magnitude = 0
    elif how < 0.18:
        magnitude = dice.choice((1, 2, 3, least - 1, least - 2, dice.randrange(1, least)))
    elif how < 0.24:
        magnitude = dice.choice((least, least + 1, dice.randrange(least, 2 * least)))
    elif how < 0.30:
        magnitude = form.greatest - dice.choice((0, 0, 1, dice.randrange(least)))
    elif how < 0.36 and form.infinity:
        magnitude = form.greatest + 1
    elif how < 0.42 and form.nan is not None:
        magnitude = dice.choice((form.nan, form.nan, form.greatest + 2, form.nan - dice.randrange(least // 2)))
    elif how < 0.80:  # near one another, and with few digits: sums that cancel, halves
        spread = min(form.bias - 1, dice.choice((1, 3, form.fraction_bits + 2)))
        exponent = form.bias + dice.randrange(-spread, spread + 1)
        fraction = dice.randrange(least)
        if dice.random() < 0.5:
            fraction &= -1 << dice.randrange(form.fraction_bits + 1)
        magnitude = exponent << form.fraction_bits | fraction
    else:
        magnitude = dice.randrange(form.sign)
    if not nan and form.is_nan(magnitude):
        magnitude = form.bias << form.fraction_bits
    return sign | magnitude


def between_numbers(dice: random.Random, form: Format, coarse: Format) -> int:
    """A number that lies on, half-way between, or just beside half-way between two of a coarser format."""
    value = coarse.read(dice.randrange(coarse.sign) | (coarse.sign if dice.random() < 0.5 else 0))
    bits = form.write(value)
    step = form.fraction_bits - coarse.fraction_bits
    if value is None or value.infinite or step < 1:
        return bits
    return bits + dice.choice((0, 1 << (step - 1), (1 << (step - 1)) - 1, (1 << (step - 1)) + 1)) & (2 * form.sign - 1)


_COARSE = {"f64": (number.F32, number.F16, number.BF16),
           "f32": (number.F16, number.BF16, number.TF32, number.E4M3, number.E5M2, number.E2M3, number.E3M2,
                   number.E2M1),
           "f16": (number.E4M3, number.E5M2, number.E2M3, number.E3M2, number.E2M1)}


def value(dice: random.Random, kind: str) -> int:
    if kind == "pred":
        return dice.getrandbits(1)
    if kind == "shift":
        return dice.choice((0, 1, 31, 32, 33, 63, 64, 65, 255, 0xFFFFFFFF, dice.randrange(70), dice.getrandbits(32)))
    if kind == "position":  # of a field of bits
        return dice.choice((0, 1, 8, 31, 32, 63, 64, 255, dice.randrange(33), dice.randrange(256)))
    if kind == "small":
        return dice.randrange(16)
    if kind == "lane":
        return dice.choice((0, 1, 31, 32, dice.randrange(32), dice.randrange(40)))
    if kind == "place":
        return dice.randrange(32)
    if kind == "offset":
        return dice.randrange(-34, 35) & 0xFFFFFFFF
    if kind == "segments":  # of a shuffle: where to stop, and which bits of a lane are the segment's
        return dice.choice((0, 0x1F, dice.choice((0, 0x10, 0x18, 0x1C, 0x1E)) << 8 | dice.choice((0, 0x1F)),
                            dice.getrandbits(13)))
    if kind.startswith("few"):
        return dice.randrange(3) * (0x100000001 if kind == "few64" else 1)
    if kind.startswith("same"):  # but for one in fifty
        return int(dice.random() < 0.02)
    if kind.endswith(".nonzero"):
        return integer(dice, BITS[kind]) or 1
    name, _, only = kind.partition(".")
    base, packed, _ = name.partition("x2")
    if packed:
        half = base + (f".{only}" if only else "")
        return value(dice, half) | value(dice, half) << (BITS[base])
    if base in number.FORMATS:
        form = number.FORMATS[base]
        if only == "positive":
            return dice.randrange(form.greatest + 1)
        if only == "middle":  # far from all ends
            return dice.randrange(form.sign) & ((1 << form.fraction_bits) - 1) | \
                (form.bias + dice.randrange(-6, 7)) << form.fraction_bits | (form.sign if dice.random() < 0.5 else 0)
        if only == "power":
            middle = 1 << (form.fraction_bits - 1)
            exponent = dice.choice((0, 1, form.bias, 2 * form.bias, 2 * form.bias + 1, dice.randrange(2 * form.bias)))
            sign = form.sign if dice.random() < 0.2 else 0
            return sign | exponent << form.fraction_bits | dice.choice((0, 1, middle, middle + 1, 2 * middle - 1))
        if only in COARSER and dice.random() < 0.5:
            return between_numbers(dice, form, COARSER[only])
        if base in _COARSE and dice.random() < 0.25:
            bits = between_numbers(dice, form, dice.choice(_COARSE[base]))
            if not (only == "number" and form.is_nan(bits)):
                return bits
        return real(dice, form, nan=only != "number")
    return integer(dice, BITS[kind])


def literal(kind: str, bits: int) -> str:
    """A value as a number in the text."""
    if kind == "f32":
        return f"0f{bits:08X}"
    if kind == "f64":
        return f"0d{bits:016X}"
    return f"{bits:#x}"
