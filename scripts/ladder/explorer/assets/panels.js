// The panels beside the timeline: the chosen event and its causes, the state of everything at a moment, the source.
import {KIND, number, plural} from "./run.js";

/** element("p", {class: "x"}, "text", child...) */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on"))
      made.addEventListener(key.slice(2), value);
    else if (key === "style")
      made.style.cssText = value;  // an attribute would need a policy that allows inline styles
    else if (value !== false && value !== null)
      made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A label with a field for a number, of which `changed` is told. */
export function numberField(label, attributes, changed) {
  return element(
      "label", {}, label,
      element("input", {type: "number", ...attributes, oninput: (e) => changed(Number(e.target.value))}));
}

function eventButton(run, event, choose, text = run.nameOf(event)) {
  const line = run.lineName(run.line[event]);
  return element(
      "button", {class: "event", type: "button", onclick: () => choose(event)}, text,
      ...(line ? [element("small", {}, ` ${line}`)] : []));
}

const COLOURS = [
  ["run", "runs, "], ["wait", "waits for an mbarrier or for its own operation, "],
  ["sync", "waits at another barrier, "], ["bad", "waits for ever."]
];
const swatch = (colour) => element("span", {class: "swatch", style: `background: var(--${colour})`});

// --- the chosen event
// -------------------------------------------------------------------------------------------------

export function showDetail(panel, run, event, choose) {
  panel.replaceChildren();
  if (event < 0) {
    panel.append(
        element("p", {}, "Click on an event: what it waited for, what released it, what it moved."),
        element("p", {class: "soft"}, "A warp ", ...COLOURS.flatMap(([colour, meaning]) => [swatch(colour), meaning])),
        element(
            "p", {class: "soft"},
            "A unit works on an operation while its bar lasts; the thin line behind ends when the effect can be seen."));
    return;
  }
  const begin = run.begin[event];
  const cycles = run.endOf[event] - begin;
  const [title, ...sentences] =
      run.kind[event] === KIND.report ? run.nameOf(event).split(/: (?=The |It )| (?=Missing: )/) : [run.nameOf(event)];
  panel.append(element("h3", {}, title), ...sentences.map((sentence) => element("p", {}, sentence)));
  panel.append(element("p", {class: "when"}, when(run, event, begin, cycles)));
  const [moved, ...descriptors] = run.detail(event);
  if (moved) panel.append(element("p", {}, moved));
  if (descriptors.length) panel.append(element("p", {}, `Descriptors: ${descriptors.join(", ")}`));
  const rests = run.rests.get(event) ?? [];
  if (rests.length) {
    const why = rests.map(([part, cycles]) => `${part} ${number(cycles)}`).join(", ");
    panel.append(element("p", {}, `Before it the tensor core rested, for so many cycles: ${why}.`));
  }
  const barrier = run.kind[event] === KIND.wait || run.kind[event] === KIND.change ? run.a[event] : -1;
  if (barrier >= 0) panel.append(...aboutBarrier(run, barrier));
  if (run.kind[event] === KIND.wait && run.c[event] === 1) {
    panel.append(element("p", {class: "bad"}, "This wait never ended."));
  }
  const heading =
      {[KIND.wait]: "Released by", [KIND.op]: "Started by", [KIND.run]: "Before, it waited"}[run.kind[event]];
  if (run.kind[event] === KIND.report) {
    list(panel, "It is about", [run.b[event]].filter((side) => side >= 0), run, choose);
    list(panel, "And what happened before", [run.c[event]].filter((side) => side >= 0), run, choose);
    return;
  }
  list(panel, "Reported", run.accusations.get(event) ?? [], run, choose);
  list(panel, heading ?? "Because of", run.chain(event), run, choose);
  list(panel, "What follows from it", (run.effects.get(event) ?? []).slice(0, 24), run, choose);
}

function when(run, event, begin, cycles) {
  if (run.kind[event] !== KIND.op)
    return `cycle ${number(begin)}${cycles > 0 ? `, for ${plural(cycles, "cycle")}` : ""}`;
  const issuer = run.d[event] >= 0 ? ` by ${run.trackName(run.d[event])}` : "";
  return `issued at ${number(run.a[event])}${issuer}; the unit works from ${number(begin)} to ` +
      `${number(run.endOf[event])}; its effect is seen at ${number(run.b[event])}`;
}

function aboutBarrier(run, index) {
  const {arrives, waits, arrivals, bytes} = run.barriers[index];
  if (!arrives) return [];
  const needs = plural(arrivals, "arrival") + (bytes ? ` and ${plural(bytes, "byte")}` : "");
  return [element(
      "p", {class: "soft"},
      `${run.barriers[index].name}: a phase needs ${needs}. Arrives: ${arrives}. Waits: ${waits}.`)];
}

function list(panel, heading, events, run, choose) {
  if (!events.length) return;
  panel.append(element("h4", {}, heading));
  panel.append(element("ol", {}, ...events.map((event) => element("li", {}, eventButton(run, event, choose)))));
}

// --- everything at a moment
// -------------------------------------------------------------------------------------------

export function showState(panel, run, view, choose) {
  const {now} = view;
  const open = new Set([...panel.querySelectorAll("details[open]")].map((each) => each.dataset.name));
  if (!panel.childElementCount) open.add("tensor core in view").add("in flight").add("stages and accumulators").add("barriers");
  const part = (name, rows) => element(
      "details", {"data-name": name, open: open.has(name) && ""}, element("summary", {}, `${name} (${rows.length})`),
      element("table", {}, ...rows));
  const account = run.account(view.from, view.to);
  panel.replaceChildren(
      ...(account.length ? [part("tensor core in view", accountRows(account))] : []),
      element("h3", {}, `At cycle ${number(Math.round(now))}`), part("in flight", flightRows(run, now, choose)),
      part("stages and accumulators", holdRows(run, now, choose)), part("barriers", barrierRows(run, now, choose)),
      part("warps", warpRows(run, now, choose)));
}

const row = (...cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));

/** Percent of the time that the timeline shows. */
function accountRows(account) {
  return account.filter(([, percent]) => percent >= 0.05).map(([part, percent]) => row(part, `${percent.toFixed(1)} %`));
}

function flightRows(run, now, choose) {
  return run.inFlight(now).slice(0, 60).map(
      (event) => row(eventButton(run, event, choose), `${number(Math.max(0, Math.round(run.b[event] - now)))} to go`));
}

function holdRows(run, now, choose) {
  return [...run.tracksOf("buffer"), ...run.tracksOf("accumulator")].map((track) => {
    const event = run.eventAt(track, now);
    const state = event < 0 ? "free" : run.names[run.name[event]];
    return row(`${track.name} of CTA ${track.cta}`, event < 0 ? state : eventButton(run, event, choose, state));
  });
}

/** The warps that wait for each barrier at this time. */
function waitersAt(run, now) {
  const waiters = run.barriers.map(() => []);
  for (const track of run.tracksOf("warp")) {
    const event = run.eventAt(track, now);
    if (event >= 0 && run.kind[event] === KIND.wait && run.a[event] >= 0) waiters[run.a[event]].push([track, event]);
  }
  return waiters;
}

function barrierRows(run, now, choose) {
  const waiters = waitersAt(run, now);
  return run.barriers.map((barrier, index) => {
    const change = run.lastChange(index, now);
    const waits = waiters[index].map(([track]) => track.name).join(", ");
    return row(
        run.barrierName(index),
        change < 0 ? "nothing yet" : eventButton(run, change, choose, counts(run, barrier, change)),
        waits ? `waiting: ${waits}` : "");
  });
}

function counts(run, barrier, change) {
  const needs = [];
  if (barrier.kind !== "mbarrier") {
    return run.completes[change] === 1 ? "complete" : `needs ${plural(run.d[change], "thread")}`;
  }
  if (run.d[change] > 0) needs.push(plural(run.d[change], "arrival"));
  if (run.e[change] !== 0) needs.push(plural(run.e[change], "byte"));
  return `phase ${run.c[change]}, needs ${needs.join(" and ") || "nothing"}`;
}

function warpRows(run, now, choose) {
  return run.tracksOf("warp").map((track) => {
    const event = run.eventAt(track, now);
    const name = `${track.name} of CTA ${track.cta}${track.note ? ` (${track.note})` : ""}`;
    if (event < 0) return row(name, "has ended or not begun");
    const doing = run.kind[event] === KIND.run ? "runs" : run.nameOf(event).split(" waits ")[1].replace(/^/, "waits ");
    return row(name, eventButton(run, event, choose, doing));
  });
}

// --- the source
// -------------------------------------------------------------------------------------------------------

export class Source {
  constructor(panel, onLine) {
    this.panel = panel;
    this.onLine = onLine;
  }

  /** The line of an event; of a run, from its first line on. */
  show(run, event) {
    const line = event < 0 ? run.lines.findIndex(Boolean) : run.line[event];
    if (line < 0) return this.missing(run);
    const [file, numberOfLine] = run.lines[line];
    this.load(run, file);
    for (const marked of this.panel.querySelectorAll(".here")) marked.classList.remove("here");
    if (event < 0) return undefined;
    const last = run.kind[event] === KIND.run && run.a[event] >= 0 ? run.lines[run.a[event]] : [file, numberOfLine];
    const until = last[0] === file ? Math.max(numberOfLine, last[1]) : numberOfLine;
    for (let n = numberOfLine; n <= until; ++n) this.rows[n - 1]?.classList.add("here");
    this.rows[numberOfLine - 1]?.scrollIntoView({block: "center"});
    return undefined;
  }

  missing(run) {
    if (this.shown === run && this.file === -1) return;
    [this.shown, this.file, this.rows] = [run, -1, []];
    this.panel.replaceChildren(
        element("p", {class: "soft"}, "This program names no source lines: compile it with -lineinfo."));
  }

  load(run, file) {
    if (this.shown === run && this.file === file) return;
    [this.shown, this.file] = [run, file];
    const {name, text} = run.files[file];
    this.rows = text.split("\n").map(
        (content, i) => element(
            "div", {class: "code", onclick: () => this.onLine(run, file, i + 1)},
            element("span", {class: "number"}, String(i + 1)), ...highlighted(content)));
    if (!text) this.rows = [];
    this.panel.replaceChildren(
        element("h3", {}, text ? name : `${name} is not here`), element("div", {class: "listing"}, ...this.rows));
  }
}

/** Comments are dimmed. */
function highlighted(line) {
  const at = line.indexOf("//");
  return at < 0 ? [line] : [line.slice(0, at), element("span", {class: "comment"}, line.slice(at))];
}

/** The next event of this line of the source after a time, or the first one, or -1. */
export function nextAtLine(run, file, lineNumber, after) {
  const line = run.lines.findIndex(([f, n]) => f === file && n === lineNumber);
  if (line < 0) return -1;
  let first = -1;
  for (let i = 0; i < run.count; ++i) {
    if (run.line[i] !== line) continue;
    if (run.begin[i] > after) return i;
    if (first < 0) first = i;
  }
  return first;
}
