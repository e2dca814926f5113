"""Hooks of mkdocs: pages come from the repository, links lead to pages of the site. Runs in the generator's own
environment; the repository's root and what else is on the site come from scripts/site.py by the environment."""
from __future__ import annotations

import html
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[2]
sys.path.append(str(SCRIPTS))
from ladder.site import pages, tries  # noqa: E402

HREF = re.compile(r"(<(?:a|img)\b[^>]*?\b(?:href|src)=)\"([^\"]+)\"")
LEVEL_PAGE = re.compile(r"level\d\d_\w+/README\.md")
STEP_PAGE = re.compile(r"level\d\d_\w+/steps/sm\d+/\w+\.patch")
PLAYED_LINK = re.compile(rf'(<a id="({pages.PLAYED.pattern})"></a>\s*<a href=)"[^"]*"')
PLAYGROUND_PAGE = re.compile(r"level(\d\d)_\w+/kernel_(sm\d+)\.cuh")


class State:
    """Of one build."""

    site: pages.Site
    source_of: dict[str, str]  # by the source path of a page of mkdocs: what it shows


def on_config(config: Any) -> Any:
    root = Path(os.environ["LADDER_SITE_ROOT"])
    State.site = pages.Site(root, frozenset(pages.tracked(root)))
    State.source_of = {}
    config.nav = pages.navigation(State.site, _has_playground(), "explorer" in _parts())
    config.mdx_configs.setdefault("toc", {})["slugify"] = pages.slug
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File
    site = State.site
    for name in [*site.pages, *sorted(site.copies)]:
        State.source_of[name] = name
        files.append(File.generated(config, name, abs_src_path=str(site.root / name)))
    for name in sorted(site.sources):
        State.source_of[name + ".md"] = name
        files.append(File.generated(config, name + ".md", content=_front(name)))
    for name in sorted(site.listings):
        path = posixpath.join(name, "files.md")
        State.source_of[path] = name
        files.append(File.generated(config, path, content=_front(name or "All files") + _listing(name)))
    return files


def _front(title: str) -> str:
    return f"---\nsearch:\n  exclude: true\nhide: [toc]\n---\n# {title}\n"


def _listing(folder: str) -> str:
    return "\n" + "\n".join(f"- [{name}]({address})" if address else f"- {name}"
                            for name, address in State.site.entries(folder)) + "\n"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    del config, files
    return pages.markdown(markdown) if pages.is_page(State.source_of.get(page.file.src_uri, "")) else markdown


def on_page_content(text: str, page: Any, config: Any, files: Any) -> str:
    del config, files
    name = State.source_of.get(page.file.src_uri)
    if name is None or name in State.site.listings:
        return text
    if name in State.site.sources:
        return text + _source(name)

    if _has_playground() and LEVEL_PAGE.fullmatch(name):
        text = tries.add(text, posixpath.dirname(name), "../playground/")
    if _has_playground() and name == "docs/playground.md":
        text = PLAYED_LINK.sub(r'\1"#\2"', text)

    def replaced(match: re.Match[str]) -> str:
        target = html.unescape(match[2])
        return f'{match[1]}"{html.escape(_playground(name, target) or State.site.link(name, target))}"'

    return HREF.sub(replaced, text)


def _playground(name: str, target: str) -> str:
    """Where a link to a row of the playground's page leads on a site that has the playground: to what the row is about.
    Empty for other links."""
    path, _, anchor = target.partition("#")
    address = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    is_row = address in ("docs/playground.md", "docs/playground.html") and pages.PLAYED.fullmatch(anchor)
    if not is_row or not _has_playground():
        return ""
    return posixpath.relpath(f"playground/{anchor}.html", posixpath.dirname(name) or ".")


def _has_playground() -> bool:
    return "playground" in _parts()


def _parts() -> list[str]:
    """What the site has beside its pages: explorer, playground, compiler."""
    return os.environ.get("LADDER_SITE_PARTS", "").split()


def _source(name: str) -> str:
    """A file with line numbers, L-1 and so on."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound
    code = (State.site.root / name).read_text(encoding="utf-8")
    try:
        lexer = get_lexer_by_name("cuda") if name.endswith((".cuh", ".cu")) else get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, cssclass="highlight source")
    shown = str(highlight(code, lexer, formatter))
    if STEP_PAGE.fullmatch(name):
        return tries.stepper(name, "compiler" in _parts()) + shown
    kernel = PLAYGROUND_PAGE.fullmatch(name)
    if not kernel or not _has_playground():
        return shown
    address = posixpath.relpath(f"playground/level{kernel[1]}_{kernel[2]}.html", posixpath.dirname(name))
    for line in tries.lines(name.partition("/")[0], int(kernel[2][2:])):
        shown = shown.replace(f'<a id="L-{line}"', f'<a class="try" href="{address}#line=L{line}" '
                              f'title="Line {line} in the playground">&#9679;</a><a id="L-{line}"', 1)
    return f'<p><a href="{address}">Run this kernel, and break it, in the playground</a></p>\n{shown}'
