"""Findings of a simulated device that writes no records: read from what it prints. verdict.py alone uses this, and only
where scripts/sim.sh has no --reports."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

CONVERGENCE = ("implicit-reconvergence", "warp-synchronous")
_HEAD = re.compile(r"^sim: check: (error|habit) (?:\(([^)]*)\)|(\S+))(, strict)?[^\n]* in kernel (.*)$",
                   re.MULTILINE)
_STOP = re.compile(r"^sim: (?:(deadlock|error|warning) in kernel ([^:\n]*)|kernel (.*) spins for ever).*$",
                   re.MULTILINE)
_PLACE = re.compile(r"([\w.]+/)?([\w.]+\.\w+):(\d+)")
_INSTRUCTION = re.compile(r"^(?:  at |  in an asynchronous operation that was issued at |      at |  )(\S.*?) "
                          r"\(PTX line (\d+)(.*)\)$")
# Mnemonics in sentences about what is missing.
_NAMED = re.compile(r"__syncwarp|(?<!\w)"
                    r"(?:mbarrier|bar|barrier|fence|cp|wgmma|tcgen05|griddepcontrol|elect|ld)\.[\w.:]*\w")


def short(instruction: str) -> str:
    """"mbarrier.try_wait" of an instruction with all its qualifiers."""
    return re.split(r"\.(?:parity|shared|sync|aligned|global|release|acquire|cta_group|2d|b\d)\b|::", instruction)[0]


def frames(text: str) -> list[dict[str, Any]]:
    return [{"file": f"{folder}{file}", "line": int(line)} for folder, file, line in _PLACE.findall(text)]


def place(line: str, after: str = "") -> dict[str, Any]:
    match = _INSTRUCTION.match(line)
    instruction, number, source = match.groups() if match else (line.strip(), "0", "")
    noun, by, who = after.strip().rpartition(" by ")
    return {"noun": (noun if by else "") or short(instruction), "instruction": instruction, "ptx_line": int(number),
            "frames": frames(source), "who": who}


def findings(output: str) -> Iterable[dict[str, Any]]:
    """Records, as far as sentences say it."""
    for head in _HEAD.finditer(output):
        lines = re.split(r"\nsim: |\n(?=\S)", output[head.end() + 1:])[0].split("\n")
        sides = [place(line, after) for line, after in zip(lines, lines[1:])
                 if line.startswith("  ") and not line.startswith("    ") and after.startswith("    ")]
        words = next((line[len("  Missing: "):] for line in lines if line.startswith("  Missing: ")), "")
        named = _NAMED.search(words)
        yield {"kind": "race" if head[1] == "error" else "convergence" if head[3] in CONVERGENCE else "habit",
               "rule": head[2] or head[3], "strict": bool(head[4]), "tolerated": head[1] == "habit", "kernel": head[5],
               "sides": sides, "text": "\n".join([head[0], *lines]),
               "missing": {"instruction": named[0].replace("__syncwarp", "bar.warp.sync") if named else "",
                           "from": {"frames": frames(words)}}}
    for stop in _STOP.finditer(output):
        block = re.split(r"\n\n|\nsim: ", output[stop.start():])[0]
        lines = block.split("\n")
        places = [place(line) for line in lines if _INSTRUCTION.match(line)]
        hangs = stop[1] == "deadlock" or stop[3]
        yield {"kind": "deadlock" if hangs else "habit" if stop[1] == "warning" else "fault", "text": block,
               "tolerated": stop[1] == "warning", "kernel": stop[2] or stop[3], "sides": [] if hangs else places[:1],
               "what": "" if hangs else lines[1].strip(), "waits": places if hangs else []}
