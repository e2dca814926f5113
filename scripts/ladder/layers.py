"""The order of common/sim and of scripts/ladder: which folder may use which. Of common/sim also: one class per name,
the style of constants, and that report/ writes the sentences."""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

#: From the ground up. A folder may include those before it and itself; folders of one set do not know each other.
LAYERS: tuple[frozenset[str], ...] = tuple(frozenset(names.split()) for names in (
    "machine", "report", "ptx", "exec", "engine", "check timing", "device", "replay", "runtime", "web"))
SIM = "common/sim/"
#: Modules of scripts/ladder that are not named here are the ground.
PACKAGES: tuple[frozenset[str], ...] = tuple(frozenset(names.split()) for names in (
    "levels", "results", "context shards", "sim", "tune mutants exact", "model explorer fuzzing", "draw grader contact",
    "pages", "site"))
LADDER = "scripts/ladder/"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](\w+)/[^">]*[">]', re.MULTILINE)
#: exec/core/ is what the other folders of exec/ share.
INCLUDE_OF_ROOM = re.compile(r'^\s*#\s*include\s*"(exec/(?!core/)[^"]*)"', re.MULTILINE)
IMPORT = re.compile(r"^\s*from ladder(?:\.| import )(\w+(?:, \w+)*)", re.MULTILINE)
#: A definition at the beginning of a line is one in a namespace: what is nested in a class is indented.
CLASS = re.compile(r"^(?:template\s*<[^;{]*>\s*)?(?:class|struct|enum class|enum|union)\s+(?:\[\[\w+\]\]\s+)?(\w+)"
                   r"(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.MULTILINE)
CONSTANT = re.compile(r"^\s*(?:inline |static )*(?:constexpr|const) [\w:<>, ]+ ([A-Z][A-Z0-9_]+)\b\s*[=\[{]",
                      re.MULTILINE)

#: What decides, but does not say: these make records, and report/ sentences of them.
SILENT = ("machine", "exec", "engine", "check")
#: A literal with a verb and something before and after it. Names of things have none.
SENTENCE = re.compile(r"""^(?!\s*//)[^"\n]*"([^"\n]* (?:is|are|was|has|have|had|does|must|may|can|cannot|needs|"""
                      r"""needed|asks|belongs|waits|reads|writes|takes|says|lies) [^"\n]*)\"""", re.MULTILINE)


def floor_of(folder: str, layers: Sequence[frozenset[str]] = LAYERS) -> int:
    """-1: none of the layers."""
    return next((floor for floor, names in enumerate(layers) if folder in names), -1)


def upward(path: str, text: str, pattern: re.Pattern[str], layers: Sequence[frozenset[str]], own: str) -> Iterator[str]:
    """A sentence for each include or import of a folder above `own` or beside it."""
    for match in pattern.finditer(text):
        for other in match[1].replace(",", " ").split():
            if other != own and floor_of(other, layers) >= max(floor_of(own, layers), 0):
                line = text.count("\n", 0, match.start(1)) + 1
                yield f"{path}:{line}: {own} is below {other} or beside it, and may not use it"


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
        wrong += upward(path, text, INCLUDE, LAYERS, folder)
        if path.startswith(f"{SIM}exec/core/"):
            wrong += [f"{path}: exec/core/ is below the rest of exec/, and may not use {name}"
                      for name in INCLUDE_OF_ROOM.findall(text)]
    return wrong


def wrong_imports(texts: Mapping[str, str]) -> list[str]:
    """A sentence for each import against the order of scripts/ladder."""
    wrong = []
    for path, text in sorted(texts.items()):
        folder, slash, _ = path.removeprefix(LADDER).partition("/")
        if path.startswith(LADDER) and path.endswith(".py") and folder != "__init__.py":
            own = folder.removesuffix(".py")
            if slash and floor_of(own, PACKAGES) < 0:
                wrong.append(f"{path}: {folder}/ has no place among the packages")
            wrong += upward(path, text, IMPORT, PACKAGES, own)
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


def wrong_sentences(texts: Mapping[str, str]) -> list[str]:
    """A complaint about each sentence that report/ should write."""
    return [f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}: report/ writes sentences: '{match[1]}'"
            for path, text in sorted(texts.items()) if path.removeprefix(SIM).split("/")[0] in SILENT
            for match in SENTENCE.finditer(text)]


def complaints(texts: Mapping[str, str]) -> list[str]:
    """All that is wrong with the layers and the names of these files."""
    return wrong_includes(texts) + wrong_imports(texts) + shared_names(texts) + wrong_constants(texts) + \
        wrong_sentences(texts)
