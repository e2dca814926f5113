"""What pictures are drawn with: rectangles, lines, words. Colours are names of classes; each has a light and a dark
form, and a picture brings its own background, so that it can be read on any page."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import Optional

FONT_SIZE = 13
SMALL = 11
CHARACTER = 0.56  # width of an average character, in font sizes

# class: (light, dark); fills with words on them are pale in light and deep in dark pages.
INKS = {"ink": ("#1f2328", "#e6edf3"), "soft": ("#57606a", "#9aa4b0"), "warn": ("#bc4c00", "#f0883e")}
FILLS = {
    "page": ("#ffffff", "#161b22"), "none": ("#eef1f4", "#21262d"), "grey": ("#d0d7de", "#3d444d"),
    "blue": ("#a9d0fb", "#1f4f86"), "orange": ("#ffcf9e", "#84480c"), "green": ("#aee5b5", "#1f6132"),
    "purple": ("#d9c2f7", "#563a86"), "red": ("#ffb9b3", "#86302c"), "yellow": ("#f6df86", "#6a5200"),
    "teal": ("#9fe0de", "#175b5c"), "pink": ("#fbc1dc", "#7b2f57"),
    "pale-teal": ("#d5f2f1", "#0f3c3d"), "pale-green": ("#d9f4dc", "#123d1f"),
}
STRIPES = ('<defs><pattern id="stripes" width="12" height="12" patternUnits="userSpaceOnUse" '
           'patternTransform="rotate(45)"><rect class="blue" width="12" height="12"/>'
           '<rect class="orange" width="6" height="12"/></pattern></defs>\n')  # the fill "both"
STROKES = {"line": ("#8c959f", "#6e7681"), "strong": ("#1f2328", "#e6edf3"), "alarm": ("#bc4c00", "#f0883e")}


def style(used: set[str], dark: Optional[bool] = None) -> str:
    """The used classes as CSS. `dark` None: as the reader's system wishes."""
    def rules(index: int, indent: str) -> str:
        found = {name: f"fill:{colours[index]}" for name, colours in {**INKS, **FILLS}.items()}
        found |= {name: f"stroke:{colours[index]};fill:none" for name, colours in STROKES.items()}
        found |= {"both": "fill:url(#stripes)"}
        found |= {f"on-{name}": f"stroke:{colours[index]}" for name, colours in STROKES.items()}
        return "".join(f"{indent}.{name}{{{rule}}}\n" for name, rule in found.items() if name in used)

    if dark is not None:
        return rules(int(dark), "")
    return rules(0, "") + "@media (prefers-color-scheme:dark){\n" + rules(1, "") + "}\n"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """About how wide, in pixels."""
    return len(text) * CHARACTER * size


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass
class Words:
    """Where words stand, for the test that none leave the picture."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass
class Drawing:
    """A picture being drawn. `description` is what a screen reader says."""

    title: str
    description: str
    width: float
    height: float
    parts: list[str] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)

    def rect(self, x: float, y: float, width: float, height: float, fill: str, border: str = "line", radius: float = 2,
             thick: float = 1, tip: str = "") -> None:
        classes = f"{fill} on-{border}" if border else fill
        stroke = f' stroke-width="{_n(thick)}"' if border and thick != 1 else ""
        rounded = f' rx="{_n(radius)}"' if radius else ""
        inside = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self.parts.append(f'<rect class="{classes}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" '
                          f'height="{_n(height)}"{rounded}{stroke}{inside}')

    def frame(self, x: float, y: float, width: float, height: float, stroke: str = "strong", thick: float = 2,
              dashed: bool = False, radius: float = 2) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<rect class="{stroke}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
                          f'rx="{_n(radius)}" stroke-width="{_n(thick)}"{dash}/>')

    def text(self, x: float, y: float, text: str, ink: str = "ink", size: float = FONT_SIZE, anchor: str = "start",
             bold: bool = False, turned: bool = False) -> None:
        """`y` is the baseline. Turned: upwards."""
        width = text_width(text, size) * (1.06 if bold else 1)
        left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
        box = Words(text, left, y - size, left + width, y + 0.3 * size)
        if turned:
            half = {"start": width, "middle": width / 2, "end": 0}[anchor]
            box = Words(text, x - size, y - half, x + 0.3 * size, y - half + width)
        self.words.append(box)
        attributes = "" if size == FONT_SIZE else f' font-size="{_n(size)}"'
        attributes += "" if anchor == "start" else f' text-anchor="{anchor}"'
        attributes += ' font-weight="600"' if bold else ""
        attributes += f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turned else ""
        self.parts.append(f'<text class="{ink}" x="{_n(x)}" y="{_n(y)}"{attributes}>{escape(text)}</text>')

    def label(self, x: float, y: float, width: float, height: float, text: str, ink: str = "ink",
              size: float = FONT_SIZE, bold: bool = False) -> bool:
        """Words in the middle of a box, smaller if need be; none at all if they would not fit even so."""
        for fitting in (size, SMALL, 9):
            if fitting <= size and text_width(text, fitting) <= width - 2 and fitting <= height:
                self.text(x + width / 2, y + height / 2 + 0.36 * fitting, text, ink, fitting, "middle", bold)
                return True
        return False

    def line(self, *points: tuple[float, float], stroke: str = "line", thick: float = 1, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.parts.append(f'<polyline class="{stroke}" points="{path}" stroke-width="{_n(thick)}"{dash}/>')

    def arrow(self, x: float, y: float, to_x: float, to_y: float, stroke: str = "strong") -> None:
        """Along one axis."""
        self.line((x, y), (to_x, to_y), stroke=stroke, thick=1.5)
        back_x, back_y = _sign(x - to_x) * 6, _sign(y - to_y) * 6
        aside_x, aside_y = (0.0, 3.5) if back_x else (3.5, 0.0)
        self.line((to_x + back_x + aside_x, to_y + back_y + aside_y), (to_x, to_y),
                  (to_x + back_x - aside_x, to_y + back_y - aside_y), stroke=stroke, thick=1.5)

    def legend(self, x: float, y: float, entries: dict[str, str], size: float = SMALL) -> None:
        """Fills and what they mean, side by side, in as many lines as they need. `y`: the baseline of the first."""
        left = x
        for fill, meaning in entries.items():
            wide = 17 + text_width(meaning, size) + 12
            if x > left and x + wide > self.width:
                x, y = left, y + 18
            self.rect(x, y - 10, 12, 12, fill)
            self.text(x + 17, y, meaning, "soft", size)
            x += wide

    def heading(self, note: str = "", x: float = 16) -> None:
        """The title, and under it what should be said at once."""
        self.text(x, 26, self.title, size=15, bold=True)
        if note:
            self.text(x, 44, note, "soft", SMALL)

    def svg(self, dark: Optional[bool] = None) -> str:
        used = {"page"} | {name for part in self.parts for names in re.findall('class="([^"]+)"', part)
                           for name in names.split()}
        stripes = STRIPES if "both" in used else ""
        used |= {"blue", "orange"} if stripes else set()
        size = f'width="{_n(self.width)}" height="{_n(self.height)}" viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-size="{FONT_SIZE}" '
                'font-family="system-ui,-apple-system,\'Segoe UI\',Helvetica,Arial,sans-serif">\n'
                f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n"
                f"<style>\n{style(used, dark)}</style>\n{stripes}"
                f'<rect class="page" width="{_n(self.width)}" height="{_n(self.height)}" rx="6"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
