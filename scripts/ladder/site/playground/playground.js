// The playground: a kernel whose synchronisation is removed by clicks, run on the simulated device in a worker.
import {Answer} from "./answer.js";
import * as contents from "./contents.js";
import {costs} from "./cost.js";
import {element} from "./explorer/panels.js";
import {plural} from "./explorer/run.js";
import {toggleTheme, Viewer} from "./explorer/viewer.js";
import {Kernel, next, wordsOf} from "./kernel.js";
import {Machine, plainText} from "./machine.js";
import {difference, format, mostSms, MOST_PTX, parse, patched, scheduleOf, scheduleText} from "./settings.js";
import {CompileError, said, Source} from "./source.js";
import {Tasks} from "./tasks.js";

const find = (id) => document.getElementById(id);
const name = document.body.dataset.program;
const addressOf = (file) => new URL(`data/${name}/${file}`, document.baseURI).href;

const json = async (file) => JSON.parse(await plainText(addressOf(file)));

class Playground {
  constructor(program, sites, page) {
    Object.assign(this, {program, sites, page, labs: program.labs ?? []});
    this.siteOf = new Map(sites.map((site) => [site.id, site]));
    this.answer = new Answer(find("answer"), page.file, null, (ids) => this.remove(ids));
    this.list(page.text);
    this.viewer = new Viewer(find("run"), {show: (run, event) => (this.showLine(run, event), this.offerContents(run, event))});
    this.machine = new Machine(new URL("sim/worker.js", document.baseURI), (progress) => this.showProgress(progress));
    this.source = page.compiler && typeof WebAssembly !== "undefined" ? new Source(name, page, program.arch, find("source"), () => this.edited()) : null;
    find("edit").hidden = !this.source;
    this.baselines = new Map();  // traces of the unmodified kernel, by shape, SMs and schedule
    this.tasks = new Tasks(find("task"), this);
    find("sms").max = mostSms(program);
    find("file").textContent = page.file;
    for (const id of ["about-marks", "previous-mark", "next-mark"]) find(id).hidden = !sites.length;
    find("shape").replaceChildren(
        ...program.shapes.map(({id, label}) => element("option", {value: id}, label ?? id)));
    this.showLabs();
    this.read();
    this.listen();
    if (typeof WebAssembly === "undefined") {
      this.complain("This browser has no WebAssembly, so no kernel can be run here. The source and the recorded run can be read.");
      find("go").disabled = true;
    } else {
      this.machine.prepare();
    }
    this.showRecorded();
  }

  /** Shows a text of the kernel. Marks stand in the unmodified one. */
  list(text) {
    if (this.text === text) return;
    this.text = text;
    this.kernel = new Kernel(
        find("listing"), text, text === this.page.text ? this.sites : [], (site) => this.tasks.guess(site) || this.toggle(site),
        (line) => this.viewer.runs && this.chooseLine(line));
    this.answer.kernel = this.kernel;
  }

  // --- settings -----------------------------------------------------------------------------------------------------

  get shape() {
    return this.program.shapes.find(({id}) => id === this.settings.shape);
  }
  get lab() {
    return this.labs.find((lab) => lab.id === this.settings.lab);
  }
  /** What is changed: [{site, state}] */
  get changes() {
    return [...this.settings.states].map(([id, state]) => ({site: this.siteOf.get(id), state}));
  }
  stateOf(site) {
    return this.settings.states.get(site.id) ?? "kept";
  }

  /** Takes what the address says. */
  read() {
    const {settings, problems} = parse(location.hash, this.program, this.sites);
    if (settings.source && !this.source) problems.push("This page has no compiler, so that it cannot run the edited source of the address.");
    if (!location.hash && !this.page.step) settings.source = this.source?.kept ?? null;
    this.settings = settings;
    this.stopEditing();
    this.complain(problems.join(" "));
    this.update();
    const fence = this.sites.find(({instruction, found_by: by}) => instruction.startsWith("fence.proxy") && by?.startsWith("race"));
    const line = settings.line ?? this.changes[0]?.site.line ?? (fence ?? this.sites[0])?.line;
    if (settings.line !== null) this.kernel.point(line);
    else if (line) this.kernel.scrollTo(line);
    this.answer.say(this.isModified || !this.sites.length ? "Press Run." : "Remove a mark, then press Run.");
    this.tasks.begin(settings.task);
  }

  /** After each change of the settings: the page and the address say the same. */
  changed() {
    const text = format(this.settings, this.program, this.sites);
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    this.update();
  }

  update() {
    const {settings} = this;
    find("shape").value = settings.shape;
    find("sms").value = settings.sms ?? this.shape.sms ?? "";
    find("schedule").value = typeof settings.schedule === "string" ? settings.schedule : "seed";
    find("seed-label").hidden = typeof settings.schedule === "string";
    if (typeof settings.schedule !== "string") find("seed").value = settings.schedule.seed;
    find("check").value = settings.check;
    find("shape").disabled = find("sms").disabled = Boolean(this.lab);
    find("shows").textContent = this.lab ? "This lab runs with the problem of its own." : this.shape.shows ?? "";
    this.list(this.source?.textOf(settings.source) ?? this.page.text);
    this.kernel.update((site) => this.stateOf(site));
    this.kernel.accuse([], []);
    const entry = (text, restore, ...more) => element(
        "li", {}, element("button", {type: "button", onclick: restore}, "Restore"), element("span", {}, text), ...more);
    const entries = this.changes.map(
        ({site, state}) => entry(
            `Line ${site.line}, ${site.label ?? site.instruction}: `, () => this.set(site, "kept"), this.choiceOf(site, state)));
    if (this.lab) entries.push(entry(`Lab: ${this.lab.id}`, () => this.chooseLab(null)));
    const {patch} = settings;
    if (patch) entries.push(entry(`Edited PTX, from line ${patch.from} on`, () => this.discardPtx()));
    if (settings.source) entries.push(entry(`Edited source, from line ${settings.source.from} on`, () => this.discardSource()));
    find("changes").replaceChildren(...entries);
    find("restore").hidden = entries.length < 2;
    for (const button of document.querySelectorAll("[data-lab]"))
      button.setAttribute("aria-pressed", String(button.dataset.lab === settings.lab));
    find("ptx-discard").disabled = !patch;
    if (find("ptx").open) this.showPtx();
  }

  /** What is done to a site: removed, or one of its ways. */
  choiceOf(site, state) {
    const states = ["removed", ...site.ways.keys()];
    const options = states.map((each) => element("option", {value: String(each)}, wordsOf(site, each)));
    const choice = element("select", {
      "aria-label": `Change of line ${site.line}`,
      onchange: (e) => this.set(site, states.find((each) => String(each) === e.target.value))
    }, ...options);
    choice.value = String(state);
    return choice;
  }

  /** An edited text has its changes in itself, so that neither marks nor labs apply to it. */
  get refuses() {
    const isEdited = this.settings.patch !== null || this.settings.source !== null;
    if (isEdited) this.complain("The program is edited: discard the edits first, then marks and labs can be used again.");
    return isEdited;
  }
  remove(ids) {
    if (this.refuses) return;
    for (const id of ids)
      if (this.siteOf.has(id)) this.settings.states.set(id, "removed");
    this.changed();
    this.run();
  }
  toggle(site) {
    if (this.refuses) return;
    this.set(site, next(site, this.stateOf(site)));
  }
  set(site, state) {
    if (state === "kept")
      this.settings.states.delete(site.id);
    else
      this.settings.states.set(site.id, state);
    if (state !== "kept") this.settings.lab = null;
    this.changed();
  }
  chooseLab(lab) {
    if (this.refuses) return;
    this.settings.lab = lab;
    if (lab) this.settings.states.clear();
    this.changed();
  }
  restore() {
    this.settings.states.clear();
    Object.assign(this.settings, {lab: null, patch: null});
    this.discardSource();
  }

  // --- the edited source --------------------------------------------------------------------------------------------

  /** Shows the text to edit, at a line; what marks have changed does not stand in it. */
  async startEditing(line = null) {
    if (!this.source) return;
    Object.assign(this.settings, {lab: null, patch: null});
    this.settings.states.clear();
    try {
      await this.source.open(this.source.textOf(this.settings.source), line ?? this.settings.source?.from ?? 1);
    } catch (error) {
      return this.complain(error.message);
    }
    this.showEditing();
    this.source.prepare();
  }
  stopEditing() {
    this.source?.close();
    this.showEditing();
  }
  showEditing() {
    const on = Boolean(this.source?.isOpen);
    find("listing").hidden = on;
    find("edit").textContent = on ? "Show" : "Edit";
  }
  edited() {
    this.settings.source = this.source.edit;
    const isLong = (this.settings.source?.text.length ?? 0) > MOST_PTX - 20;
    this.changed();
    this.complain(isLong ? "This edit is too long for the page's address: this browser keeps it, but a link does not have it." : "");
  }
  discardSource() {
    if (this.source) {
      this.source.text = this.page.text;
      this.settings.source = this.source.edit;
    }
    this.stopEditing();
    this.changed();
  }

  /** The PTX of the edited source; its warnings are said with the result. */
  async compiled() {
    find("status").textContent = `Compiling (the first time, ${this.page.compiler.megabytes} MB are loaded).`;
    const {ptx, messages, launch} = await this.source.compile(this.text);
    this.warnings = messages;
    return {ptx, ...launch};
  }
  /** What the compiler has said, below an answer, and at the lines. */
  showSaid(messages) {
    const go = (line) => (this.startEditing(line), this.kernel.point(line));
    if (messages.length) find("answer").append(said(messages, this.page.file, go));
    const lines = (of) => messages.filter(({file, severity}) => file === this.page.file && severity === of).map(({line}) => line);
    const errors = lines("error");
    if (errors.length) {
      this.kernel.accuse(lines("note"), errors);
      this.kernel.scrollTo(errors[0]);
    }
  }

  // --- running ------------------------------------------------------------------------------------------------------

  /** The whole PTX that takes the recording's place, and edits of its lines. Throws Error for what cannot be combined. */
  async changedProgram() {
    if (this.settings.source && this.source) return this.compiled();
    if (this.settings.patch) return {ptx: patched(await this.kernelPtx(), this.settings.patch)};
    if (this.tasks.hidden) return {edits: this.tasks.hidden.removed.edits};
    if (this.lab) return {};  // its recording has its PTX
    const changes = this.changes.map(({site, state}) => ({site, change: state === "removed" ? site.removed : site.ways[state]}));
    const whole = changes.filter(({change}) => change.ptx);
    if (whole.length && changes.length > 1) {
      throw new Error(
          `Without line ${whole[0].site.line} the compiler generates another program, so this change cannot be combined: restore the others.`);
    }
    if (whole.length) return {ptx: await plainText(addressOf(whole[0].change.ptx))};
    return {edits: changes.flatMap(({change}) => change.edits)};
  }

  /** A lab has a recording of its own, for the problem at which it shows something. */
  get recording() {
    return this.lab?.recording ?? this.shape.recording;
  }
  get sms() {
    return this.lab ? null : this.settings.sms;
  }
  get baselineKey() {
    return [this.recording, this.sms ?? "", scheduleText(this.settings.schedule)].join(" ");
  }
  get isModified() {
    return this.tasks?.hidden || this.settings.states.size > 0 || [this.settings.lab, this.settings.patch, this.settings.source].some(Boolean);
  }

  async run() {
    if (this.running || find("go").disabled) return;
    const {changes, lab, baselineKey, isModified} = this;
    const traced = find("traced").checked;
    const request = {...this.request, trace: traced, discount: !(lab || this.shape.is_broken)};
    this.setRunning(true);
    this.complain("");
    this.stopEditing();
    this.warnings = [];
    this.answer.say("Running.");
    try {
      const result = await this.machine.run({...request, ...await this.changedProgram()});
      this.answer.show(result, changes, lab);
      this.showSaid(this.warnings);
      this.offerMore(result);
      this.tasks.judge(result);
      if (traced && result.trace) {
        if (!isModified) this.baselines.set(baselineKey, result.trace);
        const compared = isModified && !lab;  // a lab's recording is of a problem and a program of its own
        if (compared && !this.baselines.has(baselineKey)) {
          find("status").textContent = "Running the unmodified kernel, to compare.";
          this.baselines.set(baselineKey, (await this.machine.run({...request, check: "off"})).trace);
        }
        this.draw([
          {trace: result.trace, title: isModified ? "With the changes" : "The kernel", subtitle: this.shapeText()},
          ...(compared ? [{trace: this.baselines.get(baselineKey), title: "Unmodified", subtitle: this.shapeText()}] : [])
        ]);
      }
    } catch (error) {
      this.showErrors(error);
    }
    this.setRunning(false);
  }
  showErrors(error) {
    this.answer.fail(error.message);
    if (error instanceof CompileError) this.showSaid(error.messages);
  }

  /** Of a file of this program's data. */
  address(file) {
    return addressOf(file);
  }
  /** What every run with these settings asks for. */
  get request() {
    const {schedule, check} = this.settings;
    return {recording: addressOf(this.recording), schedule, check, ...(this.sms ? {sms: this.sms} : {})};
  }

  // --- cost and contents --------------------------------------------------------------------------------------------

  /** Below a verdict: what a right kernel costs, and where a wrong one becomes wrong. */
  offerMore({right, kind, results}) {
    const offer = (text, make) => {
      const panel = element("div", {class: "more"});
      const begin = () => this.alone(async () => panel.replaceChildren(...await make()));
      panel.append(element("button", {type: "button", onclick: begin}, text));
      find("answer").append(panel);
    };
    const {timed} = this.lab ?? this.program;
    if (timed && right && ["right", "habit"].includes(kind)) offer("What does it cost?", () => this.cost());
    const tile = right === false && !this.lab && contents.firstWrong(results);
    if (tile) offer("Where does it become wrong?", () => this.firstWrong(tile));
  }

  /** Runs what needs the machine; a sentence says what failed. */
  async alone(work) {
    if (this.running) return;
    this.setRunning(true);
    try {
      await work();
    } catch (error) {
      this.complain(error.message);
    }
    this.setRunning(false);
  }

  /** What the timing model predicts of a recording, of a changed program or as it is. */
  async predict(file, changed = {}) {
    const gpu = this.program.arch === 90 ? {gpu: "h100"} : {};
    const request = {recording: addressOf(file), check: "off", prediction: true, discount: false, ...gpu, ...changed};
    return (await this.machine.run(request)).prediction;
  }

  /** The predicted time, with the changes and without. */
  async cost() {
    const {recording, label} = this.program.timed;
    this.usualTime ??= await this.predict(recording);
    const now = this.isModified ? await this.predict(this.lab?.timed ?? recording, await this.changedProgram()) : null;
    return costs(label, now, this.usualTime, this.page.parts);
  }

  /** The same run twice, changed and not, with what operations read. */
  async both(wanted, other = wanted) {
    const request = {...this.request, check: "off", trace: true, discount: false};
    const now = await this.machine.run({...request, ...wanted, ...await this.changedProgram()});
    return {now, before: await this.machine.run({...request, ...other})};
  }

  /** From the first wrong element of D to the first bytes that an operation reads differently. */
  async firstWrong(tile) {
    const {now, before} = await this.both({contents: "all", tile: tile.number});
    const wrong = contents.firstElement(tile, now, before);
    const found = contents.firstDifference(now.trace, before.trace, wrong);
    return [
      element("h4", {}, "Where it becomes wrong"),
      element("p", {}, wrong ? `The first wrong element of ${tile.name} is (${wrong.row}, ${wrong.column}): ${wrong.now}, not ${wrong.before}.` :
                               "In this run, without the checker, the result is right."),
      ...(found ? await this.contentsOf(found) : wrong ? [element("p", {}, "Tensor cores and stores read the same bytes in both runs: the values differ in registers or in tensor memory.")] : [])
    ];
  }

  async contentsOf({event, place, other}) {
    const {now, before} = await this.both({contents: place}, {contents: other.place});
    const bytes = ({trace}) => trace.traceEvents.find(({args}) => args?.contents)?.args.contents;
    return contents.table(event, bytes(now), bytes(before));
  }

  /** For a chosen operation of the timeline: what it reads. */
  offerContents(run, event) {
    const [now, before] = [this.shown?.[0], this.shown?.at(-1)];
    const isShown = event >= 0 && !this.lab && this.viewer.runs?.[0] === run;
    const found = isShown && contents.chosen(now.trace, before.trace, run, event);
    find("contents").replaceChildren(...(found ? [element("button", {
      type: "button",
      onclick: () => this.alone(async () => find("contents").replaceChildren(...await this.contentsOf(found)))
    }, "What does it read?")] : []));
  }

  shapeText() {
    return (this.lab?.id ?? this.shape.label ?? this.shape.id) + (this.sms ? `, ${plural(this.sms, "SM")}` : "");
  }

  /** Ends the compiler and the run, whatever they are at. */
  stop() {
    for (const worker of [this.source?.compiler, this.machine])
      if (worker?.pending) worker.stop();
  }

  setRunning(running) {
    this.running = running;
    find("go").disabled = running;
    find("stop").disabled = !running;
    find("progress").hidden = !running;
    if (running) {
      find("progress").removeAttribute("value");
      find("status").textContent = "Loading the simulated device.";
    } else {
      find("status").textContent = "";
    }
    document.documentElement.dataset.running = running ? "yes" : "no";
  }

  showProgress({launch, launches, done, of}) {
    if (!this.running) return;
    find("status").textContent = (launches > 1 ? `Launch ${launch + 1} of ${launches}, ` : "") + (of ? `${done} of ${of} done` : "running");
    if (of) find("progress").value = (launch + done / of) / Math.max(1, launches);
  }

  complain(sentence) {
    find("problem").textContent = sentence;
    find("problem").hidden = !sentence;
  }

  // --- timeline -----------------------------------------------------------------------------------------------------

  draw(runs) {
    find("run").hidden = false;
    this.shown = runs;
    try {
      this.viewer.show(runs.map((run) => ({...run, description: this.page.description, sources: {[this.page.file]: this.text}})));
    } catch (error) {
      find("run").hidden = true;
      this.complain(`There is no timeline: ${error.message}.`);
    }
  }

  /** The run of the unmodified kernel that came with the page. */
  async showRecorded() {
    if (!this.page.trace) return;
    try {
      const trace = await json(this.page.trace);
      this.baselines.set([this.program.shapes[0].recording, "", "default"].join(" "), trace);
      if (!this.viewer.runs) this.draw([{trace, title: "The kernel, as recorded", subtitle: this.program.shapes[0].label ?? ""}]);
    } catch (error) {
      this.complain(`The recorded run cannot be shown: ${error.message}`);
    }
  }

  showLine(run, event) {
    const line = event < 0 ? -1 : run.line[event];
    if (line < 0) return;
    const [file, from] = run.lines[line];
    if (run.files[file].name !== this.page.file) return;
    const last = run.kind[event] === 0 && run.a[event] >= 0 ? run.lines[run.a[event]] : [file, from];
    this.kernel.point(from, last[0] === file ? Math.max(from, last[1]) : from);
  }

  chooseLine(line) {
    const {run} = this.viewer;
    this.viewer.chooseLine(run, run.files.findIndex(({name: of}) => of === this.page.file), line);
  }

  // --- PTX and labs -------------------------------------------------------------------------------------------------

  async kernelPtx() {
    return this.basePtx ??= await plainText(addressOf(this.program.ptx));
  }

  async showPtx() {
    const text = find("ptx-text");
    if (document.activeElement === text) return;  // it is being edited
    text.readOnly = Boolean(this.lab || this.settings.source);
    if (this.settings.source) {
      text.value = this.source?.done.get(this.text)?.ptx ?? "Run compiles the edited source.";
      return;
    }
    try {
      await this.kernelPtx();
      if (this.lab) throw new Error("A lab runs PTX of its own. Restore it to see the kernel's.");
      const {ptx, edits = []} = await this.changedProgram();
      const lines = (ptx ?? this.basePtx).split("\n");
      for (const {unit = 0, line, text: edited} of edits)
        if (unit === 0) lines[line - 1] = edited;
      text.value = lines.join("\n");
    } catch (error) {
      text.value = "";
      this.complain(error.message);
    }
  }
  discardPtx() {
    this.settings.patch = null;
    this.changed();
  }

  showLabs() {
    find("labs").hidden = this.labs.length === 0;
    find("lab-list").replaceChildren(...this.labs.map(
        (lab) => element(
            "section", {},
            element(
                "button", {
                  type: "button",
                  "data-lab": lab.id,
                  "aria-pressed": "false",
                  onclick: () => this.chooseLab(this.settings.lab === lab.id ? null : lab.id)
                },
                lab.id),
            element("p", {}, lab.question),
            element("details", {}, element("summary", {}, "Patch"), element("pre", {class: "listing"}, lab.patch)))));
  }

  // --- events -------------------------------------------------------------------------------------------------------

  listen() {
    const on = (id, event, action) => find(id).addEventListener(event, action);
    on("controls", "submit", (e) => {
      e.preventDefault();
      this.run();
    });
    on("stop", "click", () => this.stop());
    on("edit", "click", () => this.source.isOpen ? this.stopEditing() : this.startEditing());
    on("restore", "click", () => this.restore());
    on("shape", "change", (e) => {
      Object.assign(this.settings, {shape: e.target.value, sms: null});
      this.changed();
    });
    on("sms", "change", (e) => {
      const sms = Number(e.target.value);
      const most = mostSms(this.program);
      const known = Number.isInteger(sms) && sms >= 1 && sms <= most;
      this.complain(known || !e.target.value ? "" : `SMs must be a whole number from 1 to ${most}, not ${e.target.value}.`);
      this.settings.sms = known && sms !== this.shape.sms ? sms : null;
      this.changed();
    });
    const schedule = () => {
      const text = find("schedule").value;
      const chosen = scheduleOf(text === "seed" ? `seed:${find("seed").value}` : text);
      this.complain(chosen ? "" : "A seed is a whole number from 0 to 4294967295.");
      this.settings.schedule = chosen ?? {seed: 1};
      this.changed();
    };
    on("schedule", "change", schedule);
    on("seed", "change", schedule);
    on("check", "change", (e) => {
      this.settings.check = e.target.value;
      this.changed();
    });
    on("next-mark", "click", () => this.kernel.focus(1));
    on("previous-mark", "click", () => this.kernel.focus(-1));
    on("ptx", "toggle", () => find("ptx").open && this.showPtx());
    on("ptx-text", "input", (e) => {
      if (this.basePtx === undefined) return;  // it is not shown yet
      this.settings.patch = difference(this.basePtx, e.target.value);
      this.settings.states.clear();  // what the marks had changed stands in the text
      const isLong = (this.settings.patch?.text.length ?? 0) > MOST_PTX - 20;
      this.changed();
      this.complain(isLong ? "This edit is too long for the page's address: it is lost at a reload." : "");
    });
    on("ptx-discard", "click", () => this.discardPtx());
    on("theme", "click", () => {
      toggleTheme();
      keepTheme();
      this.viewer.themeChanged();
    });
    on("share", "click", async () => {
      try {
        await navigator.clipboard.writeText(location.href);
        find("status").textContent = "The address is copied.";
      } catch {
        this.complain(`The browser does not let a page copy. The address: ${location.href}`);
      }
    });
    on("help", "click", () => find("keys").showModal());
    window.addEventListener("hashchange", () => this.read());
    document.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && e.ctrlKey) {
        e.preventDefault();
        return this.run();
      }
      if (e.key === "Escape" && this.running) return this.stop();
      if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, dialog")) return undefined;
      if (e.key === "n") this.kernel.focus(1);
      if (e.key === "p") this.kernel.focus(-1);
      return undefined;
    });
  }
}

// The theme is the one of the course's pages, where mkdocs-material keeps it.
const THEME = `${new URL("..", document.baseURI).pathname}.__palette`;
function keepTheme() {
  const dark = document.documentElement.dataset.theme === "dark";
  localStorage.setItem(THEME, JSON.stringify({
    index: Number(dark),
    color: {media: "", scheme: dark ? "slate" : "default", primary: "custom", accent: "custom"}
  }));
}
function takeTheme() {
  try {
    const kept = JSON.parse(localStorage.getItem(THEME));
    if (kept?.color) document.documentElement.dataset.theme = kept.color.scheme === "slate" ? "dark" : "light";
  } catch { /* no storage, or of something else: as the system has it */ }
}

takeTheme();
try {
  find("problem").hidden = true;
  const [program, sites, page] = await Promise.all(["program.json", "sites.json", "page.json.gz"].map(json));
  window.playground = new Playground(program, sites, page);
} catch (error) {
  find("problem").hidden = false;
  find("problem").textContent = `This page cannot be shown: ${error.message}`;
}
document.documentElement.dataset.ready = "yes";
