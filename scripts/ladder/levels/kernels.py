"""Reads constants and small integer functions out of the kernels' C++, so that pictures are drawn from the code itself.

It understands what the level files use for numbers: `#define NAME VALUE`, `static constexpr int NAME = EXPRESSION;` in
structs (template arguments included), and `constexpr` functions made of declarations, assignments, ifs and returns.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Optional

from ladder.command import Failure
from ladder.levels import names
from ladder.levels.source import body, split, without_comments


class SourceError(Failure):
    """C++ that this module does not understand; the message names the file and the text."""


# --- expressions ------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d[\d']*)|([A-Za-z_][\w]*(?:(?:::|\.)[A-Za-z_]\w*)*)|"
                   r"(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>!&^|?:(){},]))")
BINARY = [{"||": "or"}, {"&&": "and"}, {"|": "|"}, {"^": "^"}, {"&": "&"}, {"==": "==", "!=": "!="},
          {"<": "<", ">": ">", "<=": "<=", ">=": ">="}, {"<<": "<<", ">>": ">>"}, {"+": "+", "-": "-"},
          {"*": "*", "/": "//", "%": "%"}]  # loosest first; all our numbers are positive: // is C++'s /


class _Parser:
    """Turns a C++ integer expression into a Python one."""

    def __init__(self, text: str):
        self.text = text
        self.tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = TOKEN.match(text, position)
            if not match:
                raise SourceError(f"not understood: {text.strip()}")
            self.tokens.append(match[0].strip())
            position = match.end()
        self.next = 0

    def peek(self) -> str:
        return self.tokens[self.next] if self.next < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise SourceError(f"not understood: {self.text.strip()}")
        self.next += 1
        return token

    def expression(self) -> str:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take("?")
        yes = self.expression()
        self.take(":")
        return f"({yes} if {condition} else {self.expression()})"

    def binary(self, level: int) -> str:
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in BINARY[level]:
            operator = BINARY[level][self.take()]
            left = f"({left} {operator} {self.binary(level + 1)})"
        return left

    def unary(self) -> str:
        token = self.take()
        if token == "!":
            return f"(not {self.unary()})"
        if token == "-":
            return f"(-{self.unary()})"
        if token == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if token == "{":
            return self.arguments("}")  # a struct's members in order
        if token[0].isdigit():
            return token.replace("'", "")
        name = {"true": "True", "false": "False"}.get(token, token.replace("std::", "").replace("::", "."))
        if self.peek() == "(":
            self.take("(")
            return name + self.arguments(")")
        if self.peek() == "{":  # a conversion such as uint32_t{x}
            self.take("{")
            return self.arguments("}")
        return name

    def arguments(self, end: str) -> str:
        items = [self.expression()]
        while self.peek() == ",":
            self.take(",")
            items.append(self.expression())
        self.take(end)
        return f"({', '.join(items)})"


def to_python(text: str) -> str:
    parser = _Parser(text)
    python = parser.expression()
    if parser.peek():
        raise SourceError(f"not understood: {text.strip()}")
    return python


def _bit_ceil(value: int) -> int:
    return 1 << (value - 1).bit_length()


HELPERS: dict[str, Any] = {"__builtins__": {}, "min": min, "max": max, "bit_ceil": _bit_ceil}


def evaluate(text: str, scope: dict[str, Any]) -> Any:
    try:
        return eval(to_python(text), HELPERS, scope)  # our own sources, and no builtins
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SourceError(f"not understood: {text.strip()} ({error})") from None


# --- structs and functions --------------------------------------------------------------------------------------------


MEMBER = re.compile(r"static constexpr (?:int|bool|uint32_t|double) (\w+\s*=[^;]+);")


def read_struct(source: str, name: str, scope: dict[str, Any]) -> Optional[SimpleNamespace]:
    """The constants of `struct name`, or None if there is no such struct. `scope` holds what they refer to."""
    match = re.search(rf"\bstruct {name} \{{", source)
    if not match:
        return None
    members: dict[str, Any] = {}
    for declaration in MEMBER.finditer(body(source, match.end() - 1)):
        for item in split(declaration[1]):
            member, _, value = item.partition("=")
            members[member.strip()] = evaluate(value, {**scope, **members})
    return SimpleNamespace(**members)


def read_function(source: str, name: str, scope: dict[str, Any]) -> Optional[Callable[..., Any]]:
    """A constexpr function of integers as a Python function. A struct that it returns becomes a tuple."""
    match = re.search(rf"constexpr \w+ {name}\(([^)]*)\) \{{", source)
    if not match:
        return None
    parameters = [item.split()[-1] for item in match[1].split(",")]
    lines = []
    for statement in body(source, match.end() - 1).split(";"):
        text = " ".join(statement.split())
        indent = "  "
        if text.startswith("if "):
            condition = body(text, len("if "))
            lines.append(f"  if {to_python(condition)}:")
            text, indent = text[len("if ()") + len(condition):].strip(), "    "
        if text.startswith("return"):
            lines.append(f"{indent}return {to_python(text[len('return'):])}")
        elif text:
            variable, _, value = text.partition("=")
            lines.append(f"{indent}{variable.split()[-1]} = {to_python(value)}")
    code = f"def {name}({', '.join(parameters)}):\n" + "\n".join(lines)
    space = {**HELPERS, **scope}
    exec(code, space)
    function: Callable[..., Any] = space[name]
    return function


# --- kernels ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """One configuration of one level's kernel, as its source says."""

    level: str
    arch: int
    config: SimpleNamespace  # struct Config: BLOCK_M, NUM_STAGES, ...
    smem: SimpleNamespace  # struct Smem: byte offsets, and BYTES
    source: str = field(repr=False)  # without comments
    scope: dict[str, Any] = field(repr=False)

    def function(self, name: str) -> Callable[..., Any]:
        function = read_function(self.source, name, self.scope)
        if function is None:
            raise SourceError(f"{self.level}/kernel_sm{self.arch}.cuh: there is no function {name}")
        return function

    def has(self, name: str) -> bool:
        """Whether Config has this constant."""
        return hasattr(self.config, name)


def _tile_shape(source: str, shape: str, scope: dict[str, Any]) -> dict[str, Any]:
    """SHAPE, for a kernel that is a template of it: the `constexpr TileShape` that `--config 256x192` runs."""
    shapes = []
    for match in re.finditer(r"^inline constexpr TileShape \w+ = \{([^}]+)\};", source, re.MULTILINE):
        members = [item.partition("=") for item in match[1].split(",")]
        shapes.append(SimpleNamespace(**{name.strip(" .\n"): evaluate(value, scope) for name, _, value in members}))
    if not shapes:
        return {}
    chosen = [s for s in shapes if f"{s.block_m}x{s.block_n}" == shape]
    if not chosen:
        raise SourceError(f"there is no configuration {shape}")
    return {"SHAPE": chosen[0]}


def read_kernel(root: Path, level: str, arch: int, config: str) -> Kernel:
    """The constants of a level's kernel. `config` matters where the kernel is a template of its tile: "256x192"."""
    path = names.kernel_path(root, level, arch)
    plan = path.with_name(f"plan_sm{arch}.h")  # of tiles, where they are planned on the host
    source = without_comments("".join(p.read_text(encoding="utf-8") for p in (plan, path) if p.exists()))
    try:
        scope: dict[str, Any] = {name: evaluate(value, {})
                                 for name, value in re.findall(r"^#define (\w+) (\d+)\s*$", source, re.MULTILINE)}
        scope["Options"] = read_struct(source, "Options", scope) or SimpleNamespace()
        scope.update(_tile_shape(source, config, scope))
        scope["Config"] = read_struct(source, "Config", scope)
        scope["Smem"] = read_struct(source, "Smem", scope) or read_struct(source, "SmemOf", scope)
        if scope["Config"] is None or scope["Smem"] is None:
            raise SourceError("struct Config or struct Smem is missing")
    except SourceError as error:
        raise SourceError(f"{level}/{path.name}: {error}.") from None
    return Kernel(level, arch, scope["Config"], scope["Smem"], source, scope)


def swizzle_function(root: Path, mode: str) -> Callable[[int], int]:
    """swizzle_address of common/mma/swizzle.h for "None", "B32", "B64" or "B128"."""
    source = without_comments((root / "common" / "mma" / "swizzle.h").read_text(encoding="utf-8"))
    match = re.search(r"swizzle_address\(", source)
    case = match and re.search(rf"case Swizzle::{mode}: return ([^;]+);", source[match.start():])
    if not case:
        raise SourceError(f"common/mma/swizzle.h: there is no swizzle_address for {mode}")
    code = compile(to_python(case[1]), "swizzle.h", "eval")
    return lambda address: int(eval(code, HELPERS, {"address": address}))
