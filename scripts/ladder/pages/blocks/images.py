"""Pictures, timelines and charts, by their names."""
from __future__ import annotations

from ladder import markdown
from ladder.context import Context
from ladder.draw import charts, gallery
from ladder.files import CHARTS
from ladder.levels import names
from ladder.pages.blocks.options import Options, take_archs, take_level


def _image(context: Context, name: str, alt: str) -> str:
    return markdown.image(alt, context.link(CHARTS / f"{name}.svg"))


def picture(context: Context, options: Options) -> str:
    """name=NAME: a picture that is drawn from the code."""
    name = options.pop("name", "")
    drawn = gallery.draw(context, name)
    if drawn is None:
        raise ValueError(f"there is no picture '{name}', only {', '.join(gallery.names(context))}")
    return _image(context, name, drawn.description)


def timeline(context: Context, options: Options) -> str:
    """level=N arch=sm100: the timeline, on both architectures or on one."""
    level = take_level(context, options)
    parts = []
    for arch in take_archs(options, list(names.ARCH_NAMES)):
        name = f"{names.short(level)}_timeline_sm{arch}"
        drawn = gallery.draw(context, name)
        parts.append(_image(context, name, drawn.description) if drawn else "No timeline has been recorded yet.\n")
    return "\n".join(parts)


def chart(context: Context, options: Options) -> str:
    """name=NAME: a chart of the figures, or a heat-map of a sweep."""
    name = options.pop("name", "")
    if name not in charts.CATALOGUE and charts.HEAT_MAPS not in name:
        raise ValueError(f"there is no chart '{name}', only {', '.join(charts.CATALOGUE)} and {charts.HEAT_MAPS}...")
    drawn = charts.all_charts(context).get(name)
    if drawn is None:
        return "Nothing has been measured for this chart yet.\n"
    return _image(context, name, drawn.description)
