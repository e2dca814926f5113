"""The page: one HTML file that needs no network and no server. Data and code stay apart: the modules of assets/ are put
in as they are, behind an import map, and the data as JSON, compressed by gzip and in base64."""
from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

FOLDER = Path(__file__).resolve().with_name("assets")
PREFIX = "explorer/"  # under which modules import each other


@dataclass
class Page:
    """What stands on a page: one run, or two that can be shown side by side."""

    title: str
    idea: str
    runs: Sequence[Mapping[str, Any]]
    labs: Mapping[str, Any]
    links: Sequence[tuple[str, str]] = ()  # text and file
    beside: Optional[str] = field(default=None)  # what the second run is called


def render(page: Page) -> str:
    """All of it, as HTML."""
    return fill("index.html", {
        "title": html.escape(page.title),
        "idea": html.escape(page.idea),
        "style": (FOLDER / "style.css").read_text(encoding="utf-8"),
        "links": anchors(page.links),
        "controls": controls(page.beside),
        "modules": json.dumps({"imports": _modules()}),
        "data": pack({"runs": page.runs, "labs": page.labs}),
    })


def anchors(links: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f'<a href="{html.escape(file)}">{html.escape(text)}</a>' for text, file in links)


def controls(beside: Optional[str]) -> str:
    """The buttons that move through a run; `beside` is what the second run is called."""
    button = (f'<button id="beside" type="button" aria-pressed="false" title="Both on one axis (s)">Beside: '
              f"{html.escape(beside)}</button>") if beside else ""
    return fill("controls.html", {"beside": button})


def fill(template: str, values: Mapping[str, str], folder: Path = FOLDER) -> str:
    """A template of assets/, in one pass: what is filled in is not looked at again."""
    text = (folder / template).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)


def _modules() -> dict[str, str]:
    """The page's modules, by the names under which they are imported, and under which a browser's tools show them."""
    texts = {PREFIX + path.name: path.read_text(encoding="utf-8").replace('from "./', f'from "{PREFIX}')
             for path in sorted(FOLDER.glob("*.js"))}
    return {name: "data:text/javascript;base64," + base64.b64encode(f"{text}//# sourceURL={name}\n".encode()).decode()
            for name, text in texts.items()}


def pack(value: Any) -> str:
    """JSON as assets/main.js reads it from a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


INDEX_STYLE = """
table { border-collapse: collapse; }
td, th { padding: .4em .9em; text-align: left; border-bottom: 1px solid var(--line); }
main { max-width: 60rem; }
"""


def render_index(rows: Sequence[tuple[str, str, Sequence[tuple[str, str]]]], above: Sequence[tuple[str, str]]) -> str:
    """Of levels: number and name, idea, and links to pages; and links to what is above them."""
    lines = [f"<tr><th>{html.escape(name)}</th><td>{html.escape(idea)}</td>" + "".join(
        f'<td><a href="{html.escape(file)}">{html.escape(text)}</a></td>' for text, file in links) + "</tr>"
        for name, idea, links in rows]
    style = (FOLDER / "style.css").read_text(encoding="utf-8") + INDEX_STYLE
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Tensor Core Ladder: sixteen kernels, event by event</title>
<style>
{style}</style>
</head>
<body>
<header class="top"><h1>Tensor Core Ladder: sixteen kernels, event by event</h1>
<nav aria-label="Pages">{anchors(above)}</nav></header>
<main>
<p>Each page is a small run of a level's kernel on the simulated device: what every warp, unit and barrier does, why it
waits, and who releases it. Times are modelled.</p>
<table>
{chr(10).join(lines)}
</table>
</main>
</body>
</html>
"""
