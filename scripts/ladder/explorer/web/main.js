// Puts the page together: reads the data, makes the timelines, the panels and the labs, and listens to keys.
import {AddressLab} from "explorer/addresses.js";
import {OrderLab} from "explorer/order.js";
import {element, nextAtLine, showDetail, showState, Source} from "explorer/panels.js";
import {KIND, number, Run, upperBound} from "explorer/run.js";
import {Timeline, View} from "explorer/timeline.js";

const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);

class Explorer {
  constructor() {
    this.runs = data.runs.map((run) => new Run(run));
    this.view = new View(Math.max(...this.runs.map((run) => run.end)));
    this.timelines =
        this.runs.map((run) => new Timeline(run, this.view, (timeline, event) => this.choose(timeline, event)));
    this.active = this.timelines[0];
    this.source = new Source(find("source"), (run, file, line) => this.chooseLine(run, file, line));
    this.view.listeners.push(() => this.requestState());
    this.view.to = this.runs[0].end * 1.02;
    this.showBeside(false);
    find("report").hidden = !this.runs.some((run) => run.reports.length);
    this.listen();
    this.choose(this.active, -1);
    const labs = data.labs;
    this.addresses = new AddressLab(find("addresses"), labs.arch, labs.tiles);
    this.orders = new OrderLab(find("order"), labs.orders, labs.workers, labs.l2_megabytes);
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

  /** To the longest gap of the tensor core, then to the next longest: who was late, and why. */
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
      showState(find("state"), this.run, this.view.now, (event) => this.choose(this.active, event));
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

  theme() {
    const root = document.documentElement;
    const dark =
        root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    this.themeChanged();
  }
  themeChanged() {
    for (const timeline of this.timelines) timeline.themeChanged();
    this.orders.update();
  }

  tab(name) {
    for (const button of document.querySelectorAll("[role=tab]")) {
      const chosen = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(chosen));
      find(button.dataset.tab).hidden = !chosen;
    }
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
      theme: () => this.theme(),
      beside: () => this.showBeside(find("beside").getAttribute("aria-pressed") !== "true"),
      help: () => find("keys").showModal(),
    };
    for (const [id, action] of Object.entries(actions)) find(id)?.addEventListener("click", action);
    for (const button of document.querySelectorAll("[role=tab]"))
      button.addEventListener("click", () => this.tab(button.dataset.tab));
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
      t: actions.theme,
      "?": actions.help,
    };
    document.addEventListener("keydown", (e) => {
      if (e.target.closest("input, select, dialog") || e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
      if (e.key === "s" && !find("beside")) return;
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

window.explorer = new Explorer();
document.documentElement.dataset.ready = "yes";
