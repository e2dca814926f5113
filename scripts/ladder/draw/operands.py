"""Where the elements of operands and accumulators are: K-major tiles in shared memory, and the fragment of a wgmma."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from ladder.draw.svg import SMALL, Drawing

Draw = Callable[[], Optional[Drawing]]
ROWS, CHUNK = 8, 16  # of a core matrix: rows, and bytes of a row
ELEMENT = 2  # bytes of a BF16


def gallery() -> dict[str, Draw]:
    return {"core_matrices": core_matrices, "wgmma_fragment": wgmma_fragment}


# --- K-major tiles ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KMajor:
    """A K-major tile of `rows` rows, as its descriptor says; the span is what lies together of a row."""

    title: str
    rows: int
    span: int
    columns: int  # of spans, along K
    sbo: int
    lbo: int

    def place(self, group: int, column: int) -> int:
        """In bytes, of a group of 8 rows and a column of spans."""
        return group * self.sbo + column * self.lbo


PLAIN = KMajor("no swizzle: core matrices of 8 rows x 16 bytes", 128, CHUNK, 2, ROWS * CHUNK, 128 * CHUNK)
SWIZZLED = KMajor("128-byte swizzle: atoms of 8 rows x 128 bytes", 128, 128, 1, ROWS * 128, 0)


def core_matrices() -> Drawing:
    """The first groups of rows of A, and how far apart they lie in shared memory."""
    drawing = Drawing(
        "K-major tiles in shared memory: SBO and LBO",
        f"A tile of {PLAIN.rows} rows. Without a swizzle it consists of core matrices, 8 rows of 16 bytes in one "
        f"piece: rows 8-15 of the first 8 elements of K begin {PLAIN.sbo} bytes after rows 0-7, which is SBO, and "
        f"elements 8-15 of rows 0-7 begin {PLAIN.lbo:,} bytes after elements 0-7, which is LBO. With the 128-byte "
        f"swizzle 8 rows of 128 bytes lie together, SBO is {SWIZZLED.sbo:,}, and LBO is not used.", 912, 372)
    drawing.heading("Rows of the tile go down, K to the right. Each box lies in one piece; its number is where it "
                    "begins, in bytes.")
    _panel(drawing, PLAIN, 92, 110)
    _panel(drawing, SWIZZLED, 500, 300)
    return drawing


def _panel(drawing: Drawing, tile: KMajor, left: float, cell: float) -> None:
    top, high, groups = 104.0, 44.0, 4
    drawing.text(left - 72, top - 32, tile.title, bold=True, size=12)
    elements = tile.span // ELEMENT
    for column in range(tile.columns):
        drawing.text(left + (column + 0.5) * cell, top - 8, f"k = {column * elements} to {(column + 1) * elements - 1}",
                     "soft", SMALL, "middle")
    for group in range(groups):
        y = top + group * (high + 4)
        drawing.text(left - 8, y + high / 2 + 4, f"rows {group * ROWS}-{group * ROWS + ROWS - 1}", "soft", SMALL, "end")
        for column in range(tile.columns):
            drawing.rect(left + column * cell + 2, y, cell - 4, high, ("blue", "orange")[column])
            for row in range(1, ROWS):
                drawing.line((left + column * cell + 4, y + row * high / ROWS),
                             (left + (column + 1) * cell - 4, y + row * high / ROWS), thick=0.4)
            drawing.label(left + column * cell + 2, y, (cell if tile.lbo else cell / 4) - 4, high,
                          f"{tile.place(group, column):,}", bold=True)
    bottom = top + groups * (high + 4)
    drawing.text(left + tile.columns * cell / 2, bottom + 12, f"... and so on, to row {tile.rows - 1}", "soft", SMALL,
                 "middle")
    right = left + tile.columns * cell + 12
    drawing.arrow(right, top + high / 2, right, top + high * 1.5 + 4, "alarm")
    drawing.text(right + 8, top + high + 6, f"SBO = {tile.sbo:,}", "warn", SMALL)
    if tile.lbo:
        y = bottom + 32
        drawing.arrow(left + cell / 2, y, left + 1.5 * cell, y, "alarm")
        drawing.text(left + cell, y + 20, f"LBO = {tile.lbo:,}", "warn", SMALL, "middle")
    else:
        y = bottom + 32
        step = cell / 4  # a quarter of the span: 16 elements
        for part in range(1, 4):
            drawing.line((left + part * step, top), (left + part * step, bottom - 4), stroke="alarm", dashed=True)
        drawing.arrow(left + 2, y, left + step, y, "alarm")
        drawing.text(left + step + 8, y + 4, "one MMA takes 32 bytes of each row: start + 32", "warn", SMALL)
        drawing.text(left, y + 20, "16-byte chunks within a box are permuted; LBO is not used", "soft", SMALL)


# --- the fragment of a wgmma ------------------------------------------------------------------------------------------


def element_of(thread: int, register: int) -> tuple[int, int]:
    """Row and column of D that a thread of the warpgroup holds in a register of its accumulator."""
    row = thread // 32 * 16 + thread % 32 // 4 + register // 2 % 2 * 8
    return row, register // 4 * 8 + thread % 4 * 2 + register % 2


REGISTERS = {0: "blue", 2: "green", 4: "orange", 6: "pink"}  # the first of each pair, of columns 0 to 15
SHOWN = 37  # the thread that the warm-up prints


def wgmma_fragment() -> Drawing:
    """Rows and columns of D, and which lane has them in which register."""
    cell_wide, cell_high, left, top = 62.0, 19.0, 250.0, 92.0
    columns = 16
    bottom = top + 16 * cell_high
    drawing = Drawing(
        "The accumulator of a wgmma, by thread",
        "D has 64 rows: warp 0 holds rows 0 to 15, warp 1 the next 16, and so on. Within a warp lane l holds pairs of "
        "neighbouring columns of rows l / 4 and l / 4 + 8: registers 0 and 1 for columns 2 (l % 4) and the next of the "
        "upper row, registers 2 and 3 for the lower row, registers 4 to 7 for the next 8 columns. "
        f"Thread {SHOWN}, lane {SHOWN % 32} of warp {SHOWN // 32}, stands out.",
        left + columns // 2 * cell_wide + 24, bottom + 92)
    drawing.heading("64 rows by N columns. Each box: two neighbouring columns, the lane that holds them, and in which "
                    "registers.")
    warp = SHOWN // 32
    for number in range(4):
        y = top + number * 4 * cell_high
        drawing.rect(40, y, 74, 4 * cell_high - 3, "grey" if number == warp else "none")
        drawing.label(40, y, 74, 4 * cell_high - 3, f"warp {number}", bold=number == warp)
        drawing.text(36, y + 13, str(number * 16), "soft", 9, "end")
    drawing.text(77, top - 8, "rows of D", "soft", SMALL, "middle")
    for y, to_y in ((top + warp * 4 * cell_high, top), (top + (warp + 1) * 4 * cell_high - 3, bottom)):
        drawing.line((116, y), (left - 58, to_y), dashed=True)
    for column in range(0, columns, 2):
        drawing.text(left + (column // 2 + 0.5) * cell_wide, top - 8, f"{column}, {column + 1}", "soft", SMALL,
                     "middle")
    for lane in range(32):
        for register, fill in REGISTERS.items():
            row, column = element_of(warp * 32 + lane, register)
            x, y = left + column // 2 * cell_wide, top + (row - warp * 16) * cell_high
            drawing.rect(x, y, cell_wide, cell_high, fill, radius=0)
            drawing.label(x, y, cell_wide, cell_high, f"{lane}: {register}, {register + 1}", size=9.5,
                          bold=lane == SHOWN % 32)
            if lane == 0 and column == 0:
                drawing.text(left - 8, y + 13, f"row {row}", "soft", 9, "end")
    for register in REGISTERS:
        row, column = element_of(SHOWN, register)
        drawing.frame(left + column // 2 * cell_wide, top + (row - warp * 16) * cell_high, cell_wide, cell_high)
    drawing.text(left, bottom + 20, "and so on to the right: four more registers for every 8 columns", "soft", SMALL)
    drawing.legend(left, bottom + 42, {fill: f"registers {r}, {r + 1}" for r, fill in REGISTERS.items()})
    drawing.text(left, bottom + 66, f"framed: thread {SHOWN}, lane {SHOWN % 32} of warp {warp}", "soft", SMALL)
    return drawing
