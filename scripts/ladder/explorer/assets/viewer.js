// Timelines of one run or two, what stands beside them, and the keys and buttons that move through them. A page has the
// elements of controls.html and, by their ids, timelines, detail, state, and source unless it shows lines itself.
import {nextAtLine, showDetail, showState, Source} from "./panels.js";
import {KIND, number, Run, upperBound} from "./run.js";
import {Timeline, View} from "./timeline.js";
import {build} from "./trace.js";

const find = (id) => document.getElementById(id);

/** Light or dark: what the system has, or the other one. */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

export class Viewer {
  /**
   * Keys are heard inside of `scope`. `source` shows the line of an event: show(run, event); by default the panel does.
   */
  constructor(scope, source) {
    this.scope = scope;
    this.source = source ?? new Source(find("source"), (run, file, line) => this.chooseLine(run, file, line));
    this.listen();
  }

  /** Shows one run or two: each a trace, title, subtitle, and options of trace.js's build. Throws TraceError. */
  show(runs) {
    this.runs = runs.map(({trace, title, subtitle, ...options}) => new Run({...build(trace, options), title, subtitle}));
    this.gapIndex = undefined;
    this.say("");
    this.view = new View(Math.max(...this.runs.map((run) => run.end)));
    this.timelines =
        this.runs.map((run) => new Timeline(run, this.view, (timeline, event) => this.choose(timeline, event)));
    this.active = this.timelines[0];
    this.view.listeners.push(() => this.requestState());
    this.view.to = this.runs[0].end * 1.02;
    this.showBeside(false);
    find("report").hidden = !this.runs.some((run) => run.reports.length);
    find("beside")?.toggleAttribute("hidden", this.runs.length < 2);
    this.choose(this.active, -1);
  }

  get run() {
    return this.active.run;
  }

  // --- choosing -----------------------------------------------------------------------------------------------------

  choose(timeline, event) {
    for (const other of this.timelines)
      if (other !== timeline) other.select(-1);
    this.active = timeline;
    timeline.select(event);
    this.source.show(this.run, event);
    showDetail(find("detail"), this.run, event, (next) => this.choose(timeline, next));
    if (event >= 0) {
      const {run} = this;
      this.view.look(run.kind[event] === KIND.wait ? run.endOf[event] : run.begin[event]);
    }
    this.requestState();
  }

  chooseLine(run, file, line) {
    const event = nextAtLine(run, file, line, this.active.selected >= 0 ? run.begin[this.active.selected] : -1);
    if (event >= 0) this.choose(this.timelines[this.runs.indexOf(run)], event);
  }

  /** To the next moment at which something happens, or the one before. */
  step(direction) {
    const {moments} = this.run;
    const at = upperBound(moments, this.view.now);
    const next = direction > 0 ? at : moments[at - 1] < this.view.now ? at - 1 : at - 2;
    if (next < 0 || next >= moments.length) return;
    this.view.look(moments[next]);
    this.view.reveal(moments[next]);
  }

  /** To the next event of the chosen track, or the one before. */
  stepOnTrack(direction) {
    const {selected} = this.active;
    if (selected < 0) return this.step(direction);
    const track = this.run.tracks[this.run.trackOf[selected]];
    const list = track.events.includes(selected) ? track.events : track.marks;
    const next = list[list.indexOf(selected) + direction];
    return next === undefined ? undefined : this.choose(this.active, next);
  }

  /** To the longest gap of the tensor core, then to the next longest: which event was late, and why. */
  gap(direction) {
    const {gaps} = this.run;
    if (!gaps.length) return this.say("The tensor core has no gap.");
    this.gapIndex = ((this.gapIndex ?? (direction > 0 ? -1 : 0)) + direction + gaps.length) % gaps.length;
    const [from, to, mma] = gaps[this.gapIndex];
    this.view.show(from - (to - from), to + (to - from));
    this.choose(this.active, this.latestWait(mma, from) ?? mma);
    return this.say(`Gap ${this.gapIndex + 1} of ${gaps.length}, the longest first: ${number(to - from)} cycles.`);
  }

  /** To the next thing that is wrong, or the one before. */
  report(direction) {
    const {reports} = this.run;
    if (!reports.length) return this.say("Nothing is reported.");
    const at = reports.indexOf(this.active.selected);
    const next = at < 0 && direction < 0 ? reports.length - 1 : (at + direction + reports.length) % reports.length;
    this.choose(this.active, reports[next]);
    return this.say(`Report ${next + 1} of ${reports.length}.`);
  }

  /** What the warp that issues this MMA waited for before. */
  latestWait(mma, from) {
    return this.run.chain(mma, 3).find((event) => this.run.kind[event] === KIND.wait && this.run.endOf[event] > from);
  }

  say(sentence) {
    find("said").textContent = sentence;
  }

  requestState() {
    if (this.stateRequested) return;
    this.stateRequested = true;
    requestAnimationFrame(() => {
      this.stateRequested = false;
      showState(find("state"), this.run, this.view, (event) => this.choose(this.active, event));
    });
  }

  // --- the page -----------------------------------------------------------------------------------------------------

  showBeside(beside) {
    const shown = beside ? this.timelines : this.timelines.slice(0, 1);
    find("timelines").replaceChildren(...shown.map((timeline) => timeline.element));
    find("beside")?.setAttribute("aria-pressed", String(beside));
    if (!beside && this.active !== this.timelines[0]) this.choose(this.timelines[0], -1);
    this.fit();
  }

  fit() {
    const shown = find("timelines").childElementCount;
    const end = Math.max(...this.runs.slice(0, shown).map((run) => run.end));
    this.view.show(-0.01 * end, 1.01 * end);
  }

  themeChanged() {
    for (const timeline of this.timelines ?? []) timeline.themeChanged();
  }

  listen() {
    const actions = {
      "step-back": () => this.step(-1),
      "step-forward": () => this.step(1),
      "zoom-in": () => this.zoom(2),
      "zoom-out": () => this.zoom(0.5),
      fit: () => this.fit(),
      gap: () => this.gap(1),
      report: () => this.report(1),
      barriers: () => this.barriers(),
      beside: () => this.showBeside(find("beside").getAttribute("aria-pressed") !== "true"),
    };
    for (const [id, action] of Object.entries(actions)) find(id)?.addEventListener("click", () => this.runs && action());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.themeChanged());
    const keys = {
      ArrowRight: (e) => (e.shiftKey ? this.stepOnTrack(1) : this.step(1)),
      ArrowLeft: (e) => (e.shiftKey ? this.stepOnTrack(-1) : this.step(-1)),
      "+": () => this.zoom(2),
      "=": () => this.zoom(2),
      "-": () => this.zoom(0.5),
      0: () => this.fit(),
      "[": () => this.view.pan(-0.3),
      "]": () => this.view.pan(0.3),
      g: () => this.gap(1),
      G: () => this.gap(-1),
      r: () => this.report(1),
      R: () => this.report(-1),
      b: () => this.barriers(),
      s: actions.beside,
    };
    this.scope.addEventListener("keydown", (e) => {
      if (!this.runs || e.target.closest("input, select, textarea, dialog") || e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
      if (e.key === "s" && this.runs.length < 2) return;
      e.preventDefault();
      keys[e.key](e);
    });
  }

  zoom(factor) {
    const {now, from, to} = this.view;
    this.view.zoom(factor, now >= from && now <= to ? now : undefined);
  }
  barriers() {
    for (const timeline of this.timelines) timeline.toggleKind("barrier");
  }
}
