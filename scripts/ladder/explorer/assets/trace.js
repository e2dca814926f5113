// From a trace of the simulated device (docs/explorer.md has its form) to the columns of numbers that run.js reads.
//
// An event of the page is a row of columns: kind (a value of KIND), track, begin, length, name, line, cause, and a to e
// by kind. The cause is the event that ended a wait, started an operation or changed a barrier; -1 if none is known.
//
//   run     a: its last line
//   wait    a: barrier, b: parity, c: 1 if it never ended
//   op      a: issued, b: seen, c: bytes, d: the track of the warp that issued it, e: detail
//   change  a: barrier, b: amount, c: phase, d: pending, e: tx; length 1 if it completed the phase
//   report  a: detail, b: the event that it is about, c: the one that this conflicts with, which is also its cause
//   hold    a: barrier of a phase, or -1
//
// Beside the columns stands, by event, why the tensor core rested before an MMA: [part of the account, cycles]...
//
// Rows are in the order of begin, which is written as the difference from the row before.
import {accumulators, buffers, END_OF_RUN, isUsed, ofAccumulator, ofBuffer, partOf} from "./holds.js";
import {KIND, number, upperBound} from "./run.js";

export const CTAS_PER_LAUNCH = 1000000;  // a process of the trace is a launch and a CTA
const FIRST_WARP = 16;
const SAME_INSTRUCTION = 64;  // cycles between an access and the issue of its operation, at most
const UNITS = {1: "TMA load", 2: "tensor core", 3: "TMEM load", 4: "TMA store", 5: "signals", 7: "reports"};
const VERSION = 2;
const NONE = -1;

/** Values, each once, by number; `key` is a string that stands for the value. */
class Words {
  constructor() {
    this.list = [];
    this.numbers = new Map();
  }
  number(value, key = value) {
    if (!this.numbers.has(key)) {
      this.numbers.set(key, this.list.length);
      this.list.push(value);
    }
    return this.numbers.get(key);
  }
}

const barrier = (kind, cta, place) => ({kind, cta, place, key: `${kind} ${cta} ${place}`});
const barrierOf = (item) => "offset" in item ? barrier("mbarrier", item.cta, item.offset) :
    "number" in item                         ? barrier("named", item.cta, item.number) :
                                               barrier("cluster", -1, 0);
const SPACES = {offset: "shared", column: "tensor", warp: "registers"};

function placeOf(item) {
  const member = Object.keys(SPACES).find((name) => name in item);
  return {cta: item.cta, space: SPACES[member], first: item[member], count: item.count, written: item.written ?? false};
}

/** Thrown for what is no trace; the message is the end of a sentence. */
export class TraceError extends Error {}

/** The launches of a trace: kernel, grid, cluster, number and events in the order of their beginning. */
export function launchesOf(trace) {
  if (!Array.isArray(trace?.traceEvents) || !trace.otherData) throw new TraceError("it has no events");
  if (trace.otherData.version !== VERSION)
    throw new TraceError(`its form is version ${trace.otherData.version}, and this page reads version ${VERSION}`);
  const launches = new Map();
  for (const item of trace.otherData.launches) launches.set(item.launch, {...item, number: item.launch, events: []});
  for (const item of trace.traceEvents) {
    if (item.ph === "M" || item.ph === "C" || item.cat === "residence") continue;
    const launch = launches.get(Math.floor(item.pid / CTAS_PER_LAUNCH));
    launch.events.push(eventOf(item, launch.ghz ? (time) => Math.round(time * 1000 * launch.ghz) :
                                                  (time) => Math.round(time * 1000)));
  }
  const found = [...launches.values()].filter((launch) => launch.events.length);
  if (!found.length) throw new TraceError("it has no events");
  for (const launch of found) launch.events.sort((a, b) => a.begin - b.begin || a.number - b.number);
  return found;
}

function eventOf(item, cycles) {
  const more = item.args;
  const begin = cycles(item.ts);
  const actor = (who) => ({cta: 0, warp: 0, source: "", ...who, at: cycles(who.at ?? 0)});
  const who = more.released_by ?? more.by;
  return {
    parity: NONE,
    warp: NONE,
    ...more,
    number: item.id,
    kind: item.cat,
    name: item.name,
    cta: item.pid % CTAS_PER_LAUNCH,
    track: item.tid,
    begin,
    end: begin + cycles(item.dur ?? 0),
    source: more.source ?? "",
    barrier: more.barrier && barrierOf(more.barrier),
    actor: who && actor(who),
    issued: cycles(more.issued ?? 0),
    seen: cycles(more.seen ?? 0),
    rests: more.rests && Object.entries(more.rests).map(([part, time]) => [part, cycles(time)]),
    places: (more.places ?? []).map(placeOf),
    sides: (more.sides ?? []).map(actor),
  };
}

/** Whose events are shown unless the reader chooses: a cluster, or two CTAs of a grid without clusters. */
export function shownCtas(launch) {
  const there = [...new Set(launch.events.map((event) => event.cta))].sort((a, b) => a - b);
  return there.slice(0, Math.max(2, launch.cluster.reduce((a, b) => a * b, 1)));
}

class Builder {
  constructor(launch, description, ctas) {
    Object.assign(this, {launch, ctas, known: description ?? null});
    this.tracks = [];
    this.rows = [];
    this.lines = new Words();
    this.files = new Words();
    this.details = new Words();
    const shown = new Set(ctas);
    this.events = launch.events.filter((e) => shown.has(e.cta) || e.barrier?.kind === "cluster");
    if (!this.events.length) throw new TraceError("it has no events of these CTAs");
    this.operations = this.events.filter((e) => e.kind === "operation");
    this.end = this.events.reduce((most, e) => Math.max(most, e.end, e.seen), 0);
    this.trackOf = new Map();
    this.barriers = new Map();
    this.runs = new Map();
    this.completions = new Map();
    this.changed = new Map();  // by operation: what it did to barriers
    this.lineOf = new Map();   // by source, and by place: made once, as most events share theirs
    this.placeTexts = new Map();
    for (const event of this.events) {
      if (event.kind === "run") this.append(this.runs, `${event.cta} ${event.track - FIRST_WARP}`, event);
      if (event.kind !== "barrier" || !event.actor) continue;
      if (event.completes) this.completions.set(this.completion(event), event.number);
      if (event.actor.operation !== undefined) this.append(this.changed, event.actor.operation, event);
    }
    this.starts = new Map([...this.runs].map(([warp, runs]) => [warp, runs.map((run) => run.begin)]));
  }

  append(lists, key, value) {
    if (lists.has(key))
      lists.get(key).push(value);
    else
      lists.set(key, [value]);
  }

  /** Names a barrier and the event that completed its phase. */
  completion({barrier, actor}) {
    return `${barrier.key} ${actor.operation ?? ""} ${actor.cta} ${actor.warp} ${actor.source} ${actor.at}`;
  }

  // --- names --------------------------------------------------------------------------------------------------------

  barrierName({kind, place}) {
    if (kind === "cluster") return "cluster barrier";
    const of = ({name, count}, index) => name + (count > 1 ? `[${index}]` : "");
    if (kind === "named") {
      const named = this.known?.named_barriers.find((b) => b.number <= place && place < b.number + b.count);
      return named ? of(named, place - named.number) : place === 0 ? "__syncthreads" : `named barrier ${place}`;
    }
    const barrier = this.describedBarrier(place);
    return barrier ? of(barrier, Math.floor((place - barrier.offset) / 8)) : `mbarrier +${number(place)}`;
  }

  describedBarrier(place) {
    return this.known?.barriers.find((b) => b.offset <= place && place < b.offset + 8 * b.count);
  }

  barrierTable() {
    return [...this.barriers.values()].map(({barrier}) => {
      const said = barrier.kind === "mbarrier" && this.describedBarrier(barrier.place);
      return {
        name: this.barrierName(barrier),
        cta: barrier.cta,
        kind: barrier.kind,
        ...(said ? {arrives: said.who_arrives, waits: said.who_waits, arrivals: said.arrivals, bytes: said.bytes} : {})
      };
    });
  }

  /** The number of "kernel.cuh:12". */
  line(source) {
    if (!this.lineOf.has(source)) {
      const parts = /^(.+):(\d+)$/.exec(source ?? "");
      const line = parts && [this.files.number(parts[1]), Number(parts[2])];
      this.lineOf.set(source, parts ? this.lines.number(line, line.join(":")) : NONE);
    }
    return this.lineOf.get(source);
  }

  placeText(place) {
    const key = `${place.cta} ${place.space} ${place.first} ${place.count}`;
    if (!this.placeTexts.has(key)) this.placeTexts.set(key, this.textOfPlace(place));
    return this.placeTexts.get(key);
  }

  textOfPlace(place) {
    const until = place.first + place.count - 1;
    if (place.space === "tensor") return `TMEM columns ${place.first}..${until} of CTA ${place.cta}`;
    if (place.space === "registers") return `registers of warps ${place.first}..${until} of CTA ${place.cta}`;
    const region = this.known?.smem.find(
        (r) => r.kind === "data" && r.offset <= place.first && place.first < r.offset + r.count * r.bytes);
    if (!region) return `shared +${number(place.first)} of CTA ${place.cta}`;
    const part = partOf(this.known, place);
    const index = Math.floor((place.first - region.offset) / region.bytes);
    return `${region.name}${region.count > 1 ? `[${index}]` : ""}${part && `.${part}`} of CTA ${place.cta} (shared +${
        number(place.first)})`;
  }

  operationName({name, places}) {
    const [short] = name.split(" of ");
    if (short.startsWith("signal")) return "signal";
    const part = short === "TMA load" && places.length ? partOf(this.known, places[0]) : "";
    return part ? `${short} ${part}` : short;
  }

  /** What an operation moved, and the descriptors of an MMA. */
  detailOf(operation) {
    const said = [];
    if (operation.coordinates?.length) {
      const spans = operation.coordinates.map((at, i) => `${at}..${at + operation.extent[i] - 1}`);
      said.push(`columns ${spans[0]}${spans.length > 1 ? `, rows ${spans.slice(1).join(", ")}` : ""}`);
    }
    for (const written of [false, true]) {
      const places = operation.places.filter((place) => place.written === written);
      if (places.length)
        said.push(`${written ? "into" : "from"} ${places.map((place) => this.placeText(place)).join(", ")}`);
    }
    if (operation.overwrites) said.push("overwrites: the first MMA of a tile");
    for (const change of this.changed.get(operation.number) ?? []) {
      said.push(
          `${change.name} at ${this.barrierName(change.barrier)} of CTA ${change.barrier.cta}` +
          (change.completes ? ", which completes its phase" : ""));
    }
    const detail = [said.join("; "), ...(operation.descriptors ?? [])];
    return this.details.number(detail, detail.join("\n"));
  }

  // --- tracks -------------------------------------------------------------------------------------------------------

  /** What each warp does, as far as its operations tell. */
  roles() {
    const does = new Map();
    for (const {name, cta, warp} of this.operations) {
      const what = name.startsWith("TMA load")           ? "loads" :
          name.startsWith("MMA") || name.startsWith("wgmma m") ? "MMAs" :
          name.startsWith("tcgen05.ld")                  ? "epilogue" :
          name.startsWith("TMA store")                   ? "stores" :
                                                           "";
      if (!what) continue;
      // A wgmma is issued by the four warps of a warpgroup, and noted for one of them.
      const first = name.startsWith("wgmma m") ? warp - warp % 4 : warp;
      for (let each = first; each < first + (name.startsWith("wgmma m") ? 4 : 1); ++each) {
        const key = `${cta} ${each}`;
        if (!does.has(key)) does.set(key, new Set());
        does.get(key).add(what);
      }
    }
    return does;
  }

  addTrack(key, cta, kind, name, note = "") {
    this.trackOf.set(key, this.tracks.length);
    this.tracks.push({cta, kind, name, note});
  }

  /** Of each CTA units, warps, buffers, accumulators, barriers. */
  makeTracks() {
    const roles = this.roles();
    const used = new Set(this.events.map((e) => `${e.cta} ${e.track}`));
    const warps = [...new Set(this.events.map((e) => e.track))].filter((t) => t >= FIRST_WARP).sort((a, b) => a - b);
    this.buffers = buffers(this.ctas, this.known, this.operations).filter((buffer) => isUsed(buffer, this.operations));
    this.accumulators = accumulators(this.ctas, this.operations);
    const keys = new Map(this.events.filter((e) => e.barrier).map((e) => [e.barrier.key, e.barrier]));
    const sorted = [...keys].sort(([, a], [, b]) => (a.kind === "cluster") - (b.kind === "cluster") ||
                                      (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.cta - b.cta || a.place - b.place));
    for (const cta of this.ctas) {
      for (const [unit, name] of Object.entries(UNITS)) {
        if (used.has(`${cta} ${unit}`))
          this.addTrack(`${cta} ${unit}`, cta, name === "reports" ? "report" : "unit", name);
      }
      for (const track of warps) {
        const warp = track - FIRST_WARP;
        if (used.has(`${cta} ${track}`))
          this.addTrack(`${cta} ${track}`, cta, "warp", `warp ${warp}`, [...(roles.get(`${cta} ${warp}`) ?? [])].join(", "));
      }
      for (const buffer of this.buffers)
        if (buffer.cta === cta) this.addTrack(buffer, cta, "buffer", buffer.name);
      for (const accumulator of this.accumulators)
        if (accumulator.cta === cta) this.addTrack(accumulator, cta, "accumulator", accumulator.name);
      for (const [key, barrier] of sorted) {
        if (barrier.cta !== cta && !(barrier.cta < 0 && cta === this.ctas.at(-1))) continue;
        this.barriers.set(key, {index: this.barriers.size, barrier});
        this.addTrack(key, barrier.cta, "barrier", this.barrierName(barrier));
      }
    }
  }

  // --- rows ---------------------------------------------------------------------------------------------------------

  /** The number of the event in which this warp runs at this time. */
  runAt(cta, warp, time) {
    const key = `${cta} ${warp}`;
    const at = upperBound(this.starts.get(key) ?? [], time) - 1;
    return at >= 0 ? this.runs.get(key)[at].number : null;
  }

  causeOf(event) {
    if (event.kind === "operation") return event.after ?? this.runAt(event.cta, event.warp, event.issued);
    const {actor} = event;
    if (!actor) return null;
    const completed = event.kind === "wait" && event.barrier ? this.completions.get(this.completion(event)) : undefined;
    return completed ?? actor.operation ?? this.runAt(actor.cta, actor.warp, actor.at);
  }

  /** The number of the operation that a side of a report issues, or of the event in which its warp runs. */
  eventOfSide(side) {
    const sameWarps = (o) =>
        o.warp === side.warp || (o.name.startsWith("wgmma") && o.warp >> 2 === side.warp >> 2);
    let nearest = null;
    for (const o of this.operations) {
      if (o.source !== side.source || o.cta !== side.cta || !sameWarps(o)) continue;
      if (!nearest || Math.abs(o.issued - side.at) < Math.abs(nearest.issued - side.at)) nearest = o;
    }
    return nearest && Math.abs(nearest.issued - side.at) <= SAME_INSTRUCTION ?
        nearest.number :
        this.runAt(side.cta, side.warp, side.at);
  }

  makeRows() {
    for (const event of this.events) this.addRow(event);
    const ordered = [...this.operations].sort((a, b) => a.begin - b.begin || a.number - b.number);
    for (const buffer of this.buffers) this.addHolds(this.trackOf.get(buffer), ofBuffer(buffer, ordered));
    for (const accumulator of this.accumulators)
      this.addHolds(this.trackOf.get(accumulator), ofAccumulator(accumulator, ordered));
    this.addPhases();
    this.rows.sort((a, b) => a.begin - b.begin);
  }

  add(kind, track, begin, length, name, more = {}) {
    this.rows.push(
        {kind: KIND[kind], track, begin, length, name, line: NONE, cause: null, a: NONE, b: NONE, c: NONE, d: NONE,
         e: NONE, number: null, ...more});
  }

  addRow(event) {
    const barrier = event.barrier && this.barriers.get(event.barrier.key);
    const track = this.trackOf.get(event.kind === "barrier" ? event.barrier.key : `${event.cta} ${event.track}`);
    if (track === undefined) return;
    const all = {line: this.line(event.source), cause: this.causeOf(event), number: event.number};
    const {begin, name} = event;
    const length = event.end - begin;
    switch (event.kind) {
      case "run":
        return this.add("run", track, begin, length, name, {...all, a: this.line(event.last_source)});
      case "wait":
        return this.add(
            "wait", track, begin, length, name.replace(/^wait: /, ""),
            {...all, a: barrier?.index ?? NONE, b: event.parity, c: Number(event.open ?? false)});
      case "operation":
        return this.add("op", track, begin, length, this.operationName(event), {
          ...all,
          a: event.issued,
          b: event.seen,
          c: event.bytes ?? 0,
          d: this.trackOf.get(`${event.cta} ${FIRST_WARP + event.warp}`) ?? NONE,
          e: this.detailOf(event),
          rests: event.rests
        });
      case "barrier":
        return this.add("change", track, begin, Number(event.completes ?? false), name, {
          ...all,
          a: barrier.index,
          b: event.amount ?? 0,
          c: event.phase ?? 0,
          d: event.pending ?? 0,
          e: event.tx ?? 0
        });
      default: {
        const sides = event.sides.map((side) => this.eventOfSide(side)).reverse();
        return this.add("report", track, begin, length, "report", {
          ...all,
          a: this.details.number([name], name),
          sides,
          cause: sides.length ? sides.at(-1) : this.runAt(event.cta, event.warp, begin)
        });
      }
    }
  }

  addHolds(track, holds) {
    for (const {state, begin, end, cause} of holds) {
      const until = end === END_OF_RUN ? this.end : end;
      if (until > begin) this.add("hold", track, begin, until - begin, state, {cause});
    }
  }

  /** A hold per phase of each barrier. */
  addPhases() {
    const begun = new Map();
    const add = (key, phase, begin, end, cause) => {
      if (end > begin)
        this.add(
            "hold", this.trackOf.get(key), begin, end - begin, `phase ${phase}`,
            {cause, a: this.barriers.get(key).index});
    };
    for (const event of this.events) {
      const key = event.kind === "barrier" && event.barrier.key;
      if (!key || !this.barriers.has(key)) continue;
      if (!begun.has(key)) begun.set(key, [event.begin, 0]);
      if (!event.completes) continue;
      const [begin, phase] = begun.get(key);
      add(key, phase, begin, event.begin, event.number);
      begun.set(key, [event.begin, phase + 1]);
    }
    for (const [key, [begin, phase]] of begun)
      if (this.barriers.get(key).barrier.kind === "mbarrier") add(key, phase, begin, this.end, null);
  }

  // --- all of it ----------------------------------------------------------------------------------------------------

  data() {
    this.makeTracks();
    this.makeRows();
    const index = new Map(this.rows.map((row, i) => [row.number, i]));
    index.delete(null);
    const indexOf = (wanted) => index.get(wanted) ?? NONE;
    for (const row of this.rows)
      if (row.sides) [row.b, row.c] = [indexOf(row.sides[0]), indexOf(row.sides[1])];
    const names = new Words();
    const column = (value) => this.rows.map(value);
    const events = {
      kind: column((row) => row.kind),
      track: column((row) => row.track),
      begin: column((row, i) => row.begin - (i ? this.rows[i - 1].begin : 0)),
      length: column((row) => row.length),
      name: column((row) => names.number(row.name)),
      line: column((row) => row.line),
      cause: column((row) => indexOf(row.cause))
    };
    for (const member of "abcde") events[member] = column((row) => row[member]);
    const {kernel, grid, cluster} = this.launch;
    return {
      kernel,
      grid,
      cluster,
      ctas: this.ctas,
      end: this.end,
      tracks: this.tracks,
      barriers: this.barrierTable(),
      names: names.list,
      lines: this.lines.list,
      details: this.details.list,
      events,
      rests: this.rows.flatMap((row, i) => (row.rests ? [[i, row.rests]] : []))
    };
  }
}

/**
 * What a page draws of a launch of a trace. `description` is what the kernel says of itself (a configuration of
 * --explain --json), or null; `sources` are the texts of files by name; `ctas` are the CTAs to show. Throws TraceError.
 */
export function build(trace, {launch = null, ctas = null, description = null, sources = {}} = {}) {
  const found = launchesOf(trace);
  const chosen = launch === null ? found[0] : found.find((each) => each.number === launch);
  if (!chosen) throw new TraceError(`it has no launch ${launch}`);
  const builder = new Builder(chosen, description, ctas ?? shownCtas(chosen));
  const data = builder.data();
  data.files = builder.files.list.map((name) => ({name, text: sources[name] ?? ""}));
  return data;
}
