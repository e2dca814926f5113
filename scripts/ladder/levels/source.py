"""Just enough of C++ to find calls and their arguments in a kernel, and what of it the host compiles."""
from __future__ import annotations

import re

_TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DEVICE = re.compile(r"__(?:device|global)__[^;{}]*\)[\w\s]*\{")


def without_comments(source: str) -> str:
    return _TEXT.sub(lambda text: text[0] if text[0].startswith('"') else " ", source)


def host_part(source: str) -> str:
    """Without comments, and without the bodies of functions that only the device has."""
    source = without_comments(source)
    blank = _TEXT.sub(lambda text: " " * len(text[0]), source)  # no bracket of it counts
    kept, end = [], 0
    for found in _DEVICE.finditer(blank):
        head = blank[max(blank.rfind(mark, 0, found.start()) for mark in ";{}") + 1:found.end()]
        if found.start() >= end and "__host__" not in head:
            kept.append(source[end:found.end()])
            end = found.end() + len(body(blank, found.end() - 1))
    return " ".join("".join([*kept, source[end:]]).split())


def body(source: str, opening: int) -> str:
    """What stands between the bracket at `opening` and the one that closes it."""
    pair = {"{": "{}", "(": "()"}[source[opening]]
    depth = 0
    for position in range(opening, len(source)):
        depth += {pair[0]: 1, pair[1]: -1}.get(source[position], 0)
        if depth == 0:
            return source[opening + 1:position]
    raise ValueError(f"a {pair[0]} is never closed")


def split(text: str) -> list[str]:
    """At the commas outside all brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
