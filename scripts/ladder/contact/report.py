"""The page of a run, and its archive."""
from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zlib
from pathlib import Path

from ladder import markdown
from ladder.command import Failure
from ladder.contact import catalogue, state
from ladder.contact.state import Record, State
from ladder.files import DataError

PAGE = "first_contact.md"
PARTS = ("machine", "facts", "kernels", "times", "removals")
_MOST = 64 << 20


def differences(records: list[Record]) -> list[Record]:
    """The answers that are not the simulated device's, and of which nothing is known."""
    return _judged(records, "differs")


def _judged(records: list[Record], verdict: str) -> list[Record]:
    arch = int(records[0]["arch"])
    return [record for record in records[1:] if "answer" in record
            and catalogue.verdict(arch, record["name"], record["answer"]) == verdict]


def failures(records: list[Record]) -> list[Record]:
    return [record for record in records[1:] if record.get("part") in ("times", "removals")
            and record.get("exit_code") != 0]


def page(records: list[Record], left: int) -> str:
    begin = records[0]
    arch = int(begin["arch"])
    lines = [f"# First contact: {begin['gpu']}", "",
             f"{begin['date']}, commit {begin['commit'] or 'unknown'}, sm{arch}"
             + (", simulated" if begin["simulated"] else ", measured") + ".", ""]
    machine = next((record for record in records[1:] if record["name"] == "machine"), {})
    lines += [markdown.table(["machine", ""], list(machine.get("machine", {}).items()), "ll")]
    rows = []
    for part in PARTS[1:]:
        found = [record for record in records[1:] if record.get("part") == part]
        wrong = [record for record in (differences(records) + failures(records)) if record.get("part") == part]
        rows.append([part, str(len(found)), str(len(found) - len(wrong)), str(len(wrong)),
                     f"{sum(record['seconds'] for record in found):.0f}"])
    lines += [markdown.table(["part", "done", "as simulated, or measured", "differ, or failed", "seconds"], rows,
                             "lrrrr")]
    if left:
        lines += [f"{left} steps were left out, for want of time or of a program.", ""]
    lines += ["## What differs", ""]
    for record in differences(records):
        name = record["name"]
        lines += [f"- **{name}**: {catalogue.asks(arch, name)}.", f"  - this machine: `{record['answer']}`",
                  f"  - simulated: `{catalogue.answers(arch).get(name, 'not recorded')}`",
                  f"  - assumed in {catalogue.place(arch, name)}"]
    for record in failures(records):
        lines += [f"- **{record['name']}** failed: {(record.get('said') or 'no word').strip().splitlines()[-1]}"]
    for record in _judged(records, "differs, as known"):
        lines += [f"- {record['name']}, as known: {catalogue.known(arch, record['name'])[1]}."]
    if not differences(records) and not failures(records):
        lines += ["Nothing."]
    return "\n".join(lines) + "\n"


def pack(done: State, left: int, folder: Path) -> Path:
    """Writes page and archive; the archive's name has the GPU's and the day."""
    text = done.path.read_text(encoding="utf-8")
    shown = page(done.records, left)
    (folder / PAGE).write_text(shown, encoding="utf-8")
    gpu = re.sub(r"\W+", "_", done.begin["gpu"]).strip("_")
    path = folder / f"first_contact-{gpu}-{done.begin['date'][:10]}.tar.gz"
    seal = json.dumps({"name": "seal", "sha256": state.digest(text)}) + "\n"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in ((state.NAME, text + seal), (PAGE, shown)):
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    return path


def unpack(path: Path) -> list[Record]:
    """The records of an archive. Raises DataError for one that is damaged, or is none."""
    try:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(path.read_bytes()))) as archive:
            member = archive.getmember(state.NAME)
            file = archive.extractfile(member)
            if file is None or member.size > _MOST:
                raise KeyError(state.NAME)
            text = file.read().decode()
    except FileNotFoundError:
        raise Failure(f"{path}: there is no such file.") from None
    except KeyError:
        raise DataError(f"{path}: this is no archive of scripts/first_contact.py: it has no {state.NAME}.") from None
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path}: this archive is damaged, or is none ({error}).") from None
    before = text.rstrip("\n").rpartition("\n")[0]
    records = state.parse(text, f"{path}: {state.NAME}")
    if records[-1]["name"] != "seal" or records[-1].get("sha256") != state.digest(before + "\n"):
        raise DataError(f"{path}: this archive is damaged: its records are not those that were sealed.")
    return records[:-1]
