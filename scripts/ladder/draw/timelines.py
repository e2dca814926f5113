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
TILES = ("blue", "orange", "green", "pink")  # their colours, in turn
STATES = {"run": "grey", "epilogue": "purple", "mbarrier": "none", "barrier": "yellow", "mma": "none",
          "store": "teal"}
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
    return timeline(data, f"Level {names.number_of(data['level']):02}, {names.ARCH_NAMES[data['arch']]}: timeline, "
                          "on a GPU")


def recorded_timeline(context: Context, level: str, arch: int) -> Optional[Drawing]:
    data = context.timeline(level, arch)
    if data is None:
        return None
    return timeline(data, f"Level {names.number_of(level):02}, {names.ARCH_NAMES[arch]}: timeline")


def timeline(data: dict[str, Any], title: str) -> Drawing:
    """What traces.reduce made of a trace."""
    tracks = [track for cta in data["ctas"] for track in cta["tracks"]]
    end = max((bar[1] for track in tracks for bar in track["bars"]), default=1)
    busy = _busy(tracks, end)
    several = len(data["ctas"]) > 1
    height = 62 + len(tracks) * ROW + len(data["ctas"]) * (26 if several else 6) + 60
    height += 18 if data["tiles"] > len(TILES) else 0  # a longer legend
    drawing = Drawing(title, _in_words(data, busy), LEFT + WIDE + 20, height)
    shape = f"M x N x K = {' x '.join(map(str, data['shape']))}, " if "shape" in data else ""
    measured = data.get("kind") == "measured"
    what = f"Measured by timers in the kernel: {shape}{data['gpu']}" if measured else (
        f"Modelled, not timed: {shape}simulated device")
    drawing.heading(f"{what}, in cycles. The tensor core works {busy:.0%} of the time.")
    y = 62.0
    for cta in data["ctas"]:
        if several:
            drawing.text(16, y + 14, f"CTA {cta['cta']}", bold=True)
            y += 20
        for track, tiles in zip(cta["tracks"], _tiles_of(cta["tracks"], data["tiles"])):
            _track(drawing, track, tiles, y, end)
            y += ROW
        y += 6
    _axis(drawing, y, end)
    _legend(drawing, tracks, y + 40)
    return drawing


def _busy(tracks: list[dict[str, Any]], end: int) -> float:
    """Of the first CTA's tensor core."""
    mma = next((t for t in tracks if t["kind"] == "mma"), None)
    return sum(b[1] - b[0] for b in mma["bars"]) / end if mma else 0.0


def _in_words(data: dict[str, Any], busy: float) -> str:
    names = [t["name"] + (f" ({t['role']})" if t.get("role") else "") for t in data["ctas"][0]["tracks"]]
    where = f"measured on an {data['gpu']}" if data.get("kind") == "measured" else "modelled on the simulated device"
    return (f"Timeline, {where}: {', '.join(names)}, for {data['tiles']} "
            f"tile{'s' if data['tiles'] != 1 else ''}. The tensor core works {busy:.0%} of the time.")


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
            fill, high = TILES[state % len(TILES)] if state != "" else "purple", ROW - 6
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
    tiles = sorted({b[2] for t in tracks if t["kind"] in ("loads", "mma") for b in t["bars"] if b[2] != ""})
    turns = len(tiles) > len(TILES)  # of the colours
    entries = {TILES[n]: f"tiles {n}, {n + len(TILES)}, ..." if turns and n + len(TILES) in tiles else f"tile {n}"
               for n in tiles[:len(TILES)]}
    seen = {b[2] for t in tracks if t["kind"] == "warps" for b in t["bars"]}
    entries |= {"grey": "issues, computes"} if "run" in seen else {}
    entries |= {"purple": "epilogue, store"} if "epilogue" in seen else {}
    entries |= {"yellow": "waits: CTA or cluster"} if "barrier" in seen else {}
    entries |= {"teal": "waits: store"} if "store" in seen else {}
    entries |= {"none": "waits: mbarrier, MMA"} if seen & {"mbarrier", "mma"} else {}
    drawing.legend(16, y, entries)
