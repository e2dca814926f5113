// Figures that move: moments of a recorded run, stepped through by hand or played.
import {element} from "./explorer/panels.js";
import {KIND, number, plural, Run} from "./explorer/run.js";
import {build} from "./explorer/trace.js";
import {toggleTheme} from "./explorer/viewer.js";
import {plainText} from "./machine.js";

const find = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const PLAYED = 900;  // ms for each moment
const COLOURS = {
  free: "free", "TMA fills it": "load", full: "full", "MMAs read it": "mma", "left to the warps": "sync", "TMA stores it": "store"
};

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "fill" || key === "stroke")
      made.style[key] = value;
    else
      made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
const text = (x, y, content, more = {}) => svg("text", {x, y, "text-anchor": "middle", ...more}, content);
const colour = (name) => `var(--${name})`;

/** The state of a track at a time: its event's name. */
const stateOf = (run, track, time) => {
  const event = run.eventAt(track, time);
  return event < 0 ? "free" : run.names[run.name[event]];
};

// --- phase and parity of a ring
// -------------------------------------------------------------------------------------------

class Ring {
  constructor(run) {
    this.run = run;
    const cta = run.tracks.find(({kind}) => kind === "buffer").cta;
    this.stages = run.tracks.filter((track) => track.kind === "buffer" && track.cta === cta && /^stages/.test(track.name));
    this.barriers = ["smem_full", "smem_empty"].map(
        (name) => this.stages.map((_, i) => run.barriers.findIndex((b) => b.cta === cta && [`${name}[${i}]`, name].includes(b.name))));
    this.waits = this.barriers.flat();
    this.warps = run.tracks.filter((track) => track.kind === "warp" && track.cta === cta);
  }

  /** Events of the ring: changes of its barriers and waits for them, by time. */
  get moments() {
    const {run} = this;
    return Array.from(run.kind.keys()).filter((event) => this.waits.includes(run.a[event]) &&
        (run.kind[event] === KIND.change || run.kind[event] === KIND.wait));
  }

  sentence(event) {
    const {run} = this;
    const barrier = run.barrierName(run.a[event]);
    if (run.kind[event] === KIND.wait) {
      const waited = run.endOf[event] - run.begin[event];
      return `${run.trackName(run.trackOf[event])} waits for ${barrier}, parity ${run.b[event]}: until the phase of that parity is ` +
          `complete, ${plural(waited, "cycle")} long.`;
    }
    const what = `${run.nameOf(event)}.`;
    return run.completes[event] === 1 ?
        `${what} Nothing is missing any more: the phase ends, and phase ${run.c[event]} begins, with parity ${run.c[event] % 2}.` :
        `${what} Phase ${run.c[event]} still needs ${this.missing(event)}.`;
  }

  missing(event) {
    const {run} = this;
    const parts = [];
    if (run.d[event] > 0) parts.push(plural(run.d[event], "arrival"));
    if (run.e[event] !== 0) parts.push(plural(run.e[event], "byte"));
    return parts.join(" and ") || "nothing";
  }

  draw(now, event) {
    const {run, stages} = this;
    const width = 150;
    const picture = svg("svg", {
      viewBox: `0 0 ${width * stages.length + 20} 300`, class: "figure", role: "img",
      "aria-label": `A ring of ${stages.length} stages at cycle ${number(now)}`
    });
    stages.forEach((track, i) => {
      const x = 10 + i * width;
      const state = stateOf(run, track, now);
      picture.append(
          svg("rect", {x: x + 4, y: 90, width: width - 8, height: 80, rx: 6, fill: colour(COLOURS[state] ?? "free"), stroke: colour("line")}),
          text(x + width / 2, 122, `stage ${i}`, {class: "strong"}), text(x + width / 2, 146, state));
      this.barriers.forEach((list, row) => this.drawBarrier(picture, list[i], row, x, width, now, event));
    });
    return picture;
  }

  drawBarrier(picture, barrier, row, x, width, now, event) {
    const {run} = this;
    const y = row === 0 ? 8 : 182;
    const change = run.lastChange(barrier, now);
    const phase = change < 0 ? 0 : run.c[change];
    const active = run.a[event] === barrier;
    const waiting = this.warps.filter((track) => {
      const at = run.eventAt(track, now);
      return at >= 0 && run.kind[at] === KIND.wait && run.a[at] === barrier;
    });
    picture.append(
        svg("rect", {x: x + 4, y, width: width - 8, height: 72, rx: 6, fill: colour(`phase${phase % 2}`), stroke: colour(active ? "accent" : "line"), "stroke-width": active ? 3 : 1}),
        text(x + width / 2, y + 18, row === 0 ? "smem_full" : "smem_empty", {class: "strong"}),
        text(x + width / 2, y + 36, `phase ${phase}, parity ${phase % 2}`),
        text(x + width / 2, y + 52, change < 0 ? "no arrival yet" : `needs ${this.missing(change)}`, {class: "small"}),
        text(x + width / 2, y + 66, waiting.length ? `waiting: ${waiting.map((t) => t.name).join(", ").slice(0, 24)}` : "", {class: "small"}));
  }
}

// --- the pair's shared B
// ------------------------------------------------------------------------------------------------

class Pair {
  constructor(run) {
    this.run = run;
    this.ctas = run.ctas.slice(0, 2);
    this.stages = this.ctas.map((cta) => run.tracks.filter((t) => t.kind === "buffer" && t.cta === cta && /^stages/.test(t.name)));
  }

  /** Loads of operands and MMAs, when they are issued and when their effect is seen. */
  get moments() {
    const {run} = this;
    return run.operations.filter((event) => /^(TMA load [AB]|MMA|wgmma)/.test(run.names[run.name[event]]));
  }

  sentence(event) {
    const {run} = this;
    return `${run.nameOf(event)}: ${run.detail(event)[0]}.`;
  }

  /** What an operation touches: [cta, stage, part] of each place, from the words of its detail. */
  touches(event) {
    const found = [];
    for (const [, stage, part, cta] of this.run.detail(event)[0].matchAll(/stages(?:\[(\d+)\])?(?:\.(\w+))? of CTA (\d+)/g))
      found.push({cta: Number(cta), stage: Number(stage ?? 0), part: part ?? ""});
    return found;
  }

  draw(now, event) {
    const {run} = this;
    const count = Math.max(...this.stages.map((list) => list.length));
    const height = 46 + count * 54;
    const picture = svg("svg", {viewBox: `0 0 640 ${height}`, class: "figure", role: "img", "aria-label": `The stages of a pair of CTAs at cycle ${number(now)}`});
    const flying = run.inFlight(now);
    const used = new Map();
    for (const each of [...flying, event]) {
      const how = run.names[run.name[each]].startsWith("TMA load") ? "load" : "mma";
      if (this.moments.includes(each))
        for (const {cta, stage, part} of this.touches(each)) used.set(`${cta} ${stage} ${part}`, {how, each});
    }
    const mine = new Set(this.touches(event).map(({cta, stage, part}) => `${cta} ${stage} ${part}`));
    this.ctas.forEach((cta, side) => {
      const x = 10 + side * 320;
      picture.append(text(x + 150, 24, `CTA ${cta}${side === 0 ? ", leader" : ""}`, {class: "strong"}));
      this.stages[side].forEach((track, stage) => {
        const y = 40 + stage * 54;
        const full = stateOf(run, track, now);
        for (const [i, part] of ["A", "B"].entries()) {
          const key = `${cta} ${stage} ${part}`;
          const use = used.get(key);
          picture.append(
              svg("rect", {x: x + i * 155, y, width: 145, height: 44, rx: 5, fill: colour(use?.how ?? (full === "full" ? "full" : "free")), stroke: colour(mine.has(key) ? "accent" : "line"), "stroke-width": mine.has(key) ? 3 : 1}),
              text(x + i * 155 + 72, y + 18, `stage ${stage}, ${part}`), text(x + i * 155 + 72, y + 35, use ? (use.how === "load" ? "being filled" : "read by MMAs") : full, {class: "small"}));
        }
      });
    });
    return picture;
  }
}

// --- moments
// -----------------------------------------------------------------------------------------------------------------

class Player {
  constructor(figure) {
    this.figure = figure;
    this.moments = figure.moments;
    this.at = 0;
    find("moment").max = this.moments.length - 1;
    find("moment").addEventListener("input", (e) => this.show(Number(e.target.value)));
    find("back").addEventListener("click", () => this.show(this.at - 1));
    find("forward").addEventListener("click", () => this.show(this.at + 1));
    find("play").addEventListener("click", () => this.play(!this.timer));
    document.addEventListener("keydown", (e) => {
      if (e.target.closest("input, button") && e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const action = {ArrowLeft: () => this.show(this.at - 1), ArrowRight: () => this.show(this.at + 1), " ": () => this.play(!this.timer)}[e.key];
      if (!action) return;
      e.preventDefault();
      action();
    });
    this.show(0);
  }

  show(at) {
    this.at = Math.min(Math.max(at, 0), this.moments.length - 1);
    const event = this.moments[this.at];
    const now = this.figure.run.begin[event];
    find("moment").value = this.at;
    find("when").textContent = `${this.at + 1} of ${this.moments.length}, cycle ${number(now)}`;
    find("said").textContent = this.figure.sentence(event);
    find("drawing").replaceChildren(this.figure.draw(now, event));
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = on ? setInterval(() => this.at + 1 < this.moments.length ? this.show(this.at + 1) : this.play(false), PLAYED) : null;
    find("play").textContent = on ? "Pause" : "Play";
    find("play").setAttribute("aria-pressed", String(on));
  }
}

find("theme").addEventListener("click", toggleTheme);
try {
  const {program, figure} = document.body.dataset;
  const folder = new URL(`data/${program}/`, document.baseURI);
  const [page, trace] = await Promise.all(
      ["page.json.gz", "trace.json.gz"].map(async (file) => JSON.parse(await plainText(new URL(file, folder).href))));
  const run = new Run(build(trace, {description: page.description, sources: {}}));
  window.player = new Player(figure === "ring" ? new Ring(run) : new Pair(run));
} catch (error) {
  find("problem").hidden = false;
  find("problem").append(element("span", {}, `This figure cannot be shown: ${error.message}`));
}
document.documentElement.dataset.ready = "yes";
