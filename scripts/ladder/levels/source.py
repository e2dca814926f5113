"""Just enough of C++ to find calls and their arguments in a kernel."""
from __future__ import annotations

import re


def without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*", "", source)


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
