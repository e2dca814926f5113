"""Pictures, timelines and charts, by their names."""
from __future__ import annotations

import html
import re
from pathlib import Path

import charts
import kernels
import pictures
from blocks.options import Options, take_archs, take_level
from recorded import CHARTS, Context

HEAT_MAPS = "autotune_"  # stands in the names of the charts that scripts/autotune/heatmap.py draws


def _image(context: Context, name: str, alt: str) -> str:
    words = " ".join(alt.split()).replace("[", "(").replace("]", ")")
    return f"![{words}]({context.link(CHARTS / f'{name}.svg')})\n"


def picture(context: Context, options: Options) -> str:
    """name=NAME: a picture that is drawn from the code."""
    name = options.pop("name", "")
    drawn = pictures.draw(context, name)
    if drawn is None:
        raise ValueError(f"there is no picture '{name}', only {', '.join(pictures.names(context))}")
    return _image(context, name, drawn.description)


def timeline(context: Context, options: Options) -> str:
    """level=N arch=sm100: who does what when, on both architectures or on one."""
    level = take_level(context, options)
    parts = []
    for arch in take_archs(options, list(kernels.ARCH_NAMES)):
        name = f"{level[:len('level00')]}_timeline_sm{arch}"
        drawn = pictures.draw(context, name)
        parts.append(_image(context, name, drawn.description) if drawn else "No timeline has been recorded yet.\n")
    return "\n".join(parts)


def description_of(svg: Path) -> str:
    """What an SVG says of itself."""
    text = svg.read_text(encoding="utf-8")
    match = re.search(r"<desc\b[^>]*>(.*?)</desc>", text, re.DOTALL) or \
        re.search(r"<title\b[^>]*>(.*?)</title>", text, re.DOTALL)
    return html.unescape(match[1]) if match else svg.stem.replace("_", " ")


def chart(context: Context, options: Options) -> str:
    """name=NAME: a chart of the figures."""
    name = options.pop("name", "")
    file = context.root / CHARTS / f"{name}.svg"
    if name not in charts.CATALOGUE and HEAT_MAPS not in name:
        raise ValueError(f"there is no chart '{name}', only {', '.join(charts.CATALOGUE)} and {HEAT_MAPS}...")
    if not file.exists():
        return "Nothing has been measured for this chart yet.\n"
    return _image(context, name, description_of(file))
