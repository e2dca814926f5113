"""Changes to PTX: small ones to a line, as a slip of the hand makes them, and larger ones to a text.

All randomness comes from the generator that is handed in, so that a seed and an index name a mutant for ever.
"""
from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Callable, Optional

# What operands are replaced with. The registers are those of seeds.PREAMBLE; in a text its own are used.
REGISTERS = ("a x f0 d0 p h e ee o byte ua sb uy sx uh sh q").split()
OPERANDS = ("5 -1 0 1.0 0f3f800000 0d3ff0000000000000 %tid.x %laneid %clock64 sm gl LAB fun undefined _ [x] [a] "
            "[sm] [gl+4] {a,b} {x,y} {f0,f1} {a} {h,h1} p|q a|p !p -a b+1 16 32 100 256 1000000 WARP_SZ tm pa {} "
            "(a) [x+4] [5] %bogus a.x %tid -8 0x1ffffffff [x,{a,b}] 1+2*3 ~0").split()
MODIFIERS = ("sat ftz rn rz rm rp rna rni rzi cc hi lo wide uni sync aligned idx all any up eq ne lt gtu nan and or "
             "xor add min max cas exch relu satfinite global shared local param const shared::cta shared::cluster "
             "weak volatile relaxed acquire release acq_rel sc cta cluster gpu sys ca cg cs cv wb nc L1::evict_last "
             "L1::no_allocate L2::cache_hint L2::128B v2 v4 v8 x1 x2 x4 x16 pred u8 u16 u32 u64 s8 s16 s32 s64 b8 "
             "b16 b32 b64 b128 f16 f16x2 bf16 bf16x2 f32 f64 tf32 f32x2 u16x2 e4m3x2 trans row col 1d 2d 3d 5d tile "
             "im2col bulk_group mbarrier::complete_tx::bytes multicast::cluster cta_group::1 cta_group::2 read wait "
             "noinc m8n8 32x32b 16x256b kind::f16 kind::tf32 collector::a::fill parity noComplete approx NaN abs "
             "clamp wrap popc foo").split()
NAME = re.compile(r"%?\b[A-Za-z_$][\w$]*")


@dataclass
class Line:
    """An instruction taken apart."""

    guard: str
    words: list[str]  # opcode and modifiers
    operands: list[str]

    def __str__(self) -> str:
        return f"{self.guard}{'.'.join(self.words)}{' ' if self.operands else ''}{', '.join(self.operands)};"


def take_apart(text: str) -> Optional[Line]:
    found = re.match(r"(@!?%?\w+\s+)?\s*([A-Za-z]\S*?)(\s+.*|\s*);\s*$", text)
    if not found:
        return None
    return Line(found[1] or "", found[2].split("."), _split(found[3].strip()))


def _split(text: str) -> list[str]:
    """At the commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "[{(") - (character in "]})")
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()] if text.strip() else []


# --- one instruction --------------------------------------------------------------------------------------------------


def _other_register(dice: random.Random, line: Line) -> None:
    i = dice.randrange(len(line.operands))
    names = list(NAME.finditer(line.operands[i]))
    new = dice.choice(REGISTERS)
    if names:
        name = dice.choice(names)
        new = line.operands[i][:name.start()] + new + line.operands[i][name.end():]
    line.operands[i] = new


def _other_operand(dice: random.Random, line: Line) -> None:
    line.operands[dice.randrange(len(line.operands))] = dice.choice(OPERANDS)


def _no_operand(dice: random.Random, line: Line) -> None:
    line.operands.pop(dice.randrange(len(line.operands)))


def _more_operands(dice: random.Random, line: Line) -> None:
    line.operands.insert(dice.randrange(len(line.operands) + 1), dice.choice(line.operands + OPERANDS))


def _swapped_operands(dice: random.Random, line: Line) -> None:
    i, j = dice.randrange(len(line.operands)), dice.randrange(len(line.operands))
    line.operands[i], line.operands[j] = line.operands[j], line.operands[i]


def _no_modifier(dice: random.Random, line: Line) -> None:
    line.words.pop(dice.randrange(1, len(line.words)))


def _modifier_twice(dice: random.Random, line: Line) -> None:
    i = dice.randrange(1, len(line.words))
    line.words.insert(i, line.words[i])


def _more_modifiers(dice: random.Random, line: Line) -> None:
    line.words.insert(dice.randrange(1, len(line.words) + 1), dice.choice(MODIFIERS))


def _other_modifier(dice: random.Random, line: Line) -> None:
    line.words[dice.randrange(1, len(line.words))] = dice.choice(MODIFIERS)


def _swapped_modifiers(dice: random.Random, line: Line) -> None:
    i, j = dice.randrange(1, len(line.words)), dice.randrange(1, len(line.words))
    line.words[i], line.words[j] = line.words[j], line.words[i]


OF_OPERANDS: list[Callable[[random.Random, Line], None]] = [
    _other_register, _other_register, _other_operand, _other_operand, _no_operand, _more_operands, _swapped_operands]
OF_MODIFIERS: list[Callable[[random.Random, Line], None]] = [
    _no_modifier, _modifier_twice, _more_modifiers, _other_modifier, _swapped_modifiers]


def character(dice: random.Random, text: str) -> str:
    """One character less, more, or another."""
    at = dice.randrange(len(text))
    kind = dice.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1:]
    if kind == 1:
        return text[:at] + text[at] + text[at:]
    new = dice.choice(",.;:[]{}()+-|!%_ 0123456789abx")
    return text[:at] + new + text[at + (kind == 2):]


def instruction(dice: random.Random, text: str) -> str:
    """An instruction with something wrong, or different."""
    line = take_apart(text)
    if line is None or dice.random() < 0.15:
        return character(dice, text)
    choices = (OF_OPERANDS if line.operands else []) + (OF_MODIFIERS if len(line.words) > 1 else [])
    if not choices:
        return character(dice, text)
    dice.choice(choices)(dice, line)
    return str(line)


# --- a whole text -----------------------------------------------------------------------------------------------------


def _some_line(dice: random.Random, lines: list[str], accept: Callable[[str], bool]) -> Optional[int]:
    places = [i for i, line in enumerate(lines) if accept(line)]
    return dice.choice(places) if places else None


def _is_instruction(line: str) -> bool:
    return take_apart(line.strip()) is not None and not line.strip().startswith(".")


def _is_directive(line: str) -> bool:
    return line.strip().startswith(".") and not line.strip().startswith(".loc")


def _with(lines: list[str], at: int, new: list[str]) -> list[str]:
    return lines[:at] + new + lines[at + 1:]


def _replaced(whole: str, found: re.Match[str], new: str) -> str:
    return whole[:found.start()] + new + whole[found.end():]


def text(dice: random.Random, whole: str) -> str:
    """A text with one thing changed: an instruction, a directive, a line too many or too few, a word, a number."""
    lines = whole.split("\n")
    kind = dice.randrange(12)
    if kind < 4 and (at := _some_line(dice, lines, _is_instruction)) is not None:
        return "\n".join(_with(lines, at, [own_names(dice, whole, instruction(dice, lines[at].strip()))]))
    if kind == 4 and (at := _some_line(dice, lines, _is_directive)) is not None:
        return "\n".join(_with(lines, at, [character(dice, lines[at])]))
    if kind == 5:  # a line that is missing, or stands twice
        at = dice.randrange(len(lines))
        return "\n".join(_with(lines, at, [lines[at]] * dice.choice((0, 2))))
    if kind == 6:  # two lines change places
        i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
        return "\n".join(lines)
    if kind == 7:  # a name is another name of the text
        names = list(NAME.finditer(whole))
        return _replaced(whole, dice.choice(names), dice.choice(names)[0])
    if kind == 8 and (numbers := list(re.finditer(r"(?<![\w%$.])\d+\b", whole))):
        number = dice.choice(("0", "1", "-1", "3", "7", "33", "255", "65536", "4294967295", "9" * 20, "1.5"))
        return _replaced(whole, dice.choice(numbers), number)
    if kind == 9:  # a dotted word is another one
        words = list(re.finditer(r"\.[A-Za-z_][\w:]*", whole))
        return _replaced(whole, dice.choice(words), dice.choice(words)[0])
    if kind == 10:  # the text ends early
        return whole[:dice.randrange(len(whole))]
    return character(dice, whole)


def own_names(dice: random.Random, whole: str, line: str) -> str:
    """The line with the registers of this text in the places of those that only PREAMBLE declares."""
    kinds = {"a": "b32", "ua": "b32", "sb": "b32", "x": "b64", "uy": "b64", "sx": "b64", "f0": "f32", "f1": "f32",
             "d0": "f64", "p": "pred", "q": "pred", "h": "b16", "h1": "b16", "b": "b32", "y": "b64"}

    def own(found: re.Match[str]) -> str:
        kind = kinds.get(found[0])
        if kind is None:
            return found[0]
        declared = re.findall(rf"\.reg\s*\.{kind}\s+(%\w+)<(\d+)>", whole)
        if not declared:
            return found[0]
        name, count = dice.choice(declared)
        return f"{name}{dice.randrange(int(count))}" if int(count) else found[0]

    return re.sub(r"(?<![\w.%$:])[a-z]\w?\b(?![\w.:])", own, line)
