// The timeline of one run on a canvas: tracks below one another, a shared view of time, arrows from cause to effect.
import {KIND, number, plural, upperBound} from "./run.js";

const ROW = 18;
const AXIS = 22;
const LABELS = 168;
const PLAIN = "11px system-ui, sans-serif";
const BOLD = `600 ${PLAIN}`;
const GROUPS = {
  unit: "units",
  report: "reports",
  warp: "warps",
  buffer: "shared memory",
  accumulator: "accumulators",
  barrier: "barriers"
};

/** The part of time that is shown, and the moment that is looked at; every timeline draws the same. */
export class View {
  constructor(end) {
    this.end = end;
    this.listeners = [];
    this.from = 0;
    this.to = end;
    this.now = 0;
  }
  get span() {
    return this.to - this.from;
  }
  show(from, to) {
    const span = Math.min(Math.max(to - from, 20), this.end * 1.1);
    const least = -0.05 * span;
    const start = Math.min(Math.max(from, least), Math.max(least, this.end - 0.95 * span));
    this.from = start;
    this.to = start + span;
    this.changed();
  }
  zoom(factor, around = this.from + this.span / 2) {
    this.show(around - (around - this.from) / factor, around + (this.to - around) / factor);
  }
  pan(share) {
    this.show(this.from + share * this.span, this.to + share * this.span);
  }
  /** Moves as little as needed for [from, to] to be in sight. */
  reveal(from, to = from) {
    if (from >= this.from && to <= this.to) return;
    if (to - from > this.span * 0.8)
      this.show(from - 0.1 * (to - from), to + 0.1 * (to - from));
    else
      this.show((from + to - this.span) / 2, (from + to + this.span) / 2);
  }
  look(now) {
    this.now = now;
    this.changed();
  }
  changed() {
    for (const listener of this.listeners) listener();
  }
}

/** Colours are the page's: custom properties of the style sheet. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = [
    "ink", "soft", "line", "paper", "panel", "accent", "run", "wait", "load", "mma", "tmem", "store", "signal", "bad",
    "full", "free", "phase0", "phase1", "sync"
  ];
  return Object.fromEntries(names.map((name) => [name, get(name)]));
}

const UNIT_COLOURS = {
  "TMA load": "load",
  "tensor core": "mma",
  "TMEM load": "tmem",
  "TMA store": "store",
  signals: "signal"
};
const HOLD_COLOURS = {
  "TMA fills it": "load",
  full: "full",
  "MMAs read it": "mma",
  "MMAs add to it": "mma",
  complete: "full",
  "epilogue reads it": "tmem",
  "TMA stores it": "store",
  "left to the warps": "sync",
  free: "free"
};

export class Timeline {
  constructor(run, view, onSelect) {
    this.run = run;
    this.view = view;
    this.onSelect = onSelect;
    this.closed = new Set(run.tracks.filter((t) => t.kind === "barrier").map((t) => this.groupOf(t)));
    this.selected = -1;
    this.colourOf = new Array(run.count);
    this.build();
    this.layOut();
    view.listeners.push(() => this.request());
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  build() {
    this.element = document.createElement("section");
    this.element.className = "timeline";
    this.element.innerHTML = `<header><h2></h2><p class="facts"></p></header>
      <div class="scroller" tabindex="0" role="application" aria-label="Timeline: arrow keys step, plus and minus zoom">
      <div class="spacer"><canvas></canvas></div></div><div class="tip" hidden></div>`;
    const share = this.run.tensorShare;
    this.element.querySelector("h2").textContent = this.run.title;
    this.element.querySelector(".facts").textContent = `${number(this.run.end)} cycles, modelled; ` +
        (share === null ? "" : `the tensor core works ${Math.round(100 * share)}% of them; `) +
        (this.run.reports.length ? `${plural(this.run.reports.length, "report")}; ` : "") + this.run.subtitle;
    this.scroller = this.element.querySelector(".scroller");
    this.spacer = this.element.querySelector(".spacer");
    this.canvas = this.element.querySelector("canvas");
    this.tip = this.element.querySelector(".tip");
    this.scroller.addEventListener("scroll", () => this.request());
    this.listen();
  }

  groupOf(track) {
    return `${track.cta < 0 ? "Cluster" : `CTA ${track.cta}`}: ${GROUPS[track.kind]}`;
  }

  /** Rows of the picture: a heading per group, and its tracks unless it is closed. */
  layOut() {
    this.rows = [];
    this.rowOf = new Map();
    let group = "";
    let y = AXIS;
    for (const track of this.run.tracks) {
      if (this.groupOf(track) !== group) {
        group = this.groupOf(track);
        this.rows.push({y, heading: group});
        y += ROW;
      }
      if (this.closed.has(group)) {
        this.rowOf.set(track.index, y - ROW);
        continue;
      }
      this.rows.push({y, track});
      this.rowOf.set(track.index, y);
      y += ROW;
    }
    this.height = y + 8;
    this.spacer.style.height = `${this.height}px`;
    this.request();
  }

  toggle(group) {
    if (!this.closed.delete(group)) this.closed.add(group);
    this.layOut();
  }
  toggleKind(kind) {
    const groups = new Set(this.run.tracks.filter((t) => t.kind === kind).map((t) => this.groupOf(t)));
    const open = [...groups].some((group) => this.closed.has(group));
    for (const group of groups) open ? this.closed.delete(group) : this.closed.add(group);
    this.layOut();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.scroller.clientWidth;
    this.shownHeight = this.scroller.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.shownHeight * ratio));
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.shownHeight}px`;
    this.labels = this.width < 560 ? 112 : LABELS;
    this.request();
  }

  request() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => {
      this.requested = false;
      this.draw();
    });
  }

  themeChanged() {
    this.colours = null;
    this.colourOf = new Array(this.run.count);
    this.request();
  }

  x(time) {
    return this.labels + (time - this.view.from) * this.scale;
  }
  time(x) {
    return this.view.from + (x - this.labels) / this.scale;
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  draw() {
    if (!this.width || !this.element.isConnected) return;
    this.colours ??= readColours();
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext("2d", {alpha: false});
    this.context = context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.scale = (this.width - this.labels) / this.view.span;
    const top = this.scroller.scrollTop;
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, this.width, this.shownHeight);
    context.font = PLAIN;
    context.textBaseline = "middle";
    context.save();
    context.beginPath();
    context.rect(this.labels, AXIS, this.width - this.labels, this.shownHeight - AXIS);
    context.clip();
    for (const row of this.rows) {
      const y = row.y - top;
      if (y > AXIS - ROW && y < this.shownHeight && row.track) this.drawTrack(row.track, y);
    }
    this.drawArrows(top);
    this.drawNow();
    context.restore();
    this.drawLabels(top);
    this.drawAxis();
  }

  drawAxis() {
    const {context, colours} = this;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, this.width, AXIS);
    const rough = (90 / this.scale);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    context.fillStyle = colours.soft;
    context.textAlign = "left";
    for (let t = Math.max(0, Math.ceil(this.view.from / step) * step); t <= this.view.to; t += step) {
      const x = this.x(t);
      context.fillRect(Math.round(x), AXIS - 6, 1, 6);
      const text = number(Math.round(t));
      if (x + 3 + context.measureText(text).width <= this.width) context.fillText(text, x + 3, AXIS / 2);
    }
    context.fillText("cycles", 8, AXIS / 2);
  }

  drawLabels(top) {
    const {context, colours} = this;
    context.fillStyle = colours.panel;
    context.fillRect(0, AXIS, this.labels, this.shownHeight);
    for (const row of this.rows) {
      const y = row.y - top;
      if (y < AXIS - ROW || y > this.shownHeight) continue;
      context.fillStyle = colours.ink;
      context.font = row.heading ? BOLD : PLAIN;
      const text = row.heading ? `${this.closed.has(row.heading) ? "▸" : "▾"} ${row.heading}` : row.track.name;
      context.fillText(text, row.heading ? 6 : 16, y + ROW / 2, this.labels - 20);
      if (row.track?.note && this.labels > 120) {
        context.fillStyle = colours.soft;
        context.fillText(row.track.note, 70, y + ROW / 2, this.labels - 74);
      }
      if (row.heading) {
        context.fillStyle = colours.line;
        context.fillRect(0, y, this.width, 1);
      }
    }
    context.font = PLAIN;
  }

  /** The name of an event's colour. */
  colour(event) {
    return (this.colourOf[event] ??= this.colours[this.colourName(event)]);
  }
  colourName(event) {
    const {run} = this;
    const track = run.tracks[run.trackOf[event]];
    switch (run.kind[event]) {
      case KIND.run:
        return "run";
      case KIND.wait:
        return run.c[event] === 1                                               ? "bad" :
            run.a[event] >= 0 && run.barriers[run.a[event]].kind !== "mbarrier" ? "sync" :
                                                                                  "wait";
      case KIND.op:
        return UNIT_COLOURS[track.name] ?? "signal";
      case KIND.hold: {
        const name = run.names[run.name[event]];
        return HOLD_COLOURS[name] ?? `phase${Number(name.split(" ")[1]) % 2}`;
      }
      default:
        return "bad";
    }
  }

  drawTrack(track, y) {
    const {context, run, view} = this;
    const {events} = track;
    const height = ROW - 4;
    const right = this.width;
    const first = upperBound(track.begins, view.from - track.longest - 1);
    let pending = null;  // what is narrower than a pixel and looks the same is drawn together
    let pendingLeft = 0;
    let pendingRight = 0;
    const flush = () => {
      if (pending === null) return;
      context.fillStyle = pending;
      context.fillRect(pendingLeft, y + 2, pendingRight - pendingLeft, height);
      pending = null;
    };
    for (let i = first; i < events.length; ++i) {
      const event = events[i];
      const left = this.x(run.begin[event]);
      if (left > right) break;
      const end = this.x(run.endOf[event]);
      if (end < this.labels) continue;
      if (end - left < 1.5) {
        const pixel = Math.floor(left);
        if (pending !== null && pixel < pendingRight) continue;
        const colour = this.colour(event);
        if (pending === colour && pixel === pendingRight) {
          pendingRight = pixel + 1;
          continue;
        }
        flush();
        pending = colour;
        pendingLeft = pixel;
        pendingRight = pixel + 1;
        continue;
      }
      flush();
      context.fillStyle = this.colour(event);
      context.fillRect(left, y + 2, Math.max(1, end - left - (end - left > 4 ? 1 : 0)), height);
      if (run.kind[event] === KIND.op && run.b[event] > run.endOf[event]) {
        context.globalAlpha = 0.45;  // it is over for the unit, and not yet to be seen
        context.fillRect(end, y + height - 1, (run.b[event] - run.endOf[event]) * this.scale, 3);
        context.globalAlpha = 1;
      }
      if (end - left > 44) this.drawText(event, Math.max(left, this.labels), Math.min(end, right), y);
    }
    flush();
    this.drawMarks(track, y);
    for (const event of run.accusations.keys()) {
      if (run.trackOf[event] === track.index) this.outline(event, y, this.colours.bad);
    }
    if (this.selected >= 0 && run.trackOf[this.selected] === track.index) this.outline(this.selected, y);
  }

  drawText(event, left, right, y) {
    const {context, run} = this;
    if (right - left < 40 || run.kind[event] === KIND.run) return;
    const barrier = run.kind[event] === KIND.wait ? run.a[event] : -1;
    const text = barrier >= 0 ? run.barriers[barrier].name : run.names[run.name[event]];
    if (text === "free") return;
    context.fillStyle = this.colours.ink;
    context.fillText(this.fitting(text, right - left - 8), left + 4, y + ROW / 2);
  }

  /** As much of a text as there is room for; dots stand for the rest. */
  fitting(text, room) {
    const width = (some) => this.context.measureText(some).width;
    const all = width(text);
    if (all <= room) return text;
    for (let length = Math.floor(text.length * room / all); length > 2; --length) {
      const part = `${text.slice(0, length).trimEnd()}…`;
      if (width(part) <= room) return part;
    }
    return "";
  }

  drawMarks(track, y) {
    const {context, run, view} = this;
    let drawn = -1;
    for (let i = upperBound(track.markTimes, view.from); i < track.marks.length; ++i) {
      const event = track.marks[i];
      const x = Math.round(this.x(run.begin[event]));
      if (x > this.width) break;
      const strong = run.kind[event] === KIND.report || run.completes[event] === 1;
      if (x === drawn && !strong) continue;
      drawn = x;
      context.fillStyle = run.kind[event] === KIND.report ? this.colours.bad :
          strong                                          ? this.colours.accent :
                                                            this.colours.ink;
      context.fillRect(x - (strong ? 1 : 0), y + (strong ? 1 : 5), strong ? 3 : 1, strong ? ROW - 2 : ROW - 10);
    }
  }

  outline(event, y, colour = this.colours.accent) {
    const left = this.x(this.run.begin[event]);
    const width = Math.max(3, (this.run.endOf[event] - this.run.begin[event]) * this.scale);
    this.context.strokeStyle = colour;
    this.context.lineWidth = 2;
    this.context.strokeRect(left - 1, y + 1, width + 1, ROW - 2);
  }

  drawNow() {
    this.context.fillStyle = this.colours.accent;
    this.context.fillRect(Math.round(this.x(this.view.now)), AXIS, 1, this.shownHeight);
  }

  /** Where an arrow begins or ends: of what causes, when it takes effect; of what is caused, when it notices. */
  anchor(event, causes) {
    const {run} = this;
    const late = run.kind[event] === KIND.op ? run.b[event] : run.kind[event] === KIND.run ? null : run.endOf[event];
    const early = run.kind[event] === KIND.wait ? run.endOf[event] :
        run.kind[event] === KIND.op             ? run.a[event] :
                                                  run.begin[event];
    return causes ? late : early;
  }

  drawArrows(top) {
    const {run} = this;
    if (this.selected < 0) return;
    const chain = [this.selected, ...run.chain(this.selected, 5)];
    for (let i = 0; i + 1 < chain.length; ++i)
      this.arrow(chain[i + 1], chain[i], top, this.colours.accent, i === 0 ? 2 : 1);
    if (run.kind[this.selected] === KIND.report && run.b[this.selected] >= 0)
      this.arrow(run.b[this.selected], this.selected, top, this.colours.accent, 2);
    for (const effect of (run.effects.get(this.selected) ?? []).slice(0, 40)) {
      this.arrow(this.selected, effect, top, this.colours.soft, 1);
    }
  }

  arrow(cause, effect, top, colour, thick) {
    const {context, run} = this;
    const x2 = this.x(this.anchor(effect, false));
    const x1 = Math.min(this.x(this.anchor(cause, run.kind[effect] !== KIND.report) ?? this.anchor(effect, false)), this.x(run.end));
    const y1 = this.rowOf.get(run.trackOf[cause]) - top + ROW / 2;
    const y2 = this.rowOf.get(run.trackOf[effect]) - top + ROW / 2;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = thick;
    context.beginPath();
    context.moveTo(x1, y1);
    const bend = Math.max(12, Math.abs(x2 - x1) / 2);
    context.bezierCurveTo(x1 + bend / 2, y1, x2 - bend, y2, x2, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 7, y2 - 4);
    context.lineTo(x2 - 7, y2 + 4);
    context.fill();
  }

  // --- pointing -----------------------------------------------------------------------------------------------------

  /** What is under a point: a heading, an event, a mark, or nothing. */
  hit(x, y) {
    const row =
        this.rows.find((each) => y + this.scroller.scrollTop >= each.y && y + this.scroller.scrollTop < each.y + ROW);
    if (!row || y < AXIS) return {};
    if (row.heading) return {heading: row.heading};
    if (x < this.labels) return {track: row.track};
    const time = this.time(x);
    const {track} = row;
    const near = 4 / this.scale;
    let best = -1;
    for (let i = upperBound(track.markTimes, time - near); i < track.marks.length && track.markTimes[i] <= time + near;
         ++i) {
      if (best < 0 || Math.abs(track.markTimes[i] - time) < Math.abs(this.run.begin[best] - time))
        best = track.marks[i];
    }
    if (best >= 0) return {track, event: best};
    for (let i = upperBound(track.begins, time + near) - 1; i >= 0 && track.begins[i] + track.longest + near >= time;
         --i) {
      if (this.run.endOf[track.events[i]] + near >= time) return {track, event: track.events[i]};
    }
    return {track};
  }

  listen() {
    const area = this.scroller;
    const pointers = new Map();
    let moved = false;
    const position = (e) => {
      const box = this.canvas.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    area.addEventListener("wheel", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey)
        this.view.zoom(Math.exp(-e.deltaY / 300), this.time(position(e)[0]));
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
        this.view.pan((e.deltaX || e.deltaY) / this.width);
      else
        return;
      e.preventDefault();
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", (e) => {
      pointers.set(e.pointerId, position(e));
      moved = false;
      this.canvas.setPointerCapture(e.pointerId);
    });
    this.canvas.addEventListener("pointermove", (e) => {
      const [x, y] = position(e);
      const before = pointers.get(e.pointerId);
      if (!before) return this.hover(x, y);
      if (Math.abs(x - before[0]) + Math.abs(y - before[1]) > 3) moved = true;
      if (!moved) return undefined;
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
        this.view.zoom(
            Math.max(Math.abs(x - other[0]), 8) / Math.max(Math.abs(before[0] - other[0]), 8),
            this.time((x + other[0]) / 2));
      } else {
        this.view.show(this.view.from - (x - before[0]) / this.scale, this.view.to - (x - before[0]) / this.scale);
        if (e.pointerType === "mouse") this.scroller.scrollTop -= y - before[1];
      }
      pointers.set(e.pointerId, [x, y]);
      return undefined;
    });
    const release = (e) => {
      const was = pointers.delete(e.pointerId);
      if (was && !moved && e.type === "pointerup") this.click(...position(e));
    };
    this.canvas.addEventListener("pointerup", release);
    this.canvas.addEventListener("pointercancel", release);
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  click(x, y) {
    const hit = this.hit(x, y);
    if (hit.heading) return this.toggle(hit.heading);
    if (y < AXIS || hit.event === undefined) return this.view.look(Math.max(0, this.time(x)));
    return this.onSelect(this, hit.event);
  }

  hover(x, y) {
    const {event} = this.hit(x, y);
    this.tip.hidden = event === undefined;
    if (event === undefined) return;
    const {run} = this;
    const cycles = run.endOf[event] - run.begin[event];
    this.tip.textContent =
        `${run.nameOf(event)}${cycles > 0 ? `, ${number(cycles)} cycles` : ""} ${run.lineName(run.line[event])}`;
    this.tip.style.left = `${Math.min(x + 12, this.width - 240)}px`;
    this.tip.style.top = `${y + 34}px`;
  }

  /** Shows an event as the chosen one, in sight. */
  select(event) {
    this.selected = event;
    if (event >= 0) {
      this.view.reveal(this.run.begin[event], this.run.endOf[event]);
      const y = this.rowOf.get(this.run.trackOf[event]);
      const top = this.scroller.scrollTop;
      if (y - top < AXIS + ROW || y - top > this.shownHeight - 2 * ROW)
        this.scroller.scrollTop = y - this.shownHeight / 2;
    }
    this.request();
  }
}
