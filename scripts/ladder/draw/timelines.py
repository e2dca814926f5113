"""The timeline of a level, as recorded on the simulated device, or on a GPU by timers in the kernel."""
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional

from ladder.context import Context
from ladder.draw.svg import SMALL, Drawing, text_width
from ladder.files import RESULTS, read_json
from ladder.levels import names

Draw = Callable[[], Optional[Drawing]]
# Colours of units and of what warps do: the explorer's page has the same (assets/style.css). A unit's
# alternate by tile.
TILES = {"loads": ("teal", "pale-teal"), "mma": ("green", "pale-green")}
STATES = {"run": "blue", "epilogue": "orange", "mbarrier": "none", "barrier": "yellow", "mma": "none",
          "store": "purple"}
MEANINGS = {"blue": "issues, computes", "orange": "epilogue", "yellow": "waits: CTA or cluster",
            "purple": "waits: store", "none": "waits: mbarrier, MMA"}
LEFT, WIDE, ROW, PAD = 190, 680, 22, 5


def gallery(context: Context) -> dict[str, Draw]:
    found: dict[str, Draw] = {f"{names.short(level)}_timeline_sm{arch}":
                              partial(recorded_timeline, context, level, arch)
                              for level, arch in names.all_kernels(context.root)}
    for path in sorted((context.root / RESULTS).glob("*_timers_*.json")):
        found[path.stem] = partial(measured_timeline, path)
    return found


def measured_timeline(path: Path) -> Drawing:
    data = read_json(path)
    of = f"Level {names.number_of(data['level']):02}, {names.ARCH_NAMES[data['arch']]}"
    return timeline({"": data}, f"{of}: timeline, on a GPU")


def recorded_timeline(context: Context, level: str, arch: int) -> Optional[Drawing]:
    """Of the level, under that of the level before, on one axis."""
    chosen = [each for each, its in names.all_kernels(context.root) if its == arch and each <= level][-2:]
    found = {each: data for each in chosen if (data := context.timeline(each, arch))}
    if level not in found:
        return None
    return timeline({f"Level {names.number_of(each):02}": data for each, data in found.items()},
                    f"Level {names.number_of(level):02}, {names.ARCH_NAMES[arch]}: timeline")


def timeline(panels: dict[str, dict[str, Any]], title: str) -> Drawing:
    """What traces.reduce made of traces, by what stands above each; of one alone, all CTAs are shown."""
    shown = {name: data["ctas"][:1] if len(panels) > 1 else data["ctas"] for name, data in panels.items()}
    tracks = [track for ctas in shown.values() for cta in ctas for track in cta["tracks"]]
    end = max(_end(ctas) for ctas in shown.values())
    last = list(panels.values())[-1]
    headings = sum(len(ctas) for ctas in shown.values() if len(ctas) > 1) + (len(panels) if len(panels) > 1 else 0)
    height = 62 + len(tracks) * ROW + headings * 20 + 6 * len(shown) * 2 + 78
    drawing = Drawing(title, _in_words(panels), LEFT + WIDE + 20, height)
    measured = last.get("kind") == "measured"
    shape = f"{_shape(last)}, " if "shape" in last else ""
    drawing.heading(f"Measured by timers in the kernel: {shape}{last['gpu']}, in cycles. {_says(last)}" if measured else
                    "Modelled, not timed: the simulated device, in cycles." if len(panels) > 1 else
                    f"Modelled, not timed: {shape}simulated device, in cycles. {_says(last)}")
    y = 62.0
    for name, ctas in shown.items():
        if len(panels) > 1:
            data = panels[name]
            drawing.text(16, y + 14, name, bold=True)
            drawing.text(LEFT, y + 14, f"{_shape(data)}. {_says(data)}", "soft", SMALL)
            y += 20
        for cta in ctas:
            if len(ctas) > 1:
                drawing.text(16, y + 14, f"CTA {cta['cta']}", bold=True)
                y += 20
            for track, tiles in zip(cta["tracks"], _tiles_of(cta["tracks"], panels[name]["tiles"])):
                _track(drawing, track, tiles, y, end)
                y += ROW
            y += 6
    _axis(drawing, y, end)
    _legend(drawing, tracks, y + 40)
    return drawing


def _shape(data: dict[str, Any]) -> str:
    return f"M x N x K = {' x '.join(map(str, data['shape']))}"


def _end(ctas: list[dict[str, Any]]) -> int:
    """Of the last bar."""
    return max((bar[1] for cta in ctas for track in cta["tracks"] for bar in track["bars"]), default=1)


def _says(data: dict[str, Any]) -> str:
    """Of the first CTA's tensor core."""
    mma = next((t for t in data["ctas"][0]["tracks"] if t["kind"] == "mma"), None)
    busy = sum(b[1] - b[0] for b in mma["bars"]) / _end(data["ctas"]) if mma else 0.0
    return f"{data['tiles']} tile{'s' if data['tiles'] != 1 else ''}; the tensor core works {busy:.0%} of the time."


def _in_words(panels: dict[str, dict[str, Any]]) -> str:
    last = list(panels.values())[-1]
    names = [t["name"] + (f" ({t['role']})" if t.get("role") else "") for t in last["ctas"][0]["tracks"]]
    where = f"measured on an {last['gpu']}" if last.get("kind") == "measured" else "modelled on the simulated device"
    said = " ".join(f"{name + ': ' if name else ''}{_says(data)}" for name, data in panels.items())
    return f"Timeline, {where}: {', '.join(names)}. {said}"


def _x(time: float, end: int) -> float:
    return LEFT + time / end * WIDE


def _tiles_of(tracks: list[dict[str, Any]], tiles: int) -> list[list[int]]:
    """Per track, which tiles its epilogues belong to: all, or those that it took alternately with other warps."""
    shared = sorted(begin for t in tracks for begin, _ in t.get("epilogues", []) if len(t["epilogues"]) < tiles)
    return [list(range(tiles)) if len(t.get("epilogues", [])) >= tiles else
            [shared.index(begin) for begin, _ in t.get("epilogues", [])] for t in tracks]


def _track(drawing: Drawing, track: dict[str, Any], tiles: list[int], y: float, end: int) -> None:
    name, role = track["name"], track.get("role", "")
    words = f"{name}: {role}" if role else name
    size = SMALL if text_width(words, SMALL) <= LEFT - 24 else 9.5
    drawing.text(LEFT - 8, y + ROW / 2 + 4, words, size=size, anchor="end")
    drawing.line((LEFT, y + ROW - 1), (LEFT + WIDE, y + ROW - 1), stroke="line", thick=0.3)
    for begin, stop, state in track["bars"]:
        x, wide = _x(begin, end), (stop - begin) / end * WIDE
        if track["kind"] == "warps":
            fill, high = STATES[state], ROW - 2 * PAD if state in ("mbarrier", "mma") else ROW - 6
        else:
            colours = TILES.get(track["kind"], TILES["loads"])
            fill, high = colours[state % len(colours)] if state != "" else STATES["store"], ROW - 6
        if wide < 0.25:
            continue
        drawing.rect(x, y + (ROW - high) / 2 - 0.5, wide, high, fill, border="line" if wide > 2.5 else "", radius=0,
                     thick=0.6)
    for tile, (begin, stop) in zip(tiles, track.get("epilogues", [])):
        inside = [bar for bar in track["bars"] if bar[2] == "epilogue" and begin <= bar[0] and bar[1] <= stop]
        first, last, _ = max(inside, key=lambda bar: bar[1] - bar[0], default=(begin, begin, ""))
        wide = (last - first) / end * WIDE
        if wide > 20:
            drawing.label(_x(first, end), y + 2, wide, ROW - 5, f"D{tile}", size=SMALL)


def _axis(drawing: Drawing, y: float, end: int) -> None:
    drawing.line((LEFT, y), (LEFT + WIDE, y))
    step = next(s for s in (200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 10**9) if end / s <= 10)
    for time in range(0, end + 1, step):
        drawing.line((_x(time, end), y), (_x(time, end), y + 4))
        drawing.text(_x(time, end), y + 16, f"{time:,}", "soft", SMALL, "middle" if time else "start")
    drawing.text(LEFT - 8, y + 16, "cycles", "soft", SMALL, "end")


def _legend(drawing: Drawing, tracks: list[dict[str, Any]], y: float) -> None:
    of_units = {(t["kind"], b[2]) for t in tracks if t["kind"] in TILES for b in t["bars"] if b[2] != ""}
    several = any(tile > 0 for _, tile in of_units)
    entries = {TILES[kind][parity]: unit + (", odd tiles" if parity else ", even tiles" if several else "")
               for kind, unit in (("loads", "TMA loads"), ("mma", "tensor core"))
               for parity in (0, 1) if any(its == kind and tile % 2 == parity for its, tile in of_units)}
    seen = {STATES[b[2]] for t in tracks if t["kind"] == "warps" for b in t["bars"]}
    drawing.legend(16, y, entries | {fill: meaning for fill, meaning in MEANINGS.items() if fill in seen})
