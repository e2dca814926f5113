"""Whether a static site is whole: every link leads to a file or an anchor of it, and no page asks another host."""
from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Optional
from urllib.parse import parse_qsl, unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src", "video": "src",
          "object": "data", "embed": "src"}  # what a browser fetches by itself
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest", "prefetch"}
CSS_URL = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")


class Page(HTMLParser):
    """What a page has and names."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and LOADED_LINKS & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        elif LOADED.get(tag, "") in values:
            self.loads.append(values[LOADED[tag]])
        if "srcset" in values:
            self.loads += [part.split()[0] for part in values["srcset"].split(",") if part.strip()]


def problems(folder: Path) -> list[str]:
    """A sentence for each link that leads nowhere and each file that would come from elsewhere."""
    texts = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    read = {name: Page(path.read_text(encoding="utf-8")) for name, path in texts.items() if name.endswith(".html")}
    found = []
    for name, page in read.items():
        for kind, targets in (("links to", page.links), ("loads", page.loads)):
            found += [f"{name} {kind} {target}: {why}" for target in targets
                      if (why := _problem(name, target, kind == "loads", texts, read))]
    for name, path in texts.items():
        if name.endswith(".css"):
            for match in CSS_URL.finditer(path.read_text(encoding="utf-8")):
                target = match[1] or match[2]
                why = _problem(name, target, True, texts, read)
                if why:
                    found.append(f"{name} loads {target}: {why}")
    return found


def _problem(name: str, target: str, loaded: bool, files: Mapping[str, Path], pages: dict[str, Page]) -> str:
    parts = urlsplit(target)
    if parts.scheme == "data" or (not loaded and parts.scheme in ("mailto", "javascript")):
        return ""
    if parts.scheme or parts.netloc:
        return "another host" if loaded else ""
    if parts.path.startswith("/"):
        return "not a relative address"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
    if path in (".", "") or target.endswith("/"):
        path = posixpath.normpath(posixpath.join(path, "index.html"))
    if path not in files:
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and not loaded and path in pages and anchor not in pages[path].anchors:
        if not path.startswith("playground/"):
            return "no such anchor"
        return _problem_of_settings(files.get(f"playground/data/{Path(path).stem}/sites.json"), anchor)
    return ""


def _problem_of_settings(sites: Optional[Path], anchor: str) -> str:
    """Settings of a page of the playground, of a site whose folder of data has this list of sites (playground/
    settings.js reads them)."""
    if sites is None:
        return "no such anchor"
    known = json.loads(sites.read_text(encoding="utf-8"))
    names = {one["name"] for one in known} | {f"L{one['line']}" for one in known}
    program = json.loads(sites.with_name("program.json").read_text(encoding="utf-8"))
    values = {"without": names, "line": names, "weak": names, "lab": {one["id"] for one in program["labs"]},
              "shape": {one["id"] for one in program["shapes"]}}
    for name, value in parse_qsl(anchor):
        if name in values and not set(value.split(",")) <= values[name]:
            return f"the page has no {name} '{value}'"
    return ""
