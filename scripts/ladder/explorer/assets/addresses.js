// The address lab: where an element of an operand tile lies in shared memory, and what the MMA's descriptor says of it.
// The layouts are those of common/mma/k_major.h, the bits those of common/mma/smem_descriptor.h; a test compares.
import {element, numberField} from "./panels.js";
import {number} from "./run.js";

export const SPANS = {
  None: 16,
  B32: 32,
  B64: 64,
  B128: 128
};
const XOR = {
  None: 0,
  B32: 0x10,
  B64: 0x30,
  B128: 0x70
};
const LAYOUT_CODES = {
  100: {None: 0, B32: 6, B64: 4, B128: 2},
  90: {None: 0, B32: 3, B64: 2, B128: 1}
};

/** Where the byte with linear shared address `address` really is. */
export const swizzled = (swizzle, address) => address ^ ((address >> 3) & XOR[swizzle]);

/** Of the element (row, k) of a K-major BF16 tile at shared address `base`. */
export function locate({swizzle, rows, base}, row, k) {
  const span = SPANS[swizzle];
  const slab = Math.floor((2 * k) / span);
  const linear = slab * rows * span + row * span + ((2 * k) % span);
  const address = swizzled(swizzle, base + linear);
  return {
    slab,
    linear,
    address,
    bank: (address >> 2) % 32,
    chunk: (address >> 4) % 8,
    line: (address >> 7) % 8,
    coreRow: row >> 3,
    coreColumn: k >> 3,
    offset: address - base,
  };
}

/** Fields of the descriptor of MMA `step` along K, and its 64 bits. */
export function descriptor({swizzle, rows, base, arch}, step) {
  const span = SPANS[swizzle];
  const slab = rows * span;
  const start = base + Math.floor((32 * step) / span) * slab + ((32 * step) % span);
  const fields = {
    "start address": start,
    LBO: swizzle === "None" ? slab : 0,
    SBO: 8 * span,
    layout: LAYOUT_CODES[arch][swizzle],
  };
  let bits = BigInt((start & 0x3ffff) >> 4) | (BigInt((fields.LBO & 0x3ffff) >> 4) << 16n) |
      (BigInt((fields.SBO & 0x3ffff) >> 4) << 32n);
  bits |= arch === 100 ? (1n << 46n) | (BigInt(fields.layout) << 61n) : BigInt(fields.layout) << 62n;
  return {fields, bits: `0x${bits.toString(16)}`};
}

const hex = (value) => `0x${value.toString(16)}`;

export class AddressLab {
  constructor(panel, arch, tiles) {
    this.panel = panel;
    this.tiles = tiles;
    this.state = {swizzle: "B128", rows: 128, base: 1024, arch, row: 3, k: 17, ...(tiles[0] ?? {})};
    this.build();
    this.update();
  }

  build() {
    const input = (name, text, max) => numberField(
        text, {min: 0, max, value: this.state[name], "data-field": name}, (value) => this.set(name, value));
    const choice = (name, text, values) => element(
        "label", {}, text,
        element(
            "select", {
              "data-field": name,
              onchange: (e) =>
                  this.set(name, typeof values[0][0] === "number" ? Number(e.target.value) : e.target.value)
            },
            ...values.map(
                ([value, shown]) => element("option", {value, selected: value === this.state[name] && ""}, shown))));
    const tiles = element(
        "label", {}, "Tile ",
        element(
            "select", {onchange: (e) => this.take(Number(e.target.value))},
            ...this.tiles.map((tile, i) => element("option", {value: i}, tile.name)),
            element("option", {value: -1}, "another")));
    this.form = element(
        "form", {class: "controls", onsubmit: (e) => e.preventDefault()}, tiles,
        choice("swizzle", "Swizzle ", Object.keys(SPANS).map((name) => [name, name])),
        choice("arch", "Descriptor of ", [[100, "Blackwell"], [90, "Hopper"]]), input("rows", "Rows ", 256),
        input("base", "Shared address ", 232448), input("row", "Row ", 255), input("k", "k ", 63));
    this.answer = element("div", {class: "answer", "aria-live": "polite"});
    this.map = element("div", {class: "pattern", role: "img"});
    this.panel.replaceChildren(
        element("h2", {}, "Where an element lies"),
        element(
            "p", {class: "soft"},
            "A tile of BF16, K-major, as TMA puts it into shared memory and the tensor core reads it. Choose an element, or click on a chunk."),
        this.form, this.answer, this.map);
  }

  take(index) {
    if (index >= 0) Object.assign(this.state, this.tiles[index]);
    for (const field of this.form.querySelectorAll("[data-field]")) field.value = this.state[field.dataset.field];
    this.update();
  }

  set(name, value) {
    this.state[name] = value;
    this.update();
  }

  get problem() {
    const {rows, base, row, k, swizzle} = this.state;
    if (!(rows >= 8 && rows <= 256) || rows % 8) return "Rows must be a multiple of 8 up to 256.";
    if (!(row >= 0 && row < rows) || !Number.isInteger(row)) return `Row must be a whole number below ${rows}.`;
    if (!(k >= 0 && k < 64) || !Number.isInteger(k)) return "k must be a whole number below 64.";
    const step = swizzle === "None" ? 16 : 8 * SPANS[swizzle];
    return base >= 0 && base % step === 0 ?
        "" :
        `The tile must begin at a multiple of ${number(step)} bytes: there the pattern begins.`;
  }

  update() {
    const {problem} = this;
    this.map.hidden = Boolean(problem);
    if (problem) return this.answer.replaceChildren(element("p", {class: "bad"}, problem));
    const {row, k} = this.state;
    const at = locate(this.state, row, k);
    const step = k >> 4;
    const {fields, bits} = descriptor(this.state, step);
    const facts = [
      ["element", `row ${row}, k ${k}`],
      ["slab", `${at.slab}: TMA instruction ${at.slab + 1} of the tile`],
      ["byte, before the swizzle", `${number(at.linear)} of the tile`],
      ["byte, after it", `${number(at.offset)} of the tile, shared address ${hex(at.address)}`],
      ["chunk and bank", `chunk ${at.chunk} of its 128-byte line, bank ${at.bank}`],
      [
        "core matrix", `rows ${8 * at.coreRow}..${8 * at.coreRow + 7}, k ${8 * at.coreColumn}..${8 * at.coreColumn + 7}`
      ],
      ["banks of 8 rows at this k", this.banks().join(", ")],
      [`descriptor of MMA ${step}`, bits],
      ...Object.entries(fields).map(
          ([name, value]) =>
              [name,
               name === "layout" ? String(value) : `${number(value)} bytes, field ${hex((value & 0x3ffff) >> 4)}`]),
    ];
    this.answer.replaceChildren(element(
        "table", {},
        ...facts.map(
            ([name, value]) => element("tr", {}, element("th", {scope: "row"}, name), element("td", {}, value)))));
    this.drawPattern();
    return undefined;
  }

  banks() {
    const first = this.state.row & ~7;
    return Array.from({length: 8}, (_, i) => locate(this.state, first + i, this.state.k).bank);
  }

  /** The 1,024 bytes around the element: a line of 128 bytes each, chunk by chunk, and which element begins there. */
  drawPattern() {
    const {row, k, rows, swizzle} = this.state;
    const span = SPANS[swizzle];
    const at = locate(this.state, row, k);
    const firstByte = at.linear - (at.linear % 1024);
    const cells = new Array(64).fill(null);
    for (let byte = firstByte; byte < Math.min(firstByte + 1024, (rows * 64 * 2)); byte += 16) {
      const slab = Math.floor(byte / (rows * span));
      const inside = byte % (rows * span);
      const place = {row: Math.floor(inside / span), k: (slab * span + (inside % span)) / 2};
      cells[((swizzled(swizzle, this.state.base + byte) - this.state.base) % 1024) / 16] = place;
    }
    this.map.setAttribute("aria-label", "1,024 bytes of shared memory, 8 lines of 8 chunks");
    this.map.replaceChildren(...cells.map(
        (place) => place === null ?
            element("span", {}) :
            element(
                "button", {
                  type: "button",
                  class:
                      `chunk core${(place.k >> 3) % 8}${place.row === row && place.k >> 3 === k >> 3 ? " here" : ""}`,
                  onclick: () => this.take(this.move(place))
                },
                `row ${place.row}`, element("br"), `k ${place.k}..${place.k + 7}`)));
  }

  move(place) {
    Object.assign(this.state, place);
    return -1;
  }
}
