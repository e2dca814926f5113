"""The rules of plain technical English that a program can check: docs/contributing.md has them in words.

Prose is what a person reads: paragraphs of Markdown, comments, docstrings, messages. Code, tables that scripts render,
quoted identifiers and data are not."""
from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from ladder import files

MOST_WORDS, MOST_COLUMNS = 40, 120
OWN = {Path("scripts/ladder/words.py"), Path("scripts/tests/test_words.py")}  # which quote the words
EXCEPTIONS = Path("scripts/maintain/word_exceptions.txt")
CODE, SHELL = {".cuh", ".cu", ".cpp", ".h", ".hpp", ".inc", ".js"}, {".sh", ".cmake"}

PEOPLE = ("reader|readers|user|users|author|authors|people|person|learner|learners|anyone|beginner|beginners|"
          "maintainer|those")  # the nouns that the relative pronoun may follow
SUBJECT = "a sentence names its subject: thread, warp, CTA, kernel, option, user"
RULES: dict[str, tuple[str, re.Pattern[str]]] = {
    "nobody": (SUBJECT, re.compile(r"\bnobody\b", re.I)),
    "whoever": (SUBJECT, re.compile(r"\bwhoever\b", re.I)),
    "who": (SUBJECT, re.compile(r"\bwho\b", re.I)),
    "turn": ("its one meaning is ping-pong's: iteration, wrap-around, way of a bank conflict, alternately",
             re.compile(r"\b(?:each|every|per|whose|its|their|next|last|first|one|two|three|same|a|of|\d+)(?: [a-z]+)? "
                        r"turns?\b|\b(?:in|take|takes|taking|took) turns\b|\bturns? (?:of|around) the (?:ring|loop)\b",
                        re.I)),
}
# Lines with a comment; those of Python are ruff's.
COMMENTS = {**dict.fromkeys(CODE, re.compile(r"(?:^|\s)//")), **dict.fromkeys(SHELL, re.compile(r"^\s*#"))}
AFTER_PEOPLE = re.compile(rf"\b(?:{PEOPLE}),? who\b", re.I)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|etc|al|Fig|no)\.$")


@dataclass(frozen=True)
class Prose:
    """A stretch of text, and the line on which it begins; lines keep their ends."""

    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    file: Path
    line: int
    what: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


# --- what is prose ----------------------------------------------------------------------------------------------------


FIGURE = re.compile(r"<!-- render:[^>\n]*-->([^<\n]*)<!-- /render -->")  # rendered within a sentence


def markdown(text: str) -> Iterator[Prose]:
    """Paragraphs, list items and cells of tables that are typed: no code, no rendered block."""
    text = FIGURE.sub(r"\1", text)
    lines: list[str] = []
    begin, inside = 1, ""
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        marker = line.strip()
        if inside:
            inside = "" if marker.startswith(inside) else inside
            line = ""
        elif marker.startswith(("```", "~~~")):
            inside, line = marker[:3], ""
        elif marker.startswith("<!-- render:"):
            inside, line = "<!-- /render", ""
        if not line.strip() or re.match(r"\s*(?:[-*] |\d+\. |\||#|<)", line):
            if lines:
                yield Prose(begin, "\n".join(lines))
            lines = []
        if line.strip():
            begin = begin if lines else number
            lines.append("" if re.fullmatch(r"\|[-:|]+\|", marker) else re.sub(r"`[^`]*`|\]\([^)]*\)", "`", marker))
            if marker.startswith(("|", "#")):
                yield Prose(number, lines.pop())


def python(text: str) -> Iterator[Prose]:
    """Comments, docstrings and other strings of several words; of these, those with line breaks are data."""
    comment: list[str] = []
    begin = last = 0
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            beside_code = bool(token.line[:token.start[1]].strip())
            if comment and (token.start[0] != last + 1 or beside_code):
                yield Prose(begin, "\n".join(comment))
                comment = []
            begin = begin if comment else token.start[0]
            comment.append(token.string.lstrip("#"))
            last = 0 if beside_code else token.start[0]
            continue
        is_text = token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE"
        is_docstring = before in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.ENCODING)
        if is_text and token.string.count(" ") > 2 and (is_docstring or "\n" not in token.string):
            yield Prose(token.start[0], inspect.cleandoc(re.sub(r"`[^`]*`|\{[^}]*\}", "`", token.string)))
        before = token.type
    if comment:
        yield Prose(begin, "\n".join(comment))


LEXEME = re.compile(r'(?m:^[ \t]*)//[^\n]*(?:\n[ \t]*//[^\n]*)*|//[^\n]*|/\*.*?\*/'  # comments
                    r'|"(?:[^"\\\n]|\\.)*"|'
                    r"'(?:[^'\\\n]|\\.)*'", re.S)


def cpp(text: str) -> Iterator[Prose]:
    """Comments, lines of them in a row as one; strings of several words."""
    for match in LEXEME.finditer(text):
        found = match[0]
        if found.lstrip().startswith(("//", "/*")) or (found.startswith('"') and found.count(" ") > 2):
            yield Prose(text.count("\n", 0, match.start()) + 1,
                        re.sub(r"`[^`]*`", "`", re.sub(r"(?m)^\s*(?://[/!<]*|\*) ?", "", found)))


def shell(text: str) -> Iterator[Prose]:
    for number, line in enumerate(text.splitlines(), start=1):
        if (match := re.search(r"(?:^|\s)#(?!!)(.*)", line)) or (match := re.search(r'"([^"]* [^"]* [^"]*)"', line)):
            yield Prose(number, match[1])


def _reader(path: Path) -> Optional[Callable[[str], Iterator[Prose]]]:
    return {".md": markdown, ".py": python}.get(path.suffix) or (
        cpp if path.suffix in CODE else shell if path.suffix in SHELL or path.name == "CMakeLists.txt" else None)


def reads(path: Path) -> bool:
    """Whether files of this name hold prose that is checked."""
    return _reader(path) is not None


def prose_of(path: Path, text: str) -> Iterator[Prose]:
    reader = _reader(path)
    return reader(text) if reader else iter(())


# --- findings ---------------------------------------------------------------------------------------------------------


def sentences(prose: Prose) -> Iterator[Prose]:
    """Sentences of its paragraphs. Colons and semicolons end none; blank lines, deeper lines and columns do."""
    line = prose.line
    for part in re.split(r"(\n(?=[ \t]*(?:\n|$)|[ \t]{2,}\S|[ \t]*[-*] \S|.*\S {2,}\S))", prose.text):
        yield from _sentences(Prose(line, part))
        line += part.count("\n")


def _sentences(prose: Prose) -> Iterator[Prose]:
    line, words = prose.line, ""
    begin = line
    for part in re.split(r"((?<=[.!?])[*)\"']*\s+(?=[A-Z`*(\"\[]))", prose.text):
        begin = begin if words.strip() else line
        words += part
        line += part.count("\n")
        if part.strip() == "" and not ABBREVIATION.search(words.rstrip()):
            yield Prose(begin, words)
            words = ""
    if words.strip():
        yield Prose(begin, words)


def check(file: Path, text: str) -> Iterator[Finding]:
    lines = text.splitlines()
    for prose in prose_of(file, text):
        for sentence in sentences(prose):
            count = len(re.findall(r"[A-Za-z][\w'-]*", sentence.text))
            if count > MOST_WORDS and not sentence.text.lstrip().startswith("Exit codes:"):
                yield Finding(file, sentence.line, f"a sentence of {count} words; at most {MOST_WORDS}", sentence.text)
            asks = sentence.text.rstrip(" *)\"'").endswith("?")  # a question may ask for its subject
            for word, (reason, pattern) in RULES.items():
                tried = AFTER_PEOPLE.sub("", sentence.text) if word == "who" else sentence.text
                for match in pattern.finditer(tried) if not (asks and word == "who") else ():
                    yield Finding(file, sentence.line + tried.count("\n", 0, match.start()), f"'{match[0]}': {reason}",
                                  sentence.text)
    comment = COMMENTS.get(file.suffix, COMMENTS[".sh"] if file.name == "CMakeLists.txt" else None)
    for number, line in enumerate(lines if comment else [], start=1):
        if comment and len(line) > MOST_COLUMNS and comment.search(line):
            yield Finding(file, number, f"a comment of {len(line)} columns; at most {MOST_COLUMNS}", line)


def read_exceptions(root: Path) -> dict[tuple[str, str], int]:
    """`FILE: part of the sentence`, a line each, with the line on which it stands here."""
    found = {}
    path = root / EXCEPTIONS
    for number, line in enumerate(files.read_text(path).splitlines() if path.exists() else [], start=1):
        if line.strip() and not line.startswith("#"):
            file, _, part = line.partition(": ")
            found[file, " ".join(part.split())] = number
    return found


def check_all(root: Path, paths: list[Path]) -> list[str]:
    """What is wrong in these files, which are relative to the root; and exceptions of theirs that except nothing."""
    exceptions, used, wrong = read_exceptions(root), set(), []
    for path in sorted({*paths} - OWN):
        for finding in check(path, files.read_text(root / path)):
            source = " ".join(finding.source.split())
            key = next((key for key in exceptions if key[0] == path.as_posix() and key[1] in source), None)
            if key:
                used.add(key)
            else:
                wrong.append(str(finding))
    stale = [f"{EXCEPTIONS}:{number}: nothing in {file} needs this exception" for (file, part), number in
             exceptions.items() if Path(file) in paths and (file, part) not in used]
    return wrong + stale
