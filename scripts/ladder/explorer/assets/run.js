// A run as the page knows it: columns of numbers by event, and what can be asked about them.
// trace.js says what the columns mean.

export const KIND = {
  run: 0,
  wait: 1,
  op: 2,
  change: 3,
  report: 4,
  hold: 5
};

/** The first index from `low` on whose value is greater than `value`, in an ascending array. */
export function upperBound(array, value, low = 0, high = array.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const grouped = new Intl.NumberFormat("en");
export const number = (value) => grouped.format(value);
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

/** Events of one track, in the order of their beginning. */
class Track {
  constructor(index, data) {
    Object.assign(this, data, {index, events: [], marks: []});
  }
  finish(begin, end) {
    this.events = Int32Array.from(this.events);
    this.marks = Int32Array.from(this.marks);
    this.begins = Float64Array.from(this.events, (event) => begin[event]);
    this.markTimes = Float64Array.from(this.marks, (event) => begin[event]);
    this.longest = this.events.reduce((most, event) => Math.max(most, end[event] - begin[event]), 0);
  }
}

export class Run {
  constructor(data) {
    Object.assign(this, data);
    const columns = data.events;
    this.count = columns.kind.length;
    this.kind = Uint8Array.from(columns.kind);
    this.trackOf = Int32Array.from(columns.track);
    this.name = Int32Array.from(columns.name);
    this.line = Int32Array.from(columns.line);
    this.cause = Int32Array.from(columns.cause);
    this.begin = new Float64Array(this.count);
    this.endOf = new Float64Array(this.count);
    for (const column of "abcde") this[column] = columns[column];
    let time = 0;
    for (let i = 0; i < this.count; ++i) {
      time += columns.begin[i];
      this.begin[i] = time;
      this.endOf[i] = this.kind[i] === KIND.change ? time : time + columns.length[i];
    }
    this.completes = columns.length;  // of changes
    this.rests = new Map(this.rests);
    delete this.events;
    this.sortIntoTracks();
  }

  sortIntoTracks() {
    this.tracks = this.tracks.map((data, index) => new Track(index, data));
    this.operations = [];
    this.changes = this.barriers.map(() => []);
    for (let i = 0; i < this.count; ++i) {
      const track = this.tracks[this.trackOf[i]];
      if (this.kind[i] === KIND.change || this.kind[i] === KIND.report)
        track.marks.push(i);
      else
        track.events.push(i);
      if (this.kind[i] === KIND.op) this.operations.push(i);
      if (this.kind[i] === KIND.change) this.changes[this.a[i]].push(i);
    }
    for (const track of this.tracks) track.finish(this.begin, this.endOf);
    this.changeTimes = this.changes.map((list) => Float64Array.from(list, (event) => this.begin[event]));
  }

  /** By event: those that it caused. Made when it is first asked for. */
  get effects() {
    if (!this.effectLists) {
      this.effectLists = new Map();
      for (let i = 0; i < this.count; ++i) {
        const cause = this.cause[i];
        if (cause < 0) continue;
        if (!this.effectLists.has(cause)) this.effectLists.set(cause, []);
        this.effectLists.get(cause).push(i);
      }
    }
    return this.effectLists;
  }

  /** What is wrong, in the order of its discovery. */
  get reports() {
    this.reportList ??= Array.from(this.kind.keys()).filter((event) => this.kind[event] === KIND.report);
    return this.reportList;
  }

  /** By event: the reports that it is a side of. */
  get accusations() {
    if (!this.accusationLists) {
      this.accusationLists = new Map();
      for (const report of this.reports) {
        for (const side of new Set([this.b[report], this.c[report]])) {
          if (side < 0) continue;
          if (!this.accusationLists.has(side)) this.accusationLists.set(side, []);
          this.accusationLists.get(side).push(report);
        }
      }
    }
    return this.accusationLists;
  }

  /** All times at which something begins, ends or takes effect, in order. */
  get moments() {
    if (!this.momentList) {
      const times = new Float64Array(this.count + this.operations.length);
      times.set(this.begin);
      this.operations.forEach((event, i) => (times[this.count + i] = this.b[event]));
      this.momentList = times.sort().filter((time, i) => i === 0 || time !== times[i - 1]);
    }
    return this.momentList;
  }

  // --- what is when -------------------------------------------------------------------------------------------------

  /** The event of a track at this time, or -1. */
  eventAt(track, time) {
    for (let i = upperBound(track.begins, time) - 1; i >= 0 && track.begins[i] + track.longest >= time; --i) {
      if (this.endOf[track.events[i]] > time) return track.events[i];
    }
    return -1;
  }

  /** The last change of a barrier until then, or -1. */
  lastChange(barrier, time) {
    return this.changes[barrier][upperBound(this.changeTimes[barrier], time) - 1] ?? -1;
  }

  inFlight(time) {
    return this.operations.filter((event) => this.a[event] <= time && time < this.b[event]);
  }

  tracksOf(kind) {
    return this.tracks.filter((track) => track.kind === kind);
  }

  /** Of the first CTA that has one; or undefined. */
  get tensorCore() {
    return this.tracks.find((each) => each.kind === "unit" && each.name === "tensor core");
  }

  /**
   * Where the tensor core of the first CTA that has one rests for longer than an MMA takes: [begin, end, next MMA],
   * the longest first.
   */
  get gaps() {
    if (!this.gapList) {
      this.gapList = [];
      const track = this.tensorCore;
      let until = -1;
      for (const event of track ? track.events : []) {
        const busy = this.endOf[event] - this.begin[event];
        if (until >= 0 && this.begin[event] - until > Math.max(busy, 1))
          this.gapList.push([until, this.begin[event], event]);
        until = Math.max(until, this.endOf[event]);
      }
      this.gapList.sort((one, other) => other[1] - other[0] - (one[1] - one[0]));
    }
    return this.gapList;
  }

  /** The share of the run in which the tensor core works, or null. */
  get tensorShare() {
    const track = this.tensorCore;
    if (!track) return null;
    let busy = 0;
    let until = 0;
    for (const event of track.events) {
      busy += Math.max(0, this.endOf[event] - Math.max(until, this.begin[event]));
      until = Math.max(until, this.endOf[event]);
    }
    return busy / this.end;
  }

  /**
   * Percent of an interval, by part: what the tensor core of the first CTA that has one does, and why it rests; the
   * largest part first. Empty if the timing model has not said why.
   */
  account(from, to) {
    const parts = new Map();
    const add = (part, cycles) => cycles > 0 && parts.set(part, (parts.get(part) ?? 0) + cycles);
    const track = this.tensorCore;
    const [low, high] = [Math.max(0, from), Math.min(this.end, to)];
    if (!track || !this.rests.size || high <= low) return [];
    let until = 0;
    for (const event of track.events) {
      const [begin, end] = [Math.max(until, this.begin[event]), this.endOf[event]];
      const shown = (Math.min(begin, high) - Math.max(until, low)) / (begin - until);  // of the pause before it
      if (shown > 0) for (const [part, cycles] of this.rests.get(event) ?? []) add(part, cycles * shown);
      add("multiplies", Math.min(end, high) - Math.max(begin, low));
      until = Math.max(until, end);
    }
    const said = [...parts.values()].reduce((sum, cycles) => sum + cycles, 0);
    add("end", high - low - said);
    return [...parts].map(([part, cycles]) => [part, (100 * cycles) / (high - low)]).sort((a, b) => b[1] - a[1]);
  }

  // --- in words -----------------------------------------------------------------------------------------------------

  trackName(index) {
    const track = this.tracks[index];
    return track ? track.name + (track.cta >= 0 ? ` of CTA ${track.cta}` : "") : "?";
  }

  barrierName(index) {
    const barrier = this.barriers[index];
    return barrier.name + (barrier.cta >= 0 ? ` of CTA ${barrier.cta}` : "");
  }

  /** "kernel.cuh:12", or "". */
  lineName(line) {
    return line < 0 ? "" : `${this.files[this.lines[line][0]].name}:${this.lines[line][1]}`;
  }

  /** What an event is, in a line. */
  nameOf(event) {
    const name = this.names[this.name[event]];
    const track = this.trackName(this.trackOf[event]);
    switch (this.kind[event]) {
      case KIND.run:
        return `${track} runs`;
      case KIND.wait: {
        const barrier = this.a[event];
        const parity = this.b[event];
        const what = barrier < 0 ? name : this.barrierName(barrier) + (parity >= 0 ? `, parity ${parity}` : "");
        return `${track} waits for ${what}`;
      }
      case KIND.op:
        return name + (this.c[event] > 0 ? `: ${number(this.c[event])} bytes` : "");
      case KIND.change: {
        const barrier = this.barriers[this.a[event]];
        const unit = name.endsWith("tx") ? "byte" : barrier.kind === "mbarrier" ? "arrival" : "thread";
        return `${name}, ${plural(this.b[event], unit)}, at ${this.barrierName(this.a[event])}`;
      }
      case KIND.report:
        return this.details[this.a[event]][0];
      default:
        return `${track}: ${name}`;
    }
  }

  detail(event) {
    return this.kind[event] === KIND.op ? this.details[this.e[event]] : [""];
  }

  /** Why an event begins (of a wait: ends) when it does: what caused it, what caused that, and so on. */
  chain(event, most = 8) {
    const chain = [];
    for (let at = this.because(event); at >= 0 && chain.length < most && !chain.includes(at); at = this.because(at))
      chain.push(at);
    return chain;
  }

  /** Of a run: the wait before it. */
  because(event) {
    if (this.kind[event] !== KIND.run) return this.cause[event];
    const track = this.tracks[this.trackOf[event]];
    for (let i = upperBound(track.begins, this.begin[event]) - 1; i >= 0; --i) {
      const before = track.events[i];
      if (this.kind[before] === KIND.wait && this.endOf[before] <= this.begin[event]) return before;
    }
    return -1;
  }
}
