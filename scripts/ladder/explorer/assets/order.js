// The tile-order lab: which CTA computes which tile when, and which rows of A and columns of B L2 would still hold.
import {element, numberField} from "./panels.js";
import {number} from "./run.js";

const CELL = 22;

/** Tiles of an order as [m, n] pairs; an order without tiles goes row by row. */
export function tilesOf({m_blocks: m, n_blocks: n, tiles}) {
  if (tiles) return tiles;
  return Array.from({length: m * n}, (_, i) => [Math.floor(i / n), i % n]);
}

/**
 * What a wave of tiles fetches from DRAM if L2 keeps what was used last: panels of K of all rows of A and columns of B
 * that a tile needs. Modelled: whole panels, LRU, nothing else in L2.
 */
export function traffic(order, workers, l2Bytes, waves) {
  const tiles = tilesOf(order);
  const bytes = {A: order.tile_m * order.k * 2, B: order.tile_n * order.k * 2};
  const held = new Map();  // panel -> bytes, the one used last at the end
  let inside = 0;
  let fromDram = 0;
  let throughL2 = 0;
  for (const [m, n] of tiles.slice(0, waves * workers)) {
    for (const panel of [`A${m}`, `B${n}`]) {
      const size = bytes[panel[0]];
      throughL2 += size;
      if (held.delete(panel))
        inside -= size;
      else
        fromDram += size;
      held.set(panel, size);
      inside += size;
      for (const [oldest, its] of held) {
        if (inside <= l2Bytes) break;
        held.delete(oldest);
        inside -= its;
      }
    }
  }
  return {fromDram, throughL2, held};
}

const mega = (bytes) => `${number(Math.round(bytes / 1e6))} MB`;

export class OrderLab {
  constructor(panel, orders, workers, l2Megabytes) {
    this.panel = panel;
    this.orders = orders;
    this.state = {order: 0, workers, l2: l2Megabytes, wave: 1};
    this.build();
    this.update();
  }

  get waves() {
    const order = this.orders[this.state.order];
    return Math.ceil((order.m_blocks * order.n_blocks) / this.state.workers);
  }

  build() {
    const field = (name, text, min, max) => numberField(
        text, {min, max, value: this.state[name], "data-field": name}, (value) => this.set(name, value));
    this.slider = element("input", {
      type: "range",
      min: 1,
      value: 1,
      "aria-label": "wave",
      oninput: (e) => this.set("wave", Number(e.target.value))
    });
    this.answer = element("p", {class: "answer", "aria-live": "polite"});
    this.canvas = element("canvas", {});
    this.panel.replaceChildren(
        element("h2", {}, "The order of tiles"),
        element(
            "p", {class: "soft"},
            "A wave is the set of tiles that all CTAs or clusters compute at the same time. Blue: this wave; green: earlier ones. The margins show which rows of A and columns of B L2 still holds."),
        element(
            "form", {class: "controls", onsubmit: (e) => e.preventDefault()},
            element(
                "label", {}, "Order ",
                element(
                    "select", {onchange: (e) => this.set("order", Number(e.target.value))},
                    ...this.orders.map((order, i) => element("option", {value: i}, order.name)))),
            field("workers", "Tiles at a time ", 1, 264), field("l2", "L2, MB ", 1, 512),
            element("label", {}, "Wave ", this.slider)),
        this.answer, element("div", {class: "scroll"}, this.canvas));
  }

  set(name, value) {
    this.state[name] = value;
    this.update();
  }

  update() {
    const {workers, l2} = this.state;
    if (!(workers >= 1 && workers <= 264 && Number.isInteger(workers)) || !(l2 >= 1)) {
      this.answer.textContent = "Tiles at a time must be a whole number from 1 to 264, and L2 at least 1 MB.";
      return;
    }
    this.slider.max = this.waves;
    this.state.wave = Math.min(this.state.wave, this.waves);
    const order = this.orders[this.state.order];
    const {fromDram, throughL2, held} = traffic(order, workers, l2 * 1e6, this.state.wave);
    this.answer.textContent =
        `Wave ${this.state.wave} of ${this.waves}: so far ${mega(throughL2)} through L2, of these ` +
        `${mega(fromDram)} from DRAM, ${
            (throughL2 / Math.max(fromDram, 1)).toFixed(1)} uses of a byte. Modelled: L2 keeps ` +
        "whole panels, those used last, and nothing else.";
    this.draw(order, held);
  }

  draw(order, held) {
    const ratio = window.devicePixelRatio || 1;
    const cell = Math.max(4, Math.min(CELL, Math.floor(900 / Math.max(order.n_blocks, order.m_blocks))));
    const width = 40 + order.n_blocks * cell;
    const height = 40 + order.m_blocks * cell;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const {workers, wave} = this.state;
    tilesOf(order).forEach(([m, n], index) => {
      const taken = Math.floor(index / workers) + 1;
      const [x, y] = [30 + n * cell, 30 + m * cell];
      context.fillStyle = taken < wave ? colour("mma") : taken === wave ? colour("run") : colour("free");
      context.fillRect(x, y, cell - 1, cell - 1);
      if (cell >= CELL) {
        context.fillStyle = colour("ink");
        context.font = "9px system-ui, sans-serif";
        context.fillText(String(index), x + 2, y + 13);
      }
    });
    for (const panel of held.keys()) {
      const at = 30 + Number(panel.slice(1)) * cell;
      context.fillStyle = colour("load");
      if (panel[0] === "A")
        context.fillRect(14, at, 12, cell - 1);
      else
        context.fillRect(at, 14, cell - 1, 12);
    }
    context.fillStyle = colour("soft");
    context.font = "11px system-ui, sans-serif";
    context.fillText("A", 2, 44);
    context.fillText("B", 32, 11);
  }
}
