#!/usr/bin/env python3
"""What `scripts/sim.sh --reports FILE` has recorded, as SARIF or JUnit.

    reports.py FILE... --sarif OUT.sarif     for a code host, which shows the findings at their lines
    reports.py FILE... --junit OUT.xml       for a test runner: a test for each file, which fails if it has an error
    reports.py FILE...                       prints a line for each finding

Exit codes: 0 no file has an error; 1 one has, or its run was killed; 2 wrong command line, or no file of records.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ladder import command, files
from ladder.levels import verdict
from ladder.levels.verdict import Finding, Place

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sources_in(root: Path) -> dict[str, list[str]]:
    """Files by the last two parts of their paths, as records have them. Hidden folders and builds are left out."""
    found: dict[str, list[str]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "build"]
        for path in (Path(folder) / name for name in names):
            found.setdefault("/".join(path.parts[-2:]), []).append(path.relative_to(root).as_posix())
    return found


def location(place: Place, sources: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The innermost line of an instruction, and the words for it."""
    file, line = place.frames[0]
    uris = sources.get(file, [])
    return {"physicalLocation": {"artifactLocation": {"uri": uris[0] if len(uris) == 1 else file},
                                 "region": {"startLine": line}},
            "message": {"text": " ".join(filter(None, (place.noun, place.who and f"by {place.who}")))}}


def sarif(findings: Sequence[Finding], root: Path) -> dict[str, Any]:
    """A run of SARIF 2.1.0: a result for each finding, at its last instruction; the others are related."""
    sources = sources_in(root.absolute())
    results = []
    for finding in findings:
        places = [location(place, sources) for place in (*finding.waits, *reversed(finding.sides)) if place.frames]
        results.append({"ruleId": finding.title, "level": "warning" if finding.tolerated else "error",
                        "message": {"text": finding.text.strip() or finding.title}, "locations": places[:1],
                        "relatedLocations": [{**place, "id": number} for number, place in enumerate(places[1:], 1)]})
    rules = [{"id": name} for name in dict.fromkeys(finding.title for finding in findings)]
    return {"$schema": SCHEMA, "version": "2.1.0",
            "runs": [{"tool": {"driver": {"name": "sim.sh", "rules": rules}}, "results": results}]}


def junit(found: Mapping[Path, Sequence[Finding]]) -> ElementTree.Element:
    """A test for each file."""
    suite = ElementTree.Element("testsuite", name="sim.sh", tests=str(len(found)))
    for path, findings in found.items():
        case = ElementTree.SubElement(suite, "testcase", classname="sim.sh", name=path.stem)
        errors = [one for one in findings if not one.tolerated]
        warnings = [one for one in findings if one.tolerated]
        if errors:
            titles = ", ".join(dict.fromkeys(one.title for one in errors))
            ElementTree.SubElement(case, "failure", message=titles).text = "\n".join(one.text for one in errors)
        if warnings:
            ElementTree.SubElement(case, "system-out").text = "\n".join(one.text for one in warnings)
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    return suite


def main() -> int:
    parser = command.Parser(__doc__)
    parser.add_argument("records", nargs="+", type=Path, metavar="FILE", help="of sim.sh --reports")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write SARIF 2.1.0")
    parser.add_argument("--root", type=Path, default=Path(), metavar="FOLDER",
                        help="where the sources are, to which SARIF's paths are relative (default: this folder)")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit's XML")
    options = parser.parse_args()
    found = {}
    for path in options.records:
        try:
            run = verdict.read(path)
        except (ValueError, KeyError, TypeError) as error:
            raise command.UsageError(f"{path} holds no records of sim.sh --reports: {error}.") from None
        found[path] = run.findings if run.has_ended else (*run.findings, Finding(verdict.FAULT, text="killed"))
    findings = [one for some in found.values() for one in some]
    if options.sarif:
        files.replace(options.sarif, json.dumps(sarif(findings, options.root), indent=1) + "\n")
    if options.junit:
        files.replace(options.junit, ElementTree.tostring(junit(found), encoding="unicode") + "\n")
    if not (options.sarif or options.junit):
        for path, some in found.items():
            for one in some:
                where = next((place.source for place in (*reversed(one.sides), *one.waits) if place.source), "")
                print(f"{path.name}: {one.title}{f' at {where}' if where else ''}")
    return command.EXIT_WRONG if any(not one.tolerated for one in findings) else command.EXIT_RIGHT


if __name__ == "__main__":
    command.run(main)
