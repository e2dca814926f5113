"""The order of common/sim: which folder may include which; one class per name; the style of constants."""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

#: From the ground up. A folder may include those before it and itself; folders of one set do not know each other.
LAYERS: tuple[frozenset[str], ...] = tuple(frozenset(names.split()) for names in (
    "machine", "ptx", "exec", "engine", "check timing", "device", "replay", "runtime", "web"))
SIM = "common/sim/"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](\w+)/[^">]*[">]', re.MULTILINE)
#: A definition at the beginning of a line is one in a namespace: what is nested in a class is indented.
CLASS = re.compile(r"^(?:template\s*<[^;{]*>\s*)?(?:class|struct|enum class|enum|union)\s+(?:\[\[\w+\]\]\s+)?(\w+)"
                   r"(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.MULTILINE)
CONSTANT = re.compile(r"^\s*(?:inline |static )*(?:constexpr|const) [\w:<>, ]+ ([A-Z][A-Z0-9_]+)\b\s*[=\[{]",
                      re.MULTILINE)


def floor_of(folder: str) -> int:
    """-1: no layer of the simulated device."""
    return next((floor for floor, names in enumerate(LAYERS) if folder in names), -1)


def wrong_includes(texts: Mapping[str, str]) -> list[str]:
    """`texts`: the contents of files, by path from the root. A sentence for each include against the layers."""
    wrong = []
    for path, text in sorted(texts.items()):
        folder = path.removeprefix(SIM).split("/")[0]
        own = floor_of(folder)
        if not path.startswith(SIM) or path.endswith("/main.cpp"):  # a program stands on top of all
            continue
        if own < 0:
            wrong.append(f"{path}: {folder}/ has no place among the layers")
            continue
        for match in INCLUDE.finditer(text):
            other = floor_of(match[1])
            if other > own or (other == own and match[1] != folder):
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{path}:{line}: {folder}/ is below {match[1]}/ or beside it, and may not include it")
    return wrong


def shared_names(texts: Mapping[str, str]) -> list[str]:
    """A sentence for each name of several classes. Operands of instructions, local to one .cpp, may share theirs; with
    a class of a header no other class shares one."""
    headers: dict[str, list[str]] = defaultdict(list)
    everywhere: dict[str, list[str]] = defaultdict(list)
    for path, text in sorted(texts.items()):
        if not path.startswith(SIM):
            continue
        for name in CLASS.findall(text):
            everywhere[name].append(path)
            if path.endswith(".h"):
                headers[name].append(path)
    return [f"{SIM}: several classes have the name {name}: {', '.join(everywhere[name])}"
            for name in sorted(headers) if len(everywhere[name]) > 1]


def wrong_constants(texts: Mapping[str, str]) -> list[str]:
    """A sentence for each constant that is not in the style kName; template parameters and macros are in capitals."""
    return [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a constant is named kName, not {match[1]}"
            for path, text in sorted(texts.items()) if path.startswith(SIM)
            for match in CONSTANT.finditer(text)]


def complaints(texts: Mapping[str, str]) -> list[str]:
    """All that is wrong with the layers and the names of these files."""
    return wrong_includes(texts) + shared_names(texts) + wrong_constants(texts)
