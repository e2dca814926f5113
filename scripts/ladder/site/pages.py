"""What is a page of the site, and where a link of a page leads there.

A Markdown file is a page, README.md the index of its folder. A source file to which a page links is a page with line
numbers; a folder without README.md that is linked is a list of its files. Images and data are copied as they are."""
from __future__ import annotations

import posixpath
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional
from urllib.parse import unquote

COPIED = {".svg", ".png", ".csv", ".json", ".txt"}  # not rendered
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
TARGET = re.compile(r"\]\(\s*<?([^()\s>]+)|<(?:a|img)\b[^>]*?\b(?:href|src)=[\"']([^\"']+)[\"']")
PLAYED = re.compile(r"level\d\d_sm\d+|ring|pair|field_bugs")  # anchors of docs/playground.md, pages of the playground
LINE = re.compile(r"L(\d+)(?:-L\d+)?")


def tracked(root: Path) -> list[str]:
    """The repository's files, or what would be with the next commit; paths from the root, with slashes."""
    answer = subprocess.run(["git", "-C", str(root), "ls-files", "-coz", "--exclude-standard"], capture_output=True,
                            text=True, check=True)
    return sorted(name for name in answer.stdout.split("\0") if name and (root / name).is_file())


def is_page(path: str) -> bool:
    return path.endswith(".md")


@dataclass
class Site:
    """All pages by the path of the file in the repository that they show."""

    root: Path
    files: frozenset[str]
    extra: frozenset[str] = frozenset()  # addresses that other parts of the site take: the explorer, the playground
    folders: frozenset[str] = field(init=False)
    pages: list[str] = field(init=False)
    sources: set[str] = field(default_factory=set)  # files shown as source
    listings: set[str] = field(default_factory=set)  # folders shown as lists
    copies: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.folders = frozenset(posixpath.join(*parts[:n]) if n else "" for name in self.files
                                 for parts in [name.split("/")] for n in range(len(parts)))
        self.pages = sorted(name for name in self.files if is_page(name))
        for page in self.pages:
            for target in targets(remove_code((self.root / page).read_text(encoding="utf-8"))):
                self._take(page, target)

    def _take(self, page: str, target: str) -> None:
        path, _ = self.resolve(page, target)
        if path is None or is_page(path):
            return
        if path in self.files:
            (self.copies if Path(path).suffix in COPIED else self.sources).add(path)
        elif path in self.folders and self._readme(path) is None:
            self.listings.add(path)

    def _readme(self, folder: str) -> Optional[str]:
        name = posixpath.join(folder, "README.md")
        return name if name in self.files else None

    def resolve(self, page: str, target: str) -> tuple[Optional[str], str]:
        """The repository's path that a link of a page names, and the anchor; no path for one that leads elsewhere."""
        if EXTERNAL.match(target):
            return None, ""
        name, _, anchor = unquote(target).partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), name)) if name else page
        return ("" if path == "." else path), anchor

    def address(self, path: str) -> Optional[str]:
        """Where the site shows a file or folder: an address from the site's first folder. None: it does not."""
        if is_page(path) and path in self.files:
            folder, name = posixpath.split(path)
            return posixpath.join(folder, "index.html" if name == "README.md" else name[:-3] + ".html")
        if path in self.sources:
            return path + ".html"
        if path in self.copies:
            return path
        if path in self.listings:
            return posixpath.join(path, "files.html")
        readme = self._readme(path)
        return self.address(readme) if readme else None

    def link(self, page: str, target: str) -> str:
        """A link of a page as the site has it. mkdocs has replaced those to Markdown files already. Raises KeyError for
        one that leads nowhere."""
        path, anchor = self.resolve(page, target)
        if path is None or target.startswith("#") or (path.endswith(".html") and path not in self.files):
            return target
        address = self.address(path)
        here = self.address(page)
        if address is None or here is None:
            raise KeyError(f"{page} links to {target}, which the site does not have")
        line = LINE.fullmatch(anchor) if path in self.sources else None
        anchor = f"L-{line[1]}" if line else anchor
        return posixpath.relpath(address, posixpath.dirname(here) or ".") + (f"#{anchor}" if anchor else "")

    def entries(self, folder: str) -> list[tuple[str, Optional[str]]]:
        """The files below a folder and, for those that the site shows, their addresses from the folder."""
        found = []
        for name in sorted(self.files):
            if folder == "" or name.startswith(folder + "/"):
                address = self.address(name)
                shown = name[len(folder) + 1 if folder else 0:]
                found.append((shown, posixpath.relpath(address, folder or ".") if address else None))
        return found


# --- Markdown as GitHub reads it, for Python-Markdown -----------------------------------------------------------------

FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!--.*?-->$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LIST = re.compile(r"(?:[-*]|\d+\.) ")


def remove_code(text: str) -> str:
    return CODE.sub("", FENCE.sub("", text))


def targets(text: str) -> Iterable[str]:
    for match in TARGET.finditer(text):
        yield match[1] or match[2]


def markdown(text: str) -> str:
    """The same text for Python-Markdown: no marks of generated blocks, Markdown inside of <details>, and a blank line
    before a list, which GitHub does not need."""
    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [_prose(text[at:fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, _prose(text[at:])])


def _prose(text: str) -> str:
    text = COMMENT.sub("\n", text)
    text = re.sub(r"<details(?![^>]*markdown=)", '<details markdown="1"', text)
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if LIST.match(line) and before and not LIST.match(before) and not before.startswith(" "):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def slug(heading: str, separator: str = "-") -> str:
    """The anchor that GitHub gives to a heading."""
    del separator
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def navigation(site: Site, playground: bool, explorer: bool) -> list[object]:
    """The table of contents, in the order in which the course is read."""
    def there(*paths: str) -> list[str]:
        return [path for path in paths if path in site.files]

    levels = [page for page in site.pages if re.fullmatch(r"level\d\d_\w+/README\.md", page)]
    warm_up = there(*(f"level01_baseline/warm_up/{name}.md" for name in
                      ("README", "one_mma", "tma_load", "k_loop", "pair")))
    beyond = [page for page in site.pages if page.startswith("docs/beyond/")]
    tasks = [page for page in site.pages if page.startswith("scripts/ladder/grader/tasks/")]
    taken = {*levels, *warm_up, *beyond, *tasks, "README.md", "docs/README.md", "docs/how_fast.md",
             "docs/cheat_sheet.md"}
    machine = there("docs/simulator.md", "docs/debugging.md", "docs/explorer.md", "docs/model.md", "docs/grader.md",
                    "docs/playground.md", "docs/field_bugs.md", "docs/your_own_programs.md", "docs/in_your_project.md")
    figures = there("docs/measuring.md", "docs/gpus.md", "docs/profiling.md", "docs/profilers.md",
                    "docs/tuning_h200.md", "docs/tuning_b200.md")
    taken |= {*machine, *figures}
    rest = [page for page in site.pages if page not in taken]
    tools: list[object] = [*([{"Explorer": "explorer/index.html"}] if explorer else []), *machine]
    contents: list[object] = [{"Start": "README.md"}]
    if playground:
        contents.append({"Playground": "playground/index.html"})
    contents += [*there("docs/README.md", "docs/cheat_sheet.md", "docs/how_fast.md"),
                 {"Warm-up": warm_up}, {"Levels": levels},
                 {"Tools": tools}, {"Measurements": figures}, {"Beyond the eight": beyond}, {"Tasks": tasks},
                 {"Reference": rest}]
    return [part for part in contents if not isinstance(part, dict) or all(part.values())]
