// Contents of memory: what operations read in shared memory, in the changed run and in the unmodified one. From the
// first wrong element of D to the first bytes that differ.
import {element} from "./explorer/panels.js";
import {number, plural} from "./explorer/run.js";
import {CTAS_PER_LAUNCH} from "./explorer/trace.js";

const LINE = 16;       // bytes of a row of the table
const MOST_LINES = 8;  // of those that differ

/** The places in shared memory that an operation reads. */
const readsOf = ({args}) => (args.places ?? []).filter((place) => "offset" in place && !place.written);

const known = new WeakMap();  // the operations of a trace: each choice in the timeline asks for them

/** The operations of a trace. `place` is what the worker calls one: its process, and its number there. `what` is the same
 * for the same operation of two runs: the third load of one line into one stage, for instance. */
function operationsOf(trace) {
  if (!known.has(trace)) known.set(trace, numbered(trace));
  return known.get(trace);
}
function numbered(trace) {
  const submitted = new Map(), times = new Map();
  const next = (counts, key) => (counts.set(key, (counts.get(key) ?? -1) + 1), counts.get(key));
  const all = trace.traceEvents.filter(({cat}) => cat === "operation").sort((a, b) => a.id - b.id);
  return all.map((event) => {
    const what = [event.pid, event.name, event.args.source].join("|");
    return {event, place: `${event.pid}:${next(submitted, event.pid)}`, what: `${what}|${next(times, what)}`};
  });
}

/** Whether an operation stores a part of D with this element. */
function stores({args}, {row, column}) {
  if (!args.coordinates || args.places?.some(({written}) => written)) return false;
  const [x, y] = args.coordinates, [width, height] = args.extent;
  return x <= column && column < x + width && y <= row && row < y + height;
}

/**
 * The first operation that read something else than in the unmodified run: among those of the pair that stores `wrong`,
 * if that is known. null if none did.
 */
export function firstDifference(now, before, wrong) {
  const usual = new Map(operationsOf(before).map((each) => [each.what, each]));
  const all = operationsOf(now).map((each) => ({...each, other: usual.get(each.what)}));
  const differing = all.filter(({event, other}) => other && other.event.args.read !== event.args.read);
  const stored = wrong && all.find(({event}) => stores(event, wrong))?.event.pid;
  const near = differing.filter(({event}) => Math.abs(event.pid - stored) <= 1);
  return (near.length ? near : differing).sort((a, b) => a.event.ts - b.event.ts)[0] ?? null;
}

const bytesOf = (hex) => Uint8Array.from(hex?.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** A BF16 number, as its two bytes have it. */
function bf16(bytes, at) {
  const value = new DataView(Uint8Array.of(0, 0, bytes[at], bytes[at + 1]).buffer).getFloat32(0, true);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}

/** The first wrong tile of a result: its number, and where it begins. */
export function firstWrong(results) {
  for (const {name, rows, columns, tile_rows: height, tile_columns: width, wrong} of results) {
    const m = wrong.findIndex((row) => row.includes(1));
    if (m < 0 || rows === 1) continue;
    const n = wrong[m].indexOf(1);
    return {name, number: m * wrong[0].length + n, row: m * height, column: n * width, width: Math.min(width, columns - n * width)};
  }
  return null;
}

/** The first element of a tile that differs: {row, column, now, before}, of D. */
export function firstElement(tile, now, before) {
  const [changed, usual] = [now, before].map((result) => bytesOf(result.results.find(({name}) => name === tile.name)?.elements));
  const at = changed.findIndex((byte, i) => byte !== usual[i]) & ~1;
  if (at < 0) return null;
  const index = at / 2;
  return {row: tile.row + Math.floor(index / tile.width), column: tile.column + index % tile.width, now: bf16(changed, at), before: bf16(usual, at)};
}

/** Rows of the table: those lines of the places in which the two runs differ; all lines if none do. */
function lines(event, now, before) {
  const found = [];
  let first = 0;
  for (const {cta, offset, count} of readsOf(event)) {
    for (let at = 0; at < count; at += LINE)
      found.push({cta, offset: offset + at, bytes: [now, before].map((all) => all.slice(first + at, first + Math.min(at + LINE, count)))});
    first += count;
  }
  const differ = found.filter(({bytes: [one, other]}) => one.some((byte, i) => byte !== other[i]));
  return {differ: differ.length, of: found.length, shown: (differ.length ? differ : found).slice(0, MOST_LINES)};
}

/** What an operation read, in both runs. */
export function table(event, now, before) {
  const [changed, usual] = [now, before].map(bytesOf);
  const {differ, of, shown} = lines(event, changed, usual);
  const values = (bytes, other) => element("td", {}, ...Array.from({length: bytes.length >> 1}, (_, i) => {
    const same = bytes[2 * i] === other[2 * i] && bytes[2 * i + 1] === other[2 * i + 1];
    return element(same ? "span" : "b", {title: [...bytes.slice(2 * i, 2 * i + 2)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ")}, `${bf16(bytes, 2 * i)} `);
  }));
  const line = event.args.source?.split(":").at(-1);
  return [
    element("p", {}, `${event.name} of CTA ${event.pid % CTAS_PER_LAUNCH}${line ? `, line ${line}` : ""}, at cycle ${number(Math.round(event.ts * 1000))}: ` +
                     (differ ? `${number(differ)} of ${plural(of, "line")} of ${LINE} bytes that it reads differ.` : "it reads the same in both runs.")),
    element("table", {class: "contents"},
            element("tr", {}, ...["shared memory", "changed", "unmodified"].map((title) => element("th", {}, title))),
            ...shown.map(({cta, offset, bytes: [one, other]}) => element(
                "tr", {}, element("td", {}, `CTA ${cta} + ${number(offset)}`), values(one, other), values(other, one)))),
    element("p", {class: "soft"}, "Each number is a BF16; its two bytes stand in its title.")
  ];
}

/** The operation of a trace that the timeline shows as an event of `run`, with the same one of `before`; null if it reads
 * no shared memory, or is not in both. */
export function chosen(trace, before, run, event) {
  const {cta} = run.tracks[run.trackOf[event]];
  const found = operationsOf(trace).find(
      ({event: each}) => each.pid % CTAS_PER_LAUNCH === cta && Math.round(each.ts * 1000) === run.begin[event] &&
          each.name === run.names[run.name[event]] && readsOf(each).length);
  const other = found && operationsOf(before).find(({what}) => what === found.what);
  return other ? {...found, other} : null;
}
