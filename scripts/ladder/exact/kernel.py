"""Kernels of one warp in which every lane executes a form once, and the rows of values that they are given."""
from __future__ import annotations

import random
from dataclasses import dataclass

from ladder.exact.form import LANES, PLAIN, Bits, Form, Operand, literal, matches, value

HEAD = ".version 8.8\n.target {target}\n.address_size 64\n.global .align 16 .b8 cells[512];\n"
# How often an operand is a number in the text, and how often the instruction has a guard.
_LITERALS, _GUARDS = 0.12, 0.2


@dataclass(frozen=True)
class Trial:
    """One kernel: a form, which of its operands stand in the text, perhaps a guard, and its rows of inputs."""

    form: Form
    inputs: tuple[Operand, ...]  # of the rows: without those in the text, and with what a guard needs
    fixed: dict[str, int]
    guarded: bool
    rows: list[list[int]]

    def expected(self) -> list[tuple[Bits, ...]]:
        at = {operand.name: i for i, operand in enumerate(self.inputs)}
        rows = [[self.fixed[each.name] if each.name in self.fixed else row[at[each.name]] for each in self.form.inputs]
                for row in self.rows]
        results = self.form.expected(rows)
        if self.guarded:
            kept = [tuple(row[at[f"old_{each.name}"]] for each in self.form.outputs) for row in self.rows]
            results = [result if row[at["guard"]] else old for result, row, old in zip(results, self.rows, kept)]
        return results

    def instruction(self) -> str:
        text = self.form.text
        for name, bits in self.fixed.items():
            kind = next(each.kind for each in self.form.inputs if each.name == name)
            text = text.replace(f"%{name}", literal(kind, bits))
        return f"@%guard {text}" if self.guarded else text

    def kernel(self, name: str) -> str:
        """Reads a row, eight bytes for each operand, and writes a row of outputs."""
        registers = "".join(f".reg .{each.register} %{each.name};\n" for each in (*self.inputs, *self.form.outputs))
        lines = [f".visible .entry {name}(.param .u64 from, .param .u64 to)\n{{\n.reg .b64 %in, %out, %wide;",
                 f".reg .b32 %lane;\n{registers}mov.u32 %lane, %tid.x;",
                 f"ld.param.u64 %in, [from]; mad.wide.u32 %in, %lane, {8 * len(self.inputs)}, %in;",
                 f"ld.param.u64 %out, [to]; mad.wide.u32 %out, %lane, {8 * len(self.form.outputs)}, %out;"]
        for i, each in enumerate(self.inputs):
            lines.append(f"ld.global.b64 %wide, [%in+{8 * i}]; " + {
                1: f"setp.ne.u64 %{each.name}, %wide, 0;", 16: f"cvt.u16.u64 %{each.name}, %wide;",
                32: f"cvt.u32.u64 %{each.name}, %wide;", 64: f"mov.b64 %{each.name}, %wide;"}[each.bits])
        if self.guarded:
            lines += [f"mov.{_moved(each)} %{each.name}, %old_{each.name};" for each in self.form.outputs]
        lines.append(f"{{ {self.instruction()} }}")
        for i, each in enumerate(self.form.outputs):
            lines.append({1: f"selp.b64 %wide, 1, 0, %{each.name};", 16: f"cvt.u64.u16 %wide, %{each.name};",
                          32: f"cvt.u64.u32 %wide, %{each.name};", 64: f"mov.b64 %wide, %{each.name};"}[each.bits] +
                         f" st.global.b64 [%out+{8 * i}], %wide;")
        return "\n".join(lines) + "\nret;\n}\n"

    def wrong(self, got: list[tuple[int, ...]]) -> list[str]:
        """A sentence for each row that is not as expected."""
        if self.form.check is not None:
            sentence = self.form.check(self.rows, got)
            return [f"{self.instruction()}: {sentence}"] if sentence else []
        sentences = []
        for lane, (row, outputs, expected) in enumerate(zip(self.rows, got, self.expected())):
            if all(matches(out, each) for out, each in zip(outputs, expected)):
                continue
            given = ", ".join(f"%{each.name} = {bits:#x}" for each, bits in zip(self.inputs, row))
            results = "; ".join(f"%{each.name} is {out:#x}, and must be {_shown(must)}"
                                for each, out, must in zip(self.form.outputs, outputs, expected))
            sentences.append(f"{self.instruction()} with {given} in lane {lane}: {results}")
        return sentences


def _moved(operand: Operand) -> str:
    return "pred" if operand.bits == 1 else f"b{operand.bits}"


def _shown(bits: Bits) -> str:
    return f"{bits:#x}" if isinstance(bits, int) else str(bits)


def trial(dice: random.Random, form: Form, on_hardware: bool = False) -> Trial:
    inputs, fixed = list(form.inputs), {}
    single = not form.whole_warp and form.text.count(";") == 1
    if single:
        for operand in form.inputs:
            if operand.kind in PLAIN and dice.random() < _LITERALS:
                fixed[operand.name] = value(dice, operand.kind)
        inputs = [each for each in inputs if each.name not in fixed]
    guarded = single and dice.random() < _GUARDS
    if on_hardware and form.text.startswith(("set.", "testp.")):
        guarded = False  # ptxas 13.0 has lanes whose guard is false convert what was there, and test all the same
    if guarded:
        inputs.append(Operand("guard", "pred"))
        inputs += [Operand(f"old_{each.name}", f"b{each.bits}" if each.bits > 1 else "pred") for each in form.outputs]
    rows = [[value(dice, each.kind) for each in inputs] for _ in range(LANES)]
    return Trial(form, tuple(inputs), fixed, guarded, rows)
